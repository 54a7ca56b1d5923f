/*
 * Static facts of an entry and what it may call: what a lint over the PTX wants to know.
 *
 * Writable module state is the hard one: reading a table through a pointer is common (the reduction
 * tables of sinf), so a variable counts as written only if a register that may hold its address is
 * the base of a store or atomic, is stored itself, or is passed to a function.  Which registers may
 * hold an address is a closure over moves and address arithmetic, blind to control flow.
 */
#include <string.h>

#include "verify/ptx/decode_int.h"
#include "verify/ptx/facts_int.h"

enum { CLOSURE_PASSES_MAX = 32 };

struct survey {
    const struct ast_module *ast;
    const struct ast_func *f;
    struct ptx_facts *out;
    uint32_t *holds; /* by register: 1 + variable, 0 = none */
};

static int source_line(const struct ast_module *ast, const struct ast_insn *a)
{
    return a->loc ? ast->locs[a->loc - 1].line : 0;
}

static const struct ast_operand *at(const struct survey *s, const struct ast_insn *a, uint32_t i)
{
    static const struct ast_operand none = {.reg = NO_REG, .pair = NO_REG};
    return i < a->count ? &s->ast->operands[a->first + i] : &none;
}

/* ---- where addresses of variables go ---- */

static bool is_global(const struct survey *s, uint32_t var)
{
    return s->ast->vars[var].space == SPACE_GLOBAL;
}

/* 1 + the global variable whose address an operand may hold. */
static uint32_t held(const struct survey *s, const struct ast_operand *o)
{
    if (o->kind == OPERAND_VAR && is_global(s, o->index))
        return o->index + 1;
    return o->kind == OPERAND_REG ? s->holds[o->reg] : 0;
}

static bool moves_addresses(enum mnemonic m)
{
    return m == MN_mov || m == MN_cvta || m == MN_add || m == MN_sub || m == MN_mad ||
           m == MN_selp || m == MN_min || m == MN_max || m == MN_and || m == MN_or;
}

static bool closure_pass(struct survey *s)
{
    bool changed = false;
    for (size_t i = 0; i < s->f->insn_count; i++) {
        const struct ast_insn *a = &s->f->insns[i];
        const struct ast_operand *to = at(s, a, 0);
        if (!moves_addresses(a->mnemonic) || to->kind != OPERAND_REG || s->holds[to->reg])
            continue;
        for (uint32_t k = 1; k < a->count; k++)
            if (held(s, at(s, a, k))) {
                s->holds[to->reg] = held(s, at(s, a, k));
                changed = true;
            }
    }
    return changed;
}

static void note_write(struct survey *s, const struct ast_insn *a, uint32_t held_var)
{
    if (held_var == 0 || s->out->writable_global)
        return;
    s->out->writable_global = true;
    struct str name = s->ast->vars[held_var - 1].name;
    s->out->global_name = name.at;
    s->out->global_bytes = name.len; /* until facts_gather copies the name */
    s->out->line_global = source_line(s->ast, a);
}

static bool is_store(const struct ast_insn *a)
{
    return a->mnemonic == MN_st || a->mnemonic == MN_atom || a->mnemonic == MN_red ||
           a->mnemonic == MN_cp || (a->mnemonic == MN_wmma && has(a, MOD_store));
}

static void survey_writes(struct survey *s, const struct ast_insn *a, bool calls)
{
    if (!is_store(a))
        return;
    bool param = has(a, MOD_param);
    uint32_t base = a->mnemonic == MN_atom ? 1 : 0;
    const struct ast_operand *m = at(s, a, base);
    if (m->kind == OPERAND_MEM && m->has_var && is_global(s, m->index))
        note_write(s, a, m->index + 1);
    if (m->kind == OPERAND_MEM && m->reg != NO_REG && !param)
        note_write(s, a, s->holds[m->reg]);
    /* The address itself leaves through memory, or as an argument of a real function. */
    if (a->mnemonic == MN_cp || (param && !calls))
        return;
    for (uint32_t k = base + 1; k < a->count; k++) {
        const struct ast_operand *o = at(s, a, k);
        note_write(s, a, held(s, o));
        for (uint32_t e = 0; o->kind == OPERAND_VEC && e < o->count; e++)
            note_write(s, a, held(s, &s->ast->operands[o->first + e]));
    }
}

/* ---- counts ---- */

