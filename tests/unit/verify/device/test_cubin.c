/*
 * Cubins of NVRTC 13.0 with ptxas's own words about them: what the reader finds must be what ptxas
 * -v says.  tests/cases/cubin/three.cu and tests/cases/cuda/k02_matmul_tiled.cu are the sources.
 */
#include <string.h>

#include "base/attr.h"
#include "base/rng.h"

#include "tests/unit/unit.h"
#include "verify/device/device.h"

enum { ARENA_BYTES = 64 << 20, FILE_BYTES_MAX = 1 << 20 };

struct expected {
    const char *file;
    int sm;
    uint64_t global_bytes;
    struct cubin_kernel kernel;
};

/* Transcribed from the .log files; parameters, bounds and clusters from the sources. */
static const struct expected cases[] = {
    {"three_sm90a",
     90,
     1200,
     {.name = "clustered",
      .registers = 14,
      .shared_bytes = 384,
      .barriers = 1,
      .max_threads = 128,
      .code_bytes = 640,
      .param_bytes = 8,
      .param_count = 1,
      .cluster = {2, 1, 1}}},
    {"three_sm90a",
     90,
     1200,
     {.name = "spilling",
      .registers = 32,
      .stack_bytes = 528,
      .spill_store_bytes = 804,
      .spill_load_bytes = 828,
      .max_threads = 1024,
      .code_bytes = 10496,
      .param_bytes = 20,
      .param_count = 3}},
    {"three_sm90a", 90, 1200, {.name = "counting", .registers = 10, .code_bytes = 384}},
    {"tiled_sm80",
     80,
     0,
     {.name = "matmul_tiled",
      .registers = 32,
      .shared_bytes = 2112,
      .barriers = 1,
      .code_bytes = 1792,
      .param_bytes = 36,
      .param_count = 6}},
    {"tiled_sm100",
     100,
     0,
     {.name = "matmul_tiled",
      .registers = 32,
      .shared_bytes = 2112,
      .barriers = 1,
      .code_bytes = 3968,
      .param_bytes = 36,
      .param_count = 6}},
};

static struct str load(struct arena *arena, const char *name, const char *suffix)
{
    char path[256];
    struct str bytes;
    struct err err;
    snprintf(path, sizeof(path), "tests/cases/cubin/%s.%s", name, suffix);
    assert_ok(file_read(arena, path, FILE_BYTES_MAX, &bytes, &err));
    return bytes;
}

static const struct cubin_kernel *find(const struct cubin *cubin, const char *name)
{
    for (size_t i = 0; i < cubin->kernel_count; i++)
        if (strcmp(cubin->kernels[i].name, name) == 0)
            return &cubin->kernels[i];
    fail_msg("no kernel %s", name);
    return NULL;
}

static void compare(const struct expected *c, const struct cubin_kernel *got)
{
    const struct cubin_kernel *want = &c->kernel;
    const struct {
        const char *what;
        uint32_t got, want;
    } fields[] = {
        {"registers", got->registers, want->registers},
        {"shared", got->shared_bytes, want->shared_bytes},
        {"barriers", got->barriers, want->barriers},
        {"stack", got->stack_bytes, want->stack_bytes},
        {"spill stores", got->spill_store_bytes, want->spill_store_bytes},
        {"spill loads", got->spill_load_bytes, want->spill_load_bytes},
        {"max threads", got->max_threads, want->max_threads},
        {"code", got->code_bytes, want->code_bytes},
        {"param bytes", got->param_bytes, want->param_bytes},
        {"params", got->param_count, want->param_count},
        {"cluster x", got->cluster[0], want->cluster[0]},
        {"cluster y", got->cluster[1], want->cluster[1]},
        {"cluster z", got->cluster[2], want->cluster[2]},
    };
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].got != fields[i].want)
            fail_msg("%s %s: %s %u, not %u", c->file, want->name, fields[i].what, fields[i].got,
                     fields[i].want);
}

