/*
 * What the model must answer: the task in a sentence, and the contract's two blocks by the example
 * of this very op, with its tensors, dims and C types.
 *
 * Invariant: the example's manifest passes manifest_check, and its arguments are the parameters of
 * the signature above it, in their order and types.
 */
#include <inttypes.h>

#include "synth/candidate_int.h"
#include "synth/prompt_int.h"

extern const char embed_prompts_reply_again_txt[];
extern const char embed_prompts_reply_first_txt[];
extern const char embed_prompts_reply_repair_txt[];
extern const char embed_prompts_reply_improve_txt[];

enum { THREADS_DEFAULT = 256 };

static const char scratch_name[] = "scratch";

/* A dim that fits is an int, as most kernels have it. */
static enum dtype dim_dtype(const struct dim *dim)
{
    return dim->max <= INT32_MAX ? DTYPE_I32 : DTYPE_I64;
}

static const char *element_c(enum dtype dtype)
{
    if (dtype == DTYPE_E4M3)
        return "__nv_fp8_e4m3";
    if (dtype == DTYPE_E5M2)
        return "__nv_fp8_e5m2";
    return dtype == DTYPE_I64 ? "long long" : storage_c(dtype);
}

static const char *header_of(enum dtype dtype)
{
    if (dtype == DTYPE_E4M3 || dtype == DTYPE_E5M2)
        return "cuda_fp8.h";
    if (dtype == DTYPE_F16)
        return "cuda_fp16.h";
    return dtype == DTYPE_BF16 ? "cuda_bf16.h" : NULL;
}

static bool is_aliased(const struct op *op, size_t tensor)
{
    for (size_t i = 0; i < op->declared_count; i++)
        if (op->tensors[i].may_alias == tensor)
            return true;
    return op->tensors[tensor].may_alias != OP_NONE;
}

/* Threads of a block: the plan's, for its first region. */
static void block_of(const struct prompt_input *in, int64_t block[3])
{
    bool planned = in->plan != NULL && in->plan->region_count > 0;
    block[0] = planned ? in->plan->regions[0].threads[0] : THREADS_DEFAULT;
    block[1] = planned ? in->plan->regions[0].threads[1] : 1;
    block[2] = planned ? in->plan->regions[0].threads[2] : 1;
}

static int64_t threads_of(const struct prompt_input *in)
{
    int64_t block[3];
    block_of(in, block);
    return block[0] * block[1] * block[2];
}

static size_t first_output(const struct op *op)
{
    size_t i = 0;
    while (i + 1 < op->declared_count && op->tensors[i].role != ROLE_OUTPUT)
        i++;
    return i;
}

static void headers_text(struct buf *out, const struct op *op)
{
    static const char *const names[] = {"cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"};
    for (size_t n = 0; n < COUNT_OF(names); n++)
        for (size_t i = 0; i < op->declared_count; i++) {
            const char *header = header_of(op->tensors[i].dtype);
            if (header != NULL && str_equal(str_from(header), str_from(names[n]))) {
                buf_printf(out, "#include <%s>\n", header);
                break;
            }
        }
}

static void signature_text(struct buf *out, const struct prompt_input *in,
                           const struct names *names, const char *entry)
{
    const struct op *op = in->target->op;
    headers_text(out, op);
    buf_printf(out, "extern \"C\" __global__ void __launch_bounds__(%" PRId64 ") %s(",
               threads_of(in), entry);
    for (size_t i = 0; i < op->declared_count; i++)
        buf_printf(out, "%s%s%s *%s%s", i > 0 ? ", " : "",
                   op->tensors[i].role == ROLE_OUTPUT ? "" : "const ",
                   element_c(op->tensors[i].dtype), is_aliased(op, i) ? "" : "__restrict__ ",
                   names->tensors[i]);
    for (size_t i = 0; i < op->dim_count; i++)
        if (op->dims[i].kind == DIM_VAR)
            buf_printf(out, ", %s %s", dim_dtype(&op->dims[i]) == DTYPE_I32 ? "int" : "long long",
                       names->dims[i]);
    buf_printf(out, ", float *__restrict__ %s)\n{\n    ...\n}\n", scratch_name);
}

