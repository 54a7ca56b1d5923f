/*
 * Printing: every spec of the tree reads back to an equal op; what the printer writes for each
 * construct of the language.
 */
#include <string.h>

#include "solver/ir/op.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES_MAX = 256 << 20, DOC_BYTES_MAX = 4 << 20 };

static bool find_spec(void *context, struct arena *arena, struct str name, struct str *text)
{
    char path[300];
    struct err err;
    snprintf(path, sizeof(path), "%s/%.*s.json", (const char *)context, STR_ARG(name));
    return file_read(arena, path, DOC_BYTES_MAX, text, &err);
}

static const char *document(struct arena *arena, const struct op *op)
{
    struct buf buf;
    buf_init(&buf, arena, DOC_BYTES_MAX);
    op_print_json(&buf, op);
    return str_copy(arena, buf_view(&buf));
}

static const char *body(struct arena *arena, const struct op *op)
{
    struct buf buf;
    buf_init(&buf, arena, DOC_BYTES_MAX);
    op_print_body(&buf, op);
    return str_copy(arena, buf_view(&buf));
}

static void same_op(const struct op *a, const struct op *b)
{
    assert_int_equal(a->dim_count, b->dim_count);
    assert_int_equal(a->tensor_count, b->tensor_count);
    assert_int_equal(a->stmt_count, b->stmt_count);
    assert_int_equal(a->seq_count, b->seq_count);
    assert_memory_equal(&a->hash, &b->hash, sizeof(a->hash));
    for (size_t i = 0; i < a->dim_count; i++)
        assert_true(str_equal(a->dims[i].name, b->dims[i].name));
    for (size_t i = 0; i < a->tensor_count; i++) {
        const struct tensor *x = &a->tensors[i];
        const struct tensor *y = &b->tensors[i];
        assert_true(str_equal(x->name, y->name));
        assert_int_equal(x->dtype, y->dtype);
        assert_int_equal(x->rank, y->rank);
        assert_int_equal(x->written_by, y->written_by);
        for (size_t d = 0; d < x->rank; d++)
            assert_true(formula_equal(x->shape[d], y->shape[d]));
    }
    for (size_t i = 0; i < a->stmt_count; i++) {
        assert_int_equal(a->stmts[i].loop_count, b->stmts[i].loop_count);
        assert_int_equal(a->stmts[i].reduce, b->stmts[i].reduce);
        assert_int_equal(a->stmts[i].value->dtype, b->stmts[i].value->dtype);
        for (size_t j = 0; j < a->stmts[i].loop_count; j++)
            assert_true(formula_equal(a->stmts[i].loops[j].extent, b->stmts[i].loops[j].extent));
    }
}

static void round_trip(struct arena *arena, struct str text, const char *source,
                       const struct op_library *library)
{
    struct err err;
    const struct op *first = NULL;
    const struct op *second = NULL;
    assert_ok(op_parse(arena, text, source, library, &first, &err));
    const char *printed = document(arena, first);
    assert_ok(op_parse(arena, str_from(printed), source, NULL, &second, &err));
    assert_string_equal(document(arena, second), printed);
    assert_ok(op_check(first, &err));
    same_op(first, second);
}

static void folder_round_trips(const char *folder, size_t least)
{
    struct arena arena;
    struct err err;
    const char *const *names = NULL;
    size_t count = 0;
    struct op_library library = {find_spec, (void *)folder};
    arena_init(&arena, ARENA_BYTES_MAX);
    assert_ok(file_list(&arena, folder, ".json", 1000, &names, &count, &err));
    assert_true(count >= least);
    for (size_t i = 0; i < count; i++) {
        struct str text;
        assert_ok(
            file_read(&arena, path_join(&arena, folder, names[i]), DOC_BYTES_MAX, &text, &err));
        round_trip(&arena, text, names[i], &library);
    }
    arena_release(&arena);
}

static void specs_round_trip(void **state)
{
    (void)state;
    folder_round_trips("kernels/ops", 36);
    folder_round_trips("tests/cases/ops", 15);
}

