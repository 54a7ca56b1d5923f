/* Any text at all: the constants found in it are finite, distinct and few. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/panic.h"

#include "verify/check/check_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct literals found;

    literals_of((struct str){(const char *)data, size}, &found);
    ASSERT(found.count <= LITERALS_MAX);
    for (size_t i = 0; i < found.count; i++) {
        ASSERT(isfinite(found.values[i]) && found.values[i] != 0);
        for (size_t j = 0; j < i; j++)
            ASSERT(found.values[i] != found.values[j]);
    }
    return 0;
}
