/*
 * Footprints against compiled kernels: shared memory, exactly, and registers, roughly, of every
 * realised kernel that tests/gpu/results has seen on an H200.
 */
#include <string.h>

#include "base/file.h"
#include "base/json.h"

#include "solver/ir/ir.h"
#include "synth/synth.h"
#include "tests/integration/library.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 512 << 20, FILE_BYTES = 64 << 20, KERNELS_MAX = 64 };

/* "gpu.softmax_1_y.registers" of kernel 1; false when there is none. */
static bool observed_of(const struct json *values, const char *op, size_t kernel, const char *what,
                        int64_t *out)
{
    char prefix[96];
    snprintf(prefix, sizeof(prefix), "gpu.%s_%zu_", op, kernel);
    for (size_t i = 0; i < values->count; i++) {
        struct str key = values->keys[i];
        size_t len = strlen(what);
        if (!str_has_prefix(key, str_from(prefix)) || key.len < len ||
            strcmp(key.at + key.len - len, what) != 0)
            continue;
        *out = values->items[i].integer;
        return true;
    }
    return false;
}

static size_t compare_kernels(struct arena *arena, const char *name, const struct json *values)
{
    struct err err = {0};
    const struct plan *plan;
    char path[128];
    size_t kernel = 1, compared = 0;
    snprintf(path, sizeof(path), "kernels/ops/%s.json", name);
    if (!file_exists(path))
        return 0;
    const struct bound_op *bound = library_load(arena, name);
    assert_ok(plan_skeleton(arena, bound, NULL, &library_limits, &plan, &err));
    for (size_t i = 0; i < plan->region_count; i++) {
        struct footprint f;
        const char *why;
        int64_t shared, registers;
        assert_true(footprint_of(arena, &plan->regions[i], bound, &f, &why));
        if (f.kind != FOOTPRINT_ELEMENTS &&
            observed_of(values, name, kernel, ".shared_bytes", &shared) &&
            observed_of(values, name, kernel, ".registers", &registers)) {
            if (shared != f.shared_bytes)
                fail_msg("%s, region %zu: %lld bytes of shared memory, not %lld", name, i,
                         (long long)shared, (long long)f.shared_bytes);
            if (f.registers < registers / 2 || f.registers > registers * 2 + 8)
                fail_msg("%s, region %zu: %lld registers, estimated %lld", name, i,
                         (long long)registers, (long long)f.registers);
            compared++;
        }
        kernel += (size_t)f.kernels;
    }
    return compared;
}

static void test_results(void **state UNUSED)
{
    static const char *const files[] = {"tests/gpu/results/headline.jsonl",
                                        "tests/gpu/results/specs.jsonl"};
    size_t compared = 0;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct arena arena;
        struct err err = {0};
        struct str rest, line;
        arena_init(&arena, ARENA_BYTES);
        assert_ok(file_read(&arena, files[i], FILE_BYTES, &rest, &err));
        while (str_next_line(&rest, &line)) {
            const struct json *json;
            struct str name;
            assert_ok(json_parse(&arena, line, files[i], &json, &err));
            assert_ok(json_need_str(json, "bundle", &name, &err));
            const struct json *values =
                json_get(json_get(json_get(json, "verdict"), "observed"), "values");
            assert_non_null(values);
            compared += compare_kernels(&arena, name.at, values);
        }
        arena_release(&arena);
    }
    print_message("%zu kernels compared\n", compared);
    assert_true(compared >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
