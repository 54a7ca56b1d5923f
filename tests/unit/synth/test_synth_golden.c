/*
 * Emitted texts and manifests, byte for byte; `--bless` writes them anew.  Of the reference only
 * its kernels are kept, the rules in front are a file of their own.
 */
#include "tests/unit/synth/specs.h"

struct golden {
    const char *spec, *writer;
};
static const struct golden goldens[] = {
    {"relu", "naive"},        {"softmax", "naive"},
    {"cumsum", "naive"},      {"lstm", "naive"},
    {"scatter_add", "naive"}, {"relu", "realised"},
    {"softmax", "realised"},  {"matmul_bias_gelu_bf16", "realised"},
    {"argmax", "realised"},   {"groupnorm", "realised"},
    {"softmax", "reference"}, {"matmul", "reference"},
    {"argmax", "reference"},  {"cumsum", "reference"},
};

static bool emit(struct arena *arena, const struct op *op, const char *writer,
                 struct emitted *emitted, struct err *err)
{
    if (strcmp(writer, "naive") == 0)
        return emit_naive(arena, op, "sm_90a", emitted, err);
    if (strcmp(writer, "reference") == 0)
        return emit_reference(arena, op, NULL, "sm_90a", emitted, err);
    return realise(arena, op, spec_plan(arena, op), spec_limits.arch, emitted, err);
}

static struct str golden_text(struct arena *arena, const struct golden *golden)
{
    struct emitted emitted;
    struct buf out;
    struct json_writer w;
    struct err err;
    char path[256];
    snprintf(path, sizeof(path), "kernels/ops/%s.json", golden->spec);
    assert_ok(emit(arena, spec_load(arena, path), golden->writer, &emitted, &err));
    char *text = str_copy(arena, emitted.cuda);
    const char *kernels = strstr(text, "extern \"C\"");
    assert_non_null(kernels);
    buf_init(&out, arena, 1 << 20);
    buf_text(&out, strcmp(golden->writer, "reference") == 0 ? kernels : text);
    buf_text(&out, "\n// manifest: ");
    json_writer_init(&w, &out);
    manifest_print(&w, emitted.manifest);
    buf_char(&out, '\n');
    return buf_view(&out);
}

static const char *golden_path(struct arena *arena, const struct golden *golden)
{
    char path[256];
    snprintf(path, sizeof(path), "tests/golden/synth/%s.%s.cu", golden->spec, golden->writer);
    return str_copy(arena, str_from(path));
}

static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(goldens); i++) {
        struct arena arena;
        struct str want;
        struct err err;
        arena_init(&arena, (size_t)1 << 28);
        const char *path = golden_path(&arena, &goldens[i]);
        struct str got = golden_text(&arena, &goldens[i]);
        assert_ok(file_read(&arena, path, 1 << 20, &want, &err));
        if (!str_equal(got, want))
            fail_msg("%s differs; `make bless` rewrites it.  Now:\n%.*s", path, STR_ARG(got));
        arena_release(&arena);
    }
}

static void bless(void)
{
    for (size_t i = 0; i < COUNT_OF(goldens); i++) {
        struct arena arena;
        struct err err;
        arena_init(&arena, (size_t)1 << 28);
        if (!file_write(golden_path(&arena, &goldens[i]), golden_text(&arena, &goldens[i]), &err))
            fprintf(stderr, "%s\n", err.text);
        arena_release(&arena);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts)};
    if (argc > 1 && strcmp(argv[1], "--bless") == 0) {
        bless();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
