/* Sources that must pass, and sources that must not: each with the place and words expected. */
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"

#include "tests/unit/unit.h"
#include "verify/device/device_int.h"

#define K "extern \"C\" __global__ void k(float *x) { x[0] = 1.0f; }\n"

static const struct {
    const char *name, *source;
} honest[] = {
    {"plain", K},
    {"empty", ""},
    {"standard headers", "#include <stdint.h>\n#include <cmath>\n#include <cstdio>\n" K},
    {"toolkit headers", "#include <cuda_fp16.h>\n#include \"mma.h\"\n#include <cuda/barrier>\n" K},
    {"cub and groups",
     "#include <cub/block/block_reduce.cuh>\n#include <cooperative_groups/reduce.h>\n" K},
    {"spaces", "  #  include   <cuda_fp16.h>  // half\n" K},
    {"comment between", "#include /* the */ <cuda_fp16.h>\n" K},
    {"host header in a comment", "/*\n#include <torch/extension.h>\n*/\n" K},
    {"host header in a line comment", "// #include <torch/extension.h>\n" K},
    {"comment in a string", "__device__ const char *s = \"/*\";\n" K "// */\n"},
    {"apostrophe in a skipped region", "#if 0\nthis isn't code\n#endif\n" K},
    {"digit separators", "__device__ int n = 1'000'000; __device__ int m = 0x7f'ff;\n" K},
    {"crlf", "#include <cuda_fp16.h>\r\n" K},
    {"spliced macro", "#define A(x) \\\n  (x)\n" K},
    {"raw string", "__device__ const char *s = R\"(a \"quoted\" // thing)\";\n" K},
    {"raw asm over lines",
     "__device__ void f() { asm volatile(R\"(\n{ mov.u32 %%r, 1; }\n)\"); }\n" K},
    {"inline ptx",
     "__device__ void f() { asm volatile(\"{\\n.reg .pred p;\\nbar.sync 0;\\n}\"); }\n" K},
    {"shift and less", "__device__ int f(int a) { return a << 2 < 3; }\n" K},
    {"unused host macro", "#define CHECK(e) if (e) cudaGetLastError()\n" K},
    {"host code set aside", "#ifndef __CUDACC_RTC__\nint main() { k<<<1, 1>>>(0); }\n#endif\n" K},
    {"error text", "#if 0\n#error don't call cudaMalloc(x)\n#endif\n" K},
    {"pragmas", "#pragma once\n#pragma nv_diag_suppress 177\n" K},
    {"has_include of an allowed header",
     "#if __has_include(<cuda_fp16.h>)\n#include <cuda_fp16.h>\n#endif\n" K},
    {"has_include defined", "#if defined(__has_include)\n#endif\n#ifdef __has_include\n#endif\n" K},
    {"words like host words", "struct at { int torch; }; __device__ int cudaMalloc_count;\n" K},
    {"null directive", "#\n" K},
    {"utf-8", "// größer als µ\n" K},
    {"file in a message", "__device__ void f() { printf(\"see a.file or x.include\"); }\n" K},
    {"no newline at the end", "#include <cuda_fp16.h>"},
};

