/*
 * Memory: the regions that kernels see, and accesses lane by lane.
 *
 * A generic address is a window's number in the top bits and an offset from the window's middle, so
 * stepping below or above a buffer stays in its window and is out of bounds there.  Shared and
 * local memory have a window each; module variables and the launch's buffers one each.
 *
 * Invariant: mem_lane() is the only way from an address to host memory outside isa_mem.c, and it
 * compares the offset with the region's size first.
 */
#include <string.h>

#include "verify/ptx/atom_int.h"
#include "verify/ptx/fault_int.h"
#include "verify/ptx/mem_int.h"
#include "verify/ptx/warp_int.h"

enum { SECTOR_BYTES = 32, BANKS = 32 };

/* ---- regions ---- */

static void add_region(struct ptx_memory *memory, struct region region)
{
    size_t id = memory->region_count++;
    region.base = WINDOW_BASE(WINDOW_FIRST_REGION + id) + region.misalign;
    memory->regions[id] = region;
}

struct ptx_memory *ptx_memory_new(struct arena *arena, const struct ptx_module *module,
                                  struct ptx_buffer *buffers, size_t count)
{
    struct ptx_memory *memory = arena_new(arena, struct ptx_memory);
    memory->arena = arena;
    memory->module = module;
    memory->regions = arena_array(arena, struct region, module->var_count + count + 2);
    for (size_t i = 0; i < module->var_count; i++) {
        const struct module_var *var = &module->vars[i];
        unsigned char *data = arena_array(arena, unsigned char, var->bytes + 1);
        if (var->init)
            memcpy(data, var->init, var->bytes);
        add_region(memory, (struct region){.data = data,
                                           .bytes = var->bytes,
                                           .name = var->name,
                                           .writable = var->writable});
    }
    for (size_t i = 0; i < count; i++) {
        struct ptx_buffer *buffer = &buffers[i];
        struct region region = {.data = buffer->data,
                                .bytes = buffer->bytes,
                                .buffer = buffer,
                                .name = buffer->name,
                                .misalign = (uint32_t)(buffer->address_offset & 4095),
                                .writable = buffer->writable};
        if (!buffer->initialised)
            region.init = arena_array(arena, uint8_t, buffer->bytes + 1);
        add_region(memory, region);
        buffer->address = memory->regions[memory->region_count - 1].base;
    }
    return memory;
}

/* ---- patterns ---- */

/* Wavefronts beyond the first, counted as hardware serves wide accesses: by parts of a warp. */
uint32_t mem_conflicts(const uint32_t *offsets, uint32_t mask, uint32_t bytes)
{
    uint32_t parts = bytes <= 4 ? 1 : bytes / 4;
    uint32_t lanes = LANES / (parts > 8 ? 8 : parts);
    uint32_t words = bytes <= 4 ? 1 : bytes / 4;
    uint32_t extra = 0;
    for (uint32_t first = 0; first < LANES; first += lanes) {
        uint32_t seen[BANKS][LANES];
        uint8_t used[BANKS] = {0};
        uint32_t worst = 0;
        for (uint32_t i = first; i < first + lanes; i++) {
            for (uint32_t k = 0; k < words && (mask >> i & 1); k++) {
                uint32_t word = (offsets[i] >> 2) + k;
                uint32_t bank = word % BANKS;
                uint32_t at = 0;
                while (at < used[bank] && seen[bank][at] != word)
                    at++;
                if (at == used[bank] && at < LANES)
                    seen[bank][used[bank]++] = word;
                worst = used[bank] > worst ? used[bank] : worst;
            }
        }
        extra += worst > 1 ? worst - 1 : 0;
    }
    return extra;
}

/* Distinct 32-byte sectors. */
uint32_t mem_sectors(const uint32_t *offsets, uint32_t mask, uint32_t bytes, uint32_t misalign)
{
    enum { SLOTS = 128 };
    uint32_t table[SLOTS] = {0}; /* 1 + sector */
    uint32_t count = 0;
    for (; mask; mask &= mask - 1) {
        uint32_t start = offsets[__builtin_ctz(mask)] + misalign;
        for (uint32_t s = start / SECTOR_BYTES; s <= (start + bytes - 1) / SECTOR_BYTES; s++) {
            uint32_t at = s * 2654435761U >> 25;
            while (table[at] && table[at] != s + 1)
                at = (at + 1) % SLOTS;
            count += table[at] == 0;
            table[at] = s + 1;
        }
    }
    return count;
}

