#ifndef AGENT_CAMPAIGN_CAMPAIGN_INT_H
#define AGENT_CAMPAIGN_CAMPAIGN_INT_H

#include "agent/campaign/campaign.h"
#include "solver/cost/cost.h"
#include "solver/legal/legal.h"

/* ---- plans.c: legal plans, cheapest first ---- */

struct planned {
    const struct plan *plan;
    struct plan_cost cost;
};
struct planning {
    const struct planned *plans; /* by predicted time; none when the realiser has no plan */
    size_t count;
    const struct plan *tensor_cores; /* one that the realiser cannot make; NULL = none is legal */
};
bool plans_make(struct arena *arena, const struct campaign_options *options,
                const struct structures *structures, struct planning *out,
                struct err *err) MUST_USE;

/* ---- ledger.c: what the bank keeps ---- */

/* The rows of this campaign and task are there; a ledger without a bank keeps nothing. */
struct ledger {
    struct arena *arena;
    struct bank *bank; /* NULL = none */
    struct str campaign, task;
};
bool ledger_begin(struct arena *arena, const struct campaign_options *options,
                  const struct task *task, struct ledger *out, struct err *err) MUST_USE;
/* Before anything runs. */
bool ledger_attempt(const struct ledger *ledger, const struct campaign_attempt *attempt,
                    int64_t parent, struct str writer, struct err *err) MUST_USE;
/* After the model answered: where the exchange is, and what was taken from it, kernel or verdict.
 */
bool ledger_exchange(const struct ledger *ledger, const struct campaign_attempt *attempt,
                     const struct llm_reply *reply, struct str tape, struct str request,
                     struct err *err) MUST_USE;
/* What was written, before it is compiled; and what came of it. */
bool ledger_kernel(const struct ledger *ledger, const struct campaign_attempt *attempt,
                   struct err *err) MUST_USE;
bool ledger_verdict(const struct ledger *ledger, const struct campaign_attempt *attempt,
                    struct err *err) MUST_USE;
/* Kernel and verdict of this attempt from an earlier run, where there are. */
struct recalled {
    bool kernel, verdict;
};
bool ledger_recall(const struct ledger *ledger, struct campaign_attempt *attempt,
                   struct recalled *out, struct err *err) MUST_USE;

/* ---- campaign.c ---- */

struct campaign {
    struct arena *arena;
    const struct campaign_options *options;
    struct campaign_result *result;
    struct task task;
    struct ledger ledger;
    struct planning planning;
    struct structures structures;
};

/* ---- attempt.c ---- */

/* One walk from plan to verdict; the attempt's number, writer and plan are set. */
bool attempt_run(struct campaign *c, struct campaign_attempt *attempt, struct err *err) MUST_USE;
/* The key of an attempt's question on a tape. */
struct tape_key attempt_key(const struct campaign *c, int64_t number);

/* ---- question.c: what a prompt is filled with ---- */

bool question_write(const struct campaign *c, const struct campaign_attempt *attempt,
                    struct prompt *out, struct err *err) MUST_USE;

#endif
