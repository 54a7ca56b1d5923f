/*
 * The sections of a results file that are tables of a formula: specs, tile sets, penalties, hard
 * limits, scores, thresholds, launch parameters, and the configurations of the GPU experiment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/sched/hwwfc_check_int.h"

enum { STATES_MAX = HWWFC_TILES_MAX * HWWFC_LAYOUT_COUNT * HWWFC_MEMORY_COUNT };

/* Members of a section that may be absent. */
static size_t member_count(const struct json *object)
{
    return object == NULL || object->kind != JSON_OBJECT ? 0 : object->count;
}

static size_t item_count(const struct json *array)
{
    return array == NULL || array->kind != JSON_ARRAY ? 0 : array->count;
}

/* ---- specs, tiles, penalties ---- */

static bool check_specs(struct checker *c, struct err *err)
{
    const struct json *specs = member(c->document, "specs");
    const struct json *weights = member(c->document, "derive_transition_weight");
    const struct json *types = member(c->document, "layer_types");
    for (size_t i = 0; i < member_count(specs); i++) {
        const struct hwwfc_spec *spec;
        if (!hwwfc_spec_parse(c->arena, &specs->items[i], &spec, err))
            return false;
        expect_real(c, member(&specs->items[i], "transition_weight"),
                    hwwfc_weight(spec->sram_bytes));
    }
    for (size_t i = 0; i < item_count(weights); i++) {
        double bytes;
        if (!json_need_real(&weights->items[i], "sram_bytes", &bytes, err))
            return false;
        expect_real(c, member(&weights->items[i], "weight"), hwwfc_weight(bytes));
    }
    for (int i = 0; types != NULL && i < HWWFC_TYPE_COUNT; i++)
        expect_real(
            c,
            member(member(types, hwwfc_type_name((enum hwwfc_type)i)), "working_memory_multiplier"),
            hwwfc_multiplier((enum hwwfc_type)i));
    return true;
}

/* The states that a set spells out, id by id. */
static void check_spelt(struct checker *c, const struct hwwfc_tiles *tiles, const struct json *at)
{
    static const char *const layouts[] = {"ROW_MAJOR", "COL_MAJOR", "BLOCK_TILED"};
    static const char *const memories[] = {"SRAM", "DRAM"};
    if (at == NULL || !expect_count(c, at, hwwfc_state_count(tiles)))
        return;
    for (size_t i = 0; i < at->count; i++) {
        const struct hwwfc_state state = hwwfc_state(tiles, i);
        expect_int(c, member(&at->items[i], "id"), (int64_t)i);
        expect_int(c, member(&at->items[i], "m"), state.tile.m);
        expect_int(c, member(&at->items[i], "n"), state.tile.n);
        expect_text(c, member(&at->items[i], "layout"), layouts[state.layout]);
        expect_text(c, member(&at->items[i], "location"), memories[state.memory]);
    }
}

/* The program's own sets are what a file without sets relies on. */
static bool check_tiles(struct checker *c, struct err *err)
{
    const struct json *sets = member(c->document, "tile_sets");
    for (size_t i = 0; i < member_count(sets); i++) {
        const struct hwwfc_tiles *own = hwwfc_tiles_named(sets->keys[i]), *tiles;
        if (!hwwfc_tiles_parse(c->arena, &sets->items[i], sets->keys[i], &tiles, err))
            return false;
        expect_int(c, member(&sets->items[i], "n_states"), (int64_t)hwwfc_state_count(tiles));
        check_spelt(c, tiles, member(&sets->items[i], "states"));
        if (own == NULL || !expect_count(c, member(&sets->items[i], "tiles"), own->count))
            continue;
        for (size_t k = 0; k < own->count; k++) {
            const struct json *pair = &member(&sets->items[i], "tiles")->items[k];
            expect_int(c, &pair->items[0], own->tiles[k].m);
            expect_int(c, &pair->items[1], own->tiles[k].n);
        }
    }
    return true;
}

/* Penalties between the first n states that are `stride` apart. */
static void check_matrix(struct checker *c, const struct hwwfc_tiles *tiles, size_t stride,
                         size_t n, const struct json *at)
{
    if (!expect_count(c, at, n))
        return;
    for (size_t i = 0; i < n; i++) {
        if (!expect_count(c, &at->items[i], n))
            continue;
        for (size_t k = 0; k < n; k++) {
            struct hwwfc_state a = hwwfc_state(tiles, i * stride);
            struct hwwfc_state b = hwwfc_state(tiles, k * stride);
            expect_real(c, &at->items[i].items[k], hwwfc_penalty(&a, &b));
        }
    }
}

