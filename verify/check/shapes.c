/*
 * Which shapes to verify at.
 *
 * Problem: a kernel is tuned for one shape and breaks at others, most often at 1, around a tile's
 * edge, where a vector's tail starts, and where a loop runs once more or once less.  The spec's own
 * shapes come first, then for each dim the values around each tile: of the plan when there is one,
 * of the manifest's own launch formulas (the constants in them are its tiles), of the guard (its
 * constants are where the author drew a line).  Then for each dim the largest value that is cheap
 * enough, and a large balanced shape.
 *
 * Method: a ladder of candidate values a dim, thinned by the conjuncts of the guard that speak of
 * that dim alone; a shape fixes one dim and tries companions for the others until guard, ranges and
 * price agree.  Everything is deterministic.
 *
 * Invariant: each shape binds, passes the guard, and costs at most SHAPE_PRICE_MAX; the spec's own
 * shapes, and the only one of a guard that leaves no cheaper, SHAPE_PRICE_GIVEN_MAX.
 */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#include "verify/check/check_int.h"

enum {
    LADDER_MAX = 128,
    TRIES_MAX = 96,
    /* In warp instructions, about 40 ns each with all checks.  TUNING: the priciest two shapes see
     * some 30 launches each, and a candidate should take a few seconds. */
    SHAPE_PRICE_MAX = 3 << 18,
    SHAPE_PRICE_GIVEN_MAX = 16 << 20, /* the spec asked for it */
    SHAPE_PRICE_LIMIT = 4 << 20,      /* seen once */
    SHAPE_PRICE_COMPANION = 3 << 15,
    SMALL_VALUE_MAX = 48,
    BALANCED_VALUE_MIN = 4,
};

struct ladder {
    int64_t values[LADDER_MAX];
    size_t count;
    int64_t marks[LADDER_MAX]; /* the values to try on purpose */
    size_t mark_count;
};

struct search {
    struct arena *arena;
    const struct op *op;
    const struct shape_hints *hints;
    const size_t *vars; /* dims that vary */
    size_t var_count;
    struct ladder *ladders; /* by var */
    struct rng rng;
    struct shape *shapes;
    int64_t *prices;
    size_t count;
};

bool guard_admits(const struct formula *guard, const struct bound_op *bound)
{
    int64_t truth;
    struct err err;

    return guard == NULL || (formula_eval(guard, &bound->env, &truth, &err) && truth != 0);
}

/* ---- ladders ---- */

static void ladder_add(struct ladder *ladder, const struct dim *dim, int64_t value)
{
    size_t at;

    if (value < dim->min || value > dim->max || ladder->count == LADDER_MAX)
        return;
    for (at = 0; at < ladder->count && ladder->values[at] < value; at++)
        ;
    if (at < ladder->count && ladder->values[at] == value)
        return;
    memmove(&ladder->values[at + 1], &ladder->values[at],
            (ladder->count - at) * sizeof(ladder->values[0]));
    ladder->values[at] = value;
    ladder->count++;
}

static void ladder_mark(struct ladder *ladder, const struct dim *dim, int64_t value)
{
    if (value < dim->min || value > dim->max || ladder->mark_count == LADDER_MAX)
        return;
    for (size_t i = 0; i < ladder->mark_count; i++)
        if (ladder->marks[i] == value)
            return;
    ladder->marks[ladder->mark_count++] = value;
    ladder_add(ladder, dim, value);
}

static void ladder_tile(struct ladder *ladder, const struct dim *dim, int64_t tile)
{
    if (tile < 2)
        return;
    ladder_mark(ladder, dim, tile + 1);
    ladder_mark(ladder, dim, tile - 1);
    ladder_mark(ladder, dim, tile);
    ladder_mark(ladder, dim, 2 * tile);
}

static void ladder_usual(struct ladder *ladder, const struct dim *dim)
{
    static const int64_t usual[] = {
        1,     2,     3,     4,     5,     7,      8,      11,     13,   16,    17,    20,
        24,    29,    31,    32,    33,    37,     40,     47,     48,   63,    64,    65,
        80,    96,    100,   101,   127,   128,    129,    160,    192,  199,   255,   256,
        257,   320,   384,   499,   512,   513,    640,    768,    1000, 1023,  1024,  1025,
        1536,  2048,  2049,  3001,  4096,  4097,   6007,   8192,   8193, 10007, 16384, 16385,
        30011, 32768, 50021, 65536, 70001, 100003, 131072, 131073,
    };

    ladder_add(ladder, dim, dim->min);
    ladder_add(ladder, dim, dim->min + 1);
    ladder_add(ladder, dim, dim->max);
    for (size_t i = 0; i < COUNT_OF(usual); i++)
        ladder_add(ladder, dim, usual[i]);
}

