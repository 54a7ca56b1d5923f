/*
 * Operands: registers, immediates, names, addresses, vectors, argument lists.
 *
 * The elements of a vector are stored behind one another in the parser's operand list, the vector
 * itself outside it, so operands nest by index.  What a name means is settled here; whether an
 * instruction may have such an operand is the decoder's business.
 */
#include "verify/ptx/parse_int.h"

enum { VECTOR_MAX = 512 };

static bool parse_number(struct parser *p, bool minus, struct ast_operand *out)
{
    const struct token *token = &p->lex.token;
    out->kind = OPERAND_IMM;
    out->is_float = token->is_float;
    out->is_single = token->is_single;
    uint64_t bits = token->bits;
    if (minus && token->is_float)
        bits ^= token->is_single ? 1ULL << 31 : 1ULL << 63;
    else if (minus)
        bits = -bits;
    out->imm = (int64_t)bits;
    return parse_next(p);
}

/* + n, - n, + -n behind a name in an address; absent is 0. */
static bool parse_offset(struct parser *p, int64_t *out)
{
    *out = 0;
    while (parse_is(p, '+') || parse_is(p, '-')) {
        bool minus = parse_is(p, '-');
        if (!parse_next(p))
            return false;
        if (parse_is(p, '-')) {
            minus = !minus;
            if (!parse_next(p))
                return false;
        }
        uint64_t value;
        if (!parse_uint(p, INT64_MAX, &value))
            return false;
        *out = (int64_t)((uint64_t)*out + (minus ? -value : value));
    }
    return true;
}

static bool name_to_operand(struct parser *p, struct str name, struct ast_operand *out)
{
    if (!parse_register(p, name, &out->reg))
        return false;
    if (out->reg != NO_REG) {
        out->kind = OPERAND_REG;
        return true;
    }
    const size_t *sreg = map_get(&p->sregs, name);
    const struct binding *binding = parse_lookup_name(p, name);
    if (sreg) {
        out->kind = OPERAND_SREG;
        out->index = (uint32_t)*sreg;
    } else if (name.len == 1 && name.at[0] == '_') {
        out->kind = OPERAND_SINK;
    } else if (str_equal(name, STR_LIT("WARP_SZ"))) {
        out->kind = OPERAND_IMM;
        out->imm = 32;
    } else if (!binding) {
        return lex_fail(&p->lex, p->err, "unknown name");
    } else if (binding->kind == BIND_VAR || binding->kind == BIND_FUNC) {
        out->kind = binding->kind == BIND_VAR ? OPERAND_VAR : OPERAND_FUNC;
        out->index = binding->index;
        if (binding->kind == BIND_VAR)
            p->vars.at[binding->index].referenced = true;
    } else if (binding->kind == BIND_TARGETS) {
        out->kind = OPERAND_VEC;
        out->first = binding->index;
        out->count = binding->count;
    } else if (binding->kind == BIND_PROTO) {
        out->kind = OPERAND_SINK;
    } else {
        return lex_fail(&p->lex, p->err, "no operand");
    }
    return true;
}

/* The second half of p|q. */
static bool parse_pair(struct parser *p, struct ast_operand *out)
{
    bool bar;
    if (!parse_eat(p, '|', &bar) || !bar)
        return !bar;
    if (p->lex.token.kind != TOKEN_WORD)
        return lex_fail(&p->lex, p->err, "expected a register");
    if (!parse_register(p, p->lex.token.text, &out->pair))
        return false;
    if (out->pair == NO_REG && !parse_word_is(p, "_"))
        return lex_fail(&p->lex, p->err, "expected a register");
    return parse_next(p);
}

static bool parse_name(struct parser *p, struct ast_operand *out)
{
    if (!name_to_operand(p, p->lex.token.text, out) || !parse_next(p))
        return false;
    if (out->kind == OPERAND_REG || out->kind == OPERAND_SINK)
        return parse_pair(p, out);
    if (out->kind == OPERAND_VAR) {
        p->vars.at[out->index].address_taken = true;
        return parse_offset(p, &out->imm);
    }
    return true;
}

