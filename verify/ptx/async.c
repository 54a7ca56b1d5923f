/*
 * Asynchronous copies and their barriers: cp.async, cp.async.bulk without tensor maps, mbarrier,
 * addresses in a cluster.
 *
 * A cp.async reads its source at once and delivers at the wait that covers it; until then its
 * destination is marked as in flight, so a read that came too early is seen and, unchecked, finds
 * the old bytes.  A bulk copy is delivered at once and told to its mbarrier; bulk.c keeps what may
 * not be relied on yet.
 *
 * An mbarrier's 64 bits hold, from the top: phase (1 bit), expected arrivals (20), pending arrivals
 * (20), bytes still to come, offset by 2^22 (23).  A phase ends when no arrival and no byte is
 * pending.  What arrivals and waits order is in phase.c.
 */
#include <string.h>

#include "verify/ptx/async_int.h"
#include "verify/ptx/exec_int.h"
#include "verify/ptx/fault_int.h"
#include "verify/ptx/mem_int.h"
#include "verify/ptx/warp_int.h"

enum { QUEUES_BYTES_MAX = 256 << 20, COPY_BYTES_MAX = 16, BULK_BYTES_MAX = 1 << 24 };

struct async_copy {
    uint32_t shared; /* offset */
    uint32_t group;
    uint32_t who;
    uint8_t lane, bytes;
    bool reads; /* more than none of its source */
    unsigned char data[COPY_BYTES_MAX];
};

struct async_queue {
    struct async_copy *copies;
    uint32_t count, room;
    uint32_t committed[LANES]; /* groups */
};

void async_reset(struct warp *w)
{
    if (!w->async)
        return;
    w->async->count = 0;
    memset(w->async->committed, 0, sizeof(w->async->committed));
}

static struct async_queue *queue_of(struct warp *w)
{
    if (!w->async)
        w->async = arena_new(w->run->arena, struct async_queue);
    return w->async;
}

/* NULL = too many are on their way. */
static struct async_copy *add_copy(struct warp *w)
{
    struct async_queue *q = queue_of(w);
    if (q->count == q->room) {
        uint32_t room = q->room ? 2 * q->room : 256;
        w->run->async_bytes += room * sizeof(struct async_copy);
        if (w->run->async_bytes > QUEUES_BYTES_MAX)
            return NULL;
        struct async_copy *copies = arena_array(w->run->arena, struct async_copy, room);
        if (q->count)
            memcpy(copies, q->copies, q->count * sizeof(*copies));
        q->copies = copies;
        q->room = room;
    }
    return &q->copies[q->count++];
}

/* ---- cp.async ---- */

static void mark_in_flight(struct warp *w, uint32_t offset, uint32_t bytes, uint32_t time,
                           uint32_t who)
{
    struct shadow *s = &w->block->shadow;
    uint32_t grain = w->run->shared_grain;
    for (uint32_t cell = offset >> grain; s->write_time && cell < (offset + bytes) >> grain;
         cell++) {
        s->write_time[cell] = time;
        s->write_who[cell] = who;
    }
}

/* Issues one lane's copy of `size` bytes, of which `from_size` are read and the rest zero. */
static bool issue(struct warp *w, const struct insn *in, int lane, uint32_t from_size)
{
    const uint32_t *narrow = operand(w, in->b);
    const uint64_t *wide = operand(w, in->b);
    uint64_t source = (in->extra ? wide[lane] : narrow[lane]) + (uint64_t)in->u.copy->source_imm;
    uint64_t to_address = mem_address(w, in, lane);
    struct async_copy copy = {.lane = (uint8_t)lane, .bytes = in->size};
    if (from_size > in->size)
        from_size = in->size;
    copy.reads = from_size > 0;
    if (from_size) {
        const void *from = mem_lane(w, in, lane, SPACE_GLOBAL, source, from_size, MEM_READ);
        if (!from)
            return false;
        memcpy(copy.data, from, from_size);
    }
    unsigned char *to = mem_lane(w, in, lane, SPACE_SHARED, to_address, in->size, MEM_WRITE);
    if (!to || !mem_write_race(w, in, lane, to_address, in->size, to, copy.data))
        return false;
    struct async_copy *place = add_copy(w);
    if (!place) {
        fault_at(w, in, lane, PTX_FAULT_LEAKED_WAIT, NULL,
                 "asynchronous copies without a wait pile up");
        return false;
    }
    copy.shared = (uint32_t)(to - w->block->shared);
    copy.group = queue_of(w)->committed[lane];
    copy.who = shadow_who(w, in, lane);
    mark_in_flight(w, copy.shared, copy.bytes, SHADOW_IN_FLIGHT, copy.who);
    *place = copy;
    return true;
}

