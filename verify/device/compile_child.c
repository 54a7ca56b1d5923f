/*
 * One compile, in the process that may die of it.
 *
 * compile_tool_prepare() does everything that touches the machine: it opens the include folders
 * under fixed descriptors and compiles a trivial kernel, so that NVRTC has loaded what it loads.
 * After that a fork can shut itself in (sandbox.c) and compile with nothing but those folders.
 *
 * Names are the same on every machine: the source is kernel.cu in /, headers lie below
 * /proc/self/fd/101 and 102.  So PTX, cubin and log are functions of source, options and NVRTC.
 *
 * Invariant: the prelude and the hoisted headers precede the source whether or not a precompiled
 * form of them is at hand, so precompiling changes the time and not what is compiled.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/panic.h"

#include "verify/device/device_int.h"

extern const char embed_verify_device_prelude_ww_prelude_h[];

enum {
    FOLDER_FD_FIRST = 101,
    FOLDER_FDS = COUNT_OF(((struct compile_tool *)0)->folder_fds),
    OPTION_BYTES = 96,
    MEMORY_HEADERS_MAX = 64,
    SCRATCH_FILES_MAX = 10000,
    CHILD_ARENA_BYTES = 2 * COMPILE_FRAME_BYTES_MAX + (16 << 20),
    PCH_HEAP_BYTES = 512 << 20, /* TUNING: CUB and cooperative groups together need 300 MB */
};

static const char source_name[] = "kernel.cu";
static const char warm_source[] = "extern \"C\" __global__ void warm(float *x) { *x = 1.0f; }\n";
static const char *const optional_options[] = {
#define X(option) option,
    COMPILE_OPTIONAL(X)
#undef X
};

/* ---- options and headers ---- */

struct options {
    const char *at[COMPILE_OPTIONS_MAX];
    int count;
    char arch[OPTION_BYTES];
    char pch[OPTION_BYTES];
};

static void add(struct options *options, const char *option)
{
    ASSERT(options->count < COMPILE_OPTIONS_MAX);
    options->at[options->count++] = option;
}

static void fill_options(const struct compile_tool *tool, const struct compile_job *job,
                         struct options *options)
{
    options->count = 0;
    snprintf(options->arch, sizeof(options->arch), "-arch=%s", job->arch);
    add(options, options->arch);
    add(options, job->debug ? "-G" : "-lineinfo");
    add(options, "-std=c++17");
    add(options, "-default-device");
    add(options, "-Xptxas=-v");
    for (size_t i = 0; i < tool->optional_count; i++)
        add(options, tool->optional[i]);
    for (size_t i = 0; i < tool->include_count; i++)
        add(options, tool->include_options[i]);
    add(options, "--pre-include=ww_headers.h");
    add(options, "--pre-include=ww_prelude.h");
    if (job->pch) {
        snprintf(options->pch, sizeof(options->pch), "-use-pch=%s", job->pch);
        add(options, options->pch);
    }
}

static struct nvrtc_program *create(const struct nvrtc *nvrtc, const char *source,
                                    const char *headers)
{
    const char *texts[MEMORY_HEADERS_MAX];
    const char *names[MEMORY_HEADERS_MAX];
    size_t count;
    struct nvrtc_program *program = NULL;
    const char *const *memory = header_memory_names(&count);
    ASSERT(count + 2 <= MEMORY_HEADERS_MAX);
    for (size_t i = 0; i < count; i++) {
        names[i] = memory[i];
        texts[i] = "#pragma once\n";
    }
    names[count] = "ww_headers.h";
    texts[count++] = headers;
    names[count] = "ww_prelude.h";
    texts[count++] = embed_verify_device_prelude_ww_prelude_h;
    if (nvrtc->nvrtcCreateProgram(&program, source, source_name, (int)count, texts, names) !=
        NVRTC_OK)
        return NULL;
    return program;
}

/* ---- preparation ---- */

static int trial(const struct compile_tool *tool, const char *arch)
{
    struct compile_job job = {.arch = arch, .headers = ""};
    struct options options;
    struct nvrtc_program *program = create(tool->nvrtc, warm_source, "");
    if (!program)
        return NVRTC_OUT_OF_MEMORY;
    fill_options(tool, &job, &options);
    int rc = tool->nvrtc->nvrtcCompileProgram(program, options.count, options.at);
    tool->nvrtc->nvrtcDestroyProgram(&program);
    return rc;
}

/* Keeps those optional options that this NVRTC takes. */
static int settle_options(struct compile_tool *tool)
{
    static const char arch[] = "sm_80";
    for (size_t i = 0; i < COUNT_OF(optional_options); i++)
        tool->optional[i] = optional_options[i];
    tool->optional_count = COUNT_OF(optional_options);
    int rc = trial(tool, arch);
    if (rc != NVRTC_INVALID_OPTION)
        return rc;
    size_t kept = 0;
    for (size_t i = 0; i < COUNT_OF(optional_options); i++) {
        tool->optional[kept] = optional_options[i];
        tool->optional_count = kept + 1;
        if (trial(tool, arch) != NVRTC_INVALID_OPTION)
            kept++;
    }
    tool->optional_count = kept;
    return trial(tool, arch);
}

