/*
 * PTX modules: directives, functions and their headers.
 *
 * Recursive descent over the tokens of ptx_lex.c.  What this file and its siblings build is in
 * ast_int.h; parse_decl.c reads registers and variables, parse_body.c function bodies,
 * parse_operand.c operands.  Registers come into being when first named, so a range of a billion
 * costs nothing.
 *
 * Invariant: everything counted has a limit (ast_int.h), so memory is bounded by the text's length.
 * Not here: types of operands; the decoder checks them.
 */
#include "verify/ptx/parse_int.h"

const struct mod_info *ast_mod(enum mod mod)
{
    static const struct mod_info infos[MOD_COUNT] = {
#define TYPE(id, text, kind, bits) [MOD_##id] = {text, TYPE_##kind, bits},
#define MOD(id, text)              [MOD_##id] = {text, TYPE_NONE, 0},
#include "verify/ptx/ptx_mods.def"
    };
    return &infos[mod];
}

const struct op_info *ast_op(enum mnemonic mnemonic)
{
    static const struct op_info infos[MN_COUNT] = {
#define OP(id, text, decoder, tier, dests) [MN_##id] = {text, tier, dests},
#include "verify/ptx/ptx_ops.def"
    };
    return &infos[mnemonic];
}

void *parse_grow(struct arena *arena, void *old, size_t size, size_t *room)
{
    size_t bigger = *room ? 2 * *room : 16;
    void *at = arena_alloc(arena, bigger, size, 16);
    if (old)
        memcpy(at, old, *room * size);
    *room = bigger;
    return at;
}

bool parse_next(struct parser *p)
{
    return ptx_lex_next(&p->lex, p->err);
}

bool parse_is(const struct parser *p, char punct)
{
    return p->lex.token.kind == TOKEN_PUNCT && p->lex.token.punct == punct;
}

bool parse_word_is(const struct parser *p, const char *word)
{
    return p->lex.token.kind == TOKEN_WORD && str_equal(p->lex.token.text, str_from(word));
}

bool parse_eat(struct parser *p, char punct, bool *found)
{
    *found = parse_is(p, punct);
    return !*found || parse_next(p);
}

bool parse_expect(struct parser *p, char punct)
{
    if (!parse_is(p, punct))
        return lex_fail(&p->lex, p->err, "expected '%c'", punct);
    return parse_next(p);
}

bool parse_uint(struct parser *p, uint64_t max, uint64_t *out)
{
    const struct token *token = &p->lex.token;
    if (token->kind != TOKEN_NUMBER || token->is_float || token->bits > max)
        return lex_fail(&p->lex, p->err, "expected an integer up to %llu", (unsigned long long)max);
    *out = token->bits;
    return parse_next(p);
}

/* From an opening bracket past its partner, whatever is between. */
bool parse_skip_balanced(struct parser *p)
{
    size_t open = 0;
    do {
        if (p->lex.token.kind == TOKEN_END)
            return lex_fail(&p->lex, p->err, "unclosed bracket");
        open += parse_is(p, '{') || parse_is(p, '(');
        open -= parse_is(p, '}') || parse_is(p, ')');
        if (!parse_next(p))
            return false;
    } while (open > 0 && open < SIZE_MAX / 2);
    return true;
}

/* ---- function headers ---- */

/* ( .param .type name [, ...] ): variables of the function; empty parentheses are fine. */
static bool parse_formals(struct parser *p, bool returns, uint32_t **out, size_t *count)
{
    VEC(uint32_t) list = {0};
    if (!parse_expect(p, '('))
        return false;
    while (!parse_is(p, ')')) {
        bool is_param = parse_word_is(p, ".param");
        if (!is_param && !parse_word_is(p, ".reg"))
            return lex_fail(&p->lex, p->err, "expected .param");
        uint32_t var;
        if (!parse_next(p) || !parse_var_decl(p, SPACE_PARAM, false, true, &var))
            return false;
        p->vars.at[var].is_formal = true;
        p->vars.at[var].is_return = returns;
        VEC_PUSH(p->arena, &list, uint32_t) = var;
        bool comma;
        if (!parse_eat(p, ',', &comma))
            return false;
        if (!comma && !parse_is(p, ')'))
            return lex_fail(&p->lex, p->err, "expected ',' or ')'");
    }
    *out = list.at;
    *count = list.count;
    return parse_next(p);
}

static bool parse_dims(struct parser *p, uint32_t out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = 1;
    for (int i = 0; i < 3; i++) {
        uint64_t value = 0;
        if (!parse_uint(p, UINT32_MAX, &value))
            return false;
        out[i] = (uint32_t)value;
        bool comma;
        if (!parse_eat(p, ',', &comma))
            return false;
        if (!comma)
            break;
    }
    return true;
}