static bool parse_label(struct parser *p, struct ast_operand *out)
{
    if (p->lex.token.kind != TOKEN_WORD)
        return lex_fail(&p->lex, p->err, "expected a label");
    out->kind = OPERAND_LABEL;
    /* The operand's place in the list is where its instruction will put it next. */
    VEC_PUSH(p->arena, &p->label_refs, struct label_ref) = (struct label_ref){
        .operand = UINT32_MAX,
        .scope = p->scope_id[p->depth],
        .name = p->lex.token.text,
        .line = p->lex.token.line,
    };
    return parse_next(p);
}

static bool parse_list(struct parser *p, enum mnemonic mnemonic, char close,
                       struct ast_operand *out)
{
    struct ast_operand elements[VECTOR_MAX];
    uint32_t count = 0;
    if (!parse_next(p))
        return false;
    while (!parse_is(p, close)) {
        if (count == VECTOR_MAX)
            return lex_fail(&p->lex, p->err, "more than %d elements", VECTOR_MAX);
        if (parse_is(p, '{') || parse_is(p, '(') || parse_is(p, '['))
            return lex_fail(&p->lex, p->err, "nested list");
        if (!parse_operand(p, mnemonic, &elements[count++]))
            return false;
        bool comma;
        if (!parse_eat(p, ',', &comma))
            return false;
        if (!comma && !parse_is(p, close))
            return lex_fail(&p->lex, p->err, "expected ',' or '%c'", close);
    }
    if (p->operands.count + count > AST_OPERANDS_MAX)
        return lex_fail(&p->lex, p->err, "too many operands");
    out->first = (uint32_t)p->operands.count;
    out->count = count;
    for (uint32_t i = 0; i < count; i++)
        VEC_PUSH(p->arena, &p->operands, struct ast_operand) = elements[i];
    return parse_next(p);
}

static bool parse_memory(struct parser *p, enum mnemonic mnemonic, struct ast_operand *out)
{
    if (!parse_next(p))
        return false;
    bool minus;
    if (!parse_eat(p, '-', &minus))
        return false;
    if (p->lex.token.kind == TOKEN_NUMBER) {
        if (!parse_number(p, minus, out))
            return false;
    } else if (p->lex.token.kind == TOKEN_WORD && !minus) {
        struct ast_operand base = {.reg = NO_REG};
        if (!name_to_operand(p, p->lex.token.text, &base))
            return false;
        if (base.kind != OPERAND_REG && base.kind != OPERAND_VAR)
            return lex_fail(&p->lex, p->err, "expected an address");
        out->reg = base.reg;
        out->has_var = base.kind == OPERAND_VAR;
        out->index = base.index;
        if (!parse_next(p) || !parse_offset(p, &out->imm))
            return false;
    } else {
        return lex_fail(&p->lex, p->err, "expected an address");
    }
    out->kind = OPERAND_MEM;
    bool comma;
    if (!parse_eat(p, ',', &comma))
        return false;
    if (comma) {
        struct ast_operand list = {.reg = NO_REG};
        if (!parse_is(p, '{'))
            return lex_fail(&p->lex, p->err, "expected coordinates");
        if (!parse_list(p, mnemonic, '}', &list))
            return false;
        out->first = list.first;
        out->count = list.count;
    }
    return parse_expect(p, ']');
}

bool parse_operand(struct parser *p, enum mnemonic mnemonic, struct ast_operand *out)
{
    *out = (struct ast_operand){.reg = NO_REG, .pair = NO_REG};
    if (parse_is(p, '{')) {
        out->kind = OPERAND_VEC;
        return parse_list(p, mnemonic, '}', out);
    }
    if (parse_is(p, '(')) {
        out->kind = OPERAND_ARGS;
        return parse_list(p, mnemonic, ')', out);
    }
    if (parse_is(p, '['))
        return parse_memory(p, mnemonic, out);
    if (mnemonic == MN_bra)
        return parse_label(p, out);
    bool minus, bang;
    if (!parse_eat(p, '-', &minus) || !parse_eat(p, '!', &bang))
        return false;
    out->negated = bang;
    if (p->lex.token.kind == TOKEN_NUMBER)
        return parse_number(p, minus, out);
    if (p->lex.token.kind != TOKEN_WORD || minus)
        return lex_fail(&p->lex, p->err, "expected an operand");
    return parse_name(p, out);
}
