/*
 * What the fork server saves.  Without arguments: on a few kernels, served compiles must be faster
 * than compiles that load NVRTC.  With folders as arguments: the whole table, for each way of
 * compiling, over every .cu there.
 *     build/gcc/tests/integration/test_compile_speed tests/cases/cuda
 */
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/clock.h"

#include "tests/unit/unit.h"
#include "verify/device/device.h"

static const size_t arena_bytes = (size_t)1 << 30;
enum { SOURCE_BYTES_MAX = 1 << 20, FILES_MAX = 200, SAMPLES_MAX = 1000, WALL_MS = 120 * 1000 };

struct samples {
    int64_t ns[SAMPLES_MAX];
    size_t count;
};

static int compare_ns(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return (*x > *y) - (*x < *y);
}

static double quantile_ms(struct samples *samples, double at)
{
    assert_true(samples->count > 0);
    qsort(samples->ns, samples->count, sizeof(samples->ns[0]), compare_ns);
    size_t index = (size_t)(at * (double)(samples->count - 1) + 0.5);
    return (double)samples->ns[index] / 1e6;
}

static bool open_compiler(struct arena *arena, bool no_server, struct compiler **compiler)
{
    struct err err;
    struct compiler_options options = {.paths = {.build_folder = "build/nvrtc"},
                                       .no_server = no_server};
    if (compiler_open(arena, &options, compiler, &err))
        return true;
    print_message("skipped: %s\n", err.text);
    return false;
}

static void compile_file(struct compiler *compiler, const char *path, struct samples *samples)
{
    struct arena arena;
    struct str source;
    struct compile_result result;
    struct err err;
    arena_init(&arena, arena_bytes);
    assert_ok(file_read(&arena, path, SOURCE_BYTES_MAX, &source, &err));
    struct compile_request request = {.source = source, .arch = "sm_90a", .wall_ms = WALL_MS};
    int64_t start = clock_mono_ns();
    assert_ok(compiler_compile(compiler, &arena, &request, &result, &err));
    if (result.end != COMPILE_OK)
        print_message("%s: %s: %s\n", path, compile_end_text(result.end), result.reason);
    else if (samples->count < SAMPLES_MAX)
        samples->ns[samples->count++] = clock_mono_ns() - start;
    arena_release(&arena);
}

static void compile_folder(struct compiler *compiler, struct arena *arena, const char *folder,
                           struct samples *samples)
{
    const char *const *names;
    size_t count;
    struct err err;
    assert_ok(file_list(arena, folder, ".cu", FILES_MAX, &names, &count, &err));
    for (size_t i = 0; i < count; i++)
        compile_file(compiler, path_join(arena, folder, names[i]), samples);
}

static void print_row(const char *name, struct samples *samples)
{
    int64_t total = 0;
    for (size_t i = 0; i < samples->count; i++)
        total += samples->ns[i];
    print_message("%-28s %5zu files  median %8.1f ms  p90 %8.1f ms  sum %7.2f s\n", name,
                  samples->count, quantile_ms(samples, 0.5), quantile_ms(samples, 0.9),
                  (double)total / 1e9);
}

static int print_table(int folder_count, char **folders)
{
    static const char *const rounds[] = {"served, first time", "served, again"};
    struct arena arena;
    struct compiler *served;
    struct compiler *fresh;
    arena_init(&arena, arena_bytes);
    if (!open_compiler(&arena, false, &served) || !open_compiler(&arena, true, &fresh)) {
        arena_release(&arena);
        return 0;
    }
    for (size_t r = 0; r < COUNT_OF(rounds); r++) {
        struct samples samples = {.count = 0};
        for (int i = 0; i < folder_count; i++)
            compile_folder(served, &arena, folders[i], &samples);
        print_row(rounds[r], &samples);
    }
    struct samples samples = {.count = 0};
    for (int i = 0; i < folder_count; i++)
        compile_folder(fresh, &arena, folders[i], &samples);
    print_row("without server", &samples);
    compiler_close(fresh);
    compiler_close(served);
    arena_release(&arena);
    return 0;
}

/* Wall time on a shared machine proves little: the server must not be a burden, and the rows say
 * what it saves. */
static void the_server_is_no_burden(void **state UNUSED)
{
    static const char *const files[] = {"tests/cases/cuda/k01_matmul_naive.cu",
                                        "tests/cases/cuda/k08_softmax_online.cu",
                                        "tests/cases/cuda/k10_rmsnorm_bf16.cu"};
    enum { ROUNDS = 5 };
    struct arena arena;
    struct compiler *served;
    struct compiler *fresh;
    struct samples with = {.count = 0};
    struct samples without = {.count = 0};
    arena_init(&arena, arena_bytes);
    if (!open_compiler(&arena, false, &served) || !open_compiler(&arena, true, &fresh)) {
        arena_release(&arena);
        skip();
    }
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < COUNT_OF(files); i++) {
            compile_file(served, files[i], &with);
            compile_file(fresh, files[i], &without);
        }
    compiler_close(fresh);
    compiler_close(served);
    print_row("served", &with);
    print_row("without server", &without);
    assert_int_equal(with.count, COUNT_OF(files) * ROUNDS);
    assert_int_equal(without.count, COUNT_OF(files) * ROUNDS);
    assert_true(quantile_ms(&with, 0.5) < 3 * quantile_ms(&without, 0.5));
    arena_release(&arena);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_server_is_no_burden),
    };
    if (argc > 1)
        return print_table(argc - 1, argv + 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
