/*
 * Rows: a block, or a warp where rows are short, owns a row; fused maps are one endless row that
 * the whole grid walks.
 *
 * The inner loops are one flat position e.  A thread holds `items` positions, in chunks of `vector`
 * neighbours.  Statements run in passes over the row: a pass ends where a statement needs the
 * result of one of its reductions, which shuffles and shared memory then hand to every thread.
 *   resident   the row fits threads * items: what is read at the own position stays in registers
 *              over all passes
 *   streaming  the row is walked again in each pass; what is read is read again, vectors of earlier
 *              passes are computed again
 * Float sums accumulate in float when resident (a few terms a thread, then a tree), in double when
 * streaming.
 *
 * Invariant: each barrier is reached by all threads of the block, because the number of rows that a
 * block walks does not depend on the thread.
 */
#include "synth/realise_int.h"

enum { ROW_BLOCKS_MAX = 1 << 20 };

struct row_text {
    const struct rows *rows;
    const struct plan_region *region;
    struct file_text *file;
    struct kernel_text kernel;
    struct cuda *out;
    int64_t threads, vector, items; /* threads: that share a row */
    bool warp, streaming, maps;
    const char **loops;  /* names of outer and inner loops */
    const char *length;  /* text of the inner count */
    const char **scalar; /* by tensor: the variable of a row's scalar */
    const char **acc;    /* by tensor: what its reduction accumulates in */
    const char **array;  /* by tensor: the thread's elements of the row */
    bool *declared;      /* by tensor: its array is in scope */
    bool *live;          /* by tensor: its array holds this pass's elements */
};

static const char *tensor_name(const struct row_text *t, size_t tensor)
{
    return t->kernel.names.tensors[tensor];
}

/* ---- reads that registers serve ---- */

enum own_access { NOT_OWN, OWN_ROW, OWN_INNER };

/* Is the read just at the thread's row and position (or at the position alone)? */
static enum own_access own_access(const struct rows *rows, const struct expr *read)
{
    if (expr_reads_loops(rows->op, read, 0, rows->outer + rows->inner))
        return OWN_ROW;
    return expr_reads_loops(rows->op, read, rows->outer, rows->inner) ? OWN_INNER : NOT_OWN;
}

static bool serve(void *context, const struct printer *printer, const struct expr *read,
                  const char **text)
{
    struct row_text *t = context;
    const struct rows *rows = t->rows;
    (void)printer;
    if (t->scalar[read->tensor] != NULL) {
        *text = t->scalar[read->tensor];
        return true;
    }
    if (!t->live[read->tensor] || own_access(rows, read) == NOT_OWN)
        return false;
    *text = text_fmt(t->kernel.arena, "%s[slot]", t->array[read->tensor]);
    return true;
}

static struct printer printer_of(struct row_text *t, const struct stmt *stmt)
{
    return (struct printer){.arena = t->kernel.arena,
                            .op = t->rows->op,
                            .stmt = stmt,
                            .names = &t->kernel.names,
                            .loops = t->loops,
                            .uses = t->kernel.uses,
                            .served = serve,
                            .context = t};
}

/* ---- passes ---- */

/* Which statements of the region run in this pass, by position. */
struct pass {
    bool *member;
    bool any;
};

struct needs {
    struct row_text *text;
    bool *tensors; /* by tensor */
};

static void mark_needed(void *context, const struct expr *expr)
{
    struct needs *needs = context;
    if (expr->op == EXPR_READ)
        needs->tensors[expr->tensor] = true;
}

static const struct stmt *row_stmt(const struct row_text *t, size_t position)
{
    return &t->rows->op->stmts[t->rows->stmts[position]];
}

/* Adds the statements whose vectors this pass must compute again: those of earlier passes that it
 * reads and no register holds. */
static void close_over_vectors(struct row_text *t, struct pass *pass)
{
    bool *needed = arena_array(t->kernel.arena, bool, t->rows->op->tensor_count + 1);
    struct needs needs = {t, needed};
    for (size_t i = t->rows->count; i-- > 0;) {
        const struct stmt *stmt = row_stmt(t, i);
        if (t->rows->parts[i] == ROW_VECTOR && needed[stmt->target] && !t->live[stmt->target])
            pass->member[i] = true;
        if (pass->member[i])
            expr_walk(stmt->value, mark_needed, &needs);
    }
}

