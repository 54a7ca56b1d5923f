/*
 * Any text ends in a module or in an error: parsing, decoding, facts.
 */
#include <stdint.h>

#include "verify/ptx/ptx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_BYTES_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct err err;
    const struct ptx_module *module;
    if (size > TEXT_BYTES_MAX)
        return 0;
    arena_init(&arena, PTX_MODULE_BYTES_MAX);
    if (ptx_load(&arena, (struct str){(const char *)data, size}, &module, &err))
        for (size_t i = 0; i < ptx_entry_count(module); i++) {
            struct ptx_facts facts;
            ptx_module_facts(module, ptx_entry_at(module, i)->name, &facts);
        }
    arena_release(&arena);
    return 0;
}
