/*
 * Sketches of regions: reading them, comparing choices with them, changing choices to them.
 */
#include "agent/plan_sketch.h"

#include <string.h>

#include "base/json.h"
#include "base/num.h"

enum { SKETCH_NUMBER_MAX = 1 << 30, SKETCH_BYTES_MAX = 1 << 16 };

/* ---- reading ---- */

static bool read_number(const struct json *json, int64_t *out, struct err *err)
{
    if (json->kind != JSON_INT || json->integer < 1 || json->integer > SKETCH_NUMBER_MAX)
        return json_fail(json, err, "expected an integer from 1 to %d", SKETCH_NUMBER_MAX);
    *out = json->integer;
    return true;
}

static bool read_sides(const struct json *json, struct sketch_tile *tile, struct err *err)
{
    static const char *const known[] = {"index", "block", "thread", "step", NULL};

    return json_only(json, known, err) &&
           json_opt_int(json, "block", 1, SKETCH_NUMBER_MAX, &tile->block, err) &&
           json_opt_int(json, "thread", 1, SKETCH_NUMBER_MAX, &tile->thread, err) &&
           json_opt_int(json, "step", 0, SKETCH_NUMBER_MAX, &tile->step, err);
}

static bool room_for(const struct json *json, struct err *err)
{
    if (json->count <= OP_LOOPS_MAX)
        return true;
    return json_fail(json, err, "%zu tiles; a statement has at most %d indices", json->count,
                     OP_LOOPS_MAX);
}

/* {"m": 128, "k": {"block": 8}} */
static bool read_tile(const struct json *json, struct sketch *sketch, struct err *err)
{
    if (json->kind != JSON_OBJECT)
        return json_fail(json, err, "expected an object of indices, such as {\"m\": 128}");
    if (!room_for(json, err))
        return false;
    for (size_t i = 0; i < json->count; i++) {
        struct sketch_tile *tile = &sketch->tiles[sketch->tile_count++];

        tile->index = json->keys[i];
        if (json->items[i].kind == JSON_OBJECT ? !read_sides(&json->items[i], tile, err)
                                               : !read_number(&json->items[i], &tile->block, err))
            return false;
    }
    return true;
}

/* As plans write them. */
static bool read_tiles(const struct json *json, struct sketch *sketch, struct err *err)
{
    if (json->kind != JSON_ARRAY)
        return json_fail(json, err, "expected an array of {\"index\", \"block\", ...}");
    if (!room_for(json, err))
        return false;
    sketch->tile_count = 0;
    for (size_t i = 0; i < json->count; i++) {
        struct sketch_tile *tile = &sketch->tiles[sketch->tile_count++];

        if (!json_need_str(&json->items[i], "index", &tile->index, err) ||
            !read_sides(&json->items[i], tile, err))
            return false;
    }
    return true;
}

static bool read_threads(const struct json *json, struct sketch *sketch, struct err *err)
{
    if (json->kind != JSON_ARRAY) {
        sketch->threads[1] = sketch->threads[2] = 1;
        return read_number(json, &sketch->threads[0], err);
    }
    if (json->count != 3)
        return json_fail(json, err, "expected a number, or three: x, y and z");
    for (size_t i = 0; i < 3; i++)
        if (!read_number(&json->items[i], &sketch->threads[i], err))
            return false;
    return true;
}

static bool read_primitives(const struct json *json, struct sketch *sketch, struct err *err)
{
    static const char *const words[] = {
#define PRIMITIVE(id, name) name,
#include "base/vocab.def"
    };

    if (json->kind != JSON_ARRAY || json->count > PRIMITIVE_COUNT)
        return json_fail(json, err, "expected an array of at most %d primitives", PRIMITIVE_COUNT);
    for (size_t i = 0; i < json->count; i++) {
        size_t word;

        if (!json_word(&json->items[i], words, COUNT_OF(words), &word, err))
            return false;
        sketch->primitives[sketch->primitive_count++] = (enum primitive)word;
    }
    return true;
}

