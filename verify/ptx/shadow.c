/*
 * Races, read from a shadow of memory.
 *
 * The launch has one clock that moves at every synchronisation.  A cell keeps the last write's time
 * and thread and the oldest unordered reads; a warp keeps, for every warp of its block, up to which
 * time that warp's accesses are ordered before its own.  So one comparison decides: an access by
 * another thread later than that is a race.  Inside a warp, lanes are ordered by warp-synchronising
 * instructions; across blocks, by strong accesses to global memory, which order their block after
 * everything before that a fence published (publish.c).
 *
 * Invariant: honest kernels are never rejected.  Whenever the order is not certain (several
 * readers, memory ordered through flags and fences, writes of the value already there) the access
 * counts as ordered, so races may be missed but not invented.  Not here: ranges of cells
 * (isa_mem.c).
 */
#include <string.h>

#include "verify/ptx/fault_int.h"
#include "verify/ptx/mem_int.h"

enum { SHADOW_PAGES_BYTES_MAX = 512 << 20, PAGE_ARRAYS = 6 };

uint32_t shadow_who(const struct warp *w, const struct insn *in, int lane)
{
    uint32_t thread = w->index * LANES + (uint32_t)lane;
    return thread | ((uint32_t)(in - w->run->module->code) & SHADOW_INSN_MAX) << 10;
}

/* Outputs are mostly never read, so global pages get these when they are. */
static void shadow_alloc_reads(struct arena *arena, struct shadow *s, uint64_t cells)
{
    size_t n = cells + LANES;
    s->read_time = arena_array(arena, uint32_t, n);
    s->read_who = arena_array(arena, uint32_t, n);
    s->readers = arena_array(arena, uint32_t, n);
}

void shadow_alloc(struct arena *arena, struct shadow *s, uint64_t cells, bool blocks)
{
    size_t n = cells + LANES;
    s->write_time = arena_array(arena, uint32_t, n);
    s->write_who = arena_array(arena, uint32_t, n);
    if (blocks)
        s->write_block = arena_array(arena, uint32_t, n);
    else
        shadow_alloc_reads(arena, s, cells);
}

void shadow_clear(struct shadow *s, uint64_t cells)
{
    size_t bytes = cells * sizeof(uint32_t);
    memset(s->write_time, 0, bytes);
    memset(s->read_time, 0, bytes);
    memset(s->readers, 0, bytes);
}

/* ---- clock ---- */

void clock_tick(struct run *run)
{
    if (run->time < SHADOW_TIME_MAX)
        run->time++;
    else
        run->time_over = true;
}

void clock_warp_sync(struct warp *w)
{
    seen_add(&w->seen, w->index, w->run->time);
    if (w->block->warp_count == 1)
        w->seen_min = w->run->time;
    clock_tick(w->run);
}

void clock_acquire_all(struct warp *w)
{
    for (uint32_t i = 0; i < w->block->warp_count; i++)
        seen_add(&w->seen, i, w->run->time);
    w->seen_min = w->run->time;
    w->block->seen_others = w->run->time;
    clock_tick(w->run);
}

void clock_acquire_global(struct warp *w)
{
    w->block->seen_others = w->run->time;
    /* Warps of one block, too, talk through global memory. */
    publish_acquire_near(w);
    clock_tick(w->run);
}

/* ---- shared memory ---- */

static struct fault_place shared_place(const struct warp *w, uint32_t cell)
{
    return (struct fault_place){.space = "shared",
                                .offset = (uint64_t)cell << w->run->shared_grain,
                                .bytes = w->run->shared_bytes};
}

/* Is an access by the thread in `who` at `time` ordered before what this lane does now? */
static bool is_ordered(const struct warp *w, int lane, uint32_t time, uint32_t who)
{
    uint32_t thread = SHADOW_THREAD(who);
    if (thread == w->index * LANES + (uint32_t)lane)
        return true;
    return seen_lanes(&w->seen, thread / LANES, time) >> thread % LANES & 1;
}

static bool in_flight(struct warp *w, const struct insn *in, int lane, uint32_t cell,
                      const char *verb)
{
    struct fault_place place = shared_place(w, cell);
    fault_at(w, in, lane, PTX_FAULT_LEAKED_WAIT, &place,
             "%s of memory that an asynchronous copy still fills: no wait came before", verb);
    return false;
}

