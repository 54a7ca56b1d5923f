/*
 * The reference: for each tensor that a statement writes, its value in double (or i64) and the
 * bound within which every honest candidate lies, as workspaces "value:NAME" and "bound:NAME".
 *
 * One kernel a statement, one block and a loop for a seq.  All numbers that depend on the shape are
 * formulas evaluated by the host and handed over as arguments, which candidates do not do: the two
 * share neither expressions, nor subscripts, nor extents.
 *
 * Invariant: arguments n0, n1, ... are in the order in which the kernel first used them.
 */
#include <math.h>

#include "synth/reference_int.h"

enum { REF_BLOCKS_MAX = 4096, REF_OUTPUTS_A_BLOCK = 8, REF_BLOCK_THREADS = 256 };

extern const char embed_synth_reference_rules_cuh[];

struct ref_file {
    struct arena *arena;
    const struct op *op;
    const struct track *track;
    struct launches launches;
    struct buf kernels;
    double *least; /* by tensor */
    size_t number;
};

static void ref_begin(struct ref_kernel *kernel, struct ref_file *file)
{
    *kernel =
        (struct ref_kernel){.arena = file->arena,
                            .op = file->op,
                            .track = file->track,
                            .inputs = arena_array(file->arena, bool, file->op->tensor_count + 1),
                            .results = arena_array(file->arena, bool, file->op->tensor_count + 1),
                            .least = file->least};
    cuda_init(&kernel->out, file->arena);
    kernel->out.depth = 1;
}

/* ---- parameters ---- */

struct ref_params {
    struct ref_file *file;
    struct manifest_kernel *kernel;
    struct buf text;
};

static void param(struct ref_params *p, const char *text, struct manifest_arg arg)
{
    buf_printf(&p->text, "%s%s", p->text.len == 0 ? "" : ", ", text);
    launches_arg(&p->file->launches, p->kernel, arg);
}

static const char *input_type(enum dtype dtype)
{
    static const char *const names[DTYPE_COUNT] = {
        [DTYPE_F64] = "double", [DTYPE_F32] = "float",
        [DTYPE_F16] = "__half", [DTYPE_BF16] = "__nv_bfloat16",
        [DTYPE_E4M3] = "u8",    [DTYPE_E5M2] = "u8",
        [DTYPE_I64] = "i64",    [DTYPE_I32] = "int",
        [DTYPE_I16] = "short",  [DTYPE_I8] = "signed char",
        [DTYPE_U8] = "u8",      [DTYPE_BOOL] = "u8"};
    return names[dtype];
}

static bool workspace_param(struct ref_params *p, size_t tensor, const char *what, const char *type,
                            struct err *err)
{
    struct arena *arena = p->file->arena;
    const struct tensor *t = &p->file->op->tensors[tensor];
    struct str name = str_from(text_fmt(arena, "%s:%.*s", what, STR_ARG(t->name)));
    const struct formula *bytes =
        formula_mul(arena, formula_count(arena, t->shape, t->rank), formula_int(arena, 8));
    param(p, text_fmt(arena, "%s *%s%zu", type, what, tensor),
          (struct manifest_arg){.kind = ARG_WORKSPACE, .name = name});
    return launches_workspace(&p->file->launches, name, bytes, false, err);
}

static bool print_params(struct ref_params *p, const struct ref_kernel *kernel, struct err *err)
{
    struct arena *arena = p->file->arena;
    for (size_t i = 0; i < p->file->op->tensor_count; i++) {
        const struct tensor *t = &p->file->op->tensors[i];
        if (kernel->inputs[i])
            param(p, text_fmt(arena, "const %s *in%zu", input_type(t->dtype), i),
                  (struct manifest_arg){.kind = ARG_TENSOR, .name = t->name});
        if (!kernel->results[i])
            continue;
        bool real = dtype_is_float(t->dtype);
        if (!workspace_param(p, i, "value", real ? "double" : "i64", err) ||
            !workspace_param(p, i, "bound", "double", err))
            return false;
    }
    for (size_t i = 0; i < kernel->formula_count; i++)
        param(
            p, text_fmt(arena, "i64 n%zu", i),
            (struct manifest_arg){.kind = ARG_DIM, .dim = kernel->formulas[i], .dtype = DTYPE_I64});
    if (p->kernel->arg_count > MANIFEST_ARGS_MAX)
        return err_raise(err, ERR_LIMIT, "a kernel of the reference needs more than %d arguments",
                         MANIFEST_ARGS_MAX);
    return true;
}

static bool ref_end(struct ref_kernel *kernel, struct ref_file *file, const char *comment,
                    const struct formula *grid, struct err *err)
{
    struct ref_params p = {.file = file};
    const char *entry = text_fmt(file->arena, "reference_%zu", ++file->number);
    buf_init(&p.text, file->arena, CUDA_TEXT_BYTES_MAX);
    if (!launches_kernel(&file->launches, entry, grid, REF_BLOCK_THREADS, &p.kernel, err) ||
        !print_params(&p, kernel, err))
        return false;
    bool one_block = grid->op == FORMULA_INT && grid->value == 1;
    buf_printf(&file->kernels, "\n/* %s */\nextern \"C\" __global__ void %s(%.*s)\n{\n", comment,
               entry, STR_ARG(buf_view(&p.text)));
    buf_printf(&file->kernels, "    const i64 block = %s, blocks = %s;\n",
               one_block ? "0" : "blockIdx.x", one_block ? "1" : "gridDim.x");
    buf_str(&file->kernels, buf_view(&kernel->out.out));
    buf_text(&file->kernels, "}\n");
    return true;
}

