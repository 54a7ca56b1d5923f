/*
 * Statements of the reference.
 *
 * A map is a grid-stride loop.  A reduction gives each output a group of 1, 32 or 256 threads,
 * fewer where outputs are many; each thread takes a contiguous run of the terms, and neighbouring
 * runs join in order through shared memory, so partial sums can be followed as if one thread had
 * added all.  An argmax goes over its terms twice: for the extremum and what is certain, then to
 * count the positions that may be it.  A scan whose terms do not look at the bounding index runs
 * along its line.  A scatter-add is read backwards: each element of the target looks for its terms,
 * in loops that the target's own position does not fix.
 *
 * Invariant: each barrier is reached by all threads; the loop around it counts groups of outputs.
 */
#include <math.h>

#include "base/num.h"
#include "base/panic.h"

#include "synth/reference_int.h"

enum { REF_THREADS = 256 };

/* What a statement's reduction accumulates, as text. */
struct fold {
    const char *type, *start;
    const char *join; /* of p and q */
};

static bool is_real(const struct ref_stmt *s)
{
    return dtype_is_float(s->stmt->value->dtype);
}

static bool is_arg(const struct stmt *stmt)
{
    return stmt->reduce == REDUCE_ARGMAX || stmt->reduce == REDUCE_ARGMIN;
}

static bool wants_largest(const struct stmt *stmt)
{
    return stmt->reduce == REDUCE_MAX || stmt->reduce == REDUCE_ARGMAX;
}

/* ---- folds ---- */

static const char *empty_extreme(struct ref_stmt *s, bool largest)
{
    struct arena *arena = s->kernel->arena;
    enum dtype dtype = s->stmt->value->dtype;
    if (dtype_is_float(dtype))
        return largest ? "-INF, 0" : "INF, 0";
    unsigned long long most = dtype == DTYPE_BOOL ? 1 : dtype == DTYPE_U8 ? 255 : 0;
    if (most == 0)
        most = (1ULL << (dtype_bytes(dtype) * 8 - 1)) - 1;
    bool is_signed = dtype != DTYPE_U8 && dtype != DTYPE_BOOL;
    const char *value = !largest    ? text_fmt(arena, "0x%llxLL", most)
                        : is_signed ? text_fmt(arena, "(-0x%llxLL - 1)", most)
                                    : "0LL";
    return text_fmt(arena, "(double)%s, %s", value, value);
}

static struct fold fold_of(struct ref_stmt *s)
{
    struct arena *arena = s->kernel->arena;
    const char *format = is_real(s) ? ref_format(s->stmt->value->dtype) : "";
    bool largest = wants_largest(s->stmt);
    switch (s->stmt->reduce) {
    case REDUCE_SUM:
        if (is_real(s))
            return (struct fold){"sum_acc",
                                 text_fmt(arena, "sum_start(%s, {0, 0, 0, 0, 0, 0})", format),
                                 "join(p, q)"};
        return (struct fold){"int_acc", "{0, 0, false}",
                             "{(i64)((u64)p.v + (u64)q.v), p.b + q.b, false}"};
    case REDUCE_PROD:
        if (is_real(s))
            return (struct fold){"product_acc", "product_start()",
                                 text_fmt(arena, "product_join(%s, p, q)", format)};
        return (struct fold){"int_acc", "{1, 0, false}",
                             "{(i64)((u64)p.v * (u64)q.v), p.b + q.b, false}"};
    case REDUCE_MAX:
    case REDUCE_MIN:
        return (struct fold){"extreme_acc",
                             text_fmt(arena, "extreme_start(%s)", empty_extreme(s, largest)),
                             text_fmt(arena, "join(%s, p, q)", largest ? "true" : "false")};
    case REDUCE_ANY:
        return (struct fold){"int_acc", "{0, 0, false}",
                             "{p.v | q.v, p.b + q.b, p.decided || q.decided}"};
    case REDUCE_ALL:
        return (struct fold){"int_acc", "{1, 0, false}",
                             "{p.v & q.v, p.b + q.b, p.decided || q.decided}"};
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
        return (struct fold){"arg_acc", "arg_start()",
                             text_fmt(arena, "join(%s, p, q)", is_real(s) ? "true" : "false")};
    case REDUCE_NONE:
        break;
    }
    panic("statement without a reduction");
}

