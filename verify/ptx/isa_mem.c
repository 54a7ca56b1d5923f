/*
 * Loads and stores of a whole warp.
 *
 * The lanes' addresses become offsets into one region, checked against its size together; a warp
 * that strays, or is misaligned, is done again lane by lane in memory.c, which finds the culprit.
 * Offsets that count up by the access's size, and equal ones, are recognised: they make up most
 * accesses and need no gather, no conflict count and only ranges of shadow.
 *
 * Invariant: data is touched only after every active lane's offset was compared with the region's
 * size; inactive lanes borrow an active one's offset.  Checks come before the data for loads, and
 * before each lane's data for stores.
 */
#include "verify/ptx/isa_int.h"
#include "verify/ptx/mem_int.h"

enum pattern { PATTERN_ANY, PATTERN_ROW, PATTERN_SAME };

struct place {
    unsigned char *data;
    uint64_t base, bytes;
    uint32_t misalign;
};

struct span {
    alignas(64) uint32_t off[LANES];
    enum pattern pattern;
};

static inline uint32_t lane_bit(uint32_t mask, int i)
{
    return mask >> i & 1;
}

/* Offsets of `bytes` each; false = some active lane is outside or misaligned. */
static inline bool resolve(struct warp *w, const struct insn *in, const struct place *place,
                           uint32_t bytes, struct span *span)
{
    const uint32_t mask = w->mask;
    if (place->bytes < bytes)
        return false;
    alignas(64) uint64_t at[LANES];
    const uint64_t shift = (uint64_t)in->imm - place->base;
    if (in->wide) {
        LANE_SOURCE(u64, pa, a)
        LANE_LOOP
        {
            at[i] = pa[i] + shift;
        }
    } else {
        LANE_SOURCE(u32, pa, a)
        LANE_LOOP
        {
            at[i] = (uint32_t)(pa[i] + (uint32_t)in->imm) - place->base;
        }
    }
    const uint64_t limit = place->bytes - bytes;
    const uint64_t lead = at[__builtin_ctz(mask)];
    uint64_t bad = 0;
    if (mask != (uint32_t)ALL_LANES) {
        LANE_LOOP
        {
            at[i] = lane_bit(mask, i) ? at[i] : lead;
        }
    }
    LANE_LOOP
    {
        bad |= at[i] > limit ? 1 : 0;
        span->off[i] = (uint32_t)at[i];
    }
    uint32_t row = 0, same = 0, align = 0;
    const uint32_t first = span->off[0];
    LANE_LOOP
    {
        row |= span->off[i] ^ (first + (uint32_t)i * bytes);
        same |= span->off[i] ^ first;
        align |= span->off[i] + place->misalign;
    }
    bool full = mask == (uint32_t)ALL_LANES;
    span->pattern = full && row == 0 ? PATTERN_ROW : same == 0 ? PATTERN_SAME : PATTERN_ANY;
    return bad == 0 && (align & (bytes - 1)) == 0;
}

/* ---- shared memory's shadow ---- */

static inline void mark_read(struct shadow *s, uint32_t cell, uint32_t seen, uint32_t time,
                             uint32_t bit, uint32_t who)
{
    bool fresh = s->read_time[cell] <= seen;
    uint32_t before = s->read_who[cell];
    bool other = !fresh && ((before ^ who) & 1023) != 0;
    s->read_time[cell] = fresh ? time : s->read_time[cell];
    s->readers[cell] = bit | (fresh ? 0 : s->readers[cell]);
    const uint32_t flags = fresh ? 0 : before & (SHADOW_MANY | SHADOW_LANES);
    s->read_who[cell] = who | flags | (other ? SHADOW_MANY : 0);
}

static inline void mark_read_row(struct warp *w, uint32_t first, uint32_t per_lane, uint32_t who)
{
    struct shadow *s = &w->block->shadow;
    const uint32_t seen = w->seen_min, time = w->run->time, bit = 1U << w->index;
    for (uint32_t i = 0; i < LANES; i++)
        for (uint32_t k = 0; k < per_lane; k++)
            mark_read(s, first + i * per_lane + k, seen, time, bit, who + i);
}