static bool is_half(enum mod type)
{
    return type == MOD_f16 || type == MOD_bf16 || type == MOD_f16x2 || type == MOD_bf16x2;
}

static bool is_arithmetic(enum mnemonic m)
{
    return m == MN_add || m == MN_sub || m == MN_mul || m == MN_fma || m == MN_mad || m == MN_div ||
           m == MN_min || m == MN_max || m == MN_ex2 || m == MN_tanh;
}

static void count_mma(struct ptx_facts *out, const struct ast_insn *a)
{
    bool is_wmma = a->mnemonic == MN_wmma;
    if (is_wmma && !has(a, MOD_mma))
        return;
    if (has(a, MOD_tf32))
        out->mma_tf32++;
    else if (has(a, MOD_bf16))
        out->mma_bf16++;
    else if (has(a, MOD_f64))
        out->mma_f64++;
    else if (has(a, MOD_e4m3) || has(a, MOD_e5m2))
        out->mma_fp8++;
    else if (has(a, MOD_s8) || has(a, MOD_u8) || has(a, MOD_s4) || has(a, MOD_u4) || has(a, MOD_b1))
        out->mma_int++;
    else
        out->mma_f16++;
}

static void count_by_mnemonic(struct ptx_facts *out, const struct ast_insn *a)
{
    enum mod type = type_at(a, 0);
    switch (a->mnemonic) {
    case MN_mma:
    case MN_wmma:
        count_mma(out, a);
        break;
    case MN_cp:
        if (has(a, MOD_bulk))
            out->bulk_copies += !has(a, MOD_commit_group) && !has(a, MOD_wait_group);
        else
            out->cp_async += has(a, MOD_ca) || has(a, MOD_cg);
        break;
    case MN_wgmma:
        out->wgmma += has(a, MOD_sync) && type != MOD_none;
        break;
    case MN_ldmatrix:
        out->ldmatrix++;
        break;
    case MN_bar:
    case MN_barrier:
        out->barriers += !has(a, MOD_warp);
        break;
    case MN_shfl:
        out->shuffles++;
        break;
    case MN_atom:
    case MN_red:
        out->atomics++;
        break;
    case MN_cvt:
        out->cvt_tf32 += type == MOD_tf32;
        break;
    case MN_trap:
        out->traps = true;
        break;
    case MN_griddepcontrol:
        out->griddep = true;
        break;
    case MN_createpolicy:
        out->evict_last |= has(a, MOD_L2_evict_last);
        break;
    default:
        break;
    }
    out->f64_ops += type == MOD_f64 && is_arithmetic(a->mnemonic);
    out->f16_arithmetic += is_half(type) && is_arithmetic(a->mnemonic);
    out->evict_last |= has(a, MOD_L2_evict_last);
}

static bool touches_global(const struct ast_insn *a)
{
    return has(a, MOD_global) ||
           !(has(a, MOD_shared) || has(a, MOD_shared_cta) || has(a, MOD_shared_cluster) ||
             has(a, MOD_local) || has(a, MOD_param) || has(a, MOD_const) ||
             has(a, MOD_param_entry) || has(a, MOD_param_func));
}

static void count_memory(struct ptx_facts *out, const struct ast_insn *a)
{
    bool load = a->mnemonic == MN_ld || a->mnemonic == MN_ldu || a->mnemonic == MN_atom ||
                a->mnemonic == MN_cp || (a->mnemonic == MN_wmma && has(a, MOD_load));
    bool store = a->mnemonic == MN_st || a->mnemonic == MN_atom || a->mnemonic == MN_red ||
                 (a->mnemonic == MN_wmma && has(a, MOD_store)) ||
                 (a->mnemonic == MN_cp && has(a, MOD_bulk) && has(a, MOD_bulk_group));
    bool vector = has(a, MOD_v2) || has(a, MOD_v4);
    out->vector_accesses += vector && (load || store) && touches_global(a);
    out->loads_global |= load && touches_global(a);
    out->stores_global |= store && touches_global(a);
}

static bool is_file(const struct ast_module *ast, const struct ast_loc *loc, struct str part)
{
    struct str path = loc->file < ast->file_count ? ast->files[loc->file] : (struct str){0};
    for (; path.len >= part.len; path.at++, path.len--)
        if (str_has_prefix(path, part))
            return true;
    return false;
}

