/*
 * Intervals of integer expressions over a statement's iteration domain, and their affine form.
 *
 * Method: bottom up, each node gets an interval and, where possible, a linear form over the loops
 * and over quotients floor(e / c); the node's interval is the intersection of what its operation
 * says and of the range of its linear form.  So i / c * c + i % c is i again, (a * c + b) / c is
 * a when b < c, and a scan's j <= n bounds n - j.  Conditions of where() narrow loops in its
 * branches.
 *
 * Range of a linear form: loops that no scan ties are independent; loops j1.. bounded by a free
 * loop n give a function of n that is concave (for the maximum) and piecewise linear, so its
 * extreme is at one of the break points, which are tried all.
 *
 * Invariant: intervals contain every value that an iteration can produce.  A node whose interval
 * leaves its dtype may wrap: it becomes the dtype's range and loses its linear form; beyond 64
 * bits it is unbounded; so is everything once FUEL nodes were looked at, which only chains of
 * reads of computed integers can reach.  Not here: intervals of floats.
 */
#include <string.h>

#include "base/num.h"
#include "base/panic.h"

#include "solver/ir/op_int.h"

enum { ATOMS_MAX = 4, STATEMENTS_DEEP_MAX = 6, FUEL = 20000 };

/* floor(numerator / divisor) */
struct atom {
    int64_t coefficient;
    const struct expr *numerator;
    int64_t divisor;
    int64_t low, high;
};

struct linear {
    int64_t loops[OP_LOOPS_MAX];
    int64_t constant;
    struct atom atoms[ATOMS_MAX];
    size_t atom_count;
};

struct value {
    bool linear, bounded;
    struct linear form;
    int64_t low, high;
};

/* One statement's domain; a branch of where() has a narrower copy. */
struct domain {
    const struct bound_op *bound;
    size_t stmt;
    int64_t low[OP_LOOPS_MAX], high[OP_LOOPS_MAX];
    int deep; /* statements between this and the one asked about */
    int *fuel;
};

typedef __int128 wide;

static struct value evaluate(const struct domain *d, const struct expr *e);

/* ---- linear forms ---- */

static bool narrow(wide value, int64_t *out)
{
    if (value < INT64_MIN || value > INT64_MAX)
        return false;
    *out = (int64_t)value;
    return true;
}

static bool atom_same(const struct atom *a, const struct atom *b)
{
    return a->divisor == b->divisor && expr_equal(a->numerator, b->numerator);
}

static bool add_atom(struct linear *out, const struct atom *atom, int64_t scale)
{
    int64_t term;
    if (!num_mul(atom->coefficient, scale, &term))
        return false;
    for (size_t i = 0; i < out->atom_count; i++) {
        struct atom *have = &out->atoms[i];
        if (!atom_same(have, atom))
            continue;
        if (!num_add(have->coefficient, term, &have->coefficient))
            return false;
        if (have->coefficient == 0)
            *have = out->atoms[--out->atom_count];
        return true;
    }
    if (out->atom_count == ATOMS_MAX)
        return false;
    out->atoms[out->atom_count] = *atom;
    out->atoms[out->atom_count++].coefficient = term;
    return term != 0 || out->atom_count-- > 0;
}

/* out += scale * b */
static bool add_scaled(struct linear *out, const struct linear *b, int64_t scale)
{
    int64_t term;
    if (!num_mul(b->constant, scale, &term) || !num_add(out->constant, term, &out->constant))
        return false;
    for (size_t i = 0; i < OP_LOOPS_MAX; i++)
        if (!num_mul(b->loops[i], scale, &term) || !num_add(out->loops[i], term, &out->loops[i]))
            return false;
    for (size_t i = 0; i < b->atom_count; i++)
        if (!add_atom(out, &b->atoms[i], scale))
            return false;
    return true;
}

