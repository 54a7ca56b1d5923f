/*
 * Speed of light of a bound op on a machine.
 *
 * Multiply-accumulates are priced a statement at a time, because each has its own factors; the sum
 * of their times competes with that of all other arithmetic, for tensor cores and CUDA cores can
 * work at once.
 *
 * Invariant: each choice (the best rate, free range, overlap of units and of memory) errs towards
 * less time.
 */
#include <math.h>

#include "base/panic.h"

#include "solver/bound/bound.h"

/* Significand bits, the hidden one included.  For f32 22 are enough: its bound of 16 * 2^-24 takes
 * what two tf32 or f16 numbers hold. */
enum { BITS_F64 = 53, BITS_F32 = 22, BITS_F16 = 11, BITS_BF16 = 8, BITS_F8 = 4, BITS_BOOL = 1 };
/* Elementwise arithmetic of 16-bit types, over that of f32: most on any machine (A100's f16). */
enum { PACKED = 4 };

const char *sol_limiter_name(enum sol_limiter limiter)
{
    return limiter == SOL_MEMORY ? "memory" : "compute";
}

static int bits_of_rate(enum machine_rate rate)
{
    switch (rate) {
    case MACHINE_RATE_F64:
    case MACHINE_RATE_F64_TENSOR:
        return BITS_F64;
    case MACHINE_RATE_F32:
        return BITS_F32;
    case MACHINE_RATE_TF32:
    case MACHINE_RATE_F16:
        return BITS_F16;
    case MACHINE_RATE_BF16:
        return BITS_BF16;
    case MACHINE_RATE_E4M3:
        return BITS_F8;
    case MACHINE_RATE_COUNT:
        break;
    }
    panic("rate %d", (int)rate);
}

static int bits_of_compute(enum compute compute)
{
    switch (compute) {
    case COMPUTE_F64:
        return BITS_F64;
    case COMPUTE_F32:
        return BITS_F32;
    case COMPUTE_TF32:
    case COMPUTE_F16:
        return BITS_F16;
    case COMPUTE_BF16:
        return BITS_BF16;
    }
    panic("compute %d", (int)compute);
}

static int bits_of_dtype(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F16:
        return BITS_F16;
    case DTYPE_BF16:
    case DTYPE_I8:
    case DTYPE_U8:
        return BITS_BF16;
    case DTYPE_E4M3:
    case DTYPE_E5M2:
        return BITS_F8;
    case DTYPE_BOOL:
        return BITS_BOOL;
    case DTYPE_F32:
        return BITS_F32;
    case DTYPE_F64:
    case DTYPE_I64:
    case DTYPE_I32:
    case DTYPE_I16:
    case DTYPE_COUNT:
        break;
    }
    return BITS_F64;
}

/* What a factor holds: a read under casts has the narrowest of their types. */
static int bits_of_factor(const struct bound_op *bound, const struct expr *factor, int track)
{
    int bits = track;
    for (; factor->op == EXPR_CAST; factor = factor->args[0]) {
        int own = factor->tf32 ? BITS_F16 : bits_of_dtype(factor->dtype);
        bits = own < bits ? own : bits;
    }
    if (factor->op != EXPR_READ)
        return bits;
    int own = bits_of_dtype(bound->op->tensors[factor->tensor].dtype);
    return own < bits ? own : bits;
}

/* Products of `unit` bits that make up one of factors with a and b bits: factors are cut in pieces,
 * and pairs of pieces below the last bit are left out. */
static int64_t products_of(int a, int b, int unit)
{
    int need = a > b ? a : b;
    int64_t count = 0;
    for (int i = 0; i * unit < a; i++)
        for (int j = 0; j * unit < b; j++)
            count += (i + j) * unit < need;
    return count;
}

struct price {
    double rate; /* flops of the op a second; 0 = there is none */
    enum machine_rate means;
    int64_t products;
};

static struct price best_price(const struct machine *machine, int a, int b)
{
    struct price best = {0, MACHINE_RATE_F32, 1};
    int need = a > b ? a : b;
    for (int r = 0; r < MACHINE_RATE_COUNT; r++) {
        enum machine_rate means = (enum machine_rate)r;
        int unit = bits_of_rate(means);
        if (need == BITS_F64 && unit < BITS_F64)
            continue;
        int64_t products = products_of(a, b, unit);
        double rate = machine->rates[r] / (double)products;
        /* Of equals the narrowest: bf16 data are said to run as bf16. */
        if (rate > best.rate || (rate == best.rate && unit < bits_of_rate(best.means)))
            best = (struct price){rate, means, products};
    }
    return best;
}

static double core_rate(const struct machine *machine, int need)
{
    return machine->rates[need == BITS_F64 ? MACHINE_RATE_F64 : MACHINE_RATE_F32];
}

struct totals {
    double mac_s, core_mac_s, other_flops;
    double flops;
    double dearest_s;
    struct price dearest; /* of the statement that takes longest */
    bool missing;
};

struct widest {
    const struct bound_op *bound;
    int64_t elements;
};

static void widen(void *context, const struct expr *expr)
{
    struct widest *widest = context;
    if (expr->op != EXPR_READ)
        return;
    int64_t elements = widest->bound->tensors[expr->tensor].count;
    widest->elements = elements > widest->elements ? elements : widest->elements;
}

/*
 * Flops that no algorithm saves, of those that the statement says.  Sums that overlap (prefixes,
 * windows) share their parts: of a reduction without products only one operation an element, of
 * what it reads or makes, is sure.
 */
