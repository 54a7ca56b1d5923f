#ifndef SOLVER_LEGAL_PRIMITIVES_H
#define SOLVER_LEGAL_PRIMITIVES_H

#include "base/json.h"

#include "solver/ir/ir.h"

/*
 * Primitive, version 1 (kernels/primitives/NAME.json): a realisable piece, what it needs, in which
 * form its result comes and in which forms it takes what other statements made.  Beside each lies
 * NAME.cuh, CUDA that does it.
 *
 *   { "primitive": 1, "name": "warp-cooperative-summary", "title": "...",
 *     "needs": { "structures": ["reduction"], "capability": 30, "alignment": 1,
 *                "condition": "terms >= 2 && terms <= 1024" },
 *     "gives": [ { "of": "reduction", "form": "lanes" } ],
 *     "takes": [ { "form": "thread", "readings": ["reduced"], "if": "..." } ],
 *     "refuses": [ { "form": "block", "because": "..." } ],
 *     "resources": { "barriers": "0", "registers": "1", "shared_bytes": "0" },
 *     "parameters": [ { "name": "threads", "least": 32, "most": 1024 } ],
 *     "observed": [ { "names": ["ptx.*.shuffles"], "least": 1 } ],
 *     "sources": ["..."], "fragment": "warp_sum" }
 *
 * Structures are any-of.  Conditions and resources are formulas, the former over QUANTITIES of the
 * statement, the latter over the parameters.  What takes does not list is refused; refuses says why
 * where the form's or the reading's own reason would not do.  "observed" is the predicate that
 * shows the primitive in a kernel's observed numbers, all lines of it; empty: nothing shows it, so
 * it earns no credit.
 */
enum { PRIMITIVE_BYTES_MAX = 1 << 16 };

/* id, word, why another primitive cannot use it as it is */
#define VALUE_FORMS(X)                                                                             \
    X(THREAD, "thread", "each thread has its own elements only")                                   \
    X(RECOMPUTED, "recomputed", "it is computed again by threads that read it")                    \
    X(OWN, "own", "only the thread that made it has it")                                           \
    X(SHARE, "share", "a thread has a part of it only: a cooperative summary has to come first")   \
    X(LANES, "lanes", "only the lanes of one warp have it")                                        \
    X(BLOCK, "block", "only the threads of one block have it")                                     \
    X(PARTIALS, "partials", "it is complete only when all blocks have added to it")                \
    X(SHARED_TILE, "shared-tile", "it lies in one block's shared memory")                          \
    X(FRAGMENTS, "fragments", "its elements lie in the registers of a block's threads")            \
    X(STEPS, "steps", "it is made step by step")
enum value_form {
#define X(id, word, why) FORM_##id,
    VALUE_FORMS(X)
#undef X
        FORM_COUNT
};

/* How a statement reads what another made: the worst of its reads.  id, word, why a block that does
 * not wait for others cannot serve it; "" = it may. */
#define READINGS(X)                                                                                \
    X(ELEMENT, "element", "")                                                                      \
    X(ROW, "row", "")                                                                              \
    X(REDUCED, "reduced", "")                                                                      \
    X(STEP, "step", "")                                                                            \
    X(CROSSED, "crossed",                                                                          \
      "read with its indices in another order: other blocks made the elements of a row")           \
    X(WINDOW, "window",                                                                            \
      "read at other elements too: their blocks must be done, or the elements be computed again")  \
    X(GATHERED, "gathered", "data say which elements are read: all must be done")                  \
    X(APART, "apart", "only one of them goes step by step")
enum reading {
#define X(id, word, why) READING_##id,
    READINGS(X)
#undef X
        READING_COUNT
};

/* What a statement does, as far as its result's form goes. */
#define STMT_KINDS(X)                                                                              \
    X(MAP, "map")                                                                                  \
    X(REDUCTION, "reduction")                                                                      \
    X(CONTRACTION, "contraction")                                                                  \
    X(SCAN, "scan")                                                                                \
    X(SCATTER, "scatter")                                                                          \
    X(STEP, "step")
enum stmt_kind {
#define X(id, word) KIND_##id,
    STMT_KINDS(X)
#undef X
        KIND_COUNT
};

/* Names that conditions may use, each of one statement at a shape.
 *   terms, results   of the reduction (1 for a map), elements of the result
 *   m, n, k          of a contraction; 0 otherwise
 *   readers          statements that read the result
 *   row_bytes        terms times the widest element read
 *   extent           iterations of the last loop
 *   element_bytes    of the widest element read
 */
#define QUANTITIES(X)                                                                              \
    X(terms) X(results) X(m) X(n) X(k) X(readers) X(row_bytes) X(extent) X(element_bytes)
struct quantities {
#define X(name) int64_t name;
    QUANTITIES(X)
#undef X
};

struct primitive_take {
    enum value_form form;
    bool readings[READING_COUNT];
    struct str condition; /* empty = none */
};
struct primitive_refusal {
    enum value_form form;
    struct str because;
};
struct primitive_parameter {
    struct str name;
    int64_t least, most;
};
/* Sum of the named numbers, over that of `per` if there are any, is at least `least`.  A '*' in a
 * name stands for any kernel. */
struct primitive_sign {
    const struct str *names, *per;
    size_t name_count, per_count;
    double least;
};

struct primitive_entry {
    enum primitive word; /* PRIMITIVE_COUNT: a thread an element, which is no document */
    struct str name, title;
    bool structures[STRUCTURE_COUNT];
    int64_t capability, alignment;
    const struct formula *condition;
    bool gives[KIND_COUNT];
    enum value_form forms[KIND_COUNT]; /* where gives */
    const struct primitive_take *takes;
    size_t take_count;
    const struct primitive_refusal *refusals;
    size_t refusal_count;
    const struct formula *barriers, *registers, *shared_bytes;
    const struct primitive_parameter *parameters;
    size_t parameter_count;
    const struct primitive_sign *signs;
    size_t sign_count;
    const struct str *sources;
    size_t source_count;
    struct str fragment;
};

/* By primitive; NULL = the catalogue does not have it. */
struct catalogue {
    const struct primitive_entry *entries[PRIMITIVE_COUNT];
};

bool primitive_entry_parse(struct arena *arena, const struct json *json,
                           const struct primitive_entry **out, struct err *err) MUST_USE;
void primitive_entry_print(struct json_writer *w, const struct primitive_entry *entry);
/* What a statement without any primitive is: one thread an element. */
const struct primitive_entry *primitive_none(void);
/* Does the primitive fit a statement?  False with the reason, in `arena`. */
bool primitive_fits(struct arena *arena, const struct primitive_entry *entry,
                    const bool structures[STRUCTURE_COUNT], const struct quantities *quantities,
                    int64_t capability, struct str *why);

/* Numbers that were observed of a candidate; `names` as in an observed document. */
struct observed_numbers {
    const struct str *names;
    const double *values;
    size_t count;
};
/* Do they show the primitive?  False without a predicate. */
bool primitive_shown(const struct primitive_entry *entry, const struct observed_numbers *numbers);

const char *form_word(enum value_form form);
const char *form_why(enum value_form form);
const char *reading_word(enum reading reading);
const char *reading_why(enum reading reading); /* "" = a block can serve it */
const char *stmt_kind_word(enum stmt_kind kind);

#endif