/* The values loop `j` can take when the loop that bounds it is at `n`. */
static void scan_range(const struct domain *d, size_t j, int64_t n, int64_t *low, int64_t *high)
{
    *low = d->low[j];
    *high = d->high[j];
    switch (d->bound->op->stmts[d->stmt].loops[j].bound) {
    case RANGE_FULL:
        break;
    case RANGE_LT:
        *high = *high < n - 1 ? *high : n - 1;
        break;
    case RANGE_LE:
        *high = *high < n ? *high : n;
        break;
    case RANGE_GT:
        *low = *low > n + 1 ? *low : n + 1;
        break;
    case RANGE_GE:
        *low = *low > n ? *low : n;
        break;
    }
}

static bool tied(const struct domain *d, size_t j, size_t n)
{
    const struct loop *loop = &d->bound->op->stmts[d->stmt].loops[j];
    return loop->bound != RANGE_FULL && loop->bound_loop == n;
}

/* Largest value of the terms in loop n = at and the loops tied to it; false: no iteration there. */
static bool group_at(const struct domain *d, const struct linear *form, size_t n, int64_t at,
                     wide sign, wide *out)
{
    const struct stmt *stmt = &d->bound->op->stmts[d->stmt];
    wide total = sign * form->loops[n] * at;
    if (at < d->low[n] || at > d->high[n])
        return false;
    for (size_t j = 0; j < stmt->loop_count; j++) {
        int64_t low;
        int64_t high;
        if (!tied(d, j, n))
            continue;
        scan_range(d, j, at, &low, &high);
        if (low > high)
            return false;
        wide slope = sign * form->loops[j];
        total += slope * (slope > 0 ? high : low);
    }
    *out = total;
    return true;
}

/* Largest of sign * (terms of loop n and its tied loops) over the domain. */
static bool group_extreme(const struct domain *d, const struct linear *form, size_t n, wide sign,
                          wide *out)
{
    const struct stmt *stmt = &d->bound->op->stmts[d->stmt];
    bool found = false;
    for (size_t j = 0; j <= stmt->loop_count; j++) {
        bool is_tied = j < stmt->loop_count && tied(d, j, n);
        if (j < stmt->loop_count && !is_tied)
            continue;
        /* n's own ends; and where a tied loop's end starts or stops to matter, one beside for < >
         */
        int64_t ends[2] = {is_tied ? d->low[j] : d->low[n], is_tied ? d->high[j] : d->high[n]};
        for (int k = 0; k < 6; k++) {
            wide total;
            int64_t at = ends[k / 3] + k % 3 - 1;
            if (group_at(d, form, n, at, sign, &total) && (!found || total > *out)) {
                *out = total;
                found = true;
            }
        }
    }
    return found;
}

/* The largest value of sign * form; false when the domain is empty. */
static bool form_extreme(const struct domain *d, const struct linear *form, wide sign, wide *out)
{
    const struct stmt *stmt = &d->bound->op->stmts[d->stmt];
    wide total = sign * form->constant;
    for (size_t n = 0; n < stmt->loop_count; n++) {
        wide part = 0;
        if (stmt->loops[n].bound != RANGE_FULL)
            continue; /* with the loop it is tied to */
        if (!group_extreme(d, form, n, sign, &part))
            return false;
        total += part;
    }
    for (size_t i = 0; i < form->atom_count; i++) {
        const struct atom *atom = &form->atoms[i];
        wide slope = sign * atom->coefficient;
        total += slope * (slope > 0 ? atom->high : atom->low);
    }
    *out = total;
    return true;
}

static bool form_range(const struct domain *d, const struct linear *form, int64_t *low,
                       int64_t *high)
{
    wide top;
    wide bottom;
    return form_extreme(d, form, 1, &top) && form_extreme(d, form, -1, &bottom) &&
           narrow(top, high) && narrow(-bottom, low);
}

/* ---- values ---- */

static struct value interval(int64_t low, int64_t high)
{
    return (struct value){.bounded = true, .low = low, .high = high};
}

static struct value constant(int64_t value)
{
    struct value v = interval(value, value);
    v.linear = true;
    v.form.constant = value;
    return v;
}

static bool is_constant(const struct value *v)
{
    return v->bounded && v->low == v->high;
}

static struct value wide_interval(wide low, wide high)
{
    struct value v = {0};
    v.bounded = narrow(low, &v.low) && narrow(high, &v.high);
    return v;
}

