/*
 * Running a compiled statement.
 *
 * A task is one output element, or INTERP_LANES of them along the lane loop, with everything that
 * is summed into them.  Tasks are numbered over the free loops in row-major order and each thread
 * takes a contiguous part, so an element is computed by one thread in one order and results do not
 * depend on the number of threads.  Scatter-adds may meet in any element: one thread runs them in
 * loop order.
 *
 * Invariant: instructions that do not change with a reduced loop are evaluated once a task, before
 * the others are evaluated in each iteration.
 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/panic.h"

#include "solver/ir/interp_int.h"

/* TUNING: instructions times lanes below which a thread costs more than it saves (20 us). */
enum { THREAD_WORK_MIN = 50000 };

/* ---- evaluation ---- */

static struct conversion conversion_of(const struct worker *w, const struct insn *insn)
{
    return (struct conversion){
        .mode = w->interp->mode,
        .from = insn->from,
        .to = insn->dtype,
        .is_cast = insn->is_cast,
        .tf32 = insn->tf32,
    };
}

static void own(const struct worker *w, struct reg *reg, bool varying)
{
    reg->at = reg->own;
    reg->step = varying;
    reg->bound = reg->own_bound;
    reg->bound_step = w->interp->mode == INTERP_BOUND && varying;
}

static void eval_loop(const struct worker *w, const struct insn *insn, struct reg *reg, size_t n)
{
    int64_t start = w->loops[insn->loop];
    for (size_t i = 0; i < n; i++)
        reg->own[i].i = start + (int64_t)i;
    for (size_t i = 0; w->interp->mode == INTERP_BOUND && i < n; i++)
        reg->own_bound[i] = 0;
}

static bool eval_insn(struct worker *w, const struct insn *insn, struct reg *reg)
{
    size_t n = insn->varying ? w->lanes : 1;
    bool bounds = w->interp->mode == INTERP_BOUND;
    struct conversion conversion;
    switch (insn->kind) {
    case INSN_CONST:
        return true;
    case INSN_READ:
        return read_lanes(w, insn, reg);
    case INSN_LOOP:
        own(w, reg, insn->varying);
        eval_loop(w, insn, reg, n);
        return true;
    case INSN_CONVERT:
        own(w, reg, insn->varying);
        conversion = conversion_of(w, insn);
        eval_convert(&conversion, &w->regs[insn->args[0]], reg, n);
        if (bounds)
            bound_convert(&conversion, &w->regs[insn->args[0]], reg, n);
        return true;
    case INSN_OP:
        own(w, reg, insn->varying);
        eval_op(w, insn, reg, n);
        if (bounds)
            bound_op_lanes(w, insn, reg, n);
        return true;
    }
    panic("instruction %d", (int)insn->kind);
}

static bool eval(struct worker *w, bool inner)
{
    const struct kernel *k = w->kernel;
    for (size_t i = 0; i < k->insn_count; i++)
        if (k->insns[i].inner == inner && !eval_insn(w, &k->insns[i], &w->regs[i]))
            return false;
    return true;
}

static void load_constants(struct worker *w)
{
    for (size_t i = 0; i < w->kernel->insn_count; i++) {
        const struct insn *insn = &w->kernel->insns[i];
        struct reg *reg = &w->regs[i];
        if (insn->kind != INSN_CONST)
            continue;
        own(w, reg, false);
        reg->own[0] = insn->constant;
        if (w->interp->mode == INTERP_BOUND)
            reg->own_bound[0] = insn->constant_bound;
    }
}

/* ---- results ---- */

