/*
 * One-thread-an-element kernels: a statement is a grid-stride loop over the elements of its target;
 * reductions run inside a thread.
 *
 * Float sums and products accumulate in double, f64 sums with a carry, so that length hardly
 * matters. A scan whose body does not look at the bounding index runs along its line in one thread,
 * O(N); other scans restart for each element.  A scatter-add accumulates atomically in double or
 * 64-bit integers and is then rounded into its target; where the spec demands bitwise
 * repeatability, each element of the target searches its terms instead.  A seq block is one kernel
 * of one block: the step loops inside, with a barrier behind each statement.
 *
 * Invariant: no thread writes an element that another thread of the same barrier interval touches,
 * atomics aside.  Not here: speed.
 */
#include "synth/candidate_int.h"

enum { NAIVE_THREADS = 256, NAIVE_SEQ_THREADS = 256, NAIVE_BLOCKS_MAX = 1 << 20 };

/* A statement being printed into a kernel. */
struct element {
    struct kernel_text *kernel;
    struct cuda *out;
    const struct stmt *stmt;
    const char **loops;
    struct names names;
    struct printer printer;
    bool in_seq;  /* loops[0] is the step, declared outside */
    bool reverse; /* from the last element on */
};

static void element_init(struct element *e, struct kernel_text *kernel, const struct stmt *stmt,
                         const char *step, bool reverse)
{
    *e = (struct element){.kernel = kernel,
                          .out = &kernel->body,
                          .stmt = stmt,
                          .in_seq = step != NULL,
                          .reverse = reverse};
    names_scope(&e->names, &kernel->names);
    e->loops = arena_array(kernel->arena, const char *, stmt->loop_count + 1);
    for (size_t i = 0; i < stmt->loop_count; i++)
        e->loops[i] = i == 0 && step != NULL ? step : names_take(&e->names, stmt->loops[i].name);
    e->printer = (struct printer){.arena = kernel->arena,
                                  .op = kernel->op,
                                  .stmt = stmt,
                                  .names = &e->names,
                                  .loops = e->loops,
                                  .uses = kernel->uses};
}

static const char *extent(const struct element *e, size_t loop)
{
    return print_formula(&e->printer, e->stmt->loops[loop].extent);
}

/* ---- loops over elements ---- */

/* Opens a thread's walk over the numbers below `total`, a step of the whole grid (in a seq block:
 * of the block) at a time; from the last one down when it is reversed. */
static void open_walk(struct cuda *out, bool in_seq, bool reverse)
{
    const char *first = in_seq ? "threadIdx.x" : "(i64)blockIdx.x * blockDim.x + threadIdx.x";
    const char *step = in_seq ? "blockDim.x" : "(i64)gridDim.x * blockDim.x";
    if (reverse)
        cuda_open(out, "for (i64 id = total - 1 - (%s); id >= 0; id -= %s)", first, step);
    else
        cuda_open(out, "for (i64 id = %s; id < total; id += %s)", first, step);
}

/* Opens the loop over all combinations of the listed loops, and declares their indices. */
static void open_elements(struct element *e, const size_t *loops, size_t count)
{
    struct arena *arena = e->kernel->arena;
    const char *total = count == 0 ? "1" : extent(e, loops[0]);
    for (size_t i = 1; i < count; i++)
        total = text_fmt(arena, "%s * %s", total, extent(e, loops[i]));
    cuda_line(e->out, "const i64 total = %s;", total);
    open_walk(e->out, e->in_seq, e->reverse);
    if (count == 1)
        cuda_line(e->out, "const i64 %s = id;", e->loops[loops[0]]);
    if (count < 2)
        return;
    cuda_line(e->out, "i64 rest = id;");
    for (size_t i = count; i-- > 1;) {
        cuda_line(e->out, "const i64 %s = rest %% %s;", e->loops[loops[i]], extent(e, loops[i]));
        cuda_line(e->out, "rest /= %s;", extent(e, loops[i]));
    }
    cuda_line(e->out, "const i64 %s = rest;", e->loops[loops[0]]);
}

