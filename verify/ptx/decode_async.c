/*
 * Decoders of asynchronous copies, mbarriers and cluster addresses.
 */
#include "verify/ptx/async_int.h"
#include "verify/ptx/decode_int.h"
#include "verify/ptx/exec_int.h"

/* ---- cp.async ---- */

static bool source_address(struct decoder *d, const struct ast_operand *o, enum space space,
                           struct insn *insn, struct copy_op *op)
{
    struct address address;
    if (!decode_address(d, o, space, &address))
        return false;
    insn->b = address.base;
    insn->extra = address.wide;
    op->source_imm = address.imm;
    return true;
}

static bool dest_address(struct decoder *d, const struct ast_operand *o, enum space space,
                         struct insn *insn)
{
    struct address address;
    if (!decode_address(d, o, space, &address))
        return false;
    insn->a = address.base;
    insn->wide = address.wide;
    insn->imm = address.imm;
    insn->space = (uint8_t)address.space;
    return true;
}

static bool copy_small(struct decoder *d, const struct ast_insn *a)
{
    struct copy_op *op = arena_new(d->arena, struct copy_op);
    struct insn insn = {.u.copy = op, .count = 1};
    const struct ast_operand *size = operand_at(d, 2);
    uint32_t operands = a->count - (has(a, MOD_L2_cache_hint) ? 1U : 0U);
    if (operands < 3 || operands > 4 || size->kind != OPERAND_IMM ||
        (size->imm != 4 && size->imm != 8 && size->imm != 16))
        return false;
    if (!dest_address(d, operand_at(d, 0), SPACE_SHARED, &insn) ||
        !source_address(d, operand_at(d, 1), SPACE_GLOBAL, &insn, op))
        return false;
    if (operands == 4) {
        insn.flags = 1;
        if (!source_bits(d, operand_at(d, 3), 32, &insn.c))
            return false;
    }
    insn.size = (uint8_t)size->imm;
    emit(d, exec_cp_async, insn);
    return true;
}

static bool group_wait(struct decoder *d, const struct ast_insn *a, exec_fn *fn)
{
    struct insn insn = {.flags = has(a, MOD_wait_all)};
    if (!insn.flags) {
        const struct ast_operand *n = operand_at(d, 0);
        if (a->count != 1 || n->kind != OPERAND_IMM || n->imm < 0 || n->imm > INT32_MAX)
            return false;
        insn.imm = n->imm;
    }
    emit(d, fn, insn);
    return true;
}

static bool copy_arrive(struct decoder *d, const struct ast_insn *a)
{
    struct insn insn = {.strong = 1, .flags = has(a, MOD_noinc) ? ASYNC_NOINC : 0};
    if (a->count != 1 || !dest_address(d, operand_at(d, 0), decode_space(d, a), &insn))
        return false;
    insn.size = 8;
    d->out->tier = 3;
    emit(d, exec_cp_async_mbarrier, insn);
    return true;
}

/* ---- cp.async.bulk ---- */

static bool copy_bulk(struct decoder *d, const struct ast_insn *a)
{
    struct copy_op *op = arena_new(d->arena, struct copy_op);
    struct insn insn = {.u.copy = op, .size = 16, .count = 1};
    bool to_global = has(a, MOD_bulk_group);
    uint32_t operands = a->count - (has(a, MOD_L2_cache_hint) ? 1U : 0U);
    if (has(a, MOD_multicast_cluster) || operands != (to_global ? 3U : 4U))
        return false;
    enum space to = to_global ? SPACE_GLOBAL : SPACE_SHARED;
    enum space from = to_global ? SPACE_SHARED : SPACE_GLOBAL;
    if (!to_global && !(has(a, MOD_global) && has(a, MOD_mbarrier_bytes)))
        return cannot(d, "copies between blocks of a cluster are not emulated");
    if (!dest_address(d, operand_at(d, 0), to, &insn) ||
        !source_address(d, operand_at(d, 1), from, &insn, op) ||
        !source_bits(d, operand_at(d, 2), 32, &insn.c))
        return false;
    if (!to_global) {
        struct address barrier;
        if (!decode_address(d, operand_at(d, 3), SPACE_SHARED, &barrier))
            return false;
        op->barrier = barrier.base;
        op->barrier_wide = barrier.wide;
        op->barrier_imm = barrier.imm;
    }
    insn.flags = to_global ? ASYNC_TO_GLOBAL : 0;
    emit(d, exec_cp_bulk, insn);
    return true;
}

