/*
 * The gate "gpu", and single timed launches: a candidate on the hardware.
 *
 * Problem: what the emulator proved holds for its model of the machine; hardware has schedules,
 * instructions and sizes that the emulator never saw.  So the candidate runs again at the small
 * shapes, on all classes of data, and at the target shape.
 *
 * Method: at small shapes the interpreter says what is right, after the launch.  At the target
 * shape the process of the reference does.  Every data set runs at the weakest promised alignment
 * and, for the usual classes, once more elsewhere with other poison.
 *
 * Invariant: the verdict says accepted only if gpu_trial_check passed; *passed false always comes
 * with a filled verdict.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/panic.h"

#include "verify/check/on_gpu_int.h"

enum {
    LAUNCH_MS_DEFAULT = 20000,
    SEEDS_DEFAULT = 2,
    CHECKS_MINIMUM = 12,
    CALL_TARGET = 1 << 20, /* data sets of the target shape count from here */
    CALL_TIMED = 1 << 24,
};
static const size_t scratch_bytes_max = (size_t)12 << 30;

static const enum data_class usual_classes[] = {DATA_SPEC, DATA_ZERO_MEAN, DATA_INDEXED};
static const enum data_class other_classes[] = {
    DATA_HEAVY,  DATA_ONE_HOT, DATA_LARGE,   DATA_INTEGERS, DATA_POSITIVE,
    DATA_OFFSET, DATA_CANCEL,  DATA_SPECIAL, DATA_ZEROS,
};
static const enum data_class target_classes[] = {DATA_SPEC, DATA_ZERO_MEAN, DATA_INDEXED};

struct gpu_trial {
    struct arena *arena;
    const struct gpu_job *job;
    struct verdict *verdict;
    struct gpu_bed bed;
    struct reference reference;
    uint32_t calls, target_calls, timed_calls;
    int64_t confirmed, reference_ns;
    struct twin twin;
    const char *unknown; /* why the target shape cannot be compared; NULL = it can */
    bool twin_now;       /* this shape on the emulator, too */
    double worst;        /* ratio, over small shapes and target */
    struct check_record failure;
};

struct circumstance {
    const struct bound_op *bound;
    enum data_class class;
    enum gate gate;
    const char *what;
};

/* ---- failing ---- */

static bool fail(struct gpu_trial *trial, const struct circumstance *at, enum validity validity,
                 const char *sentence)
{
    struct verdict *verdict = trial->verdict;
    struct buf shape, text;

    buf_init(&shape, trial->arena, 4096);
    op_print_dims(&shape, at->bound);
    buf_init(&text, trial->arena, VERDICT_REASON_BYTES_MAX);
    buf_printf(&text, "%s; on the GPU at %.*s, %s data, %s", sentence, STR_ARG(buf_view(&shape)),
               data_class_name(at->class), at->what);
    verdict->validity = validity;
    verdict->gate = at->gate;
    verdict->reason = str_from(str_copy(trial->arena, buf_view(&text)));
    trial->failure = (struct check_record){
        .gate = at->gate,
        .shape = buf_view(&shape),
        .data = str_from(data_class_name(at->class)),
        .what = str_from(at->what),
    };
    verdict->failed = &trial->failure;
    verdict->failed_count = 1;
    return false;
}

/* A driver call failed: the candidate's doing, or the machine's. */
static bool blame(struct gpu_trial *trial, const struct circumstance *at, bool *passed,
                  const struct err *err)
{
    const enum validity validity = gpu_program_validity(&trial->bed.program);

    *passed = false;
    if (validity == VALIDITY_INFRASTRUCTURE)
        return false;
    (void)fail(trial, at, validity, err->text);
    return true;
}

static void fail_wrong(struct gpu_trial *trial, const struct circumstance *at,
                       const struct worst_element *worst, int64_t wrong, int64_t elements)
{
    struct buf text;

    buf_init(&text, trial->arena, VERDICT_REASON_BYTES_MAX);
    buf_printf(&text, "%.*s[", STR_ARG(worst->tensor));
    for (size_t d = 0; d < worst->rank; d++)
        buf_printf(&text, d == 0 ? "%" PRId64 : ", %" PRId64, worst->index[d]);
    buf_printf(&text, "] is %.9g, must be %.9g", worst->got, worst->want);
    if (worst->bound > 0)
        buf_printf(&text, " within %.3g", worst->bound);
    buf_printf(&text, "; %" PRId64 " of %" PRId64 " elements are wrong", wrong, elements);
    trial->verdict->worst = *worst;
    (void)fail(trial, at, at->gate == GATE_TIME ? VALIDITY_TIMED_OUTPUT_WRONG : VALIDITY_WRONG,
               str_copy(trial->arena, buf_view(&text)));
}

