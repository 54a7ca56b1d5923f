/*
 * Sources made to hang, exhaust, crash or read the host: each must end as said, within seconds, and
 * the next compile must work.  Limits are short here, the mechanisms are the same.
 *
 * Arenas are static: a failed assertion jumps out of its test, and what it leaves behind must not
 * be reported as a leak on top.
 */
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/clock.h"

#include "tests/unit/unit.h"
#include "verify/device/device.h"

static const size_t arena_bytes = (size_t)1 << 30;
enum { SOURCE_BYTES_MAX = 8 << 20, WALL_MS = 2000, LOAD_FACTOR = 5, GRACE_MS = 60 * 1000 };
static const char good[] = "extern \"C\" __global__ void k(int *x) { x[0] = 1; }\n";

/* `head`, then `part` `count` times, then `tail`. */
struct hostile {
    const char *name;
    const char *head, *part;
    int count;
    const char *tail;
    size_t memory_bytes;
    int wall_ms;              /* 0 = WALL_MS */
    enum compile_end ends[3]; /* any of these; unused ones repeat the first */
    const char *never;        /* must not be in the log; NULL = nothing */
};

#define ONE(end)                                                                                   \
    {                                                                                              \
        end, end, end                                                                              \
    }

static const struct hostile cases[] = {
    {.name = "template bomb",
     .head = "template <int N, int M> struct F { static constexpr int v = F<N - 1, M>::v + "
             "F<N - 1, M + 1>::v; };\ntemplate <int M> struct F<0, M> { enum { v = M }; };\n"
             "extern \"C\" __global__ void k(int *x) { x[0] = F<200, 0>::v; }\n",
     .ends = {COMPILE_DEADLINE, COMPILE_OUTPUT, COMPILE_MEMORY}},
    {.name = "template bomb, little memory",
     .head = "template <int N, class... T> struct F { typedef typename F<N - 1, T..., T..., "
             "int>::t t; };\ntemplate <class... T> struct F<0, T...> { typedef int t; };\n"
             "extern \"C\" __global__ void k(F<40>::t *x) { x[0] = 1; }\n",
     .memory_bytes = 200 << 20,
     .ends = {COMPILE_MEMORY, COMPILE_DEADLINE, COMPILE_MEMORY}},
    {.name = "macro bomb",
     .head = "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(A(x)))))\n"
             "#define C(x) B(B(x))\nextern \"C\" __global__ void k(int *x) { C(x[0]++;) }\n",
     .ends = {COMPILE_DEADLINE, COMPILE_MEMORY, COMPILE_DEADLINE}},
    {.name = "endless recursion of templates",
     .head = "template <int N> struct F { typedef typename F<N + 1>::t t; };\n"
             "extern \"C\" __global__ void k(int *x) { F<0>::t a; }\n",
     .ends = ONE(COMPILE_FAILED)},
    {.name = "class that holds itself",
     .head = "struct A { A a; };\nextern \"C\" __global__ void k(A *x) { }\n",
     .ends = ONE(COMPILE_FAILED)},
    {.name = "constexpr loop",
     .head = "constexpr long f() { long s = 0; for (long i = 0; i < 1600000000; ++i) s += i; "
             "return s; }\nextern \"C\" __global__ void k(long *x) { constexpr long v = f(); "
             "x[0] = v; }\n",
     .ends = {COMPILE_FAILED, COMPILE_DEADLINE, COMPILE_FAILED}},
    {.name = "endless warnings",
     .part =
         "#warning \"0123456789012345678901234567890123456789012345678901234567890123456789\"\n",
     .count = 5000,
     .tail = good,
     .ends = ONE(COMPILE_OUTPUT)},
    {.name = "thousands of errors",
     .head = "extern \"C\" __global__ void k(int *x) {\n",
     .part = "undefined();\n",
     .count = 5000,
     .tail = "}\n",
     .ends = ONE(COMPILE_FAILED)},
    {.name = "a terabyte of variables",
     .head = "__device__ char big[1ull << 40];\n"
             "extern \"C\" __global__ void k(char *x) { x[0] = big[x[1]]; }\n",
     .ends = ONE(COMPILE_OK)},
    {.name = "a quarter gigabyte of initialised variables",
     .head = "__device__ int big[1 << 26] = {1};\n"
             "extern \"C\" __global__ void k(int *x) { x[0] = big[x[1]]++; }\n",
     .memory_bytes = 200 << 20,
     .wall_ms = 60 * 1000,
     .ends = ONE(COMPILE_MEMORY)},
    {.name = "deep parentheses",
     .head = "extern \"C\" __global__ void k(int *x) { x[0] = ",
     .part = "(",
     .count = 300000,
     .ends = {COMPILE_CRASHED, COMPILE_FAILED, COMPILE_DEADLINE}},
    {.name = "one sum of a million terms",
     .head = "extern \"C\" __global__ void k(int *x) { x[0] = 0",
     .part = "+x[1]",
     .count = 700000,
     .tail = "; }\n",
     .ends = {COMPILE_CRASHED, COMPILE_DEADLINE, COMPILE_MEMORY}},
    {.name = "endless unrolling",
     .head = "extern \"C\" __global__ void k(float *x) {\n#pragma unroll\n"
             "for (int i = 0; i < 100000; ++i)\n#pragma unroll\nfor (int j = 0; j < 640; ++j)\n"
             "x[threadIdx.x] += sinf(x[i]) * powf(x[j], x[i + j]); }\n",
     .ends = {COMPILE_DEADLINE, COMPILE_OK, COMPILE_OUTPUT}},
    {.name = "includes itself",
     .head = "#include \"kernel.cu\"\nextern \"C\" __global__ void k(int *x) { }\n",
     .ends = ONE(COMPILE_REJECTED)},
    {.name = "host file",
     .head = "#include \"/etc/passwd\"\n",
     .ends = ONE(COMPILE_REJECTED),
     .never = "root:"},
    {.name = "host file, a digraph and a splice",
     .head = "%:incl\\\nude \"/etc/passwd\"\n",
     .ends = ONE(COMPILE_REJECTED),
     .never = "root:"},
    {.name = "probe by pasting, past the screen",
     .head = "#define CAT(a, b) a##b\n#if CAT(__has_, include)(\"/etc/passwd\")\n"
             "#error root:\n#endif\n",
     .tail = good,
     .ends = {COMPILE_OK, COMPILE_FAILED, COMPILE_OK},
     .never = "root:"},
    {.name = "inline PTX that escapes its function",
     .head =
         "extern \"C\" __global__ void k(int *x) { asm(\"ret; } .global .b32 g; .func f() {\"); "
         "x[0] = 1; }\n",
     .ends = {COMPILE_FAILED, COMPILE_OK, COMPILE_FAILED}},
    {.name = "empty", .head = "", .ends = ONE(COMPILE_OK)},
    {.name = "not text", .head = "\177ELF\001\002", .ends = ONE(COMPILE_REJECTED)},
};