/* ---- one lane ---- */

uint64_t mem_address(const struct warp *w, const struct insn *in, int lane)
{
    const unsigned char *at = w->base[in->a & 1] + (in->a & ~1U);
    if (in->wide) {
        uint64_t wide;
        memcpy(&wide, at + (size_t)lane * sizeof(wide), sizeof(wide));
        return wide + (uint64_t)in->imm;
    }
    uint32_t narrow;
    memcpy(&narrow, at + (size_t)lane * sizeof(narrow), sizeof(narrow));
    return (uint32_t)(narrow + (uint32_t)in->imm);
}

struct target {
    struct fault_place place; /* for messages */
    unsigned char *data;
    uint64_t offset, bytes;
    uint32_t misalign;
    struct region *region;
    struct block *block; /* shared memory of */
    bool local;
};

static void target_shared(struct warp *w, uint64_t address, struct target *t)
{
    uint32_t rank = (uint32_t)(address >> CLUSTER_SHIFT) & 0xffff;
    struct block *block = w->block;
    t->place.space = "shared";
    if (rank > 0 && block->cluster && rank <= block->cluster->count) {
        block = block->cluster->blocks[rank - 1];
        address &= SHARED_ADDR_MASK;
        if (block->live_warps == 0)
            t->place.gone = true;
    }
    t->block = block;
    t->data = block->shared;
    t->bytes = w->run->shared_bytes;
    t->offset = address - SHARED_BASE;
}

static void target_local(struct warp *w, int lane, uint64_t address, struct target *t)
{
    t->place.space = "local";
    t->local = true;
    t->data = w->local + (size_t)lane * w->local_stride;
    t->bytes = w->local_stride;
    t->offset = address;
}

static void target_region(struct warp *w, uint64_t address, enum space space, struct target *t)
{
    uint64_t id = address >> WINDOW_SHIFT;
    t->place.space = space == SPACE_CONST ? "const" : space == SPACE_PARAM ? "param" : "global";
    t->offset = address;
    if (id == WINDOW_PARAM) {
        t->region = &w->run->params;
        t->place.space = "param";
    } else if (id >= WINDOW_FIRST_REGION && id - WINDOW_FIRST_REGION < w->run->region_count) {
        t->region = &w->run->regions[id - WINDOW_FIRST_REGION];
    } else {
        return;
    }
    t->place.buffer = t->region->name;
    t->data = t->region->data;
    t->bytes = t->region->bytes;
    t->misalign = t->region->misalign;
    t->offset = address - t->region->base;
}

static void find_target(struct warp *w, int lane, enum space space, uint64_t address,
                        struct target *t)
{
    *t = (struct target){0};
    uint64_t window = address >> WINDOW_SHIFT;
    if (space == SPACE_SHARED)
        target_shared(w, address, t);
    else if (space == SPACE_LOCAL)
        target_local(w, lane, address, t);
    else if (space == SPACE_GENERIC && window == WINDOW_SHARED)
        target_shared(w, address - WINDOW_BASE(WINDOW_SHARED), t);
    else if (space == SPACE_GENERIC && window == WINDOW_LOCAL)
        target_local(w, lane, address - WINDOW_BASE(WINDOW_LOCAL), t);
    else
        target_region(w, address, space, t);
    t->place.offset = t->offset;
    t->place.bytes = t->bytes;
    t->place.address = address;
}

