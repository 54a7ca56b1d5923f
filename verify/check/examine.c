/*
 * The gates observe, emulate and compare, in the worker process.
 *
 * Problem: one passing run proves little.  A candidate may be right at one shape, for one
 * distribution, in one order of blocks, at one alignment.  So it is run at every derived shape, the
 * cheapest first (a small counterexample helps the reader and costs the least), on several classes
 * of data; forward at the weakest promised alignment, again in reversed order of blocks and warps,
 * with blocks interleaved where they communicate, and in place where the spec allows that.  The two
 * priciest shapes see every class.
 *
 * Invariant: `accepted` is reached only past the last check, with at least CHECKS_MINIMUM executed.
 * The first failed check ends the examination; its shape, data and circumstance are in the verdict.
 *
 * Leaves out: time, and whatever only hardware shows.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"

#include "verify/check/check_int.h"

enum {
    CHECKS_MINIMUM = 12,
    SEEDS_DEFAULT = 2,
    BLOCKS_SAMPLED = 48,
    SAMPLED_BYTES_MAX = 512 << 20,
    /* Warp instructions a launch may take beyond what its shape is priced at: a hang at a small
     * shape then costs a second.  TUNING: measured with tests/integration/test_verify. */
    BUDGET_BASE = 4 << 20,
    BUDGET_FACTOR = 96,
    BUDGET_MAX = 1 << 29,
    /* Past this many warp instructions in all, classes and seeds are left out that earlier shapes
     * have seen.  TUNING: about 40 ns each with all checks, so about a second. */
    WORK_MAX = 20 << 20,
};
/* Of what one data set and its runs may use; the worker has its own limit besides. */
static const size_t scratch_bytes_max = (size_t)6 << 30;

static const enum data_class usual_classes[] = {DATA_SPEC, DATA_ZERO_MEAN, DATA_INDEXED};
static const enum data_class other_classes[] = {
    DATA_HEAVY,  DATA_ONE_HOT, DATA_LARGE,   DATA_INTEGERS, DATA_POSITIVE,
    DATA_OFFSET, DATA_CANCEL,  DATA_SPECIAL, DATA_ZEROS,
};

struct exam {
    struct arena *arena;
    struct subject *subject;
    struct verdict *verdict;
    struct observed_builder observed;
    struct admission admission;
    uint32_t calls;    /* data sets made: each has its own data */
    int64_t undecided; /* data sets whose reference decided nothing */
    uint64_t spent;    /* warp instructions of all runs */
    struct literals literals;
    int64_t wall_ns[GATE_COUNT];
    struct check_record failure;
    bool measure; /* record counts of this shape */
};

/* A run within the exam: which data, and how. */
struct circumstance {
    const struct dataset *set;
    const char *what;
    struct run_options options;
};

/* ---- failing ---- */

static const char *shape_text(struct arena *arena, const struct bound_op *bound)
{
    struct buf text;

    buf_init(&text, arena, 4096);
    op_print_dims(&text, bound);
    return str_copy(arena, buf_view(&text));
}

/* Fills the verdict; false. */
static bool fail(struct exam *exam, const struct circumstance *at, enum gate gate,
                 enum validity validity, const char *sentence)
{
    struct arena *arena = exam->arena;
    struct verdict *verdict = exam->verdict;
    const char *shape = shape_text(arena, at->set->bound);
    struct buf text;

    buf_init(&text, arena, VERDICT_REASON_BYTES_MAX);
    buf_printf(&text, "%s; at %s, %s data, %s", sentence, shape, data_class_name(at->set->class),
               at->what);
    verdict->validity = validity;
    verdict->gate = gate;
    verdict->reason = str_from(str_copy(arena, buf_view(&text)));
    exam->failure = (struct check_record){
        .gate = gate,
        .shape = str_from(shape),
        .data = str_from(data_class_name(at->set->class)),
        .what = str_from(at->what),
    };
    verdict->failed = &exam->failure;
    verdict->failed_count = 1;
    return false;
}