static double needed_flops(const struct bound_op *bound, size_t s, struct op_count count)
{
    const struct stmt *stmt = &bound->op->stmts[s];
    struct widest widest = {bound, bound->tensors[stmt->target].count};
    double iterations = 1;
    if (count.macs > 0 || stmt->reduce == REDUCE_NONE)
        return (double)count.flops;
    expr_walk(stmt->value, widen, &widest);
    for (size_t i = 0; i < stmt->loop_count; i++)
        iterations *= (double)bound->extents[s][i];
    return (double)count.flops * fmin(1, (double)widest.elements / iterations);
}

struct reading {
    size_t tensor;
    int64_t count;
};

static void count_readings(void *context, const struct expr *expr)
{
    struct reading *reading = context;
    reading->count += expr->op == EXPR_READ && expr->tensor == reading->tensor;
}

/*
 * By statement, the part of its results that is needed: all of an output; of what lies between, as
 * much as the statement reads that reads most of it, each iteration as many elements as its text
 * names.  Reductions that end where an index of their row says leave out the rest.
 */
static void find_needed(const struct bound_op *bound, double parts[OP_STATEMENTS_MAX])
{
    const struct op *op = bound->op;
    for (size_t s = op->stmt_count; s-- > 0;) {
        const size_t target = op->stmts[s].target;
        const bool apart = op->stmts[s].seq == OP_NONE && op->tensors[target].temporary;
        parts[s] = apart ? 0 : 1;
        for (size_t r = s + 1; r < op->stmt_count && parts[s] < 1; r++) {
            struct reading reading = {target, 0};
            stmt_walk(op, &op->stmts[r], count_readings, &reading);
            const double elements =
                parts[r] * (double)op_iterations(bound, r) * (double)reading.count;
            parts[s] = fmin(1, fmax(parts[s], elements / (double)bound->tensors[target].count));
        }
    }
}

static void add_stmt(const struct bound_op *bound, const struct machine *machine, int track,
                     size_t s, double part, struct totals *totals)
{
    const struct stmt *stmt = &bound->op->stmts[s];
    struct op_count count = op_count_stmt(bound, s);
    double macs = 2 * part * (double)count.macs;
    double flops = part * needed_flops(bound, s, count);
    totals->flops += flops;
    totals->other_flops += flops - macs;
    if (count.macs == 0)
        return;
    const struct expr *product = expr_exact(stmt->value);
    while (product->op == EXPR_CAST)
        product = expr_exact(product->args[0]);
    ASSERT(product->op == EXPR_MUL);
    int a = bits_of_factor(bound, expr_exact(product->args[0]), track);
    int b = bits_of_factor(bound, expr_exact(product->args[1]), track);
    struct price price = best_price(machine, a, b);
    double core = core_rate(machine, a > b ? a : b);
    totals->missing |= price.rate <= 0;
    double seconds = price.rate > 0 ? macs / price.rate : 0;
    totals->mac_s += seconds;
    totals->core_mac_s += core > 0 ? macs / core : (double)INFINITY;
    if (seconds > totals->dearest_s) {
        totals->dearest_s = seconds;
        totals->dearest = price;
    }
}

static double bytes_of(const struct bound_op *bound)
{
    struct op_count count = op_count(bound);
    return (double)count.bytes_read + (double)count.bytes_written;
}

bool sol_of(const struct bound_op *bound, const struct track *track, const struct machine *machine,
            struct sol *out, struct err *err)
{
    enum compute compute = (track == NULL ? &bound->op->tracks[0] : track)->compute;
    int need = bits_of_compute(compute);
    struct totals totals = {.dearest = {0, MACHINE_RATE_F32, 1}};
    double parts[OP_STATEMENTS_MAX];
    find_needed(bound, parts);
    for (size_t s = 0; s < bound->op->stmt_count; s++)
        add_stmt(bound, machine, need, s, parts[s], &totals);
    double core = core_rate(machine, need);
    if (totals.missing || (core <= 0 && totals.other_flops > 0))
        return err_raise(err, ERR_UNSUPPORTED, "%.*s has no rate for the track %s",
                         STR_ARG(machine->name), compute_name(compute));
    double elementwise = core * (need <= BITS_F16 && compute != COMPUTE_TF32 ? PACKED : 1);
    double other_s = totals.other_flops > 0 ? totals.other_flops / elementwise : 0;
    bool products = totals.mac_s >= other_s && totals.mac_s > 0;
    struct sol sol = {.bytes = bytes_of(bound), .flops = totals.flops, .means = MACHINE_RATE_F32};
    sol.products = products ? totals.dearest.products : 1;
    sol.means = products           ? totals.dearest.means
                : need == BITS_F64 ? MACHINE_RATE_F64
                                   : MACHINE_RATE_F32;
    sol.compute_s = products ? totals.mac_s : other_s;
    sol.core_s = fmax(totals.core_mac_s, other_s);
    sol.memory_s = sol.bytes / machine->dram_bytes_per_s;
    sol.limiter = sol.compute_s > sol.memory_s ? SOL_COMPUTE : SOL_MEMORY;
    sol.seconds = fmax(sol.compute_s, sol.memory_s);
    sol.rate = sol.compute_s > 0 ? sol.flops / sol.compute_s : 0;
    *out = sol;
    return true;
}

void sol_print(struct json_writer *w, const struct sol *sol)
{
    json_member_real(w, "seconds", sol->seconds);
    json_member_real(w, "memory_s", sol->memory_s);
    json_member_real(w, "compute_s", sol->compute_s);
    json_member_real(w, "bytes", sol->bytes);
    json_member_real(w, "flops", sol->flops);
    json_member_text(w, "limiter", sol_limiter_name(sol->limiter));
    json_member_text(w, "means", machine_rate_name(sol->means));
}
