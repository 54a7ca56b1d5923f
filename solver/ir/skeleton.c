/*
 * A first plan: greedy groups of neighbouring statements, and numbers from the target shape.
 *
 * In order of preference, from the first statement that no group has:
 *   tile   a contraction whose sides have at least TILE_SIDE_MIN elements, and the maps behind it
 *   rows   the longest run that shares rows, when rows are long and memory runs along them
 *   maps   the longest run of maps over the same elements
 *   else   the statement alone (or its whole seq block), one thread an element
 * Vectors follow from the narrowest common access of 16 bytes and what divides the row.  A row
 * stays in registers when it fits ROW_ITEMS_MAX a thread.
 *
 * Invariant: regions are runs of statements in the op's order, so each reads only what is behind
 * it. Not here: search.  This is where a search begins.
 */
#include "solver/ir/skeleton.h"

#include <string.h>

#include "base/num.h"

#include "solver/ir/region.h"

enum {
    REGION_STMTS_MAX = 16,
    REGION_PRIMITIVES_MAX = 8,
    ROW_LENGTH_MIN = 32,    /* TUNING: below, a warp's lanes idle; guessed, not measured */
    ROW_WARP_MAX = 256,     /* TUNING: longest row for one warp; guessed, not measured */
    ROW_ITEMS_MAX = 16,     /* TUNING: elements of one array a thread holds; guessed */
    ROW_REGISTERS_MAX = 64, /* elements of all arrays a thread holds */
    TILE_SIDE_MIN = 8,      /* TUNING: below, a tile is mostly padding; guessed, not measured */
    ACCESS_BYTES = 16
};

struct planner {
    struct arena *arena;
    const struct bound_op *target;
    const struct op *op;
    const struct skeleton_limits *limits;
    const struct track *track;
    struct plan_region *regions;
    size_t region_count;
    const struct formula *guard;
};

/* A region in the making; arrays have room for what the limits above allow. */
struct draft {
    struct plan_region region;
    enum primitive primitives[REGION_PRIMITIVES_MAX];
    struct plan_tile tiles[2 * OP_LOOPS_MAX]; /* of a chain: loops of two statements */
};

static int64_t evaluate(const struct planner *planner, const struct formula *formula)
{
    int64_t value = 0;
    struct err err;
    return formula_eval(formula, &planner->target->env, &value, &err) ? value : 0;
}

static void add_primitive(struct draft *draft, enum primitive primitive)
{
    draft->primitives[draft->region.primitive_count++] = primitive;
}

static void add_region(struct planner *planner, const struct draft *draft, const size_t *stmts,
                       size_t count)
{
    struct arena *arena = planner->arena;
    struct plan_region region = draft->region;
    enum primitive *primitives = arena_array(arena, enum primitive, region.primitive_count + 1);
    struct plan_tile *tiles = arena_array(arena, struct plan_tile, region.tile_count + 1);
    size_t *own = arena_array(arena, size_t, count);
    memcpy(primitives, draft->primitives, region.primitive_count * sizeof(*primitives));
    memcpy(tiles, draft->tiles, region.tile_count * sizeof(*tiles));
    memcpy(own, stmts, count * sizeof(*own));
    region.stmts = own;
    region.stmt_count = count;
    region.primitives = primitives;
    region.tiles = tiles;
    region.threads[1] = region.threads[2] = 1;
    region.precision = planner->track->compute;
    region.layout = STR_LIT(LAYOUT_ROW_MAJOR);
    planner->regions[planner->region_count++] = region;
}

/* ---- vectors ---- */

struct widths {
    const struct rows *rows;
    size_t bytes; /* of the widest element that runs along the row */
    bool *arrays; /* by tensor: a thread holds its elements */
};

static void find_widths(void *context, const struct expr *expr)
{
    struct widths *widths = context;
    const struct rows *rows = widths->rows;
    if (expr->op != EXPR_READ)
        return;
    bool row = expr_reads_loops(rows->op, expr, 0, rows->outer + rows->inner);
    if (!row && !expr_reads_loops(rows->op, expr, rows->outer, rows->inner))
        return;
    size_t bytes = dtype_bytes(rows->op->tensors[expr->tensor].dtype);
    widths->arrays[expr->tensor] = true;
    widths->bytes = bytes > widths->bytes ? bytes : widths->bytes;
}

