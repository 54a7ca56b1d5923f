/*
 * Declarations: registers, variables with their initialisers, .loc and .file lines.
 *
 * Variables are read as (.align n) (.type) name[d][d] = { values }.  Initialisers become bytes,
 * with relocations where a value is an address.
 *
 * Invariant: the bytes of all declared variables stay below PTX_GLOBAL_BYTES_MAX, checked before
 * anything is allocated.
 */
#include "verify/ptx/parse_int.h"

enum { LOC_LOOK_BACK = 256, FILES_MAX = 4096, INIT_BYTES_MAX = 16 << 20, ALIGN_MAX = 65536 };

/* ---- registers ---- */

static bool parse_one_reg(struct parser *p, enum mod type)
{
    if (p->lex.token.kind != TOKEN_WORD)
        return lex_fail(&p->lex, p->err, "expected a register's name");
    struct str name = p->lex.token.text;
    bool range;
    if (!parse_next(p) || !parse_eat(p, '<', &range))
        return false;
    uint64_t count = 0;
    if (range && (!parse_uint(p, INT32_MAX, &count) || !parse_expect(p, '>')))
        return false;
    struct binding *binding = parse_bind(p, name, range ? BIND_RANGE : BIND_REG, NO_REG);
    binding->count = (uint32_t)count;
    binding->type = type;
    return true;
}

bool parse_reg_decl(struct parser *p)
{
    struct str word = p->lex.token.text;
    enum mod type = MOD_none;
    if (p->lex.token.kind == TOKEN_WORD && word.at[0] == '.')
        type = parse_mod(p, (struct str){word.at + 1, word.len - 1});
    if (ast_mod(type)->bits == 0)
        return lex_fail(&p->lex, p->err, "expected a register type");
    if (!parse_next(p))
        return false;
    bool comma;
    do {
        if (!parse_one_reg(p, type) || !parse_eat(p, ',', &comma))
            return false;
    } while (comma);
    return parse_expect(p, ';');
}

/* ---- variables ---- */

struct init {
    uint8_t *bytes;
    uint64_t room; /* of the variable */
    uint64_t at;   /* next byte */
    int element;   /* bytes */
    bool single;   /* elements are f32 */
    bool real;
    struct ast_reloc *relocs;
    size_t reloc_count;
};

static bool add_reloc(struct parser *p, struct init *init, const struct binding *binding)
{
    struct ast_reloc *reloc = arena_new(p->arena, struct ast_reloc);
    reloc->offset = init->at;
    reloc->is_func = binding->kind == BIND_FUNC;
    reloc->index = binding->index;
    reloc->next = init->relocs;
    init->relocs = reloc;
    init->reloc_count++;
    if (!reloc->is_func)
        p->vars.at[reloc->index].address_taken = p->vars.at[reloc->index].referenced = true;
    bool plus;
    if (!parse_eat(p, '+', &plus))
        return false;
    uint64_t addend = 0;
    if (plus && !parse_uint(p, INT32_MAX, &addend))
        return false;
    reloc->addend = (int64_t)addend;
    return true;
}

/* generic(name), name, name + n */
static bool init_address(struct parser *p, struct init *init)
{
    bool generic = parse_word_is(p, "generic");
    if (generic && (!parse_next(p) || !parse_expect(p, '(')))
        return false;
    const struct binding *binding = parse_lookup(p, p->lex.token.text);
    if (!binding || (binding->kind != BIND_VAR && binding->kind != BIND_FUNC) || init->element != 8)
        return lex_fail(&p->lex, p->err, "unknown name in an initialiser");
    struct binding copy = *binding;
    if (!parse_next(p))
        return false;
    if (generic && !parse_expect(p, ')'))
        return false;
    return add_reloc(p, init, &copy);
}

static bool init_value(struct parser *p, struct init *init)
{
    if (init->at + (uint64_t)init->element > init->room)
        return lex_fail(&p->lex, p->err, "initialiser longer than its variable");
    bool minus;
    if (!parse_eat(p, '-', &minus))
        return false;
    const struct token *token = &p->lex.token;
    if (token->kind == TOKEN_WORD && !minus) {
        if (!init_address(p, init))
            return false;
    } else if (token->kind == TOKEN_NUMBER) {
        uint64_t bits = token->bits;
        if (token->is_float && init->single && !token->is_single) {
            double value;
            memcpy(&value, &bits, sizeof(value));
            float narrow = (float)(minus ? -value : value);
            uint32_t word;
            memcpy(&word, &narrow, sizeof(word));
            bits = word;
        } else if (minus) {
            bits = token->is_float ? bits ^ (token->is_single ? 1ULL << 31 : 1ULL << 63) : -bits;
        }
        memcpy(init->bytes + init->at, &bits, (size_t)init->element);
        if (!parse_next(p))
            return false;
    } else {
        return lex_fail(&p->lex, p->err, "expected a value");
    }
    init->at += (uint64_t)init->element;
    return true;
}