static const struct {
    const char *name, *source;
    int line;          /* 0 = not checked */
    const char *words; /* in the complaint */
} hostile[] = {
    {"absolute", "#include \"/etc/passwd\"\n" K, 1, "/etc/passwd"},
    {"absolute, angled", K "#include </etc/passwd>\n", 2, "/etc/passwd"},
    {"climbing", "#include \"cuda/../../../etc/passwd\"\n", 1, ".."},
    {"climbing in an allowed folder", "#include <cub/block/../../x.cuh>\n", 1, ".."},
    {"relative", "#include \"other.h\"\n", 1, "other.h"},
    {"itself", "#include \"kernel.cu\"\n", 1, "kernel.cu"},
    {"double slash", "#include <cuda//std/array>\n", 1, "cuda//std"},
    {"spliced directive", "#incl\\\nude \"/etc/passwd\"\n", 2, "/etc/passwd"},
    {"spliced hash", "#\\\ninclude \"/etc/passwd\"\n", 2, "/etc/passwd"},
    {"spliced name", "#include \"/etc/pas\\\nswd\"\n", 1, "/etc/passwd"},
    {"spliced crlf", "#incl\\\r\nude \"/etc/passwd\"\r\n", 2, "/etc/passwd"},
    {"digraph", "%:include \"/etc/passwd\"\n", 1, "/etc/passwd"},
    {"trigraph", "?\?=include \"/etc/passwd\"\n", 1, "trigraph"},
    {"trigraph splice", "// a ?\?/\n#include \"/etc/passwd\"\n", 1, "trigraph"},
    {"after a comment", "/* x */ #include \"/etc/passwd\"\n", 1, "/etc/passwd"},
    {"after a comment over lines", "int a; /*\n*/ #include \"/etc/passwd\"\n", 2, "/etc/passwd"},
    {"in a macro call", "#define F(x)\nF(\n#include \"/etc/passwd\"\n)\n", 3, "/etc/passwd"},
    {"in a skipped region", "#if 0\n#include \"/etc/passwd\"\n#endif\n", 2, "/etc/passwd"},
    {"macro header", "#define H \"/etc/passwd\"\n#include H\n", 2, "not written out"},
    {"unclosed", "#include <cuda_fp16.h\n" K, 1, "does not end"},
    {"include_next", "#include_next <cuda_fp16.h>\n", 1, "unusual"},
    {"import", "#import \"/etc/passwd\"\n", 1, "unusual"},
    {"embed", "const char a[] = {\n#embed \"/etc/passwd\"\n};\n", 2, "unusual"},
    {"has_include", "#if __has_include(\"/etc/passwd\")\n#endif\n", 1, "/etc/passwd"},
    {"has_include, a macro's", "#define P(x) __has_include(x)\n", 1, "not written out"},
    {"has_include alone", "#define P __has_include\n", 1, "written out"},
    {"has_include_next", "#if __has_include_next(<x.h>)\n#endif\n", 1, "__has_include_next"},
    {"has_embed", "#if __has_embed(\"/etc/passwd\")\n#endif\n", 1, "__has_embed"},
    {"include_alias", "#pragma include_alias(\"a.h\", \"/etc/passwd\")\n", 1, "include_alias"},
    {"hdrstop", "#pragma nv_hdrstop\n", 1, "hdrstop"},
    {"line", "#line 7 \"/etc/passwd\"\n" K, 1, "#line"},
    {"line marker", "# 7 \"/etc/passwd\"\n" K, 1, "line marker"},
    {"unknown directive", "#ident \"x\"\n", 1, "unknown directive"},
    {"raw string hides a directive", "auto s = R\"(\n#include \"/etc/passwd\"\n)\";\n", 1, "raw"},
    {"raw string hides a digraph", "auto s = R\"(\n  %:include \"/etc/passwd\"\n)\";\n", 1, "raw"},
    {"raw string with a splice", "auto s = R\"(\\\n)\";\n", 1, "raw"},
    {"raw string without end", "auto s = R\"x(\n#include \"/etc/passwd\"\n", 1, "raw"},
    {"literal glued to a raw prefix", "auto s = \"a\"R\"(\")\" /* \"\n*/;\n", 1, "space"},
    {"open quote before a comment", "#if 0\n'/*\n#include \"/etc/passwd\"\n#endif\n", 3,
     "/etc/passwd"},
    {"escaped quote", "auto s = \"\\\"/*\";\n#include \"/etc/passwd\"\n", 2, "/etc/passwd"},
    {"carriage return", "int a;\r#include \"/etc/passwd\"\n", 1, "carriage return"},
    {"form feed", "#include\f\"/etc/passwd\"\n", 1, "control character"},
    {"escape character", "// \033[31m\n" K, 1, "control character"},
    {"not utf-8", "// \xff\xfe\n" K, 1, "UTF-8"},
    {"overlong utf-8", "// \xc0\xaf\n" K, 1, "UTF-8"},
    {"ptx include", "__device__ void f() { asm(\".include \\\"/etc/passwd\\\"\"); }\n", 1,
     ".include"},
    {"ptx places", "__device__ void f() { asm(\"\\n.loc 1 1 0\"); }\n", 1, ".loc"},
    {"ptx file", "__device__ void f() { asm(\"ret;\\n\\t.file 1 \\\"a\\\"\"); }\n", 1, ".file"},
    {"torch", "#include <torch/extension.h>\n" K, 1, "device code only"},
    {"cub device", "#include <cub/device/device_reduce.cuh>\n" K, 1, "cub/block"},
    {"vector", "#include <vector>\n" K, 1, "shared memory"},
    {"launch", K "void f() { k<<<1, 32>>>(0); }\n", 2, "manifest"},
    {"main", K "int main() { return 0; }\n", 2, "main"},
    {"allocation", K "void f() { float *p; cudaMalloc(&p, 4); }\n", 2, "arguments"},
    {"torch tensor", K "torch::Tensor f(torch::Tensor x) { return x; }\n", 2, "torch::"},
    {"binding", K "PYBIND11_MODULE(a, m) {}\n", 2, "PYBIND11_MODULE"},
    {"std::vector", K "void f(std::vector<int> v) {}\n", 2, "std::vector"},
    {"device lambda", "__device__ void f() { auto g = [=] __device__ (float v) { return v; }; }\n",
     1, "drop it"},
};

