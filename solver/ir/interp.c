/*
 * The meaning of an op, statement by statement.
 *
 * Inputs are widened to double or int64 once.  Statements are compiled when the run starts and run
 * in their order; a seq block runs all its statements for step 0, then for step 1, and so on.  All
 * tensors live until the run ends, in an arena of the run; what the caller keeps is in the
 * caller's.
 *
 * Left out: freeing temporaries early, selected elements; shapes for which that would matter are
 * checked by the emitted reference, which this interpreter confirms on smaller ones.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/panic.h"

#include "solver/ir/interp_int.h"

/* What a run may hold at once. */
enum { RUN_GIB_MAX = 64 };

static bool is_input(const struct tensor *tensor)
{
    return !tensor->temporary && tensor->role != ROLE_OUTPUT;
}

static bool is_kept(const struct op *op, const struct interp_options *options, size_t tensor)
{
    const struct tensor *t = &op->tensors[tensor];
    if (!options->keep)
        return !t->temporary && t->role == ROLE_OUTPUT;
    for (size_t i = 0; i < options->keep_count; i++)
        if (options->keep[i] == tensor)
            return true;
    return false;
}

/* ---- memory ---- */

static void load_input(struct arena *arena, const struct bound_op *bound, const void *data,
                       size_t tensor, struct store *store)
{
    enum dtype dtype = bound->op->tensors[tensor].dtype;
    size_t count = (size_t)bound->tensors[tensor].count;
    ASSERT(data || count == 0);
    store->at = arena_array(arena, union cell, count + 1);
    bool is_float = dtype_is_float(dtype);
    for (size_t i = 0; i < count; i++) {
        if (is_float)
            store->at[i].f = elem_to_double(dtype, data, i);
        else
            store->at[i].i = elem_to_int(dtype, data, i);
    }
}

static int64_t arg_terms(const struct bound_op *bound, size_t stmt)
{
    const struct stmt *s = &bound->op->stmts[stmt];
    int64_t terms = 1;
    for (size_t l = s->free_count; l < s->loop_count; l++)
        terms *= bound->extents[stmt][l];
    return terms;
}

static void make_store(struct arena *arena, const struct bound_op *bound, enum interp_mode mode,
                       size_t tensor, struct store *store)
{
    size_t count = (size_t)bound->tensors[tensor].count;
    store->at = arena_array(arena, union cell, count + 1);
    if (mode != INTERP_BOUND)
        return;
    store->bound = arena_array(arena, double, count + 1);
    size_t by = bound->op->tensors[tensor].written_by;
    if (by == OP_NONE)
        return;
    enum reduce_op reduce = bound->op->stmts[by].reduce;
    if (reduce == REDUCE_ARGMAX || reduce == REDUCE_ARGMIN) {
        store->choice_words = (size_t)(arg_terms(bound, by) + 63) / 64;
        store->choices = arena_array(arena, uint64_t, count * store->choice_words + 1);
    }
}

static void make_stores(struct arena *arena, struct arena *scratch, struct interp *interp,
                        const struct interp_inputs *inputs, const struct interp_options *options)
{
    const struct op *op = interp->bound->op;
    interp->stores = arena_array(scratch, struct store, op->tensor_count);
    for (size_t t = 0; t < op->tensor_count; t++) {
        struct arena *home = is_kept(op, options, t) ? arena : scratch;
        interp->stores[t].least = -INFINITY;
        if (is_input(&op->tensors[t]))
            load_input(home, interp->bound, inputs->data[t], t, &interp->stores[t]);
        else
            make_store(home, interp->bound, interp->mode, t, &interp->stores[t]);
    }
}

static void make_acc(struct arena *arena, enum interp_mode mode, size_t room, struct acc *acc)
{
    acc->value = arena_array(arena, union cell, room);
    for (size_t f = 0; f < ACC_FIELDS && mode == INTERP_BOUND; f++)
        acc->field[f] = arena_array(arena, double, room);
}

/* The most that any statement needs. */
struct needs {
    size_t regs, row, side;
};

static struct needs needs_of(const struct interp *interp)
{
    struct needs needs = {0, 1, 1};
    for (size_t s = 0; s < interp->bound->op->stmt_count; s++) {
        const struct kernel *k = &interp->kernels[s];
        size_t target = (size_t)interp->bound->tensors[k->stmt->target].count;
        size_t terms = (size_t)k->terms;
        needs.regs = k->insn_count > needs.regs ? k->insn_count : needs.regs;
        if ((k->strategy == RUN_ROW || k->strategy == RUN_SCAN) && terms > needs.row)
            needs.row = terms;
        if (k->strategy == RUN_SCATTER && target > needs.side)
            needs.side = target;
    }
    return needs;
}

static void make_worker(struct arena *arena, struct interp *interp, const struct needs *needs,
                        bool first, struct worker *w)
{
    bool bounds = interp->mode == INTERP_BOUND;
    *w = (struct worker){.interp = interp};
    w->regs = arena_array(arena, struct reg, needs->regs);
    for (size_t r = 0; r < needs->regs; r++) {
        w->regs[r].own = arena_array(arena, union cell, INTERP_LANES);
        w->regs[r].own_bound = bounds ? arena_array(arena, double, INTERP_LANES) : NULL;
    }
    make_acc(arena, interp->mode, INTERP_LANES, &w->acc);
    w->out = arena_array(arena, union cell, INTERP_LANES);
    w->out_bound = arena_array(arena, double, INTERP_LANES);
    w->typed = arena_array(arena, union cell, INTERP_LANES);
    w->typed_bound = arena_array(arena, double, INTERP_LANES);
    w->row = arena_array(arena, union cell, needs->row);
    w->row_bound = arena_array(arena, double, bounds ? needs->row : 1);
    if (first) {
        make_acc(arena, interp->mode, needs->side, &w->side);
        w->side_count = arena_array(arena, int64_t, needs->side);
    }
}