struct input_scan {
    struct row_text *text;
    enum own_access *access; /* by tensor */
};

static void find_own_input(void *context, const struct expr *expr)
{
    struct input_scan *scan = context;
    const struct rows *rows = scan->text->rows;
    if (expr->op != EXPR_READ || rows->produced[expr->tensor])
        return;
    enum dtype dtype = rows->op->tensors[expr->tensor].dtype;
    if (dtype == DTYPE_E4M3 || dtype == DTYPE_E5M2)
        return;
    enum own_access access = own_access(rows, expr);
    if (access != NOT_OWN)
        scan->access[expr->tensor] = access;
}

static void declare_array(struct row_text *t, size_t tensor, const char *start)
{
    if (t->array[tensor] == NULL)
        t->array[tensor] = names_take(
            &t->kernel.names, str_from(text_fmt(t->kernel.arena, "%s_k", tensor_name(t, tensor))));
    if (t->declared[tensor])
        return;
    t->declared[tensor] = true;
    cuda_line(t->out, "%s %s[%lld]%s;",
              value_class_c(value_class_of(t->rows->op->tensors[tensor].dtype)), t->array[tensor],
              (long long)t->items, start);
}

/* Address of the thread's chunk of a tensor that runs along the row. */
static const char *chunk_address(struct row_text *t, size_t tensor, enum own_access access,
                                 const char *at)
{
    bool whole = access == OWN_INNER || t->rows->outer == 0;
    return whole ? text_fmt(t->kernel.arena, "%s + %s", tensor_name(t, tensor), at)
                 : text_fmt(t->kernel.arena, "%s + row * %s + %s", tensor_name(t, tensor),
                            t->length, at);
}

static const char *chunk_start(const struct row_text *t)
{
    if (t->streaming)
        return "base";
    return t->items == t->vector
               ? text_fmt(t->kernel.arena, "own")
               : text_fmt(t->kernel.arena, "own + slot * %lld", (long long)t->threads);
}

static void use_widen(struct row_text *t, enum dtype dtype)
{
    struct uses *uses = t->kernel.uses;
    uses->helpers[HELPER_WIDEN] = uses->helpers[HELPER_VECTORS] = true;
    if (dtype == DTYPE_F16)
        uses->f16 = uses->helpers[HELPER_WIDEN_F16] = true;
    if (dtype == DTYPE_BF16)
        uses->bf16 = uses->helpers[HELPER_WIDEN_BF16] = true;
}

/* Opens the loop over the thread's chunks, when it has several. */
static bool open_chunks(struct row_text *t)
{
    if (t->items == t->vector)
        return false;
    cuda_line(t->out, "#pragma unroll");
    cuda_open(t->out, "for (int slot = 0; slot < %lld; slot += %lld)", (long long)t->items,
              (long long)t->vector);
    return true;
}

static void print_load(struct row_text *t, size_t tensor, enum own_access access)
{
    declare_array(t, tensor, "");
    use_widen(t, t->rows->op->tensors[tensor].dtype);
    t->kernel.uses->tensors[tensor] = true;
    bool several = open_chunks(t);
    const char *at = chunk_start(t);
    cuda_line(t->out, "load_chunk<%lld>(%s%s, %s, %s - (%s));", (long long)t->vector,
              t->array[tensor], several ? " + slot" : "", chunk_address(t, tensor, access, at),
              t->length, at);
    if (several)
        cuda_close(t->out);
    t->live[tensor] = true;
}

static void print_loads(struct row_text *t, const struct pass *pass)
{
    size_t count = t->rows->op->tensor_count;
    struct input_scan scan = {t, arena_array(t->kernel.arena, enum own_access, count + 1)};
    for (size_t i = 0; i < t->rows->count; i++)
        if (pass->member[i])
            expr_walk(row_stmt(t, i)->value, find_own_input, &scan);
    for (size_t i = 0; i < count; i++)
        if (scan.access[i] != NOT_OWN && !t->live[i])
            print_load(t, i, scan.access[i]);
}

/* ---- reductions ---- */