/* ---- rounded factors ---- */

static bool survives(enum dtype dtype, enum compute compute)
{
    switch (compute) {
    case COMPUTE_F64:
    case COMPUTE_F32:
        return true;
    case COMPUTE_TF32:
        return dtype != DTYPE_F64 && dtype != DTYPE_F32;
    case COMPUTE_F16:
        return dtype == DTYPE_F16 || dtype == DTYPE_E4M3 || dtype == DTYPE_E5M2;
    case COMPUTE_BF16:
        return dtype == DTYPE_BF16 || dtype == DTYPE_E4M3 || dtype == DTYPE_E5M2;
    }
    panic("compute %d", (int)compute);
}

/* The factors of a sum of products of reads (seen through casts). */
struct product {
    bool is_product, is_rounded;
    bool is_split; /* an honest kernel may take f32 factors in tf32 parts */
    bool exact[2];
};

static bool read_through_casts(const struct expr *e, enum compute compute, bool *exact)
{
    for (; e->op == EXPR_CAST; e = e->args[0])
        *exact |= survives(e->dtype, compute);
    *exact |= survives(e->dtype, compute);
    return e->op == EXPR_READ && dtype_is_float(e->dtype);
}

static struct product product_of(const struct ref_stmt *s)
{
    struct product product = {.is_product = false};
    const struct expr *value = s->stmt->value;
    enum compute compute = s->kernel->track->compute;
    if (s->stmt->reduce != REDUCE_SUM || s->stmt->scatter != NULL || value->op != EXPR_MUL ||
        !is_real(s))
        return product;
    product.is_product = true;
    for (size_t i = 0; i < 2; i++) {
        bool narrow = survives(value->dtype, COMPUTE_TF32);
        product.exact[i] = survives(value->dtype, compute);
        product.is_product &= read_through_casts(value->args[i], compute, &product.exact[i]) &&
                              read_through_casts(value->args[i], COMPUTE_TF32, &narrow);
        product.is_split |= !narrow;
    }
    product.is_split &= product.is_product && value->dtype == DTYPE_F32;
    product.is_rounded = product.is_product && !(product.exact[0] && product.exact[1]);
    return product;
}

static const char *rounded(struct ref_stmt *s, const char *factor, bool exact)
{
    struct arena *arena = s->kernel->arena;
    if (exact)
        return text_fmt(arena, "%s.v", factor);
    enum compute compute = s->kernel->track->compute;
    if (compute == COMPUTE_TF32)
        return text_fmt(arena, "round_tf32(%s.v)", factor);
    return text_fmt(arena, "round_to(%s, %s.v)", compute == COMPUTE_BF16 ? "bf16()" : "f16()",
                    factor);
}

/* ---- one term ---- */

static void add_sum(struct ref_stmt *s, const struct ref_value *term)
{
    struct product product = product_of(s);
    struct cuda *out = &s->kernel->out;
    cuda_line(out, "sum_add(%s, acc, %s);", ref_format(term->dtype), term->name);
    if (!product.is_rounded)
        return;
    double weight = (product.exact[0] ? 0 : 0.5) + (product.exact[1] ? 0 : 0.5);
    const char *x = term->factors[0], *y = term->factors[1];
    cuda_line(out, "sum_rounding(acc, %s.v, %s, %s.v, %s, %g);", x, rounded(s, x, product.exact[0]),
              y, rounded(s, y, product.exact[1]), weight);
}

/* value and bound of a term on their way to an extremum, turned round for argmin */
static const char *extreme_term(struct ref_stmt *s, const struct ref_value *term, bool negate)
{
    struct arena *arena = s->kernel->arena;
    const char *sign = negate ? "-" : "";
    return text_fmt(arena, "%s(double)%s.v, %s.b", sign, term->name, term->name);
}

static const char *exact_term(struct ref_stmt *s, const struct ref_value *term, bool negate)
{
    if (is_real(s))
        return "0";
    return text_fmt(s->kernel->arena, "%s%s.v", negate ? "~" : "", term->name);
}