static bool fail_fault(struct exam *exam, const struct circumstance *at, const struct run *run)
{
    const struct ptx_fault *fault = &run->fault;
    enum validity validity = fault_validity(fault->kind);

    if (fault->kind == PTX_FAULT_READ_ONLY && fault->buffer != NULL && fault->buffer[0] == '(')
        validity = VALIDITY_OUT_OF_BOUNDS;
    exam->verdict->source_line = fault->source_line;
    exam->verdict->detail = str_from(str_copy(exam->arena, str_from(fault->text)));
    if (fault->kind == PTX_FAULT_UNSUPPORTED)
        exam->verdict->instruction = exam->verdict->detail;
    return fail(exam, at, GATE_EMULATE, validity, str_copy(exam->arena, str_from(fault->text)));
}

static bool fail_compare(struct exam *exam, const struct circumstance *at,
                         const struct worst_element *worst, int64_t wrong)
{
    struct buf text;

    buf_init(&text, exam->arena, VERDICT_REASON_BYTES_MAX);
    buf_printf(&text, "%.*s[", STR_ARG(worst->tensor));
    for (size_t d = 0; d < worst->rank; d++)
        buf_printf(&text, d == 0 ? "%" PRId64 : ", %" PRId64, worst->index[d]);
    buf_printf(&text, "] is %.9g, must be %.9g", worst->got, worst->want);
    if (worst->bound > 0)
        buf_printf(&text, " within %.3g", worst->bound);
    buf_printf(&text, "; %" PRId64 " of %" PRId64 " elements are wrong", wrong, at->set->elements);
    exam->verdict->worst = *worst;
    return fail(exam, at, GATE_COMPARE, VALIDITY_WRONG, str_copy(exam->arena, buf_view(&text)));
}

/* ---- one run ---- */

static bool run_is_clean(struct exam *exam, const struct circumstance *at, const struct run *run)
{
    if (run->launch_refused)
        return fail(exam, at, GATE_EMULATE, run->refusal, run->reason);
    if (run->fault.kind != PTX_FAULT_NONE)
        return fail_fault(exam, at, run);
    exam->verdict->checks_executed++;
    if (run->broken_zone != NULL)
        return fail(exam, at, GATE_EMULATE, VALIDITY_OUT_OF_BOUNDS,
                    "memory next to a buffer was written");
    exam->verdict->checks_executed++;
    if (run->changed_input != NULL)
        return fail(exam, at, GATE_EMULATE, VALIDITY_MUTATED_INPUT, "an input was changed");
    exam->verdict->checks_executed++;
    return true;
}

/* Emulates and compares; false when the verdict is filled or *err is. */
static bool run_and_compare(struct exam *exam, struct arena *scratch, const struct circumstance *at,
                            struct run *run, bool *failed, struct err *err)
{
    struct worst_element worst = {0};
    int64_t start = clock_mono_ns();
    int64_t wrong;
    bool right;

    *failed = true;
    if (!emu_run(scratch, exam->subject, at->set, &at->options, run, err))
        return false;
    exam->wall_ns[GATE_EMULATE] += clock_mono_ns() - start;
    for (size_t k = 0; k < exam->subject->manifest->kernel_count; k++)
        exam->spent += run->counts[k].warp_insns;
    if (!run_is_clean(exam, at, run))
        return true;
    start = clock_mono_ns();
    right = compare_outputs(exam->arena, at->set, run->outputs, &wrong, &worst);
    exam->wall_ns[GATE_COMPARE] += clock_mono_ns() - start;
    exam->verdict->checks_executed += at->set->decided > 0;
    if (!right) {
        (void)fail_compare(exam, at, &worst, wrong);
        return true;
    }
    if (!exam->verdict->worst.present || worst.ratio > exam->verdict->worst.ratio)
        exam->verdict->worst = worst;
    *failed = false;
    return true;
}

