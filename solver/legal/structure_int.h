#ifndef SOLVER_LEGAL_STRUCTURE_INT_H
#define SOLVER_LEGAL_STRUCTURE_INT_H

#include "solver/legal/primitives.h"
#include "solver/legal/structure.h"
#include "solver/legal/term.h"

/*
 * Shared by the files behind structure_of.
 *
 *   structure.c  lists of notes; maps, reductions, gathers
 *   term.c       values as terms of real arithmetic, one form each
 *   term_of.c    terms of expressions and statements
 *   match.c      terms of one statement found in another
 *   roles.c      contractions, windows
 *   across.c     statistics, weights, rescaling
 *   ratio.c      normalisation, quotients
 *   carried.c    scans, sequential blocks
 *   preserve.c   which rewrites keep the meaning
 *   compose.c    primitives, and which neighbours may share a region
 */

/* Statements that read a tensor, first to last; and how many of them do in their value. */
struct readers {
    size_t *stmts;
    size_t count, in_value;
};

struct analysis {
    struct arena *arena;
    const struct bound_op *bound;
    const struct op *op;
    const struct track *track;
    struct terms terms;
    const struct readers *readers; /* by tensor */
    uint64_t *along;               /* across.c, by statement; NULL, 0 = not asked yet */
    uint64_t *ancestors;           /* ratio.c; NULL = not asked yet */
    signed char *cycle;            /* by statement: 1 in a cycle, -1 not, 0 not looked at */
    struct structure_note *structures;
    size_t structure_count, structure_room;
    struct preservation_note *preservations;
    size_t preservation_count, preservation_room;
    struct primitive_note *primitives;
    size_t primitive_count, primitive_room;
    struct composition_note *compositions;
    size_t composition_count, composition_room;
};

void analysis_begin(struct analysis *a, struct arena *arena, const struct bound_op *bound,
                    const struct track *track);
struct str note_text(struct analysis *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
void note_structure(struct analysis *a, size_t stmt, size_t with, enum structure word,
                    struct str text);
void note_preservation(struct analysis *a, size_t stmt, enum preservation word, bool allowed,
                       struct str text);
void note_primitive(struct analysis *a, size_t stmt, enum primitive word, struct str text);
void note_composition(struct analysis *a, size_t from, size_t to, bool allowed, struct str text);
bool has_structure(const struct analysis *a, size_t stmt, enum structure word);
/* The statement that the structure is with; OP_NONE: alone, or it has not the structure. */
size_t structure_with(const struct analysis *a, size_t stmt, enum structure word);

/* Squares whose sum merges with another statement's mean or sum. */
bool has_moments(const struct analysis *a, size_t stmt);

/* ---- what a statement is ---- */

/* Every term of the reduction for every result; no scan, no scatter, not in a seq block. */
bool is_plain_reduction(const struct stmt *stmt);
/* One value for each element from that element's operands. */
bool is_plain_map(const struct stmt *stmt);
/* Terms of the reduction, and results, at the bound shape. */
int64_t reduced_count(const struct analysis *a, size_t stmt);
int64_t result_count(const struct analysis *a, size_t stmt);
/* The name of what the statement writes. */
struct str name_of(const struct analysis *a, size_t stmt);

enum role_of_loop { ROLE_BATCH, ROLE_M, ROLE_N, ROLE_K, ROLE_STEP, ROLE_OF_LOOP_COUNT };
/* False when it is no sum of products over a shared index whose factors differ in their loops.
 * M is the side of the first of the target's indices that only one factor has; ROLE_STEP is the
 * index of a sequential block that carries it. */
bool contraction_roles(struct analysis *a, size_t stmt, enum role_of_loop roles[OP_LOOPS_MAX]);
int64_t role_extent(const struct analysis *a, size_t stmt,
                    const enum role_of_loop roles[OP_LOOPS_MAX], enum role_of_loop role);
/* The loop of a plain subscript, else OP_NONE. */
size_t plain_loop(const struct expr *sub);
/* Rank plain, distinct subscripts and no pad. */
bool reads_plainly(const struct op *op, const struct expr *read);
/* Names of the loops with `reduced`: "i, j". */
struct str loop_names(struct analysis *a, const struct stmt *stmt, bool reduced);

/* ---- terms of one statement in another ---- */

/* What a reduced loop of another statement may stand for: a term, and how many values it takes
 * (ANY_EXTENT: not told). */
struct candidate {
    const struct term *term;
    int64_t extent;
};
enum { ANY_EXTENT = -1, CANDIDATES_MAX = 64, PLACINGS_MAX = 2000, FACTORS_MAX = 32 };
struct candidates {
    struct candidate at[CANDIDATES_MAX];
    size_t count;
};
/* Loops of the statement that are in `mask`. */
void candidates_loops(struct analysis *a, size_t stmt, uint64_t mask, struct candidates *out);
/* Subscripts that data decide, in what the term reads. */
void candidates_gathered(struct analysis *a, const struct term *term, struct candidates *out);

/* Is there a placing of the reduced loops of `writer`, `shift` higher, on distinct candidates for
 * which the test holds?  by_loop is for term_replace. */
typedef bool placing_test(void *context, const struct term *const *by_loop);
bool match_reduced(struct analysis *a, size_t writer, size_t shift,
                   const struct candidates *candidates, placing_test *test, void *context);

/* Factors of a product that use one of the loops in `mask`, and the same without masks' sign. */
struct factors {
    struct term_part at[FACTORS_MAX];
    size_t count;
};
/* False: too many.  Conditions on loops alone count as none with `data_only`. */
bool factors_in(const struct term *term, uint64_t mask, struct factors *out);
bool has_factor(const struct factors *factors, const struct term_part *wanted);
/* A condition on indices alone, with nothing read. */
bool is_range(const struct term *term);

/* ---- neighbours ---- */

/* How `to` reads what `from` writes: the worst of its reads.  False when it does not. */
bool neighbour_reading(const struct op *op, size_t from, size_t to, enum reading *out);
/* Statements that read the tensor. */
size_t reader_count(const struct op *op, size_t tensor);

/* ---- rescaling ---- */

/* The maximum (or minimum) that a factor exp(u - maximum) of the term is taken against, which the
 * statement's reduced loops run over; OP_NONE. */
size_t rescaled_against(struct analysis *a, size_t stmt, const struct term *product);

/* ---- the parts of structure_of; each notes what it finds ---- */

bool is_scan(struct analysis *a, size_t stmt);
/* In a seq block, and needed by a later step of itself. */
bool is_in_cycle(const struct analysis *a, size_t stmt);
const bool *carried_statements(struct arena *arena, const struct op *op);
void find_scan(struct analysis *a, size_t stmt);
void find_contraction(struct analysis *a, size_t stmt);
void find_windows(struct analysis *a, size_t stmt);
void find_across(struct analysis *a, size_t stmt);
void find_ratios(struct analysis *a, size_t stmt);
void find_preservations(struct analysis *a, size_t stmt);
void find_primitives(struct analysis *a, size_t stmt);
void find_compositions(struct analysis *a, size_t stmt);

#endif
