/*
 * Control flow: guards, branches, calls, returns, and the marks of undefined registers.
 *
 * A call opens a new window of registers behind the caller's and a new frame of local memory; lanes
 * are columns of both, so groups at different depths share the memory without conflict.  Where each
 * lane goes back to is kept by lane.
 */
#include <string.h>

#include "verify/ptx/exec_int.h"
#include "verify/ptx/fault_int.h"
#include "verify/ptx/warp_int.h"

const struct insn *exec_nothing(struct warp *w, const struct insn *in)
{
    (void)w;
    return in + 1;
}

const struct insn *exec_unsupported(struct warp *w, const struct insn *in)
{
    return fault_at(w, in, __builtin_ctz(w->mask), PTX_FAULT_UNSUPPORTED, NULL,
                    "instruction that the emulator does not run");
}

/* ---- guards ---- */

const struct insn *exec_guarded(struct warp *w, const struct insn *in)
{
    uint32_t whole = w->mask;
    uint32_t mask = whole & pred_get(w, in->guard);
    if (mask == 0)
        return in + 1;
    if (mask == whole)
        return in->inner(w, in);
    w->mask = mask;
    w->lanes = (uint32_t)__builtin_popcount(mask);
    const struct insn *next = in->inner(w, in);
    if (w->event == EVENT_NONE || w->event == EVENT_YIELD) {
        w->mask = whole;
        w->lanes = (uint32_t)__builtin_popcount(whole);
    } else if (w->event != EVENT_FAULT) {
        /* The instruction moved, blocked or ended some lanes: the rest goes on behind it. */
        uint32_t rest = whole & ~mask;
        struct group others = w->cur;
        others.mask = rest;
        others.pc = in + 1;
        others.state = GROUP_READY;
        w->cur.mask &= ~rest;
        w->groups[w->group_count++] = others;
    }
    return next;
}

/* ---- branches ---- */

static const struct insn *jump(struct warp *w, const struct insn *target)
{
    return target > w->limit ? warp_moved(w, target) : target;
}

const struct insn *exec_bra(struct warp *w, const struct insn *in)
{
    uint32_t taken = w->mask & pred_get(w, in->r);
    if (taken == 0)
        return in + 1;
    if (taken == w->mask)
        return jump(w, in->u.target);
    w->run->counts.divergent_branches++;
    warp_split(w, taken, in->u.target);
    return warp_moved(w, in + 1);
}

const struct insn *exec_brx(struct warp *w, const struct insn *in)
{
    const uint32_t *index = operand(w, in->a);
    uint32_t left = w->mask;
    const struct insn *first = NULL;
    while (left) {
        int lane = __builtin_ctz(left);
        if (index[lane] >= (uint64_t)in->imm)
            return fault_at(w, in, lane, PTX_FAULT_TRAP, NULL,
                            "branch table index %u is not below %u", index[lane],
                            (uint32_t)in->imm);
        uint32_t same = 0;
        for (uint32_t m = left; m; m &= m - 1)
            if (index[__builtin_ctz(m)] == index[lane])
                same |= 1U << __builtin_ctz(m);
        left &= ~same;
        const struct insn *target = in->u.table[index[lane]];
        if (first)
            warp_split(w, same, target);
        else
            first = target;
    }
    return warp_moved(w, first);
}

const struct insn *exec_exit(struct warp *w, const struct insn *in)
{
    w->next = in + 1;
    return warp_exit(w, w->mask);
}

const struct insn *exec_trap(struct warp *w, const struct insn *in)
{
    return fault_at(w, in, __builtin_ctz(w->mask), PTX_FAULT_TRAP, NULL, "trap");
}

/* ---- calls ---- */

static void copy_args(struct warp *w, uint32_t mask, uint32_t from_frame, const uint32_t *from,
                      uint32_t to_frame, const uint32_t *to, const uint32_t *sizes, uint32_t count)
{
    for (; mask; mask &= mask - 1) {
        size_t row = (size_t)__builtin_ctz(mask) * w->local_stride;
        for (uint32_t i = 0; i < count; i++) {
            memmove(w->local + row + to_frame + to[i], w->local + row + from_frame + from[i],
                    sizes[i]);
            if (w->local_init)
                memmove(w->local_init + row + to_frame + to[i],
                        w->local_init + row + from_frame + from[i], sizes[i]);
        }
    }
}

static void taint_entry(struct warp *w, const struct func *f, uint32_t window, uint32_t pred_window,
                        uint32_t mask)
{
    if (!w->taints)
        return;
    for (uint32_t i = 0; i < f->tainted_count; i++)
        w->taints[(window + f->tainted[i]) / LANE32_BYTES] |= mask;
    for (uint32_t i = 0; i < f->tainted_pred_count; i++)
        w->pred_taints[pred_window + f->tainted_preds[i]] |= mask;
}