/* Elements an access, and how many arrays a thread holds. */
static int64_t choose_vector(const struct planner *planner, const struct rows *rows, int64_t length,
                             int64_t *arrays)
{
    struct widths widths = {.rows = rows, .bytes = 1};
    widths.arrays = arena_array(planner->arena, bool, rows->op->tensor_count + 1);
    for (size_t i = 0; i < rows->count; i++) {
        const struct stmt *stmt = &rows->op->stmts[rows->stmts[i]];
        expr_walk(stmt->value, find_widths, &widths);
        if (rows->parts[i] != ROW_VECTOR)
            continue;
        size_t bytes = dtype_bytes(rows->op->tensors[stmt->target].dtype);
        widths.arrays[stmt->target] = true;
        widths.bytes = bytes > widths.bytes ? bytes : widths.bytes;
    }
    *arrays = 0;
    for (size_t i = 0; i < rows->op->tensor_count; i++)
        *arrays += widths.arrays[i];
    int64_t vector = ACCESS_BYTES / (int64_t)widths.bytes;
    while (vector > 1 && (length % vector != 0 || vector > 8))
        vector /= 2;
    return vector;
}

static int64_t power_of_two_at_least(int64_t value)
{
    int64_t power = 1;
    while (power < value)
        power *= 2;
    return power;
}

/* ---- rows and maps ---- */

