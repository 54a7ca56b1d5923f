/*
 * Expressions, names and storage of candidates: a line of a body against the line of CUDA that it
 * must become.
 */
#include "synth/candidate_int.h"
#include "tests/unit/synth/specs.h"

/* A spec around one statement, which may read x, z f32; h f16; a, b i32; l i64; t bool over n. */
static const struct op *one_statement(struct arena *arena, const char *output, const char *body)
{
    static const char *const inputs[][2] = {{"x", "f32"}, {"z", "f32"}, {"h", "f16"}, {"a", "i32"},
                                            {"b", "i32"}, {"l", "i64"}, {"t", "bool"}};
    struct buf text;
    buf_init(&text, arena, 1 << 16);
    buf_text(&text, "{\"spec\": 1, \"name\": \"one\", \"doc\": \"\", \"dims\": {\"N\": [1, 65536], "
                    "\"H\": 12}, \"tensors\": [");
    for (size_t i = 0; i < COUNT_OF(inputs); i++) {
        bool mask = strcmp(inputs[i][1], "bool") == 0;
        bool ints = inputs[i][1][0] == 'i';
        char read[8];
        snprintf(read, sizeof(read), "%s[", inputs[i][0]);
        if (strstr(body, read) == NULL)
            continue;
        buf_printf(&text,
                   "{\"name\": \"%s\", \"role\": \"input\", \"dtype\": \"%s\", \"shape\": [\"N\"], "
                   "\"fill\": %s},",
                   inputs[i][0], inputs[i][1],
                   mask   ? "\"mask\""
                   : ints ? "{\"kind\": \"ints\", \"low\": 0, \"high\": \"N - 1\"}"
                          : "\"normal\"");
    }
    buf_printf(&text,
               "{\"name\": \"y\", \"role\": \"output\", \"dtype\": \"%s\", \"shape\": [\"N\"]}], "
               "\"body\": [\"%s\"], \"tracks\": {\"f32\": {}}, \"shapes\": {\"target\": [{\"N\": "
               "1024}]}}",
               output, body);
    return spec_parse(arena, buf_view(&text), "one.json");
}

struct line_case {
    const char *output, *body, *line;
};
static const struct line_case lines[] = {
    {"f32", "y[n] = x[n] * (z[n] + 1)", "y[n] = x[n] * (z[n] + 1.0f);"},
    {"f32", "y[n] = x[n] - (z[n] - x[n])", "y[n] = x[n] - (z[n] - x[n]);"},
    {"f32", "y[n] = -(x[n] + z[n]) / 3", "y[n] = -(x[n] + z[n]) / 3.0f;"},
    {"f32", "y[n] = max(x[n], 0)", "y[n] = nan_max<float>(x[n], 0.0f);"},
    {"f32", "y[n] = x[n] > 0 ? exp(x[n]) : 1e-5 * z[n]",
     "y[n] = x[n] > 0.0f ? expf(x[n]) : 1e-05f * z[n];"},
    {"f16", "y[n] = f16(x[n])", "__float2half_rn("},
    {"f32", "y[n] = f32(h[n])", "y[n] = __half2float(h[n]);"},
    {"f32", "y[n] = tf32(x[n])", "y[n] = round_tf32(x[n]);"},
    {"i32", "y[n] = a[n] / b[n]", "floor_div((i64)a[n], (i64)b[n])"},
    {"i32", "y[n] = a[n] % 7", "floor_mod((i64)a[n], 7)"},
    {"i32", "y[n] = a[n] << b[n]", "shift_left((i64)a[n], (i64)b[n], 32)"},
    {"i64", "y[n] = l[n] * l[n]", "y[n] = (i64)((u64)l[n] * (u64)l[n]);"},
    {"i64", "y[n] = 2 * n + n / 3", "y[n] = 2 * n + n / 3;"},
    {"i64", "y[n] = (n - 5) / 2", "y[n] = floor_div(n - 5, 2);"},
    {"i32", "y[n] = i32(x[n])", "real_to_int(x[n], -2147483648LL, 2147483647LL)"},
    {"bool", "y[n] = !t[n] && x[n] < z[n]", "y[n] = !(t[n] != 0) && x[n] < z[n];"},
    {"f32", "y[n] = pad(x[n + 1], 2)", "y[n] = n + 1 < N ? x[n + 1] : 2.0f;"},
    {"f32", "y[n] = pad(x[n - 1])", "y[n] = n - 1 >= 0 && n - 1 < N ? x[n - 1] : 0.0f;"},
    {"f32", "y[n] = x[a[n]]", "(i64)a[n] >= 0 && (i64)a[n] < N ? x[(i64)a[n]] : 0.0f;"},
    {"f32", "y[n] = x[n] * rsqrt(f32(H))", "x[n] * rsqrtf((float)H)"},
    {"f32", "y[n] = sum(k: H) pad(x[n + k])", "double acc = 0;"},
    {"f32", "y[n] = sum(j <= n) x[j]", "for (; j < N && j <= n; ++j) {"},
    {"i64", "y[n] = argmax(j <= n) x[j]", "if (at < 0 || better_max<float>(term, best)) {"},
    {"f32", "y[a[n]] += (n) x[n]", "atomicAdd(&acc[(i64)a[n]], (double)x[n]);"},
};

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct arena arena;
        struct emitted emitted;
        struct err err;
        arena_init(&arena, (size_t)1 << 26);
        const struct op *op = one_statement(&arena, lines[i].output, lines[i].body);
        assert_ok(emit_naive(&arena, op, "sm_90a", &emitted, &err));
        assert_ok(manifest_check(emitted.manifest, op, &err));
        assert_has(&arena, emitted.cuda, lines[i].line);
        arena_release(&arena);
    }
}

