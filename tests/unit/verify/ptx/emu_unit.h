#ifndef TESTS_UNIT_VERIFY_PTX_EMU_UNIT_H
#define TESTS_UNIT_VERIFY_PTX_EMU_UNIT_H

#include <string.h>

#include "tests/unit/unit.h"
#include "verify/ptx/ptx.h"

/* What the emulator's tests share: load PTX, describe a launch in one line, run it. */

enum { EMU_BUFFERS_MAX = 8, EMU_PARAM_BYTES = 256 };

static const char *const emu_isas[] = {"generic", "avx2", "avx512"};

struct emu {
    struct arena arena;
    const struct ptx_module *module;
    struct ptx_buffer buffers[EMU_BUFFERS_MAX];
    size_t count;
    struct ptx_launch launch;
    unsigned char params[EMU_PARAM_BYTES];
    size_t param; /* the next one to set */
    struct ptx_report report;
    struct err err;
};

/* False when this machine does not run that vector build. */
static inline bool emu_load_isa(struct emu *emu, const char *text, const char *isa)
{
    memset(emu, 0, sizeof(*emu));
    arena_init(&emu->arena, (size_t)2 << 30);
    emu->launch = (struct ptx_launch){.budget_warp_insns = 2000000,
                                      .shared_bytes_max = 227 * 1024,
                                      .check = true,
                                      .poison_seed = 5,
                                      .grid = {1, 1, 1},
                                      .block = {32, 1, 1}};
    if (ptx_load_isa(&emu->arena, str_from(text), isa, &emu->module, &emu->err))
        return true;
    if (emu->err.code != ERR_UNSUPPORTED)
        fail_msg("%s", emu->err.text);
    arena_release(&emu->arena);
    return false;
}

static inline void emu_load(struct emu *emu, const char *text)
{
    assert_true(emu_load_isa(emu, text, NULL));
}

/* The file tests/cases/ptx/NAME.ptx. */
static inline const char *emu_golden(struct arena *arena, const char *name)
{
    char path[256];
    struct str text;
    struct err err;
    snprintf(path, sizeof(path), "tests/cases/ptx/%s.ptx", name);
    if (!file_read(arena, path, 1 << 20, &text, &err))
        fail_msg("%s", err.text);
    return str_copy(arena, text);
}

static inline void emu_entry(struct emu *emu, const char *entry, uint32_t grid, uint32_t block)
{
    emu->launch.entry = entry;
    emu->launch.grid[0] = grid;
    emu->launch.block[0] = block;
    emu->param = 0;
    emu->count = 0;
}

static inline void emu_bytes(struct emu *emu, const void *value, size_t bytes)
{
    const struct ptx_entry *entry = ptx_entry_find(emu->module, emu->launch.entry);
    assert_non_null(entry);
    assert_true(emu->param < entry->param_count);
    memcpy(emu->params + entry->params[emu->param++].offset, value, bytes);
}

static inline void emu_int(struct emu *emu, int64_t value)
{
    const struct ptx_entry *entry = ptx_entry_find(emu->module, emu->launch.entry);
    assert_non_null(entry);
    emu_bytes(emu, &value, entry->params[emu->param].bytes);
}

static inline void emu_float(struct emu *emu, float value)
{
    emu_bytes(emu, &value, sizeof(value));
}

/* A buffer argument; its address is known only when emu_run makes the memory. */
static inline void emu_buffer(struct emu *emu, void *data, size_t bytes, bool initialised,
                              bool writable)
{
    static const char *const names[EMU_BUFFERS_MAX] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    assert_true(emu->count < EMU_BUFFERS_MAX);
    struct ptx_buffer *buffer = &emu->buffers[emu->count];
    *buffer = (struct ptx_buffer){.name = names[emu->count],
                                  .data = data,
                                  .bytes = bytes,
                                  .initialised = initialised,
                                  .writable = writable};
    uint64_t mark = 0xb0ff00000000 + emu->count++;
    emu_bytes(emu, &mark, sizeof(mark));
}

static inline void emu_in(struct emu *emu, const void *data, size_t bytes)
{
    emu_buffer(emu, (void *)data, bytes, true, false);
}

static inline void emu_out(struct emu *emu, void *data, size_t bytes)
{
    emu_buffer(emu, data, bytes, false, true);
}

static inline void emu_inout(struct emu *emu, void *data, size_t bytes)
{
    emu_buffer(emu, data, bytes, true, true);
}

static inline enum ptx_fault_kind emu_run(struct emu *emu)
{
    struct ptx_memory *memory = ptx_memory_new(&emu->arena, emu->module, emu->buffers, emu->count);
    const struct ptx_entry *entry = ptx_entry_find(emu->module, emu->launch.entry);
    assert_non_null(entry);
    for (size_t i = 0; i < entry->param_count; i++) {
        uint64_t value = 0;
        if (entry->params[i].bytes != sizeof(value))
            continue;
        memcpy(&value, emu->params + entry->params[i].offset, sizeof(value));
        if (value >> 32 == 0xb0ff)
            memcpy(emu->params + entry->params[i].offset, &emu->buffers[value & 0xff].address,
                   sizeof(value));
    }
    emu->launch.params = emu->params;
    emu->launch.param_bytes = entry->param_bytes;
    if (!ptx_launch(&emu->arena, emu->module, memory, &emu->launch, &emu->report, &emu->err))
        fail_msg("%s", emu->err.text);
    return emu->report.fault.kind;
}

static inline void emu_run_ok(struct emu *emu)
{
    if (emu_run(emu) != PTX_FAULT_NONE)
        fail_msg("%s: %s", emu->launch.entry, emu->report.fault.text);
}

static inline void emu_free(struct emu *emu)
{
    arena_release(&emu->arena);
}

#endif
