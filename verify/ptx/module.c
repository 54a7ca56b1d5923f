/*
 * Modules: from text to code that runs.
 *
 * Parse, give every variable its place, decode each function, tie the pieces together.  Shared
 * variables outside entries come first, at the same offsets for all; an entry's own follow; unsized
 * ones name what lies behind.  Only .global and .const variables that some code refers to get
 * memory, each its own window of addresses, so that running over one's end is seen.
 *
 * Invariant: struct insn holds pointers into the module's own arrays only; the parsed text is gone
 * when ptx_load returns.  Not here: kernels' memory, which belongs to launches.
 */
#include <string.h>

#include "verify/ptx/decode_int.h"
#include "verify/ptx/exec_int.h"
#include "verify/ptx/facts_int.h"

enum { SHARED_STATIC_MAX = 8 << 20, SURVEYED_MAX = 1 << 26 };
#define SCRATCH_ARENA_MAX ((size_t)1 << 35)

struct loader {
    struct decoder d;
    struct ptx_module *module;
    struct ast_module ast;
    bool *uses_common; /* by function: shared variables outside entries */
    size_t surveyed;   /* instructions, once for each entry that reaches them */
    struct err *err;
};

static uint64_t align_up(uint64_t at, uint64_t align)
{
    return (at + align - 1) / align * align;
}

/* ---- variables ---- */

static bool is_common_shared(const struct loader *l, const struct ast_var *var)
{
    return var->space == SPACE_SHARED && !var->unsized && var->referenced &&
           (var->func == 0 || !l->ast.funcs[var->func - 1].is_entry);
}

static void place_common_shared(struct loader *l)
{
    uint64_t at = 0;
    for (size_t i = 0; i < l->ast.var_count; i++) {
        struct ast_var *var = &l->ast.vars[i];
        if (!is_common_shared(l, var))
            continue;
        var->place = align_up(at, var->align);
        at = var->place + var->bytes;
    }
    l->d.common_shared = (uint32_t)(at < SHARED_STATIC_MAX ? at : SHARED_STATIC_MAX);
}

/* Marks functions that name common shared variables, then those that call such. */
static void find_common_users(struct loader *l)
{
    l->uses_common = arena_array(l->d.scratch, bool, l->ast.func_count + 1);
    for (size_t f = 0; f < l->ast.func_count; f++)
        for (size_t i = 0; i < l->ast.funcs[f].insn_count; i++) {
            const struct ast_insn *a = &l->ast.funcs[f].insns[i];
            for (uint32_t k = 0; k < a->count; k++) {
                const struct ast_operand *o = &l->ast.operands[a->first + k];
                bool var = o->kind == OPERAND_VAR || (o->kind == OPERAND_MEM && o->has_var);
                l->uses_common[f] |= var && is_common_shared(l, &l->ast.vars[o->index]);
                /* Which function a call reaches is not worked out: any may use them. */
                l->uses_common[f] |= o->kind == OPERAND_FUNC && l->d.common_shared > 0;
            }
        }
}

static void place_globals(struct loader *l)
{
    size_t count = 0;
    l->d.regions = arena_array(l->d.scratch, uint64_t, l->ast.var_count + 1);
    struct module_var *vars = arena_array(l->d.arena, struct module_var, l->ast.var_count + 1);
    for (size_t i = 0; i < l->ast.var_count; i++) {
        const struct ast_var *var = &l->ast.vars[i];
        if ((var->space != SPACE_GLOBAL && var->space != SPACE_CONST) || !var->referenced)
            continue;
        struct module_var *out = &vars[count++];
        l->d.regions[i] = count;
        out->name = str_copy(l->d.arena, var->name);
        out->bytes = var->bytes;
        out->align = var->align;
        out->writable = var->space == SPACE_GLOBAL;
        if (var->init) {
            out->init = arena_array(l->d.arena, uint8_t, var->init_bytes);
            memcpy(out->init, var->init, var->init_bytes);
        }
    }
    for (size_t i = 0; i < l->ast.var_count; i++) {
        if (!l->d.regions[i])
            continue;
        for (const struct ast_reloc *r = l->ast.vars[i].relocs; r; r = r->next) {
            uint64_t value = (uint64_t)r->addend;
            if (r->is_func)
                value += WINDOW_BASE(WINDOW_FUNC) + 16 * (uint64_t)r->index;
            else if (l->d.regions[r->index])
                value += WINDOW_BASE(WINDOW_FIRST_REGION + l->d.regions[r->index] - 1);
            memcpy(vars[l->d.regions[i] - 1].init + r->offset, &value, sizeof(value));
        }
    }
    l->module->vars = vars;
    l->module->var_count = count;
}

