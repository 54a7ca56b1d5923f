/*
 * doctor: what this machine has, and what each missing thing costs.
 */
#include <string.h>

#include "agent/agent.h"

enum { TEXT_BYTES_MAX = 1 << 16 };
static const size_t arena_bytes_max = 64 << 20;

struct findings {
    struct environment env;
    struct nvrtc_info nvrtc;
    struct driver_info driver;
    struct sandbox_info sandbox;
};

static void nvrtc_text(struct buf *out, const struct nvrtc_info *nvrtc)
{
    if (!nvrtc->found) {
        buf_printf(out, "NVRTC     missing: %s\n", nvrtc->why_not != NULL ? nvrtc->why_not : "");
        buf_text(out, "          without it no CUDA compiles; PTX can still be verified.\n"
                      "          `make deps` fetches it, or install a CUDA toolkit.\n");
        return;
    }
    buf_printf(out, "NVRTC     %d.%d, %s\n", nvrtc->major, nvrtc->minor, nvrtc->path);
    buf_text(out, "          architectures:");
    for (size_t i = 0; i < nvrtc->arch_count; i++)
        buf_printf(out, " %d", nvrtc->archs[i]);
    buf_char(out, '\n');
    if (nvrtc->include == NULL)
        buf_text(out,
                 "          toolkit headers missing: kernels may not include cuda_fp16.h, mma.h\n"
                 "          and the like.  `make deps` fetches them.\n");
    else if (nvrtc->include_cccl == NULL)
        buf_text(out,
                 "          no cccl headers: cooperative_groups.h, cuda/ and cub/ may fail.\n");
}

static void driver_text(struct buf *out, const struct driver_info *driver)
{
    if (!driver->found) {
        buf_printf(out, "driver    missing: %s\n", driver->why_not != NULL ? driver->why_not : "");
        buf_text(out,
                 "          without a GPU kernels are proved on the emulator and never timed.\n");
        return;
    }
    buf_printf(out, "driver    CUDA %d.%d\n", driver->version / 1000, driver->version % 1000 / 10);
    for (size_t i = 0; i < driver->gpu_count; i++) {
        const struct gpu_info *gpu = &driver->gpus[i];

        buf_printf(out,
                   "GPU %zu     %s, sm_%d%d, %d SMs, %zu MiB, L2 %zu KiB, shared %zu KiB a block\n",
                   i, gpu->name, gpu->cc_major, gpu->cc_minor, gpu->sm_count,
                   gpu->memory_bytes >> 20, gpu->l2_bytes >> 10, gpu->smem_optin_bytes >> 10);
    }
    if (driver->gpu_count == 0)
        buf_text(out, "GPU       none: kernels are proved on the emulator and never timed.\n");
}

static void sandbox_text(struct buf *out, const struct sandbox_info *sandbox)
{
    buf_text(out, "sandbox  ");
    if (sandbox->landlock_abi > 0)
        buf_printf(out, " landlock (ABI %d)", sandbox->landlock_abi);
    else
        buf_text(out, " no landlock");
    buf_printf(out, ", %suser namespaces, %sseccomp\n", sandbox->user_namespaces ? "" : "no ",
               sandbox->seccomp ? "" : "no ");
    if (sandbox->landlock_abi == 0 && !sandbox->user_namespaces)
        buf_text(out,
                 "          the compiler cannot be kept from reading files, so only the screen\n"
                 "          stands between a source and this machine.\n");
    if (!sandbox->seccomp)
        buf_text(out, "          the compiler's system calls are not limited.\n");
}

static void rest_text(struct buf *out, const struct environment *env)
{
    buf_printf(out, "emulator  %s\n", ptx_isa_name());
    if (strcmp(ptx_isa_name(), "generic") == 0)
        buf_text(out, "          without AVX2 the emulator is several times slower.\n");
    buf_printf(out, "cache     %s\n",
               env->cache_folder != NULL ? env->cache_folder
                                         : "none: HOME and XDG_CACHE_HOME are not set, so nothing "
                                           "is remembered between runs");
    buf_printf(out, "specs     %s\n",
               env->ops_folder != NULL ? env->ops_folder
                                       : "kernels/ops not found: `use` sees the spec's own folder "
                                         "only");
    buf_printf(out, "keys      OPENAI_API_KEY %s, WARPWRIGHT_API_KEY %s\n",
               env->openai_key ? "set" : "not set", env->warpwright_key ? "set" : "not set");
    if (!env->openai_key && !env->warpwright_key)
        buf_text(out,
                 "          no model can be asked; kernels come from the realiser (--llm none).\n");
}

