/*
 * Distinct elements that reads touch.
 *
 * Method: the dimensions of a tensor fall into axes, dimensions that some read ties together by a
 * shared loop; along each axis a read touches a set of positions, and the read as a whole their
 * product.  A single affine subscript gives a progression when its coefficients leave no holes;
 * everything else is enumerated into bits.  The union over reads: contained products vanish,
 * products that differ along one axis merge, the few that are left go through inclusion and
 * exclusion.
 *
 * Invariant: where a limit stops this, the count is too small, never too large.
 */
#include <string.h>

#include "base/num.h"
#include "base/panic.h"

#include "solver/ir/count.h"
#include "solver/ir/count_int.h"

enum { PRODUCTS_MAX = 64, EXCLUSION_MAX = 10 };
#define SCRATCH_BYTES_MAX ((size_t)1 << 32)
#define STEPS_MAX         ((int64_t)1 << 26)

/* The axes of one tensor: axis_of[d] is the smallest dimension of d's axis. */
struct axes {
    size_t rank;
    size_t axis_of[OP_RANK_MAX];
};

struct product {
    struct axis_set sets[OP_RANK_MAX]; /* by axis; others are not used */
};

struct reads {
    struct arena arena;
    const struct bound_op *bound;
    size_t tensor;
    size_t stmt; /* the one being walked */
    struct axes axes;
    bool marking; /* first pass: find axes; second: collect products */
    struct product products[PRODUCTS_MAX];
    size_t count;
    bool overflow;
};

/* ---- which loops a subscript has ---- */

struct loops {
    bool has[OP_LOOPS_MAX];
    bool data; /* reads a tensor or computes with floats */
};

static void note_loop(void *context, const struct expr *e)
{
    struct loops *loops = context;
    if (e->op == EXPR_INDEX)
        loops->has[e->loop] = true;
    if (e->op == EXPR_READ || dtype_is_float(e->dtype))
        loops->data = true;
}

/* Loops of a subscript, with the loops that bound them. */
static struct loops loops_of(const struct stmt *stmt, const struct expr *e)
{
    struct loops loops = {0};
    expr_walk(e, note_loop, &loops);
    for (size_t i = 0; i < stmt->loop_count; i++)
        if (loops.has[i] && stmt->loops[i].bound != RANGE_FULL)
            loops.has[stmt->loops[i].bound_loop] = true;
    return loops;
}

static void axes_join(struct axes *axes, size_t a, size_t b)
{
    size_t from = axes->axis_of[a] > axes->axis_of[b] ? axes->axis_of[a] : axes->axis_of[b];
    size_t to = axes->axis_of[a] < axes->axis_of[b] ? axes->axis_of[a] : axes->axis_of[b];
    for (size_t d = 0; d < axes->rank; d++)
        if (axes->axis_of[d] == from)
            axes->axis_of[d] = to;
}

static void mark_axes(struct reads *r, const struct expr *e)
{
    const struct stmt *stmt = &r->bound->op->stmts[r->stmt];
    struct loops loops[OP_RANK_MAX];
    for (size_t d = 0; d < e->rank; d++)
        loops[d] = loops_of(stmt, e->subs[d]);
    for (size_t d = 0; d < e->rank; d++)
        for (size_t c = 0; c < d; c++)
            for (size_t i = 0; i < stmt->loop_count; i++)
                if (!loops[d].data && !loops[c].data && loops[d].has[i] && loops[c].has[i])
                    axes_join(&r->axes, c, d);
}

/* ---- integer expressions at a point of the nest ---- */

struct point {
    const struct bound_op *bound;
    int64_t at[OP_LOOPS_MAX];
};

static int64_t value_at(const struct point *p, const struct expr *e);

