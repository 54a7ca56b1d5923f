/*
 * Atomics: lane by lane, in lane order.
 *
 * Each is a read, one exact operation, a write.  An operation that changes nothing is how a lock or
 * flag is polled, so other blocks are let run when one does the same again.
 */
#include <string.h>

#include "verify/ptx/atom_int.h"
#include "verify/ptx/exec_int.h"
#include "verify/ptx/mem_int.h"
#include "verify/ptx/numeric_int.h"
#include "verify/ptx/warp_int.h"

static uint64_t integer_op(enum atom_op op, uint64_t old, uint64_t b, bool less)
{
    switch (op) {
    case ATOM_AND:
        return old & b;
    case ATOM_OR:
        return old | b;
    case ATOM_XOR:
        return old ^ b;
    case ATOM_EXCH:
        return b;
    case ATOM_ADD:
        return old + b;
    case ATOM_INC:
        return old >= b ? 0 : old + 1;
    case ATOM_DEC:
        return old == 0 || old > b ? b : old - 1;
    case ATOM_MIN:
        return less ? old : b;
    case ATOM_MAX:
        return less ? b : old;
    case ATOM_CAS:
        return old;
    }
    return old;
}

static uint32_t half_op(enum atom_op op, enum atom_type type, uint32_t a, uint32_t b)
{
    bool bf = type == ATOM_BF16 || type == ATOM_BF16X2;
    float x = bf ? bf16_f32(a & 0xffff) : f16_f32(a & 0xffff);
    float y = bf ? bf16_f32(b & 0xffff) : f16_f32(b & 0xffff);
    float r = op == ATOM_ADD ? x + y : op == ATOM_MIN ? min_f32(x, y) : max_f32(x, y);
    return bf ? f32_bf16_rn(r) : f32_f16_rn(r);
}

static uint64_t combine(enum atom_op op, enum atom_type type, uint64_t old, uint64_t b)
{
    uint32_t o = (uint32_t)old, v = (uint32_t)b;
    switch (type) {
    case ATOM_S32:
        return integer_op(op, old, b, (int32_t)o < (int32_t)v);
    case ATOM_S64:
        return integer_op(op, old, b, (int64_t)old < (int64_t)b);
    case ATOM_F32:
        return op == ATOM_EXCH ? b : f32_bits(canon_f32(f32_from(o) + f32_from(v)));
    case ATOM_F64:
        return op == ATOM_EXCH ? b : f64_bits(canon_f64(f64_from(old) + f64_from(b)));
    case ATOM_F16:
    case ATOM_BF16:
        return half_op(op, type, o, v);
    case ATOM_F16X2:
    case ATOM_BF16X2:
        return half_op(op, type, o, v) | half_op(op, type, o >> 16, v >> 16) << 16;
    case ATOM_U16:
    case ATOM_U32:
    case ATOM_U64:
    case ATOM_B128:
        return integer_op(op, old, b, old < b);
    }
    return old;
}

static uint64_t lane_value(struct warp *w, uint32_t op, int lane, uint32_t size)
{
    const unsigned char *at = operand(w, op);
    uint64_t value = 0;
    if (size == 8)
        memcpy(&value, at + (size_t)lane * 8, 8);
    else
        memcpy(&value, at + (size_t)lane * 4, size);
    return value;
}

static void set_lane(struct warp *w, uint32_t op, int lane, uint32_t size, uint64_t value)
{
    unsigned char *at = operand(w, op);
    uint32_t narrow = (uint32_t)value;
    if (size == 8)
        memcpy(at + (size_t)lane * 8, &value, 8);
    else
        memcpy(at + (size_t)lane * 4, &narrow, 4);
}

/* Returns whether memory changed; what was there is added to *saw. */
static bool update(struct warp *w, const struct insn *in, int lane, unsigned char *at,
                   uint64_t *saw)
{
    enum atom_op op = (enum atom_op)in->mode;
    uint64_t old = 0;
    memcpy(&old, at, in->size);
    uint64_t b = lane_value(w, in->b, lane, in->size);
    uint64_t value;
    if (op == ATOM_CAS)
        value = old == b ? lane_value(w, in->c, lane, in->size) : old;
    else
        value = combine(op, (enum atom_type)in->extra, old, b);
    bool changed = memcmp(&value, &old, in->size) != 0;
    *saw = mem_digest(mem_digest(*saw, old), b);
    memcpy(at, &value, in->size);
    if (!in->flags)
        set_lane(w, in->d, lane, in->size, old);
    return changed;
}

/* 128 bits: cas and exch only. */
static bool update128(struct warp *w, const struct insn *in, int lane, unsigned char *at,
                      uint64_t *saw)
{
    uint64_t old[2], b[2], value[2];
    memcpy(old, at, sizeof(old));
    for (uint32_t k = 0; k < 2; k++) {
        b[k] = lane_value(w, in->b + k * LANE64_BYTES, lane, 8);
        *saw = mem_digest(mem_digest(*saw, old[k]), b[k]);
        value[k] = in->mode == ATOM_CAS ? lane_value(w, in->c + k * LANE64_BYTES, lane, 8) : b[k];
    }
    bool equal = memcmp(old, b, sizeof(old)) == 0;
    if (in->mode == ATOM_CAS && !equal)
        memcpy(value, old, sizeof(old));
    memcpy(at, value, sizeof(value));
    for (uint32_t k = 0; k < 2 && !in->flags; k++)
        set_lane(w, in->d + k * LANE64_BYTES, lane, 8, old[k]);
    return memcmp(value, old, sizeof(old)) != 0;
}

const struct insn *exec_atom(struct warp *w, const struct insn *in)
{
    bool changed = false;
    uint64_t saw = w->mask;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        uint64_t address = mem_address(w, in, lane);
        unsigned char *at =
            mem_lane(w, in, lane, (enum space)in->space, address, in->size, MEM_ATOMIC);
        if (!at)
            return w->limit;
        saw = mem_digest(saw, address);
        changed |=
            in->size == 16 ? update128(w, in, lane, at, &saw) : update(w, in, lane, at, &saw);
    }
    w->run->counts.atomics += w->lanes;
    w->run->stores += changed;
    publish_strong_near(w, in);
    if (w->block->strong_global) {
        w->run->communicates |= !in->flags;
        w->block->polls += !changed;
        publish_strong(w, in);
        clock_acquire_global(w);
    }
    w->block->strong_global = false;
    return changed || warp_polled(w, in, saw) ? in + 1 : w->limit;
}