/* Constants of formulas that mention the dim, each a likely tile. */
struct constants {
    struct ladder *ladder;
    const struct dim *dim;
};

/* Constants that the dim meets directly: ceildiv(n, 256), N % 4, K <= 1024. */
static void constants_of(const struct constants *constants, const struct formula *formula)
{
    if (formula == NULL)
        return;
    if (formula->a != NULL && formula->b != NULL && formula->b->op == FORMULA_INT &&
        formula_mentions(formula->a, constants->dim->name))
        ladder_tile(constants->ladder, constants->dim, formula->b->value);
    constants_of(constants, formula->a);
    constants_of(constants, formula->b);
}

static void ladder_manifest(struct ladder *ladder, const struct dim *dim,
                            const struct manifest *manifest)
{
    const struct constants constants = {ladder, dim};

    for (size_t k = 0; k < manifest->kernel_count; k++)
        for (int i = 0; i < 3; i++) {
            int64_t block;
            const struct formula_env nothing = {0};
            struct err err;

            constants_of(&constants, manifest->kernels[k].grid[i]);
            constants_of(&constants, manifest->kernels[k].block[i]);
            if (formula_eval(manifest->kernels[k].block[i], &nothing, &block, &err))
                ladder_tile(ladder, dim, block);
        }
}

/* The dim that a loop of the region runs over, when its extent is just that dim. */
static bool tile_is_over(const struct op *op, const struct plan_region *region, struct str index,
                         const struct dim *dim)
{
    for (size_t s = 0; s < region->stmt_count; s++) {
        const struct stmt *stmt = &op->stmts[region->stmts[s]];

        for (size_t l = 0; l < stmt->loop_count; l++)
            if (str_equal(stmt->loops[l].name, index))
                return stmt->loops[l].extent->op == FORMULA_NAME &&
                       str_equal(stmt->loops[l].extent->name, dim->name);
    }
    return false;
}

static void ladder_plan(struct ladder *ladder, const struct dim *dim, const struct op *op,
                        const struct plan *plan)
{
    for (size_t r = 0; r < plan->region_count; r++) {
        const struct plan_region *region = &plan->regions[r];

        for (size_t t = 0; t < region->tile_count; t++) {
            const struct plan_tile *tile = &region->tiles[t];

            if (!tile_is_over(op, region, tile->index, dim))
                continue;
            ladder_tile(ladder, dim, tile->block);
            ladder_tile(ladder, dim, tile->step);
            if (tile->step > 0)
                ladder_mark(ladder, dim, (region->depth + 1) * tile->step);
        }
    }
}

/* Drops the values that a conjunct about this dim alone refuses. */
static void ladder_filter(struct ladder *ladder, const struct dim *dim, const struct formula *guard)
{
    const struct formula_env one = {&dim->name, &(int64_t){0}, 1};
    size_t kept = 0, marks = 0;

    if (guard == NULL)
        return;
    if (guard->op == FORMULA_AND) {
        ladder_filter(ladder, dim, guard->a);
        ladder_filter(ladder, dim, guard->b);
        return;
    }
    if (!formula_mentions(guard, dim->name) ||
        formula_unknown_name(guard, one.names, one.count).len > 0)
        return;
    for (size_t i = 0; i < ladder->count; i++) {
        const struct formula_env env = {&dim->name, &ladder->values[i], 1};
        int64_t truth;
        struct err err;

        if (formula_eval(guard, &env, &truth, &err) && truth != 0)
            ladder->values[kept++] = ladder->values[i];
    }
    for (size_t i = 0; i < ladder->mark_count; i++)
        for (size_t j = 0; j < kept; j++)
            if (ladder->values[j] == ladder->marks[i]) {
                ladder->marks[marks++] = ladder->marks[i];
                break;
            }
    ladder->count = kept;
    ladder->mark_count = marks;
}

static void ladder_build(struct search *search, size_t var)
{
    const struct op *op = search->op;
    const struct dim *dim = &op->dims[search->vars[var]];
    struct ladder *ladder = &search->ladders[var];
    const struct constants constants = {ladder, dim};

    ladder_mark(ladder, dim, dim->min > 1 ? dim->min : 1);
    if (search->hints->plan != NULL)
        ladder_plan(ladder, dim, op, search->hints->plan);
    if (search->hints->manifest != NULL)
        ladder_manifest(ladder, dim, search->hints->manifest);
    constants_of(&constants, search->hints->guard);
    ladder_tile(ladder, dim, 32);
    ladder_usual(ladder, dim);
    for (size_t i = 0; i < op->verify_count; i++)
        ladder_add(ladder, dim, op->verify[i].values[search->vars[var]]);
    for (size_t i = 0; i < op->target_count; i++)
        ladder_add(ladder, dim, op->targets[i].values[search->vars[var]]);
    ladder_filter(ladder, dim, search->hints->guard);
}