static bool check_bounds(struct warp *w, const struct insn *in, int lane, const struct target *t,
                         uint32_t bytes, enum mem_access access)
{
    bool writes = access == MEM_WRITE || access == MEM_ATOMIC;
    if (!t->data || bytes > t->bytes || t->offset > t->bytes - bytes || t->place.gone) {
        fault_bounds(w, in, lane, &t->place, bytes, writes);
        return false;
    }
    /* A copy that zero-fills its end may read any number of bytes. */
    bool natural = (bytes & (bytes - 1)) == 0;
    if (natural && ((t->offset + t->misalign) & (bytes - 1))) {
        fault_at(w, in, lane, PTX_FAULT_MISALIGNED, &t->place,
                 "%u-byte access to an address that is no multiple of %u", bytes, bytes);
        return false;
    }
    if (writes && t->region && !t->region->writable) {
        fault_at(w, in, lane, PTX_FAULT_READ_ONLY, &t->place, "write to read-only memory");
        return false;
    }
    return true;
}

/* Does the access look at what is there?  An exchange whose old value is dropped does not. */
static bool looks(const struct insn *in, enum mem_access access)
{
    return access == MEM_READ || access == MEM_PLAIN_READ ||
           (access == MEM_ATOMIC && in->mode != ATOM_EXCH);
}

/* Local memory and buffers: was what is read ever written? */
static bool check_written(struct warp *w, const struct insn *in, int lane, const struct target *t,
                          uint32_t bytes, enum mem_access access)
{
    uint8_t *init = t->region ? t->region->init : NULL;
    size_t at = t->offset;
    if (t->local && w->local_init) {
        init = w->local_init;
        at += (size_t)lane * w->local_stride;
    }
    if (!init)
        return true;
    if (looks(in, access) && w->run->check) {
        uint32_t written = 0;
        for (uint32_t i = 0; i < bytes; i++)
            written += init[at + i] != 0;
        /* Padding of a structure is copied along: in local memory one written byte is enough. */
        if (written < (t->local ? 1 : bytes)) {
            fault_at(w, in, lane, PTX_FAULT_UNINITIALISED, &t->place,
                     "read of memory that was never written");
            return false;
        }
    }
    if (access == MEM_WRITE || access == MEM_ATOMIC)
        memset(init + at, 1, bytes);
    return true;
}

static void count_access(struct warp *w, const struct target *t, uint32_t bytes,
                         enum mem_access access)
{
    bool reads = access != MEM_WRITE;
    bool writes = access == MEM_WRITE || access == MEM_ATOMIC;
    if (t->region && t->region->buffer) {
        struct ptx_buffer *b = t->region->buffer;
        b->bytes_read += reads ? bytes : 0;
        b->bytes_written += writes ? bytes : 0;
        b->sectors_read += reads;
        b->sectors_written += writes;
    } else if (t->block) {
        w->run->counts.shared_bytes_read += reads ? bytes : 0;
        w->run->counts.shared_bytes_written += writes ? bytes : 0;
    }
}

static bool check_race(struct warp *w, const struct insn *in, int lane, struct target *t,
                       uint32_t bytes, enum mem_access access)
{
    bool strong = in->strong || access == MEM_ATOMIC;
    bool reads = looks(in, access);
    if (t->block && t->block->shadow.write_time) {
        uint32_t grain = w->run->shared_grain;
        uint32_t first = (uint32_t)t->offset >> grain;
        uint32_t cells = bytes >> grain ? bytes >> grain : 1;
        if (t->block != w->block)
            return shadow_remote(w, in, lane, t->block, first, cells, access != MEM_READ);
        if (strong)
            return shadow_shared_strong(w, in, lane, first, cells, reads, access != MEM_READ);
        return access == MEM_READ ? shadow_shared_read(w, in, lane, first, cells) : true;
    }
    if (t->region && strong && t->region->buffer)
        return shadow_global_strong(w, in, lane, t->region, (uint32_t)t->offset, bytes,
                                    access != MEM_READ);
    if (t->region && !strong && t->region->pages && access == MEM_READ)
        return shadow_global_read(w, in, lane, t->region, (uint32_t)t->offset, bytes);
    return true;
}

void *mem_lane(struct warp *w, const struct insn *in, int lane, enum space space, uint64_t address,
               uint32_t bytes, enum mem_access access)
{
    struct target t;
    find_target(w, lane, space, address, &t);
    if (!check_bounds(w, in, lane, &t, bytes, access) ||
        !check_written(w, in, lane, &t, bytes, access))
        return NULL;
    if (access != MEM_PLAIN_READ && !check_race(w, in, lane, &t, bytes, access))
        return NULL;
    if (t.region && t.region->writable && (in->strong || access == MEM_ATOMIC))
        w->block->strong_global = true;
    count_access(w, &t, bytes, access);
    return t.data + t.offset;
}