static bool open_folder(struct compile_tool *tool, struct arena *arena, const char *path,
                        struct err *err)
{
    char option[OPTION_BYTES];
    int fixed = FOLDER_FD_FIRST + (int)tool->include_count;
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || dup3(fd, fixed, O_CLOEXEC) < 0)
        return err_raise(err, ERR_IO, "open %s: %s", path, strerror(errno));
    close(fd);
    snprintf(option, sizeof(option), "-I/proc/self/fd/%d", fixed);
    tool->folder_fds[tool->include_count] = fixed;
    tool->include_options[tool->include_count++] = str_copy(arena, str_from(option));
    return true;
}

bool compile_tool_prepare(struct compile_tool *tool, struct arena *arena, const struct nvrtc *nvrtc,
                          const struct sandbox_info *have, struct err *err)
{
    *tool = (struct compile_tool){.nvrtc = nvrtc, .scratch_fd = -1};
    if (chdir("/") != 0)
        return err_raise(err, ERR_IO, "chdir /: %s", strerror(errno));
    if ((nvrtc->include && !open_folder(tool, arena, nvrtc->include, err)) ||
        (nvrtc->include_cccl && !open_folder(tool, arena, nvrtc->include_cccl, err)))
        return false;
    tool->sandbox = (struct sandbox){*have, tool->folder_fds, tool->include_count, -1};
    if (nvrtc->nvrtcSetPCHHeapSize)
        nvrtc->nvrtcSetPCHHeapSize(PCH_HEAP_BYTES);
    int rc = settle_options(tool);
    if (rc != NVRTC_OK)
        return err_raise(err, ERR_DEVICE, "%s does not compile a trivial kernel: %s", nvrtc->path,
                         nvrtc->nvrtcGetErrorString(rc));
    return true;
}

/* ---- the compile ---- */

/* `get` into the arena when its size is within the limit; the terminating NUL of text dropped. */
static struct str fetch(struct arena *arena, struct nvrtc_program *program,
                        int (*get_size)(struct nvrtc_program *, size_t *),
                        int (*get)(struct nvrtc_program *, char *), size_t bytes_max, bool *over)
{
    size_t size = 0;
    if (!get_size || !get || get_size(program, &size) != NVRTC_OK || size == 0)
        return (struct str){0};
    if (size > bytes_max) {
        *over = true;
        return (struct str){0};
    }
    char *bytes = arena_array(arena, char, size + 1);
    if (get(program, bytes) != NVRTC_OK)
        return (struct str){0};
    return (struct str){bytes, size};
}

static struct str without_nul(struct str text)
{
    while (text.len && text.at[text.len - 1] == '\0')
        text.len--;
    return text;
}

static bool send_frame(int fd, int rc, bool over, struct str ptx, struct str cubin, struct str log)
{
    struct compile_frame frame = {
        .magic = COMPILE_FRAME_MAGIC,
        .rc = rc,
        .over_limit = over,
        .ptx_len = ptx.len,
        .cubin_len = cubin.len,
        .log_len = log.len,
    };
    return proc_write_all(fd, &frame, sizeof(frame)) && proc_write_all(fd, ptx.at, ptx.len) &&
           proc_write_all(fd, cubin.at, cubin.len) && proc_write_all(fd, log.at, log.len);
}

/* Every log is fetched whole, so that an endless one can be cut at the limit and still be read. */
static struct str fetch_log(struct arena *arena, const struct nvrtc *nvrtc,
                            struct nvrtc_program *program, bool *over)
{
    struct str log = without_nul(fetch(arena, program, nvrtc->nvrtcGetProgramLogSize,
                                       nvrtc->nvrtcGetProgramLog, COMPILE_FRAME_BYTES_MAX, over));
    if (log.len > COMPILE_LOG_BYTES_MAX) {
        *over = true;
        log.len = COMPILE_LOG_BYTES_MAX;
    }
    return log;
}

static bool compile_and_send(struct arena *arena, const struct compile_tool *tool,
                             const struct compile_job *job, int out_fd)
{
    const struct nvrtc *nvrtc = tool->nvrtc;
    struct options options;
    struct str ptx = {0};
    struct str cubin = {0};
    bool over = false;
    struct nvrtc_program *program =
        create(nvrtc, str_copy(arena, job->source), job->headers ? job->headers : "");
    if (!program)
        return send_frame(out_fd, NVRTC_OUT_OF_MEMORY, false, ptx, cubin, (struct str){0});
    fill_options(tool, job, &options);
    int rc = nvrtc->nvrtcCompileProgram(program, options.count, options.at);
    struct str log = fetch_log(arena, nvrtc, program, &over);
    if (rc == NVRTC_OK) {
        ptx = without_nul(fetch(arena, program, nvrtc->nvrtcGetPTXSize, nvrtc->nvrtcGetPTX,
                                COMPILE_PTX_BYTES_MAX, &over));
        cubin = fetch(arena, program, nvrtc->nvrtcGetCUBINSize, nvrtc->nvrtcGetCUBIN,
                      COMPILE_CUBIN_BYTES_MAX, &over);
    }
    return send_frame(out_fd, rc, over, ptx, cubin, log);
}