/* The range of a reduced loop, cut by the index that bounds a scan. */
static void open_reduced(struct element *e, size_t loop)
{
    const struct loop *l = &e->stmt->loops[loop];
    const char *name = e->loops[loop], *end = extent(e, loop);
    const char *limit = l->bound == RANGE_FULL ? "" : e->loops[l->bound_loop];
    switch (l->bound) {
    case RANGE_FULL:
        cuda_open(e->out, "for (i64 %s = 0; %s < %s; ++%s)", name, name, end, name);
        return;
    case RANGE_LT:
        cuda_open(e->out, "for (i64 %s = 0; %s < %s && %s < %s; ++%s)", name, name, end, name,
                  limit, name);
        return;
    case RANGE_LE:
        cuda_open(e->out, "for (i64 %s = 0; %s < %s && %s <= %s; ++%s)", name, name, end, name,
                  limit, name);
        return;
    case RANGE_GT:
        cuda_open(e->out, "for (i64 %s = %s + 1; %s < %s; ++%s)", name, limit, name, end, name);
        return;
    case RANGE_GE:
        cuda_open(e->out, "for (i64 %s = %s; %s < %s; ++%s)", name, limit, name, end, name);
        return;
    }
}

/* ---- accumulators ---- */

static enum value_class reduced_class(const struct stmt *stmt)
{
    return value_class_of(stmt->value->dtype);
}

static bool is_real(enum value_class class)
{
    return class == CLASS_F32 || class == CLASS_F64;
}

static void open_accumulator(struct element *e)
{
    enum value_class class = reduced_class(e->stmt);
    const char *type = is_real(class) ? "double" : "u64";
    switch (e->stmt->reduce) {
    case REDUCE_SUM:
    case REDUCE_PROD:
        cuda_line(e->out, "%s acc = %d;", type, e->stmt->reduce == REDUCE_PROD);
        if (e->stmt->reduce == REDUCE_SUM && class == CLASS_F64)
            cuda_line(e->out, "double carry = 0;");
        return;
    case REDUCE_MAX:
    case REDUCE_MIN:
        cuda_line(e->out, "%s acc = %s;", value_class_c(class),
                  extreme_text(e->stmt->value->dtype, e->stmt->reduce == REDUCE_MAX));
        return;
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
        cuda_line(e->out, "%s best = 0;", value_class_c(class));
        cuda_line(e->out, "i64 at = -1;");
        return;
    case REDUCE_ANY:
    case REDUCE_ALL:
        cuda_line(e->out, "bool acc = %s;", e->stmt->reduce == REDUCE_ALL ? "true" : "false");
        return;
    case REDUCE_NONE:
        return;
    }
}

/* The flat row-major index over the reduced loops. */
static const char *flat_index(struct element *e)
{
    struct arena *arena = e->kernel->arena;
    const char *text = e->loops[e->stmt->free_count];
    for (size_t i = e->stmt->free_count + 1; i < e->stmt->loop_count; i++)
        text = text_fmt(arena, "(%s) * %s + %s", text, extent(e, i), e->loops[i]);
    return text;
}

static void accumulate(struct element *e)
{
    const struct expr *value = e->stmt->value;
    enum value_class class = reduced_class(e->stmt);
    enum reduce_op reduce = e->stmt->reduce;
    struct uses *uses = e->kernel->uses;
    bool largest = reduce == REDUCE_MAX || reduce == REDUCE_ARGMAX;
    switch (reduce) {
    case REDUCE_SUM:
        if (class == CLASS_F64) {
            uses->helpers[HELPER_TWO_SUM] = true;
            cuda_line(e->out, "two_sum(acc, carry, %s);",
                      print_outer(&e->printer, value, value->dtype));
            return;
        }
        cuda_line(e->out, "acc += %s;",
                  print_outer(&e->printer, value, is_real(class) ? value->dtype : DTYPE_I64));
        return;
    case REDUCE_PROD:
        cuda_line(e->out, "acc *= %s;",
                  print_outer(&e->printer, value, is_real(class) ? value->dtype : DTYPE_I64));
        return;
    case REDUCE_MAX:
    case REDUCE_MIN:
        uses->helpers[largest ? HELPER_NAN_MAX : HELPER_NAN_MIN] = true;
        cuda_line(e->out, "acc = %s<%s>(acc, %s);", largest ? "nan_max" : "nan_min",
                  value_class_c(class), print_outer(&e->printer, value, value->dtype));
        return;
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
        uses->helpers[largest ? HELPER_BETTER_MAX : HELPER_BETTER_MIN] = true;
        cuda_line(e->out, "const %s term = %s;", value_class_c(class),
                  print_outer(&e->printer, value, value->dtype));
        cuda_open(e->out, "if (at < 0 || %s<%s>(term, best))",
                  largest ? "better_max" : "better_min", value_class_c(class));
        cuda_line(e->out, "best = term;");
        cuda_line(e->out, "at = %s;", flat_index(e));
        cuda_close(e->out);
        return;
    case REDUCE_ANY:
    case REDUCE_ALL:
        cuda_line(e->out, "acc = acc %s %s;", reduce == REDUCE_ANY ? "||" : "&&",
                  print_value(&e->printer, value, DTYPE_BOOL));
        return;
    case REDUCE_NONE:
        return;
    }
}

