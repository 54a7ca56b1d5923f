/* Any text as a log: cleaning a clean log changes nothing, and diagnostics are within limits. */
#include <stdint.h>
#include <string.h>

#include "base/panic.h"

#include "verify/device/device_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct str clean;
    struct str again;
    struct err err = {0};
    struct compile_result result = {0};
    if (size > COMPILE_LOG_BYTES_MAX)
        return 0;
    arena_init(&arena, (size_t)64 << 20);
    ASSERT(compile_log_clean(&arena, (struct str){(const char *)data, size}, &clean, &err));
    ASSERT(compile_log_clean(&arena, clean, &again, &err));
    ASSERT(str_equal(clean, again));
    compile_log_parse(&arena, clean, &result);
    for (size_t i = 0; i < result.diagnostic_count; i++) {
        ASSERT(result.diagnostics[i].line >= 0 && result.diagnostics[i].column >= 0);
        ASSERT(result.diagnostics[i].text != NULL);
    }
    arena_release(&arena);
    return 0;
}
