/*
 * Expressions of a body, as nodes whose names are not looked up yet.
 *
 * Method: precedence climbing over the table `levels`; conditionals and unary operators by
 * recursion, with the nesting counted.  Chains of binary operators make left-deep trees, so each
 * node knows its depth and OP_EXPR_DEPTH_MAX bounds every later recursion.
 */
#include <string.h>

#include "base/panic.h"

#include "solver/ir/body_int.h"

struct level {
    const char *text;
    enum expr_op op;
    int strength; /* tighter is larger */
};
static const struct level levels[] = {
    {"||", EXPR_OR, 1},    {"&&", EXPR_AND, 2}, {"|", EXPR_BITOR, 3}, {"^", EXPR_BITXOR, 4},
    {"&", EXPR_BITAND, 5}, {"==", EXPR_EQ, 6},  {"!=", EXPR_NE, 6},   {"<", EXPR_LT, 7},
    {"<=", EXPR_LE, 7},    {">", EXPR_GT, 7},   {">=", EXPR_GE, 7},   {"<<", EXPR_SHL, 8},
    {">>", EXPR_SHR, 8},   {"+", EXPR_ADD, 9},  {"-", EXPR_SUB, 9},   {"*", EXPR_MUL, 10},
    {"/", EXPR_DIV, 10},   {"%", EXPR_MOD, 10},
};

struct function {
    const char *name;
    enum expr_op op;
    int arity;
    bool is_function;
};
#define OPERATOR false
#define FUNCTION true
static const struct function functions[] = {
#define X(id, text, arity, class) {text, EXPR_##id, arity, class},
    EXPR_OPS(X)
#undef X
};
#undef OPERATOR
#undef FUNCTION

static bool parse_unary(struct parser *p, const struct node **out, struct err *err) MUST_USE;

static struct node *node_new(struct parser *p, enum expr_op op, struct op_place place)
{
    struct node *node = arena_new(p->arena, struct node);
    node->op = op;
    node->place = place;
    node->depth = 1;
    return node;
}

static bool node_adopt(struct parser *p, struct node *node, const struct node *child,
                       struct err *err)
{
    if (child->depth >= node->depth)
        node->depth = child->depth + 1;
    if (node->depth <= OP_EXPR_DEPTH_MAX)
        return true;
    struct remedy remedy = remedy_say("give a part of it its own statement");
    return text_fail(p->lexer.text, node->place, &remedy, err,
                     "an expression deeper than %d operations", OP_EXPR_DEPTH_MAX);
}

bool parser_subscripts(struct parser *p, const struct node **subs, size_t *count, struct err *err)
{
    size_t used = 0;
    while (!parser_is(p, "]")) {
        if (used && !parser_expect(p, ",", "between subscripts", err))
            return false;
        if (used == OP_RANK_MAX)
            return text_fail(p->lexer.text, p->token.place, NULL, err,
                             "a tensor has at most %d dimensions", OP_RANK_MAX);
        if (!parser_expr(p, &subs[used++], err))
            return false;
    }
    *count = used;
    return parser_advance(p, err);
}

/* NAME is read; the token is "[". */
static bool parse_read(struct parser *p, const struct token *name, struct node **out,
                       struct err *err)
{
    const struct node *subs[OP_RANK_MAX];
    struct node *node = node_new(p, EXPR_READ, name->place);
    node->name = name->text;
    if (!parser_expect(p, "[", "to open the subscripts of a tensor", err) ||
        !parser_subscripts(p, subs, &node->sub_count, err))
        return false;
    const struct node **kept = arena_array(p->arena, const struct node *, node->sub_count);
    for (size_t i = 0; i < node->sub_count; i++) {
        kept[i] = subs[i];
        if (!node_adopt(p, node, subs[i], err))
            return false;
    }
    node->subs = kept;
    *out = node;
    return true;
}

static bool parse_pad(struct parser *p, const struct node **out, struct err *err)
{
    struct token name;
    struct node *node = NULL;
    if (!parser_advance(p, err) || !parser_name(p, "the tensor that pad() reads", &name, err) ||
        !parse_read(p, &name, &node, err))
        return false;
    node->padded = true;
    if (parser_is(p, ",") && (!parser_advance(p, err) || !parser_expr(p, &node->pad, err)))
        return false;
    if (node->pad && !node_adopt(p, node, node->pad, err))
        return false;
    *out = node;
    return parser_expect(p, ")", "to close pad()", err);
}

