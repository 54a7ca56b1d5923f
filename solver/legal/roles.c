/*
 * Contractions, and the windows that neighbouring results share.
 *
 * A contraction is a sum over an index that two factors share, each of which has, or one of which
 * has, a free index that the other has not.  More factors than two are taken together: what has no
 * index of its own goes to one that has its indices, then the widest that can stands against the
 * others.
 */
#include <math.h>
#include <stdlib.h>

#include "base/num.h"

#include "solver/legal/structure_int.h"

enum { TEXT_BYTES_MAX = 4096 };

/* ---- roles ---- */

static int bits(uint64_t set)
{
    int count = 0;
    for (; set != 0; set &= set - 1)
        count++;
    return count;
}

/* Loops of the factors that read data and vary along reduced loops; equal sets once. */
static size_t sides_of(struct analysis *a, size_t s, const struct term *product,
                       uint64_t sets[FACTORS_MAX])
{
    struct factors factors;
    size_t count = 0;
    if (!factors_in(product, loops_reduced(&a->op->stmts[s]), &factors))
        return 0;
    for (size_t i = 0; i < factors.count; i++) {
        const struct term *factor = factors.at[i].term;
        bool met = factor->kind == TERM_HOLDS || !factor->reads;
        for (size_t k = 0; k < count; k++)
            met |= sets[k] == factor->loops;
        if (!met)
            sets[count++] = factor->loops;
    }
    return count;
}

/* Sets that others have inside go, the smallest first, while more than two are left. */
static size_t absorb(uint64_t sets[FACTORS_MAX], size_t count)
{
    while (count > 2) {
        size_t least = FACTORS_MAX;
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < count; k++)
                if (i != k && (sets[i] & ~sets[k]) == 0 &&
                    (least == FACTORS_MAX || bits(sets[i]) < bits(sets[least])))
                    least = i;
        if (least == FACTORS_MAX)
            break;
        sets[least] = sets[--count];
    }
    return count;
}

/* The first side is one of the sets, the second what the others have. */
static bool roles_of_sides(struct analysis *a, size_t s, uint64_t first, uint64_t second,
                           enum role_of_loop roles[OP_LOOPS_MAX])
{
    const struct stmt *stmt = &a->op->stmts[s];
    uint64_t one = (first ^ second) & loops_free(stmt);
    bool steps = is_in_cycle(a, s), sides = false;
    one &= steps ? ~UINT64_C(1) : UINT64_MAX;
    uint64_t lowest = one & (~one + 1);
    if ((second & lowest) != 0) {
        uint64_t swap = first;
        first = second;
        second = swap;
    }
    for (size_t i = 0; i < stmt->loop_count; i++) {
        uint64_t bit = UINT64_C(1) << i;
        roles[i] = i >= stmt->free_count ? ROLE_K
                   : i == 0 && steps     ? ROLE_STEP
                   : (one & bit) == 0    ? ROLE_BATCH
                   : (first & bit) != 0  ? ROLE_M
                                         : ROLE_N;
        sides |= roles[i] == ROLE_M || roles[i] == ROLE_N;
    }
    return sides && (first & second & loops_reduced(stmt)) != 0;
}

static bool is_wider(uint64_t a, uint64_t b)
{
    return bits(a) > bits(b) || (bits(a) == bits(b) && a < b);
}

/* The widest set stands against the others, or where that gives no sides the next. */
static bool roles_of_product(struct analysis *a, size_t s, const struct term *product,
                             enum role_of_loop roles[OP_LOOPS_MAX])
{
    uint64_t sets[FACTORS_MAX];
    size_t count = absorb(sets, sides_of(a, s, product, sets));
    for (size_t n = 0; count > 1 && n < count; n++) {
        uint64_t others = 0;
        size_t widest = n;
        for (size_t i = n + 1; i < count; i++)
            if (is_wider(sets[i], sets[widest]))
                widest = i;
        const uint64_t first = sets[widest];
        sets[widest] = sets[n];
        sets[n] = first;
        for (size_t i = 0; i < count; i++)
            others |= i == n ? 0 : sets[i];
        if (roles_of_sides(a, s, first, others, roles))
            return true;
    }
    return false;
}

static bool roles_equal(const struct stmt *stmt, const enum role_of_loop *p,
                        const enum role_of_loop *q)
{
    for (size_t i = 0; i < stmt->loop_count; i++)
        if (p[i] != q[i])
            return false;
    return true;
}