static struct run_options options_of(struct exam *exam, const struct dataset *set)
{
    const struct check_options *given = exam->subject->options;
    const int64_t price = shape_price(set->bound, exam->subject->manifest);
    const int64_t budget =
        price < BUDGET_MAX / BUDGET_FACTOR ? BUDGET_BASE + BUDGET_FACTOR * price : BUDGET_MAX;
    const struct rng_key key = rng_key_derive(given->secret, 0x52554e53u, exam->calls);

    return (struct run_options){
        .salt = ((uint64_t)key.word[0] << 32) | key.word[1],
        .budget = given->budget_warp_insns > 0 ? given->budget_warp_insns : (uint64_t)budget,
        .skip = SIZE_MAX,
    };
}

static bool outputs_same(const struct dataset *set, const struct run *a, const struct run *b)
{
    const struct op *op = set->bound->op;

    for (size_t t = 0; t < op->declared_count; t++)
        if (tensor_is_output(op, t) &&
            memcmp(a->outputs[t], b->outputs[t], (size_t)set->bound->tensors[t].bytes) != 0)
            return false;
    return true;
}

static bool demands_repeat(const struct subject *subject)
{
    return subject->manifest->deterministic || subject->op->policy.deterministic ||
           (subject->options->plan != NULL && subject->options->plan->deterministic);
}

static bool may_run_in_place(const struct op *op)
{
    for (size_t t = 0; t < op->declared_count; t++)
        if (tensor_is_output(op, t) && op->tensors[t].may_alias != OP_NONE)
            return true;
    return false;
}

/* ---- what is observed on the way ---- */

static void observe_run(struct exam *exam, const struct dataset *set, const struct run *run)
{
    const struct manifest *manifest = exam->subject->manifest;
    const struct op *op = set->bound->op;

    for (size_t k = 0; k < manifest->kernel_count; k++) {
        const struct ptx_counts *counts = &run->counts[k];
        const struct {
            const char *name;
            uint64_t value;
        } items[] = {
            {"warp_insns", counts->warp_insns},
            {"flops", counts->flops},
            {"bank_conflicts", counts->bank_conflicts},
            {"barriers", counts->barriers},
            {"shared_bytes_read", counts->shared_bytes_read},
            {"shared_bytes_written", counts->shared_bytes_written},
            {"divergent_branches", counts->divergent_branches},
            {"atomics", counts->atomics},
        };

        for (size_t i = 0; i < COUNT_OF(items); i++)
            observed_add(&exam->observed, (double)items[i].value, "emu.%.*s.%s",
                         STR_ARG(manifest->kernels[k].entry), items[i].name);
    }
    for (size_t t = 0; t < op->declared_count; t++) {
        observed_add(&exam->observed, (double)run->bytes_read[t], "emu.bytes_read.%.*s",
                     STR_ARG(op->tensors[t].name));
        observed_add(&exam->observed, (double)run->bytes_written[t], "emu.bytes_written.%.*s",
                     STR_ARG(op->tensors[t].name));
    }
}

/* Does leaving a kernel out change the result?  One that never matters is a ghost. */
static bool observe_need(struct exam *exam, struct arena *scratch, const struct dataset *set,
                         struct err *err)
{
    const struct manifest *manifest = exam->subject->manifest;

    for (size_t k = 0; k < manifest->kernel_count && manifest->kernel_count > 1; k++) {
        struct run_options options = options_of(exam, set);
        struct worst_element worst = {0};
        struct run run;
        int64_t wrong = 0;

        options.skip = k;
        if (!emu_run(scratch, exam->subject, set, &options, &run, err))
            return false;
        observed_add(&exam->observed,
                     run.launch_refused || run.fault.kind != PTX_FAULT_NONE ||
                         !compare_outputs(scratch, set, run.outputs, &wrong, &worst),
                     "emu.%.*s.needed", STR_ARG(manifest->kernels[k].entry));
    }
    return true;
}

