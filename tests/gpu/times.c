/*
 * How long many kernels take, without the small shapes that a verdict needs first:
 *
 *     times IN >OUT.jsonl
 *
 * A line a bundle of IN (NAME.json), in the form of tests/gpu/results: its name and a verdict that
 * says partial, for nothing but the timed launches is held against the reference (all of them are).
 * So a plan costs a second and not half a minute, which is what fitting a cost model to many plans
 * needs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"

#include "agent/agent.h"
#include "verify/bench/bench.h"
#include "verify/check/on_gpu.h"
#include "verify/evaluate/evaluate.h"

enum { RESULT_BYTES_MAX = 16 << 20, WALL_MS = 120 * 1000 };
static const size_t arena_bytes_max = (size_t)8 << 30;

struct timed {
    struct arena *arena;
    const struct bundle *bundle;
    const struct op *op;
    const struct track *track;
    const struct bound_op *target;
    struct gpu_job job;
};

/* ---- in a process of its own, for the GPU ---- */

static bool time_it(struct timed *t, struct verdict *verdict, struct err *err)
{
    struct observed_builder observed;
    struct gpu_trial *trial;
    bool passed;
    observed_begin(&observed, t->arena);
    if (!gpu_trial_begin(t->arena, &t->job, verdict, &trial, &passed, err))
        return false;
    if (trial == NULL)
        return true;
    bool ok = !passed || bench_trial(t->arena, trial, t->target, t->bundle->options.samples,
                                     verdict, &observed, &passed, err);
    gpu_trial_observe(trial, &observed);
    verdict->observed = observed_end(&observed);
    gpu_trial_end(trial);
    return ok;
}

static int time_in_child(void *context, int out_fd)
{
    struct timed *t = context;
    struct verdict verdict = {
        .validity = VALIDITY_PARTIAL,
        .track = t->track->name,
        .arch = t->bundle->candidate.manifest->arch,
        .executor = STR_LIT("none"),
        .seed = t->bundle->secret,
        .flags = STR_LIT("timed only: no small shapes"),
    };
    struct json_writer w;
    struct buf text;
    struct err err;
    buf_init(&text, t->arena, RESULT_BYTES_MAX);
    if (!time_it(t, &verdict, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    json_writer_init(&w, &text);
    verdict_print(&w, &verdict, true);
    return proc_write_all(out_fd, text.at, text.len) ? 0 : 1;
}

/* ---- the parent ---- */

static bool prepare(struct timed *t, const char *path, struct compiler *compiler,
                    const struct driver_info *driver, struct err *err)
{
    const struct shape *shape;
    struct compile_result compiled = {0};
    if (!bundle_read(t->arena, path, &t->bundle, err) ||
        !bundle_op(t->arena, t->bundle, &t->op, &shape, err))
        return false;
    if (!op_track_find(t->op, t->bundle->task->track, &t->track))
        return err_raise(err, ERR_SEMANTIC, "the spec has no such track");
    const struct candidate *candidate = &t->bundle->candidate;
    const struct compile_request request = {.source = candidate->text,
                                            .arch = str_copy(t->arena, candidate->manifest->arch)};
    if (!op_bind_shape(t->arena, t->op, shape, &t->target, err) ||
        !compiler_compile(compiler, t->arena, &request, &compiled, err))
        return false;
    if (compiled.end != COMPILE_OK)
        return err_raise(err, ERR_SEMANTIC, "%s", compile_end_text(compiled.end));
    const struct gpu_question question = {.op = t->op,
                                          .track = t->track,
                                          .target = t->target,
                                          .plan = t->bundle->plan,
                                          .manifest = candidate->manifest,
                                          .ptx = compiled.ptx,
                                          .cubin = compiled.cubin,
                                          .secret = t->bundle->secret,
                                          .gpu = &driver->gpus[0]};
    return gpu_job_prepare(t->arena, &question, compiler, &t->job, err);
}

static bool time_bundle(const char *in, const char *name, struct compiler *compiler,
                        const struct driver_info *driver, struct err *err)
{
    const struct proc_limits limits = {.wall_ms = WALL_MS, .output_bytes_max = RESULT_BYTES_MAX};
    struct proc_result result;
    struct arena arena;
    arena_init(&arena, arena_bytes_max);
    struct timed t = {.arena = &arena};
    bool ok = prepare(&t, path_join(&arena, in, name), compiler, driver, err) &&
              proc_fork(&arena, time_in_child, &t, &limits, &result, err);
    if (ok && (result.end != PROC_EXITED || result.status != 0))
        ok = err_raise(err, ERR_DEVICE, "not timed");
    if (ok) {
        printf("{\"bundle\":\"%.*s\",\"verdict\":%.*s}\n", (int)(strlen(name) - strlen(".json")),
               name, STR_ARG(result.out));
        fflush(stdout);
    }
    arena_release(&arena);
    return ok;
}

static bool time_folder(struct arena *arena, const char *in, struct compiler *compiler,
                        const struct driver_info *driver, struct err *err)
{
    const char *const *names;
    size_t count;
    if (!file_list(arena, in, ".json", EVALUATE_BUNDLES_MAX, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct err why;
        int64_t start = clock_mono_ns();
        bool ok = time_bundle(in, names[i], compiler, driver, &why);
        fprintf(stderr, "%zu/%zu %s %.1f s %s\n", i + 1, count, names[i],
                (double)(clock_mono_ns() - start) * 1e-9, ok ? "" : why.text);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct environment env;
    struct cache cache = {0};
    struct driver_info driver;
    struct compiler *compiler;
    struct arena arena;
    struct err err;
    if (argc != 2) {
        fputs("usage: times IN\n", stderr);
        return 2;
    }
    arena_init(&arena, arena_bytes_max);
    environment_read(&arena, &env);
    device_probe_driver(&arena, &driver);
    const struct compiler_options options = {.paths = {env.cuda_home, env.build_folder},
                                             .cache = &cache};
    bool ok = driver.gpu_count > 0 || err_raise(&err, ERR_DEVICE, "no GPU here");
    ok = ok && compiler_open(&arena, &options, &compiler, &err);
    if (ok) {
        ok = time_folder(&arena, argv[1], compiler, &driver, &err);
        compiler_close(compiler);
    }
    if (!ok)
        fprintf(stderr, "%s\n", err.text);
    arena_release(&arena);
    return ok ? 0 : 1;
}
