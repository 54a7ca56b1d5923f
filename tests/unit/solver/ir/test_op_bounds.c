/*
 * What the interval analysis proves: honest index arithmetic is accepted, one element too far is
 * not; and on random index expressions the interval holds every value that enumeration finds.
 */
#include <string.h>

#include "base/num.h"
#include "base/rng.h"

#include "solver/ir/op.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES_MAX = 256 << 20, TEXT_BYTES_MAX = 1 << 16, M = 5, N = 6 };

/* A spec over x[M,N], k[M] in 0..N-1 and z[size] -> y[M,N]; lines separated by ';'. */
static struct str spec_of(struct arena *arena, const char *size, const char *lines)
{
    struct buf buf;
    buf_init(&buf, arena, TEXT_BYTES_MAX);
    buf_printf(&buf,
               "{\"spec\":1,\"name\":\"t\",\"dims\":{\"M\":[1,64],\"N\":[1,64]},\"tensors\":["
               "{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"M\",\"N\"]},"
               "{\"name\":\"k\",\"role\":\"input\",\"dtype\":\"i32\",\"shape\":[\"M\"],"
               "\"fill\":{\"kind\":\"ints\",\"low\":0,\"high\":\"N - 1\"}},"
               "{\"name\":\"z\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"%s\"]},"
               "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[\"M\",\"N\"]}],"
               "\"tracks\":{\"f32\":{}},\"shapes\":{\"target\":[{\"M\":%d,\"N\":%d}]},"
               "\"body\":[\"a[m,n] = x[m,n] + f32(k[m])\",\"",
               size, M, N);
    for (const char *c = lines; *c; c++) {
        if (*c == ';')
            buf_text(&buf, "\",\"");
        else
            buf_char(&buf, *c);
    }
    buf_text(&buf, "\"]}");
    return buf_view(&buf);
}

/* `inside` is the least size of z for which the access is accepted; one less is refused. */
struct access {
    const char *name, *lines;
    int inside;
};
static const struct access accesses[] = {
    {"flat index", "y[m,n] = z[m * N + n]", M *N},
    {"its quotient", "y[m,n] = z[(m * N + n) / N]", M},
    {"its remainder", "y[m,n] = z[(m * N + n) % N]", N},
    {"quotient and remainder put together", "y[m,n] = z[n / 4 * 4 + n % 4]", N},
    {"remainder by difference", "y[m,n] = z[n - n / 4 * 4]", 4},
    {"quotient of a constant multiple", "y[m,n] = z[(6 * m + 3) / 2]", 14},
    {"reversed", "y[m,n] = z[N - 1 - n]", N},
    {"window", "y[m,n] = sum(r:3) z[2 * m + r]", 11},
    {"window from one", "y[m,n] = sum(r:3) z[2 * m + r + 1]", 12},
    {"scan, distance", "y[m,n] = sum(j:N <= n) z[n - j]", N},
    {"scan, strict distance", "y[m,n] = sum(j:N < n) z[n - j - 1]", N - 1},
    {"reverse scan, distance", "y[m,n] = sum(j:N >= n) z[j - n]", N},
    {"reverse scan, strict", "y[m,n] = sum(j:N > n) z[j - n - 1]", N - 1},
    {"scan, sum", "y[m,n] = sum(j:N <= n) z[n + j]", 2 * N - 1},
    {"scan over more than the target", "y[m,n] = sum(j:9 <= n) z[j]", N},
    {"two scans", "y[m,n] = sum(i:N <= n, j:N < n) z[2 * n - i - j]", 2 * N - 1},
    {"rotation", "y[m,n] = z[n < 3 ? n + 3 : n - 3]", N},
    {"condition with two tests", "y[m,n] = z[n >= 2 && n < 4 ? n - 2 : 0]", 2},
    {"condition, otherwise", "y[m,n] = z[n < 2 || n > 3 ? 0 : n - 2]", 2},
    {"condition that is always true", "y[m,n] = z[n < 100 ? n : 1000]", N},
    {"negated condition", "y[m,n] = z[!(n < 4) ? n - 4 : n]", 4},
    {"clamp above", "y[m,n] = z[min(n + 5, N - 1)]", N},
    {"clamp below", "y[m,n] = z[max(n - 2, 0)]", 4},
    {"absolute value", "y[m,n] = z[abs(n - 2)]", 4},
    {"shift right", "y[m,n] = z[n >> 1]", 3},
    {"shift left", "y[m,n] = z[n << 2]", 21},
    {"mask", "y[m,n] = z[(n + 7) & 3]", 4},
    {"exclusive or", "y[m,n] = z[n ^ 1]", 8},
    {"floor of a negative quotient", "y[m,n] = z[(n - 7) / 2 + 4]", 4},
    {"remainder of a negative", "y[m,n] = z[(n - 20) % 5]", 5},
    {"division by zero is zero", "y[m,n] = z[n / 0]", 1},
    {"remainder by zero is zero", "y[m,n] = z[n % 0]", 1},
    {"gather", "y[m,n] = z[k[m]]", N},
    {"gather of half", "y[m,n] = z[k[m] / 2]", 3},
    {"gather, padded", "y[m,n] = z[pad(k[m + n], 2)]", N},
    {"argmax", "q[m] = argmax(n) x[m,n];y[m,n] = z[q[m]]", N},
    {"argmax over two", "q[m] = argmax(n,j:3) x[m,n];y[m,n] = z[q[m]]", 3 * N},
    {"computed integers", "q[m:M] = i32(m) * 2 + k[m];y[m,n] = z[q[m]]", 2 * (M - 1) + N},
    {"count of some", "q[m] = sum(n) x[m,n] > 0 ? 1 : 0;y[m,n] = z[q[m]]", N + 1},
    {"maximum of integers", "q[m:M] = max(n:N) n - m;y[m,n] = z[max(q[m], 0)]", N},
    {"cast to u8", "y[m,n] = z[i64(u8(n - 1))]", 256},
    {"bool as a number", "y[m,n] = z[i64(x[m,n] > 0)]", 2},
};