static int64_t binary_at(const struct point *p, const struct expr *e)
{
    int64_t a = value_at(p, e->args[0]);
    int64_t b = e->args[1] ? value_at(p, e->args[1]) : 0;
    uint64_t x = (uint64_t)a;
    uint64_t y = (uint64_t)b;
    if (e->op == EXPR_ADD)
        return (int64_t)(x + y);
    if (e->op == EXPR_SUB || e->op == EXPR_NEG)
        return (int64_t)(e->op == EXPR_NEG ? 0 - x : x - y);
    if (e->op == EXPR_MUL)
        return (int64_t)(x * y);
    if (e->op == EXPR_DIV)
        return b == 0 ? 0 : b == -1 ? (int64_t)(0 - x) : num_floor_div(a, b);
    if (e->op == EXPR_MOD)
        return b == 0 || b == -1 ? 0 : num_floor_mod(a, b);
    if (e->op == EXPR_SHL)
        return b < 0 || b > 63 ? 0 : (int64_t)(x << y);
    if (e->op == EXPR_SHR)
        return a >> (b < 0 || b > 63 ? 63 : b);
    if (e->op == EXPR_BITAND || e->op == EXPR_AND)
        return a & b;
    if (e->op == EXPR_BITOR || e->op == EXPR_OR)
        return a | b;
    if (e->op == EXPR_BITXOR)
        return a ^ b;
    if (e->op == EXPR_MIN || e->op == EXPR_MAX)
        return (a < b) == (e->op == EXPR_MIN) ? a : b;
    if (e->op == EXPR_ABS)
        return a < 0 ? (int64_t)(0 - x) : a;
    if (e->op == EXPR_SIGN)
        return (a > 0) - (a < 0);
    if (e->op == EXPR_LT || e->op == EXPR_GE)
        return (a < b) == (e->op == EXPR_LT);
    if (e->op == EXPR_LE || e->op == EXPR_GT)
        return (a <= b) == (e->op == EXPR_LE);
    if (e->op == EXPR_EQ || e->op == EXPR_NE)
        return (a == b) == (e->op == EXPR_EQ);
    return e->op == EXPR_NOT ? !a : e->op == EXPR_BITNOT ? ~a : a;
}

static int64_t value_at(const struct point *p, const struct expr *e)
{
    if (e->op == EXPR_INT)
        return e->integer;
    if (e->op == EXPR_INDEX)
        return p->at[e->loop];
    if (e->op == EXPR_DIM)
        return p->bound->dims[e->dim];
    if (e->op == EXPR_WHERE)
        return value_at(p, e->args[value_at(p, e->args[0]) ? 1 : 2]);
    if (e->op == EXPR_CAST)
        return dtype_wrap(e->dtype, value_at(p, e->args[0]));
    int64_t value = binary_at(p, e);
    return e->dtype == DTYPE_BOOL ? value : dtype_wrap(e->dtype, value);
}

/* ---- one read along one axis ---- */

static int64_t axis_size(const struct reads *r, size_t axis)
{
    int64_t size = 1;
    for (size_t d = 0; d < r->axes.rank; d++)
        if (r->axes.axis_of[d] == axis)
            size *= r->bound->tensors[r->tensor].shape[d];
    return size;
}

/* Is the loop inside its scan's bound? */
static bool inside_scan(const struct stmt *stmt, const struct point *p, size_t j)
{
    int64_t n = p->at[stmt->loops[j].bound_loop];
    switch (stmt->loops[j].bound) {
    case RANGE_FULL:
        return true;
    case RANGE_LT:
        return p->at[j] < n;
    case RANGE_LE:
        return p->at[j] <= n;
    case RANGE_GT:
        return p->at[j] > n;
    case RANGE_GE:
        return p->at[j] >= n;
    }
    panic("range bound %d", (int)stmt->loops[j].bound);
}

