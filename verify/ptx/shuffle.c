/*
 * Warp primitives: shfl, vote, match, redux, elect, activemask.
 *
 * All but activemask wait until the lanes their mask names have come.  A value read from a lane
 * that takes no part is undefined in PTX; it becomes poison, so a result that depends on it is
 * wrong.
 *
 * Lanes that have left the kernel do not count: "wait until all non-exited threads corresponding to
 * membermask have executed" it (PTX ISA, shfl.sync).  So `if (i >= n) return;` in front is fine,
 * and so is `if (i < 8) ...` as a kernel's last statement, which is the same PTX.  But lanes that
 * go round the instruction and on through code that lies behind it for all are named, alive and do
 * not execute it, which the CUDA C++ Programming Guide leaves undefined; that they leave in the
 * end, for want of a barrier, does not help.  Where they meet a barrier, or another primitive, the
 * warp is stuck, and warp_stuck says so.
 */
#include <string.h>

#include "verify/ptx/exec_int.h"
#include "verify/ptx/fault_int.h"
#include "verify/ptx/mem_int.h"
#include "verify/ptx/numeric_int.h"
#include "verify/ptx/sync_int.h"
#include "verify/ptx/warp_int.h"

int shuffle_source(int mode, int lane, uint32_t b, uint32_t c, bool *valid)
{
    int by = (int)(b & 31);
    int clamp = (int)(c & 31);
    int segment = (int)(c >> 8 & 31);
    int max = (lane & segment) | (clamp & ~segment);
    int min = lane & segment;
    int from;
    switch (mode) {
    case SHFL_UP:
        from = lane - by;
        *valid = from >= max;
        break;
    case SHFL_DOWN:
        from = lane + by;
        *valid = from <= max;
        break;
    case SHFL_BFLY:
        from = lane ^ by;
        *valid = from <= max;
        break;
    default:
        from = min | (by & ~segment);
        *valid = from <= max;
        break;
    }
    return *valid ? from : lane;
}

/* Everyone here that a lane's mask names has that same mask; a lane that has not is returned. */
static int odd_one_out(const struct warp *w, const uint32_t *masks)
{
    uint32_t common = masks[__builtin_ctz(w->mask)];
    bool same = true;
    for (uint32_t m = w->mask; m; m &= m - 1)
        same = same && masks[__builtin_ctz(m)] == common;
    for (uint32_t m = same ? 0 : w->mask; m; m &= m - 1)
        for (uint32_t k = masks[__builtin_ctz(m)] & w->mask; k; k &= k - 1)
            if (masks[__builtin_ctz(k)] != masks[__builtin_ctz(m)])
                return __builtin_ctz(k);
    return -1;
}

/* All lanes that `in` needs are here, as warp_converged says, and their masks are in order. */
static bool gathered(struct warp *w, const struct insn *in, uint32_t members,
                     const struct insn **result)
{
    if (!warp_converged(w, in, members, result))
        return false;
    const uint32_t *masks = operand(w, members);
    int lane = odd_one_out(w, masks);
    if (lane >= 0) {
        *result = fault_at(w, in, lane, PTX_FAULT_SHUFFLE_INACTIVE, NULL,
                           "a lane executes a warp primitive with mask 0x%08x, and others whose "
                           "masks name it with another",
                           masks[lane]);
        return false;
    }
    uint32_t named = 0;
    for (uint32_t m = w->mask; m; m &= m - 1)
        named |= masks[__builtin_ctz(m)];
    uint32_t gone = named & w->exists & ~w->live;
    if (gone == 0 || !(in->flags & WARP_REJOINS) || w->cur.depth > 0)
        return true;
    *result = fault_at(w, in, __builtin_ctz(w->mask), PTX_FAULT_SHUFFLE_INACTIVE, NULL,
                       "a warp primitive with mask 0x%08x in a branch that lanes 0x%08x did not "
                       "take",
                       named, gone);
    return false;
}

/* The whole warp with constant operands: where each lane reads is known since decoding. */
static const struct insn *shuffle_whole(struct warp *w, const struct insn *in)
{
    const uint32_t *from = in->u.list + 1;
    const uint32_t *values = operand(w, in->a);
    uint32_t out[LANES];
    for (int i = 0; i < LANES; i++)
        out[i] = values[from[i]];
    memcpy(operand(w, in->d), out, sizeof(out));
    w->pred[in->p >> 1] = from[LANES];
    clock_warp_sync(w);
    return in + 1;
}

const struct insn *exec_shfl(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    if (in->extra && w->mask == (uint32_t)ALL_LANES)
        return shuffle_whole(w, in);
    if (!gathered(w, in, in->u.list[0], &result))
        return result;
    uint32_t values[LANES];
    memcpy(values, operand(w, in->a), sizeof(values));
    const uint32_t *b = operand(w, in->b);
    const uint32_t *c = operand(w, in->c);
    uint32_t *to = operand(w, in->d);
    const uint32_t *poison = (const uint32_t *)(const void *)w->run->poison;
    uint32_t valid_lanes = 0;
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        bool valid;
        int from = shuffle_source(in->mode, lane, b[lane], c[lane], &valid);
        to[lane] = w->mask >> from & 1 ? values[from] : poison[lane];
        valid_lanes |= (uint32_t)valid << lane;
    }
    pred_set(w, in->p, valid_lanes);
    return in + 1;
}