static struct value unite(const struct value *a, const struct value *b)
{
    if (!a->bounded || !b->bounded)
        return (struct value){0};
    return interval(a->low < b->low ? a->low : b->low, a->high > b->high ? a->high : b->high);
}

static void intersect(struct value *v, int64_t low, int64_t high)
{
    bool was = v->bounded;
    v->bounded = true;
    v->low = was && v->low > low ? v->low : low;
    v->high = was && v->high < high ? v->high : high;
}

/* c * floor(e / c) is e less something in 0 .. c - 1: the range of the form rewritten so. */
static void tighten_atom(const struct domain *d, struct value *v, size_t at)
{
    struct atom atom = v->form.atoms[at];
    struct linear rest = v->form;
    int64_t times = atom.coefficient / atom.divisor;
    int64_t low;
    int64_t high;
    int64_t slack;
    if (*d->fuel < FUEL / 2 || atom.coefficient % atom.divisor != 0 ||
        !num_mul(times, atom.divisor - 1, &slack))
        return;
    struct value numerator = evaluate(d, atom.numerator);
    rest.atoms[at] = rest.atoms[--rest.atom_count];
    if (!numerator.linear || !add_scaled(&rest, &numerator.form, times) ||
        !form_range(d, &rest, &low, &high))
        return;
    if (num_add(low, slack > 0 ? -slack : 0, &low) && num_add(high, slack < 0 ? -slack : 0, &high))
        intersect(v, low, high);
}

/* Intersect with the range of the linear form. */
static void tighten(const struct domain *d, struct value *v)
{
    int64_t low;
    int64_t high;
    if (!v->linear || !form_range(d, &v->form, &low, &high))
        return;
    intersect(v, low, high);
    for (size_t i = 0; i < v->form.atom_count; i++)
        tighten_atom(d, v, i);
}

static void dtype_range(enum dtype dtype, int64_t *low, int64_t *high)
{
    int bits = (int)dtype_bytes(dtype) * 8;
    *low = dtype_kind(dtype) == KIND_INT ? -((int64_t)1 << (bits - 2)) * 2 : 0;
    *high = dtype == DTYPE_BOOL ? 1 : ((((int64_t)1 << (bits - 2)) - 1) * 2 + 1);
    if (dtype_kind(dtype) == KIND_UINT)
        *high = ((int64_t)1 << bits) - 1;
}

/* What remains when the exact value is stored in `dtype`. */
static struct value wrap(struct value v, enum dtype dtype)
{
    int64_t low;
    int64_t high;
    dtype_range(dtype, &low, &high);
    if (v.bounded && v.low >= low && v.high <= high)
        return v;
    return dtype == DTYPE_I64 ? (struct value){0} : interval(low, high);
}

/* ---- operations ---- */

static struct value add(const struct value *a, const struct value *b, int64_t sign)
{
    struct value v = {0};
    if (a->bounded && b->bounded)
        v = wide_interval((wide)a->low + (sign > 0 ? (wide)b->low : -(wide)b->high),
                          (wide)a->high + (sign > 0 ? (wide)b->high : -(wide)b->low));
    v.form = a->form;
    v.linear = a->linear && b->linear && add_scaled(&v.form, &b->form, sign);
    return v;
}

static struct value multiply(const struct value *a, const struct value *b)
{
    if (!is_constant(b) && is_constant(a))
        return multiply(b, a);
    if (!a->bounded || !b->bounded)
        return (struct value){0};
    wide corners[4] = {(wide)a->low * b->low, (wide)a->low * b->high, (wide)a->high * b->low,
                       (wide)a->high * b->high};
    wide low = corners[0];
    wide high = corners[0];
    for (int i = 1; i < 4; i++) {
        low = corners[i] < low ? corners[i] : low;
        high = corners[i] > high ? corners[i] : high;
    }
    struct value v = wide_interval(low, high);
    v.linear = a->linear && is_constant(b) && add_scaled(&v.form, &a->form, b->low);
    return v;
}