/* Penalties of whole states, and of states that differ in tile, layout or memory only. */
static bool check_penalties(struct checker *c, struct err *err)
{
    const struct json *transition = member(c->document, "transition");
    const struct json *total = member(transition, "total");
    const struct json *shape = member(transition, "tile_shape");
    const struct hwwfc_tiles *tiles;
    for (size_t i = 0; i < member_count(total); i++) {
        if (!checker_tiles(c, total->keys[i], total, &tiles, err))
            return false;
        check_matrix(c, tiles, 1, hwwfc_state_count(tiles), &total->items[i]);
    }
    for (size_t i = 0; i < member_count(shape); i++) {
        if (!checker_tiles(c, shape->keys[i], shape, &tiles, err))
            return false;
        check_matrix(c, tiles, HWWFC_LAYOUT_COUNT * HWWFC_MEMORY_COUNT, tiles->count,
                     &shape->items[i]);
    }
    tiles = hwwfc_tiles_named(STR_LIT("default"));
    if (member(transition, "layout") != NULL)
        check_matrix(c, tiles, HWWFC_MEMORY_COUNT, HWWFC_LAYOUT_COUNT,
                     member(transition, "layout"));
    if (member(transition, "location") != NULL)
        check_matrix(c, tiles, 1, HWWFC_MEMORY_COUNT, member(transition, "location"));
    return true;
}

/* ---- hard limits ---- */

static size_t over(const struct hwwfc_tiles *tiles, enum hwwfc_type type,
                   const struct hwwfc_spec *spec, enum hwwfc_limit limit, uint16_t *ids)
{
    size_t count = 0;
    for (size_t i = 0; i < hwwfc_state_count(tiles); i++) {
        struct hwwfc_state state = hwwfc_state(tiles, i);
        if (hwwfc_slack(limit, type, &state, spec) < 0)
            ids[count++] = (uint16_t)i;
    }
    return count;
}

static size_t allowed(const struct hwwfc_tiles *tiles, enum hwwfc_type type,
                      const struct hwwfc_spec *spec, uint16_t *ids)
{
    size_t count = 0;
    for (size_t i = 0; i < hwwfc_state_count(tiles); i++) {
        struct hwwfc_state state = hwwfc_state(tiles, i);
        if (hwwfc_allowed(type, &state, spec))
            ids[count++] = (uint16_t)i;
    }
    return count;
}

static void check_limits_of(struct checker *c, const struct hwwfc_tiles *tiles,
                            enum hwwfc_type type, const struct hwwfc_spec *spec,
                            const struct json *at)
{
    static const char *const keys[] = {"fails_capacity", "fails_alignment", "fails_working_memory"};
    uint16_t ids[STATES_MAX];
    size_t count = allowed(tiles, type, spec, ids);
    expect_ids(c, member(at, "kept"), ids, count);
    expect_int(c, member(at, "n_after"), (int64_t)count);
    expect_int(c, member(at, "n_before"), (int64_t)hwwfc_state_count(tiles));
    for (int limit = 0; limit < HWWFC_LIMIT_COUNT; limit++) {
        count = over(tiles, type, spec, (enum hwwfc_limit)limit, ids);
        expect_ids(c, member(at, keys[limit]), ids, count);
    }
}

static bool check_limits(struct checker *c, struct err *err)
{
    const struct json *all = member(c->document, "hard_constraints");
    for (size_t i = 0; i < member_count(all); i++) {
        const struct hwwfc_spec *spec;
        if (!checker_spec(c, all->keys[i], all, &spec, err))
            return false;
        for (size_t k = 0; k < member_count(&all->items[i]); k++) {
            const struct json *set = &all->items[i].items[k];
            const struct hwwfc_tiles *tiles;
            if (!checker_tiles(c, set->key, set, &tiles, err))
                return false;
            for (int t = 0; t < HWWFC_TYPE_COUNT; t++)
                check_limits_of(c, tiles, (enum hwwfc_type)t, spec,
                                member(set, hwwfc_type_name((enum hwwfc_type)t)));
        }
    }
    return true;
}

/* ---- scores ---- */

/* "default|LINEAR|M=256,N=512,K=256". */
static bool parse_score_key(struct checker *c, const struct json *at,
                            const struct hwwfc_tiles **tiles, struct hwwfc_layer *layer,
                            struct err *err)
{
    const char *end = at->key.at + at->key.len;
    const char *first = memchr(at->key.at, '|', at->key.len);
    const char *second = first == NULL ? NULL : memchr(first + 1, '|', (size_t)(end - first - 1));
    if (second == NULL)
        return json_fail(at, err, "expected a key like default|LINEAR|M=256,N=512,K=256");
    struct json type = *at;
    type.kind = JSON_STRING;
    type.string = (struct str){first + 1, (size_t)(second - first - 1)};
    *layer = (struct hwwfc_layer){.name = at->key};
    return checker_tiles(c, (struct str){at->key.at, (size_t)(first - at->key.at)}, at, tiles,
                         err) &&
           hwwfc_type_parse(&type, &layer->type, err) &&
           hwwfc_dims_parse((struct str){second + 1, (size_t)(end - second - 1)}, at, layer, err);
}