/* Did another warp write this and then say so, by an atomic or a flag? */
static bool is_announced(const struct warp *w, uint32_t who, uint32_t time)
{
    const uint32_t thread = SHADOW_THREAD(who);
    return thread / LANES != w->index &&
           (seen_lanes(&w->block->announced, thread / LANES, time) >> thread % LANES & 1);
}

static const char unfenced[] =
    "race: another warp announced this, by an atomic or a flag, without a __threadfence_block() or "
    "a release behind its write, or without a __syncwarp() before it: read";

/* `flagged` is what to say, rather than `what`, of a write that was announced; or NULL. */
static bool written_before(struct warp *w, const struct insn *in, int lane, uint32_t cell,
                           const char *what, const char *flagged)
{
    const struct shadow *s = &w->block->shadow;
    uint32_t time = s->write_time[cell];
    uint32_t who = s->write_who[cell];
    if (time <= w->seen_min || w->run->time_over || is_ordered(w, lane, time, who))
        return true;
    struct fault_place place = shared_place(w, cell);
    fault_race(w, in, lane, PTX_FAULT_RACE, &place, who, 0,
               flagged && is_announced(w, who, time) ? flagged : what);
    return false;
}

/* Are these different threads of one warp? */
static bool two_lanes(uint32_t a, uint32_t b)
{
    uint32_t differ = SHADOW_THREAD(a) ^ SHADOW_THREAD(b);
    return differ != 0 && differ < LANES;
}

bool shadow_shared_read(struct warp *w, const struct insn *in, int lane, uint32_t first,
                        uint32_t count)
{
    struct shadow *s = &w->block->shadow;
    uint32_t who = shadow_who(w, in, lane);
    for (uint32_t cell = first; cell < first + count; cell++) {
        if (s->write_time[cell] == 0) {
            struct fault_place place = shared_place(w, cell);
            fault_at(w, in, lane, PTX_FAULT_UNINITIALISED, &place,
                     "read of shared memory that no thread wrote");
            return false;
        }
        if (s->write_time[cell] == SHADOW_IN_FLIGHT)
            return in_flight(w, in, lane, cell, "read");
        if (!written_before(w, in, lane, cell,
                            "race: read of what another thread wrote without a barrier between",
                            unfenced))
            return false;
        bool fresh = s->read_time[cell] <= w->seen_min;
        uint32_t before = s->read_who[cell];
        bool many = !fresh && ((before & SHADOW_MANY) || ((before ^ who) & 1023));
        if (fresh)
            s->read_time[cell] = w->run->time;
        s->readers[cell] = (fresh ? 0 : s->readers[cell]) | 1U << w->index;
        bool lanes = many && ((before & SHADOW_LANES) || two_lanes(before, who));
        s->read_who[cell] = who | (many ? SHADOW_MANY : 0) | (lanes ? SHADOW_LANES : 0);
    }
    return true;
}

/*
 * Did some other thread read the cell in no order with this write?  Which lanes read is not kept:
 * of each warp that did, one at least must be ordered, and where two lanes of one warp did, two of
 * some warp.
 */
static bool read_unordered(const struct warp *w, int lane, uint32_t cell)
{
    const struct shadow *s = &w->block->shadow;
    const uint32_t time = s->read_time[cell], who = s->read_who[cell];
    if (time <= w->seen_min)
        return false;
    if (!(who & SHADOW_MANY))
        return !is_ordered(w, lane, time, who);
    const uint32_t readers = s->readers[cell];
    bool two = false;
    for (uint32_t warps = readers; warps; warps &= warps - 1) {
        const uint32_t warp = (uint32_t)__builtin_ctz(warps);
        const uint32_t own = warp == w->index ? 1U << lane : 0;
        const uint32_t lanes = seen_lanes(&w->seen, warp, time) | own;
        if (lanes == 0)
            return true;
        two |= (lanes & (lanes - 1)) != 0;
    }
    const bool one_warp = (readers & (readers - 1)) == 0;
    return !two && (one_warp || (who & SHADOW_LANES));
}

static void mark_write(struct shadow *s, uint32_t cell, uint32_t time, uint32_t who)
{
    s->write_time[cell] = time;
    s->write_who[cell] = who;
    if (!s->read_time)
        return;
    s->read_time[cell] = 0;
    s->readers[cell] = 0;
    s->read_who[cell] = 0;
}