/* A row of cells written by the lanes in order, so many each. */
static inline void put_who(uint32_t *to, uint32_t who, uint32_t per_lane)
{
    if (per_lane == 1) {
        for (uint32_t i = 0; i < LANES; i++)
            to[i] = who + i;
        return;
    }
    for (uint32_t i = 0; i < LANES; i++)
        for (uint32_t k = 0; k < per_lane; k++)
            to[i * per_lane + k] = who + i;
}

static inline bool row_is_quiet(const struct warp *w, uint32_t first, uint32_t count)
{
    const uint32_t *times = w->block->shadow.write_time + first;
    const uint32_t seen = w->seen_min;
    uint32_t bad = 0;
    for (uint32_t k = 0; k < count; k++)
        bad |= (uint32_t)(times[k] > seen) | (uint32_t)(times[k] == 0);
    return bad == 0;
}

static inline bool lanes_are_quiet(const struct warp *w, const struct span *span, uint32_t grain,
                                   uint32_t cells)
{
    const uint32_t *times = w->block->shadow.write_time;
    const uint32_t seen = w->seen_min;
    uint32_t bad = 0;
    for (uint32_t k = 0; k < cells; k++) {
        LANE_LOOP
        {
            const uint32_t t = times[(span->off[i] >> grain) + k];
            bad |= (uint32_t)(t > seen) | (uint32_t)(t == 0);
        }
    }
    return bad == 0;
}

static inline bool shared_read_slow(struct warp *w, const struct insn *in, const struct span *span,
                                    uint32_t cells)
{
    const uint32_t grain = w->run->shared_grain;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        if (!shadow_shared_read(w, in, i, span->off[i] >> grain, cells))
            return false;
    }
    return true;
}

/* Was all of it written, in order with this warp?  Notes the reads. */
static inline bool shared_read(struct warp *w, const struct insn *in, const struct span *span,
                               uint32_t bytes)
{
    struct shadow *s = &w->block->shadow;
    if (!s->write_time)
        return true;
    const uint32_t grain = w->run->shared_grain;
    const uint32_t cells = bytes >> grain;
    const uint32_t first = span->off[0] >> grain;
    if (span->pattern == PATTERN_ROW && row_is_quiet(w, first, cells * LANES)) {
        mark_read_row(w, first, cells, shadow_who(w, in, 0));
        return true;
    }
    if (!lanes_are_quiet(w, span, grain, cells))
        return shared_read_slow(w, in, span, cells);
    const uint32_t seen = w->seen_min, time = w->run->time, bit = 1U << w->index;
    const uint32_t who = shadow_who(w, in, 0);
    if (span->pattern == PATTERN_SAME) {
        uint32_t many = w->mask & (w->mask - 1) ? SHADOW_MANY | SHADOW_LANES : 0;
        for (uint32_t k = 0; k < cells; k++) {
            mark_read(s, first + k, seen, time, bit, who + (uint32_t)__builtin_ctz(w->mask));
            s->read_who[first + k] |= many;
        }
        return true;
    }
    uint32_t last = UINT32_MAX;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        const uint32_t at = span->off[i] >> grain;
        for (uint32_t k = 0; k < cells; k++) {
            if (at == last)
                s->read_who[at + k] |= SHADOW_MANY | SHADOW_LANES;
            else
                mark_read(s, at + k, seen, time, bit, who + i);
        }
        last = at;
    }
    return true;
}

/* A row of cells that nobody else can have touched since: overwrite their shadow. */
static inline bool shared_write_row(struct warp *w, const struct insn *in, const struct span *span,
                                    uint32_t bytes)
{
    struct shadow *s = &w->block->shadow;
    const uint32_t grain = w->run->shared_grain;
    const uint32_t cells = bytes >> grain;
    const uint32_t first = span->off[0] >> grain, count = cells * LANES;
    const uint32_t seen = w->seen_min, time = w->run->time;
    uint32_t bad = 0;
    for (uint32_t k = 0; k < count; k++)
        bad |= (uint32_t)(s->write_time[first + k] > seen) |
               (uint32_t)(s->read_time[first + k] > seen);
    if (bad)
        return false;
    put_who(s->write_who + first, shadow_who(w, in, 0), cells);
    for (uint32_t k = 0; k < count; k++) {
        s->write_time[first + k] = time;
        s->read_time[first + k] = 0;
        s->readers[first + k] = 0;
        s->read_who[first + k] = 0;
    }
    return true;
}