/* Convert n results to the target's type and put them at base, base + step, ... */
static void put(struct worker *w, const struct reg *results, size_t n, int64_t base, int64_t step)
{
    const struct bound_op *bound = w->interp->bound;
    size_t target = w->kernel->stmt->target;
    const struct store *store = &w->interp->stores[target];
    enum reduce_op reduce = w->kernel->stmt->reduce;
    bool is_arg = reduce == REDUCE_ARGMAX || reduce == REDUCE_ARGMIN;
    struct conversion conversion = {.mode = w->interp->mode,
                                    .from = is_arg ? DTYPE_I64 : w->kernel->dtype,
                                    .to = bound->op->tensors[target].dtype};
    struct reg typed = {.at = w->typed, .own = w->typed, .own_bound = w->typed_bound};
    bool bounds = w->interp->mode == INTERP_BOUND;
    eval_convert(&conversion, results, &typed, n);
    for (size_t i = 0; i < n; i++)
        store->at[base + (int64_t)i * step] = typed.own[i];
    if (!bounds)
        return;
    bound_convert(&conversion, results, &typed, n);
    for (size_t i = 0; i < n; i++)
        store->bound[base + (int64_t)i * step] = typed.own_bound[i];
}

static struct reg results_of(const struct worker *w)
{
    return (struct reg){.at = w->out, .step = 1, .bound = w->out_bound, .bound_step = 1};
}

static int64_t target_step(const struct worker *w, size_t loop)
{
    return w->interp->bound->tensors[w->kernel->stmt->target].strides[loop];
}

static int64_t target_base(const struct worker *w)
{
    int64_t base = 0;
    for (size_t l = 0; l < w->kernel->stmt->free_count; l++)
        base += w->loops[l] * target_step(w, l);
    return base;
}

/* ---- loops ---- */

static void range_of(enum range_bound bound, int64_t extent, int64_t at, int64_t *low,
                     int64_t *high)
{
    int64_t here = at < extent ? at : extent;
    int64_t next = at + 1 < extent ? at + 1 : extent;
    *low = 0;
    *high = extent;
    switch (bound) {
    case RANGE_FULL:
        return;
    case RANGE_LT:
        *high = here;
        return;
    case RANGE_LE:
        *high = next;
        return;
    case RANGE_GT:
        *low = next;
        return;
    case RANGE_GE:
        *low = here;
        return;
    }
    panic("range %d", (int)bound);
}

static void set_range(struct worker *w, size_t l)
{
    const struct loop *loop = &w->kernel->stmt->loops[l];
    int64_t at = loop->bound == RANGE_FULL ? 0 : w->loops[loop->bound_loop];
    range_of(loop->bound, w->kernel->extents[l], at, &w->low[l], &w->high[l]);
}

/* The first iteration of the loops from `first` on but the lane loop; false when there is none. */
static bool loops_begin(struct worker *w, size_t first)
{
    bool any = true;
    for (size_t l = first; l < w->kernel->stmt->loop_count; l++) {
        set_range(w, l);
        w->loops[l] = w->low[l];
        any &= w->low[l] < w->high[l];
    }
    return any;
}

static bool loops_next(struct worker *w, size_t first)
{
    for (size_t l = w->kernel->stmt->loop_count; l-- > first;) {
        if (l == w->kernel->lane)
            continue;
        if (++w->loops[l] < w->high[l])
            return true;
        w->loops[l] = w->low[l];
    }
    return false;
}

static int64_t reduced_count(const struct worker *w)
{
    int64_t count = 1;
    for (size_t l = w->kernel->stmt->free_count; l < w->kernel->stmt->loop_count; l++)
        count *= w->high[l] - w->low[l];
    return count;
}

static size_t lanes_from(int64_t at, int64_t end)
{
    return (size_t)(end - at < INTERP_LANES ? end - at : INTERP_LANES);
}

/* Does a task keep this free loop's values together? */
static bool is_whole(const struct kernel *k, size_t loop)
{
    if (k->strategy == RUN_SCAN)
        return loop == k->stmt->loops[k->lane].bound_loop;
    return k->strategy == RUN_FREE && loop == k->lane;
}

static int64_t chunks(const struct kernel *k)
{
    if (k->strategy != RUN_FREE || k->lane == OP_NONE)
        return 1;
    return num_ceil_div(k->extents[k->lane], INTERP_LANES);
}

static int64_t task_count(const struct kernel *k)
{
    int64_t tasks = chunks(k);
    for (size_t l = k->fixed; l < k->stmt->free_count; l++)
        if (!is_whole(k, l))
            tasks *= k->extents[l];
    return k->stmt->scatter ? 1 : tasks;
}

