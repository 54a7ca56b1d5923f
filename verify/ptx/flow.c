/*
 * Basic blocks, and where lanes that parted are together again.
 *
 * A block post-dominates another if every way from there to the end leads through it; those of a
 * block are itself and what all its successors have in common, a dataflow problem over sets of
 * blocks, solved from the end of the text until nothing changes.  What post-dominates the entry
 * every thread executes.
 *
 * Ways that never end do not count.  Text is hostile: of functions with very many blocks or
 * branches, or that take many passes, nothing is claimed.
 */
#include "verify/ptx/decode_int.h"
#include "verify/ptx/flow_int.h"

/* ---- blocks ---- */

static bool ends_block(const struct ast_insn *a)
{
    return a->mnemonic == MN_bra || a->mnemonic == MN_brx || a->mnemonic == MN_ret ||
           a->mnemonic == MN_exit;
}

static void add_targets(struct arena *arena, const struct ast_module *ast, struct flow_block *b,
                        const struct ast_insn *last)
{
    uint32_t room = last->count;
    for (uint32_t i = 0; i < last->count; i++)
        room += ast->operands[last->first + i].count;
    uint32_t *targets = arena_array(arena, uint32_t, room + 1);
    for (uint32_t i = 0; i < last->count; i++) {
        const struct ast_operand *o = &ast->operands[last->first + i];
        if (o->kind == OPERAND_LABEL)
            targets[b->target_count++] = o->index;
        for (uint32_t k = 0; o->kind == OPERAND_VEC && k < o->count; k++)
            if (ast->operands[o->first + k].kind == OPERAND_LABEL)
                targets[b->target_count++] = ast->operands[o->first + k].index;
    }
    b->targets = targets;
}

void flow_graph_build(struct arena *arena, const struct ast_module *ast,
                      const struct ast_func *func, struct flow_graph *out)
{
    uint32_t n = (uint32_t)func->insn_count;
    bool *leads = arena_array(arena, bool, n + 1);
    *out = (struct flow_graph){.func = func};
    leads[0] = true;
    for (size_t i = 0; i < func->label_count; i++)
        leads[func->labels[i]] = true;
    for (uint32_t i = 0; i + 1 < n; i++)
        leads[i + 1] |= ends_block(&func->insns[i]);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += leads[i];
    out->blocks = arena_array(arena, struct flow_block, count + 1);
    out->block_of = arena_array(arena, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (leads[i])
            out->blocks[out->block_count++].first = i;
        struct flow_block *b = &out->blocks[out->block_count - 1];
        out->block_of[i] = out->block_count - 1;
        b->end = i + 1;
        b->falls = true;
    }
    out->block_of[n] = out->block_count; /* labels at the end */
    for (uint32_t k = 0; k < out->block_count; k++) {
        struct flow_block *b = &out->blocks[k];
        const struct ast_insn *last = &func->insns[b->end - 1];
        if (!ends_block(last))
            continue;
        b->falls = last->guard != NO_REG;
        add_targets(arena, ast, b, last);
    }
}

/* ---- rejoining ---- */

enum { BITS = 64, REJOIN_BLOCKS_MAX = 2048, REJOIN_TARGETS_MAX = 16384, REJOIN_PASSES_MAX = 64 };

struct rejoin {
    const struct flow_graph *graph;
    uint64_t *sets; /* by block: those that post-dominate it; all ones = no way to the end yet */
    size_t words;
};

static uint64_t *set_of(const struct rejoin *r, uint32_t block)
{
    return r->sets + block * r->words;
}

static bool contains(const uint64_t *set, uint32_t block)
{
    return set[block / BITS] >> (block % BITS) & 1;
}

/* The end is block number block_count; it is in every set of a block from which it is reached. */
static void meet(const struct rejoin *r, uint64_t *set, uint32_t successor)
{
    for (size_t i = 0; i < r->words; i++)
        set[i] &= set_of(r, successor)[i];
}

static bool rejoin_block(const struct rejoin *r, uint32_t k, uint64_t *scratch)
{
    const struct flow_graph *g = r->graph;
    const struct flow_block *b = &g->blocks[k];
    const enum mnemonic last = g->func->insns[b->end - 1].mnemonic;
    memset(scratch, 0xff, r->words * sizeof(*scratch));
    if (b->falls)
        meet(r, scratch, k + 1);
    if (last == MN_ret || last == MN_exit)
        meet(r, scratch, g->block_count);
    for (uint32_t i = 0; i < b->target_count; i++)
        meet(r, scratch, g->block_of[g->func->labels[b->targets[i]]]);
    scratch[k / BITS] |= 1ULL << (k % BITS);
    if (memcmp(set_of(r, k), scratch, r->words * sizeof(*scratch)) == 0)
        return false;
    memcpy(set_of(r, k), scratch, r->words * sizeof(*scratch));
    return true;
}

/* Branches and ends alone do nothing that could be done without others. */
static bool does_something(const struct flow_graph *graph, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        if (!ends_block(&graph->func->insns[i]))
            return true;
    return false;
}

static bool is_small(const struct flow_graph *graph)
{
    uint64_t targets = 0;
    for (uint32_t k = 0; k < graph->block_count; k++)
        targets += graph->blocks[k].target_count;
    return graph->block_count <= REJOIN_BLOCKS_MAX && targets <= REJOIN_TARGETS_MAX;
}

/* False when it takes too long. */
static bool solve(struct arena *arena, struct rejoin *r)
{
    const uint32_t n = r->graph->block_count;
    uint64_t *scratch = arena_array(arena, uint64_t, r->words);
    r->sets = arena_array(arena, uint64_t, (n + 1) * r->words);
    memset(r->sets, 0xff, (n + 1) * r->words * sizeof(*r->sets));
    memset(set_of(r, n), 0, r->words * sizeof(*r->sets));
    bool changed = true;
    for (int pass = 0; changed && pass < REJOIN_PASSES_MAX; pass++) {
        changed = false;
        for (uint32_t k = n; k-- > 0;)
            changed |= rejoin_block(r, k, scratch);
    }
    return !changed;
}

void flow_joint_find(struct arena *arena, const struct flow_graph *graph, struct flow_joint *out)
{
    const uint32_t n = graph->block_count;
    struct rejoin r = {.graph = graph, .words = n / BITS + 1};
    bool *always = arena_array(arena, bool, n + 1);
    bool *behind = arena_array(arena, bool, n + 1);
    *out = (struct flow_joint){.graph = *graph, .always = always, .behind = behind};
    if (!is_small(graph) || !solve(arena, &r))
        return;
    /* Number n is only in sets that are still full: no way from there leads to the end. */
    for (uint32_t p = 0; p < n; p++)
        always[p] = contains(set_of(&r, 0), p) && !contains(set_of(&r, 0), n) &&
                    does_something(graph, graph->blocks[p].first, graph->blocks[p].end);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t p = 0; p < n && !behind[k]; p++)
            behind[k] =
                always[p] && p != k && contains(set_of(&r, k), p) && !contains(set_of(&r, k), n);
}

bool flow_goes_on(const struct flow_joint *joint, uint32_t insn)
{
    const struct flow_graph *g = &joint->graph;
    uint32_t block = g->block_of[insn];
    bool guarded = g->func->insns[insn].guard != NO_REG;
    return joint->behind[block] ||
           (guarded && joint->always[block] && does_something(g, insn + 1, g->blocks[block].end));
}