/* Body lines are joined by ';'. */
struct text_case {
    const char *name, *in, *want;
};
static const struct text_case texts[] = {
    {"blanks and comments", "  y[ m,n ]=x[m ,n]*2.50 # twice and a half",
     "y[m,n] = x[m,n] * 2.5\n"},
    {"parentheses", "y[m,n] = (x[m,n] + 1) * ((2 - x[m,n]) - (3 - x[m,n]))",
     "y[m,n] = (x[m,n] + 1.0) * (2.0 - x[m,n] - (3.0 - x[m,n]))\n"},
    {"signs", "y[m,n] = -(-x[m,n]) - -1.5e-10", "y[m,n] = --x[m,n] - -1.5e-10\n"},
    {"conditional", "y[m,n] = m < n && !(n == 2 || m >= 1) ? x[m,n] : inf",
     "y[m,n] = where(m < n && !(n == 2 || m >= 1), x[m,n], inf)\n"},
    {"index arithmetic", "y[m,n] = x[(m * N + n) / N, (m * N + n) % N]",
     "y[m,n] = x[(m * N + n) / N,(m * N + n) % N]\n"},
    {"bits", "y[m,n] = x[m,n] + f32((m ^ 3 & n | 1 << n) >> ~-1)",
     "y[m,n] = x[m,n] + f32((m ^ 3 & n | 1 << n) >> ~-1)\n"},
    {"literals divide as floats", "y[m,n] = x[m,n] * (1 / 3)", "y[m,n] = x[m,n] * (1.0 / 3.0)\n"},
    {"pad of zero is left out", "y[m,n] = pad(x[m - 1,n], 0) + pad(x[m,n + 1], -1)",
     "y[m,n] = pad(x[m - 1,n]) + pad(x[m,n + 1], -1.0)\n"},
    {"extents that follow are left out", "t[m:M] = max(n:N) x[m,n];y[m:M,n:N] = x[m,n] - t[m]",
     "t[m] = max(n) x[m,n]\ny[m,n] = x[m,n] - t[m]\n"},
    {"extents that do not", "t[i:2 * M] = 1.0;s[m:M] = sum(j:M) t[m + j];y[m,n] = s[m] + x[m,n]",
     "t[i:2 * M] = 1.0\ns[m:M] = sum(j:M) t[m + j]\ny[m,n] = s[m] + x[m,n]\n"},
    {"a slice", "t[i:N - 1] = x[0,i];y[m,n] = pad(t[n])",
     "t[i:N - 1] = x[0,i]\ny[m,n] = pad(t[n])\n"},
    {"scans", "y[m,n] = sum(j <= n) x[m,j]", "y[m,n] = sum(j <= n) x[m,j]\n"},
    {"a scan without a source", "y[m,n] = prod(j > n) x[m,0]", "y[m,n] = prod(j > n) x[m,0]\n"},
    {"max as a function and as a reduction",
     "t[m] = max(n) -x[m,n];u[m:M,n:N] = max(m, n) - N;y[m,n] = max(t[m], 0) + u[m,n]",
     "t[m] = max(n) -x[m,n]\nu[m:M,n:N] = max(m, n) - N\ny[m,n] = max(t[m], 0.0) + u[m,n]\n"},
    {"order is normalised", "y[m,n] = b[m,n];b[m,n] = a[m,n];a[m,n] = x[m,n]",
     "a[m,n] = x[m,n]\nb[m,n] = a[m,n]\ny[m,n] = b[m,n]\n"},
    {"bools", "t[m] = any(n) x[m,n] > 0 || false;y[m,n] = t[m] == true ? 1 : 0",
     "t[m] = any(n) x[m,n] > 0.0 || false\ny[m,n] = where(t[m] == true, 1.0, 0.0)\n"},
    {"a block", "seq t: M {;a[t,n] = pad(y[t - 1,n], x[0,n]);y[t,n] = a[t,n] + x[t,n] }",
     "seq t: M {\n  a[t,n] = pad(y[t - 1,n], x[0,n])\n  y[t,n] = a[t,n] + x[t,n]\n}\n"},
    {"order inside a block", "seq t: M {;y[t,n] = a[t,n];a[t,n] = x[t,n];}",
     "seq t: M {\n  a[t,n] = x[t,n]\n  y[t,n] = a[t,n]\n}\n"},
    {"a block with a scan over its steps",
     "seq t: M {;a[t,n] = sum(j < t) y[j,n];y[t,n] = a[t,n] + x[t,n];}",
     "seq t: M {\n  a[t,n] = sum(j < t) y[j,n]\n  y[t,n] = a[t,n] + x[t,n]\n}\n"},
    {"tensors named like keywords", "use[m,n] = x[m,n];seq[m,n] = use[m,n];y[m,n] = seq[m,n]",
     "use[m,n] = x[m,n]\nseq[m,n] = use[m,n]\ny[m,n] = seq[m,n]\n"},
    {"casts", "y[m,n] = f32(bf16(x[m,n])) + tf32(x[m,n])",
     "y[m,n] = f32(bf16(x[m,n])) + tf32(x[m,n])\n"},
    {"shortest digits", "y[m,n] = x[m,n] * 0.1 + 1e22 + 123456789.0",
     "y[m,n] = x[m,n] * 0.1 + 1e+22 + 123456789.0\n"},
};