/* Of a sum of products: those of all, or with `some` of those that have roles. */
static bool roles_of_sum(struct analysis *a, size_t s, const struct term *sum, bool some,
                         enum role_of_loop roles[OP_LOOPS_MAX])
{
    const struct stmt *stmt = &a->op->stmts[s];
    const struct term_part *parts;
    struct term_part single;
    size_t count = term_addends(sum, &parts, &single), found = 0;
    for (size_t i = 0; i < count; i++) {
        enum role_of_loop other[OP_LOOPS_MAX];
        bool has = roles_of_product(a, s, parts[i].term, found == 0 ? roles : other);
        if ((!has && !some) || (has && found > 0 && !roles_equal(stmt, roles, other)))
            return false;
        found += has;
    }
    return found > 0;
}

bool contraction_roles(struct analysis *a, size_t s, enum role_of_loop roles[OP_LOOPS_MAX])
{
    const struct stmt *stmt = &a->op->stmts[s];
    return stmt->reduce == REDUCE_SUM && stmt->scatter == NULL &&
           roles_of_sum(a, s, term_of_stmt(&a->terms, s), false, roles);
}

int64_t role_extent(const struct analysis *a, size_t s, const enum role_of_loop roles[OP_LOOPS_MAX],
                    enum role_of_loop role)
{
    int64_t product = 1;
    for (size_t i = 0; i < a->op->stmts[s].loop_count; i++)
        if (roles[i] == role && !num_mul(product, a->bound->extents[s][i], &product))
            return INT64_MAX;
    return product;
}

static struct str roles_text(struct analysis *a, size_t s, const enum role_of_loop *roles)
{
    static const char *const names[] = {"batch", "M", "N", "K", "step"};
    const struct stmt *stmt = &a->op->stmts[s];
    struct buf text;
    buf_init(&text, a->arena, TEXT_BYTES_MAX);
    for (int role = 0; role < ROLE_OF_LOOP_COUNT; role++) {
        const char *before = names[role];
        for (size_t i = 0; i < stmt->loop_count; i++) {
            if ((int)roles[i] != role)
                continue;
            bool first = before == names[role];
            buf_printf(&text, "%s%s %.*s",
                       text.len == 0 ? ""
                       : first       ? ", "
                                     : " ",
                       before, STR_ARG(stmt->loops[i].name));
            before = "and";
        }
    }
    return buf_view(&text);
}

/* Loops of what sums and products of the term are made from, where it varies along `reduced`; two
 * sets are enough. */
static void leaves_of(const struct term *term, uint64_t reduced, uint64_t sets[2], size_t *count)
{
    bool inner = term->kind == TERM_SUM || term->kind == TERM_PRODUCT;
    if ((term->loops & reduced) == 0 || !term->reads || *count == 2)
        return;
    for (size_t i = 0; inner && i < term->count; i++)
        leaves_of(term->parts[i].term, reduced, sets, count);
    if (!inner && (*count == 0 || (*count == 1 && sets[0] != term->loops)))
        sets[(*count)++] = term->loops;
}

/* Multiplied out it has a product of two sides at most if its leaves are of two kinds. */
static bool may_have_sides(const struct stmt *stmt, const struct term *value)
{
    uint64_t sets[2];
    size_t count = 0;
    leaves_of(value, loops_reduced(stmt), sets, &count);
    return count == 2;
}

void find_contraction(struct analysis *a, size_t s)
{
    const struct stmt *stmt = &a->op->stmts[s];
    enum role_of_loop roles[OP_LOOPS_MAX];
    if (contraction_roles(a, s, roles)) {
        note_structure(a, s, OP_NONE, STRUCTURE_CONTRACTION,
                       note_text(a, "sum of products: %.*s", STR_ARG(roles_text(a, s, roles))));
        return;
    }
    if (stmt->reduce != REDUCE_SUM || stmt->scatter != NULL)
        return;
    const struct term *value = term_of_stmt(&a->terms, s);
    if (!may_have_sides(stmt, value))
        return;
    const struct term *expanded = term_expand(&a->terms, value);
    if (expanded != value && roles_of_sum(a, s, expanded, true, roles))
        note_structure(a, s, OP_NONE, STRUCTURE_CONTRACTION,
                       note_text(a, "multiplied out it has a sum of products: %.*s",
                                 STR_ARG(roles_text(a, s, roles))));
}