/* ---- lane by lane ---- */

static void put_lane(struct warp *w, const struct insn *in, int lane, const unsigned char *from)
{
    for (int k = 0; k < in->count; k++) {
        uint64_t value = 0;
        memcpy(&value, from + (size_t)k * in->size, in->size);
        unsigned char *reg = w->base[0] + in->u.list[k];
        if (in->size == 8) {
            memcpy(reg + (size_t)lane * 8, &value, 8);
            continue;
        }
        uint32_t narrow = (uint32_t)value;
        if (in->flags) /* sign-extended */
            narrow = in->size == 1 ? (uint32_t)(int32_t)(int8_t)value
                                   : (uint32_t)(int32_t)(int16_t)value;
        memcpy(reg + (size_t)lane * 4, &narrow, 4);
    }
}

static void get_lane(struct warp *w, const struct insn *in, int lane, unsigned char *to)
{
    for (int k = 0; k < in->count; k++) {
        const unsigned char *reg = operand(w, in->u.list[k]);
        memcpy(to + (size_t)k * in->size, reg + (size_t)lane * (in->size == 8 ? 8 : 4), in->size);
    }
}

static uint64_t digest_bytes(uint64_t digest, const unsigned char *from, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; at += 8) {
        uint64_t word = 0;
        memcpy(&word, from + at, bytes - at < 8 ? bytes - at : 8);
        digest = mem_digest(digest, word);
    }
    return digest;
}

static void finish_strong(struct warp *w)
{
    if (w->block->strong_global)
        clock_acquire_global(w);
    w->block->strong_global = false;
}

bool mem_load_slow(struct warp *w, const struct insn *in)
{
    uint32_t bytes = (uint32_t)in->size * in->count;
    uint64_t saw = w->mask;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        uint64_t address = mem_address(w, in, lane);
        const unsigned char *from =
            mem_lane(w, in, lane, (enum space)in->space, address, bytes, MEM_READ);
        if (!from)
            return false;
        put_lane(w, in, lane, from);
        if (in->strong)
            saw = digest_bytes(mem_digest(saw, address), from, bytes);
    }
    if (!in->strong)
        return true;
    w->run->communicates |= w->block->strong_global;
    w->block->polls += w->block->strong_global;
    finish_strong(w);
    return warp_polled(w, in, saw);
}

bool mem_store_slow(struct warp *w, const struct insn *in)
{
    uint32_t bytes = (uint32_t)in->size * in->count;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        unsigned char value[64];
        uint64_t address = mem_address(w, in, lane);
        unsigned char *to = mem_lane(w, in, lane, (enum space)in->space, address, bytes, MEM_WRITE);
        if (!to)
            return false;
        get_lane(w, in, lane, value);
        if (!in->strong && !mem_write_race(w, in, lane, address, bytes, to, value))
            return false;
        memcpy(to, value, bytes);
    }
    w->run->stores++;
    publish_strong_near(w, in);
    if (in->strong && w->block->strong_global)
        publish_strong(w, in);
    if (in->strong)
        finish_strong(w);
    return true;
}

/* A plain store's race check, which wants to know whether it changes anything. */
bool mem_write_race(struct warp *w, const struct insn *in, int lane, uint64_t address,
                    uint32_t bytes, const unsigned char *old, const unsigned char *value)
{
    struct target t;
    find_target(w, lane, (enum space)in->space, address, &t);
    bool same = memcmp(old, value, bytes) == 0;
    uint32_t grain = w->run->shared_grain;
    if (t.block == w->block && t.block->shadow.write_time)
        return shadow_shared_write(w, in, lane, (uint32_t)t.offset >> grain, bytes >> grain, same);
    if (t.region && t.region->pages)
        return shadow_global_write(w, in, lane, t.region, (uint32_t)t.offset, bytes, same);
    return true;
}
