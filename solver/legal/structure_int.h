#ifndef SOLVER_LEGAL_STRUCTURE_INT_H
#define SOLVER_LEGAL_STRUCTURE_INT_H

#include "solver/legal/primitives.h"
#include "solver/legal/structure.h"

/*
 * Shared by the files behind structure_of.
 *
 *   structure.c  lists of notes; what one statement is
 *   view.c       expressions seen through temporaries, and when two are the same
 *   across.c     what several statements are together
 *   preserve.c   which rewrites keep the meaning
 *   compose.c    primitives, and which neighbours may share a region
 */
struct analysis {
    struct arena *arena;
    const struct bound_op *bound;
    const struct op *op;
    const struct track *track;
    struct structure_note *structures;
    size_t structure_count, structure_room;
    struct preservation_note *preservations;
    size_t preservation_count, preservation_room;
    struct primitive_note *primitives;
    size_t primitive_count, primitive_room;
    struct composition_note *compositions;
    size_t composition_count, composition_room;
};

struct str note_text(struct analysis *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
void note_structure(struct analysis *a, size_t stmt, size_t with, enum structure word,
                    struct str text);
void note_preservation(struct analysis *a, size_t stmt, enum preservation word, bool allowed,
                       struct str text);
void note_primitive(struct analysis *a, size_t stmt, enum primitive word, struct str text);
void note_composition(struct analysis *a, size_t from, size_t to, bool allowed, struct str text);
bool has_structure(const struct analysis *a, size_t stmt, enum structure word);

/* ---- what a statement is ---- */

/* Every term of the reduction for every result; no scan, no scatter, not in a seq block. */
bool is_plain_reduction(const struct stmt *stmt);
/* One value for each element from that element's operands. */
bool is_plain_map(const struct stmt *stmt);
bool is_scan(const struct stmt *stmt);
/* Terms of the reduction, and results, at the bound shape. */
int64_t reduced_count(const struct analysis *a, size_t stmt);
int64_t result_count(const struct analysis *a, size_t stmt);

enum role_of_loop { ROLE_BATCH, ROLE_M, ROLE_N, ROLE_K, ROLE_OF_LOOP_COUNT };
/* False when it is no sum of products over a shared index whose factors differ in their loops. */
bool contraction_roles(const struct analysis *a, const struct stmt *stmt,
                       enum role_of_loop roles[OP_LOOPS_MAX]);
int64_t role_extent(const struct analysis *a, size_t stmt,
                    const enum role_of_loop roles[OP_LOOPS_MAX], enum role_of_loop role);
const struct expr *without_casts(const struct expr *expr);
/* The loop of a plain subscript, else OP_NONE. */
size_t plain_loop(const struct expr *sub);
/* Rank plain, distinct subscripts and no pad. */
bool reads_plainly(const struct op *op, const struct expr *read);
/* Names of the loops with `reduced`: "i, j". */
struct str loop_names(struct analysis *a, const struct stmt *stmt, bool reduced);

/* ---- views ---- */

/* An expression in the loops of a host statement, seen through temporaries that maps compute. */
struct view {
    const struct op *op;
    const struct stmt *stmt; /* whose expression it is */
    const struct expr *expr;
    size_t loop[OP_LOOPS_MAX]; /* by loop of `stmt`: the host's */
};
struct view view_of(const struct op *op, const struct stmt *host, const struct expr *expr);
/* The same without casts, and inside the map behind a read of a temporary, if it is one. */
struct view view_through(struct view view);
struct view view_arg(const struct view *view, size_t arg); /* argument, casts taken off */

/* Loops of one host against those of another; filled while comparing. */
struct pairing {
    size_t of[OP_LOOPS_MAX]; /* by loop of the first: of the second, or OP_NONE */
    size_t steps;            /* taken; past VIEW_STEPS_MAX all is different */
};
enum { VIEW_STEPS_MAX = 2000 };
void pairing_init(struct pairing *pairing);
/* Same arithmetic on the same elements under some pairing that extends the given one. */
bool views_equal(const struct view *first, const struct view *second, struct pairing *pairing);
/* Factors of a product, products inside taken apart, through maps; at most `room`. */
size_t view_factors(struct view view, struct view *out, size_t room);

/* ---- neighbours ---- */

/* How `to` reads what `from` writes: the worst of its reads.  False when it does not. */
bool neighbour_reading(const struct op *op, size_t from, size_t to, enum reading *out);
/* Statements that read the tensor. */
size_t reader_count(const struct op *op, size_t tensor);

/* ---- the parts of structure_of ---- */

void find_across(struct analysis *a, size_t stmt);
void find_preservations(struct analysis *a, size_t stmt);
void find_primitives(struct analysis *a, size_t stmt);
void find_compositions(struct analysis *a, size_t stmt);

#endif
