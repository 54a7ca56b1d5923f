/*
 * Function bodies: scopes, labels, declarations, instructions.
 *
 * An instruction is its mnemonic, modifiers, guard, operands and text.  Of a mnemonic that is not
 * in ptx_ops.def, or that no decoder runs, only the text up to the semicolon is kept: it may well
 * be legal PTX, and the entry that holds it says so.
 */
#include "verify/ptx/parse_int.h"

/* ---- instructions ---- */

/* A word is mnemonic.mod.mod; a modifier not in ptx_mods.def becomes MOD_none. */
static void split_word(const struct parser *p, struct str word, struct ast_insn *insn)
{
    size_t start = 0;
    for (size_t i = 0; i <= word.len; i++) {
        if (i < word.len && word.at[i] != '.')
            continue;
        struct str part = {word.at + start, i - start};
        const size_t *at = start == 0 ? map_get(&p->mnemonics, part) : NULL;
        if (start == 0)
            insn->mnemonic = at ? (enum mnemonic) * at : MN_unknown;
        else if (insn->mod_count < AST_MODS_MAX)
            insn->mods[insn->mod_count++] = (uint16_t)parse_mod(p, part);
        else
            insn->mods[AST_MODS_MAX - 1] = MOD_none;
        start = i + 1;
    }
}

static bool is_opaque(enum mnemonic mnemonic)
{
    return mnemonic == MN_unknown || mnemonic == MN_wgmma || mnemonic == MN_tcgen05 ||
           mnemonic == MN_multimem;
}

static bool skip_operands(struct parser *p)
{
    while (!parse_is(p, ';')) {
        if (p->lex.token.kind == TOKEN_END)
            return lex_fail(&p->lex, p->err, "expected ';'");
        if (parse_is(p, '{') || parse_is(p, '(')) {
            if (!parse_skip_balanced(p))
                return false;
        } else if (parse_is(p, '}')) {
            return lex_fail(&p->lex, p->err, "expected ';'");
        } else if (!parse_next(p)) {
            return false;
        }
    }
    return true;
}

static bool parse_operands(struct parser *p, struct ast_insn *insn)
{
    struct ast_operand operands[16];
    while (!parse_is(p, ';')) {
        if (insn->count == COUNT_OF(operands))
            return lex_fail(&p->lex, p->err, "too many operands");
        size_t refs = p->label_refs.count;
        if (!parse_operand(p, insn->mnemonic, &operands[insn->count++]))
            return false;
        /* Where the label's operand will be: labels are operands of bra only, which has no lists.
         */
        if (p->label_refs.count > refs)
            p->label_refs.at[refs].operand = (uint32_t)p->operands.count + insn->count - 1;
        /* `p|q` before it and `, ` or nothing behind */
        bool comma;
        if (!parse_eat(p, ',', &comma))
            return false;
        if (!comma && !parse_is(p, ';'))
            return lex_fail(&p->lex, p->err, "expected ',' or ';'");
    }
    if (p->operands.count + insn->count > AST_OPERANDS_MAX)
        return lex_fail(&p->lex, p->err, "too many operands");
    insn->first = (uint32_t)p->operands.count;
    for (uint32_t i = 0; i < insn->count; i++)
        VEC_PUSH(p->arena, &p->operands, struct ast_operand) = operands[i];
    return true;
}

static bool parse_guard(struct parser *p, struct ast_insn *insn)
{
    if (!parse_next(p) || !parse_eat(p, '!', &insn->guard_negated))
        return false;
    if (p->lex.token.kind != TOKEN_WORD)
        return lex_fail(&p->lex, p->err, "expected a predicate");
    if (!parse_register(p, p->lex.token.text, &insn->guard))
        return false;
    if (insn->guard == NO_REG || p->regs.at[insn->guard].bits != 1)
        return lex_fail(&p->lex, p->err, "expected a predicate");
    return parse_next(p);
}

static bool parse_insn(struct parser *p)
{
    struct ast_insn insn = {.guard = NO_REG, .line = p->lex.token.line, .loc = p->loc};
    const char *start = p->lex.token.text.at;
    if (parse_is(p, '@') && !parse_guard(p, &insn))
        return false;
    if (p->lex.token.kind != TOKEN_WORD || p->lex.token.text.at[0] == '.')
        return lex_fail(&p->lex, p->err, "expected an instruction");
    split_word(p, p->lex.token.text, &insn);
    if (!parse_next(p))
        return false;
    bool opaque = is_opaque(insn.mnemonic);
    if (opaque ? !skip_operands(p) : !parse_operands(p, &insn))
        return false;
    insn.text = (struct str){start, (size_t)(p->lex.token.text.at - start)};
    if (p->insns.count >= AST_INSNS_MAX)
        return lex_fail(&p->lex, p->err, "more than %d instructions", AST_INSNS_MAX);
    VEC_PUSH(p->arena, &p->insns, struct ast_insn) = insn;
    return parse_expect(p, ';');
}