/* Parameters by C's rules; an entry's own shared variables behind the common ones. */
static bool place_entry_vars(struct loader *l, uint32_t index, struct ptx_entry *entry)
{
    struct ast_func *f = &l->ast.funcs[index];
    struct ptx_param *params = arena_array(l->d.arena, struct ptx_param, f->formal_count + 1);
    uint64_t at = 0;
    for (size_t i = 0; i < f->formal_count; i++) {
        struct ast_var *var = &l->ast.vars[f->formals[i]];
        var->place = align_up(at, var->align);
        at = var->place + var->bytes;
        params[i] = (struct ptx_param){var->place, var->bytes, var->align};
    }
    entry->params = params;
    entry->param_count = f->formal_count;
    entry->param_bytes = at;

    uint64_t shared = l->uses_common[index] ? l->d.common_shared : 0;
    for (size_t i = 0; i < l->ast.var_count; i++) {
        struct ast_var *var = &l->ast.vars[i];
        if (var->func != index + 1 || var->space != SPACE_SHARED || var->unsized)
            continue;
        var->place = align_up(shared, var->align);
        shared = var->place + var->bytes;
    }
    entry->shared_bytes = shared;
    l->d.dynamic_shared = (uint32_t)align_up(shared, 16);
    return shared <= SHARED_STATIC_MAX && at <= 32 * 1024;
}

/* ---- functions ---- */

static void describe_entry(struct loader *l, uint32_t index, struct ptx_entry *entry)
{
    const struct ast_func *f = &l->ast.funcs[index];
    entry->name = str_copy(l->d.arena, f->name);
    memcpy(entry->max_threads, f->max_threads, sizeof(entry->max_threads));
    memcpy(entry->cluster, f->cluster, sizeof(entry->cluster));
}

static bool decode_all(struct loader *l)
{
    size_t count = l->ast.func_count;
    struct func *funcs = arena_array(l->d.arena, struct func, count + 1);
    struct ptx_entry *entries = arena_array(l->d.arena, struct ptx_entry, count + 1);
    uint32_t *entry_funcs = arena_array(l->d.arena, uint32_t, count + 1);
    size_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ast_func *f = &l->ast.funcs[i];
        bool entry = f->is_entry && f->has_body;
        l->d.out = &funcs[i];
        funcs[i].name = str_copy(l->d.arena, f->name);
        bool fits = !entry || place_entry_vars(l, i, &entries[n]);
        decode_function(&l->d, i);
        if (!fits && !funcs[i].unsupported)
            funcs[i].unsupported = "variables larger than any machine has room for";
        if (l->d.scratch->bytes_total > AST_BYTES_MAX * 2)
            return err_raise(l->err, ERR_LIMIT, "the module is too large");
        if (entry) {
            describe_entry(l, i, &entries[n]);
            entry_funcs[n++] = i;
        }
    }
    l->module->funcs = funcs;
    l->module->func_count = count;
    l->module->entries = entries;
    l->module->entry_funcs = entry_funcs;
    l->module->entry_count = n;
    return true;
}

/* ---- call graph ---- */

struct reach {
    const struct loader *l;
    bool *seen;
    uint32_t *stack;
    uint32_t count;
};

static void reach_add(struct reach *r, uint32_t func)
{
    if (!r->seen[func]) {
        r->seen[func] = true;
        r->stack[r->count++] = func;
    }
}

