/*
 * The order of blocks: which are resident, which runs next, and when none can go on.
 *
 * One cluster (mostly: one block) runs at a time for as long as it makes progress by itself.  When
 * it polls memory or sleeps, it may be waiting for another block, so the next one is let in and
 * they take turns; this lets look-back, last-block and grid-barrier kernels finish with few blocks
 * resident.  Interleaved, a fixed number is resident from the start and every turn is short: blocks
 * then meet each other half way, and who waits for a block that comes only when others have left
 * waits for ever, as on a GPU that is full.
 *
 * Waiting for ever is proved, not guessed: after rounds in which every resident cluster only asked
 * for what was not there, registers, predicates and places of all warps are what they were, and no
 * store came between.  A wait that counts its turns never looks so; the budget ends it, of which
 * turns that only ask take a small share.
 *
 * Invariant: in a quiet round each resident cluster had exactly one turn.
 */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#include "verify/ptx/fault_int.h"
#include "verify/ptx/mem_int.h"
#include "verify/ptx/warp_int.h"

enum {
    SLICE = 65536,
    QUANTUM = 4096,
    /* Interleaved: */
    RESIDENT_MAX = 8, /* TUNING: few, so that small grids have blocks that must wait */
    QUANTUM_MIN = 16,
    QUANTUM_SPREAD = 512,
    QUIET_ROUNDS = 64, /* before states are compared, which costs */
    PERIOD_MAX = 8,    /* quiet rounds that lead back to a state: a loop may ask at a few places */
    IDLE_SHARE = 4,    /* an instruction that only asks counts as the 4th part of one */
};

struct schedule {
    struct run *run;
    struct cluster *resident; /* a ring: `resident` runs next */
    struct cluster *last;
    struct cluster *free;
    uint32_t count, room; /* resident clusters, and how many there may be */
    uint64_t next, total; /* clusters */
    size_t bytes;
    uint64_t *wanted; /* clusters that only_blocks names, ascending; NULL = all */
    bool interleaved;
    struct rng rng;

    uint32_t left; /* turns in this round */
    bool quiet;    /* so far in this round */
    uint64_t quiet_rounds;
    uint64_t mark_round, mark, mark_stores; /* a state to come back to; round 0 = none */
};

/* ---- who is resident ---- */

static bool next_index(struct schedule *s, uint64_t *out)
{
    if (s->next == s->total)
        return false;
    uint64_t at = s->next++;
    uint64_t index = s->run->launch->reverse_order ? s->total - 1 - at : at;
    *out = s->wanted ? s->wanted[index] : index;
    return true;
}

static void push(struct schedule *s, struct cluster *c)
{
    c->next = NULL;
    if (s->last)
        s->last->next = c;
    else
        s->resident = c;
    s->last = c;
    s->count++;
}

static struct cluster *pop(struct schedule *s)
{
    struct cluster *c = s->resident;
    s->resident = c->next;
    if (!s->resident)
        s->last = NULL;
    s->count--;
    return c;
}

/* One more cluster becomes resident, if any is left and fits. */
static bool admit(struct schedule *s)
{
    uint64_t index;
    struct cluster *c = s->free;
    size_t bytes = block_bytes(s->run) * s->run->cluster_size;
    if (s->count >= s->room || (!c && s->bytes + bytes > RESIDENT_BYTES_MAX))
        return false;
    if (!next_index(s, &index))
        return false;
    if (c) {
        s->free = c->next;
    } else {
        c = arena_new(s->run->arena, struct cluster);
        cluster_create(s->run, c);
        s->bytes += bytes;
    }
    cluster_start(s->run, c, index);
    push(s, c);
    return true;
}

/* ---- the end of patience ---- */

static bool over_budget(struct run *run, struct cluster *c)
{
    uint64_t spent = run->executed - run->idle + run->idle / IDLE_SHARE;
    if (spent <= run->launch->budget_warp_insns)
        return false;
    for (uint32_t k = 0; k < c->count; k++)
        for (uint32_t i = 0; i < c->blocks[k]->warp_count; i++) {
            struct warp *w = &c->blocks[k]->warps[i];
            for (int g = 0; g < w->group_count; g++)
                if (w->groups[g].mask && !run->faulted)
                    fault_at(w, w->groups[g].pc, __builtin_ctz(w->groups[g].mask), PTX_FAULT_BUDGET,
                             NULL, "the launch ran %llu warp instructions without an end",
                             (unsigned long long)run->executed);
        }
    return true;
}

