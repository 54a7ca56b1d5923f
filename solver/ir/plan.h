#ifndef SOLVER_IR_PLAN_H
#define SOLVER_IR_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "base/vocab.h"

#include "solver/ir/formula.h"
#include "solver/ir/op.h"

/*
 * Plan, version 1: a cover of the op's statements by regions, and how each is realised.
 * Task, version 1: (spec hash, track, target shape, machine).
 */
enum { PLAN_REGIONS_MAX = 1000, PLAN_EDGES_MAX = 4096, PLAN_BYTES_MAX = 4 << 20 };

enum staging { STAGE_DIRECT, STAGE_REGISTER, STAGE_SHARED, STAGE_ASYNC };
enum residency { RESIDE_GLOBAL, RESIDE_SHARED, RESIDE_REGISTER, RESIDE_RECOMPUTE };

/* Of tiles in shared memory: rows with padding beside them, or without it, their parts exchanged.
 */
#define LAYOUT_ROW_MAJOR "row-major"
#define LAYOUT_SWIZZLED  "swizzled"

struct plan_tile {
    struct str index; /* loop name in the region */
    int64_t block;    /* iterations a block covers */
    int64_t thread;   /* iterations a thread covers */
    int64_t step;     /* of a reduced loop: iterations a stage covers; else 0 */
};
struct plan_stage {
    struct str tensor;
    enum staging staging;
};
struct plan_region {
    const size_t *stmts; /* ascending */
    size_t stmt_count;
    const enum primitive *primitives;
    size_t primitive_count;
    const struct plan_tile *tiles;
    size_t tile_count;
    const struct plan_stage *stages;
    size_t stage_count;
    int64_t threads[3];
    int64_t vector; /* elements an access */
    int64_t depth;  /* pipeline stages, 1 = none */
    int64_t split;  /* of the reduction over blocks, 1 = none */
    int64_t mma[3]; /* m, n, k of the instruction; 0 = none */
    enum compute precision;
    struct str layout; /* LAYOUT_ROW_MAJOR or another name */
    bool reverse;      /* blocks walk the region's output from its end */
};
struct plan_edge {
    struct str tensor;
    size_t from, to; /* regions */
    enum residency residency;
};
struct plan {
    struct hash op;
    struct str track;
    struct str machine;
    const struct plan_region *regions;
    size_t region_count;
    const struct plan_edge *edges;
    size_t edge_count;
    const struct formula *guard;
    bool deterministic;
};

bool plan_parse(struct arena *arena, const struct json *json, const struct plan **out,
                struct err *err) MUST_USE;
void plan_print(struct json_writer *w, const struct plan *plan);
struct hash plan_hash(const struct plan *plan);
/* What a plan says, looked up; NULL: the region does not tile that loop. */
/* Of all but names and layouts, which are borrowed. */
struct plan_region plan_region_copy(struct arena *arena, const struct plan_region *region);
const struct plan *plan_copy(struct arena *arena, const struct plan *plan);
bool region_uses(const struct plan_region *region, enum primitive primitive);
bool plan_uses(const struct plan *plan, enum primitive primitive); /* a region does; NULL: none */
const struct plan_tile *region_tile(const struct plan_region *region, struct str index);
/* Every statement in exactly one region, regions and edges consistent with the op. */
bool plan_check(const struct plan *plan, const struct op *op, struct err *err) MUST_USE;

struct task {
    struct hash op;
    struct str op_name;
    struct str track;
    const struct str *dim_names; /* target shape: variables only */
    const int64_t *dim_values;
    size_t dim_count;
    struct str machine;
};
bool task_parse(struct arena *arena, const struct json *json, const struct task **out,
                struct err *err) MUST_USE;
void task_print(struct json_writer *w, const struct task *task);
/* The task of a bound op; `out` shares names with the op. */
struct task task_of(struct arena *arena, const struct bound_op *target, const struct track *track,
                    struct str machine);
struct hash task_hash(const struct task *task);

const char *staging_name(enum staging staging);
const char *residency_name(enum residency residency);

#endif