static bool check_score_row(struct checker *c, const struct hwwfc_layer *layer,
                            const struct hwwfc_state *state, const struct hwwfc_spec *spec,
                            const struct json *row, double *total, struct err *err)
{
    struct hwwfc_score score;
    if (!hwwfc_score(layer, state, spec, &score, err))
        return false;
    *total = score.total;
    if (!expect_count(c, row, 5))
        return true;
    expect_int(c, &row->items[0], score.traffic);
    expect_real(c, &row->items[1], score.roofline);
    expect_real(c, &row->items[2], score.affinity);
    expect_real(c, &row->items[3], score.cache);
    expect_real(c, &row->items[4], score.total);
    return true;
}

static bool check_score(struct checker *c, const struct hwwfc_spec *spec, const struct json *at,
                        struct err *err)
{
    const struct json *rows = member(at, "by_state_id");
    const struct hwwfc_tiles *tiles;
    struct hwwfc_layer layer;
    double scores[STATES_MAX];
    uint16_t ids[STATES_MAX];
    int64_t flops;
    if (!parse_score_key(c, at, &tiles, &layer, err) || !hwwfc_flops(&layer, &flops, err))
        return false;
    const size_t count = hwwfc_state_count(tiles);
    expect_int(c, member(at, "flops"), flops);
    bool whole = expect_count(c, rows, count);
    for (size_t i = 0; i < count; i++) {
        struct hwwfc_state state = hwwfc_state(tiles, i);
        if (!check_score_row(c, &layer, &state, spec, whole ? &rows->items[i] : NULL, &scores[i],
                             err))
            return false;
    }
    size_t kept = allowed(tiles, layer.type, spec, ids);
    hwwfc_rank(scores, ids, kept);
    expect_ids(c, member(at, "ranked_ids_after_hard"), ids, kept);
    if (kept > 0)
        expect_real(c, member(at, "entropy_after_hard"), hwwfc_entropy(scores, ids, kept));
    return true;
}

static bool check_scores(struct checker *c, struct err *err)
{
    const struct json *all = member(c->document, "scores");
    for (size_t i = 0; i < member_count(all); i++) {
        const struct hwwfc_spec *spec;
        if (!checker_spec(c, all->keys[i], all, &spec, err))
            return false;
        for (size_t k = 0; k < member_count(&all->items[i]); k++)
            if (!check_score(c, spec, &all->items[i].items[k], err))
                return false;
    }
    return true;
}

/* ---- thresholds, code generation ---- */

static bool check_adapt(struct checker *c, struct err *err)
{
    const struct json *all = member(c->document, "adapt_threshold");
    for (size_t i = 0; i < item_count(all); i++) {
        int64_t removed, target;
        double before;
        if (!json_need_int(&all->items[i], "removed", 0, INT32_MAX, &removed, err) ||
            !json_need_int(&all->items[i], "target", 1, INT32_MAX, &target, err) ||
            !json_need_real(&all->items[i], "before", &before, err))
            return false;
        expect_real(c, member(&all->items[i], "after"), hwwfc_adapt(before, removed, target));
    }
    return true;
}

/* The area of "64x128"; -1 = it is no such text. */
static int64_t area_of(struct str text)
{
    long long m = 0, n = 0;
    char copy[32];
    if (text.len >= sizeof(copy))
        return -1;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    if (sscanf(copy, "%5lldx%5lld", &m, &n) != 2)
        return -1;
    return m * n;
}

static void check_codegen(struct checker *c)
{
    const struct json *codegen = member(c->document, "codegen");
    const struct json *warps = member(codegen, "num_warps");
    const struct json *stages = member(codegen, "num_stages");
    const struct json *steps = member(codegen, "tile_k");
    for (size_t i = 0; i < member_count(warps); i++)
        expect_int(c, &warps->items[i], hwwfc_warps(area_of(warps->keys[i])));
    for (size_t i = 0; i < member_count(stages); i++)
        expect_int(c, &stages->items[i], hwwfc_stages(area_of(stages->keys[i])));
    for (size_t i = 0; i < item_count(steps); i++)
        if (expect_count(c, &steps->items[i], 2))
            expect_int(c, &steps->items[i].items[1],
                       hwwfc_tile_k(steps->items[i].items[0].integer));
}

/* ---- configurations of the GPU experiment ---- */