static enum value_class acc_class(const struct row_text *t, const struct stmt *stmt)
{
    enum value_class class = value_class_of(stmt->value->dtype);
    bool adds = stmt->reduce == REDUCE_SUM || stmt->reduce == REDUCE_PROD;
    if (adds && class == CLASS_F32 && t->streaming)
        return CLASS_F64;
    return class == CLASS_BOOL && adds ? CLASS_INT : class;
}

static const char *acc_name(struct row_text *t, const struct stmt *stmt)
{
    const char **name = &t->acc[stmt->target];
    if (*name == NULL)
        *name =
            names_take(&t->kernel.names,
                       str_from(text_fmt(t->kernel.arena, "%s_acc", tensor_name(t, stmt->target))));
    return *name;
}

static const char *identity_of(const struct stmt *stmt, enum value_class class)
{
    bool lowest = stmt->reduce == REDUCE_MAX;
    if (stmt->reduce == REDUCE_SUM || stmt->reduce == REDUCE_ANY)
        return "0";
    if (stmt->reduce == REDUCE_PROD || stmt->reduce == REDUCE_ALL)
        return "1";
    if (class == CLASS_BOOL)
        return lowest ? "0" : "1";
    return extreme_text(stmt->value->dtype, lowest);
}

static bool is_arg(const struct stmt *stmt)
{
    return stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN;
}

static bool is_logic(const struct stmt *stmt)
{
    return stmt->reduce == REDUCE_ANY || stmt->reduce == REDUCE_ALL;
}

static const char *acc_type(struct row_text *t, const struct stmt *stmt)
{
    enum value_class class = acc_class(t, stmt);
    const char *type = class == CLASS_BOOL || is_logic(stmt) ? "int" : value_class_c(class);
    return is_arg(stmt) ? text_fmt(t->kernel.arena, "arg<%s>", value_class_c(class)) : type;
}

static void print_accumulators(struct row_text *t, const struct pass *pass)
{
    for (size_t i = 0; i < t->rows->count; i++) {
        const struct stmt *stmt = row_stmt(t, i);
        if (!pass->member[i] || t->rows->parts[i] != ROW_REDUCE)
            continue;
        const char *start = is_arg(stmt) ? "{0, -1}" : identity_of(stmt, acc_class(t, stmt));
        cuda_line(t->out, "%s %s = %s;", acc_type(t, stmt), acc_name(t, stmt), start);
    }
}

static void use_reduction(struct row_text *t, const struct stmt *stmt)
{
    bool *h = t->kernel.uses->helpers;
    bool largest = stmt->reduce == REDUCE_MAX || stmt->reduce == REDUCE_ARGMAX;
    h[HELPER_SHUFFLE] = h[HELPER_WARP_ALL] = true;
    h[HELPER_BLOCK_ALL] |= !t->warp;
    if (is_arg(stmt)) {
        h[HELPER_ARG] = h[HELPER_SHUFFLE_ARG] = true;
        h[largest ? HELPER_ARG_MAX : HELPER_ARG_MIN] = true;
        h[largest ? HELPER_BETTER_MAX : HELPER_BETTER_MIN] = true;
    } else if (stmt->reduce == REDUCE_MAX || stmt->reduce == REDUCE_MIN) {
        h[largest ? HELPER_COMBINE_MAX : HELPER_COMBINE_MIN] = true;
        h[largest ? HELPER_NAN_MAX : HELPER_NAN_MIN] = true;
    } else {
        h[HELPER_COMBINE] = true;
    }
}

static const char *combiner(const struct stmt *stmt)
{
    switch (stmt->reduce) {
    case REDUCE_SUM:
        return "sum_of";
    case REDUCE_PROD:
        return "product_of";
    case REDUCE_MAX:
        return "max_of";
    case REDUCE_MIN:
        return "min_of";
    case REDUCE_ARGMAX:
        return "argmax_of";
    case REDUCE_ARGMIN:
        return "argmin_of";
    case REDUCE_ANY:
        return "any_of";
    case REDUCE_ALL:
        return "all_of";
    case REDUCE_NONE:
        break;
    }
    return "";
}

