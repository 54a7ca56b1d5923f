/*
 * One bundle through all gates, seen from the parent.
 *
 * The CPU's gates come first (verify/check has its own worker for them).  Then a process for this
 * candidate opens the GPU, and hands back one JSON verdict through a pipe, which is read as
 * defensively as a file from elsewhere.  Whatever the candidate does to driver and context ends
 * with that process; a kernel that hangs is killed with it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/proc.h"

#include "verify/bench/bench.h"
#include "verify/evaluate/evaluate_int.h"

enum {
    WALL_MS_DEFAULT = 900 * 1000,
    RESULT_BYTES_MAX = 16 << 20,
    CHILD_FAILED = 3, /* exit status: the pipe holds an error's text */
};
static const size_t child_arena_bytes = (size_t)4 << 30;

struct evaluation {
    struct arena *arena;
    const struct bundle *bundle;
    const struct evaluate_options *options;
    const struct op *op;
    const struct track *track;
    const struct bound_op *target;
    struct check_products *products;
    struct verdict *verdict;
};

/* ---- in the process of the candidate ---- */

struct work {
    const struct gpu_job *job;
    const struct bundle *bundle;
    const struct verdict *begun;
};

static void add_gate(struct arena *arena, struct verdict *verdict, enum gate gate, bool passed,
                     int64_t start_ns)
{
    struct gate_record *gates = arena_array(arena, struct gate_record, verdict->gate_count + 1);

    if (verdict->gate_count > 0)
        memcpy(gates, verdict->gates, verdict->gate_count * sizeof(gates[0]));
    gates[verdict->gate_count++] =
        (struct gate_record){.gate = gate, .passed = passed, .wall_ns = clock_mono_ns() - start_ns};
    verdict->gates = gates;
}

static bool run_gates(struct arena *arena, const struct work *work, struct gpu_trial *trial,
                      struct verdict *verdict, struct observed_builder *observed, struct err *err)
{
    int64_t start = clock_mono_ns();
    bool passed;

    if (!gpu_trial_check(trial, &passed, err))
        return false;
    add_gate(arena, verdict, GATE_GPU, passed, start);
    if (passed && verdict->validity == VALIDITY_ACCEPTED &&
        work->bundle->options.last_gate >= GATE_TIME && work->job->target != NULL) {
        start = clock_mono_ns();
        if (!bench_trial(arena, trial, work->job->target, work->bundle->options.samples, verdict,
                         observed, &passed, err))
            return false;
        add_gate(arena, verdict, GATE_TIME, passed, start);
    }
    gpu_trial_observe(trial, observed);
    return true;
}

static bool try_on_gpu(struct arena *arena, const struct work *work, struct verdict *verdict,
                       struct err *err)
{
    const int64_t start = clock_mono_ns();
    struct observed_builder observed;
    struct gpu_trial *trial;
    bool passed, ok;

    observed_begin(&observed, arena);
    for (size_t i = 0; i < verdict->observed.count; i++)
        observed_add(&observed, verdict->observed.items[i].value, "%.*s",
                     STR_ARG(verdict->observed.items[i].name));
    if (!gpu_trial_begin(arena, work->job, verdict, &trial, &passed, err))
        return false;
    if (trial == NULL)
        return true;
    if (!passed)
        add_gate(arena, verdict, GATE_GPU, false, start);
    ok = !passed || run_gates(arena, work, trial, verdict, &observed, err);
    verdict->observed = observed_end(&observed);
    gpu_trial_end(trial);
    return ok;
}

static struct str verdict_text(struct arena *arena, const struct verdict *verdict)
{
    struct json_writer w;
    struct buf text;

    buf_init(&text, arena, RESULT_BYTES_MAX);
    json_writer_init(&w, &text);
    verdict_print(&w, verdict, true);
    return buf_view(&text);
}

static int work_in_child(void *context, int out_fd)
{
    const struct work *work = context;
    struct verdict verdict = *work->begun;
    struct arena arena;
    struct str text;
    struct err err;
    int status = 0;

    arena_init(&arena, child_arena_bytes);
    if (try_on_gpu(&arena, work, &verdict, &err)) {
        text = verdict_text(&arena, &verdict);
    } else {
        text = str_from(err.text);
        status = CHILD_FAILED;
    }
    return proc_write_all(out_fd, text.at, text.len) ? status : 1;
}

/* ---- the parent ---- */