/* Nested braces are only grouping here: values fill the variable in order. */
static bool init_list(struct parser *p, struct init *init)
{
    int depth = 0;
    for (;;) {
        if (parse_is(p, '{')) {
            depth++;
            if (depth > AST_NESTING_MAX)
                return lex_fail(&p->lex, p->err, "braces nested too deep");
            if (!parse_next(p))
                return false;
            continue;
        }
        if (parse_is(p, '}') && depth > 0) {
            depth--;
        } else if (parse_is(p, ',') && depth > 0) {
            if (!parse_next(p))
                return false;
            continue;
        } else {
            if (!init_value(p, init))
                return false;
            if (depth == 0)
                return true;
            continue;
        }
        if (!parse_next(p))
            return false;
        if (depth == 0)
            return true;
    }
}

static bool parse_init(struct parser *p, struct ast_var *var, enum mod type, uint64_t element)
{
    if (var->bytes > INIT_BYTES_MAX)
        return lex_fail(&p->lex, p->err, "initialised variable too large");
    if (element > 8)
        return lex_fail(&p->lex, p->err, "initialised vectors are not supported");
    struct init init = {.room = var->bytes, .element = (int)element};
    init.bytes = arena_array(p->arena, uint8_t, var->bytes + 8);
    init.single = type == MOD_f32;
    if (!init_list(p, &init))
        return false;
    var->init = init.bytes;
    var->init_bytes = var->bytes;
    var->relocs = init.relocs;
    var->reloc_count = init.reloc_count;
    return true;
}

/* [4][8] multiply the size; an empty [] leaves it open. */
static bool parse_bounds(struct parser *p, struct ast_var *var)
{
    bool open;
    while (parse_is(p, '[')) {
        if (!parse_next(p) || !parse_eat(p, ']', &open))
            return false;
        if (open) {
            var->unsized = true;
            continue;
        }
        uint64_t count;
        if (!parse_uint(p, UINT64_MAX, &count) || !parse_expect(p, ']'))
            return false;
        if (count > 0 && var->bytes > PTX_GLOBAL_BYTES_MAX / count)
            return err_raise(p->err, ERR_LIMIT, "variable '%.*s' is larger than %d bytes",
                             STR_ARG(var->name), PTX_GLOBAL_BYTES_MAX);
        var->bytes *= count;
    }
    if (var->unsized)
        var->bytes = 0;
    return true;
}

static bool parse_var_type(struct parser *p, struct ast_var *var, enum mod *type, uint64_t *element)
{
    uint64_t vector = 1;
    for (*type = MOD_none; *type == MOD_none;) {
        struct str word = p->lex.token.text;
        if (p->lex.token.kind != TOKEN_WORD || word.at[0] != '.')
            return lex_fail(&p->lex, p->err, "expected a type");
        if (parse_word_is(p, ".align")) {
            if (!parse_next(p) || !parse_uint(p, ALIGN_MAX, &var->align))
                return false;
            if (var->align == 0 || (var->align & (var->align - 1)) != 0)
                return lex_fail(&p->lex, p->err, "alignment is no power of two");
            continue;
        }
        enum mod mod = parse_mod(p, (struct str){word.at + 1, word.len - 1});
        if (mod == MOD_v2 || mod == MOD_v4)
            vector = mod == MOD_v2 ? 2 : 4;
        else if (ast_mod(mod)->bits >= 8)
            *type = mod;
        else if (!parse_word_is(p, ".attribute"))
            return lex_fail(&p->lex, p->err, "expected a type");
        else if (!parse_next(p) || !parse_skip_balanced(p))
            return false;
        if (mod != MOD_none && !parse_next(p))
            return false;
    }
    *element = (uint64_t)ast_mod(*type)->bits / 8;
    var->bytes = *element * vector;
    if (var->align == 0)
        var->align = var->bytes;
    return true;
}

/* .ptr .global .align 16 behind the type of a kernel parameter. */
static bool parse_ptr(struct parser *p)
{
    while (p->lex.token.kind == TOKEN_WORD && p->lex.token.text.at[0] == '.') {
        bool align = parse_word_is(p, ".align");
        uint64_t ignored;
        if (!parse_next(p) || (align && !parse_uint(p, ALIGN_MAX, &ignored)))
            return false;
    }
    return true;
}

