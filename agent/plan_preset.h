#ifndef AGENT_PLAN_PRESET_H
#define AGENT_PLAN_PRESET_H

#include "agent/agent.h"
#include "solver/sched/sched.h"

/*
 * plan --preset hwwfc: what HW-WFC 2.9 chooses, its defects included, for an op spec that it has
 * layers for or for the problems of a document in its own format:
 *
 *   an op spec          one problem, at a shape (hwwfc_op.h)
 *   {"layers": ...}     one problem, as an item of "fuzz"
 *   {"workloads": ...}  each of them, on the machine asked for or on each of "specs"
 *   {"fuzz": [...]}     each, on its own "spec", with what its "result" was asked for
 */
struct preset_args {
    const char *preset; /* "hwwfc[,threshold=T][,weight=W][,backtracks=N]" */
    const char *file;
    const char *machine; /* of "specs", then of kernels/machines/hwwfc; NULL = default */
    const char *shape;   /* of an op spec */
    bool explain, json;
};
/* The report; EXIT_FAILED: the collapse found no plan for some problem. */
bool plan_preset(struct session *session, const struct preset_args *args, struct str *out,
                 int *status, struct err *err) MUST_USE;

/* ---- plan_preset_text.c: one problem's plan ---- */

struct preset_plan {
    struct str name, machine; /* of the problem, of its spec */
    struct hwwfc_problem problem;
    struct hwwfc_options options;
    struct hwwfc_scores scores;
    struct hwwfc_edges edges;
    struct hwwfc_run run;
    double weight;
    const size_t *states; /* by layer; NULL without success */
    double unary_sum, objective;
};
void preset_text(struct arena *arena, struct buf *out, const struct preset_plan *plan,
                 bool explain);
void preset_json(struct arena *arena, struct json_writer *w, const struct preset_plan *plan);

#endif