static void add_row_tiles(struct draft *draft, const struct rows *rows, int64_t rows_a_block,
                          int64_t span, int64_t items)
{
    for (size_t i = 0; i < rows->outer + rows->inner; i++) {
        bool inner = i >= rows->outer, last = i + 1 == rows->outer + rows->inner;
        bool last_outer = i + 1 == rows->outer;
        draft->tiles[draft->region.tile_count++] =
            (struct plan_tile){.index = rows->loops[i].name,
                               .block = last         ? span
                                        : last_outer ? rows_a_block
                                                     : 1,
                               .thread = last ? items : 1,
                               .step = last && inner ? span : 0};
    }
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void plan_maps(struct planner *planner, const struct rows *rows)
{
    struct draft draft = {.region = {.depth = 1, .split = 1}};
    int64_t arrays, length = evaluate(planner, rows_inner_count(planner->arena, rows));
    draft.region.threads[0] = 256;
    draft.region.vector = choose_vector(planner, rows, length, &arrays);
    add_primitive(&draft, PRIMITIVE_VECTOR_ACCESS);
    add_row_tiles(&draft, rows, 1, draft.region.threads[0] * draft.region.vector,
                  draft.region.vector);
    for (size_t i = 0; i < draft.region.tile_count; i++)
        draft.tiles[i].step = 0;
    add_region(planner, &draft, rows->stmts, rows->count);
}

static void plan_rows(struct planner *planner, const struct rows *rows)
{
    struct draft draft = {.region = {.depth = 1, .split = 1}};
    int64_t arrays, length = evaluate(planner, rows_inner_count(planner->arena, rows));
    int64_t threads_max = clamp(planner->limits->threads_max, 32, 1024), rows_a_block = 1;
    int64_t vector = choose_vector(planner, rows, length, &arrays), threads, sharing;
    bool warp = length <= ROW_WARP_MAX;
    threads = warp ? 128 : clamp(power_of_two_at_least(num_ceil_div(length, 8)), 64, threads_max);
    while (threads > threads_max)
        threads /= 2;
    sharing = warp ? 32 : threads;
    rows_a_block = threads / sharing;
    int64_t items = num_ceil_div(num_ceil_div(length, sharing), vector) * vector;
    bool resident = items <= ROW_ITEMS_MAX && items * arrays <= ROW_REGISTERS_MAX;
    if (!resident && warp) {
        warp = false;
        rows_a_block = 1;
    }
    draft.region.threads[0] = threads;
    draft.region.vector = vector;
    add_primitive(&draft, PRIMITIVE_REDUCTION_TREE);
    add_primitive(&draft, warp ? PRIMITIVE_WARP_SUMMARY : PRIMITIVE_BLOCK_SUMMARY);
    if (vector > 1)
        add_primitive(&draft, PRIMITIVE_VECTOR_ACCESS);
    if (!resident) {
        add_primitive(&draft, PRIMITIVE_STREAMING_ACCUMULATION);
        add_primitive(&draft, PRIMITIVE_REMATERIALISATION);
        items = vector;
    }
    add_row_tiles(&draft, rows, rows_a_block, (warp ? 32 : threads) * items, items);
    if (resident)
        planner->guard = formula_and(planner->arena, planner->guard,
                                     formula_binary(planner->arena, FORMULA_LE,
                                                    rows_inner_count(planner->arena, rows),
                                                    formula_int(planner->arena, sharing * items)));
    add_region(planner, &draft, rows->stmts, rows->count);
}

/* ---- tiles ---- */

static void plan_tile_of(struct planner *planner, const struct tile *tile)
{
    struct draft draft = {.region = {.depth = 1, .split = 1}};
    int64_t m = evaluate(planner, tile_extent(planner->arena, tile, TILE_M));
    int64_t n = evaluate(planner, tile_extent(planner->arena, tile, TILE_N));
    bool real64 = tile->contraction->value->dtype == DTYPE_F64;
    int64_t side = m >= 512 && n >= 512 && !real64 ? 128 : m >= 48 && n >= 48 ? 64 : 32;
    int64_t thread = side == 128 ? 8 : side == 64 ? 4 : 2, deep = 16;
    draft.region.threads[0] = side / thread * (side / thread);
    draft.region.vector = 1;
    add_primitive(&draft, PRIMITIVE_TILE_STAGING);
    add_primitive(&draft, PRIMITIVE_SHARED_RESIDENCY);
    add_primitive(&draft, PRIMITIVE_REGISTER_TILE);
    for (enum tile_group group = TILE_BATCH; group <= TILE_K; group++)
        for (size_t i = 0; i < tile->loop_count[group]; i++) {
            bool last = i + 1 == tile->loop_count[group] && group != TILE_BATCH;
            bool summed = group == TILE_K;
            draft.tiles[draft.region.tile_count++] =
                (struct plan_tile){.index = tile->contraction->loops[tile->loops[group][i]].name,
                                   .block = !last    ? 1
                                            : summed ? deep
                                                     : side,
                                   .thread = last && !summed ? thread : 1,
                                   .step = last && summed ? deep : 0};
        }
    add_region(planner, &draft, tile->stmts, tile->count);
}

/* ---- chains ---- */

static void add_tile(struct draft *draft, struct plan_tile tile)
{
    for (size_t i = 0; i < draft->region.tile_count; i++)
        if (str_equal(draft->tiles[i].index, tile.index)) {
            if (draft->tiles[i].block < tile.block)
                draft->tiles[i] = tile;
            return;
        }
    draft->tiles[draft->region.tile_count++] = tile;
}

static void add_chain_tiles(const struct planner *planner, struct draft *draft,
                            const struct chain *chain, enum chain_group group, int64_t side)
{
    const struct stmt *stmt = group == CHAIN_COLUMNS ? chain->second : chain->first;
    for (size_t i = 0; i < chain->loop_count[group]; i++) {
        const struct loop *loop = &stmt->loops[chain->loops[group][i]];
        bool last = i + 1 == chain->loop_count[group], whole = group >= CHAIN_K;
        int64_t block = whole                          ? evaluate(planner, loop->extent)
                        : last && group != CHAIN_BATCH ? side
                                                       : 1;
        add_tile(draft, (struct plan_tile){.index = loop->name,
                                           .block = block,
                                           .thread = last && !whole && side > 1 ? 4 : 1,
                                           .step = group == CHAIN_N && last ? side
                                                   : group == CHAIN_K       ? block
                                                                            : 0});
    }
}

static const struct formula *whole_guard(const struct planner *planner, const struct formula *guard,
                                         const struct formula *extent)
{
    const struct formula *whole = formula_int(planner->arena, evaluate(planner, extent));
    if (extent->op == FORMULA_INT)
        return guard;
    return formula_and(planner->arena, guard,
                       formula_binary(planner->arena, FORMULA_LE, extent, whole));
}

/* What a block has whole, at other shapes: no more than it was planned for. */
static const struct formula *chain_guard(const struct planner *planner, const struct chain *chain)
{
    const struct formula *guard = formula_int(planner->arena, 1);
    for (enum chain_group group = CHAIN_K; group <= CHAIN_COLUMNS; group++) {
        const struct stmt *stmt = group == CHAIN_COLUMNS ? chain->second : chain->first;
        for (size_t i = 0; i < chain->loop_count[group]; i++) {
            const struct formula *extent = stmt->loops[chain->loops[group][i]].extent;
            guard = whole_guard(planner, guard, extent);
        }
    }
    return guard;
}

static void plan_chain(struct planner *planner, const struct chain *chain)
{
    struct draft draft = {.region = {.depth = 1, .split = 1}};
    int64_t k = evaluate(planner, chain_extent(planner->arena, chain, CHAIN_K));
    int64_t columns = evaluate(planner, chain_extent(planner->arena, chain, CHAIN_COLUMNS));
    int64_t side = k <= 64 && columns <= 64 ? 64 : 32;
    draft.region.threads[0] = side / 4 * (side / 4);
    draft.region.vector = 1;
    add_primitive(&draft, PRIMITIVE_TILE_STAGING);
    add_primitive(&draft, PRIMITIVE_SHARED_RESIDENCY);
    add_primitive(&draft, PRIMITIVE_STREAMING_ACCUMULATION);
    if (chain->online)
        add_primitive(&draft, PRIMITIVE_ONLINE_STATE);
    add_primitive(&draft, PRIMITIVE_REGISTER_TILE);
    add_chain_tiles(planner, &draft, chain, CHAIN_BATCH, 1);
    add_chain_tiles(planner, &draft, chain, CHAIN_M, side);
    add_chain_tiles(planner, &draft, chain, CHAIN_N, side);
    add_chain_tiles(planner, &draft, chain, CHAIN_K, 1);
    add_chain_tiles(planner, &draft, chain, CHAIN_COLUMNS, 1);
    add_region(planner, &draft, chain->stmts, chain->count);
}

/* ---- scores ---- */

enum { SCORES_STEP = 64, SCORES_STAGE = 32 };

/* What a block has whole of them, each the better at some shapes; else it goes along in steps. */
struct scores_mode {
    bool index, sum; /* the shared index, K */
};

static bool is_whole_group(struct scores_mode mode, enum tile_group group)
{
    return group == TILE_N ? mode.index : group == TILE_K && mode.sum;
}

static void add_scores_tiles(const struct planner *planner, struct draft *draft,
                             const struct scores *scores, struct scores_mode mode)
{
    static const int64_t sides[] = {1, SCORES_STEP, SCORES_STEP, SCORES_STAGE};
    for (enum tile_group group = TILE_BATCH; group <= TILE_K; group++)
        for (size_t i = 0; i < scores->loop_count[group]; i++) {
            const struct loop *loop = &scores->product->loops[scores->loops[group][i]];
            const bool last = i + 1 == scores->loop_count[group] && group != TILE_BATCH;
            const bool whole = is_whole_group(mode, group);
            const int64_t extent = evaluate(planner, loop->extent);
            const int64_t block = whole ? extent : last ? sides[group] : 1;
            add_tile(draft, (struct plan_tile){.index = loop->name,
                                               .block = block,
                                               .thread = last && group != TILE_K ? 4 : 1,
                                               .step = !last || group == TILE_M ? 0
                                                       : group == TILE_N        ? SCORES_STEP
                                                                                : block});
        }
}

static const struct formula *scores_guard(const struct planner *planner,
                                          const struct scores *scores, struct scores_mode mode)
{
    const struct formula *guard = formula_int(planner->arena, 1);
    for (enum tile_group group = TILE_N; group <= TILE_K; group++)
        for (size_t i = 0; i < scores->loop_count[group]; i++) {
            const struct formula *extent = scores->product->loops[scores->loops[group][i]].extent;
            if (is_whole_group(mode, group))
                guard = whole_guard(planner, guard, extent);
        }
    return guard;
}

static const struct formula *plan_scores(struct planner *planner, const struct scores *scores,
                                         struct scores_mode mode)
{
    struct draft draft = {.region = {.depth = 1, .split = 1}};
    draft.region.threads[0] = SCORES_STEP / 4 * (SCORES_STEP / 4);
    draft.region.vector = 1;
    add_primitive(&draft, PRIMITIVE_TILE_STAGING);
    add_primitive(&draft, PRIMITIVE_SHARED_RESIDENCY);
    add_primitive(&draft, PRIMITIVE_STREAMING_ACCUMULATION);
    if (scores->online || scores->moments)
        add_primitive(&draft, PRIMITIVE_ONLINE_STATE);
    if (scores->again && !mode.index)
        add_primitive(&draft, PRIMITIVE_REMATERIALISATION);
    add_primitive(&draft, PRIMITIVE_REGISTER_TILE);
    add_scores_tiles(planner, &draft, scores, mode);
    add_region(planner, &draft, scores->stmts, scores->count);
    return scores_guard(planner, scores, mode);
}

/* Whole or in steps: but for a mode that is another one here, as K of one step is whole, or that
 * nothing asks for. */
static bool mode_differs(const struct planner *planner, const struct scores *scores,
                         struct scores_mode mode)
{
    const int64_t n = evaluate(planner, scores_extent(planner->arena, scores, TILE_N));
    const int64_t k = evaluate(planner, scores_extent(planner->arena, scores, TILE_K));
    if (!mode.sum && k <= SCORES_STAGE)
        return false;
    return mode.index ? scores->again : !scores->again || n > SCORES_STEP;
}

/* ---- groups ---- */

static bool tile_pays(const struct planner *planner, const struct tile *tile)
{
    return evaluate(planner, tile_extent(planner->arena, tile, TILE_M)) >= TILE_SIDE_MIN &&
           evaluate(planner, tile_extent(planner->arena, tile, TILE_N)) >= TILE_SIDE_MIN;
}

static bool is_tile(const struct planner *planner, const size_t *stmts, size_t count,
                    struct tile *tile)
{
    const char *why;
    return tile_recognise(planner->arena, planner->op, stmts, count, tile, &why) &&
           tile_pays(planner, tile);
}

static bool has_reduction(const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->parts[i] == ROW_REDUCE)
            return true;
    return false;
}