static void note_worst(struct gpu_trial *trial, const struct worst_element *worst)
{
    if (!worst->present)
        return;
    if (worst->ratio > trial->worst)
        trial->worst = worst->ratio;
    if (!trial->verdict->worst.present || worst->ratio > trial->verdict->worst.ratio)
        trial->verdict->worst = *worst;
}

/* ---- one launch ---- */

static bool run_is_clean(struct gpu_trial *trial, const struct circumstance *at,
                         const struct gpu_run *run)
{
    struct verdict *verdict = trial->verdict;
    char text[512];

    verdict->checks_executed++;
    if (run->broken_zone != NULL) {
        snprintf(text, sizeof(text), "memory next to %s was written", run->broken_zone);
        return fail(trial, at, VALIDITY_OUT_OF_BOUNDS, text);
    }
    verdict->checks_executed++;
    if (run->changed_input != NULL) {
        snprintf(text, sizeof(text), "the input %s was changed", run->changed_input);
        return fail(trial, at, VALIDITY_MUTATED_INPUT, text);
    }
    verdict->checks_executed++;
    return true;
}

static uint64_t salt_of(const struct gpu_trial *trial, uint32_t call, uint32_t repeat)
{
    const struct rng_key key = rng_key_derive(trial->job->secret, 0x47505552u + repeat, call);

    return (uint64_t)key.word[0] << 32 | key.word[1];
}

static bool fetch(struct gpu_trial *trial, struct arena *scratch, const struct gpu_run *run,
                  void **outputs, struct err *err)
{
    const struct bound_op *bound = run->data.bound;

    for (size_t t = 0; t < bound->op->declared_count; t++) {
        const size_t bytes = (size_t)bound->tensors[t].bytes;

        if (!tensor_is_output(bound->op, t))
            continue;
        outputs[t] = arena_alloc(scratch, bytes + 16, 1, 16);
        if (!gpu_download(trial->bed.gpu, outputs[t], run->outputs[t], bytes, err))
            return false;
    }
    return true;
}

/* ---- small shapes ---- */

/* One launch and its comparison; outputs stay in `scratch`. */
static bool run_small(struct gpu_trial *trial, struct arena *scratch, const struct circumstance *at,
                      struct gpu_run *run, void **outputs, bool *passed, struct err *err)
{
    const struct gpu_filling *data = &run->data;
    struct worst_element worst = {0};
    struct dataset set;
    int64_t wrong;

    *passed = false;
    if (!gpu_execute(&trial->bed, scratch, run, err))
        return blame(trial, at, passed, err);
    if (!run_is_clean(trial, at, run))
        return true;
    if (!fetch(trial, scratch, run, outputs, err) ||
        !dataset_make(scratch, data->bound, trial->job->track, data->class, data->secret,
                      data->call, &set, err))
        return false;
    trial->verdict->checks_executed += set.decided > 0;
    *passed = compare_outputs(trial->arena, &set, outputs, &wrong, &worst);
    if (!*passed) {
        fail_wrong(trial, at, &worst, wrong, set.elements);
        return true;
    }
    note_worst(trial, &worst);
    return !trial->twin_now || !run->weakest || run->alias ||
           twin_compare(scratch, &trial->twin, &set, run->salt, outputs, err);
}

static bool same_outputs(const struct bound_op *bound, void *const *a, void *const *b)
{
    for (size_t t = 0; t < bound->op->declared_count; t++)
        if (tensor_is_output(bound->op, t) &&
            memcmp(a[t], b[t], (size_t)bound->tensors[t].bytes) != 0)
            return false;
    return true;
}

static bool demands_repeat(const struct gpu_job *job)
{
    return job->candidate.manifest->deterministic || job->op->policy.deterministic ||
           (job->plan != NULL && job->plan->deterministic);
}

