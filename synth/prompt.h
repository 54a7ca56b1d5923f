#ifndef SYNTH_PROMPT_H
#define SYNTH_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vocab.h"

#include "solver/ir/ir.h"

/*
 * Prompts: from data to the two messages that a model gets.  Pure, and deterministic: equal inputs
 * give equal bytes.  Everything a caller passes is borrowed, may be hostile, and is data: it comes
 * out on one line, or inside a fence that it cannot close (quote.c).
 *
 * The system message is the contract: it depends on nothing but `arch`, `smem_bytes_max` and `gpu`,
 * so a server can keep it.  The user message has the parts below, most important first.
 */

/* ---- neutral data, for what this layer may not know ---- */

/* "warp-cooperative-summary": "32 lanes hold a value each; shuffles, no shared memory".  Without a
 * head, a line of its own.  Line breaks in `text` are kept, indented. */
struct prompt_item {
    struct str head, text;
};
/* Most important first: a list that is too long loses its tail. */
struct prompt_list {
    const struct prompt_item *items;
    size_t count;
};

/* A kernel: of the incumbent, or of the last attempt. */
struct prompt_kernel {
    struct str cuda;     /* empty = none */
    struct str manifest; /* JSON as text, as written or printed; empty = none */
    double time_ns;      /* at the target shape; 0 = not measured */
};

/* A number read from PTX, cubin or emulator ("cubin.softmax.registers"), as in `observed`. */
struct prompt_number {
    struct str name;
    double value;
    bool has_plan; /* the plan says what it should be: */
    double plan;
};

/* What verification said; the members are those of a verdict. */
struct prompt_verdict {
    enum validity validity;
    enum timing timing;
    enum gate gate; /* at which it ended */
    struct str reason, detail;
    int source_line; /* of the kernel's cuda, from 1; 0 = none */
    struct {
        bool present;
        struct str tensor;
        int64_t index[OP_RANK_MAX];
        size_t rank;
        double got, want, bound;
    } worst;
    struct str shape, data, what; /* of the check that failed; empty = none */
    const struct prompt_number *observed;
    size_t observed_count;
};

/* ---- input ---- */

struct prompt_input {
    const struct bound_op *target; /* the op at the task's target shape */
    const struct track *track;     /* NULL = the op's first */
    const char *arch;              /* "sm_90a" */
    int64_t smem_bytes_max;        /* a block, dynamic and static together */
    bool gpu;                      /* a GPU verifies what the emulator cannot run */
    const struct plan *plan;       /* NULL: the model chooses */
    double bound_ns;               /* speed of light at the target; 0 = not known */

    /* The seven things; `plan` and the op are printed here, the rest comes in. */
    struct prompt_list structure;    /* computation structure */
    struct prompt_list preservation; /* rewrite: condition; error term.  Also what is not allowed */
    struct prompt_list primitives;   /* available ones, with parameters */
    struct prompt_list composition;  /* rules, legal ones and refused ones with the reason */
    struct prompt_list evidence;     /* of the hardware: measured or modelled costs */
    struct prompt_list plan_notes;   /* besides the plan itself: predicted time, why chosen */
    struct prompt_list constraints;  /* of the target, besides the ones above */

    struct prompt_list directions; /* from memory: direction, strategies; empty = none */
    struct prompt_list history;    /* earlier attempts, newest first */

    const struct prompt_kernel *incumbent; /* NULL = none */
    const struct prompt_kernel *last;      /* last attempt, NULL = none; `cuda` may be empty */
    const struct prompt_verdict *verdict;  /* of `last`; both or neither */

    int64_t tokens_max; /* of both messages together, 0 = no limit */
};

/* ---- output ---- */

/* Parts of the user message in the order in which they stand, which is that of importance but for
 * the reply's form at the end.  A FIXED part is never cut; the others are, from the last up: first
 * shortened, then left out. */
#define PROMPT_PARTS(X)                                                                            \
    X(OPERATION, "Operation", FIXED)                                                               \
    X(CONSTRAINTS, "Target constraints", FIXED)                                                    \
    X(VERDICT, "Last verdict", FIXED)                                                              \
    X(LAST, "Last attempt", CUT)                                                                   \
    X(PLAN, "Selected plan", CUT)                                                                  \
    X(DIRECTIONS, "Directions", CUT)                                                               \
    X(STRUCTURE, "Computation structure", CUT)                                                     \
    X(PRESERVATION, "Preservation boundary", CUT)                                                  \
    X(PRIMITIVES, "Available primitives", CUT)                                                     \
    X(COMPOSITION, "Composition legality", CUT)                                                    \
    X(INCUMBENT, "Incumbent", CUT)                                                                 \
    X(EVIDENCE, "Hardware evidence", CUT)                                                          \
    X(HISTORY, "Earlier attempts", CUT)                                                            \
    X(REPLY, "Reply", FIXED)

enum prompt_part {
#define X(id, title, cut) PROMPT_##id,
    PROMPT_PARTS(X)
#undef X
        PROMPT_PART_COUNT
};
const char *prompt_part_title(enum prompt_part part);

struct prompt_cut {
    enum prompt_part part;
    size_t kept, of; /* items, or source lines; kept 0 = left out */
};

struct prompt {
    struct str system, user;
    int64_t tokens;                            /* prompt_tokens() of both */
    struct prompt_cut cuts[PROMPT_PART_COUNT]; /* in the order of parts; the text names them too */
    size_t cut_count;
};

/* ERR_LIMIT when the contract and the fixed parts alone are over `tokens_max`; the text says how
 * many tokens they need. */
bool prompt_write(struct arena *arena, const struct prompt_input *input, struct prompt *out,
                  struct err *err) MUST_USE;

/*
 * An estimate from above of what a model's tokenizer makes of code and English: a run of letters
 * costs one a 4 letters begun, each digit, each other visible character and each byte beyond ASCII
 * one, a run of blanks or of line breaks one; a single blank nothing.  Runs of random letters can
 * cost more.
 */
int64_t prompt_tokens(struct str text);

#endif