/* ---- one data set ---- */

/* The same in another order; where that was promised, with the same result. */
static bool run_reordered(struct exam *exam, struct arena *scratch, struct circumstance *at,
                          const struct run *forward, bool *failed, struct err *err)
{
    struct run run;

    at->options.weakest = false;
    at->options.salt += 0x9e3779b97f4a7c15u;
    if (!run_and_compare(exam, scratch, at, &run, failed, err))
        return false;
    if (*failed || !demands_repeat(exam->subject))
        return true;
    exam->verdict->checks_executed++;
    if (!outputs_same(at->set, forward, &run))
        *failed = !fail(exam, at, GATE_COMPARE, VALIDITY_NONDETERMINISTIC,
                        "the result depends on the order of blocks and warps, but bitwise "
                        "repeatability was promised");
    return true;
}

static bool run_orders(struct exam *exam, struct arena *scratch, const struct dataset *set,
                       bool both, bool *failed, struct err *err)
{
    struct circumstance at = {set, "forward order, weakest alignment", options_of(exam, set)};
    struct run forward;

    at.options.weakest = true;
    if (!run_and_compare(exam, scratch, &at, &forward, failed, err))
        return false;
    if (*failed)
        return true;
    if (exam->measure)
        observe_run(exam, set, &forward);
    if (!both)
        return true;
    at.what = "reversed order";
    at.options.order = ORDER_BLOCKS_REVERSED;
    if (!run_reordered(exam, scratch, &at, &forward, failed, err))
        return false;
    /* Only blocks that talk can meet half way; the order matters little to them across classes. */
    if (*failed || !forward.communicates || set->class != DATA_SPEC)
        return true;
    at.what = "interleaved blocks";
    at.options.order = ORDER_BLOCKS_INTERLEAVED;
    return run_reordered(exam, scratch, &at, &forward, failed, err);
}

static bool run_in_place(struct exam *exam, struct arena *scratch, const struct dataset *set,
                         bool *failed, struct err *err)
{
    struct circumstance at = {set, "in place", options_of(exam, set)};

    for (int reverse = 0; reverse < 2; reverse++) {
        struct run run;

        at.options.alias = true;
        at.options.weakest = true;
        at.options.order = reverse != 0 ? ORDER_BLOCKS_REVERSED : ORDER_BLOCKS_FORWARD;
        at.what = reverse != 0 ? "in place, reversed order" : "in place";
        at.options.salt++;
        if (!run_and_compare(exam, scratch, &at, &run, failed, err))
            return false;
        if (*failed)
            return true;
    }
    return true;
}

static bool check_dataset(struct exam *exam, const struct bound_op *bound, enum data_class class,
                          bool both, bool *failed, struct err *err)
{
    const struct check_options *options = exam->subject->options;
    const int64_t start = clock_mono_ns();
    struct arena scratch;
    struct dataset set;
    bool ok;

    arena_init(&scratch, scratch_bytes_max);
    ok = dataset_make(&scratch, bound, exam->subject->track, class, options->secret, exam->calls++,
                      &set, err);
    exam->wall_ns[GATE_COMPARE] += clock_mono_ns() - start;
    if (ok) {
        exam->undecided += set.decided == 0;
        ok = run_orders(exam, &scratch, &set, both, failed, err);
        if (ok && !*failed && both && may_run_in_place(bound->op))
            ok = run_in_place(exam, &scratch, &set, failed, err);
        if (ok && !*failed)
            ok = admission_add(&scratch, &set, &exam->admission, err);
        if (ok && !*failed && exam->measure)
            ok = observe_need(exam, &scratch, &set, err);
        exam->measure = false;
    }
    arena_release(&scratch);
    return ok;
}

/* ---- the candidate's own constants as data ---- */