const struct insn *exec_cp_async(struct warp *w, const struct insn *in)
{
    const uint32_t *sizes = operand(w, in->c);
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        if (!issue(w, in, lane, in->flags ? sizes[lane] : in->size))
            return w->limit;
    }
    return in + 1;
}

const struct insn *exec_cp_async_commit(struct warp *w, const struct insn *in)
{
    struct async_queue *q = queue_of(w);
    for (uint32_t m = w->mask; m; m &= m - 1)
        q->committed[__builtin_ctz(m)]++;
    return in + 1;
}

/* Delivers the copies of the running lanes whose group is below the lane's limit. */
static void deliver(struct warp *w, const uint32_t limits[LANES])
{
    struct async_queue *q = queue_of(w);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < q->count; i++) {
        struct async_copy *copy = &q->copies[i];
        if ((w->mask >> copy->lane & 1) && copy->group < limits[copy->lane]) {
            memcpy(w->block->shared + copy->shared, copy->data, copy->bytes);
            mark_in_flight(w, copy->shared, copy->bytes, w->run->time, copy->who);
        } else {
            q->copies[kept++] = *copy;
        }
    }
    q->count = kept;
}

const struct insn *exec_cp_async_wait(struct warp *w, const struct insn *in)
{
    struct async_queue *q = queue_of(w);
    uint32_t limits[LANES];
    for (int i = 0; i < LANES; i++) {
        uint32_t left = (uint32_t)in->imm;
        uint32_t done = q->committed[i] > left ? q->committed[i] - left : 0;
        limits[i] = in->flags ? UINT32_MAX : done;
    }
    deliver(w, limits);
    return in + 1;
}

/* The PTX manual is silent on copies that outlive their block; its shared memory is then another's.
 * Those of no bytes, with which pipelines run past their end, are let pass. */
bool async_leaks(struct block *block)
{
    if (!block->run->check)
        return false;
    for (uint32_t i = 0; i < block->warp_count; i++) {
        struct warp *w = &block->warps[i];
        for (uint32_t k = 0; w->async && k < w->async->count; k++) {
            const struct async_copy *copy = &w->async->copies[k];
            const struct fault_place place = {
                .space = "shared", .offset = copy->shared, .bytes = block->run->shared_bytes};
            if (!copy->reads)
                continue;
            fault_at(w, block->run->module->code + SHADOW_INSN(copy->who), copy->lane,
                     PTX_FAULT_LEAKED_WAIT, &place,
                     "an asynchronous copy may still write when its block has ended: no "
                     "cp.async.wait_group or wait_all covers it");
            return true;
        }
    }
    return bulk_leaks(block);
}

/* ---- mbarrier ---- */

enum { COUNT_BITS = 20, TX_BITS = 23, TX_ZERO = 1 << 22, COUNT_MAX = (1 << COUNT_BITS) - 1 };

struct mbarrier {
    uint32_t phase, expected, pending;
    int32_t tx;
};

static struct mbarrier unpack_barrier(uint64_t bits)
{
    return (struct mbarrier){
        .phase = (uint32_t)(bits >> 63),
        .expected = (uint32_t)(bits >> (TX_BITS + COUNT_BITS)) & COUNT_MAX,
        .pending = (uint32_t)(bits >> TX_BITS) & COUNT_MAX,
        .tx = (int32_t)(bits & ((1U << TX_BITS) - 1)) - TX_ZERO,
    };
}

static uint64_t pack_barrier(const struct mbarrier *b)
{
    return (uint64_t)b->phase << 63 | (uint64_t)b->expected << (TX_BITS + COUNT_BITS) |
           (uint64_t)b->pending << TX_BITS | ((uint32_t)(b->tx + TX_ZERO) & ((1U << TX_BITS) - 1));
}