static const char *accumulated(const struct element *e, enum value_class *class)
{
    *class = reduced_class(e->stmt);
    switch (e->stmt->reduce) {
    case REDUCE_SUM:
    case REDUCE_PROD:
        if (is_real(*class)) {
            bool carried = *class == CLASS_F64 && e->stmt->reduce == REDUCE_SUM;
            *class = CLASS_F64;
            return carried ? "acc + carry" : "acc";
        }
        *class = CLASS_INT;
        return "(i64)acc";
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
        *class = CLASS_INT;
        return "at";
    case REDUCE_ANY:
    case REDUCE_ALL:
        *class = CLASS_BOOL;
        return "acc";
    case REDUCE_MAX:
    case REDUCE_MIN:
    case REDUCE_NONE:
        break;
    }
    return "acc";
}

/* ---- statements ---- */

static void store(struct element *e, const char *value, enum value_class class)
{
    const char *position = print_position(&e->printer, e->stmt->target, e->loops);
    cuda_line(e->out, "%s", print_store(&e->printer, e->stmt->target, position, value, class));
}

static void print_one_element(struct element *e)
{
    const struct stmt *stmt = e->stmt;
    if (stmt->reduce == REDUCE_NONE) {
        store(e, print_outer(&e->printer, stmt->value, stmt->value->dtype),
              value_class_of(stmt->value->dtype));
        return;
    }
    open_accumulator(e);
    for (size_t i = stmt->free_count; i < stmt->loop_count; i++)
        open_reduced(e, i);
    accumulate(e);
    for (size_t i = stmt->free_count; i < stmt->loop_count; i++)
        cuda_close(e->out);
    enum value_class class;
    const char *value = accumulated(e, &class);
    store(e, value, class);
}

struct mention {
    size_t loop;
    bool found;
};

static void find_mention(void *context, const struct expr *expr)
{
    struct mention *mention = context;
    mention->found |= expr->op == EXPR_INDEX && expr->loop == mention->loop;
}

/* One reduced loop, bounded by a free one that the body does not look at. */
static bool is_running_scan(const struct stmt *stmt, bool in_seq)
{
    if (stmt->reduce == REDUCE_NONE || stmt->loop_count != stmt->free_count + 1)
        return false;
    const struct loop *reduced = &stmt->loops[stmt->free_count];
    bool forward = reduced->bound == RANGE_LT || reduced->bound == RANGE_LE;
    bool arg = stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN;
    struct mention mention = {.loop = reduced->bound_loop};
    if (reduced->bound == RANGE_FULL || (arg && !forward) || (in_seq && reduced->bound_loop == 0))
        return false;
    expr_walk(stmt->value, find_mention, &mention);
    return !mention.found;
}