static void mark_point(const struct reads *r, const struct expr *read, size_t axis,
                       const struct point *p, uint64_t *bits)
{
    const int64_t *shape = r->bound->tensors[r->tensor].shape;
    int64_t at = 0;
    for (size_t d = 0; d < r->axes.rank; d++) {
        if (r->axes.axis_of[d] != axis)
            continue;
        int64_t value = value_at(p, read->subs[d]);
        if (value < 0 || value >= shape[d])
            return; /* padded */
        at = at * shape[d] + value;
    }
    bits[at / 64] |= (uint64_t)1 << (at % 64);
}

static int64_t magnitude(int64_t a)
{
    return a < 0 ? -a : a;
}

/* Do the coefficients, over their gcd, fill a run without holes?  Then its length minus one. */
static bool fills_run(const struct affine *a, const int64_t *extents, size_t count, int64_t gcd)
{
    int64_t reach = 0;
    bool used[OP_LOOPS_MAX] = {false};
    for (;;) {
        size_t least = OP_NONE;
        for (size_t i = 0; i < count; i++)
            if (!used[i] && a->coefficient[i] &&
                (least == OP_NONE ||
                 magnitude(a->coefficient[i]) < magnitude(a->coefficient[least])))
                least = i;
        if (least == OP_NONE)
            return true;
        int64_t term;
        int64_t stride = magnitude(a->coefficient[least]) / gcd;
        used[least] = true;
        if (stride > reach + 1)
            return false;
        if (!num_mul(stride, extents[least] - 1, &term) || !num_add(reach, term, &reach))
            return false;
    }
}

/* The loops that vary, each with its own extent; false when a scan ties two of them together. */
static bool free_extents(const struct reads *r, struct affine *a, int64_t *extents)
{
    const struct stmt *stmt = &r->bound->op->stmts[r->stmt];
    size_t tied_to[OP_LOOPS_MAX] = {0};
    for (size_t i = 0; i < stmt->loop_count; i++) {
        const struct loop *loop = &stmt->loops[i];
        extents[i] = r->bound->extents[r->stmt][i];
        if (loop->bound == RANGE_FULL || !a->coefficient[i])
            continue;
        int64_t steps = r->bound->extents[r->stmt][loop->bound_loop];
        if (a->coefficient[loop->bound_loop] || tied_to[loop->bound_loop]++)
            return false;
        if (loop->bound == RANGE_LE || loop->bound == RANGE_LT) {
            int64_t reached = steps - (loop->bound == RANGE_LT);
            extents[i] = extents[i] < reached ? extents[i] : reached;
        }
        extents[i] -= loop->bound == RANGE_GT;
    }
    for (size_t i = 0; i < stmt->loop_count; i++)
        if (extents[i] <= 1)
            a->coefficient[i] = 0;
    return true;
}

/* The progression of an affine subscript, clipped to the dimension; false: it has holes. */
static bool progression(const struct reads *r, const struct expr *sub, size_t d,
                        struct axis_set *out)
{
    const struct stmt *stmt = &r->bound->op->stmts[r->stmt];
    int64_t size = r->bound->tensors[r->tensor].shape[d];
    int64_t extents[OP_LOOPS_MAX];
    struct affine a;
    int64_t gcd = 0;
    int64_t low;
    int64_t high;
    if (!expr_affine(r->bound, stmt, sub, &a) ||
        !expr_interval(r->bound, r->stmt, sub, &low, &high) || !free_extents(r, &a, extents))
        return false;
    for (size_t i = 0; i < stmt->loop_count; i++)
        gcd = num_gcd(gcd, magnitude(a.coefficient[i]));
    gcd = gcd ? gcd : 1;
    if (!fills_run(&a, extents, stmt->loop_count, gcd))
        return false;
    int64_t first = low >= 0 ? low : low + num_ceil_div(-low, gcd) * gcd;
    int64_t last = high < size ? high : high - num_ceil_div(high - size + 1, gcd) * gcd;
    *out = axis_progression(first, gcd, last < first ? 0 : (last - first) / gcd + 1, size);
    return true;
}

