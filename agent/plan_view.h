#ifndef AGENT_PLAN_VIEW_H
#define AGENT_PLAN_VIEW_H

#include "agent/agent.h"
#include "solver/bound/bound.h"
#include "solver/cost/cost.h"
#include "solver/legal/legal.h"
#include "solver/sched/sched.h"

/*
 * What `warpwright plan` finds, apart from how it is printed.  All of it lives in the session's
 * arena; times are predictions of solver/cost, in seconds.
 */
struct plan_task {
    struct arena *arena;
    const struct op *op;
    const struct track *track;
    const struct bound_op *bound;
    const struct machine *machine;
    int64_t sms_of; /* of the whole machine, when `machine` is a share of it; else 0 */
    const char *arch;
    const struct catalogue *catalogue; /* NULL: primitives are not combined */
};

struct plan_ranked {
    const struct plan *plan;
    struct plan_cost cost;
    struct limits limits;
};

struct plan_covers {
    struct structures structures; /* of the task's op, whose statements regions have */
    struct candidates candidates;
    struct cover_problem problem;
    struct cover_result result; /* no best: no cover is legal */
};

/* The plans of a task, cheapest first; `covers` says how good they are proved to be.  Skeleton and
 * space are those around the best cover. */
struct plan_view {
    struct plan_task task;
    struct sol sol;
    const struct plan *skeleton;
    struct space space;
    const double *const *seconds; /* by region, by choice */
    struct plan_covers covers;
    const struct plan_ranked *best; /* whoever writes them */
    size_t best_count;
    const struct plan_ranked *own; /* the best that the realiser writes; NULL: none */
    struct str own_statement;      /* as plan_statement's, among those */
    struct str why_none;           /* no plan is legal; then space and best are empty */
};

enum { PLAN_BEST_MAX = 64, PLAN_REPORT_BYTES_MAX = 64 << 20 };

/* ---- plan_explore.c ---- */

bool plan_explore(const struct plan_task *task, size_t best, struct plan_view *out,
                  struct err *err) MUST_USE;
/* What is proven of best[i]: "proven optimal", "proven number 3", "within 4.2 % of the optimum". */
struct str plan_statement(struct arena *arena, const struct plan_view *view, size_t i);
/* "64x64x16 tile, 4x4 a thread, 256 threads" of each region that has choices. */
struct str plan_summary(struct arena *arena, const struct plan *plan, const struct bound_op *bound);
struct str region_summary(struct arena *arena, const struct plan_region *region,
                          const struct bound_op *bound);
bool plans_equal(const struct plan *a, const struct plan *b);

/* ---- plan_why.c: --why-not ---- */

struct plan_why {
    size_t region;                    /* that the sketch is about */
    size_t matching;                  /* choices of the space that are as the sketch says */
    size_t legal;                     /* of those */
    bool outside;                     /* none is: so many were changed to what the sketch says */
    const struct plan_region *choice; /* the cheapest legal one, else the one refused last */
    size_t refused[LIMIT_COUNT];      /* of those that match, by the first limit each was over */
    struct str reason;                /* why `choice` is refused; empty = it is legal */
    double seconds;                   /* of the plan, the other regions at their best */
    size_t rank, of;                  /* 1 = the best of the region's legal choices */
};
/* See plan_sketch.h for what a sketch is. */
bool plan_why_not(const struct plan_view *view, const char *sketch, struct plan_why *out,
                  struct err *err) MUST_USE;

/* ---- plan_sweep.c: other shapes, other machines ---- */

struct plan_point {
    struct str at; /* "M=4096 N=128", "smem=32768" */
    int64_t value; /* of what is varied; 0 for shapes */
    bool flips;    /* the best plan is another than at the point before */
    struct str why_none;
    const struct plan *plan; /* NULL = none is legal */
    struct str summary;
    double seconds, sol_seconds;
    double possible; /* legal plans */
};
struct plan_points {
    const struct plan_point *items;
    size_t count;
    const struct bound_op *first; /* of shapes, the first one; NULL for machines */
};
enum { PLAN_SHAPES_MAX = 256, PLAN_POINTS_MAX = 512 };