static void print_running_scan(struct element *e)
{
    const struct stmt *stmt = e->stmt;
    size_t inner = stmt->free_count;
    const struct loop *reduced = &stmt->loops[inner];
    const char *n = e->loops[reduced->bound_loop], *j = e->loops[inner];
    const char *length = extent(e, reduced->bound_loop), *terms = extent(e, inner);
    bool forward = reduced->bound == RANGE_LT || reduced->bound == RANGE_LE;
    const char *sign = reduced->bound == RANGE_LT   ? "<"
                       : reduced->bound == RANGE_LE ? "<="
                       : reduced->bound == RANGE_GT ? ">"
                                                    : ">=";
    open_accumulator(e);
    if (forward) {
        cuda_line(e->out, "i64 %s = 0;", j);
        cuda_open(e->out, "for (i64 %s = 0; %s < %s; ++%s)", n, n, length, n);
        cuda_open(e->out, "for (; %s < %s && %s %s %s; ++%s)", j, terms, j, sign, n, j);
    } else {
        cuda_line(e->out, "i64 %s = %s - 1;", j, terms);
        cuda_open(e->out, "for (i64 %s = %s - 1; %s >= 0; --%s)", n, length, n, n);
        cuda_open(e->out, "for (; %s >= 0 && %s %s %s; --%s)", j, j, sign, n, j);
    }
    accumulate(e);
    cuda_close(e->out);
    enum value_class class;
    const char *value = accumulated(e, &class);
    store(e, value, class);
    cuda_close(e->out);
}

/* Fills the loops that threads share out; true when the statement runs as a scan along a line. */
static bool parallel_loops(const struct stmt *stmt, bool in_seq, size_t *loops, size_t *count)
{
    bool running = is_running_scan(stmt, in_seq);
    *count = 0;
    for (size_t i = in_seq ? 1 : 0; i < stmt->free_count; i++)
        if (!running || i != stmt->loops[stmt->free_count].bound_loop)
            loops[(*count)++] = i;
    return running;
}

static void print_statement(struct element *e)
{
    size_t loops[OP_LOOPS_MAX], count;
    bool running = parallel_loops(e->stmt, e->in_seq, loops, &count);
    open_elements(e, loops, count);
    if (running)
        print_running_scan(e);
    else
        print_one_element(e);
    cuda_close(e->out);
}

static const struct formula *parallel_count(struct arena *arena, const struct stmt *stmt)
{
    size_t loops[OP_LOOPS_MAX], count;
    const struct formula *extents[OP_LOOPS_MAX];
    (void)parallel_loops(stmt, false, loops, &count);
    for (size_t i = 0; i < count; i++)
        extents[i] = stmt->loops[loops[i]].extent;
    return formula_count(arena, extents, count);
}

static bool end_plain(struct file_text *file, struct kernel_text *kernel, const char *comment,
                      const struct formula *work, size_t written, struct err *err)
{
    bool *written_by_kernel = arena_array(file->arena, bool, file->op->tensor_count + 1);
    written_by_kernel[written] = true;
    struct kernel_launch launch = {
        .label = file->names.tensors[written],
        .comment = comment,
        .grid = formula_blocks(file->arena, file->op, work, NAIVE_THREADS, NAIVE_BLOCKS_MAX),
        .threads = NAIVE_THREADS,
        .written = written_by_kernel};
    return kernel_end(kernel, file, &launch, NULL, err);
}

/* ---- scatter-add ---- */

/* The condition that a scattered term lands inside its target, and subscripts as text. */
static const char *landing(struct element *e, const char **subs)
{
    struct arena *arena = e->kernel->arena;
    const struct tensor *target = &e->kernel->op->tensors[e->stmt->target];
    const char *all = NULL;
    for (size_t i = 0; i < target->rank; i++) {
        subs[i] = print_subscript(&e->printer, e->stmt->scatter[i]);
        if (!expr_reads_data(e->stmt->scatter[i]))
            continue;
        const char *one = text_fmt(arena, "%s >= 0 && %s < %s", subs[i], subs[i],
                                   print_formula(&e->printer, target->shape[i]));
        all = all == NULL ? one : text_fmt(arena, "%s && %s", all, one);
    }
    return all == NULL ? "true" : all;
}

