/* A file of HW-WFC's results is refused, or compared to its end. */
#include <stdint.h>

#include "base/panic.h"

#include "solver/sched/sched.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const size_t arena_bytes_max = (size_t)1 << 30;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct hwwfc_check check;
    const struct json *json;
    struct err err;
    arena_init(&arena, arena_bytes_max);
    if (json_parse(&arena, (struct str){(const char *)data, size}, "input", &json, &err) &&
        hwwfc_check(&arena, json, &check, &err))
        ASSERT(check.mismatches <= check.comparisons);
    arena_release(&arena);
    return 0;
}
