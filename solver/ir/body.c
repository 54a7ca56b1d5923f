/*
 * Statements of a body.
 *
 * Method: recursive descent with one token of lookahead; where more is needed (are these the plain
 * names of a target or the subscripts of a scatter; is `max(n) ...` a reduction) the parser's
 * struct is copied and the copy thrown away or kept.
 *
 * `max(...)` and `min(...)` open a reduction when the parenthesis starts with a name that is
 * neither an index of the target nor a dim, followed by , ) : or a comparison; the other reductions
 * have names of their own.
 *
 * Not here: what names mean.
 */
#include <stdio.h>
#include <string.h>

#include "base/panic.h"

#include "solver/ir/body_int.h"

struct body {
    struct parser p;
    const struct dim *dims;
    size_t dim_count;
    size_t stmt_count;
};

/* ---- tokens ---- */

bool parser_advance(struct parser *p, struct err *err)
{
    return lex_next(&p->lexer, &p->token, err);
}

bool parser_is(const struct parser *p, const char *punct)
{
    return p->token.kind == TOKEN_PUNCT && str_equal(p->token.text, str_from(punct));
}

bool parser_fail(const struct parser *p, const char *wanted, struct err *err)
{
    const struct spec_text *text = p->lexer.text;
    if (p->token.kind == TOKEN_END || p->token.kind == TOKEN_LINE_END)
        return text_fail(text, p->token.place, NULL, err, "expected %s, found the end of the %s",
                         wanted, p->token.kind == TOKEN_END ? "body" : "line");
    return text_fail(text, p->token.place, NULL, err, "expected %s, found '%.*s'", wanted,
                     STR_ARG(p->token.text));
}

bool parser_expect(struct parser *p, const char *punct, const char *why, struct err *err)
{
    char wanted[160];
    if (parser_is(p, punct))
        return parser_advance(p, err);
    snprintf(wanted, sizeof(wanted), "'%s' %s", punct, why);
    return parser_fail(p, wanted, err);
}

bool parser_name(struct parser *p, const char *what, struct token *out, struct err *err)
{
    if (p->token.kind != TOKEN_NAME)
        return parser_fail(p, what, err);
    *out = p->token;
    return parser_advance(p, err);
}

bool reduce_find(struct str name, enum reduce_op *out)
{
    static const char *const names[] = {
#define X(id, text) text,
        REDUCE_OPS(X)
#undef X
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_equal(name, str_from(names[i]))) {
            *out = (enum reduce_op)(REDUCE_NONE + 1 + i);
            return true;
        }
    return false;
}

/* ---- formulas inside the body ---- */

static bool is_comparison(const struct parser *p, enum range_bound *out)
{
    static const char *const texts[] = {"<", "<=", ">", ">="};
    static const enum range_bound bounds[] = {RANGE_LT, RANGE_LE, RANGE_GT, RANGE_GE};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (parser_is(p, texts[i])) {
            *out = bounds[i];
            return true;
        }
    return false;
}

static bool ends_formula(const struct parser *p, int depth)
{
    enum range_bound bound;
    if (p->token.kind == TOKEN_END || p->token.kind == TOKEN_LINE_END)
        return true;
    return depth == 0 && (parser_is(p, ",") || parser_is(p, ")") || parser_is(p, "]") ||
                          parser_is(p, "{") || is_comparison(p, &bound));
}

/* The text up to , ) ] { or a comparison, as a formula over dims. */
static bool parse_formula(struct parser *p, const struct formula **out, struct op_place *place,
                          struct err *err)
{
    const char *from = p->token.text.at;
    const char *end = from;
    *place = p->token.place;
    for (int depth = 0; !ends_formula(p, depth);) {
        depth += parser_is(p, "(");
        depth -= parser_is(p, ")");
        end = p->token.text.at + p->token.text.len;
        if (!parser_advance(p, err))
            return false;
    }
    if (end == from)
        return parser_fail(p, "a formula over dims", err);
    if (formula_parse(p->arena, (struct str){from, (size_t)(end - from)}, "extent", out, err))
        return true;
    return text_context(p->lexer.text, *place, err);
}

