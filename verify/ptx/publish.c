/*
 * What a block has made visible to others: fences on the writer's side.
 *
 * A write may be read by another block only if a fence at the scope of the device, or a release,
 * came behind it: by the same warp, or by one that was ordered behind the write, as after a block
 * barrier.  So each block that fences keeps, for every warp, up to which time its writes are
 * covered, and up to which time some atomic or volatile write announced them.  In the same way a
 * read lets another block write over what it read.
 *
 * Warps of one block that talk through flags and counters in shared memory are held to the same:
 * an atomic or volatile access orders what a fence of any scope, or a release, covered before the
 * last atomic or volatile write; and where the flag is a plain one, before the access.  There a
 * lane's fence covers what other lanes of its warp did only up to where the warp synchronised.
 *
 * Invariant: honest kernels are never rejected.  For other blocks, lanes of a warp cover each
 * other's writes; every fence wider than the block covers, and whoever asks again until a value
 * comes may read it in no order.  Missed are a fence that comes too late and volatile writes that
 * none follows.
 */
#include "verify/ptx/exec_int.h"
#include "verify/ptx/mem_int.h"

enum {
    BLOCKS_WATCHED_MAX = 1 << 22, /* larger grids are not watched */
    LOOP_INSNS_MAX = 64,          /* of a loop that asks again */
    TAINTS_MAX = 32,
};

/* ---- what is known of a block ---- */

/* By warp: fenced, then announced. */
static uint32_t *known_of(struct run *run, uint64_t ordinal)
{
    if (run->grid_blocks > BLOCKS_WATCHED_MAX)
        return NULL;
    if (!run->published)
        run->published = arena_array(run->arena, uint32_t *, run->grid_blocks);
    if (!run->published[ordinal])
        run->published[ordinal] = arena_array(run->arena, uint32_t, (size_t)run->warps * 2);
    return run->published[ordinal];
}

/* All that the warp did, and what it was ordered behind. */
static void cover(const struct warp *w, uint32_t *times)
{
    for (uint32_t i = 0; i < w->block->warp_count; i++) {
        const uint32_t until = i == w->index ? w->run->time : seen_latest(&w->seen, i);
        times[i] = until > times[i] ? until : times[i];
    }
}

void publish_fence(struct warp *w)
{
    uint32_t *known = w->run->check ? known_of(w->run, w->block->ordinal) : NULL;
    if (known)
        cover(w, known);
}

void publish_strong(struct warp *w, const struct insn *in)
{
    uint32_t *known = w->run->check ? known_of(w->run, w->block->ordinal) : NULL;
    if (!known)
        return;
    if (in->strong & STRONG_RELEASE)
        cover(w, known);
    cover(w, known + w->run->warps);
}

/* ---- inside the block ---- */

void publish_near(struct warp *w)
{
    if (!w->run->check)
        return;
    seen_release(&w->block->fenced, w, w->mask);
    w->block->fences++;
}

void publish_strong_near(struct warp *w, const struct insn *in)
{
    if (!w->run->check || !in->strong)
        return;
    if (in->strong & STRONG_RELEASE_BLOCK) {
        publish_near(w);
        clock_tick(w->run);
    }
    seen_release(&w->block->announced, w, w->mask);
    if (w->block->flags == w->block->fences)
        return;
    w->block->flags = w->block->fences;
    seen_join(&w->block->flagged, &w->block->fenced, w->block->warp_count);
}

void publish_acquire_flag(struct warp *w)
{
    if (w->flags_seen == w->block->flags)
        return;
    w->flags_seen = w->block->flags;
    seen_acquire(w, &w->block->flagged);
}

void publish_acquire_near(struct warp *w)
{
    if (w->block->cluster->count > 1)
        clock_acquire_all(w);
    if (w->fences_seen == w->block->fences)
        return;
    w->fences_seen = w->block->fences;
    seen_acquire(w, &w->block->fenced);
}

/* ---- reading ---- */

static bool is_near(const struct warp *w, uint64_t ordinal)
{
    const struct cluster *cluster = w->block->cluster;
    for (uint32_t k = 0; k < cluster->count; k++)
        if (cluster->blocks[k]->ordinal == ordinal)
            return true;
    return false;
}

static bool covers(const struct run *run, uint64_t ordinal, uint32_t thread, uint32_t time,
                   bool announced)
{
    const uint32_t *known = run->published ? run->published[ordinal] : NULL;
    return known && time <= known[(announced ? run->warps : 0) + thread / LANES];
}

bool publish_hides(const struct warp *w, uint32_t block, uint32_t who, uint32_t time)
{
    const uint64_t ordinal = block - 1;
    if (w->run->grid_blocks > BLOCKS_WATCHED_MAX || is_near(w, ordinal))
        return false;
    return !covers(w->run, ordinal, SHADOW_THREAD(who), time, false);
}

bool publish_announces(const struct warp *w, uint32_t block, uint32_t who, uint32_t time)
{
    return covers(w->run, block - 1, SHADOW_THREAD(who), time, true);
}

/* ---- loops that ask again ---- */

/* Registers and predicates that depend on what a load gave. */
struct taint {
    uint32_t regs[TAINTS_MAX];
    uint16_t preds[TAINTS_MAX];
    int reg_count, pred_count;
};

static bool has_reg(const struct taint *t, uint32_t reg)
{
    for (int i = 0; i < t->reg_count; i++)
        if (t->regs[i] == reg)
            return true;
    return false;
}

static bool has_pred(const struct taint *t, uint16_t pred)
{
    for (int i = 0; i < t->pred_count; i++)
        if (t->preds[i] == pred >> 1)
            return true;
    return false;
}

/* What fields mean differs by instruction; taking all of them for sources only taints more. */
static void spread(struct taint *t, const struct insn *in)
{
    if (!has_reg(t, in->a) && !has_reg(t, in->b) && !has_reg(t, in->c) && !has_pred(t, in->q) &&
        !has_pred(t, in->r) && !has_pred(t, in->guard))
        return;
    if (t->reg_count < TAINTS_MAX)
        t->regs[t->reg_count++] = in->d;
    const uint16_t preds[] = {in->p >> 1, in->q >> 1}; /* setp writes both */
    for (int i = 0; i < 2 && t->pred_count < TAINTS_MAX; i++)
        if (preds[i] > PRED_SINK)
            t->preds[t->pred_count++] = preds[i];
}

static bool is_branch(const struct insn *in)
{
    return in->fn == exec_bra || (in->fn == exec_guarded && in->inner == exec_bra);
}

bool publish_asks_again(const struct run *run, const struct insn *load)
{
    const struct insn *end = run->module->code + run->module->code_count;
    struct taint taint = {.reg_count = 0};
    bool decides = false;
    for (int k = 0; k < load->count && k < TAINTS_MAX / 2; k++)
        taint.regs[taint.reg_count++] = load->u.list[k];
    for (const struct insn *in = load + 1; in < end && in - load < LOOP_INSNS_MAX; in++) {
        if (!is_branch(in)) {
            spread(&taint, in);
            continue;
        }
        decides |= has_pred(&taint, in->r) || has_pred(&taint, in->guard);
        if (in->u.target <= load && decides)
            return true;
    }
    return false;
}