static void put_formula(struct buf *out, const struct formula *formula)
{
    const bool number = formula->op == FORMULA_INT;
    buf_text(out, number ? "" : "\"");
    formula_print(out, formula);
    buf_text(out, number ? "" : "\"");
}

static void manifest_args(struct buf *out, const struct op *op)
{
    for (size_t i = 0; i < op->declared_count; i++)
        buf_printf(out, "        {\"tensor\": \"%.*s\"},\n", STR_ARG(op->tensors[i].name));
    for (size_t i = 0; i < op->dim_count; i++)
        if (op->dims[i].kind == DIM_VAR)
            buf_printf(out, "        {\"dim\": \"%.*s\", \"dtype\": \"%s\"},\n",
                       STR_ARG(op->dims[i].name), dtype_name(dim_dtype(&op->dims[i])));
    buf_printf(out, "        {\"workspace\": \"%s\"}\n", scratch_name);
}

static void manifest_text(struct arena *arena, struct buf *out, const struct prompt_input *in,
                          const char *entry)
{
    const struct op *op = in->target->op;
    int64_t block[3];
    block_of(in, block);
    const struct tensor *output = &op->tensors[first_output(op)];
    const struct formula *elements = formula_count(arena, output->shape, output->rank);
    const struct formula *blocks =
        formula_binary(arena, FORMULA_CEILDIV, elements, formula_int(arena, threads_of(in)));
    const struct formula *bytes =
        formula_mul(arena, formula_int(arena, sizeof(float)),
                    formula_count(arena, output->shape, output->rank > 0));
    buf_printf(out, "{\n  \"manifest\": 1, \"arch\": \"%s\", \"guard\": \"true\",\n", in->arch);
    buf_printf(out, "  \"kernels\": [\n    {\"entry\": \"%s\", \"grid\": [", entry);
    put_formula(out, blocks);
    buf_printf(out,
               ", 1, 1], \"block\": [%" PRId64 ", %" PRId64 ", %" PRId64
               "], \"smem\": 0,\n      \"args\": [\n",
               block[0], block[1], block[2]);
    manifest_args(out, op);
    buf_printf(out,
               "      ]}\n  ],\n  \"workspace\": [{\"name\": \"%s\", \"bytes\": ", scratch_name);
    put_formula(out, bytes);
    buf_text(out, ", \"init\": \"none\"}],\n  \"strategy\": \"a few words\"\n}\n");
}

static const char *task_text(const struct prompt_input *in)
{
    bool accepted = in->verdict != NULL && in->verdict->validity == VALIDITY_ACCEPTED;
    if (in->verdict != NULL && !accepted)
        return in->last->cuda.len > 0 ? embed_prompts_reply_repair_txt
                                      : embed_prompts_reply_again_txt;
    return in->incumbent != NULL || accepted ? embed_prompts_reply_improve_txt
                                             : embed_prompts_reply_first_txt;
}

void reply_text(struct arena *arena, struct buf *out, const struct prompt_input *in)
{
    const struct op *op = in->target->op;
    struct names names;
    struct buf text;
    names_init(&names, arena, op);
    (void)names_take(&names, str_from(scratch_name));
    const char *entry =
        names_take(&names, str_from(text_fmt(arena, "%.*s_kernel", STR_ARG(op->name))));
    buf_text(out, task_text(in));
    buf_text(out, "\nThe form for this op; names and order of parameters are free, and types must "
                  "agree with the arguments. Change grid, block, smem; leave the workspace and its "
                  "argument out when nothing needs them.\n");
    buf_init(&text, arena, PROMPT_BYTES_MAX);
    signature_text(&text, in, &names, entry);
    quote_fence(out, "cuda", buf_view(&text));
    buf_init(&text, arena, PROMPT_BYTES_MAX);
    manifest_text(arena, &text, in, entry);
    quote_fence(out, "json", buf_view(&text));
}