static void passes_honest_sources(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(honest); i++) {
        struct err err = {0};
        if (!device_screen_source(str_from(honest[i].source), &err))
            fail_msg("%s: %s", honest[i].name, err.text);
    }
}

static void refuses_hostile_sources(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(hostile); i++) {
        struct err err = {0};
        int line = 0;
        if (device_screen_source(str_from(hostile[i].source), &err))
            fail_msg("%s: passed", hostile[i].name);
        if (!strstr(err.text, hostile[i].words))
            fail_msg("%s: says '%s'", hostile[i].name, err.text);
        if (hostile[i].line &&
            (sscanf(err.text, "kernel.cu:%d:", &line) != 1 || line != hostile[i].line))
            fail_msg("%s: not at line %d: %s", hostile[i].name, hostile[i].line, err.text);
        if (!strchr(err.text, '^'))
            fail_msg("%s: no caret: %s", hostile[i].name, err.text);
    }
}

static void shows_line_caret_and_remedy(void **state UNUSED)
{
    struct err err;
    assert_false(device_screen_source(str_from("int a;\n\t#include <vector>\n"), &err));
    assert_string_equal(err.text, "kernel.cu:2:11: the header \"vector\" may not be included\n"
                                  "   #include <vector>\n"
                                  "            ^\n"
                                  "  remedy: host container: use arrays or shared memory");
}

static void is_stricter_without_a_sandbox(void **state UNUSED)
{
    static const char *const sources[] = {
        "#if __has_include(<cuda_fp16.h>)\n#endif\n",
        "#inc\\\nlude <cuda_fp16.h>\n",
        "%:include <cuda_fp16.h>\n",
        "#define CAT(a) a##include\n",
    };
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        struct screen_report report;
        struct err err;
        struct screen_options strict = {.strict = true};
        assert_ok(device_screen_source(str_from(sources[i]), &err));
        assert_false(screen_source(str_from(sources[i]), &strict, &report, &err));
    }
}

static const struct {
    const char *name, *source, *hoisted;
} hoists[] = {
    {"sorted, once", "#include <mma.h>\n#include <cuda_fp16.h>\n#include <mma.h>\n",
     "cuda_fp16.h mma.h "},
    {"not standard ones", "#include <stdint.h>\n#include <cuda_fp16.h>\n", "cuda_fp16.h "},
    {"not after a macro", "#define X\n#include <cuda_fp16.h>\n", ""},
    {"not in a conditional", "#include <mma.h>\n#ifdef A\n#include <cuda_fp16.h>\n#endif\n",
     "mma.h "},
    {"not cuda.h, which needs the prelude", "#include <cuda.h>\n", ""},
    {"not a spliced name", "#include <cuda_\\\nfp16.h>\n#include <mma.h>\n", "mma.h "},
};

static void hoists_leading_headers(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(hoists); i++) {
        struct screen_report report;
        struct screen_options options = {0};
        struct err err;
        struct arena arena;
        struct buf names;
        arena_init(&arena, 1 << 20);
        buf_init(&names, &arena, 1024);
        assert_ok(screen_source(str_from(hoists[i].source), &options, &report, &err));
        for (size_t h = 0; h < report.hoisted_count; h++)
            buf_printf(&names, "%.*s ", STR_ARG(report.hoisted[h]));
        if (!str_equal(buf_view(&names), str_from(hoists[i].hoisted)))
            fail_msg("%s: '%.*s'", hoists[i].name, STR_ARG(buf_view(&names)));
        arena_release(&arena);
    }
}

static void limits_the_source(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    arena_init(&arena, 16 << 20);
    size_t len = COMPILE_SOURCE_BYTES_MAX + 1;
    char *text = arena_array(&arena, char, len);
    memset(text, ' ', len);
    assert_false(device_screen_source((struct str){text, len}, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_ok(device_screen_source((struct str){text, len - 1}, &err));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_honest_sources),
        cmocka_unit_test(refuses_hostile_sources),
        cmocka_unit_test(shows_line_caret_and_remedy),
        cmocka_unit_test(is_stricter_without_a_sandbox),
        cmocka_unit_test(hoists_leading_headers),
        cmocka_unit_test(limits_the_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