/* Kept states in SRAM and row-major; a product keeps each tile, a softmax each width. */
static size_t experiment(const struct hwwfc_tiles *tiles, const struct hwwfc_layer *layer,
                         const struct hwwfc_spec *spec, uint16_t *ids)
{
    size_t kept = allowed(tiles, layer->type, spec, ids), count = 0;
    for (size_t i = 0; i < kept; i++) {
        struct hwwfc_state state = hwwfc_state(tiles, ids[i]);
        bool fresh = state.memory == HWWFC_SRAM && state.layout == HWWFC_ROW;
        for (size_t k = 0; fresh && k < count; k++) {
            struct hwwfc_tile tile = hwwfc_state(tiles, ids[k]).tile;
            fresh =
                tile.n != state.tile.n || (layer->type == HWWFC_LINEAR && tile.m != state.tile.m);
        }
        if (fresh)
            ids[count++] = ids[i];
    }
    return count;
}

static bool check_config(struct checker *c, const struct hwwfc_layer *layer, uint16_t id,
                         const struct hwwfc_tiles *tiles, const struct hwwfc_spec *spec,
                         const struct json *at, struct err *err)
{
    struct hwwfc_state state = hwwfc_state(tiles, id);
    const int64_t area = state.tile.m * state.tile.n;
    struct hwwfc_score score;
    if (!hwwfc_score(layer, &state, spec, &score, err))
        return false;
    expect_int(c, member(at, "state"), id);
    expect_int(c, member(at, "tile_m"), state.tile.m);
    expect_int(c, member(at, "tile_n"), state.tile.n);
    expect_real(c, member(at, "score"), score.total);
    expect_real(c, member(at, "roofline"), score.roofline);
    expect_real(c, member(at, "affinity"), score.affinity);
    expect_real(c, member(at, "cache"), score.cache);
    if (member(at, "num_warps") != NULL)
        expect_int(c, member(at, "num_warps"), hwwfc_warps(area));
    if (member(at, "num_stages") != NULL)
        expect_int(c, member(at, "num_stages"), hwwfc_stages(area));
    return true;
}

static bool check_experiment_of(struct checker *c, const struct hwwfc_spec *spec,
                                const struct json *at, struct err *err)
{
    static const char *const kinds[] = {"matmul", "softmax"};
    const struct hwwfc_tiles *tiles = hwwfc_tiles_named(STR_LIT("default"));
    const struct json *configs = member(at, "configs"), *dims;
    const double *scores;
    struct hwwfc_problem problem = {.spec = spec, .tiles = tiles, .layer_count = 1};
    struct hwwfc_layer layer = {.name = STR_LIT("experiment")};
    struct hwwfc_scores table;
    uint16_t ids[STATES_MAX];
    size_t kind, distinct = 0;
    if (!json_need_word(at, "kind", kinds, 2, &kind, err) ||
        !json_need(at, "dims", JSON_OBJECT, &dims, err))
        return false;
    layer.type = kind == 0 ? HWWFC_LINEAR : HWWFC_SOFTMAX;
    for (size_t i = 0; i < dims->count && i < HWWFC_DIMS_MAX; i++)
        layer.dims[layer.dim_count++] =
            (struct hwwfc_dim){dims->keys[i], dims->items[i].integer & INT32_MAX};
    problem.layers = &layer;
    if (!hwwfc_scores(c->scratch, &problem, &table, err))
        return false;
    scores = table.of[0];
    size_t count = experiment(tiles, &layer, spec, ids);
    hwwfc_rank(scores, ids, count);
    for (size_t i = 0; i < count; i++)
        distinct += i == 0 || scores[ids[i]] != scores[ids[i - 1]];
    expect_int(c, member(at, "n"), (int64_t)count);
    expect_int(c, member(at, "n_distinct_scores"), (int64_t)distinct);
    if (expect_count(c, configs, count))
        for (size_t i = 0; i < count; i++)
            if (!check_config(c, &layer, ids[i], tiles, spec, &configs->items[i], err))
                return false;
    return true;
}

static bool check_experiment(struct checker *c, struct err *err)
{
    const struct json *all = member(member(c->document, "correlation_experiment"), "per_spec");
    for (size_t i = 0; i < member_count(all); i++) {
        const struct hwwfc_spec *spec;
        if (!checker_spec(c, all->keys[i], all, &spec, err))
            return false;
        for (size_t k = 0; k < item_count(&all->items[i]); k++)
            if (!check_experiment_of(c, spec, &all->items[i].items[k], err))
                return false;
    }
    return true;
}

bool check_tables(struct checker *c, struct err *err)
{
    check_codegen(c);
    return check_specs(c, err) && check_tiles(c, err) && check_penalties(c, err) &&
           check_limits(c, err) && check_scores(c, err) && check_adapt(c, err) &&
           check_experiment(c, err);
}