static bool may_run_in_place(const struct op *op)
{
    for (size_t t = 0; t < op->declared_count; t++)
        if (tensor_is_output(op, t) && op->tensors[t].may_alias != OP_NONE)
            return true;
    return false;
}

static bool run_again(struct gpu_trial *trial, struct arena *scratch, struct circumstance *at,
                      const struct gpu_run *first, void *const *outputs, bool *passed,
                      struct err *err)
{
    void **again = arena_array(scratch, void *, at->bound->op->tensor_count + 1);
    struct gpu_run run = {.data = first->data, .salt = salt_of(trial, first->data.call, 1)};

    at->what = "other addresses";
    if (!run_small(trial, scratch, at, &run, again, passed, err))
        return false;
    if (*passed && demands_repeat(trial->job)) {
        trial->verdict->checks_executed++;
        if (!same_outputs(at->bound, outputs, again))
            *passed = fail(trial, at, VALIDITY_NONDETERMINISTIC,
                           "two launches on the same data differ, but bitwise repeatability was "
                           "promised");
    }
    if (!*passed || !may_run_in_place(at->bound->op))
        return true;
    at->what = "in place";
    run.alias = run.weakest = true;
    run.salt = salt_of(trial, first->data.call, 2);
    return run_small(trial, scratch, at, &run, again, passed, err);
}

static bool check_small(struct gpu_trial *trial, const struct bound_op *bound,
                        enum data_class class, bool twice, bool *passed, struct err *err)
{
    struct circumstance at = {bound, class, GATE_GPU, "weakest alignment"};
    struct gpu_run run = {
        .data = {bound, class, trial->job->secret, trial->calls++},
        .weakest = true,
    };
    struct arena scratch;
    void **outputs;
    bool ok;

    *passed = true;
    if (!class_applies(bound->op, class))
        return true;
    arena_init(&scratch, scratch_bytes_max);
    outputs = arena_array(&scratch, void *, bound->op->tensor_count + 1);
    run.salt = salt_of(trial, run.data.call, 0);
    ok = run_small(trial, &scratch, &at, &run, outputs, passed, err);
    if (ok && *passed && twice)
        ok = run_again(trial, &scratch, &at, &run, outputs, passed, err);
    arena_release(&scratch);
    return ok;
}

static bool check_shape(struct gpu_trial *trial, const struct bound_op *bound, bool every_class,
                        size_t ordinal, bool *passed, struct err *err)
{
    const int seeds = trial->job->seeds > 0 ? trial->job->seeds : SEEDS_DEFAULT;

    for (size_t i = 0; i < COUNT_OF(usual_classes); i++)
        for (int s = 0; s < (every_class ? seeds : 1) && *passed; s++)
            if (!check_small(trial, bound, usual_classes[i], i < 2, passed, err))
                return false;
    for (size_t i = 0; i < COUNT_OF(other_classes) && *passed; i++)
        if ((every_class || i % 3 == ordinal % 3) &&
            !check_small(trial, bound, other_classes[i], false, passed, err))
            return false;
    return true;
}

/* ---- our own data against the host's ---- */

static bool same_fill(struct gpu_trial *trial, const struct bound_op *bound, size_t tensor,
                      struct err *err)
{
    const size_t bytes = (size_t)bound->tensors[tensor].bytes;
    const struct gpu_filling data = {bound, DATA_SPEC, trial->job->secret, 7};
    struct arena scratch;
    void *want, *got;
    bool ok;

    if (bytes > trial->bed.pool_bytes)
        return true;
    arena_init(&scratch, scratch_bytes_max);
    want = arena_alloc(&scratch, bytes + 16, 1, 16);
    got = arena_alloc(&scratch, bytes + 16, 1, 16);
    ok = gpu_fill(&trial->bed.tools, &scratch, &data, tensor, trial->bed.pool, err) &&
         gpu_download(trial->bed.gpu, got, trial->bed.pool, bytes, err) &&
         fill_tensor(bound, tensor, data.class, data.secret, data.call, want, err);
    if (ok && memcmp(want, got, bytes) != 0)
        ok = err_raise(err, ERR_DEVICE, "the GPU makes other data for %.*s than the host",
                       STR_ARG(bound->op->tensors[tensor].name));
    arena_release(&scratch);
    return ok;
}

