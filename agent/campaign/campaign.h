#ifndef AGENT_CAMPAIGN_CAMPAIGN_H
#define AGENT_CAMPAIGN_CAMPAIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/cache.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vocab.h"

#include "agent/llm/llm.h"
#include "memory/memory.h"
#include "solver/bound/bound.h"
#include "solver/ir/ir.h"
#include "synth/synth.h"
#include "verify/evaluate/evaluate.h"

/*
 * agent/campaign: attempts at one task, one after the other.  Start with attempt.c.
 *
 * A campaign is a deterministic state machine: what an attempt does follows from the options, from
 * what earlier attempts came to, and from the model's answer.  So with the same tape, seed and bank
 * it comes to the same, and with a bank it goes on where an earlier run was killed: what is there
 * is not asked, compiled or run again.
 */
enum { CAMPAIGN_ATTEMPTS_MAX = 64 };

enum campaign_writer { WRITER_REALISER, WRITER_NAIVE, WRITER_MODEL };

/* Wall time of an attempt, for people; never part of a result. */
struct campaign_stages {
    int64_t write_ns, model_ns, verify_ns, bank_ns;
};

struct campaign_attempt {
    int64_t number; /* from 1 */
    enum campaign_writer writer;
    const char *how;            /* "realised", "naive", "model" */
    struct str detail;          /* of how: which plan; may be empty */
    const struct plan *plan;    /* NULL: of the naive kernel */
    struct candidate candidate; /* text empty when no source came out of it */
    struct str bad_manifest;    /* of a model, as written, where candidate.manifest is NULL */
    struct check_products products;
    struct verdict verdict;
    double median_ns; /* cold, at the target; 0 = not measured */
    bool recalled;    /* from the bank: nothing was run */
    bool drifted;     /* the answer is from a tape, to another prompt */
    struct campaign_stages stages;
};

/* What is happening, for a progress line. */
enum campaign_phase { PHASE_PLAN, PHASE_ASK, PHASE_VERIFY, PHASE_DONE };
struct campaign_report {
    void (*show)(void *context, enum campaign_phase phase, const struct campaign_attempt *attempt);
    void *context;
};

struct campaign_options {
    const struct op *op;
    const struct bundle_spec *specs; /* the op's, then those it uses */
    size_t spec_count;
    const struct track *track;
    const struct bound_op *target;
    const struct machine *machine;
    const char *arch;
    uint64_t secret;

    struct compiler *compiler;
    const struct cache *cache;        /* NULL = none */
    const struct driver_info *driver; /* NULL = no GPU: the emulator alone judges */

    struct llm *llm;   /* NULL = none: realised and naive kernels only */
    struct bank *bank; /* NULL = nothing is remembered */
    struct str tape;   /* the tape's name, for the bank; empty = none */

    int64_t attempts;         /* at most */
    bool attempts_given;      /* by a person: then no stop at a first accepted answer */
    int64_t tokens_max;       /* of a prompt; 0 = no limit */
    int64_t reply_tokens_max; /* 0 = the server's */
    struct campaign_report report;
};

struct campaign_result {
    struct campaign_attempt attempts[CAMPAIGN_ATTEMPTS_MAX];
    size_t count;
    size_t best;     /* SIZE_MAX = none was accepted */
    struct sol sol;  /* speed of light at the target */
    enum stop stop;  /* STOP_INTERRUPTED after a failure */
    int64_t drifted; /* attempts whose answer was recorded for another prompt */
};

/*
 * Runs the attempts.  False where going on makes no sense (key refused, bank lost, tape does not
 * match); `result` then holds the attempts before, and the bank too.
 */
bool campaign_run(struct arena *arena, const struct campaign_options *options,
                  struct campaign_result *result, struct err *err) MUST_USE;

/* The messages of the first question that a model would get. */
bool campaign_first_prompt(struct arena *arena, const struct campaign_options *options,
                           struct prompt *out, struct err *err) MUST_USE;

#endif
