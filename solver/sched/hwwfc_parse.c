/*
 * HW-WFC's specs, tile sets and layers from JSON.
 *
 * The bounds keep all products that do not depend on a layer's dims inside 63 bits, and what does
 * is checked where it is multiplied.  As in the original, names of layers that do not exist are no
 * neighbours, and of two layers of one name the later is meant.
 */
#include <string.h>

#include "base/map.h"

#include "solver/sched/hwwfc.h"

enum { SIDE_MAX = 1 << 16 };
static const double sram_bytes_max = 0x1p50, rate_max = 1e15;
static const int64_t dim_max = INT64_C(1) << 40;

/* ---- specs and tiles ---- */

static bool rate(const struct json *json, const char *name, const char *short_name, double *out,
                 struct err *err)
{
    const char *key = json_get(json, name) == NULL ? short_name : name;
    if (!json_need_real(json, key, out, err))
        return false;
    if (!(*out >= 0 && *out <= rate_max))
        return json_fail(json_get(json, key), err, "expected a number from 0 to 1e15");
    return true;
}

bool hwwfc_spec_parse(struct arena *arena, const struct json *json, const struct hwwfc_spec **out,
                      struct err *err)
{
    struct hwwfc_spec *spec = arena_new(arena, struct hwwfc_spec);
    if (json->kind != JSON_OBJECT)
        return json_fail(json, err, "expected an object");
    if (!rate(json, "dram_bandwidth_gbps", "dram_gbps", &spec->dram_gbps, err) ||
        !rate(json, "sram_bandwidth_gbps", "sram_gbps", &spec->sram_gbps, err) ||
        !rate(json, "compute_gflops", "compute_gflops", &spec->compute_gflops, err) ||
        !json_need_int(json, "alignment_bytes", 1, INT32_MAX, &spec->alignment_bytes, err) ||
        !json_need_real(json, "sram_bytes", &spec->sram_bytes, err))
        return false;
    if (!(spec->sram_bytes >= 1 && spec->sram_bytes <= sram_bytes_max))
        return json_fail(json_get(json, "sram_bytes"), err, "expected a number from 1 to 2^50");
    *out = spec;
    return true;
}

static bool whole(const struct json *value, int64_t min, int64_t max, int64_t *out, struct err *err)
{
    if (value->kind != JSON_INT || value->integer < min || value->integer > max)
        return json_fail(value, err, "expected an integer from %lld to %lld", (long long)min,
                         (long long)max);
    *out = value->integer;
    return true;
}

bool hwwfc_tiles_parse(struct arena *arena, const struct json *json, struct str name,
                       const struct hwwfc_tiles **out, struct err *err)
{
    struct hwwfc_tiles *set = arena_new(arena, struct hwwfc_tiles);
    const struct json *list;
    if (!json_need_array(json, "tiles", 1, HWWFC_TILES_MAX, &list, err))
        return false;
    struct hwwfc_tile *tiles = arena_array(arena, struct hwwfc_tile, list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct json *item = &list->items[i];
        if (item->kind != JSON_ARRAY || item->count != 2)
            return json_fail(item, err, "expected [tile_m, tile_n]");
        if (!whole(&item->items[0], 1, SIDE_MAX, &tiles[i].m, err) ||
            !whole(&item->items[1], 1, SIDE_MAX, &tiles[i].n, err))
            return false;
    }
    *set = (struct hwwfc_tiles){name, tiles, list->count};
    *out = set;
    return true;
}

/* ---- layers ---- */

bool hwwfc_type_parse(const struct json *value, enum hwwfc_type *out, struct err *err)
{
    const char *words[HWWFC_TYPE_COUNT];
    size_t at;
    for (int i = 0; i < HWWFC_TYPE_COUNT; i++)
        words[i] = hwwfc_type_name((enum hwwfc_type)i);
    if (!json_word(value, words, HWWFC_TYPE_COUNT, &at, err))
        return false;
    *out = (enum hwwfc_type)at;
    return true;
}

