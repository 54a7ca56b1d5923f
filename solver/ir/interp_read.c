/*
 * Elements of a tensor into lanes.
 *
 * When all subscripts are affine, lanes lie in the tensor at a constant distance: 0 (one element
 * for all), 1 (the register points into the tensor, nothing is copied) or another (copied).  Where
 * such a read can leave the tensor, each subscript is monotone along the lanes, so the lanes inside
 * form one interval; the others get the pad.  Other subscripts (gather, division) are evaluated
 * lane by lane and checked lane by lane: their values may come from hostile data.
 *
 * Invariant: no element outside the tensor is ever touched.
 */
#include <math.h>
#include <stdio.h>

#include "base/num.h"

#include "solver/ir/interp_int.h"

static const double exact = 0;

static int64_t affine_at(const struct worker *w, const struct affine *form)
{
    int64_t value = form->constant;
    for (size_t l = 0; l < w->kernel->stmt->loop_count; l++)
        value += form->coefficient[l] * w->loops[l];
    return value;
}

static int64_t lane_step(const struct worker *w, const struct affine *form)
{
    return w->kernel->lane == OP_NONE ? 0 : form->coefficient[w->kernel->lane];
}

void read_fail(struct worker *w, const struct expr *expr, size_t dim, int64_t value, int64_t lane)
{
    const struct op *op = w->interp->bound->op;
    const struct stmt *stmt = w->kernel->stmt;
    char at[256];
    size_t used = 0;
    at[0] = '\0';
    for (size_t l = 0; l < stmt->loop_count && used < sizeof(at); l++) {
        int64_t loop = w->loops[l] + (l == w->kernel->lane ? lane : 0);
        int wrote = snprintf(at + used, sizeof(at) - used, "%s%.*s=%lld", l ? " " : "",
                             STR_ARG(stmt->loops[l].name), (long long)loop);
        used += wrote > 0 ? (size_t)wrote : sizeof(at);
    }
    size_t tensor = expr ? expr->tensor : stmt->target;
    w->failed = true;
    err_raise(&w->err, ERR_SEMANTIC,
              "body line %d: at %s, subscript %zu of %.*s is %lld, outside 0 .. %lld",
              expr ? expr->place.line : stmt->place.line, used ? at : "its only element", dim + 1,
              STR_ARG(op->tensors[tensor].name), (long long)value,
              (long long)w->interp->bound->tensors[tensor].shape[dim] - 1);
}

/* The lanes [*low, *high) at which the subscript start + step * lane is in [0, extent). */
static void clip(int64_t start, int64_t step, int64_t extent, int64_t *low, int64_t *high)
{
    int64_t first, end;
    if (step == 0) {
        bool inside = start >= 0 && start < extent;
        first = 0;
        end = inside ? *high : 0;
    } else if (step > 0) {
        first = num_ceil_div(-start, step);
        end = num_ceil_div(extent - start, step);
    } else {
        first = num_floor_div(start - extent, -step) + 1;
        end = num_floor_div(start, -step) + 1;
    }
    *low = first > *low ? first : *low;
    *high = end < *high ? end : *high;
    if (*high < *low)
        *high = *low;
}

/* Make the register own its lanes, all of them the pad. */
static void fill_pad(const struct worker *w, const struct access *access, struct reg *reg, size_t n)
{
    const struct reg *pad = &w->regs[access->pad];
    for (size_t i = 0; i < n; i++)
        reg->own[i] = pad->at[i * pad->step];
    for (size_t i = 0; w->interp->mode == INTERP_BOUND && i < n; i++)
        reg->own_bound[i] = pad->bound[i * pad->bound_step];
}

static void own_lanes(const struct worker *w, struct reg *reg, bool varying)
{
    reg->at = reg->own;
    reg->step = varying;
    reg->bound = w->interp->mode == INTERP_BOUND ? reg->own_bound : NULL;
    reg->bound_step = varying;
}