/* The part of a form whose coefficients c divides, over c, in *whole; the rest in *rest. */
static void split(const struct linear *form, int64_t c, struct linear *whole, struct linear *rest)
{
    *whole = (struct linear){0};
    *rest = (struct linear){0};
    for (size_t i = 0; i < OP_LOOPS_MAX; i++) {
        bool divides = form->loops[i] % c == 0;
        whole->loops[i] = divides ? form->loops[i] / c : 0;
        rest->loops[i] = divides ? 0 : form->loops[i];
    }
    whole->constant = num_floor_div(form->constant, c);
    rest->constant = num_floor_mod(form->constant, c);
    for (size_t i = 0; i < form->atom_count; i++) {
        struct atom atom = form->atoms[i];
        bool divides = atom.coefficient % c == 0;
        struct linear *to = divides ? whole : rest;
        if (divides)
            atom.coefficient /= c;
        to->atoms[to->atom_count++] = atom;
    }
}

static struct value divide_constant(const struct domain *d, const struct expr *e,
                                    const struct value *a, int64_t c)
{
    struct value v = {0};
    if (a->bounded)
        v = interval(num_floor_div(a->low, c), num_floor_div(a->high, c));
    if (!a->linear)
        return v;
    struct linear whole;
    struct linear rest;
    int64_t low;
    int64_t high;
    split(&a->form, c, &whole, &rest);
    v.linear = true;
    if (form_range(d, &rest, &low, &high) && low >= 0 && high < c) {
        v.form = whole;
    } else if (v.bounded) {
        v.form.atoms[0] = (struct atom){1, e->args[0], c, v.low, v.high};
        v.form.atom_count = 1;
    } else {
        v.linear = false;
    }
    return v;
}

static struct value modulo_constant(const struct domain *d, const struct expr *e,
                                    const struct value *a, int64_t c)
{
    struct value v = interval(0, c - 1);
    if (!a->linear)
        return a->bounded && a->low >= 0 && a->high < c ? interval(a->low, a->high) : v;
    struct linear whole;
    struct linear rest;
    int64_t low;
    int64_t high;
    split(&a->form, c, &whole, &rest);
    v.linear = true;
    if (form_range(d, &rest, &low, &high) && low >= 0 && high < c) {
        v.form = rest;
    } else if (a->bounded) {
        struct atom atom = {1, e->args[0], c, num_floor_div(a->low, c), num_floor_div(a->high, c)};
        v.form = a->form;
        v.linear = add_atom(&v.form, &atom, -c);
    } else {
        v.linear = false;
    }
    return v;
}

/* Divisor not a positive constant: the quotient is no larger than the dividend. */
static struct value divide_any(const struct value *a, const struct value *b)
{
    if (is_constant(b) && b->low == 0)
        return constant(0);
    if (!a->bounded)
        return (struct value){0};
    if (b->bounded && b->low > 0 && a->low >= 0)
        return interval(a->low / b->high, a->high / b->low);
    wide size = a->low < 0 && -(wide)a->low > a->high ? -(wide)a->low : a->high;
    size = size < 0 ? -size : size;
    return wide_interval(-size, size);
}

/* x % 0 is 0; else the sign is the divisor's. */
static struct value modulo_any(const struct value *b)
{
    if (!b->bounded)
        return (struct value){0};
    return interval(b->low < 0 ? b->low + 1 : 0, b->high > 0 ? b->high - 1 : 0);
}

static struct value divide(const struct domain *d, const struct expr *e, const struct value *a,
                           const struct value *b)
{
    bool positive = is_constant(b) && b->low > 0;
    if (e->op == EXPR_DIV)
        return positive ? divide_constant(d, e, a, b->low) : divide_any(a, b);
    return positive ? modulo_constant(d, e, a, b->low) : modulo_any(b);
}

static struct value shift(const struct expr *e, const struct value *a, const struct value *b)
{
    if (!is_constant(b) || b->low < 0 || b->low > 62 || !a->bounded)
        return (struct value){0};
    if (e->op == EXPR_SHR)
        return interval(a->low >> b->low, a->high >> b->low);
    struct value scale = constant((int64_t)1 << b->low);
    return multiply(a, &scale);
}