static bool check_values(struct exam *exam, struct arena *scratch, const struct dataset *like,
                         const float *values, size_t count, bool *failed, struct err *err)
{
    struct circumstance at = {.what = "the candidate's own constants as data"};
    struct dataset set;
    struct run run;

    if (!dataset_with(scratch, like, values, count, &set, err))
        return false;
    at.set = &set;
    at.options = options_of(exam, &set);
    at.options.weakest = true;
    exam->calls++;
    return run_and_compare(exam, scratch, &at, &run, failed, err);
}

/* Each constant as the first element of every input, then all of them in their order. */
static bool check_literals(struct exam *exam, const struct bound_op *bound, bool *failed,
                           struct err *err)
{
    const struct dataset like = {.bound = bound,
                                 .track = exam->subject->track,
                                 .class = DATA_SPEC,
                                 .secret = exam->subject->options->secret,
                                 .call = exam->calls++};
    const struct literals *literals = &exam->literals;
    bool ok = true;

    for (size_t i = 0; i <= literals->count && literals->count > 0 && ok && !*failed; i++) {
        const bool all = i == literals->count;
        struct arena scratch;

        arena_init(&scratch, scratch_bytes_max);
        ok = check_values(exam, &scratch, &like, all ? literals->values : &literals->values[i],
                          all ? literals->count : 1, failed, err);
        arena_release(&scratch);
    }
    return ok;
}

/* ---- one shape ---- */

static bool check_class(struct exam *exam, const struct bound_op *bound, enum data_class class,
                        int seeds, bool both, bool *failed, struct err *err)
{
    if (!class_applies(bound->op, class))
        return true;
    for (int s = 0; s < seeds && !*failed && (s == 0 || exam->spent < WORK_MAX); s++)
        if (!check_dataset(exam, bound, class, both, failed, err))
            return false;
    return true;
}

static bool check_shape(struct exam *exam, const struct bound_op *bound, bool every_class,
                        size_t ordinal, bool *failed, struct err *err)
{
    const int seeds =
        exam->subject->options->seeds > 0 ? exam->subject->options->seeds : SEEDS_DEFAULT;

    for (size_t i = 0; i < COUNT_OF(usual_classes) && !*failed; i++)
        if (!check_class(exam, bound, usual_classes[i], every_class && i < 2 ? seeds : 1, i < 2,
                         failed, err))
            return false;
    for (size_t i = 0; i < COUNT_OF(other_classes) && !*failed && exam->spent < WORK_MAX; i++)
        if ((every_class || i % 3 == ordinal % 3) &&
            !check_class(exam, bound, other_classes[i], 1, false, failed, err))
            return false;
    return true;
}

static bool check_shapes_all(struct exam *exam, const struct shape *shapes, size_t count,
                             bool *failed, struct err *err)
{
    for (size_t i = 0; i < count && !*failed; i++) {
        const struct bound_op *bound;

        if (!op_bind_shape(exam->arena, exam->subject->op, &shapes[i], &bound, err))
            return false;
        if (!guard_admits(exam->subject->manifest->guard, bound)) {
            exam->verdict->validity = VALIDITY_OFF_PLAN;
            exam->verdict->reason =
                STR_LIT("the manifest's guard excludes the shape that was asked for");
            *failed = true;
            return true;
        }
        exam->measure = i + 1 == count;
        if (!check_shape(exam, bound, i + 2 >= count, i, failed, err))
            return false;
        if (!*failed && i == count / 3 && !check_literals(exam, bound, failed, err))
            return false;
    }
    return true;
}