/* NAME [":" formula] [comparison NAME] */
static bool parse_range(struct parser *p, struct ast_range *out, struct err *err)
{
    struct token name;
    struct token bound;
    struct ast_range range = {.bound = RANGE_FULL};
    if (!parser_name(p, "the name of an index", &name, err))
        return false;
    range.name = name.text;
    range.place = name.place;
    if (parser_is(p, ":") &&
        (!parser_advance(p, err) || !parse_formula(p, &range.extent, &range.extent_place, err)))
        return false;
    if (is_comparison(p, &range.bound)) {
        if (!parser_advance(p, err) || !parser_name(p, "an index of the target", &bound, err))
            return false;
        range.bound_name = bound.text;
        range.bound_place = bound.place;
    }
    *out = range;
    return true;
}

/* "(" ranges ")" */
static bool parse_ranges(struct parser *p, struct ast *ast, struct err *err)
{
    if (!parser_expect(p, "(", "before the indices", err))
        return false;
    while (!parser_is(p, ")")) {
        if (ast->range_count && !parser_expect(p, ",", "between indices", err))
            return false;
        if (ast->range_count == OP_LOOPS_MAX)
            return text_fail(p->lexer.text, p->token.place, NULL, err,
                             "a statement has at most %d indices", OP_LOOPS_MAX);
        if (!parse_range(p, &ast->ranges[ast->range_count++], err))
            return false;
    }
    if (ast->range_count == 0)
        return parser_fail(p, "the name of an index", err);
    return parser_advance(p, err);
}

/* ---- assignments ---- */

static bool is_free_or_dim(const struct body *b, const struct ast *ast, struct str name)
{
    for (size_t i = 0; i < ast->free_count; i++)
        if (str_equal(ast->frees[i].name, name))
            return true;
    for (size_t i = 0; i < b->dim_count; i++)
        if (str_equal(b->dims[i].name, name))
            return true;
    return false;
}

/* The token names a reduction: does one open here? */
static bool opens_reduction(const struct body *b, const struct ast *ast, enum reduce_op reduce)
{
    struct parser ahead = b->p;
    struct err ignored;
    enum range_bound bound;
    if (!parser_advance(&ahead, &ignored) || !parser_is(&ahead, "("))
        return false;
    if (reduce != REDUCE_MAX && reduce != REDUCE_MIN)
        return true;
    if (!parser_advance(&ahead, &ignored) || ahead.token.kind != TOKEN_NAME ||
        is_free_or_dim(b, ast, ahead.token.text) || !parser_advance(&ahead, &ignored))
        return false;
    return parser_is(&ahead, ",") || parser_is(&ahead, ")") || parser_is(&ahead, ":") ||
           is_comparison(&ahead, &bound);
}

static bool parse_value(struct body *b, struct ast *ast, struct err *err)
{
    enum reduce_op reduce = REDUCE_NONE;
    if (b->p.token.kind == TOKEN_NAME && reduce_find(b->p.token.text, &reduce) &&
        opens_reduction(b, ast, reduce)) {
        ast->reduce = reduce;
        if (!parser_advance(&b->p, err) || !parse_ranges(&b->p, ast, err))
            return false;
    }
    return parser_expr(&b->p, &ast->value, err);
}

/* One entry of the target's list: a plain index with optional extent, else a subscript. */
static bool parse_target_entry(struct parser *p, struct ast *ast, struct err *err)
{
    struct parser saved = *p;
    struct ast_range *range = &ast->frees[ast->free_count];
    struct token name = p->token;
    if (name.kind == TOKEN_NAME) {
        if (!parser_advance(p, err))
            return false;
        if (parser_is(p, ",") || parser_is(p, "]") || parser_is(p, ":")) {
            range->name = name.text;
            range->place = name.place;
        }
        if (parser_is(p, ":")) {
            ast->free_count++;
            return parser_advance(p, err) &&
                   parse_formula(p, &range->extent, &range->extent_place, err);
        }
        *p = saved;
    }
    if (!range->name.len)
        range->place = name.place;
    return parser_expr(p, &ast->subs[ast->free_count++], err);
}