/* .maxntid 256, 1, 1 and the like, up to the body or the semicolon. */
static bool parse_attributes(struct parser *p, struct ast_func *func)
{
    while (!parse_is(p, '{') && !parse_is(p, ';')) {
        uint32_t ignored[3];
        bool threads = parse_word_is(p, ".maxntid") || parse_word_is(p, ".reqntid");
        bool cluster = parse_word_is(p, ".reqnctapercluster");
        bool pragma = parse_word_is(p, ".pragma");
        if (p->lex.token.kind != TOKEN_WORD || p->lex.token.text.at[0] != '.')
            return lex_fail(&p->lex, p->err, "expected a directive or the function's body");
        if (!parse_next(p))
            return false;
        if (pragma) {
            if (!parse_next(p) || !parse_expect(p, ';'))
                return false;
        } else if (p->lex.token.kind == TOKEN_NUMBER) {
            if (!parse_dims(p, threads ? func->max_threads : cluster ? func->cluster : ignored))
                return false;
        }
    }
    return true;
}

static bool find_func(struct parser *p, struct str name, bool is_entry, uint32_t *out)
{
    struct binding *known = parse_lookup(p, name);
    if (known && known->kind == BIND_FUNC) {
        *out = known->index;
        if (p->funcs.at[*out].is_entry != is_entry)
            return lex_fail(&p->lex, p->err, "function declared twice");
        return true;
    }
    if (known || p->funcs.count >= AST_FUNCS_MAX)
        return lex_fail(&p->lex, p->err, known ? "name declared twice" : "too many functions");
    *out = (uint32_t)p->funcs.count;
    VEC_PUSH(p->arena, &p->funcs, struct ast_func) =
        (struct ast_func){.name = name, .is_entry = is_entry, .line = p->lex.token.line};
    parse_bind(p, name, BIND_FUNC, *out);
    return true;
}

static bool finish_func(struct parser *p, struct ast_func *header)
{
    struct ast_func *func = &p->funcs.at[p->func - 1];
    header->has_body = true;
    header->insns = p->insns.at;
    header->insn_count = p->insns.count;
    header->regs = p->regs.at;
    header->reg_count = p->regs.count;
    header->labels = p->labels.at;
    header->label_count = p->labels.count;
    *func = *header;
    p->func = 0;
    p->loc = 0;
    memset(&p->insns, 0, sizeof(p->insns));
    memset(&p->regs, 0, sizeof(p->regs));
    memset(&p->labels, 0, sizeof(p->labels));
    memset(&p->label_refs, 0, sizeof(p->label_refs));
    memset(&p->label_defs, 0, sizeof(p->label_defs));
    return true;
}

static bool parse_function(struct parser *p, bool is_entry)
{
    struct ast_func header = {.is_entry = is_entry, .line = p->lex.token.line};
    uint32_t *list;
    /* Formals are named before the function is known; the scope holds them. */
    if (!parse_open_scope(p))
        return false;
    p->func = AST_FUNCS_MAX + 1;
    if (parse_is(p, '(')) {
        if (!parse_formals(p, true, &list, &header.return_count))
            return false;
        header.returns = list;
    }
    if (p->lex.token.kind != TOKEN_WORD)
        return lex_fail(&p->lex, p->err, "expected the function's name");
    header.name = p->lex.token.text;
    if (!parse_next(p))
        return false;
    if (parse_is(p, '(')) {
        if (!parse_formals(p, false, &list, &header.formal_count))
            return false;
        header.formals = list;
    }
    if (!parse_attributes(p, &header))
        return false;

    /* The function's own name belongs to the module, below its formals: close, bind, open. */
    uint32_t func = 0;
    size_t held_first = p->scope_start[p->depth];
    size_t held_count = p->bindings.count - held_first;
    struct binding *held = arena_array(p->arena, struct binding, held_count + 1);
    if (held_count > 0)
        memcpy(held, p->bindings.at + held_first, held_count * sizeof(*held));
    if (!parse_close_scope(p) || !find_func(p, header.name, is_entry, &func))
        return false;
    struct ast_func *known = &p->funcs.at[func];
    bool declaration = parse_is(p, ';');
    if (known->has_body)
        return declaration ? parse_next(p) : lex_fail(&p->lex, p->err, "function defined twice");
    for (size_t i = 0; i < header.formal_count; i++)
        p->vars.at[header.formals[i]].func = func + 1;
    for (size_t i = 0; i < header.return_count; i++)
        p->vars.at[header.returns[i]].func = func + 1;
    *known = header;
    p->func = 0;
    if (declaration)
        return parse_next(p);
    p->func = func + 1;
    if (!parse_open_scope(p))
        return false;
    for (size_t i = 0; i < held_count; i++)
        parse_bind(p, held[i].name, held[i].kind, held[i].index);
    return parse_body(p) && parse_close_scope(p) && finish_func(p, &header);
}

/* ---- module ---- */