static bool parse_dims(const struct json *dims, struct hwwfc_layer *layer, struct err *err)
{
    if (dims->count > HWWFC_DIMS_MAX)
        return json_fail(dims, err, "more than %d dims", HWWFC_DIMS_MAX);
    layer->dim_count = dims->count;
    for (size_t i = 0; i < dims->count; i++) {
        layer->dims[i].name = dims->keys[i];
        if (!whole(&dims->items[i], 0, dim_max, &layer->dims[i].value, err))
            return false;
    }
    return true;
}

/* The digits up to `end` as a number; false unless they are one of at most dim_max. */
static bool parse_digits(const char *at, const char *end, int64_t *out)
{
    int64_t value = 0;
    if (at == end)
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        value = value * 10 + (*at - '0');
        if (value > dim_max)
            return false;
    }
    *out = value;
    return true;
}

bool hwwfc_dims_parse(struct str text, const struct json *at, struct hwwfc_layer *layer,
                      struct err *err)
{
    const char *from = text.at, *end = text.at + text.len;
    layer->dim_count = 0;
    while (from < end) {
        const char *comma = memchr(from, ',', (size_t)(end - from));
        const char *stop = comma == NULL ? end : comma;
        const char *equals = memchr(from, '=', (size_t)(stop - from));
        if (equals == NULL || layer->dim_count == HWWFC_DIMS_MAX)
            return json_fail(at, err, "expected dims like M=256,N=512");
        struct hwwfc_dim *dim = &layer->dims[layer->dim_count++];
        dim->name = (struct str){from, (size_t)(equals - from)};
        if (!parse_digits(equals + 1, stop, &dim->value))
            return json_fail(at, err, "a dim is no number from 0 to 2^40");
        from = comma == NULL ? end : comma + 1;
    }
    return true;
}

static bool parse_candidates(struct arena *arena, const struct json *list, size_t state_count,
                             struct hwwfc_layer *layer, struct err *err)
{
    const size_t count = list == NULL ? state_count : list->count;
    uint16_t *ids = arena_array(arena, uint16_t, count + 1);
    if (list != NULL && list->kind != JSON_ARRAY)
        return json_fail(list, err, "expected an array of state ids");
    if (count > HWWFC_CANDIDATES_MAX)
        return json_fail(list, err, "more than %d candidates", HWWFC_CANDIDATES_MAX);
    for (size_t i = 0; i < count; i++) {
        int64_t id = (int64_t)i;
        if (list != NULL && !whole(&list->items[i], 0, (int64_t)state_count - 1, &id, err))
            return false;
        ids[i] = (uint16_t)id;
    }
    layer->candidates = ids;
    layer->candidate_count = count;
    return true;
}

static bool parse_neighbors(struct arena *arena, const struct json *json, const struct map *names,
                            struct hwwfc_layer *layer, struct err *err)
{
    const struct json *list = json_get(json, "neighbors");
    if (list == NULL)
        return true;
    if (!json_need_array(json, "neighbors", 0, HWWFC_NEIGHBORS_MAX, &list, err))
        return false;
    size_t *neighbors = arena_array(arena, size_t, list->count + 1);
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].kind != JSON_STRING)
            return json_fail(&list->items[i], err, "expected a layer's name");
        const size_t *known = map_get(names, list->items[i].string);
        if (known != NULL)
            neighbors[layer->neighbor_count++] = *known;
    }
    layer->neighbors = neighbors;
    return true;
}

static bool parse_layer(const struct json *json, struct hwwfc_layer *layer, struct err *err)
{
    const struct json *dims, *type;
    return json_need_str(json, "name", &layer->name, err) &&
           json_need(json, "type", JSON_STRING, &type, err) &&
           hwwfc_type_parse(type, &layer->type, err) &&
           json_need(json, "dims", JSON_OBJECT, &dims, err) && parse_dims(dims, layer, err);
}

