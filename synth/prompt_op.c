/*
 * The operation in a prompt: dims, tensors, the body as the spec writes it, and what its numbers
 * mean.  All of it is fixed: without any line a kernel could be wrong.
 *
 * Explanations of the language are printed where the body uses what they explain, so that a softmax
 * does not pay for scatter-add.  Not here: how candidates are launched (prompt_reply.c).
 */
#include <inttypes.h>

#include "synth/prompt_int.h"

enum { BODY_BYTES_MAX = 16 << 20 };

static void dims_text(struct buf *out, const struct bound_op *target)
{
    const struct op *op = target->op;
    buf_text(out, "Dims:\n");
    for (size_t i = 0; i < op->dim_count; i++) {
        const struct dim *dim = &op->dims[i];
        buf_text(out, "- ");
        quote_line(out, dim->name);
        switch (dim->kind) {
        case DIM_VAR:
            buf_printf(out, ": %" PRId64 " to %" PRId64 "; target %" PRId64 "\n", dim->min,
                       dim->max, target->dims[i]);
            break;
        case DIM_CONST:
            buf_printf(out, ": always %" PRId64 "\n", dim->value);
            break;
        case DIM_FORMULA:
            buf_text(out, " = ");
            formula_print(out, dim->formula);
            buf_printf(out, "; target %" PRId64 "\n", target->dims[i]);
            break;
        }
    }
}

static void shape_text(struct buf *out, const struct tensor *tensor)
{
    buf_char(out, '[');
    for (size_t d = 0; d < tensor->rank; d++) {
        buf_text(out, d > 0 ? ", " : "");
        formula_print(out, tensor->shape[d]);
    }
    buf_char(out, ']');
}

static void fill_text(struct buf *out, const struct fill *fill)
{
    switch (fill->kind) {
    case FILL_NORMAL:
        buf_printf(out, "normal, mean %g, deviation %g", fill->a, fill->b);
        break;
    case FILL_UNIFORM:
        buf_printf(out, "uniform, %g to %g", fill->a, fill->b);
        break;
    case FILL_INTS:
        buf_text(out, "integers, ");
        formula_print(out, fill->low);
        buf_text(out, " to ");
        formula_print(out, fill->high);
        break;
    case FILL_ZEROS:
        buf_text(out, "zeros");
        break;
    case FILL_ONES:
        buf_text(out, "ones");
        break;
    case FILL_MASK:
        buf_printf(out, "mask, 1 with probability %g", fill->a);
        break;
    }
}

static void tensor_text(struct buf *out, const struct bound_op *target, size_t index)
{
    const struct tensor *tensor = &target->op->tensors[index];
    buf_text(out, "- ");
    quote_line(out, tensor->name);
    shape_text(out, tensor);
    buf_printf(out, ": %s, %s, aligned to %" PRId64 " bytes, %" PRId64 " bytes at the target",
               role_name(tensor->role), dtype_name(tensor->dtype), tensor->align,
               target->tensors[index].bytes);
    if (tensor->role == ROLE_OUTPUT) {
        buf_text(out, "; write every element");
    } else {
        buf_text(out, "; data: ");
        fill_text(out, &tensor->fill);
    }
    if (tensor->may_alias != OP_NONE) {
        buf_text(out, "; may be the same memory as ");
        quote_line(out, target->op->tensors[tensor->may_alias].name);
        buf_text(out, " (both cases are tested: no __restrict__ on either, and read an element "
                      "before anyone overwrites it)");
    }
    buf_char(out, '\n');
}

static void temporaries_text(struct buf *out, const struct op *op)
{
    if (op->declared_count == op->tensor_count)
        return;
    buf_text(out, "Temporaries, which need not exist in memory:");
    for (size_t i = op->declared_count; i < op->tensor_count; i++) {
        buf_text(out, i == op->declared_count ? " " : ", ");
        quote_line(out, op->tensors[i].name);
        shape_text(out, &op->tensors[i]);
        buf_printf(out, " %s", dtype_name(op->tensors[i].dtype));
    }
    buf_text(out, ".\n");
}

/* ---- what the body uses ---- */

#define USES(X)                                                                                    \
    X(SCAN, "A range bounded by an index is a scan: y[n] = sum(j <= n) x[j] is a prefix sum; < "   \
            "excludes the element itself, >= and > run from the other end.")                       \
    X(PAD, "pad(x[...], v) is v (0 when not given) where a subscript is outside of the tensor, "   \
           "and may not touch memory there.")                                                      \
    X(SCATTER, "t[s] += (i, j) v adds v for every i, j to the element named by the subscripts; "   \
               "several may meet in one element. Elements start from zero, but the output's "      \
               "memory holds garbage: clear it in a kernel.")                                      \
    X(GATHER, "A subscript that reads an integer tensor is a gather; its values lie inside.")      \
    X(SEQ, "seq t : T { ... } runs its statements for t = 0, 1, ... T-1 in this order; a step "    \
           "reads results of earlier steps.")                                                      \
    X(ARG, "argmax and argmin give the flat row-major position; the first wins, NaN wins over "    \
           "all.")                                                                                 \
    X(MINMAX, "max and min propagate NaN.")                                                        \
    X(DIVIDE, "Integer / and % floor; division by 0 gives 0; overflow wraps.")                     \
    X(CAST, "f32(x), bf16(x) and so on are casts; only casts and the final store round in the "    \
            "reference.")