static void add_term(struct ref_stmt *s, const char *order)
{
    struct cuda *out = &s->kernel->out;
    bool logic = s->stmt->reduce == REDUCE_ANY || s->stmt->reduce == REDUCE_ALL;
    struct ref_value term =
        logic ? ref_print(s, s->stmt->value, DTYPE_BOOL) : ref_print_own(s, s->stmt->value);
    bool negate = s->stmt->reduce == REDUCE_ARGMIN;
    switch (s->stmt->reduce) {
    case REDUCE_SUM:
        if (is_real(s))
            add_sum(s, &term);
        else
            cuda_line(out, "int_acc_add(acc, %s);", term.name);
        return;
    case REDUCE_PROD:
        if (is_real(s))
            cuda_line(out, "product_add(%s, acc, %s);", ref_format(term.dtype), term.name);
        else
            cuda_line(out, "int_acc_mul(acc, %s);", term.name);
        return;
    case REDUCE_MAX:
    case REDUCE_MIN:
        cuda_line(out, "extreme_add(%s, acc, %s, %s);", wants_largest(s->stmt) ? "true" : "false",
                  extreme_term(s, &term, false), exact_term(s, &term, false));
        return;
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
        cuda_line(out, "arg_add(%s, acc, %s, %s, %s, %s);", is_real(s) ? "true" : "false",
                  extreme_term(s, &term, negate), exact_term(s, &term, negate), order, order);
        return;
    case REDUCE_ANY:
    case REDUCE_ALL:
        cuda_line(out, "int_acc_%s(acc, %s);", s->stmt->reduce == REDUCE_ANY ? "any" : "all",
                  term.name);
        return;
    case REDUCE_NONE:
        break;
    }
    panic("statement without a reduction");
}

/* ---- results ---- */

static const char *track_unit(const struct ref_kernel *kernel)
{
    return kernel->track->compute == COMPUTE_BF16 ? "0x1p-8" : "0x1p-11";
}

static struct ref_value result_line(struct ref_stmt *s, enum dtype dtype, const char *text)
{
    struct ref_value value = {.name = ref_fresh(s->kernel, "r"), .dtype = dtype};
    cuda_line(&s->kernel->out, "const %s %s = %s;", ref_type(dtype), value.name, text);
    return value;
}

static struct ref_value finish_fold(struct ref_stmt *s, const char *count)
{
    struct arena *arena = s->kernel->arena;
    enum dtype dtype = s->stmt->value->dtype;
    struct product product = product_of(s);
    const char *format = is_real(s) ? ref_format(dtype) : "";
    bool compensated = s->kernel->op->policy.summation == SUMMATION_COMPENSATED;
    bool keeps_exact = !s->kernel->op->tensors[s->stmt->target].temporary;
    switch (s->stmt->reduce) {
    case REDUCE_SUM:
        if (is_real(s))
            return result_line(
                s, dtype,
                text_fmt(arena, "sum_end(%s, {%s, %s, %s, %s, %s, %s}, acc, (double)(%s))", format,
                         product.is_product ? "true" : "false", product.is_split ? "true" : "false",
                         product.is_rounded ? "true" : "false", compensated ? "true" : "false",
                         keeps_exact ? "true" : "false", track_unit(s->kernel), count));
        return result_line(s, dtype,
                           text_fmt(arena, "int_convert({acc.v, 0}, %s)", ref_width(arena, dtype)));
    case REDUCE_PROD:
        if (is_real(s))
            return result_line(s, dtype, text_fmt(arena, "product_end(%s, acc)", format));
        return result_line(s, dtype,
                           text_fmt(arena, "int_convert({acc.v, 0}, %s)", ref_width(arena, dtype)));
    case REDUCE_MAX:
    case REDUCE_MIN:
        return result_line(
            s, dtype, is_real(s) ? "{acc.v, extreme_end(acc)}" : "{acc.exact, extreme_end(acc)}");
    case REDUCE_ANY:
    case REDUCE_ALL:
        return result_line(s, DTYPE_BOOL, "{acc.v, either(acc.b > 0 && !acc.decided)}");
    case REDUCE_ARGMAX:
    case REDUCE_ARGMIN:
        return result_line(s, DTYPE_I64, "{acc.at, possible > 1 ? INF : 0}");
    case REDUCE_NONE:
        break;
    }
    panic("statement without a reduction");
}