/* Once each, just beyond the limits in the candidate's code. */
static bool check_beyond(struct exam *exam, const struct shape *known, size_t known_count,
                         bool *failed, struct err *err)
{
    const struct subject *subject = exam->subject;
    const struct shape_hints hints = {subject->options->plan, subject->manifest,
                                      subject->manifest->guard};
    const struct shape *shapes;
    size_t count;

    if (subject->options->shapes != NULL)
        return true;
    shapes_beyond(exam->arena, subject->op, &hints, &exam->literals, known, known_count, &shapes,
                  &count);
    for (size_t i = 0; i < count && !*failed; i++) {
        const struct bound_op *bound;

        if (!op_bind_shape(exam->arena, subject->op, &shapes[i], &bound, err) ||
            !check_dataset(exam, bound, DATA_SPEC, false, failed, err))
            return false;
    }
    return true;
}

/* ---- only the full shape is left ---- */

static const struct bound_op *admitted_target(struct exam *exam)
{
    const struct op *op = exam->subject->op;

    for (size_t i = 0; i < op->target_count; i++) {
        const struct bound_op *bound;
        struct err err;

        if (op_bind_shape(exam->arena, op, &op->targets[i], &bound, &err) &&
            guard_admits(exam->subject->manifest->guard, bound))
            return bound;
    }
    return NULL;
}

static int64_t declared_bytes(const struct bound_op *bound)
{
    int64_t bytes = 0;

    for (size_t t = 0; t < bound->op->declared_count; t++)
        bytes += bound->tensors[t].bytes;
    return bytes;
}

static void end_partial(struct exam *exam, struct str why)
{
    exam->verdict->validity = VALIDITY_PARTIAL;
    exam->verdict->gate = GATE_EMULATE;
    exam->verdict->flags = why;
    exam->verdict->reason = why;
}

/* Did a block wait for one that was left out? */
static bool waits_in_vain(const struct run *run)
{
    return run->communicates &&
           (run->fault.kind == PTX_FAULT_BARRIER_STUCK || run->fault.kind == PTX_FAULT_BUDGET);
}

/* Sampled blocks of the first kernel, for faults; no reference at this size. */
static bool check_sampled(struct exam *exam, bool *failed, struct err *err)
{
    struct dataset set = {.bound = admitted_target(exam), .class = DATA_SPEC};
    struct circumstance at = {&set, "sampled blocks", {0}};
    struct arena scratch;
    struct run run;
    bool ok;

    if (set.bound == NULL) {
        exam->verdict->validity = VALIDITY_OFF_PLAN;
        exam->verdict->gate = GATE_OBSERVE;
        exam->verdict->reason =
            STR_LIT("the guard admits no shape in the ranges of the spec's dims "
                    "that could be checked");
        *failed = true;
        return true;
    }
    if (declared_bytes(set.bound) > SAMPLED_BYTES_MAX) {
        end_partial(exam, STR_LIT("partial: the guard leaves only shapes that are too large to run "
                                  "on the emulator"));
        return true;
    }
    set.secret = exam->subject->options->secret;
    at.options = options_of(exam, &set);
    at.options.weakest = true;
    at.options.blocks_max = BLOCKS_SAMPLED;
    at.options.budget = BUDGET_MAX;
    arena_init(&scratch, scratch_bytes_max);
    ok = dataset_fill(&scratch, &set, err) &&
         emu_run(&scratch, exam->subject, &set, &at.options, &run, err);
    if (ok && waits_in_vain(&run))
        end_partial(exam, STR_LIT("partial: the guard leaves no shape small enough to compare, and "
                                  "blocks that wait for each other cannot be sampled"));
    else if (ok && !run_is_clean(exam, &at, &run))
        *failed = true;
    else if (ok)
        end_partial(exam,
                    STR_LIT("partial: the guard leaves no shape small enough to compare; sampled "
                            "blocks of the first kernel ran at the full shape without a fault"));
    arena_release(&scratch);
    return ok;
}

/* ---- the whole ---- */

/* Right, but of no use where the spec wants it. */
static struct str flags_of(struct exam *exam)
{
    const struct str admission = admission_flags(exam->arena, &exam->admission);

    if (admission.len > 0 || admitted_target(exam) != NULL)
        return admission;
    return STR_LIT("the guard excludes every target shape of the spec");
}

