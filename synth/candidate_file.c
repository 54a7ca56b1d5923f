/*
 * Files of candidates: which tensors, dims and helpers the kernels mention decides parameters,
 * launch arguments and the head of the file, so bodies are written first.
 *
 * Temporaries live in workspaces "t:NAME".  An output that may share storage with an input lives
 * there too when some thread could still read the input after the output is written; it is copied
 * to its place at the end.
 *
 * Invariant: parameters in the text and arguments in the manifest are made by one loop.
 */
#include "synth/candidate_int.h"

void uses_init(struct uses *uses, struct arena *arena, const struct op *op)
{
    *uses = (struct uses){.tensors = arena_array(arena, bool, op->tensor_count + 1),
                          .dims = arena_array(arena, bool, op->dim_count + 1),
                          .file_dims = arena_array(arena, bool, op->dim_count + 1)};
}

void uses_begin_kernel(struct uses *uses, const struct op *op)
{
    for (size_t i = 0; i < op->tensor_count; i++)
        uses->tensors[i] = false;
    for (size_t i = 0; i < op->dim_count; i++)
        uses->dims[i] = false;
}

/* ---- storage that may be shared ---- */

struct alias_scan {
    const struct op *op;
    size_t tensor;
    const struct stmt *stmt;
    bool late;      /* the statement runs after the output is written */
    bool dangerous; /* out */
};

/* Does the read take just the element that the thread writes, in a plain map? */
static bool reads_own_element(const struct op *op, const struct stmt *stmt, const struct expr *read)
{
    if (stmt->scatter != NULL || stmt->loop_count != stmt->free_count ||
        op->tensors[read->tensor].rank != stmt->free_count || read->pad != NULL)
        return false;
    for (size_t i = 0; i < stmt->free_count; i++)
        if (read->subs[i]->op != EXPR_INDEX || read->subs[i]->loop != i)
            return false;
    return true;
}

static void scan_read(void *context, const struct expr *expr)
{
    struct alias_scan *scan = context;
    if (expr->op != EXPR_READ || expr->tensor != scan->tensor)
        return;
    if (scan->late || !reads_own_element(scan->op, scan->stmt, expr))
        scan->dangerous = true;
}

bool alias_is_safe(const struct op *op, size_t tensor)
{
    const struct tensor *output = &op->tensors[tensor];
    if (output->temporary || output->may_alias == OP_NONE || output->written_by == OP_NONE)
        return true;
    struct alias_scan scan = {.op = op, .tensor = output->may_alias};
    for (size_t i = output->written_by; i < op->stmt_count; i++) {
        scan.stmt = &op->stmts[i];
        scan.late = i > output->written_by || op->stmts[i].seq != OP_NONE;
        stmt_walk(op, &op->stmts[i], scan_read, &scan);
    }
    return !scan.dangerous && op->tensors[output->may_alias].dtype == output->dtype;
}

bool op_has_alias(const struct op *op)
{
    for (size_t i = 0; i < op->declared_count; i++)
        if (op->tensors[i].may_alias != OP_NONE)
            return true;
    return false;
}

/* ---- files and kernels ---- */

void file_text_init(struct file_text *file, struct arena *arena, const struct op *op)
{
    *file = (struct file_text){.arena = arena, .op = op, .restrict_ok = !op_has_alias(op)};
    names_init(&file->names, arena, op);
    uses_init(&file->uses, arena, op);
    launches_init(&file->launches, arena);
    buf_init(&file->kernels, arena, CUDA_TEXT_BYTES_MAX);
    bool *moved = arena_array(arena, bool, op->tensor_count + 1);
    for (size_t i = 0; i < op->tensor_count; i++)
        moved[i] = !alias_is_safe(op, i);
    file->to_workspace = moved;
}

void file_guard(struct file_text *file, const struct formula *condition)
{
    file->guard = formula_and(file->arena, file->guard, condition);
}

bool tensor_in_workspace(const struct file_text *file, size_t tensor)
{
    return file->op->tensors[tensor].temporary || file->to_workspace[tensor];
}

void kernel_begin(struct kernel_text *kernel, struct file_text *file)
{
    *kernel = (struct kernel_text){.arena = file->arena, .op = file->op, .uses = &file->uses};
    names_scope(&kernel->names, &file->names);
    cuda_init(&kernel->body, file->arena);
    kernel->body.depth = 1;
    uses_begin_kernel(&file->uses, file->op);
}

static bool add_tensor_arg(struct file_text *file, struct manifest_kernel *kernel, size_t tensor,
                           struct err *err)
{
    const struct tensor *t = &file->op->tensors[tensor];
    struct manifest_arg arg = {.kind = ARG_TENSOR, .name = t->name};
    if (tensor_in_workspace(file, tensor)) {
        arg.kind = ARG_WORKSPACE;
        arg.name = str_from(text_fmt(file->arena, "t:%.*s", STR_ARG(t->name)));
        if (!launches_workspace(&file->launches, arg.name, formula_tensor_bytes(file->arena, t),
                                false, err))
            return false;
    }
    launches_arg(&file->launches, kernel, arg);
    return true;
}

