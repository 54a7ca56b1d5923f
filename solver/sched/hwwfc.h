#ifndef SOLVER_SCHED_HWWFC_H
#define SOLVER_SCHED_HWWFC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

/*
 * HW-WFC 2.9 to the last bit: its states, costs, and its collapse with all its defects.
 *
 * A layer takes one state: a tile, a layout, a memory.  Scores are dimensionless, more is better;
 * they are no times.  Sums run from left to right in IEEE doubles, as CPython before 3.12 adds;
 * powers, logarithms and exponentials are the C library's.
 *
 * Nothing outside the preset shares the collapse; the native solvers are in factor_graph.h, and
 * hwwfc_graph() makes their problem from this one.
 */
enum {
    HWWFC_TILES_MAX = 64,
    HWWFC_LAYERS_MAX = 1000,
    HWWFC_DIMS_MAX = 16,
    HWWFC_CANDIDATES_MAX = 4096, /* of a layer; one may be named twice */
    HWWFC_NEIGHBORS_MAX = 1000,
    HWWFC_WORK_MAX = 1 << 25 /* of a collapse: layers copied and queued */
};

/* id, name, working-memory multiplier, affinity to row-major, column-major, tiled layout */
#define HWWFC_TYPES(X)                                                                             \
    X(LINEAR, 3.0, .15, 0., .08)                                                                   \
    X(CONV2D, 3.0, .08, 0., .15)                                                                   \
    X(DEPTHWISE_CONV, 2.5, .05, 0., .20)                                                           \
    X(RELU, 2.0, .05, .05, .05)                                                                    \
    X(SOFTMAX, 4.0, .20, 0., .03)                                                                  \
    X(LAYERNORM, 3.0, .05, .05, .05)
enum hwwfc_type {
#define X(id, multiplier, row, column, tiled) HWWFC_##id,
    HWWFC_TYPES(X)
#undef X
        HWWFC_TYPE_COUNT
};
enum hwwfc_layout { HWWFC_ROW, HWWFC_COLUMN, HWWFC_TILED, HWWFC_LAYOUT_COUNT };
enum hwwfc_memory { HWWFC_SRAM, HWWFC_DRAM, HWWFC_MEMORY_COUNT };

struct hwwfc_spec {
    double sram_bytes, dram_gbps, sram_gbps, compute_gflops;
    int64_t alignment_bytes;
};
struct hwwfc_tile {
    int64_t m, n;
};
/* State ids count tiles, then layouts, then memories: (tile * 3 + layout) * 2 + memory. */
struct hwwfc_tiles {
    struct str name;
    const struct hwwfc_tile *tiles;
    size_t count;
};
struct hwwfc_state {
    struct hwwfc_tile tile;
    enum hwwfc_layout layout;
    enum hwwfc_memory memory;
};
struct hwwfc_dim {
    struct str name;
    int64_t value; /* not negative */
};
struct hwwfc_layer {
    struct str name;
    enum hwwfc_type type;
    struct hwwfc_dim dims[HWWFC_DIMS_MAX];
    size_t dim_count;
    const size_t *neighbors; /* layers, in the order given */
    size_t neighbor_count;
    const uint16_t *candidates; /* state ids, in the order given */
    size_t candidate_count;
};
struct hwwfc_problem {
    const struct hwwfc_spec *spec;
    const struct hwwfc_tiles *tiles;
    const struct hwwfc_layer *layers;
    size_t layer_count;
    bool graph; /* some layer names neighbors; else the list is a chain */
};

/* The tile sets "default" and "large" of the original; NULL = neither. */
const struct hwwfc_tiles *hwwfc_tiles_named(struct str name);
size_t hwwfc_state_count(const struct hwwfc_tiles *tiles);
struct hwwfc_state hwwfc_state(const struct hwwfc_tiles *tiles, size_t id);
const char *hwwfc_type_name(enum hwwfc_type type);
/* "64x64 ROW_MAJOR SRAM" */
struct str hwwfc_state_text(struct arena *arena, const struct hwwfc_state *state);
double hwwfc_multiplier(enum hwwfc_type type);