static struct str build(struct arena *arena, const struct hostile *hostile)
{
    struct buf text;
    struct str source;
    struct err err;
    buf_init(&text, arena, SOURCE_BYTES_MAX);
    if (hostile->head)
        buf_text(&text, hostile->head);
    for (int i = 0; i < hostile->count; i++)
        buf_text(&text, hostile->part);
    if (hostile->tail)
        buf_text(&text, hostile->tail);
    assert_ok(buf_finish(&text, "source", &source, &err));
    return source;
}

static bool open_compiler(struct arena *arena, bool no_server, struct compiler **compiler)
{
    struct err err;
    struct compiler_options options = {.paths = {.build_folder = "build/nvrtc"},
                                       .no_server = no_server};
    arena_init(arena, arena_bytes);
    if (compiler_open(arena, &options, compiler, &err))
        return true;
    print_message("skipped: %s\n", err.text);
    arena_release(arena);
    return false;
}

static void run(struct compiler *compiler, const struct hostile *hostile)
{
    static struct arena arena;
    struct compile_result result;
    struct err err;
    arena_release(&arena); /* of a run that failed */
    arena_init(&arena, arena_bytes);
    struct compile_request request = {
        .source = build(&arena, hostile),
        .arch = "sm_90a",
        .wall_ms = hostile->wall_ms ? hostile->wall_ms : WALL_MS,
        .memory_bytes = hostile->memory_bytes,
    };
    int64_t start = clock_mono_ns();
    assert_ok(compiler_compile(compiler, &arena, &request, &result, &err));
    int64_t ms = (clock_mono_ns() - start) / 1000000;
    bool expected = false;
    for (size_t i = 0; i < COUNT_OF(hostile->ends); i++)
        expected = expected || result.end == hostile->ends[i];
    if (!expected)
        fail_msg("%s: %s: %s", hostile->name, compile_end_text(result.end), result.reason);
    if (ms > LOAD_FACTOR * request.wall_ms + GRACE_MS)
        fail_msg("%s: took %d ms", hostile->name, (int)ms);
    if (hostile->never && result.log.len && strstr(result.log.at, hostile->never))
        fail_msg("%s: the log shows %s", hostile->name, hostile->never);
    if (result.end != COMPILE_OK)
        assert_true(result.ptx.len == 0 && strlen(result.reason) > 0);
    print_message("  %-45s %-30s %d ms\n", hostile->name, compile_end_text(result.end), (int)ms);
    arena_release(&arena);
}

static void assert_works(struct compiler *compiler, const char *after)
{
    const struct hostile fine = {.name = after, .head = good, .ends = ONE(COMPILE_OK)};
    run(compiler, &fine);
}

static void each_source_ends_as_said(void **state UNUSED)
{
    static struct arena arena;
    struct compiler *compiler;
    if (!open_compiler(&arena, false, &compiler))
        skip();
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        run(compiler, &cases[i]);
    assert_works(compiler, "afterwards");
    compiler_close(compiler);
    arena_release(&arena);
}

static void a_fresh_child_is_confined_too(void **state UNUSED)
{
    static struct arena arena;
    struct compiler *compiler;
    static const char *const names[] = {"probe by pasting, past the screen", "endless warnings"};
    if (!open_compiler(&arena, true, &compiler))
        skip();
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t n = 0; n < COUNT_OF(names); n++)
            if (strcmp(cases[i].name, names[n]) == 0)
                run(compiler, &cases[i]);
    compiler_close(compiler);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_source_ends_as_said),
        cmocka_unit_test(a_fresh_child_is_confined_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