static void store_result(struct ref_stmt *s, struct ref_value value, const char *position)
{
    size_t target = s->stmt->target;
    struct ref_value stored = ref_assign(s, value, s->kernel->op->tensors[target].dtype);
    s->kernel->results[target] = true;
    cuda_line(&s->kernel->out, "value%zu[%s] = %s.v;", target, position, stored.name);
    if (s->kernel->op->tensors[target].temporary)
        cuda_line(&s->kernel->out, "bound%zu[%s] = %s.b;", target, position, stored.name);
    else
        cuda_line(&s->kernel->out, "bound%zu[%s] = final_bound(%s, %s);", target, position,
                  stored.name, s->kernel->op->policy.finite_inputs ? "true" : "false");
}

/* ---- loops ---- */

static const char *product_text(struct ref_stmt *s, const size_t *loops, size_t count)
{
    const char *text = "1LL";
    for (size_t i = 0; i < count; i++)
        text = text_fmt(s->kernel->arena, "%s%s%s", i == 0 ? "" : text, i == 0 ? "" : " * ",
                        ref_number(s->kernel, s->stmt->loops[loops[i]].extent));
    return text;
}

/* Declares loops from a flat number, the last one fastest. */
static void take_apart(struct ref_stmt *s, const char *flat, const size_t *loops, size_t count)
{
    const char *stride = "1LL";
    for (size_t i = count; i-- > 0;) {
        const char *extent = ref_number(s->kernel, s->stmt->loops[loops[i]].extent);
        cuda_line(&s->kernel->out, "const i64 %s = %s / (%s) %% %s;", s->loops[loops[i]], flat,
                  stride, extent);
        stride = text_fmt(s->kernel->arena, "%s * %s", stride, extent);
    }
}

/* Where a scan's term is out of range, as a condition; NULL when all are in. */
static const char *out_of_range(struct ref_stmt *s)
{
    const char *text = NULL;
    for (size_t i = s->stmt->free_count; i < s->stmt->loop_count; i++) {
        const struct loop *loop = &s->stmt->loops[i];
        static const char *const signs[] = {[RANGE_FULL] = "",
                                            [RANGE_LT] = "<",
                                            [RANGE_LE] = "<=",
                                            [RANGE_GT] = ">",
                                            [RANGE_GE] = ">="};
        if (loop->bound == RANGE_FULL)
            continue;
        const char *one = text_fmt(s->kernel->arena, "!(%s %s %s)", s->loops[i], signs[loop->bound],
                                   s->loops[loop->bound_loop]);
        text = text == NULL ? one : text_fmt(s->kernel->arena, "%s || %s", text, one);
    }
    return text;
}

static const char *target_position(struct ref_stmt *s)
{
    return ref_position(s, s->stmt->target, s->loops);
}

static void print_map(struct ref_stmt *s, const size_t *loops, size_t count)
{
    struct cuda *out = &s->kernel->out;
    cuda_line(out, "const i64 outputs = %s;", product_text(s, loops, count));
    cuda_open(out, "for (i64 id = block * %d + threadIdx.x; id < outputs; id += blocks * %d)",
              REF_THREADS, REF_THREADS);
    take_apart(s, "id", loops, count);
    store_result(s, ref_print_own(s, s->stmt->value), target_position(s));
    cuda_close(out);
}

/* Joins the group's accumulators in order; the first thread's ends up in all. */
static void print_join(struct ref_stmt *s, const struct fold *fold)
{
    struct cuda *out = &s->kernel->out;
    cuda_line(out, "parts[threadIdx.x] = acc;");
    cuda_line(out, "__syncthreads();");
    cuda_open(out, "for (int step = 1; step < lanes; step *= 2)");
    cuda_open(out, "if (lane %% (2 * step) == 0 && lane + step < lanes)");
    cuda_line(out, "const %s p = parts[threadIdx.x], q = parts[threadIdx.x + step];", fold->type);
    cuda_line(out, "parts[threadIdx.x] = %s;", fold->join);
    cuda_close(out);
    cuda_line(out, "__syncthreads();");
    cuda_close(out);
    cuda_line(out, "acc = parts[threadIdx.x - lane];");
    cuda_line(out, "__syncthreads();");
}