/* ---- statements ---- */

/* What the target cannot go below: the value's own, or 0 for sums and products of such. */
static void note_least(struct ref_file *file, const struct stmt *stmt, double least)
{
    double result = -INFINITY;
    bool adds = stmt->reduce == REDUCE_SUM || stmt->reduce == REDUCE_PROD;
    if (stmt->reduce == REDUCE_NONE || stmt->reduce == REDUCE_MAX || stmt->reduce == REDUCE_MIN)
        result = least;
    else if (adds && least >= 0)
        result = 0;
    if (stmt->scatter == NULL)
        file->least[stmt->target] = result;
}

/* `least` of the statement's value, from a print into nowhere. */
static double least_of_value(struct ref_file *file, const struct stmt *stmt)
{
    struct ref_kernel scratch;
    ref_begin(&scratch, file);
    const char *loops[OP_LOOPS_MAX];
    for (size_t i = 0; i < stmt->loop_count; i++)
        loops[i] = "i";
    struct ref_stmt s = {.kernel = &scratch, .stmt = stmt, .loops = loops};
    return ref_print_own(&s, stmt->value).least;
}

static bool one_statement(struct ref_file *file, const struct stmt *stmt, struct err *err)
{
    struct ref_kernel kernel;
    const struct formula *extents[OP_LOOPS_MAX];
    const struct tensor *target = &file->op->tensors[stmt->target];
    for (size_t i = 0; i < target->rank; i++)
        extents[i] = target->shape[i];
    ref_begin(&kernel, file);
    if (!ref_statement(&kernel, stmt, NULL, err))
        return false;
    note_least(file, stmt, least_of_value(file, stmt));
    return ref_end(&kernel, file, text_stmt(file->arena, file->op, stmt),
                   formula_blocks(file->arena, file->op,
                                  formula_count(file->arena, extents, target->rank),
                                  REF_OUTPUTS_A_BLOCK, REF_BLOCKS_MAX),
                   err);
}

static bool one_seq(struct ref_file *file, const struct seq *seq, struct err *err)
{
    struct ref_kernel kernel;
    ref_begin(&kernel, file);
    cuda_open(&kernel.out, "for (i64 step = 0; step < %s; ++step)",
              ref_number(&kernel, seq->extent));
    for (size_t i = seq->first; i < seq->first + seq->count; i++) {
        const struct stmt *stmt = &file->op->stmts[i];
        cuda_line(&kernel.out, "/* %s */", text_stmt(file->arena, file->op, stmt));
        cuda_line(&kernel.out, "{");
        kernel.out.depth++;
        if (!ref_statement(&kernel, stmt, "step", err))
            return false;
        cuda_close(&kernel.out);
        cuda_line(&kernel.out, "__syncthreads();");
        note_least(file, stmt, least_of_value(file, stmt));
    }
    cuda_close(&kernel.out);
    return ref_end(&kernel, file, text_fmt(file->arena, "seq %.*s: one block", STR_ARG(seq->index)),
                   formula_int(file->arena, 1), err);
}

/* ---- the file ---- */

static void print_ref_head(struct buf *out, const struct op *op, const struct track *track)
{
    bool used[DTYPE_COUNT] = {false};
    for (size_t i = 0; i < op->declared_count; i++)
        used[op->tensors[i].dtype] = true;
    buf_printf(out, "/*\n * %.*s, track %.*s: values in double and bounds.\n */\n",
               STR_ARG(op->name), STR_ARG(track->name));
    if (used[DTYPE_F16])
        buf_text(out, "#include <cuda_fp16.h>\n");
    if (used[DTYPE_BF16])
        buf_text(out, "#include <cuda_bf16.h>\n");
    buf_text(out, "\n");
    buf_text(out, embed_synth_reference_rules_cuh);
}

static bool print_statements(struct ref_file *file, struct err *err)
{
    for (size_t i = 0; i < file->op->stmt_count; i++) {
        const struct stmt *stmt = &file->op->stmts[i];
        if (stmt->seq == OP_NONE && !one_statement(file, stmt, err))
            return err_context(err, "reference of %.*s", STR_ARG(file->op->name));
        if (stmt->seq != OP_NONE && file->op->seqs[stmt->seq].first == i &&
            !one_seq(file, &file->op->seqs[stmt->seq], err))
            return err_context(err, "reference of %.*s", STR_ARG(file->op->name));
    }
    return true;
}

bool emit_reference(struct arena *arena, const struct op *op, const struct track *track,
                    const char *arch, struct emitted *out, struct err *err)
{
    struct ref_file file = {
        .arena = arena, .op = op, .track = track == NULL ? &op->tracks[0] : track};
    struct buf text;
    struct str cuda;
    launches_init(&file.launches, arena);
    buf_init(&file.kernels, arena, CUDA_TEXT_BYTES_MAX);
    buf_init(&text, arena, CUDA_TEXT_BYTES_MAX);
    file.least = arena_array(arena, double, op->tensor_count + 1);
    for (size_t i = 0; i < op->tensor_count; i++)
        file.least[i] = -INFINITY;
    if (!print_statements(&file, err))
        return false;
    print_ref_head(&text, op, file.track);
    buf_str(&text, buf_view(&file.kernels));
    text.overflow |= file.kernels.overflow;
    if (!buf_finish(&text, "the reference's text", &cuda, err))
        return false;
    *out = (struct emitted){
        cuda, launches_finish(&file.launches, op, arch, formula_int(arena, 1), "reference")};
    return true;
}
