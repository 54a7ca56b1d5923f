/*
 * Bytes that accesses really move: L2 and DRAM hand out sectors of 32 bytes, a warp's access takes
 * the sectors that its 32 lanes touch, and one turn of the L1 for each line of 128.
 *
 *   lanes    neighbours go along the last loop that threads share; where that steps over a sector
 * or more, every lane takes a sector of its own, which is eight floats for one L1       a thread's
 * next terms find the rest of its sector there, if the sectors of all threads of the SM fit L2 so
 * do threads of other warps or SMs: a loop further out that steps within a sector comes back after
 * a run of the loops inside it.  If that run's sectors fit into L2, DRAM gives each once; if not,
 * each time
 *
 * Loops in the order of time: those that threads share are walked by all SMs together, inside them
 * each thread goes its own.  A subscript that is not affine in the loops counts as standing still
 * (i / 8 nearly does), one that reads a tensor as different for each lane that it depends on.
 */
#include <math.h>

#include "solver/cost/cost_int.h"

enum { WARP = 32, SECTOR = 32, LINE = 128 };

/* TUNING: as in cost_issue.c, from transpose alone, 478 us: L2's time for a sector that is asked
 * for by itself, in that of one of a line's four. */
static const double lone_sector = 1.96;

struct walker {
    const struct pricing *p;
    const struct stmt *stmt;
    const int64_t *extents;
    size_t shared;    /* loops that threads share: the first; the others are each thread's own */
    double at_once;   /* threads of all SMs */
    double per_sm;    /* and of one */
    double instances; /* accesses of each read */
    struct sectors *out;
};

struct mention {
    size_t loop;
    bool loop_found, data;
};

static void find_mention(void *context, const struct expr *expr)
{
    struct mention *mention = context;
    mention->loop_found |= expr->op == EXPR_INDEX && expr->loop == mention->loop;
    mention->data |= expr->op == EXPR_READ;
}

/* Bytes between what neighbours along each loop read. */
static void strides_of(const struct walker *w, const struct expr *read, double *strides)
{
    const struct bound_tensor *tensor = &w->p->bound->tensors[read->tensor];
    double bytes = (double)dtype_bytes(w->p->bound->op->tensors[read->tensor].dtype);
    for (size_t i = 0; i < w->stmt->loop_count; i++)
        strides[i] = 0;
    for (size_t d = 0; d < read->rank; d++) {
        struct affine affine;
        bool known = expr_affine(w->p->bound, w->stmt, read->subs[d], &affine);
        for (size_t i = 0; i < w->stmt->loop_count; i++) {
            struct mention mention = {i, false, false};
            if (!known)
                expr_walk(read->subs[d], find_mention, &mention);
            double steps = known ? (double)affine.coefficient[i]
                                 : (mention.loop_found && mention.data ? SECTOR : 0);
            strides[i] += steps * (double)tensor->strides[d] * bytes;
        }
    }
    for (size_t i = 0; i < w->stmt->loop_count; i++)
        strides[i] = fabs(strides[i]);
}

static double product(const int64_t *extents, size_t from, size_t to)
{
    double all = 1;
    for (size_t i = from; i < to; i++)
        all *= (double)extents[i];
    return all;
}

/* The innermost of the loops that is more than one step; OP_NONE when there is none. */
static size_t last_loop(const struct walker *w, size_t from, size_t to)
{
    for (size_t i = to; i-- > from;)
        if (w->extents[i] > 1)
            return i;
    return OP_NONE;
}

/* Of a sector that a thread has read, what its next terms find in L1: the part that they take anew.
 */
static double fresh_part(const struct walker *w, const double *strides)
{
    size_t own = last_loop(w, w->shared, w->stmt->loop_count);
    if (own == OP_NONE || strides[own] >= SECTOR ||
        w->per_sm * SECTOR > (double)w->p->machine->shared_bytes_per_sm)
        return 1;
    return fmax(strides[own] / SECTOR, 1 / (double)w->extents[own]);
}

/* Bytes that go by until a loop takes its next step. */
static double run_bytes(const struct walker *w, size_t loop)
{
    size_t loops = w->stmt->loop_count;
    if (loop >= w->shared)
        return w->at_once * product(w->extents, loop + 1, loops) * SECTOR;
    double threads = product(w->extents, loop + 1, w->shared);
    double terms = threads > w->at_once ? product(w->extents, w->shared, loops) : 1;
    return threads * terms * SECTOR;
}

/* Does something come back for the rest of a sector before L2 has lost it? */
static bool comes_back(const struct walker *w, const double *strides)
{
    for (size_t i = 0; i < w->stmt->loop_count; i++)
        if (w->extents[i] > 1 && strides[i] < SECTOR &&
            cost_stays_in_l2(w->p->machine, run_bytes(w, i)))
            return true;
    return false;
}

static void raise_to(double *most, double value)
{
    *most = fmax(*most, value);
}

/* Lanes that stand still share one sector. */
static void look_at(void *context, const struct expr *expr)
{
    struct walker *w = context;
    double strides[OP_LOOPS_MAX];
    if (expr->op != EXPR_READ)
        return;
    strides_of(w, expr, strides);
    size_t lanes = last_loop(w, 0, w->shared);
    double step = lanes == OP_NONE ? 0 : strides[lanes];
    double word = (double)dtype_bytes(w->p->bound->op->tensors[expr->tensor].dtype);
    double lane_bytes = fmax(fmin(step, SECTOR), (double)SECTOR / WARP);
    double fresh = fresh_part(w, strides);
    double moved = w->instances * lane_bytes * fresh;
    double time = step >= LINE ? lone_sector : 1;
    double lines = w->instances / WARP * fmax(fmin(step * WARP / LINE, WARP), 1);
    bool lost = step > word && !comes_back(w, strides);
    raise_to(&w->out->moved[expr->tensor], moved * time);
    raise_to(&w->out->lines[expr->tensor], lines);
    raise_to(&w->out->again[expr->tensor], lost ? moved : 0);
    raise_to(&w->out->fresh, fresh);
}

void cost_sectors_init(const struct pricing *p, struct sectors *out)
{
    size_t tensors = p->bound->op->tensor_count + 1;
    *out = (struct sectors){.moved = arena_array(p->arena, double, tensors),
                            .lines = arena_array(p->arena, double, tensors),
                            .again = arena_array(p->arena, double, tensors)};
}

void cost_sectors(const struct pricing *p, size_t s, struct sectors *out)
{
    const struct footprint *f = &p->footprint;
    const struct stmt *stmt = &p->bound->op->stmts[s];
    bool each = f->kind == FOOTPRINT_ELEMENTS && stmt->scatter == NULL;
    double per_sm = (double)(p->cost->blocks_per_sm * f->threads);
    struct walker walker = {.p = p,
                            .stmt = stmt,
                            .extents = p->bound->extents[s],
                            .shared = each ? stmt->free_count : stmt->loop_count,
                            .per_sm = per_sm,
                            .at_once = per_sm * (double)p->machine->sm_count,
                            .instances = cost_terms(p, s),
                            .out = out};
    expr_walk(stmt->value, look_at, &walker);
}
