/*
 * Plan documents, from and to JSON.
 *
 * Method: as manifest.c; reading looks at kinds of members only, plan_check.c at their values.
 *
 * Invariant: printing writes every member but `reverse` when it is false, which is its default, so
 * parse(print(p)) = p and equal plans have equal bytes.
 */
#include "solver/ir/plan.h"

#include <string.h>

#include "base/panic.h"

#include "solver/ir/doc_int.h"

enum { TILES_MAX = 64, STAGES_MAX = 256, TILE_MAX = INT32_MAX, COMPUTE_COUNT = COMPUTE_BF16 + 1 };

static const char *const staging_names[] = {
    [STAGE_DIRECT] = "direct",
    [STAGE_REGISTER] = "register",
    [STAGE_SHARED] = "shared",
    [STAGE_ASYNC] = "async",
};
static const char *const residency_names[] = {
    [RESIDE_GLOBAL] = "global",
    [RESIDE_SHARED] = "shared",
    [RESIDE_REGISTER] = "register",
    [RESIDE_RECOMPUTE] = "recompute",
};
static const char *const primitive_words[] = {
#define PRIMITIVE(id, name) name,
#include "base/vocab.def"
};

const char *staging_name(enum staging staging)
{
    ASSERT((size_t)staging < COUNT_OF(staging_names));
    return staging_names[staging];
}

const char *residency_name(enum residency residency)
{
    ASSERT((size_t)residency < COUNT_OF(residency_names));
    return residency_names[residency];
}

/* ---- copies ---- */

struct plan_region plan_region_copy(struct arena *arena, const struct plan_region *region)
{
    struct plan_region copy = *region;
    size_t *stmts = arena_array(arena, size_t, region->stmt_count + 1);
    enum primitive *primitives = arena_array(arena, enum primitive, region->primitive_count + 1);
    struct plan_tile *tiles = arena_array(arena, struct plan_tile, region->tile_count + 1);
    struct plan_stage *stages = arena_array(arena, struct plan_stage, region->stage_count + 1);
    if (region->stmt_count > 0)
        memcpy(stmts, region->stmts, region->stmt_count * sizeof(*stmts));
    if (region->primitive_count > 0)
        memcpy(primitives, region->primitives, region->primitive_count * sizeof(*primitives));
    if (region->tile_count > 0)
        memcpy(tiles, region->tiles, region->tile_count * sizeof(*tiles));
    if (region->stage_count > 0)
        memcpy(stages, region->stages, region->stage_count * sizeof(*stages));
    copy.stmts = stmts;
    copy.primitives = primitives;
    copy.tiles = tiles;
    copy.stages = stages;
    return copy;
}

const struct plan *plan_copy(struct arena *arena, const struct plan *plan)
{
    struct plan *copy = arena_new(arena, struct plan);
    struct plan_region *regions = arena_array(arena, struct plan_region, plan->region_count + 1);
    struct plan_edge *edges = arena_array(arena, struct plan_edge, plan->edge_count + 1);
    for (size_t i = 0; i < plan->region_count; i++)
        regions[i] = plan_region_copy(arena, &plan->regions[i]);
    if (plan->edge_count > 0)
        memcpy(edges, plan->edges, plan->edge_count * sizeof(*edges));
    *copy = *plan;
    copy->regions = regions;
    copy->edges = edges;
    copy->guard = formula_copy(arena, plan->guard);
    return copy;
}

/* ---- reading ---- */

static bool read_stmts(struct arena *arena, const struct json *json, struct plan_region *region,
                       struct err *err)
{
    const struct json *array;
    if (!json_need_array(json, "stmts", 1, OP_STATEMENTS_MAX, &array, err))
        return false;
    size_t *stmts = arena_array(arena, size_t, array->count);
    for (size_t i = 0; i < array->count; i++) {
        const struct json *item = &array->items[i];
        if (item->kind != JSON_INT || item->integer < 0 || item->integer >= OP_STATEMENTS_MAX)
            return json_fail(item, err, "expected a statement's number, from 0 to %d",
                             OP_STATEMENTS_MAX - 1);
        stmts[i] = (size_t)item->integer;
    }
    region->stmts = stmts;
    region->stmt_count = array->count;
    return true;
}

