#ifndef SOLVER_SCHED_HWWFC_CHECK_INT_H
#define SOLVER_SCHED_HWWFC_CHECK_INT_H

#include "solver/sched/hwwfc.h"

/* Shared by the hwwfc_check*.c files: one walk over a file of recorded results. */
struct checker {
    struct arena *arena;   /* complaints, specs, tile sets */
    struct arena *scratch; /* one case's */
    const struct json *document;
    struct hwwfc_check *out;
};

/* json_get that finds nothing in nothing. */
const struct json *member(const struct json *object, const char *key);

/* One comparison each.  `at` NULL is a mismatch: the member is missing.  Doubles must be the same
 * number; integers count as doubles too. */
void expect_int(struct checker *c, const struct json *at, int64_t want);
void expect_real(struct checker *c, const struct json *at, double want);
void expect_text(struct checker *c, const struct json *at, const char *want);
void expect_bool(struct checker *c, const struct json *at, bool want);
void expect_null(struct checker *c, const struct json *at);
/* An array of `count`; false, and a mismatch, otherwise. */
bool expect_count(struct checker *c, const struct json *at, size_t count);
void expect_ids(struct checker *c, const struct json *at, const uint16_t *ids, size_t count);
void expect_states(struct checker *c, const struct json *at, const size_t *states, size_t count);
/* "64x64 ROW_MAJOR SRAM" for each. */
void expect_states_text(struct checker *c, const struct json *at, const struct hwwfc_tiles *tiles,
                        const size_t *states, size_t count);

/* By name: the document's own, else the program's. */
bool checker_tiles(struct checker *c, struct str name, const struct json *at,
                   const struct hwwfc_tiles **out, struct err *err) MUST_USE;
bool checker_spec(struct checker *c, struct str name, const struct json *at,
                  const struct hwwfc_spec **out, struct err *err) MUST_USE;
const char *layer_name(struct checker *c, const struct hwwfc_problem *problem, size_t layer);
size_t unique_states(const int64_t *states, size_t count);

/* hwwfc_check_run.c; `run` NULL = not asked for. */
bool check_run(struct checker *c, const struct hwwfc_problem *problem,
               const struct hwwfc_scores *scores, const struct json *ref, struct hwwfc_run *run,
               struct err *err) MUST_USE;
void check_best(struct checker *c, const struct hwwfc_problem *problem,
                const struct hwwfc_scores *scores, double weight, const struct json *ref);

/* Sections; each takes the section's value. */
bool check_tables(struct checker *c, struct err *err) MUST_USE;  /* hwwfc_check_tables.c */
bool check_results(struct checker *c, struct err *err) MUST_USE; /* hwwfc_check_results.c */
bool check_safety(struct checker *c, struct err *err) MUST_USE;  /* hwwfc_check_safety.c */

#endif
