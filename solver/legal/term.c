/*
 * Making terms: each once, in one form.
 *
 * Method: hash consing.  What a maker is given is in normal form already, so it flattens one level,
 * merges equal parts, and sorts by age.  Ages depend on what was met first, so nothing that is
 * reported may depend on the order of parts.
 *
 * Not here: expressions (term_of.c).  A base that may be negative loses no sign, for only whole
 * exponents are taken apart; all else is real arithmetic where it is defined.
 */
#include "solver/legal/term.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { ROOM_FIRST = 1 << 10 };

/* ---- one each ---- */

void terms_init(struct terms *ts, struct arena *arena, const struct bound_op *bound)
{
    *ts = (struct terms){.arena = arena, .bound = bound, .op = bound->op, .room = ROOM_FIRST};
    ts->slots = arena_array(arena, struct term *, ts->room);
    ts->whole = arena_array(arena, const struct term *, bound->op->stmt_count + 1);
}

static bool is_same(const struct term *a, const struct term *like, const struct term_part *parts,
                    size_t count)
{
    if (a->kind != like->kind || a->op != like->op || a->number != like->number ||
        a->count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (a->parts[i].term != parts[i].term || a->parts[i].weight < parts[i].weight ||
            a->parts[i].weight > parts[i].weight)
            return false;
    return true;
}

static uint64_t hash_of(const struct term *like, const struct term_part *parts, size_t count)
{
    uint64_t key[3] = {(uint64_t)like->kind, (uint64_t)like->op, like->number};
    uint64_t hash = hash_fast(key, sizeof(key));
    for (size_t i = 0; i < count; i++) {
        uint64_t part[3] = {hash, parts[i].term->id, 0};
        memcpy(&part[2], &parts[i].weight, sizeof(part[2]));
        hash = hash_fast(part, sizeof(part));
    }
    return hash;
}

static struct term **slot_of(struct terms *ts, const struct term *like,
                             const struct term_part *parts, size_t count)
{
    size_t at = (size_t)hash_of(like, parts, count) & (ts->room - 1);
    while (ts->slots[at] != NULL && !is_same(ts->slots[at], like, parts, count))
        at = (at + 1) & (ts->room - 1);
    return &ts->slots[at];
}

static void grow(struct terms *ts)
{
    struct term **old = ts->slots;
    size_t room = ts->room;
    ts->room *= 2;
    ts->slots = arena_array(ts->arena, struct term *, ts->room);
    for (size_t i = 0; i < room; i++)
        if (old[i] != NULL)
            *slot_of(ts, old[i], old[i]->parts, old[i]->count) = old[i];
}

static uint64_t mixed(uint64_t a, uint64_t b)
{
    const uint64_t pair[2] = {a, b};
    return hash_fast(pair, sizeof(pair));
}

/* Ages, and with them the order of parts and the sign that a sum in a product has, follow the names
 * of loops, so none of them counts. */
static uint64_t shape_of(const struct term *term)
{
    bool numbered = term->kind == TERM_READ || term->kind == TERM_DIM;
    uint64_t shape = 0;
    if (term->kind == TERM_SUM && term->count == 1)
        return term->parts[0].term->shape;
    for (size_t i = 0; i < term->count; i++) {
        double power = term->kind == TERM_PRODUCT ? term->parts[i].weight : 0;
        uint64_t bits, place = term->kind == TERM_READ ? i : 0;
        memcpy(&bits, &power, sizeof(bits));
        shape += mixed(term->parts[i].term->shape, bits + place);
    }
    return mixed(
        shape, mixed((uint64_t)term->kind + 64 * (uint64_t)term->op, numbered ? term->number : 0));
}

const struct term *term_make(struct terms *ts, const struct term *like,
                             const struct term_part *parts, size_t count)
{
    struct term key = *like;
    if (ts->count >= TERMS_MAX) { /* equal to nothing */
        key = (struct term){.kind = TERM_CALL, .op = EXPR_OP_COUNT, .number = ++ts->opaque};
        count = 0;
    }
    struct term **slot = slot_of(ts, &key, parts, count);
    if (*slot != NULL)
        return *slot;
    struct term *made = arena_new(ts->arena, struct term);
    struct term_part *own = arena_array(ts->arena, struct term_part, count + 1);
    *made = (struct term){.kind = key.kind, .op = key.op, .number = key.number};
    for (size_t i = 0; i < count; i++) {
        own[i] = parts[i];
        made->loops |= parts[i].term->loops;
        made->reads |= parts[i].term->reads;
        made->tensors |= parts[i].term->tensors;
        made->size += parts[i].term->size;
    }
    made->size = made->size > TERM_SIZE_MAX ? TERM_SIZE_MAX + 1 : made->size + 1;
    if (key.kind == TERM_READ)
        made->tensors |= UINT64_C(1) << (key.number % 64);
    made->reads |= key.kind == TERM_READ;
    if (key.kind == TERM_INDEX)
        made->loops = UINT64_C(1) << key.number;
    made->parts = own;
    made->count = count;
    made->shape = shape_of(made);
    made->id = ++ts->count;
    *slot = made;
    if (ts->count * 2 > ts->room)
        grow(ts);
    return made;
}

static const struct term *leaf(struct terms *ts, enum term_kind kind, size_t number)
{
    const struct term like = {.kind = kind, .number = number};
    return term_make(ts, &like, NULL, 0);
}

const struct term *term_loop(struct terms *ts, size_t loop)
{
    return leaf(ts, TERM_INDEX, loop);
}

const struct term *term_number(struct terms *ts, double value)
{
    if (isinf(value))
        return term_scaled(ts, value > 0 ? 1 : -1, leaf(ts, TERM_INF, 0));
    const struct term_part part = {value, leaf(ts, TERM_ONE, 0)};
    return isnan(value) ? leaf(ts, TERM_CALL, ++ts->opaque) : term_sum(ts, &part, 1);
}

bool term_is_number(const struct term *term, double *value)
{
    bool zero = term->kind == TERM_SUM && term->count == 0;
    bool weighted =
        term->kind == TERM_SUM && term->count == 1 && term->parts[0].term->kind == TERM_ONE;
    *value = zero ? 0 : weighted ? term->parts[0].weight : 1;
    return zero || weighted || term->kind == TERM_ONE;
}

/* ---- parts ---- */

struct list {
    struct arena *arena;
    struct term_part *at;
    size_t count, room;
};

static void add(struct list *list, double weight, const struct term *term)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 8;
        struct term_part *larger = arena_array(list->arena, struct term_part, room);
        if (list->count > 0)
            memcpy(larger, list->at, list->count * sizeof(larger[0]));
        list->at = larger;
        list->room = room;
    }
    list->at[list->count++] = (struct term_part){weight, term};
}