static void reach_calls(struct reach *r, uint32_t func)
{
    const struct ast_module *ast = &r->l->ast;
    const struct ast_func *f = &ast->funcs[func];
    bool indirect = r->l->module->funcs[func].indirect;
    for (size_t i = 0; i < f->insn_count; i++)
        for (uint32_t k = 0; k < f->insns[i].count; k++) {
            const struct ast_operand *o = &ast->operands[f->insns[i].first + k];
            if (o->kind == OPERAND_FUNC && ast->funcs[o->index].has_body)
                reach_add(r, o->index);
        }
    /* A pointer may name any function that is no entry. */
    for (uint32_t i = 0; indirect && i < ast->func_count; i++)
        if (ast->funcs[i].has_body && !ast->funcs[i].is_entry)
            reach_add(r, i);
}

/* What an entry's callees cannot do, it cannot either. */
static bool close_entry(struct loader *l, size_t n)
{
    struct ptx_entry *entry = &l->module->entries[n];
    uint32_t index = l->module->entry_funcs[n];
    struct reach r = {.l = l};
    r.seen = arena_array(l->d.scratch, bool, l->ast.func_count + 1);
    r.stack = arena_array(l->d.scratch, uint32_t, l->ast.func_count + 1);
    reach_add(&r, index);
    uint64_t local = 0;
    for (uint32_t i = 0; i < r.count; i++) {
        const struct func *f = &l->module->funcs[r.stack[i]];
        reach_calls(&r, r.stack[i]);
        l->surveyed += l->ast.funcs[r.stack[i]].insn_count + 1;
        if (l->surveyed > SURVEYED_MAX)
            return err_raise(l->err, ERR_LIMIT, "too many kernels that share large functions");
        if (f->tier > entry->tier)
            entry->tier = f->tier;
        if (f->unsupported && !entry->unsupported) {
            entry->unsupported = f->unsupported;
            entry->unsupported_line = f->unsupported_line;
        }
        entry->uses_dynamic_shared |= f->uses_dynamic_shared;
        local += f->frame_bytes;
    }
    entry->local_bytes = l->module->funcs[index].frame_bytes;
    if (r.count > 1)
        entry->local_bytes = local < STACK_BYTES ? STACK_BYTES + entry->local_bytes : local;
    if (entry->local_bytes > LOCAL_BYTES_MAX)
        entry->local_bytes = LOCAL_BYTES_MAX;
    l->module->funcs[index].callee_count = r.count - 1;
    facts_gather(l->d.arena, &l->ast, r.stack, r.count, &l->module->facts[n]);
    return true;
}

/* ---- final places ---- */

static void *aligned_copy(struct arena *arena, const void *from, size_t bytes)
{
    /* An operand that is not used may name the place behind the last constant. */
    unsigned char *raw = arena_alloc(arena, bytes + 64 + LANE64_BYTES, 1, 16);
    unsigned char *at = raw + (64 - (uintptr_t)raw % 64) % 64;
    if (bytes)
        memcpy(at, from, bytes);
    return at;
}

static void finish_code(struct loader *l)
{
    struct ptx_module *m = l->module;
    struct insn *code = aligned_copy(l->d.arena, l->d.code.at, l->d.code.count * sizeof(*code));
    m->code_count = l->d.code.count;
    m->code = code;
    m->infos = aligned_copy(l->d.arena, l->d.infos.at, m->code_count * sizeof(*m->infos));
    m->constants = aligned_copy(l->d.arena, l->d.constants.at, l->d.constants.count);
    for (size_t i = 0; i < l->d.fixups.count; i++) {
        const struct fixup *fix = &l->d.fixups.at[i];
        if (fix->slot == UINT32_MAX)
            code[fix->insn].u.target = &code[fix->label];
        else
            ((const struct insn **)code[fix->insn].u.table)[fix->slot] = &code[fix->label];
    }
    for (size_t i = 0; i < m->func_count; i++)
        m->funcs[i].start = code + m->funcs[i].first_insn;
}

static void finish_locs(struct loader *l)
{
    struct loc_info *locs = arena_array(l->d.arena, struct loc_info, l->ast.loc_count + 1);
    for (size_t i = 0; i < l->ast.loc_count; i++) {
        const struct ast_loc *loc = &l->ast.locs[i];
        locs[i] = (struct loc_info){loc->file, loc->line, loc->inlined_at};
    }
    const char **files = arena_array(l->d.arena, const char *, l->ast.file_count + 1);
    for (size_t i = 0; i < l->ast.file_count; i++)
        files[i] = str_copy(l->d.arena, l->ast.files[i]);
    l->module->locs = locs;
    l->module->files = files;
    l->module->file_count = l->ast.file_count;
}