static struct value bitwise(const struct expr *e, const struct value *a, const struct value *b)
{
    if (!a->bounded || !b->bounded || a->low < 0 || b->low < 0)
        return (struct value){0};
    int64_t most = a->high > b->high ? a->high : b->high;
    if (e->op == EXPR_BITAND)
        return interval(0, a->high < b->high ? a->high : b->high);
    int64_t ones = 0;
    while (ones < most)
        ones = ones * 2 + 1;
    return interval(0, ones);
}

static struct value extreme(const struct expr *e, const struct value *a, const struct value *b)
{
    if (!a->bounded || !b->bounded)
        return (struct value){0};
    bool max = e->op == EXPR_MAX;
    return interval((a->low > b->low) == max ? a->low : b->low,
                    (a->high > b->high) == max ? a->high : b->high);
}

static struct value absolute(const struct value *a)
{
    if (!a->bounded || a->low == INT64_MIN)
        return (struct value){0};
    if (a->low >= 0)
        return interval(a->low, a->high);
    int64_t size = -a->low > a->high ? -a->low : a->high;
    return interval(a->high < 0 ? -a->high : 0, size);
}

/* ---- conditions ---- */

static enum expr_op opposite(enum expr_op op)
{
    if (op == EXPR_LT)
        return EXPR_GE;
    if (op == EXPR_LE)
        return EXPR_GT;
    if (op == EXPR_GT)
        return EXPR_LE;
    return EXPR_LT; /* of >= */
}

/* Narrow one loop by  coefficient * loop + constant <= 0. */
static void narrow_loop(struct domain *d, size_t loop, int64_t coefficient, int64_t constant)
{
    if (constant == INT64_MIN || coefficient == INT64_MIN)
        return;
    if (coefficient > 0) {
        int64_t most = num_floor_div(-constant, coefficient);
        d->high[loop] = d->high[loop] < most ? d->high[loop] : most;
    } else {
        int64_t least = -num_floor_div(-constant, -coefficient);
        d->low[loop] = d->low[loop] > least ? d->low[loop] : least;
    }
}

static void narrow_compare(struct domain *d, enum expr_op op, const struct expr *e)
{
    struct value a = evaluate(d, e->args[0]);
    struct value b = evaluate(d, e->args[1]);
    bool less = op == EXPR_LT || op == EXPR_LE;
    struct value difference = less ? add(&a, &b, -1) : add(&b, &a, -1);
    int64_t constant_term = difference.form.constant;
    size_t loop = OP_NONE;
    if (!difference.linear || difference.form.atom_count)
        return;
    for (size_t i = 0; i < OP_LOOPS_MAX; i++) {
        if (difference.form.loops[i] == 0)
            continue;
        if (loop != OP_NONE)
            return; /* two loops: not an interval of one */
        loop = i;
    }
    bool strict = op == EXPR_LT || op == EXPR_GT;
    if (loop != OP_NONE && num_add(constant_term, strict, &constant_term))
        narrow_loop(d, loop, difference.form.loops[loop], constant_term);
}

/* Narrow the domain to where `e` is `truth`, as far as one loop's interval can say it. */
static void assume(struct domain *d, const struct expr *e, bool truth)
{
    if (e->op == EXPR_NOT) {
        assume(d, e->args[0], !truth);
    } else if ((e->op == EXPR_AND && truth) || (e->op == EXPR_OR && !truth)) {
        assume(d, e->args[0], truth);
        assume(d, e->args[1], truth);
    } else if (e->op == EXPR_LT || e->op == EXPR_LE || e->op == EXPR_GT || e->op == EXPR_GE) {
        if (!dtype_is_float(e->args[0]->dtype) && !dtype_is_float(e->args[1]->dtype))
            narrow_compare(d, truth ? e->op : opposite(e->op), e);
    }
}

static bool is_empty(const struct domain *d)
{
    for (size_t i = 0; i < d->bound->op->stmts[d->stmt].loop_count; i++)
        if (d->low[i] > d->high[i])
            return true;
    return false;
}