/* A spec over x[M,N] -> y[M,N] whose body has the lines of `lines`, separated by ';'. */
static struct str spec_of(struct arena *arena, const char *lines)
{
    struct buf buf;
    buf_init(&buf, arena, DOC_BYTES_MAX);
    buf_text(&buf,
             "{\"spec\":1,\"name\":\"t\",\"dims\":{\"M\":[1,64],\"N\":[1,64]},\"tensors\":["
             "{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"M\",\"N\"]},"
             "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[\"M\",\"N\"]}],"
             "\"tracks\":{\"f32\":{}},\"shapes\":{\"target\":[{\"M\":4,\"N\":6}]},"
             "\"body\":[\"");
    for (const char *c = lines; *c; c++) {
        if (*c == ';')
            buf_text(&buf, "\",\"");
        else
            buf_char(&buf, *c);
    }
    buf_text(&buf, "\"]}");
    return buf_view(&buf);
}

static void texts_print(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct arena arena;
        struct err err;
        const struct op *op = NULL;
        arena_init(&arena, ARENA_BYTES_MAX);
        struct str text = spec_of(&arena, texts[i].in);
        if (!op_parse(&arena, text, "t.json", NULL, &op, &err))
            fail_msg("%s: %s", texts[i].name, err.text);
        if (strcmp(body(&arena, op), texts[i].want) != 0)
            fail_msg("%s:\ngot  %s\nwant %s", texts[i].name, body(&arena, op), texts[i].want);
        round_trip(&arena, text, "t.json", NULL);
        arena_release(&arena);
    }
}

/* Another spec's statements in place of the line, its dims found from shapes. */
static void use_expands(void **state)
{
    struct arena arena;
    struct err err;
    const struct op *op = NULL;
    static char folder[] = "kernels/ops";
    struct op_library library = {find_spec, folder};
    (void)state;
    arena_init(&arena, ARENA_BYTES_MAX);
    struct str text = spec_of(&arena, "t[n,m] = x[m,n];use rowsum(x = t, y = s);"
                                      "use softmax(x = x, y = p);y[m,n] = p[m,n] * s[n]");
    assert_ok(op_parse(&arena, text, "t.json", &library, &op, &err));
    assert_string_equal(body(&arena, op), "t[n,m] = x[m,n]\n"
                                          "s[m] = sum(n) t[m,n]\n"
                                          "softmax2_mx[m] = max(n) x[m,n]\n"
                                          "softmax2_e[m,n] = exp(x[m,n] - softmax2_mx[m])\n"
                                          "softmax2_s[m] = sum(n) softmax2_e[m,n]\n"
                                          "p[m,n] = softmax2_e[m,n] / softmax2_s[m]\n"
                                          "y[m,n] = p[m,n] * s[n]\n");
    size_t s = op_tensor_find(op, STR_LIT("s"));
    assert_true(s != OP_NONE);
    assert_true(str_equal(op->tensors[s].shape[0]->name, STR_LIT("N")));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs_round_trip),
        cmocka_unit_test(texts_print),
        cmocka_unit_test(use_expands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