/* The terms that this thread takes, around `print`. */
static void open_terms(struct ref_stmt *s, const size_t *loops, size_t count)
{
    struct cuda *out = &s->kernel->out;
    cuda_open(out, "for (i64 term = lane * run; term < terms && term < (lane + 1) * run; ++term)");
    take_apart(s, "term", loops, count);
    const char *out_text = s->stmt->scatter == NULL ? out_of_range(s) : NULL;
    if (out_text != NULL) {
        cuda_line(out, "if (%s)", out_text);
        cuda_line(out, "    continue;");
    }
}

/* Loops shared out over outputs and over terms. */
struct split {
    size_t outer[OP_LOOPS_MAX], outer_count;
    size_t inner[OP_LOOPS_MAX], inner_count;
};

static void open_outputs(struct ref_stmt *s, const struct split *split, const struct fold *fold,
                         const char *outputs)
{
    struct cuda *out = &s->kernel->out;
    cuda_line(out, "__shared__ %s parts[%d];", fold->type, REF_THREADS);
    cuda_line(out, "static_assert(sizeof(parts) <= 48 << 10, \"more than a kernel may declare\");");
    cuda_line(out, "const i64 outputs = %s;", outputs);
    cuda_line(out, "const i64 terms = %s;", product_text(s, split->inner, split->inner_count));
    cuda_line(out, "const int lanes = (int)lanes_for(outputs, terms);");
    cuda_line(out, "const int lane = threadIdx.x %% lanes, groups = %d / lanes;", REF_THREADS);
    cuda_line(out, "const i64 run = (terms + lanes - 1) / lanes;");
    cuda_open(out, "for (i64 first = block * groups; first < outputs; first += blocks * groups)");
    cuda_line(out, "const i64 id = first + threadIdx.x / lanes;");
}

/* How many terms are in range. */
static const char *count_text(struct ref_stmt *s)
{
    const char *text = "1LL";
    struct arena *arena = s->kernel->arena;
    for (size_t i = s->stmt->free_count; i < s->stmt->loop_count; i++) {
        const struct loop *loop = &s->stmt->loops[i];
        const char *extent = ref_number(s->kernel, loop->extent), *one = extent;
        const char *at = loop->bound == RANGE_FULL ? "" : s->loops[loop->bound_loop];
        if (loop->bound == RANGE_LT)
            one = text_fmt(arena, "min(%s, %s)", extent, at);
        if (loop->bound == RANGE_LE)
            one = text_fmt(arena, "min(%s, %s + 1)", extent, at);
        if (loop->bound == RANGE_GT)
            one = text_fmt(arena, "max(0LL, %s - %s - 1)", extent, at);
        if (loop->bound == RANGE_GE)
            one = text_fmt(arena, "max(0LL, %s - %s)", extent, at);
        text = text_fmt(arena, "%s * %s", text, one);
    }
    return text;
}

/* Second walk of an argmax: how many terms may be the extremum. */
static void print_possible(struct ref_stmt *s, const struct split *split)
{
    struct cuda *out = &s->kernel->out;
    bool negate = s->stmt->reduce == REDUCE_ARGMIN;
    cuda_line(out, "__shared__ int counts[%d];", REF_THREADS);
    cuda_line(out, "int possible = 0;");
    cuda_open(out, "if (id < outputs)");
    take_apart(s, "id", split->outer, split->outer_count);
    open_terms(s, split->inner, split->inner_count);
    struct ref_value term = ref_print_own(s, s->stmt->value);
    cuda_line(out, "possible += arg_possible(acc, %s, term);", extreme_term(s, &term, negate));
    cuda_close(out);
    cuda_close(out);
    cuda_line(out, "counts[threadIdx.x] = possible;");
    cuda_line(out, "__syncthreads();");
    cuda_line(out, "possible = 0;");
    cuda_line(out, "for (int other = 0; lane == 0 && other < lanes; ++other)");
    cuda_line(out, "    possible += counts[threadIdx.x + other];");
    cuda_line(out, "if (isnan(acc.best) && acc.best_b == 0)");
    cuda_line(out, "    possible = 1;");
    cuda_line(out, "__syncthreads();");
}