static void print_accumulate(struct row_text *t, const struct stmt *stmt)
{
    struct printer p = printer_of(t, stmt);
    enum value_class class = acc_class(t, stmt);
    enum dtype as = class == CLASS_INT && !is_logic(stmt) ? DTYPE_I64 : stmt->value->dtype;
    const char *value = print_outer(&p, stmt->value, is_logic(stmt) ? DTYPE_BOOL : as);
    const char *acc = acc_name(t, stmt);
    use_reduction(t, stmt);
    if (stmt->reduce == REDUCE_SUM || stmt->reduce == REDUCE_PROD)
        cuda_line(t->out, "%s %s= %s;", acc, stmt->reduce == REDUCE_SUM ? "+" : "*", value);
    else
        cuda_line(t->out, "%s = %s::combine<%s>(%s, {%s%s});", acc, combiner(stmt),
                  is_arg(stmt) ? value_class_c(class) : acc_type(t, stmt), acc, value,
                  is_arg(stmt) ? ", pos" : "");
}

static void print_row_store(struct row_text *t, const struct stmt *stmt, const char *value,
                            enum value_class class)
{
    if (!t->rows->stored[stmt->target])
        return;
    struct printer p = printer_of(t, stmt);
    cuda_line(t->out, "if (lane == 0)");
    cuda_line(t->out, "    %s",
              print_store(&p, stmt->target, t->rows->outer == 0 ? "0" : "row", value, class));
}

static void print_reduced(struct row_text *t, const struct stmt *stmt)
{
    struct arena *arena = t->kernel.arena;
    enum dtype target = t->rows->op->tensors[stmt->target].dtype;
    enum value_class class = value_class_of(target);
    const char *name = names_take(
        &t->kernel.names, str_from(text_fmt(arena, "%s_row", tensor_name(t, stmt->target))));
    const char *across = t->warp ? text_fmt(arena, "warp_all<%s>", combiner(stmt))
                                 : text_fmt(arena, "block_all<%s, %lld>", combiner(stmt),
                                            (long long)(t->threads / 32));
    cuda_line(t->out, "const %s %s = (%s)%s(%s)%s;", value_class_c(class), name,
              value_class_c(class), across, acc_name(t, stmt), is_arg(stmt) ? ".at" : "");
    t->scalar[stmt->target] = name;
    print_row_store(t, stmt, name, class);
}

/* ---- a pass ---- */

/* Indices beside those of reads that registers serve: then the inner loops need names. */
static int loose_indices(struct row_text *t, const struct expr *expr)
{
    int loose = 0;
    const char *unused;
    if (expr->op == EXPR_INDEX)
        return expr->loop >= t->rows->outer;
    if (expr->op == EXPR_READ) {
        if (serve(t, NULL, expr, &unused))
            return 0;
        for (size_t i = 0; i < t->rows->op->tensors[expr->tensor].rank; i++)
            loose += loose_indices(t, expr->subs[i]);
        return loose + (expr->pad == NULL ? 0 : loose_indices(t, expr->pad));
    }
    for (size_t i = 0; i < 3 && expr->args[i] != NULL; i++)
        loose += loose_indices(t, expr->args[i]);
    return loose;
}

static void print_inner_indices(struct row_text *t, const struct pass *pass)
{
    int loose = 0;
    for (size_t i = 0; i < t->rows->count; i++)
        if (pass->member[i])
            loose += loose_indices(t, row_stmt(t, i)->value);
    if (loose == 0)
        return;
    size_t inner[OP_LOOPS_MAX];
    struct printer p = printer_of(t, NULL);
    for (size_t i = 0; i < t->rows->inner; i++)
        inner[i] = t->rows->outer + i;
    print_indices(t->out, &p, "pos", inner, t->loops, t->rows->loops, t->rows->inner);
}