/* ---- windows ---- */

/* One subscript as (sum of coefficient * loop) / divisor. */
struct window {
    double coefficient[TERM_LOOPS_ALL];
    double divisor;
};

static bool window_of(const struct analysis *a, const struct term *sub, struct window *out)
{
    double constant, divisor = 1;
    if (sub->kind == TERM_CALL && sub->op == EXPR_DIV &&
        term_is_number(sub->parts[1].term, &divisor) && divisor >= 1)
        sub = sub->parts[0].term;
    out->divisor = divisor;
    return term_affine(&a->terms, sub, out->coefficient, &constant);
}

/* Do two loops in one subscript meet the same element from different iterations? */
static bool overlaps(const struct analysis *a, size_t s, const struct window *w)
{
    bool used[OP_LOOPS_MAX] = {false};
    double reach = w->divisor - 1;
    size_t moving = 0;
    for (size_t n = 0; n < a->op->stmts[s].loop_count; n++) {
        size_t least = OP_NONE; /* smallest stride not yet taken */
        for (size_t i = 0; i < a->op->stmts[s].loop_count; i++) {
            bool moves = fabs(w->coefficient[i]) > 0 && a->bound->extents[s][i] > 1 && !used[i];
            if (moves &&
                (least == OP_NONE || fabs(w->coefficient[i]) < fabs(w->coefficient[least])))
                least = i;
        }
        if (least == OP_NONE)
            return false;
        used[least] = true;
        if (moving++ > 0 && reach >= fabs(w->coefficient[least]))
            return true;
        reach += fabs(w->coefficient[least]) * (double)(a->bound->extents[s][least] - 1);
    }
    return false;
}

/* "along p window 3, stride 2, halo 1, reuse 2" */
static void window_text(struct buf *out, const struct analysis *a, size_t s, const struct window *w)
{
    const struct stmt *stmt = &a->op->stmts[s];
    size_t free = OP_NONE;
    double reach = 0, taps = 1;
    for (size_t i = 0; i < stmt->loop_count; i++) {
        double stride = fabs(w->coefficient[i]);
        if (!(stride > 0))
            continue;
        if (i < stmt->free_count && (free == OP_NONE || stride < fabs(w->coefficient[free])))
            free = i;
        if (i >= stmt->free_count) {
            reach += stride * (double)(a->bound->extents[s][i] - 1);
            taps *= (double)a->bound->extents[s][i];
        }
    }
    if (free == OP_NONE || taps < 2)
        return;
    double stride = fabs(w->coefficient[free]), window = floor(reach / w->divisor) + 1;
    buf_printf(out, "%s along %.*s window %.0f, stride %.0f", out->len > 0 ? ";" : "",
               STR_ARG(stmt->loops[free].name), window, stride);
    if (w->divisor > 1)
        buf_printf(out, " of %.0f", w->divisor);
    buf_printf(out, ", halo %.0f, reuse %.0f", fmax(0, ceil(window - stride / w->divisor)),
               ceil(taps / stride));
}

/* Reads of a statement, but for those of what its own block carries. */
struct reads {
    const struct op *op;
    size_t seq;
    const struct term *at[CANDIDATES_MAX];
    size_t count;
};

static void collect_reads(void *context, const struct term *term)
{
    struct reads *reads = context;
    size_t writer = term->kind == TERM_READ ? reads->op->tensors[term->number].written_by : OP_NONE;
    bool own =
        writer != OP_NONE && reads->seq != OP_NONE && reads->op->stmts[writer].seq == reads->seq;
    if (term->kind == TERM_READ && !own && reads->count < CANDIDATES_MAX)
        reads->at[reads->count++] = term;
}

/* Windows of one read; false: none overlaps. */
static bool windows_of(const struct analysis *a, size_t s, const struct term *read, struct buf *out)
{
    bool any = false;
    for (size_t i = 0; i < read->count && i < a->op->tensors[read->number].rank; i++) {
        struct window w;
        if (!window_of(a, read->parts[i].term, &w) || !overlaps(a, s, &w))
            continue;
        window_text(out, a, s, &w);
        any = true;
    }
    return any;
}

struct shift {
    double by, stride;
};

static double common_divisor(double a, double b)
{
    while (b >= 1) {
        double rest = fmod(a, b);
        a = b;
        b = rest;
    }
    return a;
}

/* Same loops and strides, other constants, elements in common: x[i - 1] and x[i + 1], but not
 * x[2 i] and x[2 i + 1]. */