static void accept(struct exam *exam)
{
    struct verdict *verdict = exam->verdict;
    struct buf text;

    verdict->flags = flags_of(exam);
    verdict->gate = GATE_COMPARE;
    buf_init(&text, exam->arena, VERDICT_REASON_BYTES_MAX);
    if (verdict->checks_executed < verdict->checks_minimum || exam->undecided == exam->calls) {
        verdict->validity = VALIDITY_PARTIAL;
        buf_printf(&text,
                   "only %" PRId64 " checks could be executed, acceptance needs %" PRId64
                   " and a reference that decides",
                   verdict->checks_executed, verdict->checks_minimum);
    } else {
        verdict->validity = VALIDITY_ACCEPTED;
        buf_printf(&text, "%" PRId64 " checks passed on %" PRIu32 " data sets",
                   verdict->checks_executed, exam->calls);
        if (verdict->worst.present)
            buf_printf(&text, "; the worst element is at %.2g of its bound", verdict->worst.ratio);
    }
    if (exam->undecided > 0)
        buf_printf(&text, "; %" PRId64 " data sets decide nothing", exam->undecided);
    verdict->reason = str_from(str_copy(exam->arena, buf_view(&text)));
}

static bool choose_shapes(struct exam *exam, const struct shape **shapes, size_t *count,
                          struct err *err)
{
    const struct subject *subject = exam->subject;
    const struct shape_hints hints = {subject->options->plan, subject->manifest,
                                      subject->manifest->guard};

    if (subject->options->shapes == NULL)
        return shapes_derive(exam->arena, subject->op, &hints, shapes, count, err);
    *shapes = subject->options->shapes;
    *count = subject->options->shape_count;
    return true;
}

static void finish(struct exam *exam, bool observed_ok)
{
    struct verdict *verdict = exam->verdict;
    struct gate_record *gates = arena_array(exam->arena, struct gate_record, 3);

    for (int i = 0; i < 3; i++) {
        const enum gate gate = (enum gate)(GATE_OBSERVE + i);

        if (i > 0 && (!observed_ok || verdict->gate < gate))
            break;
        gates[i] = (struct gate_record){
            .gate = gate,
            .passed = verdict->gate > gate || verdict->validity == VALIDITY_ACCEPTED ||
                      verdict->validity == VALIDITY_PARTIAL,
            .wall_ns = exam->wall_ns[gate],
        };
        verdict->gate_count = (size_t)i + 1;
    }
    verdict->gates = gates;
    verdict->observed = observed_end(&exam->observed);
}

bool examine(struct arena *arena, struct subject *subject, struct verdict *verdict, struct err *err)
{
    const int64_t start = clock_mono_ns();
    struct exam *exam = arena_new(arena, struct exam);
    const struct shape *shapes;
    size_t count;
    bool observed_ok, failed = false;

    exam->arena = arena;
    exam->subject = subject;
    exam->verdict = verdict;
    verdict->checks_minimum = CHECKS_MINIMUM;
    verdict->gate = GATE_OBSERVE;
    observed_begin(&exam->observed, arena);
    observed_ok = observe(arena, subject, &exam->observed, verdict);
    exam->wall_ns[GATE_OBSERVE] = clock_mono_ns() - start;
    if (observed_ok) {
        if (!choose_shapes(exam, &shapes, &count, err))
            return false;
        if (count == 0 && !check_sampled(exam, &failed, err))
            return false;
        if (count > 0) {
            admission_begin(&exam->admission, subject->op, shapes, count);
            literals_of(subject->ptx, &exam->literals);
            if (!check_shapes_all(exam, shapes, count, &failed, err) ||
                (!failed && !check_beyond(exam, shapes, count, &failed, err)))
                return false;
            if (!failed)
                accept(exam);
        }
    }
    finish(exam, observed_ok);
    return true;
}
