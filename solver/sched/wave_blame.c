/*
 * Sets of decisions that removals rest on, by level.
 *
 * Sets are shared and never change: one is a level, the union of two, or what another has below a
 * level.  So a set costs one node whatever its size, where a bit set of all levels for each
 * variable would make time and memory of a descent quadratic.  The deepest level of each is known;
 * of a set that is cut below a level it is searched for among the parts that reach over the cut
 * alone.
 */
#include <string.h>

#include "solver/sched/wave_int.h"

static struct wave_blame *new_blame(struct wave *w, const struct wave_blame *own)
{
    struct wave_blame *blame = arena_new(w->arena, struct wave_blame);
    *blame = *own;
    return blame;
}

struct wave_blame *wave_blame_level(struct wave *w, size_t level)
{
    return new_blame(w, &(struct wave_blame){.deepest = level + 1, .below = SIZE_MAX});
}

struct wave_blame *wave_blame_both(struct wave *w, struct wave_blame *a, struct wave_blame *b)
{
    if (a == NULL || b == NULL || a == b)
        return a == NULL ? b : a;
    if (a->left == b || a->right == b)
        return a;
    return new_blame(
        w, &(struct wave_blame){.left = a,
                                .right = b,
                                .deepest = a->deepest > b->deepest ? a->deepest : b->deepest,
                                .below = SIZE_MAX});
}

static void push(struct wave *w, struct wave_blame *blame, size_t below)
{
    if (blame == NULL || (blame->seen == w->cut_serial && blame->seen_below == below))
        return;
    blame->seen = w->cut_serial;
    blame->seen_below = below;
    if (w->cut_count == w->cut_room) {
        struct wave_cut *larger = arena_array(w->arena, struct wave_cut, 2 * w->cut_room);
        memcpy(larger, w->cuts, w->cut_count * sizeof(*larger));
        w->cuts = larger;
        w->cut_room *= 2;
    }
    w->cuts[w->cut_count++] = (struct wave_cut){blame, below};
}

/* One more than the deepest level that is less than `below`; 0 = none. */
static size_t deepest_below(struct wave *w, struct wave_blame *blame, size_t below)
{
    size_t deepest = 0;
    w->cut_serial++;
    w->cut_count = 0;
    push(w, blame, below);
    while (w->cut_count > 0) {
        const struct wave_cut cut = w->cuts[--w->cut_count];
        w->open.moves++;
        if (cut.blame->deepest <= deepest)
            continue;
        if (cut.blame->deepest <= cut.below) {
            deepest = cut.blame->deepest;
            continue;
        }
        const size_t less = cut.blame->below < cut.below ? cut.blame->below : cut.below;
        push(w, cut.blame->left, less);
        push(w, cut.blame->right, less);
    }
    return deepest;
}

struct wave_blame *wave_blame_below(struct wave *w, struct wave_blame *blame, size_t below)
{
    const size_t deepest = deepest_below(w, blame, below);
    if (deepest == 0)
        return NULL;
    if (blame->deepest <= below)
        return blame;
    return new_blame(w, &(struct wave_blame){.left = blame, .deepest = deepest, .below = below});
}