const struct insn *exec_vote(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    if (!gathered(w, in, in->b, &result))
        return result;
    const uint32_t *members = operand(w, in->b);
    uint32_t votes = pred_get(w, in->q) & w->mask;
    uint32_t *to = operand(w, in->d);
    uint32_t yes = 0;
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        uint32_t mine = members[lane] & w->mask;
        uint32_t ours = votes & mine;
        bool answer = in->mode == VOTE_ALL   ? ours == mine
                      : in->mode == VOTE_ANY ? ours != 0
                                             : ours == mine || ours == 0;
        yes |= (uint32_t)answer << lane;
        if (in->mode == VOTE_BALLOT)
            to[lane] = ours;
    }
    if (in->mode != VOTE_BALLOT)
        pred_set(w, in->p, yes);
    return in + 1;
}

const struct insn *exec_match(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    if (!gathered(w, in, in->b, &result))
        return result;
    const uint32_t *members = operand(w, in->b);
    const void *values = operand(w, in->a);
    uint64_t value[LANES];
    for (int i = 0; i < LANES; i++)
        value[i] = in->wide ? ((const uint64_t *)values)[i] : ((const uint32_t *)values)[i];
    uint32_t *to = operand(w, in->d);
    uint32_t all = 0;
    uint32_t out[LANES];
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        uint32_t mine = members[lane] & w->mask;
        uint32_t equal = 0;
        for (uint32_t k = mine; k; k &= k - 1)
            if (value[__builtin_ctz(k)] == value[lane])
                equal |= 1U << __builtin_ctz(k);
        all |= (uint32_t)(equal == mine) << lane;
        out[lane] = in->mode && equal != mine ? 0 : equal;
    }
    for (uint32_t m = w->mask; m; m &= m - 1)
        to[__builtin_ctz(m)] = out[__builtin_ctz(m)];
    pred_set(w, in->p, all);
    return in + 1;
}

static uint32_t reduce_float(const struct insn *in, uint32_t a, uint32_t b)
{
    float x = f32_from(in->flags & REDUX_ABS ? a & 0x7fffffff : a);
    float y = f32_from(in->flags & REDUX_ABS ? b & 0x7fffffff : b);
    if ((in->flags & REDUX_NAN) && (x != x || y != y))
        return 0x7fffffff;
    return f32_bits(canon_f32(in->mode == REDUX_MIN ? min_f32(x, y) : max_f32(x, y)));
}

static uint32_t reduce(const struct insn *in, uint32_t a, uint32_t b)
{
    if (in->extra == REDUX_F32)
        return reduce_float(in, a, b);
    bool less = in->extra == REDUX_S32 ? (int32_t)a < (int32_t)b : a < b;
    switch (in->mode) {
    case REDUX_ADD:
        return a + b;
    case REDUX_MIN:
        return less ? a : b;
    case REDUX_MAX:
        return less ? b : a;
    case REDUX_AND:
        return a & b;
    case REDUX_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

const struct insn *exec_redux(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    if (!gathered(w, in, in->b, &result))
        return result;
    const uint32_t *members = operand(w, in->b);
    uint32_t values[LANES];
    memcpy(values, operand(w, in->a), sizeof(values));
    uint32_t *to = operand(w, in->d);
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        uint32_t left = members[lane] & w->mask;
        uint32_t sum = values[__builtin_ctz(left)];
        if (in->extra == REDUX_F32)
            sum = reduce(in, sum, sum);
        for (left &= left - 1; left; left &= left - 1)
            sum = reduce(in, sum, values[__builtin_ctz(left)]);
        to[lane] = sum;
    }
    return in + 1;
}

const struct insn *exec_elect(struct warp *w, const struct insn *in)
{
    const struct insn *result;
    if (!gathered(w, in, in->b, &result))
        return result;
    const uint32_t *members = operand(w, in->b);
    uint32_t *to = operand(w, in->d);
    uint32_t chosen = 0;
    uint32_t leaders[LANES];
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        leaders[lane] = (uint32_t)__builtin_ctz(members[lane] & w->mask);
        chosen |= (uint32_t)(leaders[lane] == (uint32_t)lane) << lane;
    }
    for (uint32_t m = w->mask; m; m &= m - 1)
        to[__builtin_ctz(m)] = leaders[__builtin_ctz(m)];
    pred_set(w, in->p, chosen);
    return in + 1;
}

const struct insn *exec_activemask(struct warp *w, const struct insn *in)
{
    uint32_t *to = operand(w, in->d);
    for (uint32_t m = w->mask; m; m &= m - 1)
        to[__builtin_ctz(m)] = w->mask;
    return in + 1;
}
