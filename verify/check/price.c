/*
 * What an emulation at a shape costs, before it is run: warp instructions, roughly.
 *
 * Four things cost: the spec's own work, done by scalar code; threads that are launched, whatever
 * they find to do, once, or at each step of a sequence where they meet at grid barriers; and tiles,
 * of which a kernel computes all, however little of one lies inside the output.  The last is what
 * surprises: K = 65536 with M = N = 1 is little work for the spec and a thousandfold for a kernel
 * with tiles of 128 x 128.  So a dim that the launch formulas divide into tiles counts as whole
 * tiles.
 */
#include "base/num.h"

#include "verify/check/check_int.h"

/* TUNING: counted on the kernels of tests/cases and on realised ones (emu.*.warp_insns). */
static const double insns_a_flop = 8.0 / 16; /* scalar code in warps that are half full */
static const double insns_a_tile_flop = 0.08;
static const double insns_a_warp = 120;
/* Low, so that some shapes have hundreds of steps: 30 to 100 were counted. */
static const double insns_a_warp_step = 8;
static const double insns_an_element = 4; /* filling, copying and comparing one */

bool formula_mentions(const struct formula *formula, struct str name)
{
    return formula != NULL &&
           ((formula->op == FORMULA_NAME && str_equal(formula->name, name)) ||
            formula_mentions(formula->a, name) || formula_mentions(formula->b, name));
}

/* Steps of the spec's sequences, which only a cooperative kernel takes with all of its grid. */
static double steps_at(const struct manifest_kernel *kernel, const struct bound_op *bound)
{
    const struct op *op = bound->op;
    double steps = 0;
    struct err err;

    for (size_t i = 0; i < op->seq_count && kernel->cooperative; i++) {
        int64_t extent;

        if (formula_eval(op->seqs[i].extent, &bound->env, &extent, &err))
            steps += (double)extent;
    }
    return steps;
}

/* What launched warps cost.  Dim formulas may fail at a shape; then the shape is of no use here. */
static bool launched_at(const struct manifest *manifest, const struct bound_op *bound,
                        double *price)
{
    struct err err;

    *price = 0;
    for (size_t k = 0; k < manifest->kernel_count; k++) {
        const struct manifest_kernel *kernel = &manifest->kernels[k];
        double blocks = 1, threads = 1;

        for (int i = 0; i < 3; i++) {
            int64_t grid, block;

            if (!formula_eval(kernel->grid[i], &bound->env, &grid, &err) ||
                !formula_eval(kernel->block[i], &bound->env, &block, &err))
                return false;
            blocks *= (double)grid;
            threads *= (double)block;
        }
        *price += blocks * (double)num_ceil_div((int64_t)threads, 32) *
                  (insns_a_warp + steps_at(kernel, bound) * insns_a_warp_step);
    }
    return true;
}

/* The largest constant in ceildiv(DIM, constant). */
static int64_t tile_in(const struct formula *formula, struct str dim)
{
    int64_t a, b, own = 1;

    if (formula == NULL)
        return 1;
    if (formula->op == FORMULA_CEILDIV && formula->a->op == FORMULA_NAME &&
        str_equal(formula->a->name, dim) && formula->b->op == FORMULA_INT)
        own = formula->b->value;
    a = tile_in(formula->a, dim);
    b = tile_in(formula->b, dim);
    a = a > b ? a : b;
    return own > a ? own : a;
}

int64_t tile_of(const struct manifest *manifest, struct str dim)
{
    int64_t tile = 1;

    for (size_t k = 0; k < manifest->kernel_count; k++)
        for (int i = 0; i < 3; i++) {
            const int64_t found = tile_in(manifest->kernels[k].grid[i], dim);

            tile = found > tile ? found : tile;
        }
    return tile;
}

/* Flops with every dim filled up to whole tiles; those of the shape itself where that is no shape.
 */
static double tiled_flops(const struct bound_op *bound, const struct manifest *manifest)
{
    const struct op *op = bound->op;
    struct arena arena;
    struct formula_env env = {0};
    const struct bound_op *padded;
    struct str *names;
    int64_t *values;
    struct err err;
    double flops = 0;

    arena_init(&arena, (size_t)1 << 28);
    names = arena_array(&arena, struct str, op->dim_count + 1);
    values = arena_array(&arena, int64_t, op->dim_count + 1);
    for (size_t d = 0; d < op->dim_count; d++) {
        const int64_t tile = tile_of(manifest, op->dims[d].name);

        if (op->dims[d].kind != DIM_VAR)
            continue;
        names[env.count] = op->dims[d].name;
        values[env.count++] = num_ceil_div(bound->dims[d], tile) * tile;
    }
    env.names = names;
    env.values = values;
    if (op_bind(&arena, op, &env, &padded, &err))
        flops = (double)op_count(padded).flops;
    arena_release(&arena);
    return flops;
}

static double declared_elements(const struct bound_op *bound)
{
    double elements = 0;

    for (size_t t = 0; t < bound->op->declared_count; t++)
        elements += (double)bound->tensors[t].count;
    return elements;
}

int64_t shape_price(const struct bound_op *bound, const struct manifest *manifest)
{
    const struct op_count count = op_count(bound);
    double price = ((double)count.flops + (double)count.bytes_unfused / 4) * insns_a_flop +
                   declared_elements(bound) * insns_an_element;
    double launched, tiled;

    if (manifest != NULL) {
        if (!launched_at(manifest, bound, &launched))
            return INT64_MAX;
        price += launched;
        tiled = tiled_flops(bound, manifest) * insns_a_tile_flop;
        price = tiled > price ? tiled : price;
    }
    return price < 1e18 ? (int64_t)price : INT64_MAX;
}