/* One lane's cells, if nobody else can have touched them since. */
static inline bool claim_cells(struct warp *w, const struct insn *in, uint32_t first,
                               uint32_t cells, int lane)
{
    struct shadow *s = &w->block->shadow;
    const uint32_t seen = w->seen_min, time = w->run->time;
    for (uint32_t k = 0; k < cells; k++)
        if (s->write_time[first + k] > seen || s->read_time[first + k] > seen)
            return false;
    const uint32_t who = shadow_who(w, in, lane);
    for (uint32_t k = 0; k < cells; k++) {
        s->write_time[first + k] = time;
        s->write_who[first + k] = who;
        s->read_time[first + k] = 0;
        s->readers[first + k] = 0;
        s->read_who[first + k] = 0;
    }
    return true;
}

/* ---- global memory's shadow ---- */

static inline bool init_row(const uint8_t *init, uint32_t count)
{
    uint32_t bad = 0;
    for (uint32_t k = 0; k < count; k++)
        bad |= init[k] == 0;
    return bad == 0;
}

static inline bool global_is_written(const struct warp *w, const struct region *rg,
                                     const struct span *span, uint32_t bytes)
{
    if (!rg->init || !w->run->check)
        return true;
    if (span->pattern == PATTERN_ROW)
        return init_row(rg->init + span->off[0], bytes * LANES);
    for (uint32_t left = w->mask; left; left &= left - 1)
        if (!init_row(rg->init + span->off[__builtin_ctz(left)], bytes))
            return false;
    return true;
}

static inline bool global_read(struct warp *w, const struct insn *in, struct region *rg,
                               const struct span *span, uint32_t bytes)
{
    if (!rg->pages)
        return true;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        if (!shadow_global_read(w, in, i, rg, span->off[i], bytes))
            return false;
    }
    return true;
}

/* A row of untouched cells in one page, the usual case of an output. */
static inline bool global_write_row(struct warp *w, const struct insn *in, struct region *rg,
                                    const struct span *span, uint32_t bytes)
{
    const uint32_t grain = w->run->global_grain;
    const uint32_t start = span->off[0], length = bytes * LANES;
    if (start / SHADOW_PAGE_BYTES != (start + length - 1) / SHADOW_PAGE_BYTES)
        return false;
    struct shadow *s = shadow_page(w->run, rg, start);
    if (!s)
        return true;
    const uint32_t first = start % SHADOW_PAGE_BYTES >> grain;
    const uint32_t cells = bytes >> grain, count = cells * LANES;
    const uint32_t time = w->run->time;
    uint32_t bad = 0;
    for (uint32_t k = 0; k < count; k++)
        bad |= s->write_time[first + k];
    for (uint32_t k = 0; s->read_time && k < count; k++)
        bad |= s->read_time[first + k];
    if (bad)
        return false;
    const uint32_t block = (uint32_t)w->block->ordinal + 1;
    put_who(s->write_who + first, shadow_who(w, in, 0), cells);
    for (uint32_t k = 0; k < count; k++) {
        s->write_time[first + k] = time;
        s->write_block[first + k] = block;
    }
    return true;
}

/* ---- counters ---- */

static inline void count_shared(struct warp *w, const struct span *span, uint32_t bytes,
                                uint64_t *total)
{
    *total += (uint64_t)bytes * w->lanes;
    if (span->pattern != PATTERN_ANY)
        return;
    uint32_t low = UINT32_MAX, high = 0;
    LANE_LOOP
    {
        low = span->off[i] < low ? span->off[i] : low;
        high = span->off[i] > high ? span->off[i] : high;
    }
    if ((high >> 2) - (low >> 2) >= LANES || bytes > 4)
        w->run->counts.bank_conflicts += mem_conflicts(span->off, w->mask, bytes);
}