static void set_task(struct worker *w, int64_t task)
{
    const struct kernel *k = w->kernel;
    int64_t chunk = task % chunks(k);
    int64_t rest = task / chunks(k);
    w->lanes = 1;
    for (size_t l = k->stmt->free_count; l-- > k->fixed;) {
        w->loops[l] = 0;
        if (is_whole(k, l))
            continue;
        w->loops[l] = rest % k->extents[l];
        rest /= k->extents[l];
    }
    if (k->strategy == RUN_FREE && k->lane != OP_NONE) {
        w->loops[k->lane] = chunk * INTERP_LANES;
        w->lanes = lanes_from(w->loops[k->lane], k->extents[k->lane]);
    }
}

/* ---- strategies ---- */

static bool run_free(struct worker *w)
{
    const struct kernel *k = w->kernel;
    const struct stmt *stmt = k->stmt;
    size_t lanes = w->lanes;
    int64_t step = k->lane == OP_NONE ? 0 : target_step(w, k->lane);
    if (!eval(w, false))
        return false;
    if (stmt->reduce == REDUCE_NONE) {
        put(w, &w->regs[k->result], lanes, target_base(w), step);
        return true;
    }
    fold_begin(w, lanes);
    bool more = loops_begin(w, stmt->free_count);
    int64_t count = more ? reduced_count(w) : 0;
    for (; more; more = loops_next(w, stmt->free_count)) {
        if (!eval(w, true))
            return false;
        fold_terms(w, &w->regs[k->result], lanes, false);
    }
    fold_end(w, lanes, count, 0);
    struct reg results = results_of(w);
    put(w, &results, lanes, target_base(w), step);
    return true;
}

/* All terms along the lane loop at the other loops' present values, to the accumulator or, when
 * `row` is not negative, to the row from there on. */
static bool run_lanes(struct worker *w, int64_t row)
{
    size_t lane = w->kernel->lane;
    const struct reg *terms = &w->regs[w->kernel->result];
    for (int64_t at = w->low[lane]; at < w->high[lane]; at += INTERP_LANES) {
        w->loops[lane] = at;
        w->lanes = lanes_from(at, w->high[lane]);
        if (!eval(w, true))
            return false;
        if (row < 0) {
            fold_terms(w, terms, w->lanes, true);
            continue;
        }
        for (size_t i = 0; i < w->lanes; i++)
            w->row[row + (int64_t)i] = terms->at[i * terms->step];
        for (size_t i = 0; w->interp->mode == INTERP_BOUND && i < w->lanes; i++)
            w->row_bound[row + (int64_t)i] = terms->bound[i * terms->bound_step];
        row += (int64_t)w->lanes;
    }
    return true;
}

static bool run_inner(struct worker *w)
{
    const struct stmt *stmt = w->kernel->stmt;
    if (!eval(w, false))
        return false;
    fold_begin(w, 1);
    bool more = loops_begin(w, stmt->free_count);
    int64_t count = more ? reduced_count(w) : 0;
    for (; more; more = loops_next(w, stmt->free_count))
        if (!run_lanes(w, -1))
            return false;
    fold_end(w, 1, count, 0);
    struct reg results = results_of(w);
    put(w, &results, 1, target_base(w), 0);
    return true;
}

static bool run_row(struct worker *w)
{
    const struct stmt *stmt = w->kernel->stmt;
    if (!eval(w, false))
        return false;
    int64_t count = 0;
    for (bool more = loops_begin(w, stmt->free_count); more;
         more = loops_next(w, stmt->free_count)) {
        if (!run_lanes(w, count))
            return false;
        count += w->high[w->kernel->lane] - w->low[w->kernel->lane];
    }
    if (count == 0 && stmt->reduce != REDUCE_SUM) {
        w->failed = true;
        err_raise(&w->err, ERR_SEMANTIC, "body line %d: %s of nothing", stmt->place.line,
                  reduce_op_name(stmt->reduce));
        return false;
    }
    fold_row(w, count, target_base(w));
    struct reg results = results_of(w);
    put(w, &results, 1, target_base(w), 0);
    return true;
}

