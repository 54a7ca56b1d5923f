/*
 * Registers: which are live where, so that many share one place, and which may be read unwritten.
 *
 * NVVM names a new register for nearly every value; kept apart, a warp's registers would leave the
 * cache.  Backward dataflow over basic blocks gives what is live at their edges; each register's
 * lifetime is the hull of where it is live, in order of the text, and places are handed out by a
 * linear scan.  Only registers seen in more than one block, or read first, take part in the
 * dataflow.
 *
 * Invariant: two registers share a place only if their hulls are disjoint; a hull contains every
 * instruction between a write and a read that may see it, so this holds for each lane whichever way
 * it goes.  When the dataflow would take too much memory or time, hulls become the whole function:
 * correct, only larger.  Not here: finding registers that are certainly undefined; that is done
 * while running, for those which this file says may be.
 */
#include "verify/ptx/decode_int.h"
#include "verify/ptx/flow_int.h"

enum {
    BITS = 64,
    SET_BYTES_MAX = 32 << 20,
    TAINT_PASSES_MAX = 64,
    WINDOW_ALIGN = LANE64_BYTES,
};
#define FLOW_WORK_MAX (1ULL << 28)

struct flow {
    struct arena *arena;
    const struct ast_module *ast;
    const struct ast_func *func;
    struct flow_block *blocks;
    uint32_t block_count;
    uint32_t *block_of; /* by instruction */
    uint32_t *global;   /* by register: 1 + number in the sets, 0 = local to a block */
    uint32_t global_count;
    size_t words;
    uint64_t *live_in, *live_out, *gen, *kill;
    uint32_t *start, *end; /* hulls, in half instructions; start > end = unused */
    bool conservative;
};

typedef void visit_fn(struct flow *f, uint32_t insn, uint32_t reg, bool is_def, bool partial);

uint32_t liveness_dests(const struct ast_insn *a)
{
    switch (a->mnemonic) {
    case MN_wmma:
        return !has(a, MOD_store);
    case MN_bar:
    case MN_barrier:
        return has(a, MOD_red);
    case MN_mbarrier:
        return has(a, MOD_test_wait) || has(a, MOD_try_wait) || has(a, MOD_pending_count) ||
               ((has(a, MOD_arrive) || has(a, MOD_arrive_drop)) && a->count > 1);
    default:
        return (uint32_t)ast_op(a->mnemonic)->dests;
    }
}

static void visit_operand(struct flow *f, uint32_t insn, const struct ast_operand *o, bool is_def,
                          bool partial, visit_fn *visit)
{
    bool memory = o->kind == OPERAND_MEM;
    if (o->reg != NO_REG)
        visit(f, insn, o->reg, is_def && !memory, partial);
    if (o->pair != NO_REG)
        visit(f, insn, o->pair, is_def && !memory, partial);
    for (uint32_t i = 0; i < o->count; i++) {
        const struct ast_operand *e = &f->ast->operands[o->first + i];
        if (e->reg != NO_REG)
            visit(f, insn, e->reg, is_def && !memory, partial);
    }
}

/* Sources before destinations. */
static void visit_insn(struct flow *f, uint32_t insn, visit_fn *visit)
{
    const struct ast_insn *a = &f->func->insns[insn];
    uint32_t dests = liveness_dests(a);
    if (a->guard != NO_REG)
        visit(f, insn, a->guard, false, false);
    for (uint32_t i = dests; i < a->count; i++)
        visit_operand(f, insn, &f->ast->operands[a->first + i], false, false, visit);
    for (uint32_t i = 0; i < dests && i < a->count; i++)
        visit_operand(f, insn, &f->ast->operands[a->first + i], true, a->guard != NO_REG, visit);
}

/* ---- dataflow ---- */