static bool is_real_sum(const struct ref_stmt *s)
{
    return is_real(s) && s->stmt->reduce == REDUCE_SUM;
}

/* Where several threads share a sum, each looks at its run first: the next ones then know the
 * partial sum, and its history, at which they begin.  What they see lies where their parts will:
 * both together are more than the 48 KiB that a kernel may declare. */
static void open_look(struct ref_stmt *s)
{
    struct cuda *out = &s->kernel->out;
    cuda_line(out, "static_assert(sizeof(parts[0]) >= sizeof(sum_look), \"looks lie in parts\");");
    cuda_line(out, "sum_look *const looks = (sum_look *)parts;");
    cuda_line(out, "sum_look before = {0, 0, 0, 0, 0, 0, 0, 0};");
    cuda_open(out, "if (lanes > 1)");
    cuda_line(out, "sum_look look = before;");
    cuda_open(out, "if (id < outputs)");
}

static void close_look(struct ref_stmt *s)
{
    struct cuda *out = &s->kernel->out;
    cuda_close(out);
    cuda_line(out, "looks[threadIdx.x] = look;");
    cuda_line(out, "__syncthreads();");
    cuda_line(out, "for (int other = threadIdx.x - lane; other < threadIdx.x; ++other)");
    cuda_line(out, "    before = join(before, looks[other]);");
    cuda_line(out, "__syncthreads();");
    cuda_close(out);
}

static void look_at_term(struct ref_stmt *s)
{
    struct ref_value term = ref_print_own(s, s->stmt->value);
    cuda_line(&s->kernel->out, "look_add(look, %s.v);", term.name);
}

static void print_accumulator(struct ref_stmt *s, const struct fold *fold)
{
    const char *start = fold->start;
    if (is_real_sum(s))
        start =
            text_fmt(s->kernel->arena, "sum_start(%s, before)", ref_format(s->stmt->value->dtype));
    cuda_line(&s->kernel->out, "%s acc = %s;", fold->type, start);
}

static void print_reduction(struct ref_stmt *s, const struct split *split)
{
    struct cuda *out = &s->kernel->out;
    struct fold fold = fold_of(s);
    open_outputs(s, split, &fold, product_text(s, split->outer, split->outer_count));
    if (is_real_sum(s)) {
        open_look(s);
        take_apart(s, "id", split->outer, split->outer_count);
        open_terms(s, split->inner, split->inner_count);
        look_at_term(s);
        cuda_close(out);
        close_look(s);
    }
    print_accumulator(s, &fold);
    cuda_open(out, "if (id < outputs)");
    take_apart(s, "id", split->outer, split->outer_count);
    open_terms(s, split->inner, split->inner_count);
    add_term(s, "term");
    cuda_close(out);
    cuda_close(out);
    print_join(s, &fold);
    if (is_arg(s->stmt))
        print_possible(s, split);
    cuda_open(out, "if (id < outputs && lane == 0)");
    take_apart(s, "id", split->outer, split->outer_count);
    store_result(s, finish_fold(s, count_text(s)), target_position(s));
    cuda_close(out);
    cuda_close(out);
}

/* ---- scans along a line ---- */

struct looks {
    size_t loop;
    bool found;
};

static void find_look(void *context, const struct expr *expr)
{
    struct looks *looks = context;
    looks->found |= expr->op == EXPR_INDEX && expr->loop == looks->loop;
}

static bool runs_along(const struct stmt *stmt, bool in_seq)
{
    if (stmt->loop_count != stmt->free_count + 1 || is_arg(stmt))
        return false;
    const struct loop *last = &stmt->loops[stmt->free_count];
    struct looks looks = {.loop = last->bound_loop};
    if (last->bound == RANGE_FULL || (in_seq && last->bound_loop == 0))
        return false;
    expr_walk(stmt->value, find_look, &looks);
    return !looks.found;
}