/* Feed the accumulator the terms that come into range at value `at` of the bounding loop. */
static void scan_feed(const struct worker *w, int64_t at, int64_t *fed)
{
    const struct loop *loop = &w->kernel->stmt->loops[w->kernel->lane];
    int64_t extent = w->kernel->extents[w->kernel->lane];
    int64_t low, high;
    range_of(loop->bound, extent, at, &low, &high);
    bool reverse = loop->bound == RANGE_GT || loop->bound == RANGE_GE;
    for (; *fed < high - low; ++*fed) {
        int64_t i = reverse ? extent - 1 - *fed : *fed;
        struct reg term = {.at = w->row + i, .bound = w->row_bound + i};
        fold_terms(w, &term, 1, true);
    }
}

static bool run_scan(struct worker *w)
{
    const struct kernel *k = w->kernel;
    const struct loop *loop = &k->stmt->loops[k->lane];
    bool reverse = loop->bound == RANGE_GT || loop->bound == RANGE_GE;
    int64_t extent = k->extents[loop->bound_loop];
    int64_t step = target_step(w, loop->bound_loop);
    if (!eval(w, false))
        return false;
    w->low[k->lane] = 0;
    w->high[k->lane] = k->extents[k->lane];
    if (!run_lanes(w, 0))
        return false;
    fold_begin(w, 1);
    int64_t fed = 0;
    for (int64_t done = 0; done < extent; done += INTERP_LANES) {
        size_t n = lanes_from(done, extent);
        int64_t first = reverse ? extent - 1 - done : done;
        for (size_t i = 0; i < n; i++) {
            scan_feed(w, reverse ? first - (int64_t)i : first + (int64_t)i, &fed);
            fold_end(w, 1, fed, i);
        }
        w->loops[loop->bound_loop] = first;
        struct reg results = results_of(w);
        put(w, &results, n, target_base(w), reverse ? -step : step);
    }
    return true;
}

/* ---- scatter ---- */

static bool scatter_offset(struct worker *w, size_t lane, int64_t *offset, bool *open)
{
    const struct stmt *stmt = w->kernel->stmt;
    const struct bound_tensor *target = &w->interp->bound->tensors[stmt->target];
    size_t rank = w->interp->bound->op->tensors[stmt->target].rank;
    *offset = 0;
    for (size_t d = 0; d < rank; d++) {
        const struct reg *reg = &w->regs[w->kernel->scatter[d]];
        int64_t at = reg->at[lane * reg->step].i;
        if (w->interp->mode == INTERP_BOUND)
            *open |= reg->bound[lane * reg->bound_step] > 0;
        if (at < 0 || at >= target->shape[d]) {
            read_fail(w, NULL, d, at, (int64_t)lane);
            return false;
        }
        *offset += at * target->strides[d];
    }
    return true;
}

/* Nothing has been added to any element; an earlier statement may have left its sums. */
static void scatter_begin(struct worker *w, int64_t count)
{
    struct acc mine = w->acc;
    w->acc = w->side;
    fold_begin(w, (size_t)count);
    w->acc = mine;
    memset(w->side_count, 0, (size_t)count * sizeof(*w->side_count));
}

/* Add the lanes to their elements' accumulators, one after the other. */
static bool scatter_lanes(struct worker *w, bool *all_open)
{
    const struct reg *value = &w->regs[w->kernel->result];
    struct acc mine = w->acc;
    bool good = true;
    for (size_t i = 0; good && i < w->lanes; i++) {
        int64_t at;
        good = scatter_offset(w, i, &at, all_open);
        if (!good)
            break;
        struct reg term = {.at = value->at + i * value->step};
        if (w->interp->mode == INTERP_BOUND)
            term.bound = value->bound + i * value->bound_step;
        w->acc.value = w->side.value + at;
        for (size_t f = 0; f < ACC_FIELDS && w->interp->mode == INTERP_BOUND; f++)
            w->acc.field[f] = w->side.field[f] + at;
        fold_terms(w, &term, 1, true);
        w->side_count[at]++;
    }
    w->acc = mine;
    return good;
}