static const struct func *caller_of(const struct warp *w, int lane)
{
    if (w->cur.depth == 0)
        return w->run->entry;
    return &w->run->module->funcs[w->calls[(size_t)lane * CALL_DEPTH_MAX + w->cur.depth - 1].func];
}

/* Sends lanes of the running group into a function. */
static const struct insn *enter(struct warp *w, const struct insn *in, uint32_t mask, uint32_t func)
{
    int lane = __builtin_ctz(mask);
    const struct func *f = &w->run->module->funcs[func];
    const struct call_site *site = in->u.call;
    const struct func *caller = caller_of(w, lane);
    struct group next = w->cur;
    next.mask = mask;
    next.state = GROUP_READY;
    next.window = w->cur.window + caller->window_bytes;
    next.pred_window = w->cur.pred_window + caller->predicates;
    next.frame = w->cur.frame + caller->frame_bytes;
    next.depth = (uint16_t)(w->cur.depth + 1);
    next.pc = f->start;
    bool deep = next.depth > CALL_DEPTH_MAX ||
                next.window + f->window_bytes > w->run->window_bytes ||
                next.pred_window + f->predicates > w->run->predicate_count ||
                next.frame + f->frame_bytes > w->local_stride;
    if (deep)
        return fault_at(w, in, lane, PTX_FAULT_STACK, NULL, "call stack too deep (%u calls)",
                        next.depth);
    for (uint32_t left = mask; left; left &= left - 1) {
        size_t at = (size_t)__builtin_ctz(left) * CALL_DEPTH_MAX + w->cur.depth;
        w->calls[at] = (struct call_record){.site = in,
                                            .window = w->cur.window,
                                            .pred_window = w->cur.pred_window,
                                            .frame = w->cur.frame,
                                            .func = func};
    }
    copy_args(w, mask, w->cur.frame, site->args, next.frame, f->formals, site->sizes,
              site->arg_count);
    w->predicates[next.pred_window + PRED_TRUE] = UINT32_MAX;
    taint_entry(w, f, next.window, next.pred_window, mask);
    w->cur.mask &= ~mask;
    w->mask &= ~mask;
    w->groups[w->group_count++] = next;
    return NULL;
}

static bool indirect_target(struct warp *w, const struct insn *in, uint64_t address, uint32_t *func)
{
    uint64_t offset = address - WINDOW_BASE(WINDOW_FUNC);
    const struct ptx_module *m = w->run->module;
    const struct call_site *site = in->u.call;
    *func = (uint32_t)(offset / 16);
    if (offset % 16 || offset / 16 >= m->func_count)
        return false;
    const struct func *f = &m->funcs[*func];
    if (!f->has_body || f->is_entry || f->formal_count != site->arg_count ||
        f->return_count != site->return_count)
        return false;
    for (uint32_t i = 0; i < f->formal_count; i++)
        if (f->formal_sizes[i] != site->sizes[i])
            return false;
    for (uint32_t i = 0; i < f->return_count; i++)
        if (f->return_sizes[i] != site->return_sizes[i])
            return false;
    return true;
}

const struct insn *exec_call(struct warp *w, const struct insn *in)
{
    const struct call_site *site = in->u.call;
    const uint64_t *targets = operand(w, in->a);
    while (w->mask) {
        uint32_t func = site->func;
        uint32_t same = w->mask;
        if (func == UINT32_MAX) {
            int lane = __builtin_ctz(w->mask);
            if (!indirect_target(w, in, targets[lane], &func))
                return fault_at(w, in, lane, PTX_FAULT_TRAP, NULL,
                                "call through a pointer to no function with these arguments");
            same = 0;
            for (uint32_t m = w->mask; m; m &= m - 1)
                if (targets[__builtin_ctz(m)] == targets[lane])
                    same |= 1U << __builtin_ctz(m);
        }
        const struct insn *failed = enter(w, in, same, func);
        if (failed)
            return failed;
    }
    return warp_moved(w, in + 1);
}

const struct insn *exec_ret(struct warp *w, const struct insn *in)
{
    if (w->cur.depth == 0)
        return exec_exit(w, in);
    uint32_t depth = w->cur.depth - 1U;
    while (w->mask) {
        int lane = __builtin_ctz(w->mask);
        struct call_record record = w->calls[(size_t)lane * CALL_DEPTH_MAX + depth];
        uint32_t same = 0;
        for (uint32_t m = w->mask; m; m &= m - 1) {
            int other = __builtin_ctz(m);
            const struct call_record *r = &w->calls[(size_t)other * CALL_DEPTH_MAX + depth];
            if (r->site == record.site && r->window == record.window && r->frame == record.frame)
                same |= 1U << other;
        }
        const struct func *f = &w->run->module->funcs[record.func];
        const struct call_site *site = record.site->u.call;
        copy_args(w, same, w->cur.frame, f->returns, record.frame, site->returns,
                  site->return_sizes, site->return_count);
        struct group back = w->cur;
        back.mask = same;
        back.state = GROUP_READY;
        back.pc = record.site + 1;
        back.window = record.window;
        back.pred_window = record.pred_window;
        back.frame = record.frame;
        back.depth = (uint16_t)depth;
        w->cur.mask &= ~same;
        w->mask &= ~same;
        w->groups[w->group_count++] = back;
    }
    return warp_moved(w, in + 1);
}