static void write_nvrtc(struct json_writer *w, const struct nvrtc_info *nvrtc)
{
    json_open_object(w);
    json_key(w, "found");
    json_put_bool(w, nvrtc->found);
    if (nvrtc->found) {
        json_key(w, "version");
        json_put_real(w, nvrtc->major + nvrtc->minor / 10.0);
        json_key(w, "path");
        json_put_text(w, nvrtc->path);
        json_key(w, "headers");
        json_put_bool(w, nvrtc->include != NULL);
        json_key(w, "archs");
        json_open_array(w);
        for (size_t i = 0; i < nvrtc->arch_count; i++)
            json_put_int(w, nvrtc->archs[i]);
        json_close_array(w);
    }
    json_close_object(w);
}

static void write_json(struct json_writer *w, const struct findings *found)
{
    json_open_object(w);
    json_key(w, "nvrtc");
    write_nvrtc(w, &found->nvrtc);
    json_key(w, "driver");
    if (found->driver.found)
        json_put_int(w, found->driver.version);
    else
        json_put_null(w);
    json_key(w, "gpus");
    json_open_array(w);
    for (size_t i = 0; i < found->driver.gpu_count; i++)
        json_put_text(w, found->driver.gpus[i].name);
    json_close_array(w);
    json_key(w, "sandbox");
    json_open_object(w);
    json_key(w, "landlock");
    json_put_int(w, found->sandbox.landlock_abi);
    json_key(w, "user_namespaces");
    json_put_bool(w, found->sandbox.user_namespaces);
    json_key(w, "seccomp");
    json_put_bool(w, found->sandbox.seccomp);
    json_close_object(w);
    json_key(w, "emulator");
    json_put_text(w, ptx_isa_name());
    json_key(w, "keys");
    json_open_object(w);
    json_key(w, "OPENAI_API_KEY");
    json_put_bool(w, found->env.openai_key);
    json_key(w, "WARPWRIGHT_API_KEY");
    json_put_bool(w, found->env.warpwright_key);
    json_close_object(w);
    json_close_object(w);
}

static void print(struct arena *arena, const struct findings *found, bool json)
{
    struct json_writer w;
    struct buf text;

    buf_init(&text, arena, TEXT_BYTES_MAX);
    if (json) {
        json_writer_init(&w, &text);
        write_json(&w, found);
        buf_char(&text, '\n');
    } else {
        nvrtc_text(&text, &found->nvrtc);
        driver_text(&text, &found->driver);
        sandbox_text(&text, &found->sandbox);
        rest_text(&text, &found->env);
    }
    fwrite(text.at, 1, text.len, stdout);
}

int cmd_doctor(const struct command *self, int argc, char **argv)
{
    struct common common = {0};
    const struct opt options[] = {COMMON_JSON(&common)};
    const struct opt_command command = {
        .name = self->name,
        .synopsis = "[--json]",
        .summary = self->summary,
        .text = "Exit status: 0 kernels can be compiled here, 1 they cannot.",
        .options = options,
        .option_count = COUNT_OF(options),
    };
    const char *positional[1];
    struct findings found = {0};
    struct device_paths paths;
    struct arena arena;
    int count, status;

    if (!command_begin(&command, argc, argv, positional, &count, &status))
        return status;
    arena_init(&arena, arena_bytes_max);
    environment_read(&arena, &found.env);
    paths = (struct device_paths){found.env.cuda_home, found.env.build_folder};
    device_probe_nvrtc(&arena, &paths, &found.nvrtc);
    device_probe_driver(&arena, &found.driver);
    device_probe_sandbox(&found.sandbox);
    print(&arena, &found, common.json);
    status = found.nvrtc.found ? EXIT_DONE : EXIT_FAILED;
    arena_release(&arena);
    return status;
}