static void print_scan(struct ref_stmt *s, const size_t *lines, size_t count)
{
    struct cuda *out = &s->kernel->out;
    const struct loop *last = &s->stmt->loops[s->stmt->free_count];
    struct fold fold = fold_of(s);
    const char *at = s->loops[last->bound_loop], *j = s->loops[s->stmt->free_count];
    const char *length = ref_number(s->kernel, s->stmt->loops[last->bound_loop].extent);
    const char *terms = ref_number(s->kernel, last->extent);
    bool reverse = last->bound == RANGE_GT || last->bound == RANGE_GE;
    const char *sign = last->bound == RANGE_LT   ? "<"
                       : last->bound == RANGE_LE ? "<="
                       : last->bound == RANGE_GT ? ">"
                                                 : ">=";
    cuda_line(out, "const i64 outputs = %s;", product_text(s, lines, count));
    cuda_open(out, "for (i64 id = block * %d + threadIdx.x; id < outputs; id += blocks * %d)",
              REF_THREADS, REF_THREADS);
    take_apart(s, "id", lines, count);
    cuda_line(out, "%s acc = %s;", fold.type, fold.start);
    cuda_line(out, "i64 fed = 0;");
    cuda_open(out, "for (i64 along = 0; along < %s; ++along)", length);
    cuda_line(out, "const i64 %s = %s;", at,
              reverse ? text_fmt(s->kernel->arena, "%s - 1 - along", length) : "along");
    cuda_open(out, "for (; fed < %s; ++fed)", terms);
    cuda_line(out, "const i64 %s = %s;", j,
              reverse ? text_fmt(s->kernel->arena, "%s - 1 - fed", terms) : "fed");
    cuda_line(out, "if (!(%s %s %s))", j, sign, at);
    cuda_line(out, "    break;");
    add_term(s, "fed");
    cuda_close(out);
    store_result(s, finish_fold(s, "fed"), target_position(s));
    cuda_close(out);
    cuda_close(out);
}

/* ---- scatter-add, read backwards ---- */

/* Which loop a subscript of the target is, plainly; OP_NONE otherwise or when another has it. */
static void fixed_loops(const struct ref_stmt *s, size_t *loop_of, bool *is_fixed)
{
    const struct tensor *target = &s->kernel->op->tensors[s->stmt->target];
    for (size_t i = 0; i < target->rank; i++) {
        const struct expr *sub = s->stmt->scatter[i];
        bool plain = sub->op == EXPR_INDEX && !is_fixed[sub->loop] &&
                     formula_equal(s->stmt->loops[sub->loop].extent, target->shape[i]);
        loop_of[i] = plain ? sub->loop : OP_NONE;
        if (plain)
            is_fixed[sub->loop] = true;
    }
}

static void print_scatter_term(struct ref_stmt *s, const size_t *loop_of, bool look)
{
    struct cuda *out = &s->kernel->out;
    struct arena *arena = s->kernel->arena;
    const struct tensor *target = &s->kernel->op->tensors[s->stmt->target];
    const char *lands = "true", *open = NULL;
    for (size_t i = 0; i < target->rank; i++) {
        const char *open_here;
        if (loop_of[i] != OP_NONE)
            continue;
        lands = text_fmt(arena, "%s && %s == to%zu", lands,
                         ref_subscript(s, s->stmt->scatter[i], &open_here), i);
        if (open_here != NULL)
            open = open == NULL ? open_here : text_fmt(arena, "%s || %s", open, open_here);
    }
    if (open != NULL && !look) {
        cuda_line(out, "if (%s)", open);
        cuda_line(out, "    acc.b = INF;");
    }
    cuda_open(out, "if (%s)", lands);
    if (look) {
        look_at_term(s);
    } else {
        cuda_line(out, "++landed;");
        add_term(s, "term");
    }
    cuda_close(out);
}

/* The target's own position: loops that it fixes, and to0, to1, ... for the rest. */
static void print_scatter_target(struct ref_stmt *s, const size_t *loop_of)
{
    struct arena *arena = s->kernel->arena;
    const struct tensor *target = &s->kernel->op->tensors[s->stmt->target];
    const char *stride = "1LL";
    for (size_t i = target->rank; i-- > 0;) {
        const char *extent = ref_number(s->kernel, target->shape[i]);
        const char *name =
            loop_of[i] == OP_NONE ? text_fmt(arena, "to%zu", i) : s->loops[loop_of[i]];
        cuda_line(&s->kernel->out, "const i64 %s = id / (%s) %% %s;", name, stride, extent);
        stride = text_fmt(arena, "%s * %s", stride, extent);
    }
}