/* ---- predicates and places ---- */

const struct insn *exec_pred_and(struct warp *w, const struct insn *in)
{
    pred_set(w, in->p, pred_get(w, in->q) & pred_get(w, in->r));
    return in + 1;
}

const struct insn *exec_pred_or(struct warp *w, const struct insn *in)
{
    pred_set(w, in->p, pred_get(w, in->q) | pred_get(w, in->r));
    return in + 1;
}

const struct insn *exec_pred_xor(struct warp *w, const struct insn *in)
{
    pred_set(w, in->p, pred_get(w, in->q) ^ pred_get(w, in->r));
    return in + 1;
}

const struct insn *exec_pred_mov(struct warp *w, const struct insn *in)
{
    pred_set(w, in->p, pred_get(w, in->q));
    return in + 1;
}

static const struct insn *set_all(struct warp *w, const struct insn *in, uint64_t value)
{
    uint64_t *to = operand(w, in->d);
    for (uint32_t left = w->mask; left; left &= left - 1)
        to[__builtin_ctz(left)] = value;
    return in + 1;
}

const struct insn *exec_mov_frame(struct warp *w, const struct insn *in)
{
    return set_all(w, in, (uint64_t)in->imm + w->cur.frame);
}

const struct insn *exec_mov_dynamic_shared(struct warp *w, const struct insn *in)
{
    return set_all(w, in, (uint64_t)in->imm + SHARED_BASE + w->run->dynamic_shared);
}

const struct insn *exec_mov_special(struct warp *w, const struct insn *in)
{
    special_fill(w, in);
    return in + 1;
}

const struct insn *exec_isspacep(struct warp *w, const struct insn *in)
{
    const uint64_t *address = operand(w, in->a);
    uint32_t result = 0;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        uint64_t window = address[lane] >> WINDOW_SHIFT;
        bool is = false;
        switch ((enum space)in->space) {
        case SPACE_SHARED:
            is = window == WINDOW_SHARED;
            break;
        case SPACE_LOCAL:
            is = window == WINDOW_LOCAL;
            break;
        case SPACE_PARAM:
            is = window == WINDOW_PARAM;
            break;
        case SPACE_GLOBAL:
            is = window >= WINDOW_FIRST_REGION;
            break;
        case SPACE_CONST:
        case SPACE_GENERIC:
            break;
        }
        result |= (uint32_t)is << lane;
    }
    pred_set(w, in->p, result);
    return in + 1;
}

/* ---- undefined registers ---- */

static uint32_t *taint_of(struct warp *w, uint32_t place)
{
    uint32_t at = (place & ~TAINT_DEFINED) >> 1;
    if (place & 1)
        return &w->pred_taints[w->cur.pred_window + at];
    return &w->taints[(w->cur.window + at) / LANE32_BYTES];
}

static uint32_t taint_at(struct warp *w, uint32_t place)
{
    return place & TAINT_DEFINED ? 0 : *taint_of(w, place);
}

/* What must be defined is checked, what may be undefined is passed on, lane by lane. */
const struct insn *exec_taint(struct warp *w, const struct insn *in)
{
    if (!w->taints)
        return in + 1;
    uint32_t mask = w->mask & (in->r ? pred_get(w, in->r) : UINT32_MAX);
    const uint32_t *list = in->u.list;
    for (int i = 0; i < in->count; i++, list++) {
        bool guard = (*list & 1) != 0;
        uint32_t bad = taint_at(w, *list) & (guard ? w->mask : mask);
        if (bad)
            return fault_at(w, in, __builtin_ctz(bad), PTX_FAULT_UNINITIALISED_REGISTER, NULL,
                            "use of a variable that was never given a value");
    }
    uint32_t taint = 0;
    if (in->flags) {
        const uint32_t p = w->pred[(list[2] & ~TAINT_DEFINED) >> 1] ^ (in->extra ? UINT32_MAX : 0);
        taint = (taint_at(w, list[0]) & p) | (taint_at(w, list[1]) & ~p) | taint_at(w, list[2]);
    } else {
        for (int i = 0; i < in->size; i++)
            taint |= taint_at(w, list[i]);
    }
    list += in->size;
    for (int i = 0; i < in->mode; i++) {
        uint32_t *at = taint_of(w, list[i]);
        if (!(list[i] & TAINT_DEFINED))
            *at = (*at & ~mask) | (taint & mask);
    }
    return in + 1;
}