static int thread_max(const struct interp_options *options)
{
    long cores = options->threads > 0 ? options->threads : sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > INTERP_THREADS_MAX ? INTERP_THREADS_MAX : (int)cores;
}

/* ---- running ---- */

static bool compile_all(struct arena *arena, struct interp *interp, struct err *err)
{
    const struct op *op = interp->bound->op;
    struct insn *scratch = arena_array(arena, struct insn, INTERP_NODES_MAX);
    interp->kernels = arena_array(arena, struct kernel, op->stmt_count);
    for (size_t s = 0; s < op->stmt_count; s++)
        if (!kernel_compile(arena, interp, s, scratch, err))
            return false;
    return true;
}

static bool run_block(const struct interp *interp, const struct seq *seq, struct err *err)
{
    int64_t steps = seq->count ? interp->bound->extents[seq->first][0] : 0;
    for (int64_t step = 0; step < steps; step++)
        for (size_t s = seq->first; s < seq->first + seq->count; s++)
            if (!kernel_run(interp, &interp->kernels[s], step, err))
                return false;
    return true;
}

static bool run_all(const struct interp *interp, struct err *err)
{
    const struct op *op = interp->bound->op;
    for (size_t s = 0; s < op->stmt_count;) {
        size_t seq = op->stmts[s].seq;
        bool good = seq == OP_NONE ? kernel_run(interp, &interp->kernels[s], 0, err)
                                   : run_block(interp, &op->seqs[seq], err);
        if (!good)
            return err_context(err, "%.*s", STR_ARG(op->name));
        s = seq == OP_NONE ? s + 1 : op->seqs[seq].first + op->seqs[seq].count;
    }
    return true;
}

/* ---- results ---- */

static bool is_open(const struct op *op, bool is_float, const struct store *store, int64_t i)
{
    if (store->bound[i] < 0 || !(store->bound[i] < INFINITY))
        return true;
    return is_float && op->policy.finite_inputs && !isfinite(store->at[i].f);
}

static void export_bounds(struct arena *arena, const struct op *op, bool is_float,
                          const struct store *store, struct values *out)
{
    out->bounds = store->bound;
    out->choices = store->choices;
    out->choice_words = store->choice_words;
    for (int64_t i = 0; i < out->count; i++) {
        if (!is_open(op, is_float, store, i))
            continue;
        if (!out->open)
            out->open = arena_array(arena, bool, (size_t)out->count);
        out->open[i] = true;
        store->bound[i] = INFINITY;
    }
}

static void export_store(struct arena *arena, const struct interp *interp, size_t tensor,
                         struct values *out)
{
    const struct op *op = interp->bound->op;
    const struct store *store = &interp->stores[tensor];
    bool is_float = dtype_is_float(op->tensors[tensor].dtype);
    *out = (struct values){.count = interp->bound->tensors[tensor].count};
    if (is_float)
        out->reals = &store->at->f;
    else
        out->ints = &store->at->i;
    if (store->bound)
        export_bounds(arena, op, is_float, store, out);
}

bool interp_run(struct arena *arena, const struct bound_op *bound,
                const struct interp_inputs *inputs, const struct interp_options *options,
                struct values *out, struct err *err)
{
    const struct track *track = options->track ? options->track : &bound->op->tracks[0];
    struct interp interp = {.bound = bound,
                            .mode = options->mode,
                            .order = options->order,
                            .compute = track->compute,
                            .threads = thread_max(options)};
    struct arena scratch;
    arena_init(&scratch, (size_t)RUN_GIB_MAX << 30);
    make_stores(arena, &scratch, &interp, inputs, options);
    bool good = compile_all(&scratch, &interp, err);
    if (!good)
        goto out;
    struct needs needs = needs_of(&interp);
    interp.workers = arena_array(&scratch, struct worker, (size_t)interp.threads);
    for (int t = 0; t < interp.threads; t++)
        make_worker(&scratch, &interp, &needs, t == 0, &interp.workers[t]);
    good = run_all(&interp, err);
    for (size_t t = 0; good && t < bound->op->tensor_count; t++)
        if (is_kept(bound->op, options, t))
            export_store(arena, &interp, t, &out[t]);
out:
    arena_release(&scratch);
    return good;
}

bool interp_accepts(const struct bound_op *bound, const struct interp_inputs *inputs,
                    const struct values *values, size_t tensor, int64_t element, int64_t got)
{
    (void)inputs;
    const struct values *v = &values[tensor];
    const struct tensor *t = &bound->op->tensors[tensor];
    if (dtype_wrap(t->dtype, got) != got)
        return false;
    int64_t want = v->ints[element];
    if (got == want)
        return true;
    if (v->choices) {
        const uint64_t *choices = v->choices + (size_t)element * v->choice_words;
        bool inside = got >= 0 && (uint64_t)got / 64 < v->choice_words;
        return inside && (choices[got / 64] >> (got % 64) & 1);
    }
    return v->bounds && fabs((double)got - (double)want) <= v->bounds[element];
}