/* How many terms landed, over the group. */
static void print_landed(struct ref_stmt *s)
{
    struct cuda *out = &s->kernel->out;
    cuda_line(out, "__shared__ int counts[%d];", REF_THREADS);
    cuda_line(out, "counts[threadIdx.x] = landed;");
    cuda_line(out, "__syncthreads();");
    cuda_line(out, "landed = 0;");
    cuda_line(out, "for (int other = 0; lane == 0 && other < lanes; ++other)");
    cuda_line(out, "    landed += counts[threadIdx.x + other];");
    cuda_line(out, "__syncthreads();");
}

static void print_scatter(struct ref_stmt *s)
{
    struct cuda *out = &s->kernel->out;
    const struct tensor *target = &s->kernel->op->tensors[s->stmt->target];
    struct fold fold = fold_of(s);
    struct split split = {.outer_count = 0};
    size_t loop_of[OP_RANK_MAX];
    bool is_fixed[OP_LOOPS_MAX] = {false};
    fixed_loops(s, loop_of, is_fixed);
    for (size_t i = 0; i < s->stmt->loop_count; i++)
        if (!is_fixed[i])
            split.inner[split.inner_count++] = i;
    const struct formula *elements = formula_count(s->kernel->arena, target->shape, target->rank);
    open_outputs(s, &split, &fold, ref_number(s->kernel, elements));
    if (is_real_sum(s)) {
        open_look(s);
        print_scatter_target(s, loop_of);
        open_terms(s, split.inner, split.inner_count);
        print_scatter_term(s, loop_of, true);
        cuda_close(out);
        close_look(s);
    }
    print_accumulator(s, &fold);
    cuda_line(out, "int landed = 0;");
    cuda_open(out, "if (id < outputs)");
    print_scatter_target(s, loop_of);
    open_terms(s, split.inner, split.inner_count);
    print_scatter_term(s, loop_of, false);
    cuda_close(out);
    cuda_close(out);
    print_join(s, &fold);
    print_landed(s);
    cuda_open(out, "if (id < outputs && lane == 0)");
    store_result(s, finish_fold(s, "landed"), "id");
    cuda_close(out);
    cuda_close(out);
}

/* ---- statements ---- */

static void name_loops(struct ref_stmt *s, const char *step)
{
    struct arena *arena = s->kernel->arena;
    s->loops = arena_array(arena, const char *, s->stmt->loop_count + 1);
    for (size_t i = 0; i < s->stmt->loop_count; i++)
        s->loops[i] = i == 0 && step != NULL ? step : text_fmt(arena, "i%zu", i);
}

bool ref_statement(struct ref_kernel *kernel, const struct stmt *stmt, const char *step,
                   struct err *err)
{
    struct ref_stmt s = {.kernel = kernel, .stmt = stmt};
    struct split split = {.outer_count = 0};
    bool along = stmt->reduce != REDUCE_NONE && runs_along(stmt, step != NULL);
    name_loops(&s, step);
    if (stmt->scatter != NULL) {
        if (step != NULL)
            return err_raise(err, ERR_UNSUPPORTED, "a scatter-add inside a seq block: %s",
                             text_stmt(kernel->arena, kernel->op, stmt));
        print_scatter(&s);
        return true;
    }
    for (size_t i = step != NULL ? 1 : 0; i < stmt->loop_count; i++) {
        if (i >= stmt->free_count)
            split.inner[split.inner_count++] = i;
        else if (!along || i != stmt->loops[stmt->free_count].bound_loop)
            split.outer[split.outer_count++] = i;
    }
    if (stmt->reduce == REDUCE_NONE)
        print_map(&s, split.outer, split.outer_count);
    else if (along)
        print_scan(&s, split.outer, split.outer_count);
    else
        print_reduction(&s, &split);
    return true;
}
