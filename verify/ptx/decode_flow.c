/*
 * Decoders of control flow, barriers and warp primitives.
 */
#include "verify/ptx/decode_int.h"
#include "verify/ptx/exec_int.h"
#include "verify/ptx/flow_int.h"
#include "verify/ptx/sync_int.h"

enum { FIXUPS_MAX = 2 << 20 }; /* many brx may share a long list of targets */

/* ---- branches ---- */

bool decode_bra(struct decoder *d, const struct ast_insn *a)
{
    const struct ast_operand *to = operand_at(d, 0);
    if (a->count != 1 || to->kind != OPERAND_LABEL)
        return false;
    VEC_PUSH(d->scratch, &d->fixups, struct fixup) =
        (struct fixup){(uint32_t)d->code.count, to->index, UINT32_MAX};
    /* The guard decides where to, not whether. */
    struct insn insn = {.r = d->guard};
    uint16_t guard = d->guard;
    d->guard = 0;
    emit(d, exec_bra, insn);
    d->guard = guard;
    return true;
}

bool decode_brx(struct decoder *d, const struct ast_insn *a)
{
    const struct ast_operand *targets = operand_at(d, 1);
    struct insn insn = {0};
    if (a->count != 2 || targets->kind != OPERAND_VEC || targets->count > UINT16_MAX ||
        d->fixups.count + targets->count > FIXUPS_MAX ||
        !source_bits(d, operand_at(d, 0), 32, &insn.a))
        return false;
    for (uint32_t i = 0; i < targets->count; i++)
        if (d->ast->operands[targets->first + i].kind != OPERAND_LABEL)
            return false;
    insn.imm = targets->count;
    insn.u.table =
        (const struct insn *const *)arena_array(d->arena, const struct insn *, targets->count + 1);
    for (uint32_t i = 0; i < targets->count; i++)
        VEC_PUSH(d->scratch, &d->fixups, struct fixup) =
            (struct fixup){(uint32_t)d->code.count, d->ast->operands[targets->first + i].index, i};
    emit(d, exec_brx, insn);
    return true;
}

bool decode_ret(struct decoder *d, const struct ast_insn *a)
{
    emit(d, exec_ret, (struct insn){0});
    return a->count == 0;
}

bool decode_exit(struct decoder *d, const struct ast_insn *a)
{
    emit(d, exec_exit, (struct insn){0});
    return a->count == 0;
}

bool decode_trap(struct decoder *d, const struct ast_insn *a)
{
    emit(d, exec_trap, (struct insn){0});
    return a->count == 0;
}

/* ---- calls ---- */

static bool call_vars(struct decoder *d, const struct ast_operand *args, const uint32_t **places,
                      const uint32_t **sizes, uint32_t *count)
{
    uint32_t n = args ? args->count : 0;
    uint32_t *place = arena_array(d->arena, uint32_t, n + 1);
    uint32_t *size = arena_array(d->arena, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const struct ast_operand *o = &d->ast->operands[args->first + i];
        const struct ast_var *var = o->kind == OPERAND_VAR ? &d->ast->vars[o->index] : NULL;
        bool formal = var && d->ast_func->is_entry && var->is_formal;
        if (!var || var->space != SPACE_PARAM || var->func != d->func + 1 || formal)
            return cannot(d, "argument is no .param variable");
        place[i] = (uint32_t)var->place;
        size[i] = (uint32_t)var->bytes;
    }
    *places = place;
    *sizes = size;
    *count = n;
    return true;
}

static bool signature_fits(const struct ast_module *ast, const struct ast_func *f,
                           const struct call_site *site)
{
    if (f->formal_count != site->arg_count || f->return_count != site->return_count)
        return false;
    for (size_t i = 0; i < f->formal_count; i++)
        if (ast->vars[f->formals[i]].bytes != site->sizes[i])
            return false;
    for (size_t i = 0; i < f->return_count; i++)
        if (ast->vars[f->returns[i]].bytes != site->return_sizes[i])
            return false;
    return true;
}