/* Distinct 32-byte sectors; offsets within 2 KB of each other are bits of a word. */
static inline uint32_t sectors(const struct warp *w, const struct region *rg,
                               const struct span *span, uint32_t bytes)
{
    if (span->pattern != PATTERN_ANY) {
        uint32_t start = span->off[0] + rg->misalign;
        uint32_t length = span->pattern == PATTERN_ROW ? bytes * LANES : bytes;
        return (start + length - 1) / 32 - start / 32 + 1;
    }
    alignas(64) uint32_t sector[LANES];
    uint32_t low = UINT32_MAX, high = 0;
    LANE_LOOP
    {
        sector[i] = (span->off[i] + rg->misalign) >> 5;
        low = sector[i] < low ? sector[i] : low;
        high = sector[i] > high ? sector[i] : high;
    }
    if (high - low > 62 || (rg->misalign & (bytes - 1)) != 0)
        return mem_sectors(span->off, w->mask, bytes, rg->misalign);
    uint64_t set = 0;
    LANE_LOOP
    {
        set |= 1ULL << (sector[i] - low);
    }
    return (uint32_t)__builtin_popcountll(set);
}

/* ---- data ---- */

#define TYPE_u8  uint8_t
#define TYPE_s8  int8_t
#define TYPE_u16 uint16_t
#define TYPE_s16 int16_t
#define TYPE_u32 uint32_t
#define TYPE_u64 uint64_t

