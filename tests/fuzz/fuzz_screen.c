/*
 * Any text through the screen: it must answer, a complaint must name a place, and what it hoists
 * must be an allowed header inside the source.  A source that passes passes strictly or is refused
 * strictly, never the other way round.
 */
#include <stdint.h>
#include <string.h>

#include "base/panic.h"

#include "verify/device/device_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str source = {(const char *)data, size};
    struct screen_report report;
    struct screen_report ignored;
    struct screen_options plain = {0};
    struct screen_options strict = {.strict = true};
    struct err err = {0};
    if (!screen_source(source, &plain, &report, &err)) {
        struct err again = {0};
        ASSERT(err.code == ERR_LIMIT || memcmp(err.text, "kernel.cu:", 10) == 0);
        ASSERT(!screen_source(source, &strict, &ignored, &again));
        return 0;
    }
    for (size_t i = 0; i < report.hoisted_count; i++) {
        ASSERT(header_kind(report.hoisted[i]) == HEADER_TOOLKIT);
        ASSERT(report.hoisted[i].at >= source.at);
        ASSERT(report.hoisted[i].at + report.hoisted[i].len <= source.at + source.len);
    }
    return 0;
}