static bool read_primitives(struct arena *arena, const struct json *json,
                            struct plan_region *region, struct err *err)
{
    const struct json *array;
    if (!json_need_array(json, "primitives", 0, PRIMITIVE_COUNT, &array, err))
        return false;
    enum primitive *primitives = arena_array(arena, enum primitive, array->count);
    for (size_t i = 0; i < array->count; i++) {
        size_t word;
        if (!json_word(&array->items[i], primitive_words, COUNT_OF(primitive_words), &word, err))
            return false;
        primitives[i] = (enum primitive)word;
    }
    region->primitives = primitives;
    region->primitive_count = array->count;
    return true;
}

static bool read_tile(const struct json *json, struct plan_tile *tile, struct err *err)
{
    static const char *const known[] = {"index", "block", "thread", "step", NULL};
    return json_only(json, known, err) && json_need_str(json, "index", &tile->index, err) &&
           json_need_int(json, "block", 1, TILE_MAX, &tile->block, err) &&
           json_need_int(json, "thread", 1, TILE_MAX, &tile->thread, err) &&
           json_opt_int(json, "step", 0, TILE_MAX, &tile->step, err);
}

static bool read_tiles(struct arena *arena, const struct json *json, struct plan_region *region,
                       struct err *err)
{
    const struct json *array;
    if (!json_need_array(json, "tiles", 0, TILES_MAX, &array, err))
        return false;
    struct plan_tile *tiles = arena_array(arena, struct plan_tile, array->count);
    for (size_t i = 0; i < array->count; i++)
        if (!read_tile(&array->items[i], &tiles[i], err))
            return false;
    region->tiles = tiles;
    region->tile_count = array->count;
    return true;
}

static bool read_stages(struct arena *arena, const struct json *json, struct plan_region *region,
                        struct err *err)
{
    static const char *const known[] = {"tensor", "staging", NULL};
    const struct json *array;
    if (!json_need_array(json, "stages", 0, STAGES_MAX, &array, err))
        return false;
    struct plan_stage *stages = arena_array(arena, struct plan_stage, array->count);
    for (size_t i = 0; i < array->count; i++) {
        size_t word;
        if (!json_only(&array->items[i], known, err) ||
            !json_need_str(&array->items[i], "tensor", &stages[i].tensor, err) ||
            !json_need_word(&array->items[i], "staging", staging_names, COUNT_OF(staging_names),
                            &word, err))
            return false;
        stages[i].staging = (enum staging)word;
    }
    region->stages = stages;
    region->stage_count = array->count;
    return true;
}

static bool read_precision(const struct json *json, enum compute *out, struct err *err)
{
    const char *words[COMPUTE_COUNT];
    size_t word;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        words[i] = compute_name((enum compute)i);
    if (!json_need_word(json, "precision", words, COUNT_OF(words), &word, err))
        return false;
    *out = (enum compute)word;
    return true;
}

static bool read_region(struct arena *arena, const struct json *json, struct plan_region *region,
                        struct err *err)
{
    static const char *const known[] = {"stmts",  "primitives", "tiles", "stages", "threads",
                                        "vector", "depth",      "split", "mma",    "precision",
                                        "layout", "reverse",    NULL};
    *region = (struct plan_region){
        .vector = 1, .depth = 1, .split = 1, .layout = STR_LIT(LAYOUT_ROW_MAJOR)};
    return json_only(json, known, err) && read_stmts(arena, json, region, err) &&
           read_primitives(arena, json, region, err) && read_tiles(arena, json, region, err) &&
           read_stages(arena, json, region, err) &&
           doc_need_triple(json, "threads", 1, 1024, region->threads, err) &&
           json_opt_int(json, "vector", 1, 32, &region->vector, err) &&
           json_opt_int(json, "depth", 1, 32, &region->depth, err) &&
           json_opt_int(json, "split", 1, 65536, &region->split, err) &&
           (!json_get(json, "mma") || doc_need_triple(json, "mma", 0, 1024, region->mma, err)) &&
           read_precision(json, &region->precision, err) &&
           (!json_get(json, "layout") || doc_need_name(json, "layout", &region->layout, err)) &&
           json_opt_bool(json, "reverse", &region->reverse, err);
}