bool shadow_shared_write(struct warp *w, const struct insn *in, int lane, uint32_t first,
                         uint32_t count, bool same)
{
    struct shadow *s = &w->block->shadow;
    uint32_t who = shadow_who(w, in, lane);
    for (uint32_t cell = first; cell < first + count; cell++) {
        if (s->write_time[cell] == SHADOW_IN_FLIGHT)
            return in_flight(w, in, lane, cell, "write");
        if (!same && !written_before(w, in, lane, cell,
                                     "race: another thread wrote a different value there without "
                                     "a barrier between",
                                     NULL))
            return false;
        if (!same && !w->run->time_over && read_unordered(w, lane, cell)) {
            struct fault_place place = shared_place(w, cell);
            fault_race(w, in, lane, PTX_FAULT_RACE, &place, s->read_who[cell], 0,
                       "race: write over what another thread read without a barrier between");
            return false;
        }
        if (!same || s->write_time[cell] <= w->seen_min)
            mark_write(s, cell, w->run->time, who);
    }
    return true;
}

/* A volatile read of another warp's plain write that was announced unfenced, unless it is read
 * until it fits. */
static bool reads_hidden(struct warp *w, const struct insn *in, int lane, uint32_t cell)
{
    const struct block *block = w->block;
    const uint32_t time = block->shadow.write_time[cell], who = block->shadow.write_who[cell];
    return !(who & (SHADOW_STRONG | SHADOW_BULK)) && !w->run->time_over &&
           is_announced(w, who, time) && !is_ordered(w, lane, time, who) &&
           !publish_asks_again(w->run, in);
}

/* Atomics and volatile accesses race with none of their kind, and order what fences cover.  In
 * clusters they order all. */
bool shadow_shared_strong(struct warp *w, const struct insn *in, int lane, uint32_t first,
                          uint32_t count, bool reads, bool writes)
{
    struct shadow *s = &w->block->shadow;
    for (uint32_t cell = first; cell < first + count; cell++) {
        uint32_t time = s->write_time[cell];
        if (time == 0 && reads) {
            struct fault_place place = shared_place(w, cell);
            fault_at(w, in, lane, PTX_FAULT_UNINITIALISED, &place,
                     "read of shared memory that no thread wrote");
            return false;
        }
        if (time == SHADOW_IN_FLIGHT)
            return in_flight(w, in, lane, cell, "access");
        const bool flag = (s->write_who[cell] & SHADOW_STRONG) && w->block->cluster->count == 1;
        if (time > w->seen_min && flag)
            publish_acquire_flag(w);
        else if (time > w->seen_min)
            publish_acquire_near(w);
        if (reads && !writes && time > w->seen_min && reads_hidden(w, in, lane, cell)) {
            struct fault_place place = shared_place(w, cell);
            fault_race(w, in, lane, PTX_FAULT_RACE, &place, s->write_who[cell], 0, unfenced);
            return false;
        }
        if (writes)
            mark_write(s, cell, w->run->time, shadow_who(w, in, lane) | SHADOW_STRONG);
    }
    return true;
}

/* Another block's shared memory: the cluster's barriers order it; only the first write matters. */
bool shadow_remote(struct warp *w, const struct insn *in, int lane, struct block *block,
                   uint32_t first, uint32_t count, bool writes)
{
    struct shadow *s = &block->shadow;
    for (uint32_t cell = first; cell < first + count; cell++) {
        if (writes) {
            mark_write(s, cell, 1, shadow_who(w, in, lane));
        } else if (s->write_time[cell] == 0) {
            struct fault_place place = shared_place(w, cell);
            fault_at(w, in, lane, PTX_FAULT_UNINITIALISED, &place,
                     "read of another block's shared memory that no thread wrote");
            return false;
        }
    }
    return true;
}

/* ---- global memory ---- */

struct shadow *shadow_page(struct run *run, struct region *region, uint32_t offset)
{
    struct shadow **page = &region->pages[offset / SHADOW_PAGE_BYTES];
    if (*page)
        return *page;
    uint64_t cells = SHADOW_PAGE_BYTES >> run->global_grain;
    uint64_t bytes = cells * sizeof(uint32_t) * PAGE_ARRAYS;
    if (run->shadow_bytes + bytes > SHADOW_PAGES_BYTES_MAX)
        return NULL;
    run->shadow_bytes += bytes;
    *page = arena_new(run->arena, struct shadow);
    shadow_alloc(run->arena, *page, cells, true);
    return *page;
}

