/*
 * The footprint of a tile: a block computes block[M] x block[N] results of one batch, block[K]
 * terms at a time through shared memory.
 *
 * On CUDA cores, one stage, sum in one block: what synth/realise_tile.c prints, exactly.  The rest
 * is what a kernel of that plan needs at least:
 *   depth    a stage in shared memory each; staged in registers: one more stage's loads in flight
 *   split    parts of the sums in a workspace, added by a second kernel
 *   mma      accumulators and fragments of each thread; wgmma takes factors from shared memory
 *   layout   "swizzled": rows of a tile without padding; else 16 bytes beside each
 */
#include "base/num.h"

#include "solver/ir/footprint_int.h"
#include "solver/ir/region.h"

enum {
    WARP = 32,
    TILE_PAD = 4, /* words beside each row of a tile */
    PAD_BYTES = 16,
    /* TUNING: registers that kernels for sm_90a have beside elements: 79 and 205 for tiles of
     * 4 x 4 and 8 x 8 (tests/gpu/results). */
    TILE_REGISTERS = 31,
    /* TUNING: guessed: of kernels on tensor cores, beside accumulators, fragments and loads. */
    MMA_REGISTERS = 40,
    LOADS_IN_FLIGHT = 4 /* of a thread, staged through registers */
};
/* TUNING: as above; operands and indices that grow with a tile. */
static const double tile_growth = 1.21;

static const enum tile_group group_of[] = {
    [SIDE_BATCH] = TILE_BATCH, [SIDE_M] = TILE_M, [SIDE_N] = TILE_N, [SIDE_K] = TILE_K};

/* ---- sides ---- */

static int64_t group_divisions(const struct tile *tile, enum tile_group group)
{
    int64_t divisions = 0;
    for (size_t i = 1; i < tile->loop_count[group]; i++)
        divisions += tile->contraction->loops[tile->loops[group][i]].extent->op != FORMULA_INT;
    return divisions;
}

static bool tile_side(const struct plan_region *region, const struct bound_op *bound,
                      const struct tile *tile, enum footprint_side side, struct footprint *out)
{
    const enum tile_group group = group_of[side];
    const size_t count = tile->loop_count[group];
    out->extent[side] = out->block[side] = out->thread[side] = 1;
    for (size_t i = 0; i < count; i++)
        out->extent[side] = footprint_times(out->extent[side],
                                            bound->extents[tile->stmts[0]][tile->loops[group][i]]);
    if (side == SIDE_BATCH)
        return true;
    const struct plan_tile *own =
        count == 0
            ? NULL
            : region_tile(region, tile->contraction->loops[tile->loops[group][count - 1]].name);
    if (own == NULL)
        return false;
    out->block[side] = side == SIDE_K ? own->step : own->block;
    out->thread[side] = side == SIDE_K ? 1 : own->thread;
    return true;
}

static bool tile_sides(const struct plan_region *region, const struct bound_op *bound,
                       const struct tile *tile, struct footprint *out, const char **why)
{
    *why = "a side of the product has no tile";
    for (int side = 0; side < SIDE_COUNT; side++)
        if (!tile_side(region, bound, tile, (enum footprint_side)side, out))
            return false;
    out->divisions[0] = group_divisions(tile, TILE_M) + group_divisions(tile, TILE_K);
    out->divisions[1] = group_divisions(tile, TILE_N) + group_divisions(tile, TILE_K);
    *why = "the summed index has no step";
    return out->block[SIDE_K] >= 1;
}

/* ---- factors ---- */

/* The tensor whose elements the factor is, each at plain indices, converted or not. */
static const struct expr *plain_read(const struct expr *factor)
{
    while (factor->op == EXPR_CAST)
        factor = factor->args[0];
    if (factor->op != EXPR_READ || factor->rank == 0 || factor->pad != NULL)
        return NULL;
    for (size_t i = 0; i < factor->rank; i++)
        if (factor->subs[i]->op != EXPR_INDEX)
            return NULL;
    return factor;
}

/* Do all values of `from` stay as they are in `to`? */
static bool holds(enum dtype to, enum dtype from)
{
    return to == from ||
           (dtype_is_float(to) && dtype_is_float(from) && dtype_bytes(to) > dtype_bytes(from));
}

static const enum dtype taken_by[] = {[COMPUTE_F64] = DTYPE_F64,
                                      [COMPUTE_F32] = DTYPE_F32,
                                      [COMPUTE_TF32] = DTYPE_F32,
                                      [COMPUTE_F16] = DTYPE_F16,
                                      [COMPUTE_BF16] = DTYPE_BF16};

/* The tensor whose elements the factor is, none of them rounded on the way but to `precision`. */
static const struct expr *unrounded_read(const struct op *op, const struct expr *factor,
                                         enum compute precision)
{
    const struct expr *read = plain_read(factor);
    for (; read != NULL && factor->op == EXPR_CAST; factor = factor->args[0])
        if (!holds(factor->dtype, op->tensors[read->tensor].dtype) ||
            (factor->tf32 && precision != COMPUTE_TF32))
            return NULL;
    return read;
}