static void agrees_with_ptxas(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct cubin cubin;
        struct err err;
        arena_init(&arena, ARENA_BYTES);
        struct str bytes = load(&arena, cases[i].file, "cubin");
        assert_ok(cubin_read(&arena, bytes, load(&arena, cases[i].file, "log"), &cubin, &err));
        assert_int_equal(cubin.sm, cases[i].sm);
        assert_int_equal(cubin.global_bytes, cases[i].global_bytes);
        compare(&cases[i], find(&cubin, cases[i].kernel.name));
        arena_release(&arena);
    }
}

static void spills_need_the_log(void **state UNUSED)
{
    struct arena arena;
    struct cubin cubin;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    struct str bytes = load(&arena, "three_sm90a", "cubin");
    assert_ok(cubin_read(&arena, bytes, (struct str){0}, &cubin, &err));
    assert_int_equal(cubin.kernel_count, 3);
    assert_int_equal(find(&cubin, "spilling")->spill_store_bytes, 0);
    assert_int_equal(find(&cubin, "spilling")->stack_bytes, 528);
    arena_release(&arena);
}

static void refuses_what_is_no_cubin(void **state UNUSED)
{
    static const char *const texts[] = {"", "\177ELF", "text", ".version 9.0\n.target sm_90\n"};
    struct arena arena;
    struct cubin cubin;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct err err = {0};
        assert_false(cubin_read(&arena, str_from(texts[i]), (struct str){0}, &cubin, &err));
        assert_int_equal(err.code, ERR_SYNTAX);
    }
    arena_release(&arena);
}

/* Cut at each length, and with bytes changed: it must answer, and stay inside the bytes (ASan). */
static void survives_damage(void **state UNUSED)
{
    struct arena arena;
    struct rng rng;
    arena_init(&arena, ARENA_BYTES);
    rng_init(&rng, 1);
    struct str whole = load(&arena, "tiled_sm80", "cubin");
    size_t refused = 0;
    for (size_t len = 0; len < whole.len; len += 61) {
        struct arena scratch;
        struct cubin cubin;
        struct err err;
        arena_init(&scratch, ARENA_BYTES);
        char *copy = str_copy(&scratch, (struct str){whole.at, len});
        refused += !cubin_read(&scratch, (struct str){copy, len}, (struct str){0}, &cubin, &err);
        arena_release(&scratch);
    }
    assert_true(refused > whole.len / 61 / 2);
    for (int round = 0; round < 2000; round++) {
        struct arena scratch;
        struct cubin cubin;
        struct err err;
        arena_init(&scratch, ARENA_BYTES);
        char *copy = str_copy(&scratch, whole);
        for (int i = 0; i < 8; i++)
            copy[rng_below(&rng, (uint32_t)whole.len)] = (char)rng_u32(&rng);
        if (!cubin_read(&scratch, (struct str){copy, whole.len}, (struct str){0}, &cubin, &err))
            assert_true(err.code == ERR_SYNTAX || err.code == ERR_LIMIT);
        arena_release(&scratch);
    }
    arena_release(&arena);
}

static void names_the_section_at_fault(void **state UNUSED)
{
    struct arena arena;
    struct cubin cubin;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    struct str whole = load(&arena, "tiled_sm80", "cubin");
    char *copy = str_copy(&arena, whole);
    char *names = memmem(copy, whole.len, ".symtab", 7);
    assert_non_null(names);
    memcpy(names, ".symtax", 7);
    assert_false(cubin_read(&arena, (struct str){copy, whole.len}, (struct str){0}, &cubin, &err));
    assert_non_null(strstr(err.text, ".symtab"));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_ptxas),          cmocka_unit_test(spills_need_the_log),
        cmocka_unit_test(refuses_what_is_no_cubin),   cmocka_unit_test(survives_damage),
        cmocka_unit_test(names_the_section_at_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