static bool rows_pay(const struct planner *planner, const struct rows *rows)
{
    return evaluate(planner, rows_inner_count(planner->arena, rows)) >= ROW_LENGTH_MIN &&
           rows_contiguous(rows);
}

/* Contractions and statements of another kind end a run. */
static size_t run_limit(const struct planner *planner, const size_t *stmts, size_t most)
{
    struct tile tile;
    for (size_t i = 0; i < most; i++)
        if (planner->op->stmts[stmts[i]].seq != OP_NONE || is_tile(planner, &stmts[i], 1, &tile))
            return i;
    return most;
}

/* The longest run from stmts[0] that is rows with a reduction (or plain maps). */
static size_t longest_rows(struct planner *planner, const size_t *stmts, size_t most, bool maps,
                           struct rows *rows)
{
    const char *why;
    for (size_t count = run_limit(planner, stmts, most); count > 0; count--) {
        if (!rows_recognise(planner->arena, planner->op, stmts, count, rows, &why))
            continue;
        if (maps ? rows->outer == 0 && !has_reduction(rows)
                 : has_reduction(rows) && rows_pay(planner, rows))
            return count;
    }
    return 0;
}

static size_t longest_tile(const struct planner *planner, const size_t *stmts, size_t most,
                           struct tile *tile)
{
    struct tile longer;
    size_t count = 1;
    while (count < most && is_tile(planner, stmts, count + 1, &longer))
        count++;
    (void)is_tile(planner, stmts, count, tile);
    return count;
}