/* The parts of a score. */
struct hwwfc_score {
    int64_t traffic; /* bytes */
    double roofline, affinity, cache, total;
};
/* ERR_LIMIT where a count of flops or bytes passes 2^63. */
bool hwwfc_flops(const struct hwwfc_layer *layer, int64_t *out, struct err *err) MUST_USE;
bool hwwfc_score(const struct hwwfc_layer *layer, const struct hwwfc_state *state,
                 const struct hwwfc_spec *spec, struct hwwfc_score *out, struct err *err) MUST_USE;

/* Hard limits in the order in which the original tests them; slack in bytes, negative = refused. */
enum hwwfc_limit { HWWFC_CAPACITY, HWWFC_ALIGNMENT, HWWFC_WORKING_MEMORY, HWWFC_LIMIT_COUNT };
double hwwfc_slack(enum hwwfc_limit limit, enum hwwfc_type type, const struct hwwfc_state *state,
                   const struct hwwfc_spec *spec);
bool hwwfc_allowed(enum hwwfc_type type, const struct hwwfc_state *state,
                   const struct hwwfc_spec *spec);

/* What it costs to hand over between two states, without weight; and the weight of a spec. */
double hwwfc_penalty(const struct hwwfc_state *a, const struct hwwfc_state *b);
double hwwfc_weight(double sram_bytes);

/* What the code generator launches. */
int64_t hwwfc_warps(int64_t area);
int64_t hwwfc_stages(int64_t area);
int64_t hwwfc_tile_k(int64_t k);

/* An adaptive threshold after the first propagation, target > 0. */
double hwwfc_adapt(double threshold, int64_t removed, int64_t target);

/* Scores of all layers: scores[layer][state id].  Layers of one shape share an array. */
struct hwwfc_scores {
    const double *const *of;
    const int64_t *flops;
};
bool hwwfc_scores(struct arena *arena, const struct hwwfc_problem *problem,
                  struct hwwfc_scores *out, struct err *err) MUST_USE;
/* Candidates that keep the hard limits, in order. */
size_t hwwfc_filter(const struct hwwfc_problem *problem, size_t layer, uint16_t *out);
/* ids by falling score, stable. */
void hwwfc_rank(const double *scores, uint16_t *ids, size_t count);
/* Bits of the distribution that the scores of ranked ids stand for. */
double hwwfc_entropy(const double *scores, const uint16_t *ids, size_t count);

/* Each pair of neighbours once, in the order of the first layer that names it. */
struct hwwfc_edges {
    const size_t (*pairs)[2]; /* lower layer first */
    size_t count;
};
void hwwfc_edges(struct arena *arena, const struct hwwfc_problem *problem, struct hwwfc_edges *out);
/* Sum of scores, then less that of weighted penalties. */
double hwwfc_unary_sum(const struct hwwfc_problem *problem, const struct hwwfc_scores *scores,
                       const size_t *states);
double hwwfc_objective(const struct hwwfc_problem *problem, const struct hwwfc_scores *scores,
                       const struct hwwfc_edges *edges, double weight, const size_t *states);

/* ---- the collapse (hwwfc_run.c) ---- */

struct hwwfc_options {
    bool automatic; /* threshold "auto" */
    double threshold;
    double weight; /* negative = derived from the spec */
    int64_t backtracks_max;
    bool log_entropy;
};
enum hwwfc_event_kind {
    HWWFC_EVENT_EMPTY,      /* a: layer without a candidate after the hard limits */
    HWWFC_EVENT_BOTTLENECK, /* a: layer, value: flops */
    HWWFC_EVENT_COLLAPSE,   /* a: layer, value: state */
    HWWFC_EVENT_AUTO,       /* the same, when one candidate was left */
    HWWFC_EVENT_PROPAGATE,  /* a: from, b: to, value: candidates removed */
    HWWFC_EVENT_ADAPT,
    HWWFC_EVENT_BACKTRACK, /* a: the empty layer */
    HWWFC_EVENT_EXHAUSTED  /* a: the empty layer */
};
struct hwwfc_event {
    enum hwwfc_event_kind kind;
    size_t a, b;
    int64_t value;
};
enum { HWWFC_NONE = -1 };
struct hwwfc_pick {
    int64_t layer;           /* HWWFC_NONE = all are collapsed */
    const double *entropies; /* by layer: NAN collapsed, INFINITY empty */
};
struct hwwfc_run {
    bool success;
    int64_t initial, final; /* candidates in all; as the original reports them */
    int64_t backtracks;
    double final_threshold; /* as reported: 0 on failure */
    double threshold;       /* as the scheduler keeps it */
    const int64_t *states;  /* by layer; HWWFC_NONE = uncollapsed */
    const struct hwwfc_event *events;
    size_t event_count;
    const struct hwwfc_pick *picks; /* with log_entropy */
    size_t pick_count;
};
/* ERR_LIMIT past HWWFC_WORK_MAX. */
bool hwwfc_collapse(struct arena *arena, const struct hwwfc_problem *problem,
                    const struct hwwfc_scores *scores, const struct hwwfc_options *options,
                    struct hwwfc_run *out, struct err *err) MUST_USE;

