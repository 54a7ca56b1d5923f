/* Logs as NVRTC 13.0 writes them: cleaned of the machine, and read into diagnostics. */
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"

#include "tests/unit/unit.h"
#include "verify/device/device_int.h"

enum { ARENA_BYTES = 16 << 20 };

static const struct {
    const char *name, *raw, *clean;
} cleanings[] = {
    {"times", "ptxas info    : Used 8 registers\nptxas info    : Compile time = 3.872 ms\n",
     "ptxas info    : Used 8 registers\n"},
    {"precompiled headers",
     "\"kernel.cu\": using precompiled header file \"/proc/self/fd/110\"\nptxas info    : x\n",
     "ptxas info    : x\n"},
    {"folders", "/proc/self/fd/102/cuda/std/x(5): error: a\n  /proc/self/fd/101/mma.h\n",
     "cuda/cuda/std/x(5): error: a\n  cuda/mma.h\n"},
    {"warnings of headers",
     "/proc/self/fd/102/a(39): warning #47-D: b\n  #define\n   ^\n\n"
     "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n"
     "kernel.cu(3): warning #177-D: c\n  int c;\n      ^\n\n",
     "kernel.cu(3): warning #177-D: c\n  int c;\n      ^\n\n"},
    {"errors of headers stay", "ww_headers.h(1): catastrophic error: cannot open\n",
     "ww_headers.h(1): catastrophic error: cannot open\n"},
    {"empty", "", ""},
    {"no newline at the end", "ptxas fatal   : x", "ptxas fatal   : x\n"},
};

static void cleans_each_log(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(cleanings); i++) {
        struct arena arena;
        struct str clean;
        struct str again;
        struct err err;
        arena_init(&arena, ARENA_BYTES);
        assert_ok(compile_log_clean(&arena, str_from(cleanings[i].raw), &clean, &err));
        if (!str_equal(clean, str_from(cleanings[i].clean)))
            fail_msg("%s: '%.*s'", cleanings[i].name, STR_ARG(clean));
        assert_ok(compile_log_clean(&arena, clean, &again, &err));
        if (!str_equal(clean, again))
            fail_msg("%s: not clean at once", cleanings[i].name);
        arena_release(&arena);
    }
}

