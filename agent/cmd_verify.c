/*
 * verify SPEC KERNEL: is this kernel right?  The command of a person with a kernel of their own.
 */
#include <string.h>

#include "base/file.h"

#include "agent/agent.h"

enum { TEXT_BYTES_MAX = 1 << 20 };
static const size_t arena_bytes_max = (size_t)4 << 30;

struct verify_args {
    struct common common;
    const char *manifest;
    const char *spec, *kernel;
    int64_t seeds, wall_s;
};

static bool form_of(const char *path, enum candidate_form *out, struct err *err)
{
    const char *dot = strrchr(path_base(path), '.');

    if (dot != NULL && strcmp(dot, ".cu") == 0)
        *out = CANDIDATE_CUDA;
    else if (dot != NULL && strcmp(dot, ".ptx") == 0)
        *out = CANDIDATE_PTX;
    else if (dot != NULL && strcmp(dot, ".cubin") == 0)
        *out = CANDIDATE_CUBIN;
    else
        return err_raise(err, ERR_USAGE, "%s: a kernel is a .cu, .ptx or .cubin file", path);
    return true;
}

/* NAME.json beside NAME.cu, or the manifest.json that synth writes there. */
static const char *manifest_path(struct arena *arena, const struct verify_args *args)
{
    const char *dot = strrchr(args->kernel, '.');
    struct buf path;

    if (args->manifest != NULL)
        return args->manifest;
    buf_init(&path, arena, 1 << 16);
    buf_printf(&path, "%.*s.json", (int)(dot - args->kernel), args->kernel);
    const char *own = str_copy(arena, buf_view(&path));
    const char *of_synth = path_join(arena, path_dir(arena, args->kernel), "manifest.json");
    return !file_exists(own) && file_exists(of_synth) ? of_synth : own;
}

struct verified {
    const struct op *op;
    struct candidate candidate;
    struct check_products products;
    struct verdict verdict;
};

static bool load(struct session *session, const struct verify_args *args, struct verified *v,
                 struct err *err)
{
    const char *manifest = manifest_path(session->arena, args);

    if (args->manifest == NULL && !file_exists(manifest))
        return err_raise(err, ERR_USAGE,
                         "%s is missing: it says how to launch %s; name it with --manifest",
                         manifest, args->kernel);
    return session_spec(session, args->spec, &v->op, err) &&
           session_manifest(session, manifest, &v->candidate.manifest, err) &&
           file_read(session->arena, args->kernel, CANDIDATE_BYTES_MAX, &v->candidate.text, err) &&
           (v->candidate.form != CANDIDATE_CUDA || session_compiler(session, err));
}

static bool run(struct session *session, const struct verify_args *args, struct verified *v,
                struct err *err)
{
    const struct bound_op *bound;
    struct shape shape;
    struct check_options options = {
        .arch = args->common.arch,
        .secret = session->secret,
        .seeds = (int)args->seeds,
        .wall_ms = args->wall_s * 1000,
        .cache = &session->cache,
    };

    if (!form_of(args->kernel, &v->candidate.form, err) || !load(session, args, v, err) ||
        !session_track(v->op, args->common.track, &options.track, err) ||
        !session_shape(session, v->op, args->common.shape, &bound, err))
        return false;
    if (bound != NULL) {
        shape.values = bound->dims;
        options.shapes = &shape;
        options.shape_count = 1;
    }
    return check_candidate(session->arena, v->op, &v->candidate, &options, session->compiler,
                           &v->products, &v->verdict, err);
}

static bool write_products(struct session *session, const struct verify_args *args,
                           const struct verified *v, struct err *err)
{
    const struct products products = {
        .source = v->candidate.form == CANDIDATE_CUDA ? v->candidate.text : (struct str){0},
        .manifest = v->candidate.manifest,
        .made = &v->products,
        .verdict = &v->verdict,
    };

    return args->common.out == NULL ||
           products_write(session->arena, args->common.out, &products, err);
}

static void print(struct session *session, const struct verify_args *args, const struct verified *v)
{
    struct buf text;

    if (args->common.json) {
        const struct str json = verdict_json(session->arena, &v->verdict);

        fwrite(json.at, 1, json.len, stdout);
        return;
    }
    buf_init(&text, session->arena, TEXT_BYTES_MAX);
    buf_printf(&text, "%s against %.*s: %s\n", path_base(args->kernel), STR_ARG(v->op->name),
               validity_name(v->verdict.validity));
    verdict_text(&text, &v->verdict);
    fwrite(text.at, 1, text.len, stdout);
}

static int verify(const struct command *self, const struct verify_args *args)
{
    struct session session;
    struct arena arena;
    struct verified v = {0};
    struct err err;
    int status;

    arena_init(&arena, arena_bytes_max);
    if (session_begin(&session, &arena, &args->common, &err) && run(&session, args, &v, &err) &&
        write_products(&session, args, &v, &err)) {
        print(&session, args, &v);
        status = v.verdict.validity == VALIDITY_ACCEPTED ? EXIT_DONE : EXIT_FAILED;
    } else {
        status = command_failed(self->name, &err);
    }
    session_end(&session);
    arena_release(&arena);
    return status;
}

static const char verify_help[] =
    "Screens and compiles the kernel, observes its PTX and cubin, runs it on the emulator at\n"
    "many small shapes with every access checked, and compares each element with the spec's\n"
    "meaning and error bound.  A cubin can only be observed here.\n\n"
    "The manifest says how to launch the kernel, and at which shapes it is right; synth SPEC\n"
    "--show-prompt explains its members and ends with one for that spec.\n\n"
    "Exit status: 0 accepted, 1 not accepted, 2 usage or malformed input.\n\n"
    "    warpwright verify kernels/ops/softmax.json mine.cu --manifest mine.json\n"
    "    warpwright verify kernels/ops/softmax.json out/kernel.cu";

int cmd_verify(const struct command *self, int argc, char **argv)
{
    struct verify_args args = {0};
    const struct opt options[] = {
        {"manifest", OPT_TEXT, &args.manifest, "FILE",
         "how to launch it; default: KERNEL's name with "
         ".json",
         0, 0},
        COMMON_TRACK(&args.common),
        COMMON_SHAPE(&args.common, "check at this shape only"),
        COMMON_ARCH(&args.common, "architecture; default: the manifest's"),
        COMMON_SEED(&args.common),
        {"seeds", OPT_INT, &args.seeds, "N", "data sets a class at the large shapes", 1, 1000},
        {"wall", OPT_INT, &args.wall_s, "SECONDS", "deadline of the emulation", 1, 86400},
        COMMON_OUT(&args.common, "write PTX, cubin, observed.json, verdict.json there"),
        COMMON_CACHE(&args.common),
        COMMON_JSON(&args.common),
    };
    const struct opt_command command = {
        .name = self->name,
        .synopsis = "SPEC KERNEL.(cu|ptx|cubin) [--manifest FILE]",
        .summary = self->summary,
        .text = verify_help,
        .options = options,
        .option_count = COUNT_OF(options),
        .positional_min = 2,
        .positional_max = 2,
    };
    const char *positional[2];
    int count, status;

    if (!command_begin(&command, argc, argv, positional, &count, &status))
        return status;
    args.spec = positional[0];
    args.kernel = positional[1];
    return verify(self, &args);
}