static void ended_badly(struct evaluation *e, enum validity validity, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
static void ended_badly(struct evaluation *e, enum validity validity, const char *fmt, ...)
{
    struct buf text;
    va_list args;

    buf_init(&text, e->arena, VERDICT_REASON_BYTES_MAX);
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    e->verdict->validity = validity;
    e->verdict->gate = GATE_GPU;
    e->verdict->reason = str_from(str_copy(e->arena, buf_view(&text)));
}

static void read_result(struct evaluation *e, const struct proc_result *result, int64_t wall_ms)
{
    const struct json *json;
    struct verdict parsed;
    struct err err;

    switch (result->end) {
    case PROC_DEADLINE:
        ended_badly(e, VALIDITY_TIMEOUT, "the GPU gates took longer than %" PRId64 " s",
                    wall_ms / 1000);
        return;
    case PROC_MEMORY:
    case PROC_OUTPUT:
        ended_badly(e, VALIDITY_CRASH, "the GPU worker went over its limits");
        return;
    case PROC_SIGNALLED:
        ended_badly(e, VALIDITY_CRASH, "the GPU worker died of signal %d (%s)", result->status,
                    strsignal(result->status));
        return;
    case PROC_EXITED:
        break;
    }
    if (result->status != 0) {
        ended_badly(e, VALIDITY_INFRASTRUCTURE, "the GPU check itself failed: %.*s",
                    STR_ARG(result->out));
        return;
    }
    if (!json_parse(e->arena, result->out, "worker", &json, &err) ||
        !verdict_parse(e->arena, json, &parsed, &err)) {
        ended_badly(e, VALIDITY_CRASH, "the GPU worker's verdict is damaged: %s", err.text);
        return;
    }
    *e->verdict = parsed;
}

/* The emulator could not run it; its reason becomes a flag, and the GPU decides alone. */
static void forget_emulator(struct evaluation *e)
{
    struct verdict *verdict = e->verdict;
    struct buf text;

    buf_init(&text, e->arena, VERDICT_REASON_BYTES_MAX);
    buf_printf(&text, "not emulated: %.*s", STR_ARG(verdict->reason));
    verdict->flags = str_from(str_copy(e->arena, buf_view(&text)));
    verdict->validity = VALIDITY_INFRASTRUCTURE;
    verdict->detail = verdict->instruction = STR_LIT("");
    verdict->source_line = 0;
    verdict->failed_count = 0;
    verdict->checks_executed = 0;
}

static bool gates_on_gpu(struct evaluation *e, struct err *err)
{
    const struct bundle *bundle = e->bundle;
    const struct gpu_question question = {
        .op = e->op,
        .track = e->track,
        .target = e->target,
        .plan = bundle->plan,
        .manifest = bundle->candidate.manifest,
        .ptx = e->products->ptx,
        .cubin = e->products->cubin,
        .secret = bundle->secret,
        .seeds = (int)bundle->options.seeds,
        .gpu = &e->options->driver->gpus[0],
    };
    const int64_t wall_ms = bundle->options.wall_ms > 0 ? bundle->options.wall_ms : WALL_MS_DEFAULT;
    const struct proc_limits limits = {.wall_ms = wall_ms, .output_bytes_max = RESULT_BYTES_MAX};
    struct gpu_job job;
    struct work work = {&job, bundle, e->verdict};
    struct proc_result result;

    if (e->options->compiler == NULL)
        return err_raise(err, ERR_DEVICE, "the GPU gates need the compiler, NVRTC; run `doctor`");
    if (!gpu_job_prepare(e->arena, &question, e->options->compiler, &job, err)) {
        if (err->code != ERR_UNSUPPORTED)
            return false;
        ended_badly(e, VALIDITY_UNSUPPORTED, "%s", err->text);
        return true;
    }
    if (e->verdict->validity == VALIDITY_UNSUPPORTED)
        forget_emulator(e);
    if (!proc_fork(e->arena, work_in_child, &work, &limits, &result, err))
        return err_context(err, "GPU worker");
    read_result(e, &result, wall_ms);
    return true;
}

/* ---- before the GPU ---- */

static const char *arch_of(const struct evaluation *e)
{
    const struct bundle *bundle = e->bundle;

    return str_copy(e->arena, bundle->options.arch.len > 0 ? bundle->options.arch
                                                           : bundle->candidate.manifest->arch);
}

static bool gates_on_cpu(struct evaluation *e, struct err *err)
{
    const struct bundle *bundle = e->bundle;
    const struct check_options options = {
        .track = e->track,
        .arch = arch_of(e),
        .secret = bundle->secret,
        .seeds = (int)bundle->options.seeds,
        .budget_warp_insns = (uint64_t)bundle->options.budget_warp_insns,
        .wall_ms = bundle->options.wall_ms,
        .smem_bytes_max = (size_t)bundle->options.smem_bytes_max,
        .plan = bundle->plan,
        .cache = e->options->cache,
    };

    return check_candidate(e->arena, e->op, &bundle->candidate, &options, e->options->compiler,
                           e->products, e->verdict, err);
}

/* Screen and compile only; false in *go_on with the verdict filled when that fails. */
static bool compile_only(struct evaluation *e, bool *go_on, struct err *err)
{
    const int64_t start = clock_mono_ns();
    const struct candidate *candidate = &e->bundle->candidate;
    const struct compile_request request = {.source = candidate->text, .arch = arch_of(e)};
    struct compile_result result = {0};

    *go_on = true;
    *e->verdict = (struct verdict){
        .validity = VALIDITY_INFRASTRUCTURE,
        .track = e->track->name,
        .arch = str_from(request.arch),
        .executor = STR_LIT("none"),
        .seed = e->bundle->secret,
        .flags = STR_LIT("not emulated: asked to start on the GPU"),
    };
    if (candidate->form == CANDIDATE_PTX)
        e->products->ptx = candidate->text;
    if (candidate->form == CANDIDATE_CUBIN)
        e->products->cubin = candidate->text;
    if (candidate->form != CANDIDATE_CUDA)
        return true;
    if (e->options->compiler == NULL)
        return err_raise(err, ERR_DEVICE, "CUDA source needs the compiler, NVRTC; run `doctor`");
    if (!compiler_compile(e->options->compiler, e->arena, &request, &result, err))
        return err_context(err, "compile");
    *go_on = result.end == COMPILE_OK;
    add_gate(e->arena, e->verdict, GATE_COMPILE, *go_on, start);
    *e->products = (struct check_products){result.ptx, result.cubin, result.log};
    if (*go_on)
        return true;
    e->verdict->validity =
        result.end == COMPILE_REJECTED ? VALIDITY_SOURCE_REJECTED : VALIDITY_COMPILE_ERROR;
    e->verdict->gate = GATE_COMPILE;
    e->verdict->reason =
        str_from(result.reason != NULL ? result.reason : compile_end_text(result.end));
    return true;
}

static bool goes_to_gpu(const struct verdict *verdict)
{
    return verdict->validity == VALIDITY_ACCEPTED || verdict->validity == VALIDITY_PARTIAL ||
           verdict->validity == VALIDITY_UNSUPPORTED;
}

static bool begin(struct evaluation *e, struct err *err)
{
    const struct shape *shape;

    if (!bundle_op(e->arena, e->bundle, &e->op, &shape, err))
        return false;
    if (!op_track_find(e->op, e->bundle->task->track, &e->track))
        return err_raise(err, ERR_SEMANTIC, "the spec has no such track");
    return op_bind_shape(e->arena, e->op, shape, &e->target, err);
}

bool evaluate_bundle(struct arena *arena, const struct bundle *bundle,
                     const struct evaluate_options *options, struct check_products *products,
                     struct verdict *verdict, struct err *err)
{
    const bool has_gpu = options->driver != NULL && options->driver->gpu_count > 0;
    const bool wants_gpu = bundle->options.last_gate >= GATE_GPU;
    struct check_products made = {0};
    struct verdict found = {0};
    struct evaluation e = {
        .arena = arena, .bundle = bundle, .options = options, .products = &made, .verdict = &found};
    bool go_on;

    if (options->gpu_only && !has_gpu)
        return err_raise(err, ERR_DEVICE, "there is no GPU on this machine");
    if (!begin(&e, err))
        return false;
    if (options->gpu_only) {
        if (!compile_only(&e, &go_on, err))
            return false;
    } else {
        if (!gates_on_cpu(&e, err))
            return false;
        go_on = wants_gpu && has_gpu && goes_to_gpu(&found);
    }
    if (go_on && !gates_on_gpu(&e, err))
        return false;
    *products = made;
    *verdict = found;
    return true;
}