static bool scatter_atomically(struct file_text *file, size_t index, bool reverse, struct err *err)
{
    const struct stmt *stmt = &file->op->stmts[index];
    const struct tensor *target = &file->op->tensors[stmt->target];
    bool real = is_real(reduced_class(stmt));
    struct kernel_text kernel;
    struct element e;
    size_t loops[OP_LOOPS_MAX];
    const struct formula *extents[OP_LOOPS_MAX];
    const char *subs[OP_RANK_MAX];
    kernel_begin(&kernel, file);
    element_init(&e, &kernel, stmt, NULL, reverse);
    for (size_t i = 0; i < stmt->loop_count; i++) {
        loops[i] = i;
        extents[i] = stmt->loops[i].extent;
    }
    open_elements(&e, loops, stmt->loop_count);
    cuda_open(e.out, "if (%s)", landing(&e, subs));
    cuda_line(e.out, "atomicAdd(&acc[%s], (%s)%s);", print_position(&e.printer, stmt->target, subs),
              real ? "double" : "u64",
              print_value(&e.printer, stmt->value, real ? stmt->value->dtype : DTYPE_I64));
    cuda_close(e.out);
    cuda_close(e.out);

    struct extra_arg acc = {
        .parameter = real ? "double *acc" : "u64 *acc",
        .workspace = str_from(text_fmt(file->arena, "acc:%.*s", STR_ARG(target->name))),
        .bytes = formula_mul(file->arena, formula_count(file->arena, target->shape, target->rank),
                             formula_int(file->arena, 8)),
        .zero = true};
    bool *written = arena_array(file->arena, bool, file->op->tensor_count + 1);
    struct kernel_launch launch = {
        .label = "scatter",
        .comment = text_stmt(file->arena, file->op, stmt),
        .grid = formula_blocks(file->arena, file->op,
                               formula_count(file->arena, extents, stmt->loop_count), NAIVE_THREADS,
                               NAIVE_BLOCKS_MAX),
        .threads = NAIVE_THREADS,
        .written = written,
        .extra = &acc,
        .extra_count = 1};
    if (!kernel_end(&kernel, file, &launch, NULL, err))
        return false;

    kernel_begin(&kernel, file);
    struct printer printer = {
        .arena = file->arena, .op = file->op, .names = &kernel.names, .uses = &file->uses};
    cuda_line(&kernel.body, "const i64 total = %s;",
              print_formula(&printer, formula_count(file->arena, target->shape, target->rank)));
    open_walk(&kernel.body, false, reverse);
    cuda_line(&kernel.body, "%s",
              print_store(&printer, stmt->target, "id", real ? "acc[id]" : "(i64)acc[id]",
                          real ? CLASS_F64 : CLASS_INT));
    cuda_close(&kernel.body);
    written[stmt->target] = true;
    launch.label = file->names.tensors[stmt->target];
    launch.comment = "rounds the sums into their tensor";
    launch.grid = formula_blocks(file->arena, file->op,
                                 formula_count(file->arena, target->shape, target->rank),
                                 NAIVE_THREADS, NAIVE_BLOCKS_MAX);
    return kernel_end(&kernel, file, &launch, NULL, err);
}

/* Each element of the target looks for its terms: slow, but the same bits each time. */
static bool scatter_in_order(struct file_text *file, size_t index, bool reverse, struct err *err)
{
    const struct stmt *stmt = &file->op->stmts[index];
    const struct tensor *target = &file->op->tensors[stmt->target];
    const struct formula *count = formula_count(file->arena, target->shape, target->rank);
    struct kernel_text kernel;
    struct element e;
    const char *subs[OP_RANK_MAX];
    kernel_begin(&kernel, file);
    element_init(&e, &kernel, stmt, NULL, reverse);
    cuda_line(e.out, "const i64 total = %s;", print_formula(&e.printer, count));
    open_walk(e.out, false, reverse);
    open_accumulator(&e);
    for (size_t i = 0; i < stmt->loop_count; i++)
        open_reduced(&e, i);
    const char *inside = landing(&e, subs);
    cuda_open(e.out, "if (%s && %s == id)", inside, print_position(&e.printer, stmt->target, subs));
    accumulate(&e);
    cuda_close(e.out);
    for (size_t i = 0; i < stmt->loop_count; i++)
        cuda_close(e.out);
    enum value_class class;
    const char *value = accumulated(&e, &class);
    cuda_line(e.out, "%s", print_store(&e.printer, stmt->target, "id", value, class));
    cuda_close(e.out);
    return end_plain(file, &kernel, text_stmt(file->arena, file->op, stmt), count, stmt->target,
                     err);
}

bool naive_statement(struct file_text *file, size_t index, bool reverse, struct err *err)
{
    const struct stmt *stmt = &file->op->stmts[index];
    if (stmt->scatter != NULL)
        return file->op->policy.deterministic ? scatter_in_order(file, index, reverse, err)
                                              : scatter_atomically(file, index, reverse, err);
    struct kernel_text kernel;
    struct element e;
    kernel_begin(&kernel, file);
    element_init(&e, &kernel, stmt, NULL, reverse);
    print_statement(&e);
    return end_plain(file, &kernel, text_stmt(file->arena, file->op, stmt),
                     parallel_count(file->arena, stmt), stmt->target, err);
}