static bool check_fills(struct gpu_trial *trial, const struct bound_op *bound, struct err *err)
{
    for (size_t t = 0; t < bound->op->declared_count; t++)
        if (tensor_is_fed(bound->op, t) && gpu_fills_itself(bound->op, t, DATA_SPEC) &&
            !same_fill(trial, bound, t, err))
            return false;
    return true;
}

static bool check_all_small(struct gpu_trial *trial, bool *passed, struct err *err)
{
    const struct manifest *manifest = trial->job->candidate.manifest;
    const struct shape_hints hints = {trial->job->plan, manifest, manifest->guard};
    const struct op *op = trial->job->op;
    const struct shape *shapes;
    size_t count;

    *passed = true;
    if (!shapes_derive(trial->arena, op, &hints, &shapes, &count, err))
        return false;
    twin_begin(trial->arena, trial->job, &trial->twin);
    for (size_t i = 0; i < count && *passed; i++) {
        const struct bound_op *bound;

        trial->twin_now = i == count / 2;
        if (!op_bind_shape(trial->arena, op, &shapes[i], &bound, err) ||
            (i + 1 == count && !check_fills(trial, bound, err)) ||
            !check_shape(trial, bound, i + 2 >= count, i, passed, err))
            return false;
    }
    return true;
}

/* ---- the target shape ---- */

static struct worst_element worst_of(struct gpu_trial *trial, const struct reference_answer *answer)
{
    const struct bound_op *bound = trial->job->target;
    const struct tensor *t = &bound->op->tensors[answer->tensor];
    struct worst_element worst = {
        .present = answer->element >= 0,
        .tensor = t->name,
        .rank = t->rank,
        .got = answer->got,
        .want = answer->want,
        .bound = answer->bound,
        .ratio = answer->ratio,
    };
    int64_t rest = answer->element;

    for (size_t d = 0; d < t->rank && worst.present; d++) {
        worst.index[d] = rest / bound->tensors[answer->tensor].strides[d];
        rest %= bound->tensors[answer->tensor].strides[d];
    }
    return worst;
}

/* Outputs into the memory shared with the reference, straight from the GPU. */
static bool hand_over(struct gpu_trial *trial, const struct gpu_run *run, struct err *err)
{
    const struct bound_op *bound = run->data.bound;

    for (size_t t = 0; t < bound->op->declared_count; t++)
        if (tensor_is_output(bound->op, t) &&
            !gpu_download(trial->bed.gpu, trial->reference.shared + trial->reference.offsets[t],
                          run->outputs[t], (size_t)bound->tensors[t].bytes, err))
            return false;
    return true;
}

/* A reference that cannot run here leaves the target shape open; one that is refuted is an error.
 */
static bool ask(struct gpu_trial *trial, const struct circumstance *at, uint32_t call,
                struct reference_answer *answer, struct err *err)
{
    if (reference_ask(&trial->reference, at->class, call, answer, err))
        return true;
    if (err->code == ERR_SEMANTIC)
        return false;
    trial->unknown = str_copy(trial->arena, str_from(err->text));
    return true;
}

static bool run_target(struct gpu_trial *trial, const struct circumstance *at, struct gpu_run *run,
                       bool *passed, struct err *err)
{
    struct reference_answer answer;
    struct worst_element worst;
    struct arena scratch;
    bool ok;

    *passed = false;
    arena_init(&scratch, scratch_bytes_max);
    ok = gpu_execute(&trial->bed, &scratch, run, err);
    if (ok) {
        *passed = run_is_clean(trial, at, run);
        ok = !*passed ||
             (hand_over(trial, run, err) && ask(trial, at, run->data.call, &answer, err));
    } else {
        ok = blame(trial, at, passed, err);
    }
    arena_release(&scratch);
    if (!ok || !*passed || trial->unknown != NULL)
        return ok;
    trial->confirmed = answer.confirmed;
    trial->reference_ns += answer.wall_ns;
    trial->verdict->checks_executed += answer.compared > 0;
    worst = worst_of(trial, &answer);
    if (answer.wrong == 0) {
        note_worst(trial, &worst);
        return true;
    }
    *passed = false;
    fail_wrong(trial, at, &worst, answer.wrong, answer.elements);
    return true;
}