static void settle(struct mbarrier *b)
{
    if (b->pending == 0 && b->tx == 0) {
        b->phase ^= 1;
        b->pending = b->expected;
    }
}

static bool is_own(const struct warp *w, const unsigned char *at)
{
    const unsigned char *shared = w->block->shared;
    return at >= shared && at < shared + w->run->shared_bytes;
}

/* Where something lies in the block's own shared memory; NOT_OWN = elsewhere. */
#define NOT_OWN UINT32_MAX
static uint32_t own_offset(const struct warp *w, const unsigned char *at)
{
    return is_own(w, at) ? (uint32_t)(at - w->block->shared) : NOT_OWN;
}

/* Accesses to an mbarrier that has a clock order by that alone. */
static unsigned char *barrier_at(struct warp *w, const struct insn *in, int lane, uint64_t address,
                                 enum space space, enum mem_access access)
{
    unsigned char *at = mem_lane(w, in, lane, space, address, 8, MEM_PLAIN_READ);
    if (!at || (access != MEM_WRITE && phase_is_known(w->block, own_offset(w, at))))
        return at;
    return mem_lane(w, in, lane, space, address, 8, access);
}

static struct mbarrier load_barrier(const unsigned char *at)
{
    uint64_t bits;
    memcpy(&bits, at, sizeof(bits));
    return unpack_barrier(bits);
}

static void store_barrier(struct warp *w, unsigned char *at, const struct mbarrier *b)
{
    w->run->stores++;
    uint64_t bits = pack_barrier(b);
    memcpy(at, &bits, sizeof(bits));
}

const struct insn *exec_mbarrier_init(struct warp *w, const struct insn *in)
{
    const uint32_t *counts = operand(w, in->b);
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        unsigned char *at =
            barrier_at(w, in, lane, mem_address(w, in, lane), (enum space)in->space, MEM_WRITE);
        if (!at)
            return w->limit;
        uint32_t count = counts[lane];
        if (count == 0 || count > COUNT_MAX)
            return fault_at(w, in, lane, PTX_FAULT_TRAP, NULL,
                            "mbarrier for %u arrivals, not 1 to %d", count, COUNT_MAX);
        store_barrier(w, at, &(struct mbarrier){0, count, count, 0});
        phase_init(w->block, own_offset(w, at));
    }
    return in + 1;
}

const struct insn *exec_mbarrier_inval(struct warp *w, const struct insn *in)
{
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        if (!barrier_at(w, in, lane, mem_address(w, in, lane), (enum space)in->space, MEM_ATOMIC))
            return w->limit;
    }
    return in + 1;
}

/* flags: ASYNC_DROP, ASYNC_EXPECT (b = bytes), ASYNC_COUNT (c = arrivals), ASYNC_STATE (d). */
const struct insn *exec_mbarrier_arrive(struct warp *w, const struct insn *in)
{
    const uint32_t *bytes = operand(w, in->b);
    const uint32_t *counts = operand(w, in->c);
    uint64_t *states = operand(w, in->d);
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        unsigned char *at =
            barrier_at(w, in, lane, mem_address(w, in, lane), (enum space)in->space, MEM_ATOMIC);
        if (!at)
            return w->limit;
        struct mbarrier b = load_barrier(at);
        uint32_t count = in->flags & ASYNC_COUNT ? counts[lane] : 1;
        if (count > b.pending)
            return fault_at(w, in, lane, PTX_FAULT_TRAP, NULL,
                            "%u arrivals at an mbarrier that expects %u more", count, b.pending);
        uint64_t state = pack_barrier(&b);
        if (in->flags & ASYNC_EXPECT)
            b.tx += (int32_t)(bytes[lane] & 0xfffff);
        if (in->flags & ASYNC_DROP)
            b.expected -= b.expected ? 1 : 0;
        b.pending -= count;
        settle(&b);
        store_barrier(w, at, &b);
        phase_arrive(w, lane, own_offset(w, at));
        if (in->flags & ASYNC_STATE)
            states[lane] = state;
    }
    clock_tick(w->run);
    return in + 1;
}