static bool call_builtin(struct decoder *d, const struct ast_func *f, struct insn insn,
                         const struct call_site *site)
{
    if (str_equal(f->name, STR_LIT("vprintf")) && site->arg_count == 2) {
        emit(d, exec_printf, insn);
        return true;
    }
    if (str_equal(f->name, STR_LIT("__assertfail")) && site->arg_count >= 3) {
        emit(d, exec_assertfail, insn);
        return true;
    }
    return cannot(d, "calls an external function");
}

bool decode_call(struct decoder *d, const struct ast_insn *a)
{
    uint32_t at = 0;
    const struct ast_operand *returns = NULL, *args = NULL;
    if (operand_at(d, at)->kind == OPERAND_ARGS)
        returns = operand_at(d, at++);
    const struct ast_operand *target = operand_at(d, at++);
    if (operand_at(d, at)->kind == OPERAND_ARGS)
        args = operand_at(d, at++);
    struct call_site *site = arena_new(d->arena, struct call_site);
    struct insn insn = {.u.call = site};
    d->out->calls = true;
    if (a->count < at || !call_vars(d, args, &site->args, &site->sizes, &site->arg_count) ||
        !call_vars(d, returns, &site->returns, &site->return_sizes, &site->return_count))
        return false;
    if (target->kind == OPERAND_REG) {
        site->func = UINT32_MAX;
        d->out->indirect = true;
        if (!source_bits(d, target, 64, &insn.a))
            return false;
        emit(d, exec_call, insn);
        return true;
    }
    if (target->kind != OPERAND_FUNC)
        return false;
    const struct ast_func *f = &d->ast->funcs[target->index];
    site->func = target->index;
    if (!f->has_body)
        return call_builtin(d, f, insn, site);
    if (f->is_entry || !signature_fits(d->ast, f, site))
        return cannot(d, "arguments do not fit the function");
    emit(d, exec_call, insn);
    return true;
}

/* ---- barriers ---- */

static bool barrier_operand(struct decoder *d, uint32_t index, uint32_t *out)
{
    return source_bits(d, operand_at(d, index), 32, out);
}

static bool bar_red(struct decoder *d, const struct ast_insn *a, struct insn insn)
{
    enum mod type = type_at(a, 0);
    const struct ast_operand *to = operand_at(d, 0);
    bool counted = a->count == 4;
    uint32_t last = a->count - 1;
    if (a->count < 3 || a->count > 4 || to->kind != OPERAND_REG)
        return false;
    if (!barrier_operand(d, 1, &insn.a) || (counted && !barrier_operand(d, 2, &insn.b)) ||
        !pred_source(d, operand_at(d, last), &insn.q))
        return false;
    insn.extra = counted;
    if (type == MOD_u32) {
        insn.mode = BAR_RED_POPC;
        if (!has(a, MOD_popc) || !dest(d, to, 32, &insn.d))
            return false;
    } else {
        insn.mode = has(a, MOD_and) ? BAR_RED_AND : BAR_RED_OR;
        if (type != MOD_pred || !pred_dest(d, to->reg, &insn.p))
            return false;
    }
    emit(d, exec_bar_red, insn);
    return true;
}

static bool cluster_barrier(struct decoder *d, const struct ast_insn *a)
{
    struct insn insn = {.flags = has(a, MOD_aligned)};
    d->out->tier = 3;
    if (a->count != 0 || has(a, MOD_arrive) == has(a, MOD_wait))
        return false;
    emit(d, has(a, MOD_arrive) ? exec_cluster_arrive : exec_cluster_wait, insn);
    return true;
}