/* First visit: a register read first, or seen in two blocks, is global. */
static void find_global(struct flow *f, uint32_t insn, uint32_t reg, bool is_def, bool partial)
{
    uint32_t block = f->block_of[insn];
    uint32_t *home = &f->start[reg]; /* 1 + block while this runs */
    if (*home == 0 && is_def && !partial)
        *home = block + 1;
    else if (*home != block + 1 && f->global[reg] == 0)
        f->global[reg] = ++f->global_count;
}

static void gen_kill(struct flow *f, uint32_t insn, uint32_t reg, bool is_def, bool partial)
{
    if (f->global[reg] == 0)
        return;
    uint32_t g = f->global[reg] - 1;
    size_t word = f->block_of[insn] * f->words + g / BITS;
    uint64_t bit = 1ULL << (g % BITS);
    if (is_def && !partial)
        f->kill[word] |= bit;
    else if (!(f->kill[word] & bit))
        f->gen[word] |= bit;
}

static void join(struct flow *f, uint64_t *out, uint32_t block)
{
    if (block >= f->block_count)
        return;
    const uint64_t *in = f->live_in + block * f->words;
    for (size_t i = 0; i < f->words; i++)
        out[i] |= in[i];
}

static bool flow_pass(struct flow *f)
{
    bool changed = false;
    for (uint32_t k = f->block_count; k-- > 0;) {
        const struct flow_block *b = &f->blocks[k];
        uint64_t *out = f->live_out + k * f->words;
        if (b->falls)
            join(f, out, k + 1);
        for (uint32_t i = 0; i < b->target_count; i++)
            join(f, out, f->block_of[f->func->labels[b->targets[i]]]);
        for (size_t i = 0; i < f->words; i++) {
            size_t at = k * f->words + i;
            uint64_t in = f->gen[at] | (out[i] & ~f->kill[at]);
            changed |= in != f->live_in[at];
            f->live_in[at] = in;
        }
    }
    return changed;
}

static void solve(struct flow *f)
{
    for (uint32_t i = 0; i < f->func->insn_count; i++)
        visit_insn(f, i, find_global);
    f->words = (f->global_count + BITS - 1) / BITS;
    size_t total = f->words * f->block_count;
    f->conservative = total * sizeof(uint64_t) > SET_BYTES_MAX;
    if (f->conservative)
        return;
    f->live_in = arena_array(f->arena, uint64_t, total + 1);
    f->live_out = arena_array(f->arena, uint64_t, total + 1);
    f->gen = arena_array(f->arena, uint64_t, total + 1);
    f->kill = arena_array(f->arena, uint64_t, total + 1);
    for (uint32_t i = 0; i < f->func->insn_count; i++)
        visit_insn(f, i, gen_kill);
    uint64_t work = 0;
    uint64_t edges = f->block_count;
    for (uint32_t k = 0; k < f->block_count; k++)
        edges += f->blocks[k].target_count;
    while (flow_pass(f)) {
        work += (f->words + 1) * edges;
        if (work > FLOW_WORK_MAX) {
            f->conservative = true;
            return;
        }
    }
}

/* ---- hulls ---- */

static void extend(struct flow *f, uint32_t reg, uint32_t from, uint32_t to)
{
    if (from < f->start[reg])
        f->start[reg] = from;
    if (to > f->end[reg])
        f->end[reg] = to;
}

/* Instructions whose result may take the place of a source that dies there. */
static bool may_overwrite(const struct ast_insn *a)
{
    switch (a->mnemonic) {
    case MN_add:
    case MN_sub:
    case MN_mul:
    case MN_fma:
    case MN_and:
    case MN_or:
    case MN_xor:
    case MN_shl:
    case MN_shr:
    case MN_neg:
    case MN_ex2:
    case MN_setp:
    case MN_selp:
    case MN_ld:
        return true;
    case MN_mad:
        return a->mod_count > 0 && a->mods[0] != MOD_hi;
    default:
        return false;
    }
}

static void occurs(struct flow *f, uint32_t insn, uint32_t reg, bool is_def, bool partial)
{
    uint32_t at = 2 * insn;
    bool late = is_def && !partial && may_overwrite(&f->func->insns[insn]);
    extend(f, reg, late ? at + 1 : at, is_def ? at + 1 : at);
}