static bool read_mma(const struct json *json, struct sketch *sketch, struct err *err)
{
    if (json->kind != JSON_ARRAY || json->count != 3)
        return json_fail(json, err,
                         "expected three numbers, m, n and k, such as [16, 8, 16]; zeros for none");
    for (size_t i = 0; i < 3; i++) {
        const struct json *item = &json->items[i];

        if (item->kind != JSON_INT || item->integer < 0 || item->integer > SKETCH_NUMBER_MAX)
            return json_fail(item, err, "expected an integer from 0 to %d", SKETCH_NUMBER_MAX);
        sketch->mma[i] = item->integer;
    }
    return true;
}

static bool read_staging(const struct json *json, struct sketch *sketch, struct err *err)
{
    const char *words[STAGE_ASYNC + 1];
    size_t word;

    for (size_t i = 0; i < COUNT_OF(words); i++)
        words[i] = staging_name((enum staging)i);
    if (!json_word(json, words, COUNT_OF(words), &word, err))
        return false;
    sketch->staging = (int)word;
    return true;
}

/* As plans write them; of several stagings the last one counts, for all stages. */
static bool read_stages(const struct json *json, struct sketch *sketch, struct err *err)
{
    if (json->kind != JSON_ARRAY)
        return json_fail(json, err, "expected an array of {\"tensor\", \"staging\"}");
    for (size_t i = 0; i < json->count; i++) {
        const struct json *staging =
            json->items[i].kind == JSON_OBJECT ? json_get(&json->items[i], "staging") : NULL;

        if (staging == NULL)
            return json_fail(&json->items[i], err, "expected {\"tensor\", \"staging\"}");
        if (!read_staging(staging, sketch, err))
            return false;
    }
    return true;
}

static bool read_precision(const struct json *json, struct sketch *sketch, struct err *err)
{
    const char *words[COMPUTE_BF16 + 1];
    size_t word;

    for (size_t i = 0; i < COUNT_OF(words); i++)
        words[i] = compute_name((enum compute)i);
    if (!json_word(json, words, COUNT_OF(words), &word, err))
        return false;
    sketch->precision = (int)word;
    return true;
}

static bool read_layout(const struct json *json, struct sketch *sketch, struct err *err)
{
    /* Of tiles in shared memory; a plan may name others, but no limit and no cost knows them. */
    static const char *const words[] = {LAYOUT_ROW_MAJOR, LAYOUT_SWIZZLED};
    size_t word;

    if (!json_word(json, words, COUNT_OF(words), &word, err))
        return false;
    sketch->layout = str_from(words[word]);
    return true;
}

static bool read_reverse(const struct json *json, struct sketch *sketch, struct err *err)
{
    if (json->kind != JSON_BOOL)
        return json_fail(json, err, "expected true or false");
    sketch->reverse = json->boolean;
    return true;
}

/* ---- a sketch ---- */

static bool read_vector(const struct json *json, struct sketch *sketch, struct err *err)
{
    return read_number(json, &sketch->vector, err);
}

static bool read_depth(const struct json *json, struct sketch *sketch, struct err *err)
{
    return read_number(json, &sketch->depth, err);
}

static bool read_split(const struct json *json, struct sketch *sketch, struct err *err)
{
    return read_number(json, &sketch->split, err);
}

/* A region's statements are another matter: "region" says which one it is. */
static bool read_stmts(const struct json *json, struct sketch *sketch UNUSED, struct err *err)
{
    return json->kind == JSON_ARRAY || json_fail(json, err, "expected an array of statements");
}

static const struct member {
    const char *name;
    bool (*read)(const struct json *json, struct sketch *sketch, struct err *err);
} members[] = {{"tile", read_tile},
               {"tiles", read_tiles},
               {"threads", read_threads},
               {"vector", read_vector},
               {"depth", read_depth},
               {"split", read_split},
               {"mma", read_mma},
               {"primitives", read_primitives},
               {"staging", read_staging},
               {"stages", read_stages},
               {"precision", read_precision},
               {"layout", read_layout},
               {"reverse", read_reverse},
               {"stmts", read_stmts}};