bool decode_cp(struct decoder *d, const struct ast_insn *a)
{
    if (!has(a, MOD_async))
        return false;
    if (has(a, MOD_bulk)) {
        d->out->tier = 3;
        if (has(a, MOD_tensor) || has(a, MOD_prefetch))
            return false;
        if (has(a, MOD_commit_group)) {
            emit(d, exec_cp_bulk_commit, (struct insn){0});
            return a->count == 0;
        }
        if (has(a, MOD_wait_group))
            return group_wait(d, a, exec_cp_bulk_wait);
        return copy_bulk(d, a);
    }
    if (has(a, MOD_mbarrier))
        return copy_arrive(d, a);
    if (has(a, MOD_commit_group)) {
        emit(d, exec_cp_async_commit, (struct insn){0});
        return a->count == 0;
    }
    if (has(a, MOD_wait_group) || has(a, MOD_wait_all))
        return group_wait(d, a, exec_cp_async_wait);
    return (has(a, MOD_ca) || has(a, MOD_cg)) && copy_small(d, a);
}

/* ---- mbarrier ---- */

static bool barrier_arrive(struct decoder *d, const struct ast_insn *a)
{
    bool state = a->count > 0 && operand_at(d, 0)->kind != OPERAND_MEM;
    uint32_t at = state ? 1 : 0;
    struct insn insn = {.strong = 1, .size = 8};
    if (has(a, MOD_noComplete) || !dest_address(d, operand_at(d, at), decode_space(d, a), &insn))
        return false;
    if (state && operand_at(d, 0)->kind == OPERAND_REG) {
        insn.flags |= ASYNC_STATE;
        if (!dest(d, operand_at(d, 0), 64, &insn.d))
            return false;
    }
    if (has(a, MOD_expect_tx)) {
        insn.flags |= ASYNC_EXPECT;
        if (!source_bits(d, operand_at(d, at + 1), 32, &insn.b))
            return false;
    } else if (a->count > at + 1) {
        insn.flags |= ASYNC_COUNT;
        if (!source_bits(d, operand_at(d, at + 1), 32, &insn.c))
            return false;
    }
    if (has(a, MOD_arrive_drop))
        insn.flags |= ASYNC_DROP;
    emit(d, exec_mbarrier_arrive, insn);
    return true;
}

static bool barrier_test(struct decoder *d, const struct ast_insn *a)
{
    const struct ast_operand *to = operand_at(d, 0);
    struct insn insn = {.strong = 1, .size = 8};
    bool parity = has(a, MOD_parity);
    if (a->count < 3 || to->kind != OPERAND_REG || !pred_dest(d, to->reg, &insn.p) ||
        !dest_address(d, operand_at(d, 1), decode_space(d, a), &insn) ||
        !source_bits(d, operand_at(d, 2), parity ? 32 : 64, &insn.b))
        return false;
    insn.flags = parity ? ASYNC_PARITY : 0;
    emit(d, exec_mbarrier_test, insn);
    return true;
}

static bool barrier_simple(struct decoder *d, const struct ast_insn *a)
{
    struct insn insn = {.strong = 1, .size = 8};
    bool init = has(a, MOD_init), inval = has(a, MOD_inval);
    if (!dest_address(d, operand_at(d, 0), decode_space(d, a), &insn) ||
        (!inval && !source_bits(d, operand_at(d, 1), 32, &insn.b)))
        return false;
    insn.flags = has(a, MOD_complete_tx) ? ASYNC_COMPLETE : 0;
    emit(d, init ? exec_mbarrier_init : inval ? exec_mbarrier_inval : exec_mbarrier_expect, insn);
    return a->count == (inval ? 1U : 2U);
}

bool decode_mbarrier(struct decoder *d, const struct ast_insn *a)
{
    if (has(a, MOD_arrive) || has(a, MOD_arrive_drop))
        return barrier_arrive(d, a);
    if (has(a, MOD_test_wait) || has(a, MOD_try_wait))
        return barrier_test(d, a);
    if (has(a, MOD_init) || has(a, MOD_inval) || has(a, MOD_expect_tx) || has(a, MOD_complete_tx))
        return barrier_simple(d, a);
    struct insn insn = {0};
    if (!has(a, MOD_pending_count) || a->count != 2 ||
        !source_bits(d, operand_at(d, 1), 64, &insn.a) || !dest(d, operand_at(d, 0), 32, &insn.d))
        return false;
    emit(d, exec_mbarrier_pending, insn);
    return true;
}

/* ---- clusters ---- */

bool decode_mapa(struct decoder *d, const struct ast_insn *a)
{
    int bits = type_bits(type_at(a, 0));
    struct insn insn = {.wide = bits == 64};
    if ((bits != 32 && bits != 64) || a->count != 3 ||
        !source_bits(d, operand_at(d, 1), bits, &insn.a) ||
        !source_bits(d, operand_at(d, 2), 32, &insn.b) || !dest(d, operand_at(d, 0), bits, &insn.d))
        return false;
    emit(d, exec_mapa, insn);
    return true;
}

bool decode_getctarank(struct decoder *d, const struct ast_insn *a)
{
    int bits = type_bits(type_at(a, 0));
    struct insn insn = {.wide = bits == 64};
    if ((bits != 32 && bits != 64) || a->count != 2 ||
        !source_bits(d, operand_at(d, 1), bits, &insn.a) || !dest(d, operand_at(d, 0), 32, &insn.d))
        return false;
    emit(d, exec_getctarank, insn);
    return true;
}