/* ---- seq blocks ---- */

bool naive_seq(struct file_text *file, size_t index, bool reverse, struct err *err)
{
    const struct seq *seq = &file->op->seqs[index];
    struct kernel_text kernel;
    kernel_begin(&kernel, file);
    const char *step = names_take(&kernel.names, seq->index);
    struct printer printer = {
        .arena = file->arena, .op = file->op, .names = &kernel.names, .uses = &file->uses};
    bool *written = arena_array(file->arena, bool, file->op->tensor_count + 1);
    cuda_open(&kernel.body, "for (i64 %s = 0; %s < %s; ++%s)", step, step,
              print_formula(&printer, seq->extent), step);
    for (size_t i = seq->first; i < seq->first + seq->count; i++) {
        const struct stmt *stmt = &file->op->stmts[i];
        if (stmt->scatter != NULL)
            return err_raise(err, ERR_UNSUPPORTED, "a scatter-add inside a seq block: %s",
                             text_stmt(file->arena, file->op, stmt));
        struct element e;
        element_init(&e, &kernel, stmt, step, reverse);
        written[stmt->target] = true;
        cuda_line(&kernel.body, "/* %s */", text_stmt(file->arena, file->op, stmt));
        cuda_line(&kernel.body, "{");
        kernel.body.depth++;
        print_statement(&e);
        cuda_close(&kernel.body);
        cuda_line(&kernel.body, "__syncthreads();");
    }
    cuda_close(&kernel.body);
    struct kernel_launch launch = {
        .label = "seq",
        .comment = text_fmt(file->arena, "seq %.*s: one block, a barrier behind each statement",
                            STR_ARG(seq->index)),
        .grid = formula_int(file->arena, 1),
        .threads = NAIVE_SEQ_THREADS,
        .written = written};
    return kernel_end(&kernel, file, &launch, NULL, err);
}

bool naive_final_copies(struct file_text *file, struct err *err)
{
    for (size_t i = 0; i < file->op->declared_count; i++) {
        const struct tensor *t = &file->op->tensors[i];
        if (!file->to_workspace[i])
            continue;
        struct kernel_text kernel;
        const struct formula *bytes = formula_tensor_bytes(file->arena, t);
        kernel_begin(&kernel, file);
        struct printer printer = {
            .arena = file->arena, .op = file->op, .names = &kernel.names, .uses = &file->uses};
        struct str home = str_from(text_fmt(file->arena, "t:%.*s", STR_ARG(t->name)));
        struct extra_arg source = {.parameter =
                                       text_fmt(file->arena, "const %s *from", storage_c(t->dtype)),
                                   .workspace = home,
                                   .bytes = bytes};
        const struct formula *count = formula_count(file->arena, t->shape, t->rank);
        cuda_line(&kernel.body, "const i64 total = %s;", print_formula(&printer, count));
        cuda_open(&kernel.body, "for (i64 id = (i64)blockIdx.x * blockDim.x + threadIdx.x; id < "
                                "total; id += (i64)gridDim.x * blockDim.x)");
        cuda_line(&kernel.body, "%s[id] = from[id];", file->names.tensors[i]);
        cuda_close(&kernel.body);
        file->uses.tensors[i] = true;
        bool *written = arena_array(file->arena, bool, file->op->tensor_count + 1);
        written[i] = true;
        struct kernel_launch launch = {
            .label = "place",
            .comment = "the output may share storage with an input that is read until here",
            .grid = formula_blocks(file->arena, file->op, count, NAIVE_THREADS, NAIVE_BLOCKS_MAX),
            .threads = NAIVE_THREADS,
            .written = written,
            .extra = &source,
            .extra_count = 1};
        bool *moved = arena_array(file->arena, bool, file->op->tensor_count + 1);
        const bool *before = file->to_workspace;
        file->to_workspace = moved;
        bool ok = kernel_end(&kernel, file, &launch, NULL, err);
        file->to_workspace = before;
        if (!ok)
            return false;
    }
    return true;
}
