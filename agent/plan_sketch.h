#ifndef AGENT_PLAN_SKETCH_H
#define AGENT_PLAN_SKETCH_H

#include "solver/ir/ir.h"

/*
 * Some numbers of one region, the rest free: what `--why-not` asks about.  JSON:
 *
 *   {"region": 0, "tile": {"m": 128, "k": {"block": 8, "thread": 1, "step": 8}}, "threads": 256,
 *    "vector": 4, "primitives": ["warp-cooperative-summary"], "staging": "async", "depth": 3,
 *    "split": 4, "mma": [16, 8, 16], "precision": "bf16", "layout": "swizzled", "reverse": false}
 *
 * A region of a plan document is a sketch too.
 */
struct sketch_tile {
    struct str index;
    int64_t block, thread, step; /* 0 = free */
};
struct sketch {
    size_t region;      /* OP_NONE = the first that has the indices */
    int64_t threads[3]; /* 0 = free; so are the next three */
    int64_t vector, depth, split;
    int64_t mma[3]; /* -1 = free, three zeros = none */
    struct sketch_tile tiles[OP_LOOPS_MAX];
    size_t tile_count;
    enum primitive primitives[PRIMITIVE_COUNT];
    size_t primitive_count;
    int staging;       /* of every stage; -1 = free */
    int precision;     /* enum compute; -1 = free */
    struct str layout; /* empty = free */
    int reverse;       /* -1 = free */
};

/* Errors name "--why-not" and the place in the text. */
bool sketch_parse(struct arena *arena, const char *text, struct sketch *out,
                  struct err *err) MUST_USE;
/* The first index that the region does not tile; NULL: there is none. */
const struct sketch_tile *sketch_unknown_index(const struct sketch *sketch,
                                               const struct plan_region *region);
bool sketch_agrees(const struct sketch *sketch, const struct plan_region *region);
/* The choice, changed to what the sketch says, in `arena`.  False: a choice of that kind cannot be
 * so: *lacks names what it does not have. */
bool sketch_apply(struct arena *arena, const struct sketch *sketch,
                  const struct plan_region *choice, struct plan_region *out, const char **lacks);

#endif