/* A lower bound for an axis too large to enumerate: the most that one of its dimensions shows. */
static int64_t longest_side(const struct reads *r, const struct expr *read, size_t axis)
{
    int64_t most = 1;
    struct axis_set side;
    for (size_t d = 0; d < r->axes.rank; d++)
        if (r->axes.axis_of[d] == axis && progression(r, read->subs[d], d, &side) &&
            side.count > most)
            most = side.count;
    return most;
}

/* All points of the loops that the axis's subscripts have. */
static struct axis_set enumerate(struct reads *r, const struct expr *read, size_t axis,
                                 const struct loops *loops)
{
    const struct stmt *stmt = &r->bound->op->stmts[r->stmt];
    const int64_t *extents = r->bound->extents[r->stmt];
    int64_t size = axis_size(r, axis);
    int64_t steps = 1;
    bool fits = axis_fits(&r->arena, size);
    for (size_t i = 0; fits && i < stmt->loop_count; i++)
        if (loops->has[i])
            fits = num_mul(steps, extents[i], &steps) && steps <= STEPS_MAX;
    if (!fits)
        return axis_unknown(longest_side(r, read, axis), size);
    uint64_t *bits = arena_array(&r->arena, uint64_t, (size_t)((size + 63) / 64));
    for (int64_t step = 0; step < steps; step++) {
        struct point p = {.bound = r->bound};
        int64_t rest = step;
        bool inside = true;
        for (size_t i = 0; i < stmt->loop_count; i++)
            if (loops->has[i]) {
                p.at[i] = rest % extents[i];
                rest /= extents[i];
            }
        for (size_t i = 0; i < stmt->loop_count; i++)
            inside = inside && (!loops->has[i] || inside_scan(stmt, &p, i));
        if (inside)
            mark_point(r, read, axis, &p, bits);
    }
    return axis_bits(&r->arena, bits, size);
}

static struct axis_set read_axis(struct reads *r, const struct expr *read, size_t axis)
{
    const struct stmt *stmt = &r->bound->op->stmts[r->stmt];
    struct loops all = {0};
    size_t dims = 0;
    size_t only = axis;
    for (size_t d = 0; d < r->axes.rank; d++) {
        if (r->axes.axis_of[d] != axis)
            continue;
        struct loops mine = loops_of(stmt, read->subs[d]);
        all.data = all.data || mine.data;
        for (size_t i = 0; i < OP_LOOPS_MAX; i++)
            all.has[i] = all.has[i] || mine.has[i];
        dims++;
        only = d;
    }
    struct axis_set set;
    if (all.data)
        return axis_unknown(1, axis_size(r, axis));
    if (dims == 1 && progression(r, read->subs[only], only, &set))
        return set;
    return enumerate(r, read, axis, &all);
}

/* ---- unions of products ---- */

static bool is_axis(const struct reads *r, size_t d)
{
    return r->axes.axis_of[d] == d;
}

static int64_t product_count(const struct reads *r, const struct product *p)
{
    int64_t count = 1;
    for (size_t d = 0; d < r->axes.rank; d++)
        if (is_axis(r, d) && !num_mul(count, p->sets[d].count, &count))
            return INT64_MAX;
    return count;
}

/* Axes along which a does not contain b; *which is one of them. */
static size_t not_contained(struct reads *r, const struct product *a, const struct product *b,
                            size_t *which)
{
    size_t count = 0;
    for (size_t d = 0; d < r->axes.rank; d++)
        if (is_axis(r, d) && !axis_contains(&r->arena, &a->sets[d], &b->sets[d])) {
            count++;
            *which = d;
        }
    return count;
}

/* Make one product of two when that is exact. */
static bool merge(struct reads *r, struct product *a, const struct product *b)
{
    size_t ab = 0;
    size_t ba = 0;
    size_t missing_in_a = not_contained(r, a, b, &ab);
    size_t missing_in_b = not_contained(r, b, a, &ba);
    if (missing_in_a == 0)
        return true;
    if (missing_in_b == 0) {
        *a = *b;
        return true;
    }
    if (missing_in_a != 1 || missing_in_b != 1 || ab != ba || !a->sets[ab].known ||
        !b->sets[ab].known || !axis_fits(&r->arena, a->sets[ab].size))
        return false;
    a->sets[ab] = axis_unite(&r->arena, &a->sets[ab], &b->sets[ab]);
    return true;
}