static void hulls(struct flow *f)
{
    uint32_t n = (uint32_t)f->func->insn_count;
    for (size_t i = 0; i < f->func->reg_count; i++) {
        f->start[i] = UINT32_MAX;
        f->end[i] = 0;
    }
    for (uint32_t i = 0; i < n; i++)
        visit_insn(f, i, occurs);
    uint32_t *names = arena_array(f->arena, uint32_t, f->global_count + 1);
    for (uint32_t i = 0; i < f->func->reg_count; i++)
        if (f->global[i])
            names[f->global[i] - 1] = i;
    for (uint32_t g = 0; f->conservative && g < f->global_count; g++)
        extend(f, names[g], 0, 2 * n + 1);
    for (uint32_t k = 0; !f->conservative && k < f->block_count; k++) {
        const struct flow_block *b = &f->blocks[k];
        for (size_t i = 0; i < f->words; i++) {
            uint64_t in = f->live_in[k * f->words + i];
            uint64_t out = f->live_out[k * f->words + i];
            for (uint64_t both = in | out; both; both &= both - 1) {
                uint32_t reg = names[i * BITS + (size_t)__builtin_ctzll(both)];
                uint64_t bit = both & -both;
                if (in & bit)
                    extend(f, reg, 2 * b->first, 2 * b->first);
                if (out & bit)
                    extend(f, reg, 2 * b->end - 1, 2 * b->end - 1);
            }
        }
    }
}

/* ---- places ---- */

struct pool {
    uint32_t *free_places;
    uint32_t free_count, used;
};

static uint32_t take(struct pool *pool)
{
    return pool->free_count > 0 ? pool->free_places[--pool->free_count] : pool->used++;
}

static int pool_of(const struct ast_reg *reg)
{
    return reg->bits == 1 ? 0 : reg->bits <= 32 ? 1 : reg->bits == 64 ? 2 : 3;
}

static void scan(struct flow *f, struct allocation *out, struct pool pools[4])
{
    uint32_t n = 2 * (uint32_t)f->func->insn_count + 2;
    uint32_t regs = (uint32_t)f->func->reg_count;
    uint32_t *starts = arena_array(f->arena, uint32_t, n + 1); /* 1 + register, chained */
    uint32_t *ends = arena_array(f->arena, uint32_t, n + 1);
    uint32_t *next_start = arena_array(f->arena, uint32_t, regs + 1);
    uint32_t *next_end = arena_array(f->arena, uint32_t, regs + 1);
    for (uint32_t i = regs; i-- > 0;) {
        if (f->start[i] == UINT32_MAX)
            continue;
        next_start[i] = starts[f->start[i]];
        starts[f->start[i]] = i + 1;
        next_end[i] = ends[f->end[i]];
        ends[f->end[i]] = i + 1;
    }
    for (uint32_t at = 0; at < n; at++) {
        for (uint32_t r = starts[at]; r; r = next_start[r - 1])
            out->slots[r - 1] = take(&pools[pool_of(&f->func->regs[r - 1])]);
        for (uint32_t r = ends[at]; r; r = next_end[r - 1]) {
            struct pool *pool = &pools[pool_of(&f->func->regs[r - 1])];
            pool->free_places[pool->free_count++] = out->slots[r - 1];
        }
    }
}

