/* The constants that a candidate's PTX holds. */
#include "base/attr.h"

#include "tests/unit/unit.h"
#include "verify/check/check_int.h"

struct literals_case {
    const char *name, *ptx;
    size_t count;
    float values[4];
};

static const struct literals_case cases[] = {
    {"nothing", "", 0, {0}},
    {"an immediate", "add.f32 %f1, %f2, 0f3FC00000;", 1, {1.5F}},
    {"a double", "add.f64 %fd1, %fd2, 0d4004000000000000;", 1, {2.5F}},
    {"an integer that is a float's bits", "setp.ne.s32 %p1, %r1, 1063368131;", 1, {0x1.c36b86p-1F}},
    {"hexadecimal", "setp.ne.s32 %p1, %r1, 0x3f61b5c3;", 1, {0x1.c36b86p-1F}},
    {"small integers are counts", "add.s32 %r1, %r2, 256;", 0, {0}},
    {"a byte array", ".const .align 4 .b8 t[8] = {0, 0, 192, 63, 0, 0, 32, 64};", 2, {1.5F, 2.5F}},
    {"a word", ".const .align 4 .u32 key = 1063368131;", 1, {0x1.c36b86p-1F}},
    {"not finite", "mov.f32 %f1, 0fFF800000;\nmov.f32 %f2, 0f7FFFFFFF;", 0, {0}},
    {"once each", "add.f32 %f1, %f2, 0f3FC00000;\nadd.f32 %f1, %f1, 0f3FC00000;", 1, {1.5F}},
    {"line information", ".loc 1 1063368131 3\n.file 1 \"1063368131\"\n", 0, {0}},
    {"debug sections", ".section .debug_str\n{\n.b8 0, 0, 192, 63\n}", 0, {0}},
    {"names", "ld.param.u64 %rd1063368131, [cand_param_1063368131];", 0, {0}},
};

static void found_in(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct literals found;

        literals_of(str_from(cases[i].ptx), &found);
        if (found.count != cases[i].count)
            fail_msg("%s: %zu found", cases[i].name, found.count);
        for (size_t v = 0; v < found.count; v++)
            assert_true(found.values[v] == cases[i].values[v]);
    }
}

/* Integers that others are compared with, beyond the sizes that every kernel has. */
static void limits_in(void **state)
{
    static const char ptx[] = "setp.gt.s64 %p1, %rd1, 100000;\n"
                              "@%p2 setp.lt.u32 %p1, %r1, 1001;\n"
                              "setp.gt.s32 %p1, %r1, %r2;\n"
                              "setp.gt.s32 %p1, %r1, 31;\n"
                              "setp.gt.s32 %p1, %r1, -5;\n"
                              "setp.gt.f32 %p1, %f1, 0f3F800000;\n"
                              "setp.eq.s64 %p1, %rd1, 100000;\n"
                              "add.s32 %r1, %r2, 70000;\n";
    struct literals found;

    (void)state;
    literals_of(str_from(ptx), &found);
    assert_int_equal(found.limit_count, 2);
    assert_int_equal(found.limits[0], 100000);
    assert_int_equal(found.limits[1], 1001);
}

/* However long the text, the list stays within its limit. */
static void many(void **state)
{
    struct literals found;
    struct arena arena;
    struct buf text;

    (void)state;
    arena_init(&arena, 1 << 20);
    buf_init(&text, &arena, 1 << 18);
    for (unsigned i = 0; i < 1000; i++)
        buf_printf(&text, "add.f32 %%f1, %%f2, 0f%08X;\n", 0x3f800000U + i);
    literals_of(buf_view(&text), &found);
    assert_int_equal(found.count, LITERALS_MAX);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(found_in), cmocka_unit_test(limits_in),
                                       cmocka_unit_test(many)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