static int by_age(const void *a, const void *b)
{
    const struct term_part *x = a, *y = b;
    return x->term->id < y->term->id ? -1 : x->term->id > y->term->id;
}

/* Ten digits, so that weights that were come to by other ways are equal. */
static double snapped(double weight)
{
    int exponent;
    double fraction = frexp(weight, &exponent);
    return isfinite(weight) ? ldexp(rint(ldexp(fraction, 33)), exponent - 33) : weight;
}

/* Sorted, equal terms merged, weights of 0 dropped. */
static void merge(struct list *list)
{
    size_t kept = 0;
    if (list->count > 1)
        qsort(list->at, list->count, sizeof(list->at[0]), by_age);
    for (size_t i = 0; i < list->count; i++) {
        if (kept > 0 && list->at[kept - 1].term == list->at[i].term)
            list->at[kept - 1].weight += list->at[i].weight;
        else
            list->at[kept++] = list->at[i];
        if (i + 1 < list->count && list->at[i + 1].term == list->at[i].term)
            continue;
        list->at[kept - 1].weight = snapped(list->at[kept - 1].weight);
        kept -= fabs(list->at[kept - 1].weight) < 1e-30;
    }
    list->count = kept;
}

size_t term_addends(const struct term *term, const struct term_part **parts,
                    struct term_part *single)
{
    *single = (struct term_part){1, term};
    *parts = term->kind == TERM_SUM ? term->parts : single;
    return term->kind == TERM_SUM ? term->count : 1;
}

size_t term_factors(const struct term *term, const struct term_part **parts,
                    struct term_part *single)
{
    if (term->kind == TERM_SUM && term->count == 1)
        term = term->parts[0].term;
    *single = (struct term_part){1, term};
    *parts = term->kind == TERM_PRODUCT ? term->parts : single;
    return term->kind == TERM_PRODUCT ? term->count : term->kind == TERM_ONE ? 0 : 1;
}

/* ---- sums ---- */

