/* Names of headers: which are served, which refused, and what the refusal advises. */
#include "base/attr.h"

#include "tests/unit/unit.h"
#include "verify/device/device_int.h"

static const struct {
    const char *name;
    enum header_kind kind;
} cases[] = {
    {"stdint.h", HEADER_MEMORY},
    {"cmath", HEADER_MEMORY},
    {"cuda_fp16.h", HEADER_TOOLKIT},
    {"cooperative_groups.h", HEADER_TOOLKIT},
    {"cooperative_groups/reduce.h", HEADER_TOOLKIT},
    {"cuda/barrier", HEADER_TOOLKIT},
    {"cuda/std/array", HEADER_TOOLKIT},
    {"cub/block/block_scan.cuh", HEADER_TOOLKIT},
    {"cub/warp/warp_reduce.cuh", HEADER_TOOLKIT},
    {"curand_kernel.h", HEADER_TOOLKIT},
    {"cuda.h", HEADER_LATE},
    {"", HEADER_REFUSED},
    {"/", HEADER_REFUSED},
    {"/etc/passwd", HEADER_REFUSED},
    {"/stdint.h", HEADER_REFUSED},
    {"./stdint.h", HEADER_REFUSED},
    {"stdint.h/", HEADER_REFUSED},
    {"cuda/std/../../../etc/passwd", HEADER_REFUSED},
    {"cuda/std/..", HEADER_REFUSED},
    {"cuda/std/.x", HEADER_REFUSED},
    {"cuda/std/detail/x", HEADER_REFUSED},
    {"cuda/std/", HEADER_REFUSED},
    {"cub/block/.cuh", HEADER_REFUSED},
    {"cub/block/x.h", HEADER_REFUSED},
    {"cub/cub.cuh", HEADER_REFUSED},
    {"cub/device/device_reduce.cuh", HEADER_REFUSED},
    {"torch/extension.h", HEADER_REFUSED},
    {"CUDA_FP16.H", HEADER_REFUSED},
    {"cuda_fp16.h ", HEADER_REFUSED},
    {"cuda_fp16.h\n", HEADER_REFUSED},
    {"vector", HEADER_REFUSED},
    {"proc/self/environ", HEADER_REFUSED},
};

static void sorts_each_name(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (header_kind(str_from(cases[i].name)) != cases[i].kind)
            fail_msg("'%s'", cases[i].name);
}

static void advises(void **state UNUSED)
{
    assert_non_null(header_remedy(str_from("torch/extension.h")));
    assert_non_null(header_remedy(str_from("cub/device/device_scan.cuh")));
    assert_non_null(header_remedy(str_from("cutlass/cutlass.h")));
    assert_null(header_remedy(str_from("my_own.h")));
}

/* Each header in memory is one that the table serves. */
static void memory_names_are_allowed(void **state UNUSED)
{
    size_t count;
    const char *const *names = header_memory_names(&count);
    assert_true(count > 20);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(header_kind(str_from(names[i])), HEADER_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_each_name),
        cmocka_unit_test(advises),
        cmocka_unit_test(memory_names_are_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