/* Shapes parted by ';' or line ends, `#` begins a comment.  Complaints name the line of `path`;
 * NULL = the text is no file's. */
bool plan_shapes(const struct plan_task *task, struct str text, const char *path,
                 struct plan_points *out, struct err *err) MUST_USE;
/* "smem=8K..256K": doubling from the first to the second, then each flip narrowed down to the
 * first value that has it. */
bool plan_vary(const struct plan_task *task, const char *text, struct plan_points *out,
               struct err *err) MUST_USE;

/* ---- plan_machine.c: machines that are not ---- */

enum { MACHINE_SHARE_WHOLE = 10000 }; /* shares are in hundredths of a percent */

/* A block of at most so many bytes, and an SM that holds one of them. */
const struct machine *machine_with_smem(struct arena *arena, const struct machine *machine,
                                        int64_t bytes);
/* The machine, with at most so many bytes of shared memory for a block. */
const struct machine *machine_with_smem_limit(struct arena *arena, const struct machine *machine,
                                              int64_t bytes);
/* So many SMs of the same kind: peak rates go with them, memory stays. */
const struct machine *machine_with_sms(struct arena *arena, const struct machine *machine,
                                       int64_t count);
/* The share's whole SMs; ERR_USAGE when it is less than one, with the least share. */
bool machine_with_share(struct arena *arena, const struct machine *machine, int64_t share,
                        const struct machine **out, struct err *err) MUST_USE;
/* "0.5" or "50%", above 0 and at most 1; *text moves behind it.  False: it is none, or finer than
 * MACHINE_SHARE_WHOLE. */
bool machine_share_read(const char **text, int64_t *out) MUST_USE;
void machine_share_print(struct buf *out, int64_t share); /* "12.5%" */

/* ---- plan_rewrites.c: the normal form, its structures, preserve_apply one at a time ---- */

struct plan_rewrite {
    struct rewrite rewrite;
    struct rewritten result;
};
struct plan_rewrites {
    const struct op *op; /* the spec's in normal form, which all of this is about */
    bool same;           /* as the spec's own statements */
    struct structures structures;
    struct combinations combinations; /* empty without a catalogue */
    const struct plan_rewrite *items;
    size_t count, legal;
};
enum { PLAN_REWRITE_BLOCK = 64 }; /* iterations a part in the texts; any number is as legal */
bool plan_find_rewrites(const struct plan_task *task, struct plan_rewrites *out,
                        struct err *err) MUST_USE;
void plan_rewrites_text(struct buf *out, const struct plan_rewrites *rewrites);
void plan_rewrites_json(struct json_writer *w, const struct plan_rewrites *rewrites);

/* ---- plan_derive.c: --rewrite ---- */

struct plan_derive_args {
    const char *list;     /* steps parted by commas, each as rewrite_parse has it */
    const char *spec_out; /* where the rewritten spec goes; NULL = nowhere */
    bool json;
};
/* Prints the steps and what they lead to; EXIT_FAILED: one of them is refused. */
bool plan_derive(const struct plan_task *task, const struct plan_derive_args *args, int *status,
                 struct err *err) MUST_USE;

/* ---- plan_text.c, plan_json.c, plan_table.c ---- */

struct plan_report {
    const struct plan_view *view;
    const struct plan_rewrites *rewrites;
    const struct plan_why *why;       /* NULL = not asked */
    const struct plan_points *points; /* NULL = not asked */
    const char *varied;               /* "shape", "smem", ... */
    bool explain;
};
void plan_report_text(struct buf *out, const struct plan_report *report);
void plan_report_json(struct json_writer *w, const struct plan_report *report);
void plan_table_head(struct buf *out);
void plan_table_row(struct buf *out, const struct plan_report *report);

#endif