enum use {
#define X(id, text) USE_##id,
    USES(X)
#undef X
        USE_COUNT
};

struct found {
    bool uses[USE_COUNT];
};

static void find_uses(void *context, const struct expr *expr)
{
    struct found *found = context;
    bool integer = dtype_kind(expr->dtype) != KIND_FLOAT;
    found->uses[USE_PAD] |= expr->op == EXPR_READ && expr->pad != NULL;
    found->uses[USE_CAST] |= expr->op == EXPR_CAST;
    found->uses[USE_DIVIDE] |= (expr->op == EXPR_DIV || expr->op == EXPR_MOD) && integer;
    found->uses[USE_MINMAX] |= (expr->op == EXPR_MIN || expr->op == EXPR_MAX) && !integer;
    for (size_t i = 0; expr->op == EXPR_READ && i < expr->rank; i++)
        found->uses[USE_GATHER] |= expr_reads_data(expr->subs[i]);
}

static void language_text(struct buf *out, const struct op *op)
{
    static const char *const texts[] = {
#define X(id, text) text,
        USES(X)
#undef X
    };
    struct found found = {{false}};
    found.uses[USE_SEQ] = op->seq_count > 0;
    for (size_t s = 0; s < op->stmt_count; s++) {
        const struct stmt *stmt = &op->stmts[s];
        expr_walk(stmt->value, find_uses, &found);
        found.uses[USE_SCATTER] |= stmt->scatter != NULL;
        found.uses[USE_ARG] |= stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN;
        found.uses[USE_MINMAX] |= stmt->reduce == REDUCE_MAX || stmt->reduce == REDUCE_MIN;
        for (size_t l = 0; l < stmt->loop_count; l++)
            found.uses[USE_SCAN] |= stmt->loops[l].bound != RANGE_FULL;
    }
    found.uses[USE_MINMAX] &= !op->policy.finite_inputs;
    for (size_t u = 0; u < USE_COUNT; u++)
        if (found.uses[u])
            buf_printf(out, "- %s\n", texts[u]);
}

/* ---- numbers ---- */

static const char *track_text(enum compute compute)
{
    switch (compute) {
    case COMPUTE_F64:
        return "f64 arithmetic throughout: f32 products, sums or functions are out of bounds.";
    case COMPUTE_F32:
        return "accuracy of f32, by any means. Fits: f32 in any order of summation, FMA, "
               "expf/__expf, __fdividef, rsqrtf, f32 tensors split into three TF32 products "
               "(3xTF32). Does not fit: factors or sums in bf16, f16 or TF32 where the op has f32, "
               "tanh.approx, f16 functions, short polynomials.";
    case COMPUTE_TF32:
        return "factors of products may be rounded to TF32 (11 bits); accumulate in f32, and keep "
               "everything else in f32. Does not fit: bf16 or f16 factors, sums narrower than f32.";
    case COMPUTE_F16:
        return "factors of products may be rounded to f16; accumulate in f32, keep everything else "
               "in f32, and round once where the op casts. Does not fit: bf16 factors, f16 "
               "accumulators.";
    case COMPUTE_BF16:
        return "factors of products may be rounded to bf16; accumulate in f32, keep everything "
               "else in f32, and round once where the op casts. Does not fit: bf16 or f16 "
               "accumulators, fp8 factors.";
    }
    return "";
}

static void numbers_text(struct buf *out, const struct prompt_input *in)
{
    const struct policy *policy = &in->target->op->policy;
    const struct track *track = track_of(in);
    buf_text(out, "Numbers:\n- Track ");
    quote_line(out, track->name);
    buf_printf(out, ": %s\n", track_text(track->compute));
    buf_text(out, policy->finite_inputs
                      ? "- Inputs are finite: NaN and infinity never arrive. Results must not "
                        "overflow on the way where the op's own values do not.\n"
                      : "- NaN and infinity may arrive, and must come out as the body says.\n");
    if (policy->summation == SUMMATION_COMPENSATED)
        buf_text(out, "- Sums are compensated: their error must not grow with their length (Kahan "
                      "or two-sum in f32, or f64 accumulators).\n");
    if (policy->zero_dims)
        buf_text(out, "- Dims may be 0; a grid may not.\n");
    if (policy->deterministic)
        buf_text(out, "- Two runs must agree bit for bit, in any order of blocks: no float "
                      "atomics whose order shows.\n");
}

void operation_text(struct buf *out, const struct prompt_input *in)
{
    const struct op *op = in->target->op;
    struct buf body;
    quote_line(out, op->name);
    if (op->doc.len > 0) {
        buf_text(out, ": ");
        quote_line(out, op->doc);
    }
    buf_text(out, "\n\n");
    dims_text(out, in->target);
    buf_text(out, "Tensors, dense and row-major, the last index contiguous:\n");
    for (size_t i = 0; i < op->declared_count; i++)
        tensor_text(out, in->target, i);
    buf_text(out, "Body, one statement a line; free indices run over the whole target, reduced "
                  "ones over the extent of what they subscript:\n");
    buf_init(&body, out->arena, BODY_BYTES_MAX);
    op_print_body(&body, op);
    quote_fence(out, "", buf_view(&body));
    temporaries_text(out, op);
    language_text(out, op);
    numbers_text(out, in);
}