static void add_product(struct reads *r, struct product product)
{
    for (size_t i = 0; i < r->count;) {
        if (merge(r, &product, &r->products[i])) {
            r->products[i] = r->products[--r->count];
            i = 0;
        } else {
            i++;
        }
    }
    if (r->count == PRODUCTS_MAX)
        r->overflow = true;
    else
        r->products[r->count++] = product;
}

static int64_t largest(const struct reads *r)
{
    int64_t most = 0;
    for (size_t i = 0; i < r->count; i++) {
        int64_t count = product_count(r, &r->products[i]);
        most = count > most ? count : most;
    }
    return most;
}

/* Inclusion and exclusion over the products from `from` on, inside `inside`. */
static int64_t exclusion(struct reads *r, const struct product *inside, size_t from, int64_t sign)
{
    int64_t total = 0;
    for (size_t i = from; i < r->count; i++) {
        struct product both = *inside;
        for (size_t d = 0; d < r->axes.rank; d++)
            if (is_axis(r, d))
                both.sets[d] = axis_intersect(&r->arena, &inside->sets[d], &r->products[i].sets[d]);
        total += sign * product_count(r, &both) + exclusion(r, &both, i + 1, -sign);
    }
    return total;
}

static int64_t union_count(struct reads *r)
{
    struct product all;
    bool known = !r->overflow && r->count <= EXCLUSION_MAX;
    for (size_t i = 0; i < r->count; i++)
        for (size_t d = 0; d < r->axes.rank; d++)
            known = known && (!is_axis(r, d) || r->products[i].sets[d].known);
    if (r->count <= 1 || !known)
        return largest(r);
    for (size_t d = 0; d < r->axes.rank; d++)
        if (is_axis(r, d))
            all.sets[d] = axis_progression(0, 1, axis_size(r, d), axis_size(r, d));
    return exclusion(r, &all, 0, 1);
}

/* ---- the reads of statements ---- */

static void visit_read(void *context, const struct expr *e)
{
    struct reads *r = context;
    struct product product = {0};
    if (e->op != EXPR_READ || e->tensor != r->tensor)
        return;
    if (r->marking) {
        mark_axes(r, e);
        return;
    }
    for (size_t d = 0; d < r->axes.rank; d++)
        if (is_axis(r, d))
            product.sets[d] = read_axis(r, e, d);
    add_product(r, product);
}

static void walk_stmts(struct reads *r, size_t from, size_t to)
{
    for (r->stmt = from; r->stmt < to; r->stmt++) {
        const struct stmt *stmt = &r->bound->op->stmts[r->stmt];
        if (op_iterations(r->bound, r->stmt) == 0)
            continue;
        expr_walk(stmt->value, visit_read, r);
        for (size_t d = 0; stmt->scatter && d < r->bound->op->tensors[stmt->target].rank; d++)
            expr_walk(stmt->scatter[d], visit_read, r);
    }
}

int64_t elements_read(const struct bound_op *bound, size_t tensor, size_t from, size_t to)
{
    struct reads r = {.bound = bound, .tensor = tensor};
    r.axes.rank = bound->op->tensors[tensor].rank;
    for (size_t d = 0; d < r.axes.rank; d++)
        r.axes.axis_of[d] = d;
    arena_init(&r.arena, SCRATCH_BYTES_MAX);
    r.marking = true;
    walk_stmts(&r, from, to);
    r.marking = false;
    walk_stmts(&r, from, to);
    int64_t count = r.count ? union_count(&r) : 0;
    arena_release(&r.arena);
    return count;
}