/* Infinity and masks have a sign and no size. */
static double weight_of(const struct term_part *part)
{
    bool sign = part->term->kind == TERM_INF || part->term->kind == TERM_MASK;
    return sign ? (part->weight > 0) - (part->weight < 0) : part->weight;
}

const struct term *term_sum(struct terms *ts, const struct term_part *parts, size_t count)
{
    static const struct term like = {.kind = TERM_SUM};
    struct list list = {.arena = ts->arena};
    for (size_t i = 0; i < count; i++) {
        const struct term_part *inner;
        struct term_part single;
        size_t inner_count = term_addends(parts[i].term, &inner, &single);
        for (size_t k = 0; k < inner_count; k++)
            add(&list, parts[i].weight * inner[k].weight, inner[k].term);
    }
    merge(&list);
    for (size_t i = 0; i < list.count; i++)
        list.at[i].weight = weight_of(&list.at[i]);
    if (list.count == 1 && list.at[0].weight >= 1 && list.at[0].weight <= 1)
        return list.at[0].term;
    return term_make(ts, &like, list.at, list.count);
}

const struct term *term_scaled(struct terms *ts, double weight, const struct term *term)
{
    const struct term_part part = {weight, term};
    return term_sum(ts, &part, 1);
}

const struct term *term_minus(struct terms *ts, const struct term *a, const struct term *b)
{
    const struct term_part parts[] = {{1, a}, {-1, b}};
    return term_sum(ts, parts, 2);
}

/* ---- products ---- */

struct product {
    struct terms *ts;
    struct list factors, powers; /* powers: of e, the argument's parts */
    double number;
};

static bool is_whole(double exponent)
{
    return rint(exponent) <= exponent && rint(exponent) >= exponent;
}

static bool is_even(double exponent)
{
    return is_whole(exponent / 2);
}

static void multiply(struct product *p, const struct term *base, double exponent);

static void multiply_product(struct product *p, const struct term *base, double exponent)
{
    for (size_t i = 0; i < base->count; i++) {
        const struct term *inner = base->parts[i].term;
        bool sign = is_even(base->parts[i].weight) && !is_whole(exponent);
        if (sign)
            inner = term_call(p->ts, EXPR_ABS, &inner, 1);
        multiply(p, inner, base->parts[i].weight * exponent);
    }
}

/* (w * a + v * b)^e is w^e * (a + v / w * b)^e, if that has no sign to lose. */
static void multiply_sum(struct product *p, const struct term *base, double exponent)
{
    double lead = base->parts[0].weight;
    bool signless = lead > 0 || is_whole(exponent);
    if (base->count == 1 && !signless) {
        add(&p->factors, exponent, base);
    } else if (signless && base->parts[0].term->kind != TERM_INF &&
               base->parts[0].term->kind != TERM_MASK) {
        p->number *= pow(lead, exponent);
        const struct term *rest = term_scaled(p->ts, 1 / lead, base);
        if (rest->kind == TERM_SUM)
            add(&p->factors, exponent, rest);
        else
            multiply(p, rest, exponent);
    } else {
        add(&p->factors, exponent, base);
    }
}

static void multiply(struct product *p, const struct term *base, double exponent)
{
    double number;
    if (term_is_number(base, &number) && (number > 0 || is_whole(exponent)))
        p->number *= pow(number, exponent);
    else if (base->kind == TERM_PRODUCT)
        multiply_product(p, base, exponent);
    else if (base->kind == TERM_SUM && base->count > 0)
        multiply_sum(p, base, exponent);
    else if (base->kind == TERM_CALL && base->op == EXPR_EXP)
        add(&p->powers, exponent, base->parts[0].term);
    else if (base->kind == TERM_CALL && base->op == EXPR_ABS && is_even(exponent))
        multiply(p, base->parts[0].term, exponent);
    else
        add(&p->factors, base->kind == TERM_HOLDS && exponent > 0 ? 1 : exponent, base);
}

/* [c] * exp(u) is exp(u + mask(c)). */
static void masks_to_exponent(struct product *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->factors.count; i++) {
        const struct term_part *factor = &p->factors.at[i];
        if (factor->term->kind == TERM_HOLDS && factor->weight > 0)
            add(&p->powers, 1, term_mask(p->ts, factor->term->parts[0].term));
        else
            p->factors.at[kept++] = *factor;
    }
    p->factors.count = kept;
}