static bool read_members(const struct json *json, struct sketch *sketch, struct err *err)
{
    const char *known[COUNT_OF(members) + 2] = {[COUNT_OF(members)] = "region"};
    const struct json *member;
    int64_t region = -1;

    for (size_t i = 0; i < COUNT_OF(members); i++)
        known[i] = members[i].name;
    if (!json_only(json, known, err) ||
        !json_opt_int(json, "region", 0, PLAN_REGIONS_MAX - 1, &region, err))
        return false;
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if ((member = json_get(json, members[i].name)) && !members[i].read(member, sketch, err))
            return false;
    if (region >= 0)
        sketch->region = (size_t)region;
    return true;
}

bool sketch_parse(struct arena *arena, const char *text, struct sketch *out, struct err *err)
{
    struct sketch sketch = {
        .region = OP_NONE, .mma = {-1, -1, -1}, .staging = -1, .precision = -1, .reverse = -1};
    const struct json *json;

    if (strlen(text) > SKETCH_BYTES_MAX)
        return err_raise(err, ERR_USAGE, "--why-not takes at most %d bytes", SKETCH_BYTES_MAX);
    if (!json_parse(arena, str_from(text), "--why-not", &json, err))
        return false;
    if (json->kind != JSON_OBJECT || json->count == 0)
        return json_fail(json, err, "expected an object such as {\"tile\": {\"m\": 128}}");
    if (!read_members(json, &sketch, err))
        return false;
    *out = sketch;
    return true;
}

/* ---- comparing ---- */

const struct sketch_tile *sketch_unknown_index(const struct sketch *sketch,
                                               const struct plan_region *region)
{
    for (size_t i = 0; i < sketch->tile_count; i++)
        if (region_tile(region, sketch->tiles[i].index) == NULL)
            return &sketch->tiles[i];
    return NULL;
}

static bool numbers_agree(const struct sketch *sketch, const struct plan_region *region)
{
    for (size_t i = 0; i < 3; i++)
        if ((sketch->threads[i] > 0 && sketch->threads[i] != region->threads[i]) ||
            (sketch->mma[i] >= 0 && sketch->mma[i] != region->mma[i]))
            return false;
    return (sketch->vector == 0 || sketch->vector == region->vector) &&
           (sketch->depth == 0 || sketch->depth == region->depth) &&
           (sketch->split == 0 || sketch->split == region->split);
}

static bool words_agree(const struct sketch *sketch, const struct plan_region *region)
{
    for (size_t i = 0; i < sketch->primitive_count; i++)
        if (!region_uses(region, sketch->primitives[i]))
            return false;
    for (size_t i = 0; sketch->staging >= 0 && i < region->stage_count; i++)
        if ((int)region->stages[i].staging != sketch->staging)
            return false;
    return (sketch->staging < 0 || region->stage_count > 0) &&
           (sketch->precision < 0 || sketch->precision == (int)region->precision) &&
           (sketch->layout.len == 0 || str_equal(sketch->layout, region->layout)) &&
           (sketch->reverse < 0 || sketch->reverse == region->reverse);
}

bool sketch_agrees(const struct sketch *sketch, const struct plan_region *region)
{
    if (!numbers_agree(sketch, region) || !words_agree(sketch, region))
        return false;
    for (size_t i = 0; i < sketch->tile_count; i++) {
        const struct sketch_tile *wanted = &sketch->tiles[i];
        const struct plan_tile *tile = region_tile(region, wanted->index);

        if (tile == NULL || (wanted->block > 0 && wanted->block != tile->block) ||
            (wanted->thread > 0 && wanted->thread != tile->thread) ||
            (wanted->step > 0 && wanted->step != tile->step))
            return false;
    }
    return true;
}