static bool read_regions(struct arena *arena, const struct json *json, struct plan *plan,
                         struct err *err)
{
    const struct json *array;
    if (!json_need_array(json, "regions", 1, PLAN_REGIONS_MAX, &array, err))
        return false;
    struct plan_region *regions = arena_array(arena, struct plan_region, array->count);
    for (size_t i = 0; i < array->count; i++)
        if (!read_region(arena, &array->items[i], &regions[i], err))
            return false;
    plan->regions = regions;
    plan->region_count = array->count;
    return true;
}

static bool read_edge(const struct json *json, struct plan_edge *edge, struct err *err)
{
    static const char *const known[] = {"tensor", "from", "to", "residency", NULL};
    int64_t from, to;
    size_t word;
    if (!json_only(json, known, err) || !json_need_str(json, "tensor", &edge->tensor, err) ||
        !json_need_int(json, "from", 0, PLAN_REGIONS_MAX - 1, &from, err) ||
        !json_need_int(json, "to", 0, PLAN_REGIONS_MAX - 1, &to, err) ||
        !json_need_word(json, "residency", residency_names, COUNT_OF(residency_names), &word, err))
        return false;
    edge->from = (size_t)from;
    edge->to = (size_t)to;
    edge->residency = (enum residency)word;
    return true;
}

static bool read_edges(struct arena *arena, const struct json *json, struct plan *plan,
                       struct err *err)
{
    const struct json *array;
    if (!json_get(json, "edges"))
        return true;
    if (!json_need_array(json, "edges", 0, PLAN_EDGES_MAX, &array, err))
        return false;
    struct plan_edge *edges = arena_array(arena, struct plan_edge, array->count);
    for (size_t i = 0; i < array->count; i++)
        if (!read_edge(&array->items[i], &edges[i], err))
            return false;
    plan->edges = edges;
    plan->edge_count = array->count;
    return true;
}

bool plan_parse(struct arena *arena, const struct json *json, const struct plan **out,
                struct err *err)
{
    static const char *const known[] = {"plan",  "op",    "track",         "machine", "regions",
                                        "edges", "guard", "deterministic", NULL};
    int64_t version;
    struct plan *plan = arena_new(arena, struct plan);
    if (!json_need_int(json, "plan", 1, 1, &version, err) || !json_only(json, known, err) ||
        !doc_need_hash(json, "op", &plan->op, err) ||
        !doc_need_name(json, "track", &plan->track, err) ||
        !doc_need_name(json, "machine", &plan->machine, err) ||
        !read_regions(arena, json, plan, err) || !read_edges(arena, json, plan, err) ||
        !doc_need_formula(arena, json, "guard", &plan->guard, err) ||
        !json_opt_bool(json, "deterministic", &plan->deterministic, err))
        return false;
    if (!plan_check_self(plan, err))
        return json_fail(json, err, "%s", err->text);
    *out = plan;
    return true;
}

/* ---- printing ---- */

static void print_lists(struct json_writer *w, const struct plan_region *region)
{
    json_key(w, "stmts");
    json_open_array(w);
    for (size_t i = 0; i < region->stmt_count; i++)
        json_put_int(w, (int64_t)region->stmts[i]);
    json_close_array(w);
    json_key(w, "primitives");
    json_open_array(w);
    for (size_t i = 0; i < region->primitive_count; i++)
        json_put_text(w, primitive_name(region->primitives[i]));
    json_close_array(w);
}