/* The accumulators of all elements to the target, INTERP_LANES at a time. */
static void scatter_end(struct worker *w, int64_t count, bool all_open)
{
    struct acc mine = w->acc;
    for (int64_t at = 0; at < count; at += INTERP_LANES) {
        size_t n = lanes_from(at, count);
        for (size_t i = 0; i < n; i++) {
            int64_t element = at + (int64_t)i;
            w->acc.value = w->side.value + element;
            for (size_t f = 0; f < ACC_FIELDS && w->interp->mode == INTERP_BOUND; f++)
                w->acc.field[f] = w->side.field[f] + element;
            fold_end(w, 1, w->side_count[element], i);
            if (all_open)
                w->out_bound[i] = INFINITY;
        }
        struct reg results = results_of(w);
        put(w, &results, n, at, 1);
    }
    w->acc = mine;
}

static bool run_scatter(struct worker *w)
{
    const struct stmt *stmt = w->kernel->stmt;
    size_t lane = w->kernel->lane;
    int64_t count = w->interp->bound->tensors[stmt->target].count;
    bool all_open = false;
    if (!eval(w, false))
        return false;
    scatter_begin(w, count);
    for (bool more = loops_begin(w, 0); more; more = loops_next(w, 0))
        for (int64_t at = 0; at < w->high[lane]; at += INTERP_LANES) {
            w->loops[lane] = at;
            w->lanes = lanes_from(at, w->high[lane]);
            if (!eval(w, true) || !scatter_lanes(w, &all_open))
                return false;
        }
    scatter_end(w, count, all_open);
    return true;
}

/* ---- threads ---- */

static bool run_task(struct worker *w, int64_t task)
{
    set_task(w, task);
    switch (w->kernel->strategy) {
    case RUN_FREE:
        return run_free(w);
    case RUN_INNER:
        return run_inner(w);
    case RUN_ROW:
        return run_row(w);
    case RUN_SCAN:
        return run_scan(w);
    case RUN_SCATTER:
        return run_scatter(w);
    }
    panic("strategy %d", (int)w->kernel->strategy);
}

static void *run_worker(void *argument)
{
    struct worker *w = argument;
    load_constants(w);
    for (int64_t task = w->first; task < w->last; task++)
        if (!run_task(w, task))
            return NULL;
    return NULL;
}

static int thread_count(const struct interp *interp, const struct kernel *k, int64_t tasks)
{
    double work = (double)tasks * (double)k->insn_count * (double)k->terms;
    if (k->strategy == RUN_FREE && k->lane != OP_NONE)
        work *= (double)lanes_from(0, k->extents[k->lane]);
    double most = work / THREAD_WORK_MIN;
    int threads = interp->threads < most ? interp->threads : (int)most;
    if (threads > tasks)
        threads = (int)tasks;
    return threads < 1 ? 1 : threads;
}

bool kernel_run(const struct interp *interp, const struct kernel *kernel, int64_t step,
                struct err *err)
{
    pthread_t threads[INTERP_THREADS_MAX];
    int64_t tasks = task_count(kernel);
    int count = thread_count(interp, kernel, tasks);
    for (int t = 0; t < count; t++) {
        struct worker *w = &interp->workers[t];
        w->kernel = kernel;
        w->loops[0] = step;
        w->first = tasks * t / count;
        w->last = tasks * (t + 1) / count;
        w->failed = false;
    }
    int started = 0;
    while (started < count - 1 &&
           pthread_create(&threads[started], NULL, run_worker, &interp->workers[started + 1]) == 0)
        started++;
    run_worker(&interp->workers[0]);
    for (int t = started + 1; t < count; t++)
        run_worker(&interp->workers[t]);
    for (int t = 0; t < started; t++)
        pthread_join(threads[t], NULL);
    for (int t = 0; t < count; t++)
        if (interp->workers[t].failed) {
            *err = interp->workers[t].err;
            return false;
        }
    return true;
}