/* False when the warp's state is not only what is looked at here. */
static bool digest_warp(const struct warp *w, uint64_t *digest)
{
    const struct func *f = w->run->entry;
    uint64_t places = 0; /* a sum: groups are in no order */
    for (int i = 0; i < w->group_count; i++) {
        const struct group *g = &w->groups[i];
        uint64_t place = mem_digest((uintptr_t)g->pc, g->mask);
        if (g->depth > 0)
            return false;
        places += mem_digest(place, (uint64_t)g->state << 8 | g->barrier);
    }
    *digest = mem_digest(mem_digest(*digest, places), w->live);
    for (uint32_t at = 0; w->live && at + 8 <= f->window_bytes; at += 8) {
        uint64_t word;
        memcpy(&word, w->registers + at, sizeof(word));
        *digest = mem_digest(*digest, word);
    }
    for (uint32_t i = 0; w->live && i < f->predicates; i++)
        *digest = mem_digest(*digest, w->predicates[i]);
    return true;
}

static bool digest_all(const struct schedule *s, uint64_t *digest)
{
    *digest = 0; /* a sum: the ring may turn */
    for (const struct cluster *c = s->resident; c; c = c->next) {
        uint64_t of_cluster = mem_digest(c->index, c->phase);
        for (uint32_t k = 0; k < c->count; k++)
            for (uint32_t i = 0; i < c->blocks[k]->warp_count; i++)
                if (!digest_warp(&c->blocks[k]->warps[i], &of_cluster))
                    return false;
        *digest += of_cluster;
    }
    return true;
}

static struct warp *waiting_warp(const struct schedule *s)
{
    struct warp *found = NULL;
    uint64_t lowest = UINT64_MAX;
    for (const struct cluster *c = s->resident; c; c = c->next)
        for (uint32_t k = 0; k < c->count; k++)
            for (uint32_t i = 0; i < c->blocks[k]->warp_count; i++) {
                struct warp *w = &c->blocks[k]->warps[i];
                if (!w->live || !w->waits_at || c->index >= lowest)
                    continue;
                lowest = c->index;
                found = w;
            }
    return found;
}

static void fault_stuck(struct schedule *s)
{
    const uint64_t unstarted = (s->total - s->next) * s->run->cluster_size;
    struct warp *w = waiting_warp(s);
    if (unstarted > 0)
        fault_at(
            w, w->waits_at, (int)w->waits_lane, PTX_FAULT_BARRIER_STUCK, NULL,
            "deadlock: the %u blocks that run all wait, and %llu blocks that have not started "
            "find no room (wait only for blocks with a lower number from an atomic counter, or "
            "make the launch cooperative): a wait that never ends",
            s->count * s->run->cluster_size, (unsigned long long)unstarted);
    else
        fault_at(w, w->waits_at, (int)w->waits_lane, PTX_FAULT_BARRIER_STUCK, NULL,
                 "deadlock: a wait for a value that no thread writes any more");
}

/* Has a quiet round led back to the state of one shortly before? */
static bool is_stuck(struct schedule *s)
{
    const uint64_t round = s->quiet_rounds;
    const bool marks = round >= QUIET_ROUNDS && (round & (round - 1)) == 0;
    uint64_t digest;
    if (!marks && (s->mark_round == 0 || round - s->mark_round > PERIOD_MAX))
        return false;
    if (!waiting_warp(s) || !digest_all(s, &digest))
        return false;
    if (!marks)
        return digest == s->mark && s->run->stores == s->mark_stores;
    s->mark_round = round;
    s->mark = digest;
    s->mark_stores = s->run->stores;
    return false;
}

/* ---- turns ---- */

static void cluster_deadlock(struct cluster *c)
{
    struct warp *w = NULL;
    for (uint32_t k = 0; k < c->count; k++)
        for (uint32_t i = 0; i < c->blocks[k]->warp_count && !w; i++)
            if (c->blocks[k]->warps[i].live)
                w = &c->blocks[k]->warps[i];
    fault_at(w, w->groups[0].pc - 1, __builtin_ctz(w->live), PTX_FAULT_BARRIER_STUCK, NULL,
             "deadlock: a cluster barrier that some threads never reach");
}