static void print_elements(struct row_text *t, const struct pass *pass)
{
    long long vector = (long long)t->vector, threads = (long long)t->threads;
    cuda_line(t->out, "#pragma unroll");
    cuda_open(t->out, "for (int slot = 0; slot < %lld; ++slot)", (long long)t->items);
    if (t->streaming)
        cuda_line(t->out, "const i64 pos = base + slot;");
    else if (t->items == t->vector)
        cuda_line(t->out, "const i64 pos = own + slot;");
    else if (t->vector == 1)
        cuda_line(t->out, "const i64 pos = own + slot * %lld;", threads);
    else
        cuda_line(t->out, "const i64 pos = own + slot / %lld * %lld + slot %% %lld;", vector,
                  vector * threads, vector);
    cuda_open(t->out, "if (pos < %s)", t->length);
    for (size_t i = 0; i < t->rows->count; i++)
        if (pass->member[i] && t->rows->parts[i] == ROW_VECTOR)
            t->live[row_stmt(t, i)->target] = true;
    print_inner_indices(t, pass);
    for (size_t i = 0; i < t->rows->count; i++) {
        const struct stmt *stmt = row_stmt(t, i);
        struct printer p = printer_of(t, stmt);
        if (!pass->member[i])
            continue;
        if (t->rows->parts[i] == ROW_VECTOR)
            cuda_line(t->out, "%s[slot] = %s;", t->array[stmt->target],
                      print_outer(&p, stmt->value, t->rows->op->tensors[stmt->target].dtype));
        else
            print_accumulate(t, stmt);
    }
    cuda_close(t->out);
    cuda_close(t->out);
}

static void print_vector_store(struct row_text *t, const struct stmt *stmt)
{
    enum dtype dtype = t->rows->op->tensors[stmt->target].dtype;
    struct arena *arena = t->kernel.arena;
    bool several = open_chunks(t);
    const char *at = chunk_start(t);
    const char *element =
        text_fmt(arena, "%s[%spart]", t->array[stmt->target], several ? "slot + " : "");
    if (!several)
        cuda_line(t->out, "{");
    t->out->depth += !several;
    t->kernel.uses->helpers[HELPER_WIDEN] = t->kernel.uses->helpers[HELPER_VECTORS] = true;
    t->kernel.uses->tensors[stmt->target] = true;
    cuda_line(t->out, "%s narrow[%lld];", storage_c(dtype), (long long)t->vector);
    cuda_line(t->out, "#pragma unroll");
    cuda_line(t->out, "for (int part = 0; part < %lld; ++part)", (long long)t->vector);
    cuda_line(t->out, "    narrow[part] = %s;",
              print_narrow(arena, t->kernel.uses, dtype, element, value_class_of(dtype)));
    cuda_line(t->out, "store_chunk<%lld>(%s, narrow, %s - (%s));", (long long)t->vector,
              chunk_address(t, stmt->target, OWN_ROW, at), t->length, at);
    cuda_close(t->out);
}

/* Maps from the end: the grid's spans are counted down; what is past the end loads and stores
 * nothing (load_chunk and store_chunk see to that). */
static void open_span_walk(struct row_text *t, long long span, const char *first)
{
    const char *grid = text_fmt(t->kernel.arena, "(i64)gridDim.x * %lld", span);
    if (t->region->reverse)
        cuda_open(t->out,
                  "for (i64 base = ((%s + %lld) / %lld - 1 - (i64)blockIdx.x) * %lld + %s; base >= "
                  "0; base -= %s)",
                  t->length, span - 1, span, span, first, grid);
    else
        cuda_open(t->out, "for (i64 base = (i64)blockIdx.x * %lld + %s; base < %s; base += %s)",
                  span, first, t->length, grid);
}

static void open_row_walk(struct row_text *t)
{
    struct arena *arena = t->kernel.arena;
    long long span = (long long)(t->vector * t->threads);
    const char *first =
        t->vector == 1 ? "lane" : text_fmt(arena, "lane * %lld", (long long)t->vector);
    if (t->maps)
        open_span_walk(t, span, first);
    else
        cuda_open(t->out, "for (i64 base = %s; base < %s; base += %lld)", first, t->length, span);
}

static void print_pass(struct row_text *t, struct pass *pass, const bool *stores)
{
    size_t count = t->rows->op->tensor_count;
    if (!pass->any)
        return;
    close_over_vectors(t, pass);
    print_accumulators(t, pass);
    if (t->streaming)
        open_row_walk(t);
    for (size_t i = 0; i < t->rows->count; i++)
        if (pass->member[i] && t->rows->parts[i] == ROW_VECTOR)
            declare_array(t, row_stmt(t, i)->target, " = {}");
    print_loads(t, pass);
    print_elements(t, pass);
    for (size_t i = 0; i < t->rows->count; i++)
        if (pass->member[i] && stores[i])
            print_vector_store(t, row_stmt(t, i));
    if (t->streaming)
        cuda_close(t->out);
    for (size_t i = 0; t->streaming && i < count; i++)
        t->live[i] = t->declared[i] = false;
    for (size_t i = 0; i < t->rows->count; i++)
        if (pass->member[i] && t->rows->parts[i] == ROW_REDUCE)
            print_reduced(t, row_stmt(t, i));
    for (size_t i = 0; i < t->rows->count; i++)
        pass->member[i] = false;
    pass->any = false;
}

