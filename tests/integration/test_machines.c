/* Machines as the commands find them, and what other modules know of the same hardware. */
#include <string.h>

#include "agent/agent.h"
#include "tests/unit/unit.h"
#include "verify/check/check.h"

enum { ARENA_BYTES = 64 << 20, FILES_MAX = 64 };

static const char folder[] = "kernels/machines";

static void test_names(void **state UNUSED)
{
    static const char *const cases[][2] = {
        {NULL, "h200-sxm"},        {"h100-sxm", "h100-sxm"}, {"sm_90a", "h200-sxm"},
        {"sm_90", "h200-sxm"},     {"sm_80", "a100-sxm-80"}, {"sm_86", "a6000"},
        {"sm_110", "jetson-thor"}, {"sm_100a", "b200"},
    };
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct machine *machine;
        struct err err = {0};
        assert_ok(machine_find(&arena, folder, cases[i][0], &machine, &err));
        assert_true(str_equal(machine->name, str_from(cases[i][1])));
    }
    arena_release(&arena);
}

static void test_unknown(void **state UNUSED)
{
    static const char *const names[] = {"h200", "../ops/softmax", "", "sm_35", "hwwfc/a100"};
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct machine *machine = NULL;
        struct err err = {0};
        assert_false(machine_find(&arena, folder, names[i], &machine, &err));
        assert_int_equal(err.code, ERR_USAGE);
        assert_non_null(strstr(err.text, "known are h200-sxm, a100-sxm-80, a6000, b200, h100-sxm"));
        assert_null(machine);
    }
    arena_release(&arena);
}

/* The gates' table of opt-in shared memory, and the realiser's constant of SMs. */
static void test_agreement(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    const char *const *names;
    const struct machine *machine;
    size_t count;
    arena_init(&arena, ARENA_BYTES);
    assert_ok(file_list(&arena, folder, ".json", FILES_MAX, &names, &count, &err));
    for (size_t i = 0; i < count; i++) {
        char *name = str_copy(&arena, (struct str){names[i], strlen(names[i]) - strlen(".json")});
        assert_ok(machine_find(&arena, folder, name, &machine, &err));
        assert_int_equal(check_smem_bytes_max(str_copy(&arena, machine->arch)),
                         machine->shared_bytes_per_block_optin);
    }
    assert_ok(machine_find(&arena, folder, NULL, &machine, &err));
    assert_int_equal(machine->sm_count, 132);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_agreement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