static size_t plan_elements(struct planner *planner, const size_t *stmts)
{
    struct draft draft = {.region = {.depth = 1, .split = 1}};
    size_t seq = planner->op->stmts[stmts[0]].seq;
    size_t count = seq == OP_NONE ? 1 : planner->op->seqs[seq].count;
    draft.region.threads[0] = 256;
    draft.region.vector = 1;
    add_region(planner, &draft, stmts, count);
    return count;
}

static size_t plan_next(struct planner *planner, const size_t *stmts, size_t most)
{
    struct tile tile;
    struct rows rows;
    size_t count;
    if (is_tile(planner, stmts, 1, &tile)) {
        count = longest_tile(planner, stmts, most, &tile);
        plan_tile_of(planner, &tile);
        return count;
    }
    count = longest_rows(planner, stmts, most, false, &rows);
    if (count > 0) {
        plan_rows(planner, &rows);
        return count;
    }
    count = longest_rows(planner, stmts, most, true, &rows);
    if (count > 0) {
        plan_maps(planner, &rows);
        return count;
    }
    return plan_elements(planner, stmts);
}

/* ---- edges ---- */

struct edge_scan {
    const struct planner *planner;
    const size_t *region_of; /* by statement */
    struct plan_edge *edges;
    size_t count;
    size_t reader;
};