/* ---- labels and what they may name ---- */

static bool parse_targets(struct parser *p, struct str name)
{
    uint32_t first = (uint32_t)p->operands.count;
    uint32_t count = 0;
    bool comma;
    do {
        if (p->lex.token.kind != TOKEN_WORD)
            return lex_fail(&p->lex, p->err, "expected a label");
        VEC_PUSH(p->arena, &p->label_refs, struct label_ref) = (struct label_ref){
            .operand = first + count,
            .scope = p->scope_id[p->depth],
            .name = p->lex.token.text,
            .line = p->lex.token.line,
        };
        VEC_PUSH(p->arena, &p->operands, struct ast_operand) =
            (struct ast_operand){.kind = OPERAND_LABEL, .reg = NO_REG, .pair = NO_REG};
        count++;
        if (p->operands.count > AST_OPERANDS_MAX)
            return lex_fail(&p->lex, p->err, "too many operands");
        if (!parse_next(p) || !parse_eat(p, ',', &comma))
            return false;
    } while (comma);
    parse_bind(p, name, BIND_TARGETS, first)->count = count;
    return parse_expect(p, ';');
}

static bool parse_prototype(struct parser *p, struct str name)
{
    while (!parse_is(p, ';')) {
        if (p->lex.token.kind == TOKEN_END)
            return lex_fail(&p->lex, p->err, "expected ';'");
        if (!parse_next(p))
            return false;
    }
    parse_bind(p, name, BIND_PROTO, 0);
    return parse_next(p);
}

static bool parse_label_def(struct parser *p, struct str name)
{
    if (parse_word_is(p, ".branchtargets"))
        return parse_next(p) && parse_targets(p, name);
    if (parse_word_is(p, ".callprototype"))
        return parse_next(p) && parse_prototype(p, name);
    if (p->labels.count >= AST_INSNS_MAX)
        return lex_fail(&p->lex, p->err, "too many labels");
    VEC_PUSH(p->arena, &p->label_defs, struct label_def) = (struct label_def){
        .scope = p->scope_id[p->depth],
        .name = name,
        .label = (uint32_t)p->labels.count,
    };
    VEC_PUSH(p->arena, &p->labels, uint32_t) = (uint32_t)p->insns.count;
    return true;
}

/* ---- statements ---- */

static bool parse_body_directive(struct parser *p)
{
    static const struct {
        const char *word;
        enum space space;
    } spaces[] = {
        {".local", SPACE_LOCAL}, {".shared", SPACE_SHARED}, {".param", SPACE_PARAM},
        {".const", SPACE_CONST}, {".global", SPACE_GLOBAL},
    };
    bool is_extern = parse_word_is(p, ".extern");
    if (is_extern && !parse_next(p))
        return false;
    for (size_t i = 0; i < COUNT_OF(spaces); i++)
        if (parse_word_is(p, spaces[i].word)) {
            uint32_t var;
            return parse_next(p) && parse_var_decl(p, spaces[i].space, is_extern, false, &var) &&
                   parse_expect(p, ';');
        }
    if (parse_word_is(p, ".reg"))
        return parse_next(p) && parse_reg_decl(p);
    if (parse_word_is(p, ".loc"))
        return parse_next(p) && parse_loc(p);
    if (parse_word_is(p, ".file"))
        return parse_next(p) && parse_file(p);
    if (parse_word_is(p, ".pragma"))
        return parse_next(p) && parse_next(p) && parse_expect(p, ';');
    return lex_fail(&p->lex, p->err, "unknown directive");
}

/* A word is a label's name if a colon follows it, else an instruction. */
static bool parse_word_statement(struct parser *p)
{
    struct lexer before = p->lex;
    struct str name = p->lex.token.text;
    if (!parse_next(p))
        return false;
    if (parse_is(p, ':'))
        return parse_next(p) && parse_label_def(p, name);
    p->lex = before;
    return parse_insn(p);
}

bool parse_body(struct parser *p)
{
    int outside = p->depth;
    if (!parse_expect(p, '{'))
        return false;
    for (;;) {
        bool ok;
        if (p->arena->bytes_total > AST_BYTES_MAX)
            return err_raise(p->err, ERR_LIMIT, "the module is too large");
        if (parse_is(p, '{')) {
            ok = parse_open_scope(p) && parse_next(p);
        } else if (parse_is(p, '}')) {
            if (p->depth == outside)
                return parse_next(p);
            ok = parse_close_scope(p) && parse_next(p);
        } else if (parse_is(p, ';')) {
            ok = parse_next(p);
        } else if (parse_is(p, '@')) {
            ok = parse_insn(p);
        } else if (p->lex.token.kind == TOKEN_WORD) {
            ok = p->lex.token.text.at[0] == '.' ? parse_body_directive(p) : parse_word_statement(p);
        } else {
            ok = lex_fail(&p->lex, p->err, "expected a statement");
        }
        if (!ok)
            return false;
    }
}