/* The barrier's place; NULL = a fault was raised. */
static const unsigned char *change_bytes(struct warp *w, const struct insn *in, int lane,
                                         uint64_t address, enum space space, int64_t by)
{
    unsigned char *at = barrier_at(w, in, lane, address, space, MEM_ATOMIC);
    if (!at)
        return NULL;
    struct mbarrier b = load_barrier(at);
    int64_t tx = b.tx + by;
    if (tx >= TX_ZERO || tx < -TX_ZERO) {
        fault_at(w, in, lane, PTX_FAULT_TRAP, NULL, "an mbarrier's byte count overflows");
        return NULL;
    }
    b.tx = (int32_t)tx;
    settle(&b);
    store_barrier(w, at, &b);
    if (by < 0)
        phase_arrive(w, lane, own_offset(w, at));
    return at;
}

const struct insn *exec_mbarrier_expect(struct warp *w, const struct insn *in)
{
    const uint32_t *bytes = operand(w, in->b);
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        int64_t by = in->flags & ASYNC_COMPLETE ? -(int64_t)bytes[lane] : (int64_t)bytes[lane];
        if (!change_bytes(w, in, lane, mem_address(w, in, lane), (enum space)in->space, by))
            return w->limit;
    }
    clock_tick(w->run);
    return in + 1;
}

const struct insn *exec_mbarrier_test(struct warp *w, const struct insn *in)
{
    const uint32_t *parities = operand(w, in->b);
    const uint64_t *states = operand(w, in->b);
    uint32_t done = 0;
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        const unsigned char *at =
            barrier_at(w, in, lane, mem_address(w, in, lane), (enum space)in->space, MEM_READ);
        if (!at)
            return w->limit;
        struct mbarrier b = load_barrier(at);
        uint32_t phase =
            in->flags & ASYNC_PARITY ? parities[lane] & 1 : (uint32_t)(states[lane] >> 63);
        done |= (uint32_t)(b.phase != phase) << lane;
        if (b.phase == phase)
            continue;
        bulk_phase_over(w->block, own_offset(w, at));
        phase_wait(w, own_offset(w, at));
    }
    pred_set(w, in->p, done);
    if (done == w->mask)
        return in + 1;
    /* Someone else must run before asking again helps. */
    w->block->polls++;
    w->waits_at = in;
    w->waits_lane = (uint32_t)__builtin_ctz(w->mask & ~done);
    w->event = EVENT_YIELD;
    w->next = in + 1;
    return w->limit;
}

const struct insn *exec_mbarrier_pending(struct warp *w, const struct insn *in)
{
    const uint64_t *states = operand(w, in->a);
    uint32_t *to = operand(w, in->d);
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        to[lane] = unpack_barrier(states[lane]).pending;
    }
    return in + 1;
}

/* An arrival when all copies of the lane so far are delivered: they are, at once. */
const struct insn *exec_cp_async_mbarrier(struct warp *w, const struct insn *in)
{
    uint32_t limits[LANES];
    for (int i = 0; i < LANES; i++)
        limits[i] = UINT32_MAX;
    deliver(w, limits);
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        unsigned char *at =
            barrier_at(w, in, lane, mem_address(w, in, lane), (enum space)in->space, MEM_ATOMIC);
        if (!at)
            return w->limit;
        struct mbarrier b = load_barrier(at);
        if (in->flags & ASYNC_NOINC)
            b.pending -= b.pending ? 1 : 0;
        settle(&b);
        store_barrier(w, at, &b);
        phase_arrive(w, lane, own_offset(w, at));
    }
    clock_tick(w->run);
    return in + 1;
}

/* ---- bulk copies ---- */

/* Both ends are checked in pieces as large as their alignment: 16 bytes.  `shared` is where the
 * end in shared memory starts. */