static bool check_target(struct gpu_trial *trial, bool *passed, struct err *err)
{
    *passed = true;
    for (size_t i = 0; i < COUNT_OF(target_classes) && *passed && trial->unknown == NULL; i++) {
        struct circumstance at = {trial->job->target, target_classes[i], GATE_GPU,
                                  i % 2 == 0 ? "weakest alignment" : "other addresses"};
        struct gpu_run run = {
            .data = {at.bound, at.class, trial->job->secret, CALL_TARGET + trial->target_calls++},
            .weakest = i % 2 == 0,
        };

        if (!class_applies(at.bound->op, at.class))
            continue;
        run.salt = salt_of(trial, run.data.call, 0);
        if (!run_target(trial, &at, &run, passed, err))
            return false;
    }
    return true;
}

/* ---- the trial ---- */

static bool largest_small(struct gpu_trial *trial, const struct bound_op **out, struct err *err)
{
    const struct manifest *manifest = trial->job->candidate.manifest;
    const struct shape_hints hints = {trial->job->plan, manifest, manifest->guard};
    const struct shape *shapes;
    size_t count;

    *out = NULL;
    return shapes_derive(trial->arena, trial->job->op, &hints, &shapes, &count, err) &&
           (count == 0 ||
            op_bind_shape(trial->arena, trial->job->op, &shapes[count - 1], out, err));
}

/* Room for the target shape and for the small ones. */
static bool make_pool(struct gpu_trial *trial, struct err *err)
{
    struct gpu_bed *bed = &trial->bed;
    const struct bound_op *bounds[2] = {trial->job->target, NULL};

    if (!largest_small(trial, &bounds[1], err))
        return false;
    for (size_t i = 0; i < COUNT_OF(bounds); i++) {
        size_t bytes;

        if (bounds[i] == NULL)
            continue;
        if (!gpu_pool_bytes(&bed->program, bounds[i], &bytes, err))
            return false;
        if (bytes > bed->pool_bytes)
            bed->pool_bytes = bytes;
    }
    bed->pool_bytes =
        (bed->pool_bytes + PLACE_GRAIN_BYTES - 1) / PLACE_GRAIN_BYTES * PLACE_GRAIN_BYTES;
    return gpu_alloc(bed->gpu, bed->pool_bytes, &bed->pool, err);
}

static bool load(struct gpu_trial *trial, struct err *err)
{
    struct gpu_bed *bed = &trial->bed;
    const struct gpu_job *job = trial->job;

    return gpu_program_load(trial->arena, bed->gpu, &job->candidate, job->op, &bed->program, err) &&
           make_pool(trial, err);
}

static bool stop(struct gpu_trial *trial, const char *reason, bool *passed)
{
    trial->verdict->validity = gpu_program_validity(&trial->bed.program);
    trial->verdict->gate = GATE_GPU;
    trial->verdict->reason = str_from(str_copy(trial->arena, str_from(reason)));
    *passed = false;
    return trial->verdict->validity != VALIDITY_INFRASTRUCTURE;
}

bool gpu_trial_begin(struct arena *arena, const struct gpu_job *job, struct verdict *verdict,
                     struct gpu_trial **out, bool *passed, struct err *err)
{
    struct gpu_trial *trial = arena_new(arena, struct gpu_trial);

    *trial =
        (struct gpu_trial){.arena = arena, .job = job, .verdict = verdict, .reference = {.fd = -1}};
    trial->bed.launch_ms = job->launch_ms > 0 ? job->launch_ms : LAUNCH_MS_DEFAULT;
    *passed = true;
    if (verdict->checks_minimum < CHECKS_MINIMUM)
        verdict->checks_minimum = CHECKS_MINIMUM;
    if (job->target != NULL && !guard_admits(job->candidate.manifest->guard, job->target)) {
        verdict->validity = VALIDITY_OFF_PLAN;
        verdict->gate = GATE_GPU;
        verdict->reason = STR_LIT("the manifest's guard excludes the target shape");
        *passed = false;
        *out = NULL;
        return true;
    }
    if (job->target != NULL && !reference_start(arena, job, &trial->reference, err))
        return false;
    if (!gpu_open(arena, 0, &trial->bed.gpu, err) ||
        !gpu_tools_open(arena, trial->bed.gpu, job->tools, &trial->bed.tools, err))
        goto failed;
    verdict->executor = str_from(gpu_facts(trial->bed.gpu)->name);
    *out = trial;
    if (load(trial, err) || stop(trial, err->text, passed))
        return true;
failed:
    reference_stop(&trial->reference);
    return false;
}