static const struct {
    const char *name, *log;
    size_t count; /* of diagnostics; the first of them: */
    struct compile_diagnostic first;
} readings[] = {
    {"undefined",
     "kernel.cu(7): error: identifier \"y\" is undefined\n"
     "      x[0] = y;\n"
     "             ^\n\n1 error detected in the compilation of \"kernel.cu\".\n",
     1,
     {7, 12, true, "error: identifier \"y\" is undefined", "    x[0] = y;"}},
    {"more text before the source",
     "kernel.cu(1): error: no instance of overloaded function \"g\" matches the argument list\n"
     "            argument types are: (const char [2])\n"
     "  g(\"a\");\n"
     "  ^\n",
     1,
     {1, 1, true,
      "error: no instance of overloaded function \"g\" matches the argument list; "
      "argument types are: (const char [2])",
      "g(\"a\");"}},
    {"two headings without a gap",
     "kernel.cu(1): error: a\n  b\n  ^\nkernel.cu(2): note #3322-D: c\n  d\n  ^\n",
     2,
     {1, 1, true, "error: a", "b"}},
    {"warning",
     "kernel.cu(3): warning #177-D: variable \"q\" was declared but never referenced\n"
     "  int q;\n      ^\n\n",
     1,
     {3, 5, false, "warning #177-D: variable \"q\" was declared but never referenced", "int q;"}},
    {"in a header, for a line of ours",
     "cuda/cub/x.cuh(88): error: bad\n  T t;\n    ^\n"
     "          detected during instantiation of \"f\" at line 12 of kernel.cu\n\n",
     1,
     {12, 0, true, "cuda/cub/x.cuh(88): error: bad", NULL}},
    {"ptxas, a line of PTX",
     "ptxas application ptx input, line 129; error   : Unknown modifier '.bar'\n",
     1,
     {0, 0, true, "ptxas application ptx input, line 129; error   : Unknown modifier '.bar'",
      NULL}},
    {"ptxas fatal",
     "ptxas fatal   : Unresolved extern function '_Z6undefdf'\n",
     1,
     {0, 0, true, "ptxas fatal   : Unresolved extern function '_Z6undefdf'", NULL}},
    {"end of source",
     "At end of source: error: expected a \"}\"\n",
     1,
     {0, 0, true, "At end of source: error: expected a \"}\"", NULL}},
    {"option",
     "nvrtc: error: invalid value for --gpu-architecture (-arch)\n",
     1,
     {0, 0, true, "nvrtc: error: invalid value for --gpu-architecture (-arch)", NULL}},
    {"nothing",
     "ptxas info    : 0 bytes gmem\nptxas info    : Used 8 registers\n",
     0,
     {0, 0, false, NULL, NULL}},
    {"text like a heading, in a source line",
     "kernel.cu(1): error: a\n  f(1): error: b\n  ^\n",
     1,
     {1, 1, true, "error: a", "f(1): error: b"}},
    {"a line number that is none", "kernel.cu(12x): error: a\n", 0, {0, 0, false, NULL, NULL}},
    {"a huge line number", "kernel.cu(99999999999999): error: a\n", 0, {0, 0, false, NULL, NULL}},
};

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void reads_each_log(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(readings); i++) {
        struct arena arena;
        struct compile_result result = {0};
        const struct compile_diagnostic *want = &readings[i].first;
        arena_init(&arena, ARENA_BYTES);
        compile_log_parse(&arena, str_from(readings[i].log), &result);
        if (result.diagnostic_count != readings[i].count)
            fail_msg("%s: %zu diagnostics", readings[i].name, result.diagnostic_count);
        const struct compile_diagnostic *got = result.diagnostics;
        if (readings[i].count && (got->line != want->line || got->column != want->column ||
                                  got->is_error != want->is_error || !same(got->text, want->text) ||
                                  !same(got->source_line, want->source_line)))
            fail_msg("%s: %d:%d %d '%s' '%s'", readings[i].name, got->line, got->column,
                     got->is_error, got->text, got->source_line ? got->source_line : "(null)");
        arena_release(&arena);
    }
}

static void limits_diagnostics(void **state UNUSED)
{
    struct arena arena;
    struct buf log;
    struct compile_result result = {0};
    arena_init(&arena, ARENA_BYTES);
    buf_init(&log, &arena, 1 << 20);
    for (int i = 0; i < 1000; i++)
        buf_printf(&log, "kernel.cu(%d): error: %0600d\n", i + 1, i);
    compile_log_parse(&arena, buf_view(&log), &result);
    assert_int_equal(result.diagnostic_count, 64);
    assert_int_equal(result.diagnostics[63].line, 64);
    arena_release(&arena);
}

static void cleans_file_lines_of_ptx(void **state UNUSED)
{
    static const char ptx[] = "mov.u32 %r1, 5; // \"/kernel.cu\"\n"
                              "\t.file\t1 \"/kernel.cu\"\n"
                              "\t.file\t2 \"/proc/self/fd/101/cuda_fp16.hpp\"\n";
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct str clean = compile_ptx_clean(&arena, str_from(ptx));
    assert_true(str_equal(clean, str_from("mov.u32 %r1, 5; // \"/kernel.cu\"\n"
                                          "\t.file\t1 \"kernel.cu\"\n"
                                          "\t.file\t2 \"cuda/cuda_fp16.hpp\"\n")));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cleans_each_log),
        cmocka_unit_test(reads_each_log),
        cmocka_unit_test(limits_diagnostics),
        cmocka_unit_test(cleans_file_lines_of_ptx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