/* ---- shapes ---- */

/* Binds the values of the varying dims; false when the shape is of no use. */
static bool price_of(struct search *search, const int64_t *values, struct shape *shape,
                     int64_t *price)
{
    struct str *names = arena_array(search->arena, struct str, search->var_count + 1);
    const struct formula_env env = {names, values, search->var_count};
    const struct bound_op *bound;
    struct err err;

    for (size_t v = 0; v < search->var_count; v++)
        names[v] = search->op->dims[search->vars[v]].name;
    if (!op_bind(search->arena, search->op, &env, &bound, &err) ||
        !guard_admits(search->hints->guard, bound))
        return false;
    shape->values = bound->dims;
    *price = shape_price(bound, search->hints->manifest);
    return true;
}

static bool shape_known(const struct search *search, const struct shape *shape)
{
    for (size_t i = 0; i < search->count; i++)
        if (memcmp(search->shapes[i].values, shape->values,
                   search->op->dim_count * sizeof(shape->values[0])) == 0)
            return true;
    return false;
}

static bool shape_add(struct search *search, const struct shape *shape, int64_t price)
{
    size_t at = search->count;

    if (search->count == CHECK_SHAPES_MAX || shape_known(search, shape))
        return false;
    for (; at > 0 && search->prices[at - 1] > price; at--) {
        search->shapes[at] = search->shapes[at - 1];
        search->prices[at] = search->prices[at - 1];
    }
    search->shapes[at] = *shape;
    search->prices[at] = price;
    search->count++;
    return true;
}

/* A value of the ladder from `least` to `most`; the nearest one when none is between. */
static int64_t ladder_pick(struct search *search, size_t var, int64_t least, int64_t most)
{
    const struct ladder *ladder = &search->ladders[var];
    size_t first = 0, fit;

    while (first + 1 < ladder->count && ladder->values[first] < least)
        first++;
    for (fit = first; fit < ladder->count && ladder->values[fit] <= most; fit++)
        ;
    return ladder
        ->values[fit == first ? first : first + rng_below(&search->rng, (uint32_t)(fit - first))];
}

/* Fixes one dim and looks for small companions. */
static bool add_with(struct search *search, size_t var, int64_t value, int64_t price_max)
{
    int64_t values[OP_DIMS_MAX];
    int64_t most = SMALL_VALUE_MAX;

    for (int attempt = 0; attempt < TRIES_MAX; attempt++) {
        struct shape shape;
        int64_t price;

        for (size_t v = 0; v < search->var_count; v++)
            values[v] = v == var ? value : ladder_pick(search, v, 1, most);
        if (price_of(search, values, &shape, &price)) {
            if (price <= price_max)
                return shape_add(search, &shape, price);
            most = most > 2 ? most / 2 : 1;
        } else if (attempt > TRIES_MAX / 2) {
            most = 4096;
        }
        if (search->var_count == 1)
            break;
    }
    return false;
}

/* One mark of each dim in turn, so that no dim uses up the room. */
static void add_marked(struct search *search, size_t room)
{
    for (size_t m = 0; m < LADDER_MAX && search->count < room; m++)
        for (size_t v = 0; v < search->var_count && search->count < room; v++)
            if (m < search->ladders[v].mark_count)
                (void)add_with(search, v, search->ladders[v].marks[m], SHAPE_PRICE_COMPANION);
}

static void add_largest(struct search *search)
{
    for (size_t v = 0; v < search->var_count && search->count < CHECK_SHAPES_MAX - 1; v++)
        for (size_t i = search->ladders[v].count; i-- > 0;)
            if (search->ladders[v].values[i] > SMALL_VALUE_MAX &&
                add_with(search, v, search->ladders[v].values[i], SHAPE_PRICE_MAX))
                break;
}

/* Of random shapes that are cheap enough, the one whose price is the highest. */
static void add_balanced(struct search *search)
{
    struct shape best = {NULL};
    int64_t best_price = 0;

    for (int attempt = 0; attempt < 2 * TRIES_MAX && search->var_count > 1; attempt++) {
        const int64_t most = attempt % 3 == 0 ? 260 : attempt % 3 == 1 ? 80 : 20;
        int64_t values[OP_DIMS_MAX];
        struct shape shape;
        int64_t price;

        for (size_t v = 0; v < search->var_count; v++)
            values[v] = ladder_pick(search, v, BALANCED_VALUE_MIN, most);
        if (price_of(search, values, &shape, &price) && price <= SHAPE_PRICE_MAX &&
            price > best_price) {
            best = shape;
            best_price = price;
        }
    }
    if (best.values != NULL)
        (void)shape_add(search, &best, best_price);
}