static struct fault_place global_place(const struct region *region, uint32_t offset)
{
    return (struct fault_place){
        .space = "global", .buffer = region->name, .offset = offset, .bytes = region->bytes};
}

static bool global_ordered(const struct warp *w, int lane, uint32_t time, uint32_t who,
                           uint32_t block)
{
    if (block - 1 != (uint32_t)w->block->ordinal)
        return time <= w->block->seen_others;
    return is_ordered(w, lane, time, who);
}

static bool is_other(const struct warp *w, uint32_t block)
{
    return block - 1 != (uint32_t)w->block->ordinal;
}

/* Another block's write that no fence came behind. */
static void fault_hidden(struct warp *w, const struct insn *in, int lane,
                         const struct region *region, uint32_t offset, uint32_t who, uint32_t block)
{
    struct fault_place place = global_place(region, offset);
    fault_race(w, in, lane, PTX_FAULT_RACE_GLOBAL, &place, who, block,
               "race: another block announced this, by an atomic or a flag, without a "
               "__threadfence() or a release behind its write: read");
}

bool shadow_global_read(struct warp *w, const struct insn *in, int lane, struct region *region,
                        uint32_t offset, uint32_t bytes)
{
    uint32_t grain = w->run->global_grain;
    uint32_t me = (uint32_t)w->block->ordinal + 1;
    uint32_t who = shadow_who(w, in, lane);
    for (uint32_t at = offset; at < offset + bytes; at += 1U << grain) {
        struct shadow *s = shadow_page(w->run, region, at);
        if (!s)
            return true;
        uint32_t cell = at % SHADOW_PAGE_BYTES >> grain;
        uint32_t time = s->write_time[cell];
        if (time && !(s->write_who[cell] & SHADOW_STRONG) && !w->run->time_over &&
            !global_ordered(w, lane, time, s->write_who[cell], s->write_block[cell])) {
            struct fault_place place = global_place(region, offset);
            fault_race(w, in, lane, PTX_FAULT_RACE_GLOBAL, &place, s->write_who[cell],
                       s->write_block[cell],
                       "race: read of what another thread wrote without synchronisation");
            return false;
        }
        if (time && is_other(w, s->write_block[cell]) && !(s->write_who[cell] & SHADOW_STRONG) &&
            !w->run->time_over &&
            publish_hides(w, s->write_block[cell], s->write_who[cell], time)) {
            fault_hidden(w, in, lane, region, offset, s->write_who[cell], s->write_block[cell]);
            return false;
        }
        if (!s->read_time)
            shadow_alloc_reads(w->run->arena, s, SHADOW_PAGE_BYTES >> grain);
        uint32_t seen = s->readers[cell] == me ? w->seen_min : w->block->seen_others;
        bool fresh = s->read_time[cell] == 0 || s->read_time[cell] <= seen;
        bool many = !fresh && ((s->read_who[cell] & SHADOW_MANY) ||
                               ((s->read_who[cell] ^ who) & 1023) || s->readers[cell] != me);
        if (fresh)
            s->read_time[cell] = w->run->time;
        s->readers[cell] = fresh || s->readers[cell] == me ? me : SHADOW_BLOCKS;
        s->read_who[cell] = who | (many ? SHADOW_MANY : 0);
    }
    return true;
}

/* Reads by threads of this block that this warp has not been ordered after, whichever warps. */
static uint32_t seen_max(const struct warp *w)
{
    uint32_t max = 0;
    for (uint32_t i = 0; i < w->block->warp_count; i++) {
        const uint32_t latest = seen_latest(&w->seen, i);
        max = latest > max ? latest : max;
    }
    return max;
}

static bool global_read_unordered(const struct warp *w, int lane, const struct shadow *s,
                                  uint32_t cell)
{
    uint32_t time = s->read_time ? s->read_time[cell] : 0;
    if (time == 0)
        return false;
    if (s->readers[cell] == SHADOW_BLOCKS)
        return time > w->block->seen_others;
    if (s->readers[cell] != (uint32_t)w->block->ordinal + 1)
        return time > w->block->seen_others;
    if (s->read_who[cell] & SHADOW_MANY)
        return time > seen_max(w);
    return !is_ordered(w, lane, time, s->read_who[cell]);
}

