#ifndef VERIFY_PTX_SEEN_INT_H
#define VERIFY_PTX_SEEN_INT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What of a block is ordered before something: of each warp i all accesses up to all[i], and those
 * of the lanes lanes[i] up to some[i].  Lanes part where one of them releases what it did without
 * having waited for the others.  Zeroed = nothing is ordered.
 */
enum { SEEN_WARPS = 32 };

struct seen {
    uint32_t all[SEEN_WARPS], some[SEEN_WARPS], lanes[SEEN_WARPS];
    bool parted; /* some lanes[] is not 0 */
};

struct block;
struct warp;

/* Of one warp, also this. */
void seen_add(struct seen *s, uint32_t warp, uint32_t time);
/* Both, for the first `warps` warps. */
void seen_join(struct seen *to, const struct seen *from, uint32_t warps);
/* Adds all that the lanes `lanes` of w did so far, and all that w has seen. */
void seen_release(struct seen *to, const struct warp *w, uint32_t lanes);
/* From now on the warp has seen that as well. */
void seen_acquire(struct warp *w, const struct seen *from);
/* Which lanes' accesses up to `time` are in it. */
uint32_t seen_lanes(const struct seen *s, uint32_t warp, uint32_t time);
/* Up to when something of the warp's is in it, whichever lanes. */
uint32_t seen_latest(const struct seen *s, uint32_t warp);

#endif
