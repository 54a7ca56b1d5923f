/*
 * The contract in the prompt says what verification does: headers and constructs that it allows
 * pass the screen, those it forbids do not, and the form that each prompt shows compiles and
 * launches.  The last needs NVRTC.
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#include "synth/synth.h"
#include "tests/unit/unit.h"
#include "verify/check/check.h"

enum { FILE_BYTES_MAX = 4 << 20 };

static bool find_spec(void *context, struct arena *arena, struct str name, struct str *text)
{
    char path[256];
    struct err err;
    (void)context;
    snprintf(path, sizeof(path), "kernels/ops/%.*s.json", STR_ARG(name));
    return file_exists(path) && file_read(arena, path, FILE_BYTES_MAX, text, &err);
}

static struct prompt prompt_of(struct arena *arena, const char *path, const struct op **op)
{
    const struct op_library library = {find_spec, NULL};
    const struct bound_op *target;
    struct prompt prompt = {.tokens = 0};
    struct str text;
    struct err err;
    assert_ok(file_read(arena, path, FILE_BYTES_MAX, &text, &err));
    assert_ok(op_parse(arena, text, path, &library, op, &err));
    assert_ok(op_bind_shape(arena, *op, &(*op)->targets[0], &target, &err));
    const struct prompt_input in = {
        .target = target,
        .arch = "sm_90a",
        .smem_bytes_max = (int64_t)check_smem_bytes_max("sm_90a"),
    };
    assert_ok(prompt_write(arena, &in, &prompt, &err));
    return prompt;
}

/* ---- the screen ---- */

static bool passes(struct arena *arena, const char *source)
{
    struct err err;
    (void)arena;
    return device_screen_source(str_from(source), &err);
}

/* A star stands for any name. */
static bool include_passes(struct arena *arena, const char *pattern)
{
    char source[256];
    const char *star = strchr(pattern, '*');
    int before = star ? (int)(star - pattern) : (int)strlen(pattern);
    snprintf(source, sizeof(source), "#include <%.*s%s%s>\n__global__ void f() {}\n", before,
             pattern, star ? "any" : "", star ? star + 1 : "");
    return passes(arena, source);
}

/* The words of the contract between two marks, separated by any of `separators`. */
static size_t check_headers(struct arena *arena, const char *contract, const char *from,
                            const char *to, const char *separators, bool allowed)
{
    const char *start = strstr(contract, from);
    assert_non_null(start);
    start += strlen(from);
    const char *end = strstr(start, to);
    assert_non_null(end);
    char *words = str_copy(arena, (struct str){start, (size_t)(end - start)});
    char *state = NULL;
    size_t count = 0;
    for (char *word = strtok_r(words, separators, &state); word != NULL;
         word = strtok_r(NULL, separators, &state)) {
        if (include_passes(arena, word) != allowed)
            fail_msg("the contract says that <%s> %s", word, allowed ? "is there" : "is refused");
        count++;
    }
    return count;
}

static void test_headers(void **state)
{
    struct arena arena;
    const struct op *op;
    (void)state;
    arena_init(&arena, (size_t)1 << 30);
    struct prompt prompt = prompt_of(&arena, "kernels/ops/relu.json", &op);
    const char *contract = str_copy(&arena, prompt.system);
    assert_true(
        check_headers(&arena, contract, "literally, as <...>: ", ". All others", " ", true) >= 20);
    assert_true(check_headers(&arena, contract, "refused: not ", ".\n", " ,<>", false) >= 8);
    arena_release(&arena);
}

