#ifndef SOLVER_IR_REGION_H
#define SOLVER_IR_REGION_H

#include "solver/ir/op.h"

/*
 * What a group of statements is, decided from loops and accesses alone: rows, maps, a tile.  The
 * skeleton of a plan, the domains of its regions and the realiser's kernels all begin here.
 */

/* ---- rows: statements over common outer loops, with vectors and reductions over inner ones ----
 */

enum row_part {
    ROW_SCALAR, /* over the outer loops */
    ROW_VECTOR, /* over outer and inner loops */
    ROW_REDUCE  /* outer loops free, inner loops reduced */
};
struct rows {
    const struct op *op;
    const size_t *stmts;
    size_t count;
    const struct loop *loops;   /* outer, then inner; borrowed from a statement */
    size_t outer, inner;        /* how many */
    const enum row_part *parts; /* by position in stmts */
    const bool *produced;       /* by tensor */
    const bool *stored;         /* by tensor: produced, and read elsewhere or an output */
};
/* False with the reason in *why.  Without any reduction: outer is 0, all are vectors. */
bool rows_recognise(struct arena *arena, const struct op *op, const size_t *stmts, size_t count,
                    struct rows *rows, const char **why);
const struct formula *rows_outer_count(struct arena *arena, const struct rows *rows);
const struct formula *rows_inner_count(struct arena *arena, const struct rows *rows);
/* Does some vector or reduction of the rows read or write memory along the last inner loop? */
bool rows_contiguous(const struct rows *rows);

/* ---- tiles: a sum of products, and what follows on the same elements ---- */

enum { TILE_GROUPS = 4 };
enum tile_group { TILE_BATCH, TILE_M, TILE_N, TILE_K };
struct tile {
    const struct op *op;
    const size_t *stmts; /* the contraction first, then its epilogue */
    size_t count;
    const struct stmt *contraction;
    const struct expr *a, *b;                /* factors: over m and k, over n and k */
    size_t loops[TILE_GROUPS][OP_LOOPS_MAX]; /* loops of the contraction by group */
    size_t loop_count[TILE_GROUPS];
    const bool *stored;        /* by tensor */
    bool a_along_k, b_along_k; /* memory runs along the last k loop */
};
bool tile_recognise(struct arena *arena, const struct op *op, const size_t *stmts, size_t count,
                    struct tile *tile, const char **why);
const struct formula *tile_extent(struct arena *arena, const struct tile *tile,
                                  enum tile_group group);

/* Where reductions end along an index: nowhere before its end, or where a loop of their row says.
 * Loops are the product's; OP_NONE when RANGE_FULL. */
struct row_reach {
    enum range_bound bound;
    size_t along, row;
};

/* ---- chains: a sum of products, statistics along one of its indices, a second one over it ---- */

/*
 * As attention is written: results over rows and a shared index are read row-wise, by maps and
 * reductions, and summed over that index by a second product.  A block that owns rows goes along
 * the index in steps and keeps, per row, statistics and the second product's sums; what depends on
 * a running maximum is rescaled when that grows.
 *
 *   scores   over rows and the shared index: the first product, masks, weights exp(x - max x)
 *   rows     over the rows alone: maximum, sums, what follows from them
 *   results  the second product, linear in the weights, and maps on its elements
 */
enum { CHAIN_GROUPS = 5 };
enum chain_group { CHAIN_BATCH, CHAIN_M, CHAIN_N, CHAIN_K, CHAIN_COLUMNS };
struct chain {
    const struct op *op;
    const size_t *stmts;
    size_t count;
    const struct stmt *first, *second;
    size_t outer, inner;            /* free loops of `first`: of the rows, then the shared index */
    const struct expr *query, *key; /* factors of `first`: over M and K, over N and K */
    const struct expr *value;       /* factor of `second` over N and columns */
    size_t loops[CHAIN_GROUPS][OP_LOOPS_MAX]; /* of `first`; COLUMNS: of `second` */
    size_t loop_count[CHAIN_GROUPS];
    bool online;            /* weights follow a running maximum */
    struct row_reach reach; /* of all reductions along the shared index */
    const bool *stored;     /* by tensor */
};
/* False with the reason in *why: which statement no block can do with running states. */
bool chain_recognise(struct arena *arena, const struct op *op, const size_t *stmts, size_t count,
                     struct chain *chain, const char **why);
const struct formula *chain_extent(struct arena *arena, const struct chain *chain,
                                   enum chain_group group);

/* ---- scores: a sum of products, and statistics along one of its sides ---- */

/*
 * A chain without its second product: results over rows and a shared index are read row-wise, by
 * maps and by reductions whose steps can be merged, and never stored themselves.  A block that owns
 * rows goes along the index in steps and keeps the statistics of each row.  What is stored along
 * the index needs the finished row: then the block holds its scores, or makes them a second time.
 */
struct scores {
    const struct op *op;
    const size_t *stmts;
    size_t count;
    const struct stmt *product;
    const struct expr *factors[2];           /* over rows and K, over the shared index and K */
    size_t loops[TILE_GROUPS][OP_LOOPS_MAX]; /* of `product`; M: rows, N: the shared index */
    size_t loop_count[TILE_GROUPS];
    size_t states;          /* numbers that a row keeps from step to step */
    bool online;            /* weights follow a running maximum */
    bool moments;           /* sums of squares of differences, merged with means */
    bool again;             /* something along the index is stored */
    struct row_reach reach; /* of all reductions, when nothing else needs a score; else full */
    const bool *stored;     /* by tensor */
};
/* False with the reason in *why: which statement no merging of steps gives; `product` is NULL when
 * it is that there is none. */
bool scores_recognise(struct arena *arena, const struct op *op, const size_t *stmts, size_t count,
                      struct scores *scores, const char **why);
const struct formula *scores_extent(struct arena *arena, const struct scores *scores,
                                    enum tile_group group);

/* By tensor: written by one of the statements, and read outside them or a declared output. */
const bool *region_stored(struct arena *arena, const struct op *op, const size_t *stmts,
                          size_t count);

#endif