bool decode_bar(struct decoder *d, const struct ast_insn *a)
{
    bool is_bar = a->mnemonic == MN_bar;
    struct insn insn = {.flags = is_bar || has(a, MOD_aligned)};
    if (has(a, MOD_cluster))
        return cluster_barrier(d, a);
    if (has(a, MOD_warp)) {
        if (a->count != 1 || !barrier_operand(d, 0, &insn.a))
            return false;
        emit(d, exec_bar_warp, insn);
        return true;
    }
    if (has(a, MOD_red))
        return bar_red(d, a, insn);
    if (a->count < 1 || a->count > 2 || !barrier_operand(d, 0, &insn.a) ||
        (a->count == 2 && !barrier_operand(d, 1, &insn.b)))
        return false;
    insn.extra = a->count == 2;
    if (has(a, MOD_arrive)) {
        if (a->count != 2)
            return false;
        emit(d, exec_bar_arrive, insn);
        return true;
    }
    if (!has(a, MOD_sync))
        return false;
    emit(d, exec_bar_sync, insn);
    return true;
}

bool decode_fence(struct decoder *d, const struct ast_insn *a)
{
    bool proxy = has(a, MOD_proxy_async) || (has(a, MOD_proxy) && has(a, MOD_async));
    emit(d, proxy ? exec_fence_proxy : exec_fence, (struct insn){.flags = !has(a, MOD_cta)});
    return true;
}

bool decode_nanosleep(struct decoder *d, const struct ast_insn *a)
{
    emit(d, exec_nanosleep, (struct insn){0});
    return a->count == 1;
}

/* ---- warp primitives ---- */

/* The flags of a warp primitive at the place that is being decoded. */
static uint8_t place_flags(struct decoder *d)
{
    if (!d->ast_func->is_entry)
        return 0;
    if (!d->joint) {
        struct flow_joint *joint = arena_new(d->scratch, struct flow_joint);
        struct flow_graph graph;
        flow_graph_build(d->scratch, d->ast, d->ast_func, &graph);
        flow_joint_find(d->scratch, &graph, joint);
        d->joint = joint;
    }
    bool goes_on = flow_goes_on(d->joint, (uint32_t)(d->insn - d->ast_func->insns));
    return goes_on ? WARP_REJOINS : 0;
}

/* With constant operands and all lanes: list[1..32] where each lane reads, then who is in range. */
static bool shuffle_table(const struct decoder *d, int mode, uint32_t *list)
{
    uint64_t b, c, members;
    if (!constant_value(d, operand_at(d, 2), &b) || !constant_value(d, operand_at(d, 3), &c) ||
        !constant_value(d, operand_at(d, 4), &members) || (uint32_t)members != UINT32_MAX)
        return false;
    for (int i = 0; i < LANES; i++) {
        bool valid;
        list[1 + i] = (uint32_t)shuffle_source(mode, i, (uint32_t)b, (uint32_t)c, &valid);
        list[1 + LANES] |= (uint32_t)valid << i;
    }
    return true;
}

bool decode_shfl(struct decoder *d, const struct ast_insn *a)
{
    const struct ast_operand *to = operand_at(d, 0);
    struct insn insn = {0};
    uint32_t *list = arena_array(d->arena, uint32_t, LANES + 2);
    insn.u.list = list;
    insn.mode = has(a, MOD_up)     ? SHFL_UP
                : has(a, MOD_down) ? SHFL_DOWN
                : has(a, MOD_bfly) ? SHFL_BFLY
                                   : SHFL_IDX;
    bool known = has(a, MOD_up) || has(a, MOD_down) || has(a, MOD_bfly) || has(a, MOD_idx);
    if (!known || !has(a, MOD_sync) || a->count != 5 || type_bits(type_at(a, 0)) != 32 ||
        !source_bits(d, operand_at(d, 1), 32, &insn.a) ||
        !source_bits(d, operand_at(d, 2), 32, &insn.b) ||
        !source_bits(d, operand_at(d, 3), 32, &insn.c) ||
        !source_bits(d, operand_at(d, 4), 32, &list[0]))
        return false;
    if (to->kind == OPERAND_SINK)
        insn.d = scratch_slot(d);
    else if (to->kind != OPERAND_REG || operand_bits(d, to) != 32)
        return false;
    else
        insn.d = d->regs.slots[to->reg];
    if (!pred_dest(d, to->pair, &insn.p))
        return false;
    insn.extra = shuffle_table(d, insn.mode, list);
    insn.flags = place_flags(d);
    emit(d, exec_shfl, insn);
    return true;
}