static bool arity_fail(const struct parser *p, const struct token *name, int arity, int got,
                       struct err *err)
{
    enum reduce_op reduce;
    struct remedy remedy = remedy_say("%s", "");
    if (reduce_find(name->text, &reduce))
        remedy = remedy_say("a reduction is the outermost operation of its statement: "
                            "give it a statement of its own");
    return text_fail(p->lexer.text, name->place, &remedy, err, "%.*s takes %d argument%s, not %d",
                     STR_ARG(name->text), arity, arity == 1 ? "" : "s", got);
}

/* NAME "(" is behind; args up to ")". */
static bool parse_args(struct parser *p, const struct token *name, struct node *node, int arity,
                       struct err *err)
{
    int count = 0;
    while (!parser_is(p, ")")) {
        const struct node *arg = NULL;
        if (count && !parser_expect(p, ",", "between arguments", err))
            return false;
        if (!parser_expr(p, &arg, err))
            return false;
        if (count < arity)
            node->args[count] = arg;
        if (count < arity && !node_adopt(p, node, arg, err))
            return false;
        count++;
    }
    if (count != arity)
        return arity_fail(p, name, arity, count, err);
    return parser_advance(p, err);
}

static bool unknown_function(struct parser *p, const struct token *name, struct err *err)
{
    enum reduce_op reduce;
    if (reduce_find(name->text, &reduce)) {
        struct remedy remedy = remedy_say("give the reduction a statement of its own");
        return text_fail(p->lexer.text, name->place, &remedy, err,
                         "'%.*s' inside an expression: a reduction is the outermost operation of "
                         "its statement",
                         STR_ARG(name->text));
    }
    struct str known[COUNT_OF(functions) + DTYPE_COUNT + 2];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(functions); i++)
        if (functions[i].is_function)
            known[count++] = str_from(functions[i].name);
    for (int i = 0; i < DTYPE_COUNT; i++)
        known[count++] = str_from(dtype_name((enum dtype)i));
    known[count++] = STR_LIT("tf32");
    known[count++] = STR_LIT("pad");
    struct remedy remedy = remedy_nearest(
        p->arena, name->text, known, count,
        "solver/ir/op.h lists functions and reductions; a tensor is read with brackets: x[i]");
    return text_fail(p->lexer.text, name->place, &remedy, err, "unknown function '%.*s'",
                     STR_ARG(name->text));
}

/* NAME is read; the token is "(". */
static bool parse_call(struct parser *p, const struct token *name, const struct node **out,
                       struct err *err)
{
    if (str_equal(name->text, STR_LIT("pad")))
        return parse_pad(p, out, err);
    struct node *node = node_new(p, EXPR_CAST, name->place);
    node->tf32 = str_equal(name->text, STR_LIT("tf32"));
    node->dtype = DTYPE_F32;
    int arity = node->tf32 || dtype_parse(name->text, &node->dtype) ? 1 : 0;
    for (size_t i = 0; arity == 0 && i < COUNT_OF(functions); i++)
        if (functions[i].is_function && str_equal(name->text, str_from(functions[i].name))) {
            node->op = functions[i].op;
            arity = functions[i].arity;
        }
    if (arity == 0)
        return unknown_function(p, name, err);
    *out = node;
    return parser_advance(p, err) && parse_args(p, name, node, arity, err);
}

/* inf, nan, true, false; else an index or a dim. */
static struct node *name_node(struct parser *p, const struct token *name)
{
    bool is_inf = str_equal(name->text, STR_LIT("inf"));
    bool is_true = str_equal(name->text, STR_LIT("true"));
    if (is_inf || str_equal(name->text, STR_LIT("nan"))) {
        struct node *node = node_new(p, EXPR_FLOAT, name->place);
        node->real = is_inf ? __builtin_inf() : __builtin_nan("");
        return node;
    }
    if (is_true || str_equal(name->text, STR_LIT("false"))) {
        struct node *node = node_new(p, EXPR_INT, name->place);
        node->boolean = true;
        node->integer = is_true;
        return node;
    }
    struct node *node = node_new(p, EXPR_INDEX, name->place);
    node->name = name->text;
    return node;
}