struct pending {
    const struct row_text *text;
    const struct pass *pass;
    bool found;
};

static void find_pending(void *context, const struct expr *expr)
{
    struct pending *pending = context;
    if (expr->op != EXPR_READ)
        return;
    for (size_t i = 0; i < pending->text->rows->count; i++)
        pending->found |= pending->pass->member[i] && pending->text->rows->parts[i] == ROW_REDUCE &&
                          row_stmt(pending->text, i)->target == expr->tensor;
}

/* Does the expression, or a vector that it would have to compute again, wait for this pass? */
static bool waits(const struct row_text *t, const struct pass *pass, const struct stmt *stmt)
{
    struct pending pending = {t, pass, false};
    expr_walk(stmt->value, find_pending, &pending);
    return pending.found;
}

static void print_scalar(struct row_text *t, const struct stmt *stmt)
{
    enum dtype dtype = t->rows->op->tensors[stmt->target].dtype;
    enum value_class class = value_class_of(dtype);
    struct printer p = printer_of(t, stmt);
    const char *value = print_outer(&p, stmt->value, dtype);
    const char *name =
        names_take(&t->kernel.names,
                   str_from(text_fmt(t->kernel.arena, "%s_row", tensor_name(t, stmt->target))));
    cuda_line(t->out, "const %s %s = %s;", value_class_c(class), name, value);
    t->scalar[stmt->target] = name;
    print_row_store(t, stmt, name, class);
}

static void print_passes(struct row_text *t)
{
    struct pass pass = {arena_array(t->kernel.arena, bool, t->rows->count + 1), false};
    bool *stores = arena_array(t->kernel.arena, bool, t->rows->count + 1);
    for (size_t i = 0; i < t->rows->count; i++) {
        const struct stmt *stmt = row_stmt(t, i);
        bool scalar = t->rows->parts[i] == ROW_SCALAR;
        if (scalar || waits(t, &pass, stmt)) {
            print_pass(t, &pass, stores);
            for (size_t k = 0; k < t->rows->count; k++)
                stores[k] = false;
        }
        if (scalar) {
            print_scalar(t, stmt);
            continue;
        }
        pass.member[i] = pass.any = true;
        stores[i] = t->rows->parts[i] == ROW_VECTOR && t->rows->stored[stmt->target];
    }
    print_pass(t, &pass, stores);
}

/* ---- the kernel ---- */

/* Opens the loop over the rows of a block or warp; from the last row on when it is reversed. */
static void open_rows(struct row_text *t)
{
    struct arena *arena = t->kernel.arena;
    long long warps = (long long)(t->region->threads[0] / 32);
    const char *first = t->warp
                            ? text_fmt(arena, "(i64)blockIdx.x * %lld + threadIdx.x / 32", warps)
                            : "blockIdx.x";
    const char *step = t->warp ? text_fmt(arena, "(i64)gridDim.x * %lld", warps) : "gridDim.x";
    if (t->region->reverse)
        cuda_open(t->out, "for (i64 row = rows - 1 - (%s); row >= 0; row -= %s)", first, step);
    else
        cuda_open(t->out, "for (i64 row = %s; row < rows; row += %s)", first, step);
}

static void print_row_body(struct row_text *t)
{
    struct arena *arena = t->kernel.arena;
    struct printer p = printer_of(t, NULL);
    size_t outer[OP_LOOPS_MAX];
    const struct formula *length = rows_inner_count(arena, t->rows);
    t->length = print_formula(&p, length);
    if (length->op != FORMULA_INT && length->op != FORMULA_NAME) {
        cuda_line(t->out, "const i64 length = %s;", t->length);
        t->length = "length";
    }
    cuda_line(t->out, "const int lane = threadIdx.x%s;", t->warp ? " % 32" : "");
    if (t->maps) {
        print_passes(t);
        return;
    }
    if (!t->streaming)
        cuda_line(t->out, "const i64 own = lane * %lld;", (long long)t->vector);
    cuda_line(t->out, "const i64 rows = %s;", print_formula(&p, rows_outer_count(arena, t->rows)));
    open_rows(t);
    for (size_t i = 0; i < t->rows->outer; i++)
        outer[i] = i;
    print_indices(t->out, &p, "row", outer, t->loops, t->rows->loops, t->rows->outer);
    print_passes(t);
    cuda_close(t->out);
}