static bool copy_bulk(struct warp *w, const struct insn *in, int lane, uint64_t to, uint64_t from,
                      uint32_t bytes, uint32_t *shared)
{
    const bool out = in->flags & ASYNC_TO_GLOBAL;
    *shared = NOT_OWN;
    for (uint32_t at = 0; at < bytes; at += COPY_BYTES_MAX) {
        unsigned char data[COPY_BYTES_MAX];
        const unsigned char *source = mem_lane(w, in, lane, out ? SPACE_SHARED : SPACE_GLOBAL,
                                               from + at, COPY_BYTES_MAX, MEM_READ);
        if (!source)
            return false;
        memcpy(data, source, sizeof(data));
        unsigned char *target = mem_lane(w, in, lane, out ? SPACE_GLOBAL : SPACE_SHARED, to + at,
                                         COPY_BYTES_MAX, MEM_WRITE);
        if (!target || !mem_write_race(w, in, lane, to + at, COPY_BYTES_MAX, target, data))
            return false;
        memcpy(target, data, sizeof(data));
        uint32_t offset = own_offset(w, out ? source : target);
        if (at == 0)
            *shared = offset;
        if (!out && offset != NOT_OWN)
            mark_in_flight(w, offset, COPY_BYTES_MAX, w->run->time,
                           shadow_who(w, in, lane) | SHADOW_BULK);
    }
    return true;
}

/* Tells the mbarrier that the copy is there, and that nobody has waited for it yet. */
static bool complete_bulk(struct warp *w, const struct insn *in, int lane, uint32_t bytes,
                          uint32_t shared)
{
    const struct copy_op *op = in->u.copy;
    const uint32_t *bar32 = operand(w, op->barrier);
    const uint64_t *bar64 = operand(w, op->barrier);
    uint64_t barrier = (op->barrier_wide ? bar64[lane] : bar32[lane]) + (uint64_t)op->barrier_imm;
    const unsigned char *at = change_bytes(w, in, lane, barrier, SPACE_SHARED, -(int64_t)bytes);
    if (!at)
        return false;
    if (shared != NOT_OWN && is_own(w, at))
        bulk_fills(w, in, lane, shared, bytes, own_offset(w, at));
    return true;
}

const struct insn *exec_cp_bulk(struct warp *w, const struct insn *in)
{
    const uint32_t *sizes = operand(w, in->c);
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        const uint32_t *narrow = operand(w, in->b);
        const uint64_t *wide = operand(w, in->b);
        uint64_t from = (in->extra ? wide[lane] : narrow[lane]) + (uint64_t)in->u.copy->source_imm;
        uint32_t shared;
        if (sizes[lane] % COPY_BYTES_MAX || sizes[lane] > BULK_BYTES_MAX)
            return fault_at(w, in, lane, PTX_FAULT_MISALIGNED, NULL,
                            "bulk copy of %u bytes, which is no multiple of 16", sizes[lane]);
        if (!copy_bulk(w, in, lane, mem_address(w, in, lane), from, sizes[lane], &shared))
            return w->limit;
        bool done = in->flags & ASYNC_TO_GLOBAL
                        ? shared == NOT_OWN || bulk_drains(w, in, lane, shared, sizes[lane])
                        : complete_bulk(w, in, lane, sizes[lane], shared);
        if (!done)
            return w->limit;
    }
    clock_tick(w->run);
    return in + 1;
}

/* ---- clusters ---- */

const struct insn *exec_mapa(struct warp *w, const struct insn *in)
{
    const uint32_t *ranks = operand(w, in->b);
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        uint64_t bits = (uint64_t)(ranks[lane] + 1) << CLUSTER_SHIFT;
        if (ranks[lane] >= w->block->cluster->count)
            return fault_at(w, in, lane, PTX_FAULT_OUT_OF_BOUNDS, NULL,
                            "mapa to block %u of a cluster of %u", ranks[lane],
                            w->block->cluster->count);
        if (in->wide) {
            const uint64_t *from = operand(w, in->a);
            uint64_t *to = operand(w, in->d);
            to[lane] = (from[lane] & ~((uint64_t)0xff << CLUSTER_SHIFT)) | bits;
        } else {
            const uint32_t *from = operand(w, in->a);
            uint32_t *to = operand(w, in->d);
            to[lane] = (from[lane] & SHARED_ADDR_MASK) | (uint32_t)bits;
        }
    }
    return in + 1;
}

const struct insn *exec_getctarank(struct warp *w, const struct insn *in)
{
    uint32_t *to = operand(w, in->d);
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        const uint64_t *wide = operand(w, in->a);
        const uint32_t *narrow = operand(w, in->a);
        uint64_t address = in->wide ? wide[lane] : narrow[lane];
        uint32_t rank = (uint32_t)(address >> CLUSTER_SHIFT) & 0xff;
        to[lane] = rank ? rank - 1 : w->block->rank;
    }
    return in + 1;
}