/* A turn of one cluster: is it done, and may it be waiting for others? */
static bool run_cluster(struct run *run, struct cluster *c, uint64_t slice, bool *done, bool *waits)
{
    uint64_t before = run->executed;
    uint32_t live = 0, blocked = 0, idle = 0, polls = 0;
    *waits = false;
    for (uint32_t k = 0; k < c->count; k++) {
        struct block *block = c->blocks[k];
        if (block->live_warps == 0)
            continue;
        block->polls = 0;
        enum block_end end = block_run(block, slice);
        if (end == BLOCK_FAULT)
            return false;
        live += end != BLOCK_DONE;
        blocked += end == BLOCK_WAITS;
        idle += end == BLOCK_IDLE || end == BLOCK_WAITS;
        polls += block->polls > 0;
    }
    *done = live == 0;
    c->quiet = live > 0 && idle == live && blocked < live;
    *waits = polls > 0 || c->quiet;
    run->idle += c->quiet ? run->executed - before : 0;
    if (blocked == live && live > 0 && run->executed == before) {
        cluster_deadlock(c);
        return false;
    }
    return true;
}

/* The ring in another order. */
static void shuffle(struct schedule *s)
{
    struct cluster *rest = s->resident;
    uint32_t count = s->count;
    s->resident = s->last = NULL;
    s->count = 0;
    for (; count > 0; count--) {
        struct cluster **at = &rest;
        for (uint32_t skip = rng_below(&s->rng, count); skip > 0; skip--)
            at = &(*at)->next;
        struct cluster *c = *at;
        *at = c->next;
        push(s, c);
    }
}

/* False when nothing can change any more. */
static bool begin_round(struct schedule *s)
{
    s->quiet_rounds = s->quiet ? s->quiet_rounds + 1 : 0;
    if (!s->quiet)
        s->mark_round = 0;
    if (is_stuck(s)) {
        fault_stuck(s);
        return false;
    }
    if (s->interleaved)
        shuffle(s);
    s->left = s->count;
    s->quiet = true;
    return true;
}

/* One turn; false when the launch is over. */
static bool take_turn(struct schedule *s)
{
    struct run *run = s->run;
    struct cluster *c = pop(s);
    bool done, waits;
    if (s->interleaved)
        run->quantum = QUANTUM_MIN + rng_below(&s->rng, QUANTUM_SPREAD);
    if (!run_cluster(run, c, s->interleaved ? 1 : SLICE, &done, &waits) ||
        (!done && over_budget(run, c)))
        return false;
    s->quiet &= c->quiet;
    if (done) {
        c->next = s->free;
        s->free = c;
    } else if (s->interleaved) {
        push(s, c);
    } else if (waits) {
        push(s, c);
        s->quiet &= !admit(s);
    } else {
        c->next = s->resident;
        s->resident = c;
        s->count++;
        if (!s->last)
            s->last = c;
    }
    return true;
}

static void run_all(struct schedule *s)
{
    for (;;) {
        while ((s->interleaved || !s->resident) && admit(s))
            s->quiet = false;
        if (!s->resident)
            return;
        if (s->left == 0 && !begin_round(s))
            return;
        s->left--;
        if (!take_turn(s))
            return;
    }
}

/* ---- which blocks ---- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void choose_blocks(struct schedule *s)
{
    const struct ptx_launch *l = s->run->launch;
    const uint32_t *dims = s->run->cluster_dims;
    const uint32_t *clusters = s->run->grid_clusters;
    s->total = s->run->grid_blocks / s->run->cluster_size;
    if (!l->only_blocks)
        return;
    s->wanted = arena_array(s->run->arena, uint64_t, l->only_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < l->only_count; i++) {
        uint64_t b = l->only_blocks[i];
        if (b >= s->run->grid_blocks)
            continue;
        uint64_t x = b % l->grid[0] / dims[0];
        uint64_t y = b / l->grid[0] % l->grid[1] / dims[1];
        uint64_t z = b / l->grid[0] / l->grid[1] / dims[2];
        s->wanted[count++] = x + clusters[0] * (y + clusters[1] * z);
    }
    qsort(s->wanted, count, sizeof(*s->wanted), by_value);
    s->total = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || s->wanted[i] != s->wanted[i - 1])
            s->wanted[s->total++] = s->wanted[i];
}

void schedule_run(struct run *run)
{
    const struct ptx_launch *l = run->launch;
    struct schedule s = {
        .run = run,
        .interleaved = l->interleave_seed != 0,
        .room = l->interleave_seed != 0 && !l->cooperative ? RESIDENT_MAX : UINT32_MAX,
    };
    run->quantum = QUANTUM;
    rng_init(&s.rng, l->interleave_seed);
    choose_blocks(&s);
    run_all(&s);
}