static bool accepted(const struct access *access, int size)
{
    struct arena arena;
    struct err err;
    const struct op *op = NULL;
    char text[16];
    arena_init(&arena, ARENA_BYTES_MAX);
    snprintf(text, sizeof(text), "%d", size);
    bool ok = op_parse(&arena, spec_of(&arena, text, access->lines), "t.json", NULL, &op, &err);
    if (!ok && !strstr(err.text, "outside 0..") && !strstr(err.text, "is 0"))
        fail_msg("%s: %s", access->name, err.text);
    arena_release(&arena);
    return ok;
}

static void accesses_are_tight(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(accesses); i++) {
        if (!accepted(&accesses[i], accesses[i].inside))
            fail_msg("%s: refused at %d", accesses[i].name, accesses[i].inside);
        if (accepted(&accesses[i], accesses[i].inside - 1))
            fail_msg("%s: accepted at %d", accesses[i].name, accesses[i].inside - 1);
    }
}

/* What must not be proved, whatever the size. */
static const struct access unprovable[] = {
    {"below zero", "y[m,n] = z[n - 1]", 0},
    {"scan the wrong way", "y[m,n] = sum(j:N <= n) z[j - n]", 0},
    {"float cast", "y[m,n] = z[i64(x[m,n])]", 0},
    {"wraps in i32", "y[m,n] = z[k[m] * 2000000000]", 0},
    {"condition on data", "y[m,n] = z[x[m,n] > 0 ? n : n - 1]", 0},
};

static void unprovable_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(unprovable); i++) {
        struct arena arena;
        struct err err;
        const struct op *op = NULL;
        arena_init(&arena, ARENA_BYTES_MAX);
        struct str text = spec_of(&arena, "M * N * 100000", unprovable[i].lines);
        if (op_parse(&arena, text, "t.json", NULL, &op, &err))
            fail_msg("%s: accepted", unprovable[i].name);
        arena_release(&arena);
    }
}

/* ---- random expressions against enumeration ---- */

static void random_expr(struct rng *rng, struct buf *out, int depth)
{
    static const char *const leaves[] = {"m", "n", "j", "1", "2", "3", "7", "N", "M"};
    static const char *const infix[] = {" + ", " - ", " * ", " / ", " % ", " + ", " - "};
    static const char *const tests[] = {" < ", " <= ", " > ", " >= "};
    uint32_t kind = depth == 0 ? 0 : rng_below(rng, 10);
    if (kind < 2) {
        buf_text(out, leaves[rng_below(rng, COUNT_OF(leaves))]);
    } else if (kind < 8) {
        buf_char(out, '(');
        random_expr(rng, out, depth - 1);
        buf_text(out, infix[rng_below(rng, COUNT_OF(infix))]);
        random_expr(rng, out, depth - 1);
        buf_char(out, ')');
    } else if (kind == 8) {
        buf_text(out, rng_below(rng, 2) ? "min(" : "max(");
        random_expr(rng, out, depth - 1);
        buf_text(out, ", ");
        random_expr(rng, out, depth - 1);
        buf_char(out, ')');
    } else {
        buf_char(out, '(');
        random_expr(rng, out, depth - 1);
        buf_text(out, tests[rng_below(rng, COUNT_OF(tests))]);
        random_expr(rng, out, depth - 1);
        buf_text(out, " ? ");
        random_expr(rng, out, depth - 1);
        buf_text(out, " : ");
        random_expr(rng, out, depth - 1);
        buf_char(out, ')');
    }
}