static void find_edge(void *context, const struct expr *expr)
{
    struct edge_scan *scan = context;
    const struct op *op = scan->planner->op;
    if (expr->op != EXPR_READ || op->tensors[expr->tensor].written_by == OP_NONE)
        return;
    size_t from = scan->region_of[op->tensors[expr->tensor].written_by];
    if (from == scan->reader || scan->count == PLAN_EDGES_MAX)
        return;
    for (size_t i = 0; i < scan->count; i++)
        if (scan->edges[i].from == from && scan->edges[i].to == scan->reader &&
            str_equal(scan->edges[i].tensor, op->tensors[expr->tensor].name))
            return;
    scan->edges[scan->count++] = (struct plan_edge){.tensor = op->tensors[expr->tensor].name,
                                                    .from = from,
                                                    .to = scan->reader,
                                                    .residency = RESIDE_GLOBAL};
}

static void find_edges(const struct planner *planner, struct plan *plan)
{
    const struct op *op = planner->op;
    size_t *region_of = arena_array(planner->arena, size_t, op->stmt_count + 1);
    struct edge_scan scan = {.planner = planner, .region_of = region_of};
    scan.edges = arena_array(planner->arena, struct plan_edge, PLAN_EDGES_MAX);
    for (size_t i = 0; i < planner->region_count; i++)
        for (size_t k = 0; k < planner->regions[i].stmt_count; k++)
            region_of[planner->regions[i].stmts[k]] = i;
    for (size_t i = 0; i < op->stmt_count; i++) {
        scan.reader = region_of[i];
        stmt_walk(op, &op->stmts[i], find_edge, &scan);
    }
    plan->edges = scan.edges;
    plan->edge_count = scan.count;
}

/* ---- results ---- */

static struct planner planner_of(struct arena *arena, const struct bound_op *target,
                                 const struct track *track, const struct skeleton_limits *limits,
                                 size_t regions)
{
    struct planner planner = {.arena = arena,
                              .target = target,
                              .op = target->op,
                              .limits = limits,
                              .track = track == NULL ? &target->op->tracks[0] : track,
                              .guard = formula_int(arena, 1)};
    planner.regions = arena_array(arena, struct plan_region, regions + 1);
    return planner;
}

static const struct plan *finish(const struct planner *planner)
{
    const struct op *op = planner->op;
    struct plan *plan = arena_new(planner->arena, struct plan);
    *plan = (struct plan){.op = op->hash,
                          .track = planner->track->name,
                          .machine = str_from(planner->limits->arch),
                          .regions = planner->regions,
                          .region_count = planner->region_count,
                          .guard = planner->guard,
                          .deterministic = op->policy.deterministic};
    find_edges(planner, plan);
    return plan;
}

bool plan_skeleton(struct arena *arena, const struct bound_op *target, const struct track *track,
                   const struct skeleton_limits *limits, const struct plan **out, struct err *err)
{
    const struct op *op = target->op;
    if (op->stmt_count > PLAN_REGIONS_MAX)
        return err_raise(err, ERR_LIMIT, "%zu statements are more than a plan's %d regions",
                         op->stmt_count, PLAN_REGIONS_MAX);
    struct planner planner = planner_of(arena, target, track, limits, op->stmt_count);
    size_t *stmts = arena_array(arena, size_t, op->stmt_count + 1);
    for (size_t i = 0; i < op->stmt_count; i++)
        stmts[i] = i;
    for (size_t i = 0; i < op->stmt_count;) {
        size_t left = op->stmt_count - i;
        i += plan_next(&planner, &stmts[i], left < REGION_STMTS_MAX ? left : REGION_STMTS_MAX);
    }
    *out = finish(&planner);
    return true;
}