static bool is_shift(const struct analysis *a, size_t s, const struct term *p, const struct term *q,
                     size_t place, struct shift *out)
{
    bool moved = false;
    for (size_t i = 0; i < a->op->tensors[p->number].rank; i++) {
        double x[TERM_LOOPS_ALL], y[TERM_LOOPS_ALL], c, d, reach = 0, stride = 0;
        if (!term_affine(&a->terms, p->parts[i].term, x, &c) ||
            !term_affine(&a->terms, q->parts[i].term, y, &d))
            return false;
        for (size_t k = 0; k < TERM_LOOPS_ALL; k++) {
            if (fabs(x[k] - y[k]) > 0)
                return false;
            if (k >= a->op->stmts[s].loop_count || a->bound->extents[s][k] < 2)
                continue;
            reach += fabs(x[k]) * (double)(a->bound->extents[s][k] - 1);
            stride = common_divisor(fabs(x[k]), stride);
        }
        if (fabs(c - d) > reach || (stride > 0 && fabs(fmod(c - d, stride)) > 0))
            return false;
        moved |= fabs(c - d) > 0;
        if (i == place)
            *out = (struct shift){c - d, stride};
    }
    return moved;
}

/* Reads of the tensor at shifted places: the widest span in each subscript. */
static bool shifts_of(const struct analysis *a, size_t s, const struct reads *reads,
                      const struct term *first, struct buf *out)
{
    bool any = false;
    size_t count = 0;
    for (size_t i = 0; i < reads->count; i++)
        count += reads->at[i]->number == first->number;
    for (size_t place = 0; place < a->op->tensors[first->number].rank; place++) {
        double low = 0, high = 0;
        struct shift shift = {0, 1};
        for (size_t i = 0; i < reads->count; i++)
            if (reads->at[i] != first && reads->at[i]->number == first->number &&
                is_shift(a, s, reads->at[i], first, place, &shift)) {
                low = fmin(low, shift.by);
                high = fmax(high, shift.by);
                any = true;
            }
        if (high > low)
            buf_printf(out, "%s in subscript %zu window %.0f, stride %.0f, halo %.0f, reuse %zu",
                       out->len > 0 ? ";" : "", place, high - low + 1, shift.stride,
                       high - low + 1 - shift.stride, count);
    }
    return any;
}

/* Does a map that it reads have windows of the same tensor already? */
struct seen {
    struct analysis *a;
    bool found;
};

static void see(void *context, const struct expr *expr)
{
    struct seen *seen = context;
    size_t writer = expr->op == EXPR_READ ? seen->a->op->tensors[expr->tensor].written_by : OP_NONE;
    if (writer != OP_NONE && seen->a->op->stmts[writer].reduce == REDUCE_NONE)
        seen->found |= has_structure(seen->a, writer, STRUCTURE_STENCIL);
}

static void note_windows(struct analysis *a, size_t s, const struct term *read,
                         const struct buf *text)
{
    struct str name = a->op->tensors[read->number].name;
    note_structure(
        a, s, OP_NONE, STRUCTURE_STENCIL,
        text->len == 0
            ? note_text(a, "neighbouring results read overlapping windows of %.*s", STR_ARG(name))
            : note_text(a, "neighbouring results read overlapping windows of %.*s:%.*s",
                        STR_ARG(name), STR_ARG(buf_view(text))));
}

void find_windows(struct analysis *a, size_t s)
{
    struct reads reads = {.op = a->op, .seq = a->op->stmts[s].seq};
    struct seen seen = {a, false};
    const struct term *best = NULL;
    struct buf text;
    term_walk(&a->terms, term_of_stmt(&a->terms, s), collect_reads, &reads);
    expr_walk(a->op->stmts[s].value, see, &seen);
    if (seen.found)
        return;
    for (int shifts = 0; shifts < 2 && best == NULL; shifts++)
        for (size_t i = 0; i < reads.count; i++) {
            const struct term *read = reads.at[i];
            struct buf own;
            buf_init(&own, a->arena, TEXT_BYTES_MAX);
            bool any = shifts ? shifts_of(a, s, &reads, read, &own) : windows_of(a, s, read, &own);
            if (!any || (best != NULL && best->number <= read->number))
                continue;
            best = read;
            text = own;
        }
    if (best != NULL)
        note_windows(a, s, best, &text);
}