/* ---- changing ---- */

static void set_tiles(struct arena *arena, const struct sketch *sketch, struct plan_region *region)
{
    struct plan_tile *tiles = arena_array(arena, struct plan_tile, region->tile_count + 1);
    int64_t threads = 1;

    if (region->tile_count > 0)
        memcpy(tiles, region->tiles, region->tile_count * sizeof(tiles[0]));
    for (size_t i = 0; i < region->tile_count; i++) {
        for (size_t k = 0; k < sketch->tile_count; k++) {
            const struct sketch_tile *wanted = &sketch->tiles[k];

            if (!str_equal(wanted->index, tiles[i].index))
                continue;
            tiles[i].block = wanted->block > 0 ? wanted->block : tiles[i].block;
            tiles[i].thread = wanted->thread > 0 ? wanted->thread : tiles[i].thread;
            if (tiles[i].step > 0)
                tiles[i].step = wanted->step > 0 ? wanted->step : tiles[i].block;
        }
        if (tiles[i].step == 0)
            threads *= num_ceil_div(tiles[i].block, tiles[i].thread);
    }
    region->tiles = tiles;
    if ((region_uses(region, PRIMITIVE_REGISTER_TILE) ||
         region_uses(region, PRIMITIVE_TENSOR_CORE_TILE)) &&
        sketch->threads[0] == 0 && sketch->tile_count > 0)
        region->threads[0] = threads;
}

static void set_numbers(const struct sketch *sketch, struct plan_region *region)
{
    for (size_t i = 0; i < 3; i++) {
        region->threads[i] = sketch->threads[i] > 0 ? sketch->threads[i] : region->threads[i];
        region->mma[i] = sketch->mma[i] >= 0 ? sketch->mma[i] : region->mma[i];
    }
    region->vector = sketch->vector > 0 ? sketch->vector : region->vector;
    region->depth = sketch->depth > 0 ? sketch->depth : region->depth;
    region->split = sketch->split > 0 ? sketch->split : region->split;
}

static void set_words(struct arena *arena, const struct sketch *sketch, struct plan_region *region)
{
    struct plan_stage *stages = arena_array(arena, struct plan_stage, region->stage_count + 1);

    for (size_t i = 0; i < region->stage_count; i++) {
        stages[i] = region->stages[i];
        if (sketch->staging >= 0)
            stages[i].staging = (enum staging)sketch->staging;
    }
    region->stages = stages;
    if (sketch->precision >= 0)
        region->precision = (enum compute)sketch->precision;
    if (sketch->layout.len > 0)
        region->layout = sketch->layout;
    if (sketch->reverse >= 0)
        region->reverse = sketch->reverse == 1;
}

/* What makes another kind of kernel: it cannot be priced by changing a choice of this one. */
static const char *lacking(const struct sketch *sketch, const struct plan_region *choice)
{
    for (size_t i = 0; i < sketch->primitive_count; i++)
        if (!region_uses(choice, sketch->primitives[i]))
            return primitive_name(sketch->primitives[i]);
    if (sketch->mma[0] > 0 && choice->mma[0] == 0)
        return primitive_name(PRIMITIVE_TENSOR_CORE_TILE);
    if (sketch->mma[0] == 0 && choice->mma[0] > 0)
        return primitive_name(PRIMITIVE_REGISTER_TILE);
    if (sketch->staging >= 0 && choice->stage_count == 0)
        return "staging";
    return NULL;
}

bool sketch_apply(struct arena *arena, const struct sketch *sketch,
                  const struct plan_region *choice, struct plan_region *out, const char **lacks)
{
    *lacks = lacking(sketch, choice);
    if (*lacks != NULL)
        return false;
    *out = *choice;
    set_numbers(sketch, out);
    set_words(arena, sketch, out);
    set_tiles(arena, sketch, out);
    return true;
}