/* ---- exact, on the list of layers whatever the graph (hwwfc_dp.c) ---- */

struct hwwfc_best {
    bool found; /* each layer has a candidate */
    double score;
    const size_t *states; /* by layer */
};
/* The original's dynamic programming: of equals the earlier candidate. */
void hwwfc_viterbi(struct arena *arena, const struct hwwfc_problem *problem,
                   const struct hwwfc_scores *scores, double weight, struct hwwfc_best *out);
/* The original's "exhaustive" search: of each layer the `top` candidates by score, all
 * combinations, the first of the best.  At most HWWFC_COMBINATIONS_MAX, else not found. */
enum { HWWFC_COMBINATIONS_MAX = 1 << 20 };
void hwwfc_truncated(struct arena *arena, const struct hwwfc_problem *problem,
                     const struct hwwfc_scores *scores, double weight, size_t top,
                     struct hwwfc_best *out);

/* ---- documents (hwwfc_parse.c, hwwfc_check.c) ---- */

/* Members sram_bytes, dram_bandwidth_gbps, sram_bandwidth_gbps, alignment_bytes, compute_gflops; or
 * the shorter names of kernels/machines/hwwfc. */
bool hwwfc_spec_parse(struct arena *arena, const struct json *json, const struct hwwfc_spec **out,
                      struct err *err) MUST_USE;
bool hwwfc_tiles_parse(struct arena *arena, const struct json *json, struct str name,
                       const struct hwwfc_tiles **out, struct err *err) MUST_USE;
/* `candidates` NULL: all states. */
bool hwwfc_problem_parse(struct arena *arena, const struct json *layers,
                         const struct json *candidates, const struct hwwfc_spec *spec,
                         const struct hwwfc_tiles *tiles, struct hwwfc_problem *out,
                         struct err *err) MUST_USE;
/* Member `name` of the document's section: of "specs", "tile_sets", "workloads"; NULL = none. */
const struct json *hwwfc_section(struct arena *arena, const struct json *document,
                                 const char *section, struct str name);
/* By name: the document's own set, else one of the original's; `at` is what names it. */
bool hwwfc_tiles_find(struct arena *arena, const struct json *document, struct str name,
                      const struct json *at, const struct hwwfc_tiles **out,
                      struct err *err) MUST_USE;
/* A workload or a fuzz case: members tile_set, layers, candidates (a list for each layer; without
 * one, or "full", all states). */
bool hwwfc_case_parse(struct arena *arena, const struct json *document, const struct json *at,
                      const struct hwwfc_spec *spec, struct hwwfc_problem *out,
                      struct err *err) MUST_USE;
/* What a recorded run was asked for: threshold, transition_weight, max_backtracks. */
bool hwwfc_options_parse(const struct json *json, struct hwwfc_options *out,
                         struct err *err) MUST_USE;
bool hwwfc_type_parse(const struct json *value, enum hwwfc_type *out, struct err *err) MUST_USE;
/* "M=256,N=512" as dims of `layer`; what `at` names is wrong otherwise. */
bool hwwfc_dims_parse(struct str text, const struct json *at, struct hwwfc_layer *layer,
                      struct err *err) MUST_USE;

/* A file of recorded results against the same computed here.  A file may hold any of the sections,
 * fuzz alone included; a malformed one is an error, a wrong number in it a mismatch. */
enum { HWWFC_COMPLAINTS_MAX = 20, HWWFC_FILE_BYTES_MAX = 64 << 20 };
struct hwwfc_check {
    int64_t comparisons, mismatches;
    const char *complaints[HWWFC_COMPLAINTS_MAX]; /* the first ones */
    size_t complaint_count;
};
bool hwwfc_check(struct arena *arena, const struct json *document, struct hwwfc_check *out,
                 struct err *err) MUST_USE;

#endif