static bool parse_target(struct parser *p, struct ast *ast, struct err *err)
{
    if (!parser_expect(p, "[", "to open the indices of the target", err))
        return false;
    while (!parser_is(p, "]")) {
        if (ast->free_count && !parser_expect(p, ",", "between indices", err))
            return false;
        if (ast->free_count == OP_RANK_MAX)
            return text_fail(p->lexer.text, p->token.place, NULL, err,
                             "a tensor has at most %d dimensions", OP_RANK_MAX);
        if (!parse_target_entry(p, ast, err))
            return false;
    }
    return parser_advance(p, err);
}

static bool parse_scatter(struct parser *p, struct ast *ast, struct err *err)
{
    ast->kind = AST_SCATTER;
    ast->reduce = REDUCE_SUM;
    for (size_t i = 0; i < ast->free_count; i++)
        if (ast->frees[i].extent)
            return text_fail(p->lexer.text, ast->frees[i].place, NULL, err,
                             "the subscripts of a scatter-add have no extents");
    return parser_advance(p, err) && parse_ranges(p, ast, err) && parser_expr(p, &ast->value, err);
}

static bool parse_assign(struct body *b, struct ast *ast, struct err *err)
{
    struct parser *p = &b->p;
    struct token target;
    if (!parser_name(p, "a tensor to write", &target, err))
        return false;
    ast->target = target.text;
    ast->place = target.place;
    if (!parse_target(p, ast, err))
        return false;
    if (parser_is(p, "+="))
        return parse_scatter(p, ast, err);
    for (size_t i = 0; i < ast->free_count; i++)
        if (!ast->frees[i].name.len) {
            struct remedy remedy = remedy_say("to write at computed places, scatter-add with +=");
            return text_fail(p->lexer.text, ast->frees[i].place, &remedy, err,
                             "a target lists plain index names");
        }
    return parser_expect(p, "=", "between target and value", err) && parse_value(b, ast, err);
}

/* ---- use ---- */

static bool parse_bind(struct parser *p, bool with, struct ast_bind *out, struct err *err)
{
    struct token name;
    struct token actual;
    struct ast_bind bind = {0};
    if (!parser_name(p, with ? "the name of a dim" : "the name of a tensor of the used spec", &name,
                     err) ||
        !parser_expect(p, "=", "between the used spec's name and ours", err))
        return false;
    bind.name = name.text;
    bind.place = name.place;
    if (with) {
        if (!parse_formula(p, &bind.formula, &bind.actual_place, err))
            return false;
    } else {
        if (!parser_name(p, "the name of a tensor", &actual, err))
            return false;
        bind.actual = actual.text;
        bind.actual_place = actual.place;
    }
    *out = bind;
    return true;
}

enum { BINDS_MAX = 64 };

static bool parse_binds(struct parser *p, bool with, const struct ast_bind **out, size_t *count,
                        struct err *err)
{
    struct ast_bind *binds = arena_array(p->arena, struct ast_bind, BINDS_MAX);
    size_t used = 0;
    do {
        if (used && !parser_advance(p, err))
            return false;
        if (used == BINDS_MAX)
            return text_fail(p->lexer.text, p->token.place, NULL, err,
                             "use has at most %d bindings", BINDS_MAX);
        if (!parse_bind(p, with, &binds[used++], err))
            return false;
    } while (parser_is(p, ","));
    *out = binds;
    *count = used;
    return true;
}

/* The token is `use`, and a name follows. */
static bool parse_use(struct parser *p, struct ast *ast, struct err *err)
{
    struct token spec;
    ast->kind = AST_USE;
    ast->place = p->token.place;
    if (!parser_advance(p, err) || !parser_name(p, "the name of a spec", &spec, err) ||
        !parser_expect(p, "(", "to open the tensors", err) ||
        !parse_binds(p, false, &ast->binds, &ast->bind_count, err) ||
        !parser_expect(p, ")", "to close the tensors", err))
        return false;
    ast->target = spec.text;
    if (p->token.kind != TOKEN_NAME || !str_equal(p->token.text, STR_LIT("with")))
        return true;
    return parser_advance(p, err) && parse_binds(p, true, &ast->withs, &ast->with_count, err);
}

