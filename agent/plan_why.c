/*
 * Why a plan is not among the legal ones, or where it stands if it is.
 *
 * A sketch fixes some numbers of one region.  Of the choices that the space tries there, those that
 * agree with it are judged: a legal one answers with its time and rank, else the one that comes
 * furthest along the limits answers with what stops it.  If the space tries none, the best choice
 * is changed to what the sketch says, and that is judged.
 */
#include <string.h>

#include "base/json.h"

#include "agent/plan_view.h"

enum {
    SKETCH_TILES_MAX = OP_LOOPS_MAX,
    SKETCH_NUMBER_MAX = 1 << 30,
    SKETCH_BYTES_MAX = 1 << 16,
    SCRATCH_BYTES = 64 << 20
};

struct sketch_tile {
    struct str index;
    int64_t block, thread, step; /* 0 = free */
};
struct sketch {
    size_t region;                /* OP_NONE = the first that has the indices */
    int64_t threads[3];           /* 0 = free */
    int64_t vector, depth, split; /* 0 = free */
    int64_t mma[3];               /* 0 = free */
    struct sketch_tile tiles[SKETCH_TILES_MAX];
    size_t tile_count;
    enum primitive primitives[PRIMITIVE_COUNT];
    size_t primitive_count;
};

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
    if (json->count <= SKETCH_TILES_MAX)
        return true;
    return json_fail(json, err, "%zu tiles; a statement has at most %d indices", json->count,
                     SKETCH_TILES_MAX);
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

static bool read_three(const struct json *json, int64_t out[3], struct err *err)
{
    for (size_t i = 0; i < 3; i++)
        if (!read_number(&json->items[i], &out[i], err))
            return false;
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
    return read_three(json, sketch->threads, err);
}