static void copy_lanes(const struct worker *w, const struct store *store, int64_t base,
                       int64_t step, struct reg *reg, int64_t low, int64_t high)
{
    for (int64_t i = low; i < high; i++)
        reg->own[i] = store->at[base + i * step];
    if (w->interp->mode != INTERP_BOUND)
        return;
    for (int64_t i = low; i < high; i++)
        reg->own_bound[i] = store->bound ? store->bound[base + i * step] : 0;
}

static bool read_affine(struct worker *w, const struct insn *insn, struct reg *reg, int64_t n)
{
    const struct access *access = insn->access;
    const struct store *store = &w->interp->stores[access->tensor];
    int64_t base = affine_at(w, &access->flat);
    int64_t step = lane_step(w, &access->flat);
    int64_t low = 0;
    int64_t high = n;
    for (size_t d = 0; access->may_leave && d < access->rank; d++) {
        const struct sub *sub = &access->subs[d];
        int64_t start = affine_at(w, &sub->form);
        if (sub->may_leave)
            clip(start, lane_step(w, &sub->form), sub->extent, &low, &high);
        if ((low > 0 || high < n) && access->pad == OP_NONE) {
            int64_t lane = low > 0 ? 0 : high;
            read_fail(w, insn->expr, d, start + lane * lane_step(w, &sub->form), lane);
            return false;
        }
    }
    if (low == 0 && high == n && step >= 0 && step <= 1) {
        reg->at = store->at + base;
        reg->step = insn->varying && step == 1;
        reg->bound = store->bound ? store->bound + base : &exact;
        reg->bound_step = store->bound ? reg->step : 0;
        return true;
    }
    own_lanes(w, reg, insn->varying);
    if (low > 0 || high < n)
        fill_pad(w, access, reg, (size_t)n);
    copy_lanes(w, store, base, step, reg, low, high);
    return true;
}

/* The value of a subscript in a lane, and whether it is decided. */
static int64_t sub_at(const struct worker *w, const struct sub *sub, int64_t start, int64_t lane,
                      bool *open)
{
    if (sub->affine)
        return start + lane * lane_step(w, &sub->form);
    const struct reg *reg = &w->regs[sub->reg];
    if (w->interp->mode == INTERP_BOUND)
        *open |= reg->bound[(size_t)lane * reg->bound_step] > 0;
    return reg->at[(size_t)lane * reg->step].i;
}

static bool read_general(struct worker *w, const struct insn *insn, struct reg *reg, int64_t n)
{
    const struct access *access = insn->access;
    const struct store *store = &w->interp->stores[access->tensor];
    int64_t start[OP_RANK_MAX];
    for (size_t d = 0; d < access->rank; d++)
        start[d] = access->subs[d].affine ? affine_at(w, &access->subs[d].form) : 0;
    own_lanes(w, reg, insn->varying);
    if (access->pad != OP_NONE)
        fill_pad(w, access, reg, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        int64_t offset = 0;
        bool inside = true;
        bool open = false;
        for (size_t d = 0; d < access->rank; d++) {
            int64_t value = sub_at(w, &access->subs[d], start[d], i, &open);
            bool fits = value >= 0 && value < access->subs[d].extent;
            if (!fits && access->pad == OP_NONE) {
                read_fail(w, insn->expr, d, value, i);
                return false;
            }
            inside &= fits;
            offset += fits ? value * access->subs[d].stride : 0;
        }
        if (inside)
            copy_lanes(w, store, offset - i, 1, reg, i, i + 1);
        if (open)
            reg->own_bound[i] = INFINITY;
    }
    return true;
}

bool read_lanes(struct worker *w, const struct insn *insn, struct reg *reg)
{
    int64_t n = insn->varying ? (int64_t)w->lanes : 1;
    if (insn->access->general)
        return read_general(w, insn, reg, n);
    return read_affine(w, insn, reg, n);
}