#define LOAD_DATA(T)                                                                               \
    static inline void load_##T(struct warp *w, const struct insn *in, const unsigned char *data,  \
                                const struct span *span)                                           \
    {                                                                                              \
        const bool full = w->mask == (uint32_t)ALL_LANES;                                          \
        for (int k = 0; k < in->count; k++) {                                                      \
            STORE_##T *const reg = ALIGNED(w->base[0] + in->u.list[k]);                            \
            alignas(64) STORE_##T part[LANES];                                                     \
            STORE_##T *const out = full ? reg : part;                                              \
            const unsigned char *from = data + (size_t)k * sizeof(TYPE_##T);                       \
            if (span->pattern == PATTERN_ROW && in->count == 1) {                                  \
                from += span->off[0];                                                              \
                for (int i = 0; i < LANES; i++) {                                                  \
                    TYPE_##T x;                                                                    \
                    memcpy(&x, from + (size_t)i * sizeof(x), sizeof(x));                           \
                    out[i] = (STORE_##T)PUT_##T(x);                                                \
                }                                                                                  \
            } else {                                                                               \
                for (int i = 0; i < LANES; i++) {                                                  \
                    TYPE_##T x;                                                                    \
                    memcpy(&x, from + span->off[i], sizeof(x));                                    \
                    out[i] = (STORE_##T)PUT_##T(x);                                                \
                }                                                                                  \
            }                                                                                      \
            if (!full)                                                                             \
                blend(reg, part, w->mask, sizeof(part[0]));                                        \
        }                                                                                          \
    }

#define STORE_DATA(T)                                                                              \
    static inline void store_##T(struct warp *w, const struct insn *in, unsigned char *data,       \
                                 const struct span *span)                                          \
    {                                                                                              \
        for (int k = 0; k < in->count; k++) {                                                      \
            const STORE_##T *const reg = ALIGNED(operand(w, in->u.list[k]));                       \
            unsigned char *to = data + (size_t)k * sizeof(TYPE_##T);                               \
            if (span->pattern == PATTERN_ROW && in->count == 1) {                                  \
                to += span->off[0];                                                                \
                for (int i = 0; i < LANES; i++) {                                                  \
                    TYPE_##T x = (TYPE_##T)reg[i];                                                 \
                    memcpy(to + (size_t)i * sizeof(x), &x, sizeof(x));                             \
                }                                                                                  \
            } else {                                                                               \
                for (uint32_t left = w->mask; left; left &= left - 1) {                            \
                    int i = __builtin_ctz(left);                                                   \
                    TYPE_##T x = (TYPE_##T)reg[i];                                                 \
                    memcpy(to + span->off[i], &x, sizeof(x));                                      \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

LOAD_DATA(u8)
LOAD_DATA(s8)
LOAD_DATA(u16)
LOAD_DATA(s16)
LOAD_DATA(u32)
LOAD_DATA(u64)
STORE_DATA(u8)
STORE_DATA(u16)
STORE_DATA(u32)
STORE_DATA(u64)

/* ---- instructions ---- */

/* The region the first active lane points into, if it is one of buffers and variables. */
static inline struct region *lead_region(struct warp *w, const struct insn *in)
{
    uint64_t address = mem_address(w, in, __builtin_ctz(w->mask));
    uint64_t id = address >> WINDOW_SHIFT;
    if (id < WINDOW_FIRST_REGION || id - WINDOW_FIRST_REGION >= w->run->region_count)
        return NULL;
    return &w->run->regions[id - WINDOW_FIRST_REGION];
}

static inline struct place region_place(const struct region *rg)
{
    return (struct place){rg->data, rg->base, rg->bytes, rg->misalign};
}

static inline struct place shared_place(const struct warp *w, uint64_t window)
{
    return (struct place){w->block->shared, window + SHARED_BASE, w->run->shared_bytes, 0};
}

#define LOAD_GLOBAL(T)                                                                             \
    static inline bool load_global_##T(struct warp *w, const struct insn *in)                      \
    {                                                                                              \
        const uint32_t bytes = (uint32_t)sizeof(TYPE_##T) * in->count;                             \
        struct region *rg = lead_region(w, in);                                                    \
        struct span span;                                                                          \
        if (!rg || in->strong)                                                                     \
            return false;                                                                          \
        const struct place place = region_place(rg);                                               \
        if (!resolve(w, in, &place, bytes, &span) || !global_is_written(w, rg, &span, bytes))      \
            return false;                                                                          \
        if (!global_read(w, in, rg, &span, bytes))                                                 \
            return true;                                                                           \
        if (rg->buffer) {                                                                          \
            rg->buffer->bytes_read += (uint64_t)bytes * w->lanes;                                  \
            rg->buffer->sectors_read += sectors(w, rg, &span, bytes);                              \
        }                                                                                          \
        load_##T(w, in, rg->data, &span);                                                          \
        return true;                                                                               \
    }                                                                                              \
    const struct insn *ISA(lane_LDG_##T)(struct warp * w, const struct insn *in)                   \
    {                                                                                              \
        if (w->mask == 0)                                                                          \
            return in + 1;                                                                         \
        if (!load_global_##T(w, in) && !mem_load_slow(w, in))                                      \
            return w->limit;                                                                       \
        return w->run->faulted ? w->limit : in + 1;                                                \
    }

#define LOAD_SHARED(T)                                                                             \
    static inline bool load_shared_##T(struct warp *w, const struct insn *in, uint64_t window)     \
    {                                                                                              \
        const uint32_t bytes = (uint32_t)sizeof(TYPE_##T) * in->count;                             \
        struct span span;                                                                          \
        const struct place place = shared_place(w, window);                                        \
        if (in->strong || !resolve(w, in, &place, bytes, &span))                                   \
            return false;                                                                          \
        if (!shared_read(w, in, &span, bytes))                                                     \
            return true;                                                                           \
        count_shared(w, &span, bytes, &w->run->counts.shared_bytes_read);                          \
        load_##T(w, in, w->block->shared, &span);                                                  \
        return true;                                                                               \
    }                                                                                              \
    const struct insn *ISA(lane_LDS_##T)(struct warp * w, const struct insn *in)                   \
    {                                                                                              \
        if (w->mask == 0)                                                                          \
            return in + 1;                                                                         \
        if (!load_shared_##T(w, in, 0) && !mem_load_slow(w, in))                                   \
            return w->limit;                                                                       \
        return w->run->faulted ? w->limit : in + 1;                                                \
    }

/* Generic, local, constant and parameter memory: by what the first lane points at. */
#define LOAD_OTHER(T)                                                                              \
    const struct insn *ISA(lane_LDO_##T)(struct warp * w, const struct insn *in)                   \
    {                                                                                              \
        bool done = false;                                                                         \
        if (w->mask == 0)                                                                          \
            return in + 1;                                                                         \
        if (in->space != SPACE_LOCAL) {                                                            \
            uint64_t lead = mem_address(w, in, __builtin_ctz(w->mask)) >> WINDOW_SHIFT;            \
            done = lead == WINDOW_SHARED && in->space == SPACE_GENERIC                             \
                       ? load_shared_##T(w, in, WINDOW_BASE(WINDOW_SHARED))                        \
                       : load_global_##T(w, in);                                                   \
        }                                                                                          \
        if (!done && !mem_load_slow(w, in))                                                        \
            return w->limit;                                                                       \
        return w->run->faulted ? w->limit : in + 1;                                                \
    }

/* Kernel parameters at known places: the same for all lanes. */
#define LOAD_PARAM(T)                                                                              \
    const struct insn *ISA(lane_LDP_##T)(struct warp * w, const struct insn *in)                   \
    {                                                                                              \
        const unsigned char *from = w->run->params.data + in->imm;                                 \
        for (int k = 0; k < in->count; k++) {                                                      \
            STORE_##T *const reg = ALIGNED(w->base[0] + in->u.list[k]);                            \
            alignas(64) STORE_##T part[LANES];                                                     \
            TYPE_##T x;                                                                            \
            memcpy(&x, from + (size_t)k * sizeof(x), sizeof(x));                                   \
            LANE_LOOP                                                                              \
            {                                                                                      \
                part[i] = (STORE_##T)PUT_##T(x);                                                   \
            }                                                                                      \
            blend(reg, part, w->mask, sizeof(part[0]));                                            \
        }                                                                                          \
        return in + 1;                                                                             \
    }

#define LOADS(T)                                                                                   \
    LOAD_GLOBAL(T)                                                                                 \
    LOAD_SHARED(T)                                                                                 \
    LOAD_OTHER(T)                                                                                  \
    LOAD_PARAM(T)
LOADS(u8)
LOADS(s8)
LOADS(u16)
LOADS(s16)
LOADS(u32)
LOADS(u64)

/* One lane's elements; `same` = they equal what is there. */
#define STORE_LANE(T)                                                                              \
    static inline bool same_lane_##T(struct warp *w, const struct insn *in,                        \
                                     const unsigned char *at, int i)                               \
    {                                                                                              \
        bool same = true;                                                                          \
        for (int k = 0; k < in->count; k++) {                                                      \
            const STORE_##T *const reg = operand(w, in->u.list[k]);                                \
            TYPE_##T x = (TYPE_##T)reg[i];                                                         \
            same &= memcmp(at + (size_t)k * sizeof(x), &x, sizeof(x)) == 0;                        \
        }                                                                                          \
        return same;                                                                               \
    }                                                                                              \
    static inline void store_lane_##T(struct warp *w, const struct insn *in, unsigned char *at,    \
                                      int i)                                                       \
    {                                                                                              \
        for (int k = 0; k < in->count; k++) {                                                      \
            const STORE_##T *const reg = operand(w, in->u.list[k]);                                \
            TYPE_##T x = (TYPE_##T)reg[i];                                                         \
            memcpy(at + (size_t)k * sizeof(x), &x, sizeof(x));                                     \
        }                                                                                          \
    }

#define STORE_GLOBAL(T)                                                                            \
    static inline void store_watched_##T(struct warp *w, const struct insn *in, struct region *rg, \
                                         const struct span *span, uint32_t bytes)                  \
    {                                                                                              \
        for (uint32_t left = w->mask; left; left &= left - 1) {                                    \
            int i = __builtin_ctz(left);                                                           \
            unsigned char *at = rg->data + span->off[i];                                           \
            bool same = same_lane_##T(w, in, at, i);                                               \
            if (!shadow_global_write(w, in, i, rg, span->off[i], bytes, same))                     \
                return;                                                                            \
            store_lane_##T(w, in, at, i);                                                          \
        }                                                                                          \
    }                                                                                              \
    static inline bool store_global_##T(struct warp *w, const struct insn *in)                     \
    {                                                                                              \
        const uint32_t bytes = (uint32_t)sizeof(TYPE_##T) * in->count;                             \
        struct region *rg = lead_region(w, in);                                                    \
        struct span span;                                                                          \
        if (!rg || in->strong || !rg->writable)                                                    \
            return false;                                                                          \
        const struct place place = region_place(rg);                                               \
        if (!resolve(w, in, &place, bytes, &span))                                                 \
            return false;                                                                          \
        w->run->stores++;                                                                          \
        if (rg->init && span.pattern == PATTERN_ROW)                                               \
            memset(rg->init + span.off[0], 1, (size_t)bytes * LANES);                              \
        else if (rg->init)                                                                         \
            for (uint32_t left = w->mask; left; left &= left - 1)                                  \
                memset(rg->init + span.off[__builtin_ctz(left)], 1, bytes);                        \
        if (rg->buffer) {                                                                          \
            rg->buffer->bytes_written += (uint64_t)bytes * w->lanes;                               \
            rg->buffer->sectors_written += sectors(w, rg, &span, bytes);                           \
        }                                                                                          \
        if (!rg->pages ||                                                                          \
            (span.pattern == PATTERN_ROW && global_write_row(w, in, rg, &span, bytes)))            \
            store_##T(w, in, rg->data, &span);                                                     \
        else                                                                                       \
            store_watched_##T(w, in, rg, &span, bytes);                                            \
        return true;                                                                               \
    }                                                                                              \
    const struct insn *ISA(lane_STG_##T)(struct warp * w, const struct insn *in)                   \
    {                                                                                              \
        if (w->mask == 0)                                                                          \
            return in + 1;                                                                         \
        if (!store_global_##T(w, in) && !mem_store_slow(w, in))                                    \
            return w->limit;                                                                       \
        return w->run->faulted ? w->limit : in + 1;                                                \
    }

#define STORE_SHARED(T)                                                                            \
    static inline void store_cells_##T(struct warp *w, const struct insn *in,                      \
                                       const struct span *span, uint32_t cells)                    \
    {                                                                                              \
        const uint32_t grain = w->run->shared_grain;                                               \
        for (uint32_t left = w->mask; left; left &= left - 1) {                                    \
            int i = __builtin_ctz(left);                                                           \
            unsigned char *at = w->block->shared + span->off[i];                                   \
            const uint32_t first = span->off[i] >> grain;                                          \
            if (!claim_cells(w, in, first, cells, i) &&                                            \
                !shadow_shared_write(w, in, i, first, cells, same_lane_##T(w, in, at, i)))         \
                return;                                                                            \
            store_lane_##T(w, in, at, i);                                                          \
        }                                                                                          \
    }                                                                                              \
    static inline bool store_shared_##T(struct warp *w, const struct insn *in, uint64_t window)    \
    {                                                                                              \
        const uint32_t bytes = (uint32_t)sizeof(TYPE_##T) * in->count;                             \
        struct span span;                                                                          \
        const struct place place = shared_place(w, window);                                        \
        if (in->strong || !resolve(w, in, &place, bytes, &span))                                   \
            return false;                                                                          \
        w->run->stores++;                                                                          \
        count_shared(w, &span, bytes, &w->run->counts.shared_bytes_written);                       \
        if (!w->block->shadow.write_time ||                                                        \
            (span.pattern == PATTERN_ROW && shared_write_row(w, in, &span, bytes)))                \
            store_##T(w, in, w->block->shared, &span);                                             \
        else                                                                                       \
            store_cells_##T(w, in, &span, bytes >> w->run->shared_grain);                          \
        return true;                                                                               \
    }                                                                                              \
    const struct insn *ISA(lane_STS_##T)(struct warp * w, const struct insn *in)                   \
    {                                                                                              \
        if (w->mask == 0)                                                                          \
            return in + 1;                                                                         \
        if (!store_shared_##T(w, in, 0) && !mem_store_slow(w, in))                                 \
            return w->limit;                                                                       \
        return w->run->faulted ? w->limit : in + 1;                                                \
    }

#define STORE_OTHER(T)                                                                             \
    const struct insn *ISA(lane_STO_##T)(struct warp * w, const struct insn *in)                   \
    {                                                                                              \
        bool done = false;                                                                         \
        if (w->mask == 0)                                                                          \
            return in + 1;                                                                         \
        if (in->space == SPACE_GENERIC) {                                                          \
            uint64_t lead = mem_address(w, in, __builtin_ctz(w->mask)) >> WINDOW_SHIFT;            \
            done = lead == WINDOW_SHARED ? store_shared_##T(w, in, WINDOW_BASE(WINDOW_SHARED))     \
                                         : store_global_##T(w, in);                                \
        }                                                                                          \
        if (!done && !mem_store_slow(w, in))                                                       \
            return w->limit;                                                                       \
        return w->run->faulted ? w->limit : in + 1;                                                \
    }

#define STORES(T)                                                                                  \
    STORE_LANE(T)                                                                                  \
    STORE_GLOBAL(T)                                                                                \
    STORE_SHARED(T)                                                                                \
    STORE_OTHER(T)
STORES(u8)
STORES(u16)
STORES(u32)
STORES(u64)