bool footprint_exact(const struct expr *factor, enum compute precision)
{
    for (const struct expr *at = factor;; at = at->args[0]) {
        const bool fits = precision != COMPUTE_TF32 || at->tf32 || dtype_bytes(at->dtype) < 4;
        if (fits && holds(taken_by[precision], at->dtype))
            return true;
        if (at->op != EXPR_CAST || !holds(at->dtype, at->args[0]->dtype))
            return false;
    }
}

bool footprint_copies(const struct op *op, const struct expr *factor, bool mma,
                      enum compute precision)
{
    const struct expr *read = mma ? unrounded_read(op, factor, precision) : plain_read(factor);
    if (read == NULL)
        return false;
    const enum dtype own = op->tensors[read->tensor].dtype;
    return mma ? own == taken_by[precision]
               : dtype_bytes(own) == (factor->dtype == DTYPE_F64 ? 8 : 4);
}

static enum staging staging_of(const struct plan_region *region, const struct op *op, size_t tensor)
{
    for (size_t i = 0; tensor != OP_NONE && i < region->stage_count; i++)
        if (str_equal(region->stages[i].tensor, op->tensors[tensor].name))
            return region->stages[i].staging;
    return STAGE_SHARED;
}

/* Elements of the tensor that lie side by side along the index which `group` runs along fastest. */
static int64_t contiguous_of(const struct bound_op *bound, const struct tile *tile,
                             const struct expr *read, enum tile_group group)
{
    const size_t last = bound->op->tensors[read->tensor].rank - 1;
    const size_t count = tile->loop_count[group];
    return count > 0 && read->subs[last]->loop == tile->loops[group][count - 1]
               ? bound->tensors[read->tensor].shape[last]
               : 1;
}

static void find_factor(const struct plan_region *region, const struct bound_op *bound,
                        const struct tile *tile, int which, struct footprint *out)
{
    const struct expr *factor = which == 0 ? tile->a : tile->b, *read = plain_read(factor);
    const bool along_k = which == 0 ? tile->a_along_k : tile->b_along_k;
    const int64_t side = out->block[which == 0 ? SIDE_M : SIDE_N];
    struct footprint_factor *own = &out->factor[which];
    *own = (struct footprint_factor){.tensor = OP_NONE,
                                     .staging = STAGE_SHARED,
                                     .exact = footprint_exact(factor, region->precision),
                                     .along_k = along_k,
                                     .line = along_k ? out->block[SIDE_K] : side,
                                     .contiguous = 1,
                                     .copy_bytes = (int64_t)dtype_bytes(factor->dtype),
                                     .align = (int64_t)dtype_bytes(factor->dtype)};
    if (read == NULL)
        return;
    const struct tensor *tensor = &bound->op->tensors[read->tensor];
    own->tensor = read->tensor;
    own->staging = staging_of(region, bound->op, read->tensor);
    own->contiguous = contiguous_of(bound, tile, read,
                                    along_k      ? TILE_K
                                    : which == 0 ? TILE_M
                                                 : TILE_N);
    own->copy_bytes = region->vector * (int64_t)dtype_bytes(tensor->dtype);
    own->align = tensor->temporary ? PAD_BYTES : tensor->align;
}

static bool copies_fit(const struct plan_region *region, const struct bound_op *bound,
                       const struct tile *tile, const struct footprint *out, const char **why)
{
    for (int i = 0; i < 2; i++) {
        *why = out->mma ? "an asynchronous copy converts nothing: a factor's elements are not of "
                          "the type that the products take"
                        : "an asynchronous copy converts nothing: a factor's elements are not of "
                          "the size that the products take";
        if (out->factor[i].staging == STAGE_ASYNC &&
            !footprint_copies(bound->op, i == 0 ? tile->a : tile->b, out->mma, region->precision))
            return false;
    }
    for (size_t i = 0; i < region->stage_count; i++) {
        bool known = false;
        for (int k = 0; k < 2; k++)
            known |=
                out->factor[k].tensor != OP_NONE &&
                str_equal(bound->op->tensors[out->factor[k].tensor].name, region->stages[i].tensor);
        *why = "a stage is of a tensor whose elements are no factor as they lie";
        if (!known)
            return false;
    }
    return true;
}

/* ---- quantities ---- */

static int64_t rows_bytes(const struct footprint *out, int which, bool padded)
{
    const struct footprint_factor *own = &out->factor[which];
    const int64_t elements =
        footprint_times(out->block[which == 0 ? SIDE_M : SIDE_N], out->block[SIDE_K]);
    const int64_t pad = padded ? PAD_BYTES / out->factor_bytes : 0;
    return footprint_times(footprint_times(elements / own->line, own->line + pad),
                           out->factor_bytes);
}