static bool parse_primary(struct parser *p, const struct node **out, struct err *err)
{
    struct token token = p->token;
    if (token.kind == TOKEN_INT || token.kind == TOKEN_FLOAT) {
        struct node *node =
            node_new(p, token.kind == TOKEN_INT ? EXPR_INT : EXPR_FLOAT, token.place);
        node->integer = token.integer;
        node->real = token.real;
        *out = node;
        return parser_advance(p, err);
    }
    if (token.kind == TOKEN_NAME) {
        struct node *read = NULL;
        if (!parser_advance(p, err))
            return false;
        if (parser_is(p, "("))
            return parse_call(p, &token, out, err);
        if (!parser_is(p, "[")) {
            *out = name_node(p, &token);
            return true;
        }
        if (!parse_read(p, &token, &read, err))
            return false;
        *out = read;
        return true;
    }
    if (!parser_is(p, "("))
        return parser_fail(p, "a value", err);
    return parser_advance(p, err) && parser_expr(p, out, err) &&
           parser_expect(p, ")", "to close the parenthesis", err);
}

static bool parse_prefix(struct parser *p, const struct node **out, struct err *err)
{
    enum expr_op op = parser_is(p, "-") ? EXPR_NEG : parser_is(p, "!") ? EXPR_NOT : EXPR_BITNOT;
    struct node *node = node_new(p, op, p->token.place);
    if (!parser_advance(p, err) || !parse_unary(p, &node->args[0], err))
        return false;
    *out = node;
    return node_adopt(p, node, node->args[0], err);
}

static bool parse_unary(struct parser *p, const struct node **out, struct err *err)
{
    if (++p->nesting > OP_EXPR_DEPTH_MAX)
        return text_fail(p->lexer.text, p->token.place, NULL, err,
                         "an expression nested more than %d deep", OP_EXPR_DEPTH_MAX);
    bool prefix = parser_is(p, "-") || parser_is(p, "!") || parser_is(p, "~");
    bool ok = prefix ? parse_prefix(p, out, err) : parse_primary(p, out, err);
    p->nesting--;
    return ok;
}

static const struct level *level_of(const struct parser *p)
{
    for (size_t i = 0; i < COUNT_OF(levels); i++)
        if (parser_is(p, levels[i].text))
            return &levels[i];
    return NULL;
}

static bool parse_binary(struct parser *p, int strength_min, const struct node **out,
                         struct err *err)
{
    const struct node *left = NULL;
    if (!parse_unary(p, &left, err))
        return false;
    for (;;) {
        const struct level *level = level_of(p);
        if (!level || level->strength < strength_min)
            break;
        struct node *node = node_new(p, level->op, p->token.place);
        node->args[0] = left;
        if (!parser_advance(p, err) || !parse_binary(p, level->strength + 1, &node->args[1], err) ||
            !node_adopt(p, node, left, err) || !node_adopt(p, node, node->args[1], err))
            return false;
        left = node;
    }
    *out = left;
    return true;
}

bool parser_expr(struct parser *p, const struct node **out, struct err *err)
{
    const struct node *condition = NULL;
    if (!parse_binary(p, 1, &condition, err))
        return false;
    if (!parser_is(p, "?")) {
        *out = condition;
        return true;
    }
    struct node *node = node_new(p, EXPR_WHERE, p->token.place);
    node->args[0] = condition;
    if (++p->nesting > OP_EXPR_DEPTH_MAX)
        return text_fail(p->lexer.text, p->token.place, NULL, err,
                         "an expression nested more than %d deep", OP_EXPR_DEPTH_MAX);
    if (!parser_advance(p, err) || !parser_expr(p, &node->args[1], err) ||
        !parser_expect(p, ":", "between the two values of a conditional", err) ||
        !parser_expr(p, &node->args[2], err))
        return false;
    p->nesting--;
    for (int i = 0; i < 3; i++)
        if (!node_adopt(p, node, node->args[i], err))
            return false;
    *out = node;
    return true;
}