/*
 * Does libcu++ ask for the time to know how long to sleep before it asks again?  So it does behind
 * each wait of cuda::barrier and cuda::pipeline, inlined: its chrono header in its poll loop.  A
 * kernel's own reading has the kernel's file between, and no #line can hide that.
 */
static bool is_backoff(const struct ast_module *ast, const struct ast_insn *a)
{
    const struct ast_loc *loc = a->loc ? &ast->locs[a->loc - 1] : NULL;
    const struct ast_loc *outer = loc && loc->inlined_at ? &ast->locs[loc->inlined_at - 1] : NULL;
    return outer && is_file(ast, loc, STR_LIT("cuda/std/")) &&
           is_file(ast, loc, STR_LIT("chrono")) && is_file(ast, outer, STR_LIT("cuda/std/")) &&
           is_file(ast, outer, STR_LIT("threading_support"));
}

static void note_clock(struct survey *s, const struct ast_insn *a)
{
    if (is_backoff(s->ast, a))
        return;
    for (uint32_t k = 0; k < a->count; k++) {
        const struct ast_operand *o = at(s, a, k);
        if (o->kind != OPERAND_SREG || o->index < SREG_clock || o->index > SREG_globaltimer_hi)
            continue;
        if (!s->out->reads_clock)
            s->out->line_clock = source_line(s->ast, a);
        s->out->reads_clock = true;
    }
}

static void note_call(struct survey *s, struct arena *arena, const struct ast_insn *a)
{
    for (uint32_t k = 0; k < a->count; k++) {
        const struct ast_operand *o = at(s, a, k);
        if (o->kind != OPERAND_FUNC || s->ast->funcs[o->index].has_body)
            continue;
        struct str name = s->ast->funcs[o->index].name;
        if (str_equal(name, STR_LIT("vprintf")) || str_equal(name, STR_LIT("__assertfail")))
            continue;
        if (str_equal(name, STR_LIT("malloc")) || str_equal(name, STR_LIT("free"))) {
            if (!s->out->device_heap)
                s->out->line_heap = source_line(s->ast, a);
            s->out->device_heap = true;
        }
        if (!s->out->calls_external)
            s->out->external_name = str_copy(arena, name);
        s->out->calls_external = true;
    }
}

static bool calls_real_function(const struct survey *s)
{
    for (size_t i = 0; i < s->f->insn_count; i++) {
        const struct ast_insn *a = &s->f->insns[i];
        if (a->mnemonic != MN_call)
            continue;
        bool named = false;
        for (uint32_t k = 0; k < a->count; k++) {
            const struct ast_operand *o = at(s, a, k);
            if (o->kind == OPERAND_FUNC) {
                named = true;
                if (s->ast->funcs[o->index].has_body)
                    return true;
            }
        }
        if (!named)
            return true;
    }
    return false;
}

static void survey_function(struct survey *s, struct arena *arena)
{
    struct arena scratch;
    arena_init(&scratch, AST_REGS_MAX * sizeof(uint32_t) + (1 << 20));
    s->holds = arena_array(&scratch, uint32_t, s->f->reg_count + 1);
    for (int pass = 0; pass < CLOSURE_PASSES_MAX && closure_pass(s); pass++)
        ;
    bool calls = calls_real_function(s);
    for (size_t i = 0; i < s->f->insn_count; i++) {
        const struct ast_insn *a = &s->f->insns[i];
        s->out->instructions++;
        count_by_mnemonic(s->out, a);
        count_memory(s->out, a);
        note_clock(s, a);
        survey_writes(s, a, calls);
        if (a->mnemonic == MN_call)
            note_call(s, arena, a);
    }
    arena_release(&scratch);
}

void facts_gather(struct arena *arena, const struct ast_module *ast, const uint32_t *funcs,
                  uint32_t count, struct ptx_facts *out)
{
    struct survey s = {.ast = ast, .out = out};
    *out = (struct ptx_facts){0};
    for (uint32_t i = 0; i < count; i++) {
        s.f = &ast->funcs[funcs[i]];
        survey_function(&s, arena);
    }
    if (out->writable_global)
        out->global_name = str_copy(arena, (struct str){out->global_name, out->global_bytes});
    out->global_bytes = 0;
    for (size_t i = 0; i < ast->var_count; i++)
        if (ast->vars[i].referenced &&
            (ast->vars[i].space == SPACE_GLOBAL || ast->vars[i].space == SPACE_CONST))
            out->global_bytes += ast->vars[i].bytes;
}