static bool row_numbers(struct row_text *t, struct err *err)
{
    const struct plan_region *region = t->region;
    const struct loop *last = &t->rows->loops[t->rows->outer + t->rows->inner - 1];
    const struct plan_tile *tile = region_tile(region, last->name);
    t->maps = true;
    for (size_t i = 0; i < t->rows->count; i++)
        t->maps &= t->rows->parts[i] == ROW_VECTOR;
    t->warp = region_uses(region, PRIMITIVE_WARP_SUMMARY);
    t->streaming = t->maps || region_uses(region, PRIMITIVE_STREAMING_ACCUMULATION);
    t->vector = region->vector;
    t->threads = t->warp ? 32 : region->threads[0];
    t->items = t->streaming ? t->vector : tile == NULL ? 0 : tile->thread;
    int64_t warps = region->threads[0] / 32;
    bool power = warps > 0 && (warps & (warps - 1)) == 0 && warps * 32 == region->threads[0];
    if (!power || warps > 32)
        return err_raise(err, ERR_UNSUPPORTED,
                         "a row needs 32, 64, ... or 1024 threads, the plan says %lld",
                         (long long)region->threads[0]);
    if (t->vector < 1 || t->vector > 16 || (t->vector & (t->vector - 1)) != 0 || t->items < 1 ||
        t->items % t->vector != 0 || t->items > 64)
        return err_raise(err, ERR_UNSUPPORTED,
                         "a thread cannot hold %lld elements in vectors of %lld",
                         (long long)t->items, (long long)t->vector);
    return true;
}

static const struct formula *row_blocks(const struct row_text *t, struct arena *arena)
{
    if (t->maps)
        return formula_blocks(arena, t->rows->op, rows_inner_count(arena, t->rows),
                              t->threads * t->vector, ROW_BLOCKS_MAX);
    return formula_blocks(arena, t->rows->op, rows_outer_count(arena, t->rows),
                          t->warp ? t->region->threads[0] / 32 : 1, ROW_BLOCKS_MAX);
}

bool realise_rows(struct file_text *file, const struct rows *rows, const struct plan_region *region,
                  const char *comment, struct err *err)
{
    struct arena *arena = file->arena;
    size_t tensors = rows->op->tensor_count + 1, loops = rows->outer + rows->inner;
    struct row_text t = {.rows = rows,
                         .region = region,
                         .file = file,
                         .scalar = arena_array(arena, const char *, tensors),
                         .acc = arena_array(arena, const char *, tensors),
                         .array = arena_array(arena, const char *, tensors),
                         .declared = arena_array(arena, bool, tensors),
                         .live = arena_array(arena, bool, tensors),
                         .loops = arena_array(arena, const char *, loops + 1)};
    if (!row_numbers(&t, err))
        return false;
    kernel_begin(&t.kernel, file);
    t.out = &t.kernel.body;
    for (size_t i = 0; i < loops; i++)
        t.loops[i] = names_take(&t.kernel.names, rows->loops[i].name);
    print_row_body(&t);
    if (!t.streaming)
        file_guard(file, formula_binary(arena, FORMULA_LE, rows_inner_count(arena, rows),
                                        formula_int(arena, t.threads * t.items)));
    bool *written = arena_array(arena, bool, tensors);
    for (size_t i = 0; i < rows->count; i++)
        written[rows->op->stmts[rows->stmts[i]].target] = true;
    struct kernel_launch launch = {
        .label = file->names.tensors[rows->op->stmts[rows->stmts[rows->count - 1]].target],
        .comment = comment,
        .grid = row_blocks(&t, arena),
        .threads = region->threads[0],
        .written = written,
        .launch_bounds = true};
    return kernel_end(&t.kernel, file, &launch, NULL, err);
}