/* ---- lists of statements ---- */

static bool parse_list(struct body *b, bool in_seq, struct ast *const **out, size_t *count,
                       struct err *err) MUST_USE;

static bool parse_seq(struct body *b, struct ast *ast, struct err *err)
{
    struct parser *p = &b->p;
    struct token index;
    ast->kind = AST_SEQ;
    ast->place = p->token.place;
    if (!parser_advance(p, err) || !parser_name(p, "the name of the sequential index", &index, err))
        return false;
    ast->target = index.text;
    if (!parser_expect(p, ":", "between the sequential index and its extent", err) ||
        !parse_formula(p, &ast->extent, &ast->extent_place, err) ||
        !parser_expect(p, "{", "to open the sequential block", err) ||
        !parse_list(b, true, &ast->children, &ast->child_count, err))
        return false;
    if (ast->child_count == 0)
        return text_fail(p->lexer.text, ast->place, NULL, err,
                         "a sequential block without statements");
    return parser_expect(p, "}", "to close the sequential block", err);
}

/* `use` and `seq` are keywords only where a name follows. */
static bool is_keyword(const struct parser *p, const char *word)
{
    struct parser ahead = *p;
    struct err ignored;
    return p->token.kind == TOKEN_NAME && str_equal(p->token.text, str_from(word)) &&
           parser_advance(&ahead, &ignored) && ahead.token.kind == TOKEN_NAME;
}

static bool parse_statement(struct body *b, bool in_seq, struct ast *ast, struct err *err)
{
    struct parser *p = &b->p;
    bool is_use = is_keyword(p, "use");
    bool is_seq = is_keyword(p, "seq");
    if (in_seq && (is_use || is_seq))
        return text_fail(p->lexer.text, p->token.place, NULL, err,
                         "'%s' is not possible inside a sequential block", is_use ? "use" : "seq");
    bool ok = is_use   ? parse_use(p, ast, err)
              : is_seq ? parse_seq(b, ast, err)
                       : parse_assign(b, ast, err);
    if (!ok)
        return false;
    if (p->token.kind == TOKEN_LINE_END || p->token.kind == TOKEN_END ||
        (in_seq && parser_is(p, "}")))
        return true;
    return parser_fail(p, "the end of the statement", err);
}

static bool skip_line_ends(struct parser *p, struct err *err)
{
    while (p->token.kind == TOKEN_LINE_END)
        if (!parser_advance(p, err))
            return false;
    return true;
}

static bool parse_list(struct body *b, bool in_seq, struct ast *const **out, size_t *count,
                       struct err *err)
{
    struct parser *p = &b->p;
    size_t room = 16;
    size_t used = 0;
    struct ast **list = arena_array(p->arena, struct ast *, room);
    for (;;) {
        if (!skip_line_ends(p, err))
            return false;
        if (p->token.kind == TOKEN_END || (in_seq && parser_is(p, "}")))
            break;
        if (++b->stmt_count > OP_STATEMENTS_MAX)
            return text_fail(p->lexer.text, p->token.place, NULL, err,
                             "a body has at most %d statements", OP_STATEMENTS_MAX);
        struct ast *ast = arena_new(p->arena, struct ast);
        if (!parse_statement(b, in_seq, ast, err))
            return false;
        if (used == room) {
            struct ast **more = arena_array(p->arena, struct ast *, room * 2);
            memcpy(more, list, room * sizeof(*list));
            list = more;
            room *= 2;
        }
        list[used++] = ast;
    }
    *out = list;
    *count = used;
    return true;
}

bool body_parse(struct arena *arena, const struct spec_text *text, const struct dim *dims,
                size_t dim_count, struct ast *const **out, size_t *count, struct err *err)
{
    struct body body = {
        .p = {.arena = arena, .lexer = {.text = text}}, .dims = dims, .dim_count = dim_count};
    if (parser_advance(&body.p, err) && parse_list(&body, false, out, count, err))
        return true;
    err->code = ERR_SYNTAX;
    return false;
}