static void place(struct flow *f, struct allocation *out)
{
    struct pool pools[4] = {0};
    for (int i = 0; i < 4; i++)
        pools[i].free_places = arena_array(f->arena, uint32_t, f->func->reg_count + 1);
    out->slots = arena_array(f->arena, uint32_t, f->func->reg_count + 1);
    scan(f, out, pools);
    uint64_t base32 = SCRATCH_BYTES;
    uint64_t base64 = base32 + (uint64_t)pools[1].used * LANE32_BYTES;
    base64 = (base64 + WINDOW_ALIGN - 1) / WINDOW_ALIGN * WINDOW_ALIGN;
    uint64_t base128 = base64 + (uint64_t)pools[2].used * LANE64_BYTES;
    uint64_t end = base128 + (uint64_t)pools[3].used * 2 * LANE64_BYTES;
    out->window_bytes = end > UINT32_MAX / 2 ? UINT32_MAX : (uint32_t)end;
    out->predicates = PRED_FIRST + pools[0].used;
    for (size_t i = 0; i < f->func->reg_count; i++) {
        uint32_t slot = out->slots[i];
        switch (pool_of(&f->func->regs[i])) {
        case 0:
            out->slots[i] = PRED_FIRST + slot;
            break;
        case 1:
            out->slots[i] = (uint32_t)(base32 + (uint64_t)slot * LANE32_BYTES);
            break;
        case 2:
            out->slots[i] = (uint32_t)(base64 + (uint64_t)slot * LANE64_BYTES);
            break;
        default:
            out->slots[i] = (uint32_t)(base128 + (uint64_t)slot * 2 * LANE64_BYTES);
        }
    }
}

/* ---- undefined registers ---- */

static bool source_tainted(const struct flow *f, const struct ast_insn *a, const bool *tainted)
{
    for (uint32_t i = liveness_dests(a); i < a->count; i++) {
        const struct ast_operand *o = &f->ast->operands[a->first + i];
        if (o->kind == OPERAND_REG && tainted[o->reg])
            return true;
    }
    return false;
}

/* Where an undefined value may go: through arithmetic, not through bit fiddling or memory. */
static bool spread_once(struct flow *f, bool *tainted)
{
    bool changed = false;
    for (size_t i = 0; i < f->func->insn_count; i++) {
        const struct ast_insn *a = &f->func->insns[i];
        if (liveness_dests(a) != 1 || a->count == 0 || !source_tainted(f, a, tainted))
            continue;
        const struct ast_operand *o = &f->ast->operands[a->first];
        uint32_t regs[2] = {o->kind == OPERAND_REG ? o->reg : NO_REG, o->pair};
        for (int k = 0; k < 2; k++)
            if (regs[k] != NO_REG && !tainted[regs[k]]) {
                tainted[regs[k]] = true;
                changed = true;
            }
    }
    return changed;
}

static void find_undefined(struct flow *f, struct allocation *out)
{
    if (f->conservative || f->block_count == 0)
        return;
    uint32_t *list = arena_array(f->arena, uint32_t, f->global_count + 1);
    for (uint32_t i = 0; i < f->func->reg_count; i++) {
        uint32_t g = f->global[i];
        if (g && (f->live_in[(g - 1) / BITS] >> ((g - 1) % BITS) & 1))
            list[out->undefined_count++] = i;
    }
    if (out->undefined_count == 0)
        return;
    bool *tainted = arena_array(f->arena, bool, f->func->reg_count + 1);
    for (uint32_t i = 0; i < out->undefined_count; i++)
        tainted[list[i]] = true;
    for (int pass = 0; spread_once(f, tainted); pass++)
        if (pass == TAINT_PASSES_MAX) {
            out->undefined_count = 0;
            return;
        }
    out->undefined = list;
    out->maybe_undefined = tainted;
}

void liveness_allocate(struct arena *arena, const struct ast_module *ast,
                       const struct ast_func *func, struct allocation *out)
{
    struct flow f = {.arena = arena, .ast = ast, .func = func};
    *out = (struct allocation){0};
    f.global = arena_array(arena, uint32_t, func->reg_count + 1);
    f.start = arena_array(arena, uint32_t, func->reg_count + 1);
    f.end = arena_array(arena, uint32_t, func->reg_count + 1);
    struct flow_graph graph;
    flow_graph_build(arena, ast, func, &graph);
    f.blocks = graph.blocks;
    f.block_count = graph.block_count;
    f.block_of = graph.block_of;
    solve(&f);
    hulls(&f);
    place(&f, out);
    find_undefined(&f, out);
}
