#ifndef AGENT_BENCH_SOLVER_H
#define AGENT_BENCH_SOLVER_H

#include "agent/agent.h"
#include "solver/sched/sched.h"

/* Private to bench-solver: its solvers, the problems that it solves (bench_problems.c), random
 * graphs (bench_random.c). */
#define BENCH_SOLVERS(X)                                                                           \
    X(EXACT, "exact", factor_solve)                                                                \
    X(ELIMINATE, "elim", factor_eliminate)                                                         \
    X(BNB, "bnb", factor_bnb)                                                                      \
    X(BEAM, "beam", factor_beam)                                                                   \
    X(WFC, "wfc", factor_wfc)
enum bench_solver {
#define X(id, name, function) SOLVER_##id,
    BENCH_SOLVERS(X)
#undef X
        BENCH_SOLVER_COUNT
};
struct bench_solver_entry {
    const char *name;
    void (*solve)(struct arena *, const struct factor_graph *, const struct factor_options *,
                  struct factor_result *);
};
extern const struct bench_solver_entry bench_solvers[BENCH_SOLVER_COUNT];

struct bench_problem {
    const char *group, *name;
    const char *unit; /* of costs: "s", or "" for a score */
    struct factor_graph graph;
    double compile_us; /* scores or costs, domains, tables; 0 = not measured */
    /* HW-WFC's only; NULL elsewhere */
    const struct hwwfc_problem *hwwfc;
    const struct hwwfc_scores *scores;
};
enum { BENCH_PROBLEMS_MAX = 512 };
struct bench_problems {
    struct bench_problem items[BENCH_PROBLEMS_MAX];
    size_t count;
};

/* HW-WFC's workloads on the specs of kernels/machines/hwwfc. */
bool bench_hwwfc(struct session *session, struct bench_problems *out, struct err *err) MUST_USE;
/* Chains of 200 layers, and of 100, 1,000 and 10,000; repeated ones and ones without repetition. */
bool bench_chains(struct session *session, struct bench_problems *out, struct err *err) MUST_USE;
/* The plan spaces of kernels/ops on the default machine; what has no skeleton is left out. */
bool bench_plans(struct session *session, struct bench_problems *out, struct err *err) MUST_USE;
/* Grids of random costs with forbidden pairs, from narrow to too wide for elimination. */
void bench_grids(struct session *session, struct bench_problems *out);

/* `count` seeded random graphs with each solver: a line, or an object, by family and solver. */
void bench_random(struct arena *arena, size_t count, bool json, struct buf *out);

/* Covers of kernels/ops, of networks and of `randoms` random ops, by every solver; joint choice
 * against choosing region by region, on all machines.  `brief`: the random ops alone.  Prints its
 * tables; *false_claims counts what a solver called optimal and was none, or no cover. */
struct covers_args {
    size_t randoms;
    bool brief, json;
};
bool bench_covers(struct session *session, const struct covers_args *args, size_t *false_claims,
                  struct err *err) MUST_USE;

/* Memory that this process had at most, so far; in MB. */
double bench_peak_megabytes(void);

#endif