static void accept(struct gpu_trial *trial)
{
    struct verdict *verdict = trial->verdict;
    const bool enough = verdict->checks_executed >= verdict->checks_minimum;
    struct buf text;

    verdict->gate = GATE_GPU;
    verdict->validity = enough && trial->unknown == NULL ? VALIDITY_ACCEPTED : VALIDITY_PARTIAL;
    buf_init(&text, trial->arena, VERDICT_REASON_BYTES_MAX);
    buf_printf(&text,
               "%" PRId64 " checks passed; on the GPU %" PRIu32 " data sets at small shapes and "
               "%" PRIu32 " at the target shape, the worst element at %.2g of its bound",
               verdict->checks_executed, trial->calls, trial->target_calls, trial->worst);
    if (trial->unknown != NULL)
        buf_printf(&text, "; partial: the target shape is not compared: %s", trial->unknown);
    else if (trial->job->target != NULL)
        buf_printf(&text, "; the interpreter confirms %" PRId64 " elements of the reference",
                   trial->confirmed);
    verdict->reason = str_from(str_copy(trial->arena, buf_view(&text)));
}

bool gpu_trial_check(struct gpu_trial *trial, bool *passed, struct err *err)
{
    if (!check_all_small(trial, passed, err))
        return false;
    if (*passed && trial->job->target != NULL && !check_target(trial, passed, err))
        return false;
    if (*passed)
        accept(trial);
    return true;
}

bool gpu_trial_launch(struct gpu_trial *trial, int64_t *time_ns, bool *passed, struct err *err)
{
    const struct circumstance at = {trial->job->target, DATA_SPEC, GATE_TIME, "a timed launch"};
    struct gpu_run run = {
        .data = {at.bound, at.class, trial->job->secret, CALL_TIMED + trial->timed_calls++},
    };

    ASSERT(trial->job->target != NULL);
    run.salt = salt_of(trial, run.data.call, 0);
    if (!run_target(trial, &at, &run, passed, err))
        return false;
    if (trial->unknown != NULL)
        return err_raise(err, ERR_DEVICE, "a timed launch was not compared: %s", trial->unknown);
    *time_ns = run.time_ns;
    return true;
}

const struct gpu_facts *gpu_trial_facts(const struct gpu_trial *trial)
{
    return gpu_facts(trial->bed.gpu);
}

void gpu_trial_observe(const struct gpu_trial *trial, struct observed_builder *observed)
{
    const struct manifest *m = trial->job->candidate.manifest;
    const uint32_t launches = trial->target_calls + trial->timed_calls;

    for (size_t k = 0; k < m->kernel_count; k++) {
        const struct gpu_function *f = trial->bed.program.functions[k];
        const struct str entry = m->kernels[k].entry;

        observed_add(observed, f->registers, "gpu.%.*s.registers", STR_ARG(entry));
        observed_add(observed, (double)f->shared_bytes, "gpu.%.*s.shared_bytes", STR_ARG(entry));
        observed_add(observed, (double)f->local_bytes, "gpu.%.*s.local_bytes", STR_ARG(entry));
    }
    if (trial->twin.elements > 0) {
        observed_add(observed, trial->twin.worst, "gpu.emulator.worst_of_bound");
        observed_add(observed, (double)trial->twin.same / (double)trial->twin.elements,
                     "gpu.emulator.same_bits");
        observed_add(observed, (double)trial->twin.elements, "gpu.emulator.elements");
    }
    observed_add(observed, trial->worst, "gpu.worst_of_bound");
    observed_add(observed, (double)trial->confirmed, "gpu.reference.confirmed");
    if (launches > 0)
        observed_add(observed, (double)trial->reference_ns / launches, "gpu.reference.wall_ns");
}

void gpu_trial_end(struct gpu_trial *trial)
{
    reference_stop(&trial->reference);
    gpu_close(trial->bed.gpu);
}