static void test_constructs(void **state)
{
    static const struct {
        const char *source;
        bool allowed;
    } rows[] = {
        {"__global__ void f() { auto g = [](int i) { return i; }; g(1); }", true},
        {"__global__ void f() { auto g = [] __device__(int i) { return i; }; g(1); }", false},
        {"__global__ void f() { asm volatile(\".reg .b32 t; mov.b32 t, 0;\"); }", true},
        {"__global__ void f() { asm volatile(\".include \\\"x\\\"\"); }", false},
        {"int main() { return 0; }", false},
        {"void h() { f<<<1, 1>>>(); }", false},
        {"void h() { cudaMalloc(0, 1); }", false},
        {"#line 3\n__global__ void f() {}", false},
        {"#import <x>\n__global__ void f() {}", false},
        {"#define H <cuda_fp16.h>\n#include H\n__global__ void f() {}", false},
        {"__global__ void f() { std::vector<int> v; }", false},
        {"__global__ void f() { float m = std::max(1.f, 2.f); }", true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (passes(NULL, rows[i].source) != rows[i].allowed)
            fail_msg("%s: %s", rows[i].source, rows[i].allowed ? "refused" : "passed");
}

/* ---- the form, filled with next to nothing ---- */

static struct compiler *the_compiler(struct arena *arena)
{
    const struct compiler_options options = {.paths = {getenv("CUDA_HOME"), "build/nvrtc"}};
    struct compiler *compiler = NULL;
    struct nvrtc_info nvrtc;
    struct err err;
    device_probe_nvrtc(arena, &options.paths, &nvrtc);
    if (nvrtc.found)
        assert_ok(compiler_open(arena, &options, &compiler, &err));
    else
        print_message("skipped: %s\n", nvrtc.why_not);
    return compiler;
}

/* One byte of an output instead of the body's three dots. */
static const char *fill_in(struct arena *arena, const struct op *op, struct str form)
{
    struct buf out;
    size_t output = 0;
    const char *text = str_copy(arena, form), *dots = strstr(text, "    ...\n");
    assert_non_null(dots);
    while (op->tensors[output].role != ROLE_OUTPUT)
        output++;
    buf_init(&out, arena, FILE_BYTES_MAX);
    buf_bytes(&out, text, (size_t)(dots - text));
    buf_printf(&out, "    if (blockIdx.x == 0 && threadIdx.x == 0)\n        *(char *)%.*s = 1;\n",
               STR_ARG(op->tensors[output].name));
    buf_text(&out, dots + strlen("    ...\n"));
    return str_copy(arena, buf_view(&out));
}

static void check_form(struct arena *arena, const char *path, struct compiler *compiler)
{
    const struct op *op;
    struct prompt prompt = prompt_of(arena, path, &op);
    const struct manifest *manifest;
    const struct json *json;
    struct extracted form;
    struct check_products products;
    struct verdict verdict;
    struct err err;
    assert_ok(extract_reply(arena, prompt.user, &form, &err));
    assert_ok(json_parse(arena, form.manifest, path, &json, &err));
    assert_ok(manifest_parse(arena, json, &manifest, &err));
    const struct candidate candidate = {CANDIDATE_CUDA, str_from(fill_in(arena, op, form.cuda)),
                                        manifest};
    const struct check_options options = {.secret = 1};
    assert_ok(
        check_candidate(arena, op, &candidate, &options, compiler, &products, &verdict, &err));
    if (verdict.validity != VALIDITY_WRONG || verdict.gate != GATE_COMPARE)
        fail_msg("%s: %s at %s: %.*s\n%.*s", path, validity_name(verdict.validity),
                 gate_name(verdict.gate), STR_ARG(verdict.reason), STR_ARG(verdict.detail));
}

static void test_forms(void **state)
{
    struct arena arena;
    glob_t found;
    (void)state;
    arena_init(&arena, (size_t)1 << 30);
    struct compiler *compiler = the_compiler(&arena);
    if (compiler == NULL) {
        arena_release(&arena);
        skip();
    }
    assert_int_equal(glob("kernels/ops/*.json", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct arena scratch;
        arena_init(&scratch, (size_t)2 << 30);
        check_form(&scratch, found.gl_pathv[i], compiler);
        arena_release(&scratch);
    }
    globfree(&found);
    compiler_close(compiler);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_constructs),
        cmocka_unit_test(test_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