static bool print_parameters(struct file_text *file, const struct kernel_launch *launch,
                             struct manifest_kernel *kernel, struct cuda *out, struct err *err)
{
    const struct op *op = file->op;
    const char *restricted = file->restrict_ok ? "__restrict__ " : "";
    const char *comma = "";
    for (size_t i = 0; i < launch->extra_count; i++) {
        const struct extra_arg *extra = &launch->extra[i];
        if (!launches_workspace(&file->launches, extra->workspace, extra->bytes, extra->zero, err))
            return false;
        launches_arg(&file->launches, kernel,
                     (struct manifest_arg){.kind = ARG_WORKSPACE, .name = extra->workspace});
        buf_printf(&out->out, "%s%s", comma, extra->parameter);
        comma = ", ";
    }
    for (size_t i = 0; i < op->tensor_count; i++) {
        if (!file->uses.tensors[i])
            continue;
        if (!add_tensor_arg(file, kernel, i, err))
            return false;
        buf_printf(&out->out, "%s%s%s *%s%s", comma, launch->written[i] ? "" : "const ",
                   storage_c(op->tensors[i].dtype), restricted, file->names.tensors[i]);
        comma = ", ";
    }
    for (size_t i = 0; i < op->dim_count; i++) {
        if (!file->uses.dims[i])
            continue;
        if (op->dims[i].kind == DIM_CONST) {
            file->uses.file_dims[i] = true;
            continue;
        }
        launches_arg(&file->launches, kernel,
                     (struct manifest_arg){.kind = ARG_DIM,
                                           .name = op->dims[i].name,
                                           .dim = formula_name(file->arena, op->dims[i].name),
                                           .dtype = DTYPE_I64});
        buf_printf(&out->out, "%si64 %s", comma, file->names.dims[i]);
        comma = ", ";
    }
    if (kernel->arg_count > MANIFEST_ARGS_MAX)
        return err_raise(err, ERR_LIMIT, "kernel %.*s needs %zu arguments, the limit is %d",
                         STR_ARG(kernel->entry), kernel->arg_count, MANIFEST_ARGS_MAX);
    return true;
}

bool kernel_end(struct kernel_text *kernel, struct file_text *file,
                const struct kernel_launch *launch, struct manifest_kernel **out, struct err *err)
{
    const char *entry = names_take(
        &file->names, str_from(text_fmt(file->arena, "%.*s_%zu_%s", STR_ARG(file->op->name),
                                        ++file->kernel_number, launch->label)));
    struct manifest_kernel *made;
    if (!launches_kernel(&file->launches, entry, launch->grid, launch->threads, &made, err))
        return false;
    struct cuda text;
    cuda_init(&text, file->arena);
    cuda_line(&text, "%s", "");
    cuda_line(&text, "/* %s */", launch->comment);
    buf_text(&text.out, "extern \"C\" __global__ void ");
    if (launch->launch_bounds)
        buf_printf(&text.out, "__launch_bounds__(%lld) ", (long long)launch->threads);
    buf_printf(&text.out, "%s(", entry);
    if (!print_parameters(file, launch, made, &text, err))
        return false;
    buf_text(&text.out, ")\n{\n");
    buf_str(&file->kernels, buf_view(&text.out));
    buf_str(&file->kernels, buf_view(&kernel->body.out));
    buf_text(&file->kernels, "}\n");
    if (out != NULL)
        *out = made;
    return true;
}

static const char *const HELPER_TEXTS[HELPER_COUNT] = {
#define HELPER_TEXT(id, text) [HELPER_##id] = text,
#include "synth/candidate_helpers.def"
};

static void print_head(struct buf *out, const struct file_text *file, const char *comment)
{
    const struct uses *uses = &file->uses;
    buf_printf(out, "/*\n%s */\n", comment);
    if (uses->f16 || uses->fp8)
        buf_text(out, "#include <cuda_fp16.h>\n");
    if (uses->bf16)
        buf_text(out, "#include <cuda_bf16.h>\n");
    if (uses->fp8)
        buf_text(out, "#include <cuda_fp8.h>\n");
    buf_text(out, "\ntypedef long long i64;\ntypedef unsigned long long u64;\n");
    for (size_t i = 0; i < file->op->dim_count; i++)
        if (uses->file_dims[i])
            buf_printf(out, "static constexpr i64 %s = %lld;\n", file->names.dims[i],
                       (long long)file->op->dims[i].value);
    for (size_t i = 0; i < HELPER_COUNT; i++)
        if (uses->helpers[i])
            buf_printf(out, "\n%s", HELPER_TEXTS[i]);
}

bool file_finish(struct file_text *file, const char *comment, const char *arch,
                 const struct formula *guard, const char *strategy, struct emitted *out,
                 struct err *err)
{
    struct buf text;
    struct str cuda;
    buf_init(&text, file->arena, CUDA_TEXT_BYTES_MAX);
    print_head(&text, file, comment);
    buf_str(&text, buf_view(&file->kernels));
    text.overflow |= file->kernels.overflow;
    if (!buf_finish(&text, "the CUDA text", &cuda, err))
        return false;
    *out =
        (struct emitted){cuda, launches_finish(&file->launches, file->op, arch, guard, strategy)};
    return true;
}
