/* Any bytes as a cubin: the reader must answer, and what it returns must be well formed. */
#include <stdint.h>
#include <string.h>

#include "base/panic.h"

#include "verify/device/device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char log[] = "ptxas info    : Function properties for matmul_tiled\n"
                              "ptxas         .     8 bytes stack frame, 4 bytes spill stores, "
                              "4 bytes spill loads\n";
    struct arena arena;
    struct cubin cubin;
    struct err err = {0};
    arena_init(&arena, (size_t)1 << 30);
    if (cubin_read(&arena, (struct str){(const char *)data, size}, str_from(log), &cubin, &err)) {
        for (size_t i = 0; i < cubin.kernel_count; i++)
            ASSERT(strlen(cubin.kernels[i].name) > 0);
    } else {
        ASSERT(err.code == ERR_SYNTAX || err.code == ERR_LIMIT);
    }
    arena_release(&arena);
    return 0;
}