/* The state space a directive names, if it declares a variable. */
static bool variable_space(const struct parser *p, enum space *out)
{
    static const struct {
        const char *word;
        enum space space;
    } spaces[] = {
        {".global", SPACE_GLOBAL}, {".const", SPACE_CONST}, {".shared", SPACE_SHARED},
        {".local", SPACE_LOCAL},   {".param", SPACE_PARAM},
    };
    for (size_t i = 0; i < COUNT_OF(spaces); i++)
        if (parse_word_is(p, spaces[i].word)) {
            *out = spaces[i].space;
            return true;
        }
    return false;
}

static bool parse_header_line(struct parser *p)
{
    /* .version 9.0, .target sm_90a, debug, .address_size 64: to the end of the list */
    bool size = parse_word_is(p, ".address_size");
    if (!parse_next(p))
        return false;
    if (size && p->lex.token.kind == TOKEN_NUMBER && p->lex.token.bits != 64)
        return lex_fail(&p->lex, p->err, "only 64-bit addresses are supported");
    bool comma = true;
    while (comma)
        if (!parse_next(p) || !parse_eat(p, ',', &comma))
            return false;
    return true;
}

static bool parse_section(struct parser *p)
{
    if (!parse_next(p) || !parse_next(p))
        return false;
    if (!parse_is(p, '{'))
        return lex_fail(&p->lex, p->err, "expected a section's contents");
    return parse_skip_balanced(p);
}

static bool parse_to_semicolon(struct parser *p)
{
    while (!parse_is(p, ';')) {
        if (p->lex.token.kind == TOKEN_END)
            return lex_fail(&p->lex, p->err, "expected ';'");
        if (!parse_next(p))
            return false;
    }
    return parse_next(p);
}

static bool parse_directive(struct parser *p)
{
    enum space space;
    bool is_extern = false;
    while (parse_word_is(p, ".visible") || parse_word_is(p, ".weak") ||
           parse_word_is(p, ".common") || parse_word_is(p, ".extern")) {
        is_extern |= parse_word_is(p, ".extern");
        if (!parse_next(p))
            return false;
    }
    if (parse_word_is(p, ".entry") || parse_word_is(p, ".func")) {
        bool is_entry = parse_word_is(p, ".entry");
        return parse_next(p) && parse_function(p, is_entry);
    }
    if (variable_space(p, &space)) {
        uint32_t var;
        return parse_next(p) && parse_var_decl(p, space, is_extern, false, &var) &&
               parse_expect(p, ';');
    }
    if (parse_word_is(p, ".file"))
        return parse_next(p) && parse_file(p);
    if (parse_word_is(p, ".section"))
        return parse_section(p);
    if (parse_word_is(p, ".version") || parse_word_is(p, ".target") ||
        parse_word_is(p, ".address_size"))
        return parse_header_line(p);
    if (parse_word_is(p, ".pragma") || parse_word_is(p, ".alias"))
        return parse_to_semicolon(p);
    return lex_fail(&p->lex, p->err, "expected a directive");
}

static void fill_words(struct parser *p)
{
    bool is_new;
    map_init(&p->names, p->arena);
    map_init(&p->mnemonics, p->arena);
    map_init(&p->mods, p->arena);
    map_init(&p->sregs, p->arena);
    for (int i = 1; i < MN_COUNT; i++)
        *map_put(&p->mnemonics, str_from(ast_op((enum mnemonic)i)->text), &is_new) = (size_t)i;
    for (int i = 1; i < MOD_COUNT; i++)
        *map_put(&p->mods, str_from(ast_mod((enum mod)i)->text), &is_new) = (size_t)i;
    static const char *const sregs[SREG_COUNT] = {
#define X(id, text) text,
        SREGS(X)
#undef X
    };
    for (int i = 0; i < SREG_COUNT; i++)
        *map_put(&p->sregs, str_from(sregs[i]), &is_new) = (size_t)i;
}

bool ast_parse(struct arena *scratch, struct str text, struct ast_module *out, struct err *err)
{
    struct parser *p = arena_new(scratch, struct parser);
    p->arena = scratch;
    p->err = err;
    lex_init(&p->lex, text);
    fill_words(p);
    if (!parse_next(p))
        return false;
    while (p->lex.token.kind != TOKEN_END) {
        if (scratch->bytes_total > AST_BYTES_MAX)
            return err_raise(err, ERR_LIMIT, "the module is too large");
        if (!parse_directive(p))
            return false;
    }
    *out = (struct ast_module){
        .operands = p->operands.at,
        .funcs = p->funcs.at,
        .func_count = p->funcs.count,
        .vars = p->vars.at,
        .var_count = p->vars.count,
        .locs = p->locs.at,
        .loc_count = p->locs.count,
        .files = p->files.at,
        .file_count = p->files.count,
    };
    return true;
}