/* The smallest element that memory other than global's own is accessed by, as log2. */
static void find_grain(struct ptx_module *m)
{
    uint8_t shared = 2, global = 2;
    for (size_t i = 0; i < m->code_count; i++) {
        const struct insn *in = &m->code[i];
        uint8_t grain = in->size == 1 ? 0 : in->size == 2 ? 1 : 2;
        if (in->size == 0 || in->size > 2 || in->inner == exec_taint)
            continue;
        if (in->space == SPACE_SHARED || in->space == SPACE_GENERIC)
            shared = grain < shared ? grain : shared;
        if (in->space == SPACE_GLOBAL || in->space == SPACE_GENERIC)
            global = grain < global ? grain : global;
    }
    m->shared_grain = shared;
    m->global_grain = global;
}

static bool load(struct loader *l, struct str text)
{
    if (text.len > PTX_TEXT_BYTES_MAX)
        return err_raise(l->err, ERR_LIMIT, "the PTX is longer than %d bytes", PTX_TEXT_BYTES_MAX);
    if (!ast_parse(l->d.scratch, text, &l->ast, l->err))
        return false;
    l->d.ast = &l->ast;
    map_init(&l->d.constant_map, l->d.scratch);
    place_common_shared(l);
    find_common_users(l);
    place_globals(l);
    if (!decode_all(l))
        return false;
    finish_code(l);
    finish_locs(l);
    find_grain(l->module);
    l->module->facts = arena_array(l->d.arena, struct ptx_facts, l->module->entry_count + 1);
    for (size_t i = 0; i < l->module->entry_count; i++)
        if (!close_entry(l, i))
            return false;
    return true;
}

bool ptx_load_isa(struct arena *arena, struct str text, const char *isa,
                  const struct ptx_module **out, struct err *err)
{
    struct arena scratch;
    const struct isa *table = isa_choose(isa);
    if (!table)
        return err_raise(err, ERR_UNSUPPORTED, "this machine does not run the %s build", isa);
    arena_init(&scratch, SCRATCH_ARENA_MAX);
    struct loader l = {.err = err, .module = arena_new(arena, struct ptx_module)};
    l.d.arena = arena;
    l.d.scratch = &scratch;
    l.d.isa = l.module->isa = table;
    bool ok = load(&l, text);
    if (ok)
        *out = l.module;
    arena_release(&scratch);
    return ok;
}

bool ptx_load(struct arena *arena, struct str text, const struct ptx_module **out, struct err *err)
{
    return ptx_load_isa(arena, text, NULL, out, err);
}

/* ---- queries ---- */

size_t ptx_entry_count(const struct ptx_module *module)
{
    return module->entry_count;
}

const struct ptx_entry *ptx_entry_at(const struct ptx_module *module, size_t index)
{
    return index < module->entry_count ? &module->entries[index] : NULL;
}

const struct ptx_entry *ptx_entry_find(const struct ptx_module *module, const char *name)
{
    for (size_t i = 0; i < module->entry_count; i++)
        if (strcmp(module->entries[i].name, name) == 0)
            return &module->entries[i];
    return NULL;
}

void ptx_module_facts(const struct ptx_module *module, const char *entry, struct ptx_facts *out)
{
    const struct ptx_entry *found = ptx_entry_find(module, entry);
    *out = (struct ptx_facts){0};
    if (found)
        *out = module->facts[found - module->entries];
}

/* ---- vector builds ---- */

static bool machine_runs(const char *name)
{
#if defined(__x86_64__)
    if (strcmp(name, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
    if (strcmp(name, "avx2") == 0)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi2");
#endif
    return strcmp(name, "generic") == 0;
}

const struct isa *isa_choose(const char *name)
{
    static const struct isa *const tables[] = {&isa_table_avx512, &isa_table_avx2,
                                               &isa_table_generic};
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if ((!name || strcmp(name, tables[i]->name) == 0) && machine_runs(tables[i]->name))
            return tables[i];
    return NULL;
}

const char *ptx_isa_name(void)
{
    return isa_choose(NULL)->name;
}