bool hwwfc_problem_parse(struct arena *arena, const struct json *layers,
                         const struct json *candidates, const struct hwwfc_spec *spec,
                         const struct hwwfc_tiles *tiles, struct hwwfc_problem *out,
                         struct err *err)
{
    if (layers->kind != JSON_ARRAY || layers->count == 0 || layers->count > HWWFC_LAYERS_MAX)
        return json_fail(layers, err, "expected an array of 1 to %d layers", HWWFC_LAYERS_MAX);
    if (candidates != NULL &&
        (candidates->kind != JSON_ARRAY || candidates->count != layers->count))
        return json_fail(candidates, err, "expected a list for each layer");
    struct hwwfc_layer *parsed = arena_array(arena, struct hwwfc_layer, layers->count);
    struct map names;
    bool is_new, graph = false;
    map_init(&names, arena);
    for (size_t i = 0; i < layers->count; i++) {
        const struct json *list = candidates == NULL ? NULL : &candidates->items[i];
        const struct json *neighbors = json_get(&layers->items[i], "neighbors");
        graph = graph || (neighbors != NULL && neighbors->count > 0);
        if (!parse_layer(&layers->items[i], &parsed[i], err) ||
            !parse_candidates(arena, list, hwwfc_state_count(tiles), &parsed[i], err))
            return false;
        *map_put(&names, parsed[i].name, &is_new) = i;
    }
    for (size_t i = 0; i < layers->count; i++)
        if (!parse_neighbors(arena, &layers->items[i], &names, &parsed[i], err))
            return false;
    *out = (struct hwwfc_problem){spec, tiles, parsed, layers->count, graph};
    return true;
}

/* ---- what documents hold ---- */

const struct json *hwwfc_section(struct arena *arena, const struct json *document,
                                 const char *section, struct str name)
{
    const struct json *all = json_get(document, section);
    return all == NULL ? NULL : json_get(all, str_copy(arena, name));
}

bool hwwfc_tiles_find(struct arena *arena, const struct json *document, struct str name,
                      const struct json *at, const struct hwwfc_tiles **out, struct err *err)
{
    const struct json *own = hwwfc_section(arena, document, "tile_sets", name);
    const struct hwwfc_tiles *known = hwwfc_tiles_named(name);
    if (own != NULL)
        return hwwfc_tiles_parse(arena, own, name, out, err);
    if (known == NULL)
        return json_fail(at, err, "there is no tile set %.*s; known are default, large%s",
                         STR_ARG(name),
                         json_get(document, "tile_sets") == NULL ? "" : " and the document's own");
    *out = known;
    return true;
}

bool hwwfc_case_parse(struct arena *arena, const struct json *document, const struct json *at,
                      const struct hwwfc_spec *spec, struct hwwfc_problem *out, struct err *err)
{
    const struct json *layers, *candidates = json_get(at, "candidates");
    const struct hwwfc_tiles *tiles;
    struct str set;
    if (candidates != NULL && candidates->kind == JSON_STRING &&
        str_equal(candidates->string, STR_LIT("full")))
        candidates = NULL;
    return json_need_str(at, "tile_set", &set, err) &&
           json_need(at, "layers", JSON_ARRAY, &layers, err) &&
           hwwfc_tiles_find(arena, document, set, at, &tiles, err) &&
           hwwfc_problem_parse(arena, layers, candidates, spec, tiles, out, err);
}

bool hwwfc_options_parse(const struct json *json, struct hwwfc_options *out, struct err *err)
{
    const struct json *threshold = json_get(json, "threshold");
    const struct json *weight = json_get(json, "transition_weight");
    struct hwwfc_options options = {.weight = -1};
    if (threshold == NULL)
        return json_fail(json, err, "it has no threshold");
    if (threshold->kind == JSON_STRING && str_equal(threshold->string, STR_LIT("auto")))
        options.automatic = true;
    else if (!json_number(threshold, &options.threshold, err))
        return false;
    if (weight != NULL && weight->kind != JSON_NULL) {
        if (!json_number(weight, &options.weight, err))
            return false;
        if (!(options.weight >= 0))
            return json_fail(weight, err, "expected a number that is not negative");
    }
    if (!json_need_int(json, "max_backtracks", 0, INT32_MAX, &options.backtracks_max, err))
        return false;
    *out = options;
    return true;
}