struct point {
    int64_t m, n, j;
    const int64_t *dims;
};

static int64_t value(const struct point *p, const struct expr *e)
{
    if (e->op == EXPR_INT)
        return e->integer;
    if (e->op == EXPR_DIM)
        return p->dims[e->dim];
    if (e->op == EXPR_INDEX)
        return e->loop == 0 ? p->m : e->loop == 1 ? p->n : p->j;
    if (e->op == EXPR_WHERE)
        return value(p, e->args[value(p, e->args[0]) ? 1 : 2]);
    int64_t a = value(p, e->args[0]);
    int64_t b = value(p, e->args[1]);
    if (e->op == EXPR_ADD)
        return a + b;
    if (e->op == EXPR_SUB)
        return a - b;
    if (e->op == EXPR_MUL)
        return a * b;
    if (e->op == EXPR_DIV)
        return b == 0 ? 0 : num_floor_div(a, b);
    if (e->op == EXPR_MOD)
        return b == 0 ? 0 : num_floor_mod(a, b);
    if (e->op == EXPR_MIN)
        return a < b ? a : b;
    if (e->op == EXPR_MAX)
        return a > b ? a : b;
    if (e->op == EXPR_LT)
        return a < b;
    if (e->op == EXPR_LE)
        return a <= b;
    if (e->op == EXPR_GT)
        return a > b;
    assert_int_equal(e->op, EXPR_GE);
    return a >= b;
}

struct seen {
    int64_t low, high;
};

/* Every value of the subscript; affine forms must agree at every point. */
static struct seen enumerate(const struct bound_op *bound, const struct expr *sub, int scan)
{
    struct affine affine;
    const struct stmt *stmt = &bound->op->stmts[1];
    bool is_affine = expr_affine(bound, stmt, sub, &affine);
    struct seen seen = {INT64_MAX, INT64_MIN};
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++)
            for (int64_t j = 0; j < N; j++) {
                bool inside = scan == 0 ? j < n : scan == 1 ? j <= n : scan == 2 ? j > n : j >= n;
                struct point p = {m, n, j, bound->dims};
                if (!inside)
                    continue;
                int64_t v = value(&p, sub);
                seen.low = v < seen.low ? v : seen.low;
                seen.high = v > seen.high ? v : seen.high;
                if (is_affine)
                    assert_int_equal(v, affine.constant + affine.coefficient[0] * m +
                                            affine.coefficient[1] * n + affine.coefficient[2] * j);
            }
    int64_t low;
    int64_t high;
    if (is_affine) {
        assert_true(expr_interval(bound, 1, sub, &low, &high));
        assert_int_equal(low, seen.low);
        assert_int_equal(high, seen.high);
    }
    return seen;
}

static void intervals_hold(void **state)
{
    static const char *const scans[] = {"<", "<=", ">", ">="};
    struct rng rng;
    size_t exact = 0;
    (void)state;
    rng_init(&rng, 20240607);
    enum { TRIES = 4000 };
    for (int i = 0; i < TRIES; i++) {
        struct arena arena;
        struct err err;
        struct buf sub;
        struct buf line;
        const struct op *op = NULL;
        const struct bound_op *bound = NULL;
        arena_init(&arena, ARENA_BYTES_MAX);
        buf_init(&sub, &arena, TEXT_BYTES_MAX);
        buf_init(&line, &arena, TEXT_BYTES_MAX);
        random_expr(&rng, &sub, 1 + (int)rng_below(&rng, 4));
        buf_printf(&line, "y[m,n] = sum(j:N %s n) pad(z[%.*s])", scans[i % 4],
                   STR_ARG(buf_view(&sub)));
        struct str text = spec_of(&arena, "N", str_copy(&arena, buf_view(&line)));
        assert_ok(op_parse(&arena, text, "t.json", NULL, &op, &err));
        assert_ok(op_bind_shape(&arena, op, &op->targets[0], &bound, &err));
        const struct expr *e = op->stmts[1].value->subs[0];
        struct seen seen = enumerate(bound, e, i % 4);
        int64_t low;
        int64_t high;
        if (expr_interval(bound, 1, e, &low, &high)) {
            if (low > seen.low || high < seen.high)
                fail_msg("%.*s: %lld..%lld leaves out %lld..%lld", STR_ARG(buf_view(&line)),
                         (long long)low, (long long)high, (long long)seen.low,
                         (long long)seen.high);
            exact += low == seen.low && high == seen.high;
        }
        arena_release(&arena);
    }
    assert_true(exact > TRIES / 2); /* not trivially wide */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_are_tight),
        cmocka_unit_test(unprovable_is_refused),
        cmocka_unit_test(intervals_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