static struct value evaluate_where(const struct domain *d, const struct expr *e)
{
    struct domain yes = *d;
    struct domain no = *d;
    assume(&yes, e->args[0], true);
    assume(&no, e->args[0], false);
    struct value a = evaluate(&yes, e->args[1]);
    struct value b = evaluate(&no, e->args[2]);
    if (is_empty(&yes))
        return wrap(b, e->dtype);
    if (is_empty(&no))
        return wrap(a, e->dtype);
    return unite(&a, &b);
}

/* ---- data ---- */

static struct domain domain_of(const struct bound_op *bound, size_t stmt, int deep, int *fuel)
{
    struct domain d = {.bound = bound, .stmt = stmt, .deep = deep, .fuel = fuel};
    for (size_t i = 0; i < bound->op->stmts[stmt].loop_count; i++)
        d.high[i] = bound->extents[stmt][i] > 0 ? bound->extents[stmt][i] - 1 : 0;
    return d;
}

static struct value fill_interval(const struct bound_op *bound, const struct fill *fill)
{
    int64_t low = 0;
    int64_t high = 1;
    struct err ignored;
    switch (fill->kind) {
    case FILL_ZEROS:
        return constant(0);
    case FILL_ONES:
        return constant(1);
    case FILL_MASK:
        return interval(0, 1);
    case FILL_INTS:
        if (formula_eval(fill->low, &bound->env, &low, &ignored) &&
            formula_eval(fill->high, &bound->env, &high, &ignored))
            return interval(low, high);
        return (struct value){0};
    case FILL_NORMAL:
    case FILL_UNIFORM:
        return (struct value){0};
    }
    panic("fill %d", (int)fill->kind);
}

/* The maximum of nothing is the least integer. */
static bool can_be_empty(const struct domain *d, const struct stmt *stmt)
{
    for (size_t i = stmt->free_count; i < stmt->loop_count; i++)
        if (stmt->loops[i].bound != RANGE_FULL || d->bound->extents[d->stmt][i] == 0)
            return true;
    return false;
}

static struct value reduced_interval(const struct domain *d, const struct stmt *stmt)
{
    wide count = 1;
    for (size_t i = stmt->free_count; i < stmt->loop_count; i++)
        count *= d->high[i] + 1;
    if (stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN)
        return wide_interval(0, count - 1);
    struct value v = evaluate(d, stmt->value);
    if (!v.bounded)
        return v;
    switch (stmt->reduce) {
    case REDUCE_NONE:
        return v;
    case REDUCE_SUM: /* of none: 0 */
        return wide_interval(v.low < 0 ? v.low * count : 0, v.high > 0 ? v.high * count : 0);
    case REDUCE_ANY:
    case REDUCE_ALL:
        return interval(0, 1);
    case REDUCE_MAX:
    case REDUCE_MIN:
        return can_be_empty(d, stmt) ? (struct value){0} : v;
    case REDUCE_PROD:
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
        return (struct value){0};
    }
    panic("reduction %d", (int)stmt->reduce);
}

static struct value tensor_interval(const struct domain *d, size_t tensor)
{
    const struct tensor *t = &d->bound->op->tensors[tensor];
    if (!t->temporary && t->role != ROLE_OUTPUT)
        return fill_interval(d->bound, &t->fill);
    if (t->written_by == OP_NONE || d->deep >= STATEMENTS_DEEP_MAX)
        return (struct value){0};
    struct domain other = domain_of(d->bound, t->written_by, d->deep + 1, d->fuel);
    struct value v = reduced_interval(&other, &d->bound->op->stmts[t->written_by]);
    return v.bounded ? interval(v.low, v.high) : (struct value){0};
}

static struct value evaluate_read(const struct domain *d, const struct expr *e)
{
    struct value v = wrap(tensor_interval(d, e->tensor), e->dtype);
    if (!e->pad)
        return v;
    struct value pad = evaluate(d, e->pad);
    return unite(&v, &pad);
}