/* ---- names ---- */

static void test_names(void **state)
{
    static const char *const cases[][2] = {
        {"x", "x"},      {"x", "x_"},    {"float", "float_"}, {"threadIdx", "threadIdx_"},
        {"2d", "v2d"},   {"a.b", "a_b"}, {"_t", "v_t"},       {"acc", "acc_"},
        {"exp", "exp_"}, {"x", "x__"},
    };
    struct arena arena;
    struct names names, inner;
    (void)state;
    arena_init(&arena, 1 << 20);
    const struct op *op = one_statement(&arena, "f32", "y[n] = x[n]");
    struct op bare = *op;
    bare.tensor_count = bare.dim_count = 0;
    names_init(&names, &arena, &bare);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_string_equal(names_take(&names, str_from(cases[i][0])), cases[i][1]);
    names_scope(&inner, &names);
    assert_string_equal(names_take(&inner, STR_LIT("x")), "x___");
    assert_string_equal(names_take(&inner, STR_LIT("fresh_one")), "fresh_one");
    arena_release(&arena);
}

/* ---- storage that may be shared ---- */

struct alias_case {
    const char *body;
    bool safe;
};
static const struct alias_case aliases[] = {
    {"\"y[n] = x[n] * 2\"", true},
    {"\"y[n] = pad(x[n + 1])\"", false},
    {"\"y[n] = x[n] * 2\", \"s[] = sum(n) x[n]\"", false},
    {"\"s[] = sum(n) x[n]\", \"y[n] = x[n] - s[]\"", true},
    {"\"y[n] = sum(j <= n) x[j]\"", false},
};

static void test_aliases(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(aliases); i++) {
        struct arena arena;
        struct buf text;
        arena_init(&arena, 1 << 22);
        buf_init(&text, &arena, 1 << 16);
        bool second = strstr(aliases[i].body, "s[]") != NULL;
        buf_printf(&text,
                   "{\"spec\": 1, \"name\": \"in\", \"doc\": \"\", \"dims\": {\"N\": [1, 99]}, "
                   "\"tensors\": [{\"name\": \"x\", \"role\": \"input\", \"dtype\": \"f32\", "
                   "\"shape\": [\"N\"], \"fill\": \"normal\"}, {\"name\": \"y\", \"role\": "
                   "\"output\", \"dtype\": \"f32\", \"shape\": [\"N\"], \"may_alias\": \"x\"}%s], "
                   "\"body\": [%s], \"tracks\": {\"f32\": {}}, \"shapes\": {\"target\": [{\"N\": "
                   "9}]}}",
                   second ? ", {\"name\": \"s\", \"role\": \"output\", \"dtype\": \"f32\", "
                            "\"shape\": []}"
                          : "",
                   aliases[i].body);
        const struct op *op = spec_parse(&arena, buf_view(&text), "in.json");
        if (alias_is_safe(op, op_tensor_find(op, STR_LIT("y"))) != aliases[i].safe)
            fail_msg("%s: safe is not %d", aliases[i].body, aliases[i].safe);
        arena_release(&arena);
    }
}

/* ---- formulas ---- */

static void test_formulas(void **state)
{
    struct arena arena;
    struct buf out;
    (void)state;
    arena_init(&arena, 1 << 20);
    const struct op *op = one_statement(&arena, "f32", "y[n] = x[n]");
    const struct formula *n = formula_name(&arena, STR_LIT("N"));
    const struct formula *small = formula_binary(&arena, FORMULA_LE, n, formula_int(&arena, 8));
    buf_init(&out, &arena, 4096);
    formula_print(&out, formula_blocks(&arena, op, n, 256, 1024));
    buf_char(&out, '|');
    formula_print(&out, formula_blocks(&arena, op, formula_int(&arena, 9), 256, 1024));
    buf_char(&out, '|');
    formula_print(&out, formula_mul(&arena, formula_int(&arena, 1), n));
    buf_char(&out, '|');
    formula_print(&out, formula_and(&arena, small, small));
    buf_char(&out, '|');
    formula_print(&out, formula_and(&arena, NULL, NULL));
    assert_string_equal(out.at, "min(ceildiv(N, 256), 1024)|1|N|N <= 8|1");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