static bool read_mma(const struct json *json, struct sketch *sketch, struct err *err)
{
    if (json->kind != JSON_ARRAY || json->count != 3)
        return json_fail(json, err, "expected three numbers: m, n and k of the instruction");
    return read_three(json, sketch->mma, err);
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

static bool read_sketch(struct arena *arena, const char *text, struct sketch *out, struct err *err)
{
    static const char *const known[] = {"region", "tile",  "tiles", "threads",    "vector",
                                        "depth",  "split", "mma",   "primitives", NULL};
    struct sketch sketch = {.region = OP_NONE};
    const struct json *json, *member;
    int64_t region = -1;

    if (strlen(text) > SKETCH_BYTES_MAX)
        return err_raise(err, ERR_USAGE, "--why-not takes at most %d bytes", SKETCH_BYTES_MAX);
    if (!json_parse(arena, str_from(text), "--why-not", &json, err))
        return false;
    if (json->kind != JSON_OBJECT || json->count == 0)
        return json_fail(json, err, "expected an object such as {\"tile\": {\"m\": 128}}");
    if (!json_only(json, known, err) ||
        !json_opt_int(json, "region", 0, PLAN_REGIONS_MAX - 1, &region, err))
        return false;
    if (((member = json_get(json, "tile")) && !read_tile(member, &sketch, err)) ||
        ((member = json_get(json, "tiles")) && !read_tiles(member, &sketch, err)) ||
        ((member = json_get(json, "threads")) && !read_threads(member, &sketch, err)) ||
        ((member = json_get(json, "vector")) && !read_number(member, &sketch.vector, err)) ||
        ((member = json_get(json, "depth")) && !read_number(member, &sketch.depth, err)) ||
        ((member = json_get(json, "split")) && !read_number(member, &sketch.split, err)) ||
        ((member = json_get(json, "mma")) && !read_mma(member, &sketch, err)) ||
        ((member = json_get(json, "primitives")) && !read_primitives(member, &sketch, err)))
        return false;
    if (region >= 0)
        sketch.region = (size_t)region;
    *out = sketch;
    return true;
}

/* ---- which region ---- */

static const struct sketch_tile *unknown_index(const struct sketch *sketch,
                                               const struct plan_region *region)
{
    for (size_t i = 0; i < sketch->tile_count; i++)
        if (region_tile(region, sketch->tiles[i].index) == NULL)
            return &sketch->tiles[i];
    return NULL;
}

static bool wrong_index(const struct plan_view *view, const struct sketch *sketch, size_t region,
                        struct err *err)
{
    const struct plan_region *own = &view->skeleton->regions[region];
    struct buf known;

    buf_init(&known, view->task.arena, ERR_TEXT_BYTES / 2);
    for (size_t i = 0; i < own->tile_count; i++)
        buf_printf(&known, "%s%.*s", i > 0 ? ", " : "", STR_ARG(own->tiles[i].index));
    return err_raise(
        err, ERR_USAGE, "--why-not: region %zu has no tile of an index \"%.*s\"; it has %.*s",
        region, STR_ARG(unknown_index(sketch, own)->index),
        own->tile_count > 0 ? (int)known.len : 4, own->tile_count > 0 ? known.at : "none");
}

static bool find_region(const struct plan_view *view, const struct sketch *sketch, size_t *out,
                        struct err *err)
{
    const struct plan *plan = view->skeleton;
    size_t region = sketch->region;

    for (size_t r = 0; region == OP_NONE && r < plan->region_count; r++)
        if (unknown_index(sketch, &plan->regions[r]) == NULL)
            region = r;
    if (region == OP_NONE)
        region = 0;
    if (region >= plan->region_count)
        return err_raise(err, ERR_USAGE, "--why-not: there is no region %zu; the plan has %zu",
                         region, plan->region_count);
    if (unknown_index(sketch, &plan->regions[region]) != NULL)
        return wrong_index(view, sketch, region, err);
    *out = region;
    return true;
}

/* ---- judging ---- */

/* What the sketch says of pipeline, split and tensor cores and the region has otherwise. */
static const char *missing_stage(const struct sketch *sketch, const struct plan_region *region)
{
    for (size_t i = 0; i < 3; i++)
        if (sketch->mma[i] > 0 && sketch->mma[i] != region->mma[i])
            return "has this mma";
    if (sketch->depth > 0 && sketch->depth != region->depth)
        return "has this depth";
    if (sketch->split > 0 && sketch->split != region->split)
        return "has this split";
    return NULL;
}

static bool agrees(const struct sketch *sketch, const struct plan_region *region)
{
    for (size_t i = 0; i < 3; i++)
        if (sketch->threads[i] > 0 && sketch->threads[i] != region->threads[i])
            return false;
    if ((sketch->vector > 0 && sketch->vector != region->vector) || missing_stage(sketch, region))
        return false;
    for (size_t i = 0; i < sketch->primitive_count; i++)
        if (!region_uses(region, sketch->primitives[i]))
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

struct search {
    const struct plan_view *view;
    const struct sketch *sketch;
    struct plan trial;
    struct plan_region *regions; /* of the trial */
    struct plan_why *why;
    double seconds; /* of the cheapest legal choice, of its region alone */
};

static double seconds_of(struct search *s, const struct plan_region *choice)
{
    const struct plan_task *task = &s->view->task;
    struct region_cost cost;
    struct arena scratch;

    arena_init(&scratch, SCRATCH_BYTES);
    s->regions[s->why->region] = *choice;
    cost_region(&scratch, &s->trial, s->why->region, task->bound, task->machine, &cost);
    arena_release(&scratch);
    return cost.seconds;
}

static void choose(struct search *s, const struct plan_region *choice)
{
    struct plan_region *kept = arena_new(s->view->task.arena, struct plan_region);

    *kept = *choice;
    s->why->choice = kept;
}

static void judge(struct search *s, const struct plan_region *choice, const struct limits *limits)
{
    struct plan_why *why = s->why;
    bool furthest = true;

    why->matching++;
    if (limits->legal) {
        const double seconds = seconds_of(s, choice);

        if (why->legal++ == 0 || seconds < s->seconds) {
            s->seconds = seconds;
            why->reason = STR_LIT("");
            choose(s, choice);
        }
        return;
    }
    for (size_t i = limits->over.limit; i < LIMIT_COUNT; i++)
        furthest &= why->refused[i] == 0;
    why->refused[limits->over.limit]++;
    if (why->legal > 0 || !furthest)
        return;
    why->reason = str_from(str_copy(s->view->task.arena, limits->reason));
    choose(s, choice);
}

static void visit(void *context, const struct plan_region *choice, const struct limits *limits)
{
    struct search *s = context;

    if (agrees(s->sketch, choice))
        judge(s, choice, limits);
}

/* ---- what the space does not try ---- */

static void set_tiles(struct arena *arena, const struct sketch *sketch, struct plan_region *region)
{
    struct plan_tile *tiles = arena_array(arena, struct plan_tile, region->tile_count + 1);

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
    }
    region->tiles = tiles;
}

/* The threads of a tile or chain follow from it, where the sketch leaves them free. */
static void set_threads(const struct plan_task *task, const struct sketch *sketch,
                        struct plan_region *region)
{
    struct footprint footprint;
    const char *why;

    for (size_t i = 0; i < 3; i++)
        if (sketch->threads[i] > 0)
            region->threads[i] = sketch->threads[i];
    if (sketch->threads[0] > 0 || !footprint_of(task->arena, region, task->bound, &footprint, &why))
        return;
    if (footprint.kind == FOOTPRINT_TILE || footprint.kind == FOOTPRINT_CHAIN)
        region->threads[0] = footprint.threads;
}

/* A primitive, pipeline or instruction that no kernel of the region's kind uses cannot be priced:
 * saying so is the answer. */
static bool lacks_choice(struct search *s, const struct plan_region *region)
{
    const char *what = missing_stage(s->sketch, region), *name = "";
    struct buf text;

    for (size_t i = 0; i < s->sketch->primitive_count && what == NULL; i++) {
        if (region_uses(region, s->sketch->primitives[i]))
            continue;
        what = "uses ";
        name = primitive_name(s->sketch->primitives[i]);
    }
    if (what == NULL)
        return false;
    buf_init(&text, s->view->task.arena, ERR_TEXT_BYTES);
    buf_printf(&text, "no choice of region %zu with these numbers %s%s", s->why->region, what,
               name);
    s->why->reason = buf_view(&text);
    choose(s, region);
    return true;
}

static void judge_outside(struct search *s)
{
    const struct plan_view *view = s->view;
    const struct plan_task *task = &view->task;
    const struct plan *from = view->best_count > 0 ? view->best[0].plan : view->skeleton;
    struct plan_region region = from->regions[s->why->region];
    struct limits limits;
    struct err err;

    if (s->sketch->vector > 0)
        region.vector = s->sketch->vector;
    set_tiles(task->arena, s->sketch, &region);
    set_threads(task, s->sketch, &region);
    s->why->outside = true;
    if (lacks_choice(s, &region))
        return;
    s->regions[s->why->region] = region;
    if (!plan_check(&s->trial, task->op, &err)) {
        s->why->reason = str_from(str_copy(task->arena, str_from(err.text)));
        choose(s, &region);
        return;
    }
    region_limits(task->arena, &s->trial, s->why->region, task->bound, task->machine, &limits);
    judge(s, &region, &limits);
    s->why->matching = 0;
}

/* ---- the answer ---- */

/* A sketch leaves the direction free, and a region takes as long in either: so the choice walks as
 * the best plan's region does, and the edges keep their terms. */
static void turn_as(struct search *s, const struct plan_region *best)
{
    struct plan_region turned = *s->why->choice;

    turned.reverse = best->reverse;
    choose(s, &turned);
}

static void stand(struct search *s)
{
    const struct plan_view *view = s->view;
    const size_t region = s->why->region;

    if (view->best_count == 0) { /* another region, or the tensors, have no place */
        s->why->reason = view->why_none;
        return;
    }
    const struct plan_ranked *best = &view->best[0];

    turn_as(s, &best->plan->regions[region]);
    s->why->seconds = best->cost.seconds - best->cost.regions[region].seconds + s->seconds;
    s->why->of = view->space.domains[region].count;
    s->why->rank = 1;
    for (size_t i = 0; i < s->why->of; i++)
        s->why->rank += view->seconds[region][i] < s->seconds;
}

bool plan_why_not(const struct plan_view *view, const char *text, struct plan_why *out,
                  struct err *err)
{
    const struct plan_task *task = &view->task;
    struct plan_why why = {.region = 0};
    struct sketch sketch;
    struct search s = {.view = view, .sketch = &sketch, .trial = *view->skeleton, .why = &why};

    if (!read_sketch(task->arena, text, &sketch, err) ||
        !find_region(view, &sketch, &why.region, err))
        return false;
    s.regions = arena_array(task->arena, struct plan_region, s.trial.region_count);
    memcpy(s.regions, s.trial.regions, s.trial.region_count * sizeof(s.regions[0]));
    s.trial.regions = s.regions;
    space_visit(task->arena, view->skeleton, task->bound, task->machine, why.region, visit, &s);
    if (why.matching == 0)
        judge_outside(&s);
    if (why.legal > 0)
        stand(&s);
    *out = why;
    return true;
}