bool decode_vote(struct decoder *d, const struct ast_insn *a)
{
    const struct ast_operand *to = operand_at(d, 0);
    struct insn insn = {0};
    if (!has(a, MOD_sync) || a->count != 3 || to->kind != OPERAND_REG ||
        !pred_source(d, operand_at(d, 1), &insn.q) ||
        !source_bits(d, operand_at(d, 2), 32, &insn.b))
        return false;
    insn.mode = has(a, MOD_ballot) ? VOTE_BALLOT
                : has(a, MOD_all)  ? VOTE_ALL
                : has(a, MOD_any)  ? VOTE_ANY
                                   : VOTE_UNI;
    if (insn.mode == VOTE_BALLOT ? !dest(d, to, 32, &insn.d) : !pred_dest(d, to->reg, &insn.p))
        return false;
    insn.flags = place_flags(d);
    emit(d, exec_vote, insn);
    return true;
}

bool decode_match(struct decoder *d, const struct ast_insn *a)
{
    const struct ast_operand *to = operand_at(d, 0);
    int bits = type_bits(type_at(a, 0));
    struct insn insn = {.wide = bits == 64, .mode = has(a, MOD_all)};
    if (!has(a, MOD_sync) || a->count != 3 || (bits != 32 && bits != 64) ||
        to->kind != OPERAND_REG || operand_bits(d, to) != 32 ||
        !source_bits(d, operand_at(d, 1), bits, &insn.a) ||
        !source_bits(d, operand_at(d, 2), 32, &insn.b) || !pred_dest(d, to->pair, &insn.p))
        return false;
    insn.d = d->regs.slots[to->reg];
    insn.flags = place_flags(d);
    emit(d, exec_match, insn);
    return true;
}

bool decode_redux(struct decoder *d, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    struct insn insn = {0};
    insn.mode = has(a, MOD_add)   ? REDUX_ADD
                : has(a, MOD_min) ? REDUX_MIN
                : has(a, MOD_max) ? REDUX_MAX
                : has(a, MOD_and) ? REDUX_AND
                : has(a, MOD_or)  ? REDUX_OR
                                  : REDUX_XOR;
    insn.extra = type == MOD_s32 ? REDUX_S32 : type == MOD_f32 ? REDUX_F32 : REDUX_U32;
    insn.flags = (uint8_t)((has(a, MOD_abs) ? REDUX_ABS : 0) | (has(a, MOD_NaN) ? REDUX_NAN : 0));
    if (type_bits(type) != 32 ||
        (type == MOD_f32 && insn.mode != REDUX_MIN && insn.mode != REDUX_MAX))
        return false;
    if (a->count != 3 || !source(d, operand_at(d, 1), type, &insn.a) ||
        !source_bits(d, operand_at(d, 2), 32, &insn.b) || !dest(d, operand_at(d, 0), 32, &insn.d))
        return false;
    insn.flags |= place_flags(d);
    emit(d, exec_redux, insn);
    return true;
}

bool decode_elect(struct decoder *d, const struct ast_insn *a)
{
    const struct ast_operand *to = operand_at(d, 0);
    struct insn insn = {0};
    if (a->count != 2 || !source_bits(d, operand_at(d, 1), 32, &insn.b) ||
        !pred_dest(d, to->pair, &insn.p))
        return false;
    if (to->kind == OPERAND_SINK)
        insn.d = scratch_slot(d);
    else if (to->kind != OPERAND_REG || operand_bits(d, to) != 32)
        return false;
    else
        insn.d = d->regs.slots[to->reg];
    insn.flags = place_flags(d);
    emit(d, exec_elect, insn);
    return true;
}

bool decode_activemask(struct decoder *d, const struct ast_insn *a)
{
    struct insn insn = {0};
    if (a->count != 1 || !dest(d, operand_at(d, 0), 32, &insn.d))
        return false;
    emit(d, exec_activemask, insn);
    return true;
}