int compile_child_run(const struct compile_tool *tool, const struct compile_job *job, int out_fd)
{
    struct err err = {0};
    struct arena arena;
    bool sent;
    struct sandbox sandbox = tool->sandbox;
    if (job->pch)
        sandbox.scratch_fd = tool->scratch_fd;
    if (!sandbox_enter(&sandbox, &err))
        return send_frame(out_fd, -1, false, (struct str){0}, (struct str){0}, str_from(err.text))
                   ? 0
                   : 1;
    arena_init(&arena, CHILD_ARENA_BYTES);
    sent = compile_and_send(&arena, tool, job, out_fd);
    arena_release(&arena);
    return sent ? 0 : 1;
}

/* ---- the scratch folder ---- */

/* Removes a folder of ours, which holds plain files only. */
static void remove_folder(struct arena *arena, const char *folder)
{
    const char *const *names;
    size_t count;
    struct err err;
    if (!file_list(arena, folder, "", SCRATCH_FILES_MAX, &names, &count, &err))
        return;
    for (size_t i = 0; i < count; i++)
        unlink(path_join(arena, folder, names[i]));
    rmdir(folder);
}

/* Folders whose server was killed: "warpwright-PID.XXXXXX" without a process PID. */
static void sweep(struct arena *arena, const char *parent)
{
    const char *const *names;
    size_t count;
    struct err err;
    if (!file_list(arena, parent, "", SCRATCH_FILES_MAX, &names, &count, &err))
        return;
    for (size_t i = 0; i < count; i++) {
        long pid;
        struct stat info;
        const char *path = path_join(arena, parent, names[i]);
        if (sscanf(names[i], "warpwright-%9ld.", &pid) == 1 && kill((pid_t)pid, 0) != 0 &&
            errno == ESRCH && lstat(path, &info) == 0 && S_ISDIR(info.st_mode) &&
            info.st_uid == geteuid())
            remove_folder(arena, path);
    }
}

void compile_tool_scratch(struct compile_tool *tool, struct arena *arena)
{
    char folder[OPTION_BYTES / 2];
    const char *parent = file_is_dir("/dev/shm") ? "/dev/shm" : "/tmp";
    if (!tool->nvrtc->nvrtcGetPCHCreateStatus || !tool->nvrtc->nvrtcSetPCHHeapSize ||
        tool->sandbox.have.landlock_abi == 0)
        return;
    sweep(arena, parent);
    snprintf(folder, sizeof(folder), "%s/warpwright-%ld.XXXXXX", parent, (long)getpid());
    if (!mkdtemp(folder))
        return;
    tool->scratch_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (tool->scratch_fd < 0 || setenv("TMPDIR", folder, 1) != 0)
        rmdir(folder);
    else
        tool->scratch = str_copy(arena, str_from(folder));
}

void compile_tool_release(struct compile_tool *tool)
{
    if (tool->scratch)
        rmdir(tool->scratch);
}

/* ---- precompiled headers ---- */

/* Moves the file's bytes into a memory file that nobody can change; -1 on failure. */
static int into_memory(const char *path)
{
    struct stat info;
    int from = open(path, O_RDONLY | O_CLOEXEC);
    int to = memfd_create("ww-pch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool ok = from >= 0 && to >= 0 && fstat(from, &info) == 0;
    for (off_t left = ok ? info.st_size : 0; ok && left > 0;) {
        ssize_t sent = sendfile(to, from, NULL, (size_t)left);
        ok = sent > 0;
        left -= ok ? sent : 0;
    }
    ok = ok && fcntl(to, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) == 0;
    if (from >= 0)
        close(from);
    if (!ok && to >= 0)
        close(to);
    return ok ? to : -1;
}

static bool precompile_to(const struct compile_tool *tool, const struct compile_job *job,
                          const char *path)
{
    const struct nvrtc *nvrtc = tool->nvrtc;
    struct options options;
    char create_option[2 * OPTION_BYTES];
    struct nvrtc_program *program = create(nvrtc, "", job->headers);
    if (!program)
        return false;
    fill_options(tool, job, &options);
    snprintf(create_option, sizeof(create_option), "-create-pch=%s", path);
    add(&options, create_option);
    bool ok = nvrtc->nvrtcCompileProgram(program, options.count, options.at) == NVRTC_OK &&
              nvrtc->nvrtcGetPCHCreateStatus(program) == NVRTC_OK;
    nvrtc->nvrtcDestroyProgram(&program);
    return ok;
}

void compile_precompile(const struct compile_tool *tool, const char *arch, bool debug,
                        const char *headers, int *fd)
{
    struct compile_job job = {.arch = arch, .debug = debug, .headers = headers};
    char path[OPTION_BYTES];
    *fd = -1;
    if (!tool->scratch)
        return;
    snprintf(path, sizeof(path), "%s/pch", tool->scratch);
    if (precompile_to(tool, &job, path))
        *fd = into_memory(path);
    unlink(path);
}