/* Where the guard leaves only dear shapes, one of them is better than none. */
static void add_dear(struct search *search)
{
    for (size_t v = 0; v < search->var_count; v++)
        for (size_t i = 0; i < search->ladders[v].count; i++)
            if (add_with(search, v, search->ladders[v].values[i], SHAPE_PRICE_GIVEN_MAX))
                return;
}

static bool add_given(struct search *search, struct err *err)
{
    for (size_t i = 0; i < search->op->verify_count; i++) {
        const struct bound_op *bound;
        int64_t price;

        if (!op_bind_shape(search->arena, search->op, &search->op->verify[i], &bound, err))
            return false;
        price = shape_price(bound, search->hints->manifest);
        if (guard_admits(search->hints->guard, bound) && price <= SHAPE_PRICE_GIVEN_MAX &&
            search->count < CHECK_SHAPES_MAX - 6)
            (void)shape_add(search, &(struct shape){bound->dims}, price);
    }
    return true;
}

/* Empty ladders mean that the guard admits nothing. */
static struct search search_begin(struct arena *arena, const struct op *op,
                                  const struct shape_hints *hints, bool *dead)
{
    struct search search = {.arena = arena, .op = op, .hints = hints};
    size_t *vars = arena_array(arena, size_t, op->dim_count + 1);

    *dead = false;
    for (size_t d = 0; d < op->dim_count; d++)
        if (op->dims[d].kind == DIM_VAR)
            vars[search.var_count++] = d;
    search.vars = vars;
    search.ladders = arena_array(arena, struct ladder, search.var_count + 1);
    search.shapes = arena_array(arena, struct shape, CHECK_SHAPES_MAX);
    search.prices = arena_array(arena, int64_t, CHECK_SHAPES_MAX);
    rng_init(&search.rng, 1);
    for (size_t v = 0; v < search.var_count; v++) {
        ladder_build(&search, v);
        *dead = *dead || search.ladders[v].count == 0;
    }
    return search;
}

static int64_t most_of(const struct shape *shapes, size_t count, size_t dim)
{
    int64_t most = 0;

    for (size_t i = 0; i < count; i++)
        most = shapes[i].values[dim] > most ? shapes[i].values[dim] : most;
    return most;
}

void shapes_beyond(struct arena *arena, const struct op *op, const struct shape_hints *hints,
                   const struct literals *literals, const struct shape *known, size_t known_count,
                   const struct shape **out, size_t *count)
{
    bool dead;
    struct search search = search_begin(arena, op, hints, &dead);

    for (size_t i = 0; i < literals->limit_count && !dead; i++)
        for (size_t v = 0; v < search.var_count && search.count < LIMIT_SHAPES_MAX; v++) {
            const struct dim *dim = &op->dims[search.vars[v]];
            const int64_t most = most_of(known, known_count, search.vars[v]);
            const int64_t tile = hints->manifest != NULL ? tile_of(hints->manifest, dim->name) : 1;
            const int64_t limit = literals->limits[i];

            if (limit >= most && limit < dim->max)
                (void)add_with(&search, v, limit + 1, SHAPE_PRICE_LIMIT);
            if (tile > 1 && limit < dim->max / tile && (limit + 1) * tile + 1 > most &&
                search.count < LIMIT_SHAPES_MAX)
                (void)add_with(&search, v, (limit + 1) * tile + 1, SHAPE_PRICE_LIMIT);
        }
    *out = search.shapes;
    *count = search.count;
}

bool shapes_derive(struct arena *arena, const struct op *op, const struct shape_hints *hints,
                   const struct shape **out, size_t *count, struct err *err)
{
    bool dead;
    struct search search = search_begin(arena, op, hints, &dead);

    if (!add_given(&search, err))
        return false;
    if (!dead && search.var_count > 0) {
        add_largest(&search);
        add_balanced(&search);
        add_marked(&search,
                   search.count + 9 < CHECK_SHAPES_MAX ? search.count + 9 : CHECK_SHAPES_MAX);
        if (search.count == 0)
            add_dear(&search);
    } else if (search.var_count == 0 && search.count == 0) {
        struct shape shape;
        int64_t price;

        if (price_of(&search, NULL, &shape, &price) && price <= SHAPE_PRICE_GIVEN_MAX)
            (void)shape_add(&search, &shape, price);
    }
    *out = search.shapes;
    *count = search.count;
    return true;
}

bool check_shapes(struct arena *arena, const struct op *op, const struct plan *plan,
                  const struct formula *guard, const struct shape **out, size_t *count,
                  struct err *err)
{
    const struct shape_hints hints = {.plan = plan, .guard = guard};

    return shapes_derive(arena, op, &hints, out, count, err);
}