/* One stage.  Through registers onto CUDA cores both tiles lie along their own side. */
static int64_t stage_bytes(const struct plan_region *region, const struct footprint *out)
{
    const bool padded = !str_equal(region->layout, STR_LIT(LAYOUT_SWIZZLED));
    int64_t sum = 0;
    if (out->mma || out->factor[0].staging == STAGE_ASYNC ||
        out->factor[1].staging == STAGE_ASYNC) {
        for (int i = 0; i < 2; i++)
            if (!num_add(sum, rows_bytes(out, i, padded), &sum))
                return INT64_MAX;
        return sum;
    }
    const int64_t sides = out->block[SIDE_M] + out->block[SIDE_N] + (padded ? 2 * TILE_PAD : 0);
    return footprint_times(footprint_times(out->block[SIDE_K], sides), out->factor_bytes);
}

/* Of a thread, for the loads of one stage that are under way at a time. */
static int64_t staged_words(const struct footprint *out, bool whole)
{
    int64_t words = 0;
    for (int i = 0; i < 2; i++) {
        const int64_t bytes = footprint_times(
            footprint_times(out->block[i == 0 ? SIDE_M : SIDE_N], out->block[SIDE_K]),
            out->factor_bytes);
        const int64_t own = num_ceil_div(bytes, footprint_times(out->threads, 4));
        const int64_t most = LOADS_IN_FLIGHT * num_ceil_div(out->factor[i].copy_bytes, 4);
        if (out->factor[i].staging != STAGE_ASYNC)
            words += whole || own < most ? own : most;
    }
    return words;
}

static int64_t mma_registers(const struct plan_region *region, const struct footprint *out)
{
    const int64_t tm = out->thread[SIDE_M], tn = out->thread[SIDE_N];
    const bool group = out->shape != NULL && out->shape->threads > WARP;
    const int64_t lanes = WARP / MMA_LANES_ACROSS;
    /* a warp's rows and columns of one instruction's depth */
    const int64_t elements = (tm * lanes + tn * MMA_LANES_ACROSS) * region->mma[2];
    const int64_t bytes = footprint_times(elements, mma_fragment_bytes(region->precision));
    const int64_t fragments = group ? 0 : num_ceil_div(bytes, WARP * 4);
    const int64_t wide = region->precision == COMPUTE_F64 ? 2 : 1;
    return MMA_REGISTERS + wide * tm * tn + fragments;
}

static void tile_registers(const struct plan_region *region, struct footprint *out)
{
    const bool ahead =
        out->factor[0].staging == STAGE_REGISTER || out->factor[1].staging == STAGE_REGISTER;
    const int64_t sums = out->thread[SIDE_M] * out->thread[SIDE_N];
    const double own = (double)(2 * sums + out->thread[SIDE_M] + out->thread[SIDE_N]) *
                       (double)out->factor_bytes / 4;
    if (out->mma)
        out->registers = mma_registers(region, out) + staged_words(out, ahead);
    else
        out->registers =
            TILE_REGISTERS + (int64_t)(tile_growth * own) + (ahead ? staged_words(out, true) : 0);
}

static void tile_counts(const struct plan_region *region, struct footprint *out)
{
    out->shape = out->mma ? mma_find(region->precision, region->mma) : NULL;
    out->threads = num_ceil_div(out->block[SIDE_M], out->thread[SIDE_M]) *
                   num_ceil_div(out->block[SIDE_N], out->thread[SIDE_N]);
    const int64_t across = footprint_times(num_ceil_div(out->extent[SIDE_M], out->block[SIDE_M]),
                                           num_ceil_div(out->extent[SIDE_N], out->block[SIDE_N]));
    out->blocks = footprint_times(footprint_times(out->extent[SIDE_BATCH], across), out->split);
    out->kernels = out->split > 1 ? 2 : 1;
    if (out->split > 1)
        out->workspace_bytes =
            footprint_times(footprint_times(out->extent[SIDE_M], out->extent[SIDE_N]),
                            footprint_times(footprint_times(out->extent[SIDE_BATCH], out->split),
                                            out->element_bytes));
}

bool tile_footprint(struct arena *arena, const struct plan_region *region,
                    const struct bound_op *bound, struct footprint *out, const char **why)
{
    struct tile tile;
    out->kind = FOOTPRINT_TILE;
    if (!tile_recognise(arena, bound->op, region->stmts, region->stmt_count, &tile, why) ||
        !tile_sides(region, bound, &tile, out, why))
        return false;
    out->mma = region->mma[0] > 0;
    out->depth = region->depth;
    out->split = region->split;
    out->element_bytes = tile.contraction->value->dtype == DTYPE_F64 ? 8 : 4;
    out->factor_bytes = out->mma && compute_is_narrow(region->precision) ? 2 : out->element_bytes;
    out->vector = region->vector;
    out->items = out->passes = 1;
    for (int i = 0; i < 2; i++)
        find_factor(region, bound, &tile, i, out);
    if (!copies_fit(region, bound, &tile, out, why))
        return false;
    tile_counts(region, out);
    out->shared_bytes = footprint_times(stage_bytes(region, out), region->depth);
    tile_registers(region, out);
    return true;
}