static void print_tiles(struct json_writer *w, const struct plan_region *region)
{
    json_key(w, "tiles");
    json_open_array(w);
    for (size_t i = 0; i < region->tile_count; i++) {
        json_open_object(w);
        json_member_str(w, "index", region->tiles[i].index);
        json_member_int(w, "block", region->tiles[i].block);
        json_member_int(w, "thread", region->tiles[i].thread);
        json_member_int(w, "step", region->tiles[i].step);
        json_close_object(w);
    }
    json_close_array(w);
}

static void print_stages(struct json_writer *w, const struct plan_region *region)
{
    json_key(w, "stages");
    json_open_array(w);
    for (size_t i = 0; i < region->stage_count; i++) {
        json_open_object(w);
        json_member_str(w, "tensor", region->stages[i].tensor);
        json_member_text(w, "staging", staging_name(region->stages[i].staging));
        json_close_object(w);
    }
    json_close_array(w);
}

static void print_region(struct json_writer *w, const struct plan_region *region)
{
    json_open_object(w);
    print_lists(w, region);
    print_tiles(w, region);
    print_stages(w, region);
    json_key(w, "threads");
    doc_put_triple(w, region->threads);
    json_member_int(w, "vector", region->vector);
    json_member_int(w, "depth", region->depth);
    json_member_int(w, "split", region->split);
    json_key(w, "mma");
    doc_put_triple(w, region->mma);
    json_member_text(w, "precision", compute_name(region->precision));
    json_member_str(w, "layout", region->layout);
    if (region->reverse) /* so that plans from before it was there keep their hashes */
        json_member_bool(w, "reverse", true);
    json_close_object(w);
}

static void print_edge(struct json_writer *w, const struct plan_edge *edge)
{
    json_open_object(w);
    json_member_str(w, "tensor", edge->tensor);
    json_member_int(w, "from", (int64_t)edge->from);
    json_member_int(w, "to", (int64_t)edge->to);
    json_member_text(w, "residency", residency_name(edge->residency));
    json_close_object(w);
}

void plan_print(struct json_writer *w, const struct plan *plan)
{
    json_open_object(w);
    json_member_int(w, "plan", 1);
    json_key(w, "op");
    doc_put_hash(w, &plan->op);
    json_member_str(w, "track", plan->track);
    json_member_str(w, "machine", plan->machine);
    json_key(w, "regions");
    json_open_array(w);
    for (size_t i = 0; i < plan->region_count; i++)
        print_region(w, &plan->regions[i]);
    json_close_array(w);
    json_key(w, "edges");
    json_open_array(w);
    for (size_t i = 0; i < plan->edge_count; i++)
        print_edge(w, &plan->edges[i]);
    json_close_array(w);
    json_key(w, "guard");
    doc_put_formula(w, plan->guard);
    json_member_bool(w, "deterministic", plan->deterministic);
    json_close_object(w);
}

struct hash plan_hash(const struct plan *plan)
{
    struct doc_hasher hasher;
    doc_hash_begin(&hasher);
    plan_print(&hasher.writer, plan);
    return doc_hash_end(&hasher);
}

/* ---- looking up ---- */

bool region_uses(const struct plan_region *region, enum primitive primitive)
{
    for (size_t i = 0; i < region->primitive_count; i++)
        if (region->primitives[i] == primitive)
            return true;
    return false;
}

bool plan_uses(const struct plan *plan, enum primitive primitive)
{
    for (size_t i = 0; plan != NULL && i < plan->region_count; i++)
        if (region_uses(&plan->regions[i], primitive))
            return true;
    return false;
}

const struct plan_tile *region_tile(const struct plan_region *region, struct str index)
{
    for (size_t i = 0; i < region->tile_count; i++)
        if (str_equal(region->tiles[i].index, index))
            return &region->tiles[i];
    return NULL;
}
