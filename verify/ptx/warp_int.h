#ifndef VERIFY_PTX_WARP_INT_H
#define VERIFY_PTX_WARP_INT_H

#include "verify/ptx/run_int.h"

/* ---- warp.c: groups of lanes and which one runs ---- */

/* Runs up to `quota` instructions of the warp; what it did since is in the warp. */
enum warp_end { WARP_SLICE, WARP_YIELDED, WARP_WAITS, WARP_DONE, WARP_FAULT };
enum warp_end warp_run(struct warp *w, uint64_t quota);
bool warp_has_ready(const struct warp *w);
/* Splits off `mask` of the running group to continue at pc; the rest stays running. */
void warp_split(struct warp *w, uint32_t mask, const struct insn *pc);
/* Makes the running group those lanes. */
void warp_set_mask(struct warp *w, uint32_t mask);
/* The running group goes on at `next`, after another look at the groups. */
const struct insn *warp_moved(struct warp *w, const struct insn *next);
/* The running group waits in `state`, to go on at `next`. */
const struct insn *warp_block(struct warp *w, enum group_state state, const struct insn *next);
/* After an access through which threads talk, `saw` being a digest of what it saw: false when that
 * is what it saw the last time, and the warp is to stop, to go on behind `in`. */
bool warp_polled(struct warp *w, const struct insn *in, uint64_t saw);
/* Lanes leave the warp for good. */
const struct insn *warp_exit(struct warp *w, uint32_t mask);
/* All lanes that `in` needs, by each lane's member mask in `members`, are here; otherwise the group
 * waits (*result is then what to return) or a fault was raised. */
bool warp_converged(struct warp *w, const struct insn *in, uint32_t members,
                    const struct insn **result);
void warp_init(struct warp *w, struct block *block, uint32_t index, const struct insn *start);
/* Why a warp that waits can never go on by itself, as a fault; false = it can. */
bool warp_stuck(struct warp *w);

/* ---- barrier.c ---- */

/* Threads of a warp left: barriers may be complete without them. */
void barrier_exit(struct block *block);
/* The block can never go on. */
void barrier_deadlock(struct block *block);

/* ---- block.c ---- */

/* BLOCK_IDLE: no warp did more than to ask for what was not there. */
enum block_end { BLOCK_SLICE, BLOCK_IDLE, BLOCK_WAITS, BLOCK_DONE, BLOCK_FAULT };
enum block_end block_run(struct block *block, uint64_t slice);
/* Bytes one block takes. */
size_t block_bytes(const struct run *run);
void cluster_create(struct run *run, struct cluster *cluster);
/* Makes the cluster's blocks those of `index`, fresh. */
void cluster_start(struct run *run, struct cluster *cluster, uint64_t index);
/* barrier.cluster may be complete. */
void cluster_check(struct cluster *cluster);

/* ---- schedule.c ---- */

/* Runs the launch's blocks to their end or the first fault. */
void schedule_run(struct run *run);

/* ---- special.c ---- */

void special_fill(struct warp *w, const struct insn *in);

/* ---- async.c ---- */

void async_reset(struct warp *w);
/* The block has ended with asynchronous copies under way: a fault was raised. */
bool async_leaks(struct block *block);

#endif