const struct term *term_product(struct terms *ts, const struct term_part *parts, size_t count)
{
    static const struct term like = {.kind = TERM_PRODUCT};
    struct product p = {ts, {.arena = ts->arena}, {.arena = ts->arena}, 1};
    for (size_t i = 0; i < count; i++)
        multiply(&p, parts[i].term, parts[i].weight);
    if (p.powers.count > 0) {
        masks_to_exponent(&p);
        const struct term *sum = term_sum(ts, p.powers.at, p.powers.count);
        const struct term *power = term_call(ts, EXPR_EXP, &sum, 1);
        double number;
        if (!term_is_number(power, &number))
            add(&p.factors, 1, power);
        else
            p.number *= number;
    }
    merge(&p.factors);
    for (size_t i = 0; i < p.factors.count; i++)
        if (p.factors.at[i].term->kind == TERM_HOLDS && p.factors.at[i].weight > 0)
            p.factors.at[i].weight = 1;
    if (fabs(p.number) < 1e-300)
        return term_number(ts, 0);
    if (isinf(p.number) || isnan(p.number))
        p.number = 1; /* 1 / 0: nothing can be told of it */
    bool single =
        p.factors.count == 1 && p.factors.at[0].weight >= 1 && p.factors.at[0].weight <= 1;
    if (p.factors.count == 0)
        return term_number(ts, p.number);
    return term_scaled(ts, p.number,
                       single ? p.factors.at[0].term
                              : term_make(ts, &like, p.factors.at, p.factors.count));
}

const struct term *term_times(struct terms *ts, const struct term *a, const struct term *b)
{
    const struct term_part parts[] = {{1, a}, {1, b}};
    return term_product(ts, parts, 2);
}

/* ---- multiplied out ---- */

/* The product without one factor of the sum at `at`, for each part of that sum; NULL: too many. */
static const struct term *distributed(struct terms *ts, const struct term *product, size_t at)
{
    const struct term *sum = product->parts[at].term;
    struct list out = {.arena = ts->arena};
    for (size_t i = 0; i < sum->count; i++) {
        struct list factors = {.arena = ts->arena};
        if (sum->parts[i].term->kind == TERM_MASK) { /* has no size: scales are positive */
            add(&out, sum->parts[i].weight, sum->parts[i].term);
            continue;
        }
        for (size_t k = 0; k < product->count; k++)
            add(&factors, product->parts[k].weight - (k == at), product->parts[k].term);
        add(&factors, 1, sum->parts[i].term);
        const struct term *one = term_expand(ts, term_product(ts, factors.at, factors.count));
        add(&out, sum->parts[i].weight, one);
        if (out.count > TERM_PARTS_MAX || one->count > TERM_PARTS_MAX)
            return NULL;
    }
    return term_sum(ts, out.at, out.count);
}

static const struct term *expand_product(struct terms *ts, const struct term *term)
{
    for (size_t i = 0; term->kind == TERM_PRODUCT && i < term->count; i++) {
        double exponent = term->parts[i].weight;
        if (term->parts[i].term->kind != TERM_SUM || !is_whole(exponent) || exponent < 1 ||
            exponent > 2 || term->parts[i].term->count * term->count > TERM_PARTS_MAX)
            continue;
        const struct term *out = distributed(ts, term, i);
        return out == NULL ? term : out;
    }
    return term;
}

const struct term *term_expand(struct terms *ts, const struct term *term)
{
    struct list out = {.arena = ts->arena};
    if (term->kind != TERM_SUM)
        return expand_product(ts, term);
    if (term->count > TERM_PARTS_MAX)
        return term;
    for (size_t i = 0; i < term->count; i++)
        add(&out, term->parts[i].weight, expand_product(ts, term->parts[i].term));
    return term_sum(ts, out.at, out.count);
}

/* ---- functions ---- */

static const struct term *call_of(struct terms *ts, enum expr_op op, const struct term *const *args,
                                  size_t count)
{
    const struct term like = {.kind = TERM_CALL, .op = op};
    struct list parts = {.arena = ts->arena};
    for (size_t i = 0; i < count; i++)
        add(&parts, 1, args[i]);
    return term_make(ts, &like, parts.at, parts.count);
}

static bool is_call(const struct term *term, enum expr_op op)
{
    return term->kind == TERM_CALL && term->op == op;
}

