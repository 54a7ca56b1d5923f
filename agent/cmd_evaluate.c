/*
 * evaluate DIR_IN DIR_OUT: many bundles in one call, for a machine with a GPU; the same command in
 * warpwright and in warpwright-worker, so it needs neither network nor database.
 *
 * evaluate --pack FILE SPEC KERNEL makes such a bundle from a kernel and its manifest.
 */
#include <inttypes.h>
#include <string.h>

#include "agent/agent.h"
#include "verify/evaluate/evaluate.h"

static const size_t arena_bytes_max = (size_t)4 << 30;

struct evaluate_args {
    struct common common;
    struct pack_args pack;
    bool gpu_only;
};

/* ---- progress ---- */

static void median_text(const struct verdict *verdict, char *out, size_t room)
{
    double ns;

    out[0] = '\0';
    if (observed_find(&verdict->observed, "gpu.time.median_ns", &ns))
        snprintf(out, room, ", median %.2f us, %s", ns / 1e3, timing_name(verdict->timing));
}

static void show(void *context, size_t number, size_t count, const char *name,
                 const struct verdict *verdict)
{
    char median[96];

    (void)context;
    median_text(verdict, median, sizeof(median));
    fprintf(stderr, "%zu/%zu %s: %s, %" PRId64 " checks%s", number, count, name,
            validity_name(verdict->validity), verdict->checks_executed, median);
    if (verdict->validity != VALIDITY_ACCEPTED)
        fprintf(stderr, ": %.*s", STR_ARG(verdict->reason));
    fputc('\n', stderr);
}

static void print(const struct evaluate_tally *tally, bool json)
{
    if (json)
        printf("{\"accepted\":%zu,\"bundles\":%zu,\"judged\":%zu}\n", tally->accepted,
               tally->bundles, tally->judged);
    else
        printf("%zu bundles, %zu judged, %zu accepted\n", tally->bundles, tally->judged,
               tally->accepted);
}

/* ---- the command ---- */

static int evaluate(const struct command *self, const struct evaluate_args *args,
                    const char *const *positional)
{
    const struct evaluate_report report = {show, NULL};
    struct environment env;
    struct cache cache = {0};
    struct evaluate_tally tally;
    struct driver_info driver;
    struct compiler *compiler = NULL;
    struct arena arena;
    struct err err;
    int status;

    arena_init(&arena, arena_bytes_max);
    environment_read(&arena, &env);
    if (!args->common.no_cache)
        cache.folder = args->common.cache != NULL ? args->common.cache : env.cache_folder;
    const struct compiler_options compiler_options = {.paths = {env.cuda_home, env.build_folder},
                                                      .cache = &cache};
    device_probe_driver(&arena, &driver);
    if (driver.gpu_count == 0)
        fprintf(stderr, "no GPU here (%s): verdicts come from the emulator\n",
                driver.why_not != NULL ? driver.why_not : "none listed");
    /* PTX and cubins are judged without a compiler; each bundle that needs one says so. */
    if (!compiler_open(&arena, &compiler_options, &compiler, &err)) {
        fprintf(stderr, "%s\n", err.text);
        compiler = NULL;
    }
    const struct evaluate_options options = {compiler, &cache, &driver, args->gpu_only};
    if (evaluate_folder(positional[0], positional[1], &options, &report, &tally, &err)) {
        print(&tally, args->common.json);
        status = tally.judged == tally.bundles ? EXIT_DONE : EXIT_FAILED;
    } else {
        status = command_failed(self->name, &err);
    }
    if (compiler != NULL)
        compiler_close(compiler);
    arena_release(&arena);
    return status;
}

static const char evaluate_text[] =
    "Judges each bundle of DIR_IN (NAME.json or a folder NAME) by all gates up to the one that it\n"
    "names, on this machine's GPU where there is one, and writes DIR_OUT/NAME.verdict.json as "
    "soon\n"
    "as it is known.  A bundle that cannot be read, or whose candidate crashes, does not stop the\n"
    "others.\n\n"
    "With --pack, makes the bundle FILE from a kernel and its manifest.\n\n"
    "Exit status: 0 each bundle has a verdict, 1 some could not be judged, 2 usage.\n\n"
    "    warpwright evaluate --pack in/a.json kernels/ops/softmax.json out/softmax/kernel.cu\n"
    "    warpwright-worker evaluate in out";

int cmd_evaluate(const struct command *self, int argc, char **argv)
{
    struct evaluate_args args = {0};
    const struct opt options[] = {
        {"gpu-only", OPT_FLAG, &args.gpu_only, NULL,
         "start on the GPU: the emulator has seen these bundles elsewhere", 0, 0},
        {"pack", OPT_TEXT, &args.pack.file, "FILE", "make a bundle; then SPEC KERNEL follow", 0, 0},
        {"manifest", OPT_TEXT, &args.pack.manifest, "FILE",
         "--pack: how to launch it; default: manifest.json beside KERNEL", 0, 0},
        {"plan", OPT_TEXT, &args.pack.plan, "FILE", "--pack: the plan it follows", 0, 0},
        {"gate", OPT_TEXT, &args.pack.gate, "GATE", "--pack: the last gate; default: time", 0, 0},
        {"samples", OPT_INT, &args.pack.samples, "N", "--pack: timed launches", 1, 100000},
        COMMON_TRACK(&args.common),
        COMMON_SHAPE(&args.common, "--pack: target shape; default: the spec's first"),
        COMMON_SEED(&args.common),
        COMMON_CACHE(&args.common),
        COMMON_JSON(&args.common),
    };
    const struct opt_command command = {
        .name = self->name,
        .synopsis = "DIR_IN DIR_OUT | --pack FILE SPEC KERNEL",
        .summary = self->summary,
        .text = evaluate_text,
        .options = options,
        .option_count = COUNT_OF(options),
        .positional_min = 2,
        .positional_max = 2,
    };
    const char *positional[2];
    int count, status;

    if (!command_begin(&command, argc, argv, positional, &count, &status))
        return status;
    args.pack.spec = positional[0];
    args.pack.kernel = positional[1];
    return args.pack.file != NULL ? pack_bundle(self, &args.pack, &args.common)
                                  : evaluate(self, &args, positional);
}
