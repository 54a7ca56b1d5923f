#ifndef VERIFY_PTX_MEM_INT_H
#define VERIFY_PTX_MEM_INT_H

#include "verify/ptx/run_int.h"

/*
 * Memory accesses.  The vector code (isa_mem.c) handles a warp whose lanes stay inside one region;
 * everything else comes here: lanes in several regions, faults, remote shared memory.
 */

/* Loads or stores for each lane of the mask by itself; false = a fault was raised. */
bool mem_load_slow(struct warp *w, const struct insn *in);
bool mem_store_slow(struct warp *w, const struct insn *in);

/* One lane's `bytes` at an address of `space`, for reading or writing; NULL = a fault was raised.
 */
enum mem_access { MEM_READ, MEM_WRITE, MEM_ATOMIC, MEM_PLAIN_READ };
void *mem_lane(struct warp *w, const struct insn *in, int lane, enum space space, uint64_t address,
               uint32_t bytes, enum mem_access access);
uint64_t mem_address(const struct warp *w, const struct insn *in, int lane);

/* A digest of many words, one by one. */
static inline uint64_t mem_digest(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * 0x9e3779b97f4a7c15u;
    return digest ^ digest >> 32;
}

/* A plain store's race check, which wants to know whether it changes anything. */
bool mem_write_race(struct warp *w, const struct insn *in, int lane, uint64_t address,
                    uint32_t bytes, const unsigned char *old, const unsigned char *value);

/* Bank conflicts and sectors of general access patterns. */
uint32_t mem_conflicts(const uint32_t *offsets, uint32_t mask, uint32_t bytes);
uint32_t mem_sectors(const uint32_t *offsets, uint32_t mask, uint32_t bytes, uint32_t misalign);

/* ---- shadow.c ---- */

uint32_t shadow_who(const struct warp *w, const struct insn *in, int lane);
/* One lane's access to cells [first, first + count) of shared memory: false = a fault was raised.
 */
bool shadow_shared_read(struct warp *w, const struct insn *in, int lane, uint32_t first,
                        uint32_t count);
/* `same`: the bytes written equal those there. */
bool shadow_shared_write(struct warp *w, const struct insn *in, int lane, uint32_t first,
                         uint32_t count, bool same);
bool shadow_global_read(struct warp *w, const struct insn *in, int lane, struct region *region,
                        uint32_t offset, uint32_t bytes);
bool shadow_global_write(struct warp *w, const struct insn *in, int lane, struct region *region,
                         uint32_t offset, uint32_t bytes, bool same);
/* Accesses that are atomic or volatile. */
bool shadow_shared_strong(struct warp *w, const struct insn *in, int lane, uint32_t first,
                          uint32_t count, bool reads, bool writes);
bool shadow_global_strong(struct warp *w, const struct insn *in, int lane, struct region *region,
                          uint32_t offset, uint32_t bytes, bool writes);
/* Shared memory of another block of the cluster. */
bool shadow_remote(struct warp *w, const struct insn *in, int lane, struct block *block,
                   uint32_t first, uint32_t count, bool writes);
/* The page of a global offset, made when first needed; NULL = memory for it ran out. */
struct shadow *shadow_page(struct run *run, struct region *region, uint32_t offset);
void shadow_alloc(struct arena *arena, struct shadow *shadow, uint64_t cells, bool blocks);
void shadow_clear(struct shadow *shadow, uint64_t cells);

/* ---- publish.c ---- */

/* A fence that orders what the warp did for other blocks; an atomic or volatile write. */
void publish_fence(struct warp *w);
void publish_strong(struct warp *w, const struct insn *in);
/* For the own block: a fence or a release of any scope by the running lanes; an atomic or volatile
 * write of theirs to shared memory; such an access of theirs saw what another one wrote, which
 * orders all in clusters. */
void publish_near(struct warp *w);
void publish_strong_near(struct warp *w, const struct insn *in);
void publish_acquire_near(struct warp *w);
/* The same of what an atomic or volatile write wrote. */
void publish_acquire_flag(struct warp *w);
/* Of an access by `who` of another block (1 + its number) at `time`: was there no fence behind it;
 * did an atomic or volatile write come behind it? */
bool publish_hides(const struct warp *w, uint32_t block, uint32_t who, uint32_t time);
bool publish_announces(const struct warp *w, uint32_t block, uint32_t who, uint32_t time);
/* May the load be one that is repeated until its value is the right one? */
bool publish_asks_again(const struct run *run, const struct insn *load);

/* The clock: it moves, the lanes of a warp are ordered, a warp is ordered after its block, a block
 * after all others. */
void clock_tick(struct run *run);
void clock_warp_sync(struct warp *w);
void clock_acquire_all(struct warp *w);
void clock_acquire_global(struct warp *w);

#endif