/* Did one thread of another block read the cell and let no fence follow? */
static bool read_hidden(const struct warp *w, const struct shadow *s, uint32_t cell)
{
    uint32_t time = s->read_time ? s->read_time[cell] : 0;
    return time && s->readers[cell] != SHADOW_BLOCKS && is_other(w, s->readers[cell]) &&
           !(s->read_who[cell] & SHADOW_MANY) &&
           publish_hides(w, s->readers[cell], s->read_who[cell], time);
}

bool shadow_global_write(struct warp *w, const struct insn *in, int lane, struct region *region,
                         uint32_t offset, uint32_t bytes, bool same)
{
    uint32_t grain = w->run->global_grain;
    for (uint32_t at = offset; at < offset + bytes; at += 1U << grain) {
        struct shadow *s = shadow_page(w->run, region, at);
        if (!s)
            return true;
        uint32_t cell = at % SHADOW_PAGE_BYTES >> grain;
        uint32_t time = s->write_time[cell];
        struct fault_place place = global_place(region, offset);
        bool watch = !same && !w->run->time_over;
        if (watch && time && !(s->write_who[cell] & SHADOW_STRONG) &&
            !global_ordered(w, lane, time, s->write_who[cell], s->write_block[cell])) {
            fault_race(w, in, lane, PTX_FAULT_RACE_GLOBAL, &place, s->write_who[cell],
                       s->write_block[cell],
                       "race: another thread wrote a different value there without "
                       "synchronisation");
            return false;
        }
        if (watch && global_read_unordered(w, lane, s, cell)) {
            uint32_t block = s->readers[cell] == SHADOW_BLOCKS ? 0 : s->readers[cell];
            fault_race(w, in, lane, PTX_FAULT_RACE_GLOBAL, &place, s->read_who[cell], block,
                       "race: write over what another thread read without synchronisation");
            return false;
        }
        if (watch && read_hidden(w, s, cell)) {
            fault_race(w, in, lane, PTX_FAULT_RACE_GLOBAL, &place, s->read_who[cell],
                       s->readers[cell],
                       "race: write over what another block read, which did not say so by a "
                       "__threadfence() or a release behind its read");
            return false;
        }
        mark_write(s, cell, w->run->time, shadow_who(w, in, lane));
        s->write_block[cell] = (uint32_t)w->block->ordinal + 1;
    }
    return true;
}

/* A volatile read of a plain write that was announced unfenced, unless it is read until it fits. */
static bool strong_read(struct warp *w, const struct insn *in, int lane, struct region *region,
                        uint32_t offset, uint32_t bytes)
{
    uint32_t grain = w->run->global_grain;
    for (uint32_t at = offset; at < offset + bytes; at += 1U << grain) {
        const struct shadow *s = region->pages[at / SHADOW_PAGE_BYTES];
        uint32_t cell = at % SHADOW_PAGE_BYTES >> grain;
        uint32_t time = s ? s->write_time[cell] : 0;
        if (!time || (s->write_who[cell] & SHADOW_STRONG) || w->run->time_over)
            continue;
        uint32_t who = s->write_who[cell], block = s->write_block[cell];
        if (is_other(w, block) && publish_announces(w, block, who, time) &&
            publish_hides(w, block, who, time) && !publish_asks_again(w->run, in)) {
            fault_hidden(w, in, lane, region, offset, who, block);
            return false;
        }
    }
    return true;
}

bool shadow_global_strong(struct warp *w, const struct insn *in, int lane, struct region *region,
                          uint32_t offset, uint32_t bytes, bool writes)
{
    uint32_t grain = w->run->global_grain;
    if (!region->pages)
        return true;
    if (!writes)
        return strong_read(w, in, lane, region, offset, bytes);
    for (uint32_t at = offset; at < offset + bytes; at += 1U << grain) {
        struct shadow *s = shadow_page(w->run, region, at);
        if (!s)
            return true;
        uint32_t cell = at % SHADOW_PAGE_BYTES >> grain;
        mark_write(s, cell, w->run->time, shadow_who(w, in, lane) | SHADOW_STRONG);
        s->write_block[cell] = (uint32_t)w->block->ordinal + 1;
    }
    return true;
}