static bool is_whole(const struct op *op, const size_t *stmts, size_t count)
{
    size_t seq = op->stmts[stmts[0]].seq;
    return seq == OP_NONE ? count == 1
                          : stmts[0] == op->seqs[seq].first && count == op->seqs[seq].count;
}

/* Chains: of two products, else of one and what it says of its rows.  With no kind, *why is set
 * only where there is a product that something follows. */
static void plan_chains(struct planner *planner, const size_t *stmts, size_t count,
                        const struct formula **guards, const char **why)
{
    struct chain chain;
    struct scores scores;
    const char *why_chain, *why_scores;
    if (chain_recognise(planner->arena, planner->op, stmts, count, &chain, &why_chain)) {
        if (evaluate(planner, chain_extent(planner->arena, &chain, CHAIN_M)) >= TILE_SIDE_MIN &&
            evaluate(planner, chain_extent(planner->arena, &chain, CHAIN_N)) >= TILE_SIDE_MIN) {
            plan_chain(planner, &chain);
            guards[0] = chain_guard(planner, &chain);
        }
        return;
    }
    if (!scores_recognise(planner->arena, planner->op, stmts, count, &scores, &why_scores)) {
        if (count > 1 && scores.product != NULL)
            *why = chain.second != NULL ? why_chain : why_scores;
        return;
    }
    if (evaluate(planner, scores_extent(planner->arena, &scores, TILE_M)) < TILE_SIDE_MIN ||
        evaluate(planner, scores_extent(planner->arena, &scores, TILE_N)) < TILE_SIDE_MIN)
        return;
    for (int i = 0; i < 4; i++) {
        const struct scores_mode mode = {.index = i / 2 == 1, .sum = i % 2 == 1};
        if (mode_differs(planner, &scores, mode)) {
            const size_t made = planner->region_count;
            guards[made] = plan_scores(planner, &scores, mode);
        }
    }
}

size_t region_skeletons(struct arena *arena, const struct bound_op *target,
                        const struct track *track, const struct skeleton_limits *limits,
                        const size_t *stmts, size_t count,
                        struct region_skeleton out[REGION_SKELETONS_MAX], const char **why)
{
    struct planner planner = planner_of(arena, target, track, limits, REGION_SKELETONS_MAX);
    const struct formula *guards[REGION_SKELETONS_MAX] = {NULL};
    struct tile tile;
    struct rows rows;
    const char *why_chain = NULL;
    if (!limits->realisable)
        plan_chains(&planner, stmts, count, guards, &why_chain);
    if (tile_recognise(arena, target->op, stmts, count, &tile, why) && tile_pays(&planner, &tile))
        plan_tile_of(&planner, &tile);
    if (rows_recognise(arena, target->op, stmts, count, &rows, why)) {
        if (!has_reduction(&rows) && rows.outer == 0)
            plan_maps(&planner, &rows);
        else if (!rows_pay(&planner, &rows))
            *why = "its rows are short, or memory does not run along them";
        else {
            plan_rows(&planner, &rows);
            guards[planner.region_count - 1] = planner.guard;
        }
    }
    if (is_whole(target->op, stmts, count))
        (void)plan_elements(&planner, stmts);
    if (why_chain != NULL)
        *why = why_chain;
    for (size_t i = 0; i < planner.region_count; i++)
        out[i] = (struct region_skeleton){planner.regions[i],
                                          guards[i] == NULL ? formula_int(arena, 1) : guards[i]};
    return planner.region_count;
}

const struct plan *plan_of_regions(struct arena *arena, const struct bound_op *target,
                                   const struct track *track, const struct skeleton_limits *limits,
                                   const struct region_skeleton *regions, size_t count)
{
    struct planner planner = planner_of(arena, target, track, limits, count);
    for (size_t i = 0; i < count; i++) {
        planner.regions[i] = regions[i].region;
        planner.guard = formula_and(arena, planner.guard, regions[i].guard);
    }
    planner.region_count = count;
    return finish(&planner);
}