/* Arguments of one operation that has no order, in one list. */
static const struct term *call_flat(struct terms *ts, enum expr_op op,
                                    const struct term *const *args, size_t count)
{
    const struct term like = {.kind = TERM_CALL, .op = op};
    struct list parts = {.arena = ts->arena};
    for (size_t i = 0; i < count; i++) {
        bool same = is_call(args[i], op);
        for (size_t k = 0; k < (same ? args[i]->count : 1); k++)
            add(&parts, 1, same ? args[i]->parts[k].term : args[i]);
    }
    merge(&parts);
    for (size_t i = 0; i < parts.count; i++)
        parts.at[i].weight = 1;
    return parts.count == 1 ? parts.at[0].term : term_make(ts, &like, parts.at, parts.count);
}

static const struct term *exp_of(struct terms *ts, const struct term *arg)
{
    double number;
    arg = term_expand(ts, arg);
    if (term_is_number(arg, &number))
        return term_number(ts, exp(number));
    if (arg->kind == TERM_MASK)
        return term_holds(ts, arg->parts[0].term);
    return is_call(arg, EXPR_LOG) ? arg->parts[0].term : call_of(ts, EXPR_EXP, &arg, 1);
}

/* The logarithm of a product is the sum of those of its factors. */
static const struct term *log_of(struct terms *ts, const struct term *arg)
{
    const struct term_part *factors;
    struct term_part single;
    struct list out = {.arena = ts->arena};
    double weight = arg->kind == TERM_SUM && arg->count == 1 ? arg->parts[0].weight : 1;
    if (term_is_number(arg, &weight) && weight > 0)
        return term_number(ts, log(weight));
    size_t count = term_factors(arg, &factors, &single);
    if ((arg->kind == TERM_SUM && arg->count != 1) || weight < 0)
        return call_of(ts, EXPR_LOG, &arg, 1);
    add(&out, log(weight), term_number(ts, 1));
    for (size_t i = 0; i < count; i++) {
        const struct term *base = factors[i].term;
        add(&out, factors[i].weight,
            is_call(base, EXPR_EXP) ? base->parts[0].term : call_of(ts, EXPR_LOG, &base, 1));
    }
    return term_sum(ts, out.at, out.count);
}

static const struct term *abs_of(struct terms *ts, const struct term *arg)
{
    double number;
    if (term_is_number(arg, &number))
        return term_number(ts, fabs(number));
    if (arg->kind == TERM_SUM && arg->parts[0].weight < 0)
        arg = term_scaled(ts, -1, arg);
    return is_call(arg, EXPR_ABS) || is_call(arg, EXPR_EXP) ? arg : call_of(ts, EXPR_ABS, &arg, 1);
}

const struct term *term_call(struct terms *ts, enum expr_op op, const struct term *const *args,
                             size_t count)
{
    switch ((int)op) {
    case EXPR_EXP:
        return exp_of(ts, args[0]);
    case EXPR_LOG:
        return log_of(ts, args[0]);
    case EXPR_ABS:
        return abs_of(ts, args[0]);
    case EXPR_MIN:
    case EXPR_MAX:
    case EXPR_AND:
    case EXPR_OR:
    case EXPR_BITAND:
    case EXPR_BITOR:
        return call_flat(ts, op, args, count);
    default:
        return call_of(ts, op, args, count);
    }
}

static const struct term *of_condition(struct terms *ts, enum term_kind kind,
                                       const struct term *condition)
{
    const struct term like = {.kind = kind};
    const struct term_part part = {1, condition};
    return term_make(ts, &like, &part, 1);
}

/* [c && d] = [c] * [d] */
const struct term *term_holds(struct terms *ts, const struct term *condition)
{
    struct list out = {.arena = ts->arena};
    if (!is_call(condition, EXPR_AND))
        return of_condition(ts, TERM_HOLDS, condition);
    for (size_t i = 0; i < condition->count; i++)
        add(&out, 1, of_condition(ts, TERM_HOLDS, condition->parts[i].term));
    return term_product(ts, out.at, out.count);
}

const struct term *term_mask(struct terms *ts, const struct term *condition)
{
    struct list out = {.arena = ts->arena};
    if (!is_call(condition, EXPR_AND))
        return of_condition(ts, TERM_MASK, condition);
    for (size_t i = 0; i < condition->count; i++)
        add(&out, 1, of_condition(ts, TERM_MASK, condition->parts[i].term));
    return term_sum(ts, out.at, out.count);
}