static bool parse_one_var(struct parser *p, struct ast_var var, enum mod type, bool formal,
                          uint32_t *out)
{
    uint64_t element = (uint64_t)ast_mod(type)->bits / 8;
    if (formal && !parse_ptr(p))
        return false;
    if (p->lex.token.kind != TOKEN_WORD)
        return lex_fail(&p->lex, p->err, "expected a variable's name");
    var.name = p->lex.token.text;
    var.func = p->func;
    bool init;
    if (!parse_next(p) || !parse_bounds(p, &var) || !parse_eat(p, '=', &init))
        return false;
    if (p->vars.count >= AST_VARS_MAX)
        return err_raise(p->err, ERR_LIMIT, "more than %d variables", AST_VARS_MAX);
    if (init && !parse_init(p, &var, type, element))
        return false;
    p->bytes_declared += var.bytes;
    if (p->bytes_declared > PTX_GLOBAL_BYTES_MAX)
        return err_raise(p->err, ERR_LIMIT, "variables take more than %d bytes",
                         PTX_GLOBAL_BYTES_MAX);
    *out = (uint32_t)p->vars.count;
    VEC_PUSH(p->arena, &p->vars, struct ast_var) = var;
    parse_bind(p, var.name, BIND_VAR, *out);
    return true;
}

bool parse_var_decl(struct parser *p, enum space space, bool is_extern, bool formal, uint32_t *out)
{
    struct ast_var var = {.space = space, .is_extern = is_extern};
    enum mod type;
    uint64_t element;
    if (!parse_var_type(p, &var, &type, &element))
        return false;
    bool comma = false;
    do {
        if (!parse_one_var(p, var, type, formal, out))
            return false;
        if (!formal && !parse_eat(p, ',', &comma))
            return false;
    } while (comma);
    return true;
}

/* ---- source lines ---- */

/* The location that an inlined piece of code was called at, which NVVM has named shortly before. */
static uint32_t find_call(const struct parser *p, const struct ast_loc *call)
{
    size_t first = p->locs.count > LOC_LOOK_BACK ? p->locs.count - LOC_LOOK_BACK : 0;
    for (size_t i = p->locs.count; i > first; i--) {
        const struct ast_loc *loc = &p->locs.at[i - 1];
        if (loc->file == call->file && loc->line == call->line && loc->column == call->column)
            return (uint32_t)i;
    }
    return 0;
}

static bool parse_position(struct parser *p, struct ast_loc *loc)
{
    uint64_t file, line, column;
    if (!parse_uint(p, FILES_MAX - 1, &file) || !parse_uint(p, INT32_MAX, &line) ||
        !parse_uint(p, INT32_MAX, &column))
        return false;
    *loc = (struct ast_loc){(uint32_t)file, (int)line, (int)column, 0};
    return true;
}

static bool parse_inlined(struct parser *p, struct ast_loc *loc)
{
    bool more = true;
    while (more) {
        if (parse_word_is(p, "inlined_at")) {
            struct ast_loc call;
            if (!parse_next(p) || !parse_position(p, &call))
                return false;
            loc->inlined_at = find_call(p, &call);
            if (loc->inlined_at == 0) {
                VEC_PUSH(p->arena, &p->locs, struct ast_loc) = call;
                loc->inlined_at = (uint32_t)p->locs.count;
            }
        } else if (parse_word_is(p, "function_name")) {
            bool plus;
            uint64_t offset;
            if (!parse_next(p) || !parse_next(p) || !parse_eat(p, '+', &plus) ||
                (plus && !parse_uint(p, INT32_MAX, &offset)))
                return false;
        } else {
            return lex_fail(&p->lex, p->err, "expected function_name or inlined_at");
        }
        if (!parse_eat(p, ',', &more))
            return false;
    }
    return true;
}

bool parse_loc(struct parser *p)
{
    struct ast_loc loc;
    bool comma;
    if (!parse_position(p, &loc) || !parse_eat(p, ',', &comma) ||
        (comma && !parse_inlined(p, &loc)))
        return false;
    if (loc.line == 0)
        return true;
    VEC_PUSH(p->arena, &p->locs, struct ast_loc) = loc;
    p->loc = (uint32_t)p->locs.count;
    return true;
}

bool parse_file(struct parser *p)
{
    uint64_t number;
    if (!parse_uint(p, FILES_MAX - 1, &number))
        return false;
    if (p->lex.token.kind != TOKEN_STRING)
        return lex_fail(&p->lex, p->err, "expected a file name");
    struct str path = p->lex.token.text;
    while (p->files.count <= number)
        VEC_PUSH(p->arena, &p->files, struct str) = (struct str){0};
    p->files.at[number] = (struct str){path.at + 1, path.len - 2};
    bool comma;
    if (!parse_next(p) || !parse_eat(p, ',', &comma))
        return false;
    while (comma) {
        uint64_t ignored;
        if (!parse_uint(p, UINT64_MAX, &ignored) || !parse_eat(p, ',', &comma))
            return false;
    }
    return true;
}