static struct value evaluate_cast(const struct domain *d, const struct expr *e)
{
    if (dtype_is_float(e->args[0]->dtype) || e->dtype == DTYPE_BOOL)
        return wrap((struct value){0}, e->dtype);
    return evaluate(d, e->args[0]);
}

/* ---- all together ---- */

static struct value evaluate_binary(const struct domain *d, const struct expr *e)
{
    struct value a = evaluate(d, e->args[0]);
    struct value b = evaluate(d, e->args[1]);
    if (e->op == EXPR_ADD || e->op == EXPR_SUB)
        return add(&a, &b, e->op == EXPR_ADD ? 1 : -1);
    if (e->op == EXPR_MUL)
        return multiply(&a, &b);
    if (e->op == EXPR_DIV || e->op == EXPR_MOD)
        return divide(d, e, &a, &b);
    if (e->op == EXPR_SHL || e->op == EXPR_SHR)
        return shift(e, &a, &b);
    if (e->op == EXPR_BITAND || e->op == EXPR_BITXOR || e->op == EXPR_BITOR)
        return bitwise(e, &a, &b);
    if (e->op == EXPR_MIN || e->op == EXPR_MAX)
        return extreme(e, &a, &b);
    return (struct value){0};
}

static struct value evaluate_node(const struct domain *d, const struct expr *e)
{
    struct value v = {0};
    if (e->op == EXPR_INT)
        return constant(e->integer);
    if (e->op == EXPR_DIM)
        return constant(d->bound->dims[e->dim]);
    if (e->op == EXPR_INDEX) {
        v = interval(d->low[e->loop], d->high[e->loop]);
        v.linear = true;
        v.form.loops[e->loop] = 1;
        return v;
    }
    if (e->op == EXPR_READ)
        return evaluate_read(d, e);
    if (e->op == EXPR_CAST)
        return evaluate_cast(d, e);
    if (e->op == EXPR_WHERE)
        return evaluate_where(d, e);
    if (e->op == EXPR_NEG || e->op == EXPR_ABS) {
        struct value a = evaluate(d, e->args[0]);
        struct value nought = constant(0);
        return e->op == EXPR_NEG ? add(&nought, &a, -1) : absolute(&a);
    }
    if (e->op == EXPR_SIGN)
        return interval(-1, 1);
    return e->args[1] ? evaluate_binary(d, e) : v;
}

static struct value evaluate(const struct domain *d, const struct expr *e)
{
    if (e->dtype == DTYPE_BOOL)
        return interval(0, 1);
    if (dtype_is_float(e->dtype) || --*d->fuel < 0)
        return (struct value){0};
    struct value v = evaluate_node(d, e);
    tighten(d, &v);
    return wrap(v, e->dtype);
}

bool expr_affine(const struct bound_op *bound, const struct stmt *stmt, const struct expr *expr,
                 struct affine *out)
{
    int fuel = FUEL;
    struct domain d = domain_of(bound, (size_t)(stmt - bound->op->stmts), 0, &fuel);
    struct value v = evaluate(&d, expr);
    if (!v.linear || v.form.atom_count)
        return false;
    memcpy(out->coefficient, v.form.loops, sizeof(out->coefficient));
    out->constant = v.form.constant;
    return true;
}

bool expr_interval(const struct bound_op *bound, size_t stmt, const struct expr *expr, int64_t *low,
                   int64_t *high)
{
    int fuel = FUEL;
    struct domain d = domain_of(bound, stmt, 0, &fuel);
    struct value v = evaluate(&d, expr);
    if (!v.bounded)
        return false;
    *low = v.low;
    *high = v.high;
    return true;
}

bool expr_precedes(const struct bound_op *bound, size_t stmt, const struct expr *expr, size_t loop)
{
    int fuel = FUEL;
    struct domain d = domain_of(bound, stmt, 0, &fuel);
    struct value v = evaluate(&d, expr);
    struct linear form = v.form;
    int64_t low;
    int64_t high;
    if (v.bounded && v.high < d.low[loop])
        return true;
    return v.linear && num_add(form.loops[loop], -1, &form.loops[loop]) &&
           form_range(&d, &form, &low, &high) && high < 0;
}
