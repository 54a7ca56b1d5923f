/*
 * Any kernel ends within its budget and memory, and touches nothing but its buffers: three
 * tiny launches of each entry: with checks, without, and with blocks interleaved.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "verify/ptx/ptx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_BYTES_MAX = 1 << 14, BUFFERS = 3, BUFFER_BYTES = 512, ENTRIES_MAX = 2, BUDGET = 3000 };

enum how { CHECKED, UNCHECKED, INTERLEAVED };

static void launch_once(const struct ptx_module *module, const struct ptx_entry *entry,
                        enum how how)
{
    const bool second = how == UNCHECKED;
    struct arena arena;
    struct err err;
    struct ptx_report report;
    unsigned char params[256] = {0};
    if (entry->param_bytes > sizeof(params))
        return;
    arena_init(&arena, PTX_MODULE_BYTES_MAX);
    struct ptx_buffer buffers[BUFFERS];
    memset(buffers, 0, sizeof(buffers));
    for (int i = 0; i < BUFFERS; i++)
        buffers[i] = (struct ptx_buffer){.name = "b",
                                         .data = arena_alloc(&arena, BUFFER_BYTES, 1, 16),
                                         .bytes = BUFFER_BYTES,
                                         .initialised = i == 0,
                                         .writable = i != 0};
    struct ptx_memory *memory = ptx_memory_new(&arena, module, buffers, BUFFERS);
    int pointers = 0;
    for (size_t i = 0; i < entry->param_count; i++) {
        const struct ptx_param *param = &entry->params[i];
        uint64_t value = param->bytes == 8 ? buffers[pointers++ % BUFFERS].address : 7;
        memcpy(params + param->offset, &value, param->bytes < 8 ? param->bytes : 8);
    }
    struct ptx_launch launch = {.entry = entry->name,
                                .grid = {how == INTERLEAVED ? 12 : 2, 1, 1},
                                .block = {second ? 33 : 40, second ? 2 : 1, 1},
                                .dynamic_shared = 256,
                                .params = params,
                                .param_bytes = entry->param_bytes,
                                .cooperative = second,
                                .budget_warp_insns = BUDGET,
                                .shared_bytes_max = 48 * 1024,
                                .reverse_order = second,
                                .interleave_seed = how == INTERLEAVED ? 3 : 0,
                                .check = !second,
                                .poison_seed = 1};
    if (!ptx_launch(&arena, module, memory, &launch, &report, &err))
        abort();
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct err err;
    const struct ptx_module *module;
    if (size > TEXT_BYTES_MAX)
        return 0;
    arena_init(&arena, PTX_MODULE_BYTES_MAX);
    if (ptx_load(&arena, (struct str){(const char *)data, size}, &module, &err))
        for (size_t i = 0; i < ptx_entry_count(module) && i < ENTRIES_MAX; i++) {
            launch_once(module, ptx_entry_at(module, i), CHECKED);
            launch_once(module, ptx_entry_at(module, i), UNCHECKED);
            launch_once(module, ptx_entry_at(module, i), INTERLEAVED);
        }
    arena_release(&arena);
    return 0;
}
