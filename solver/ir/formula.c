/*
 * Formulas: integer expressions over dims, parsed by recursive descent, evaluated with every
 * operation checked, printed with the fewest parentheses.
 *
 * Method: each level of the grammar in formula.h is one row of `levels`; the binary operators of a
 * row share a loop that builds a left-deep tree.  The tree's depth is kept beside each node while
 * parsing, so that eval, print and equal may recurse without a limit of their own.
 *
 * Invariant: parse(print(f)) equals f for every f that a parse made, and for every f made by
 * formula_int, formula_name and formula_binary.  A minus directly before an integer belongs to
 * the integer; so "-5" is a literal and the negation of 5 prints as -(5).
 *
 * Not here: simplification, and any knowledge of which names exist.
 */
#include "solver/ir/formula.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/panic.h"

/* Printing puts at most one operator and one parenthesis around each level of a tree, so a limit of
 * twice the depth lets all printed text be read again. */
enum { EXCERPT_BYTES = 72, MESSAGE_BYTES = 400, NESTING_MAX = 2 * FORMULA_DEPTH_MAX + 1 };

struct parser {
    struct arena *arena;
    struct str text; /* a copy in the arena: names point into it */
    size_t at;
    int nesting;
    const char *what;
    struct err *err;
};

struct node {
    const struct formula *formula;
    int depth;
};

/* Loosest first.  `chain` false: one operator at most, because comparisons do not chain. */
struct level {
    enum formula_op ops[6];
    size_t count;
    bool chain;
};
static const struct level levels[] = {
    {{FORMULA_OR}, 1, true},
    {{FORMULA_AND}, 1, true},
    {{FORMULA_EQ, FORMULA_NE, FORMULA_LE, FORMULA_GE, FORMULA_LT, FORMULA_GT}, 6, false},
    {{FORMULA_ADD, FORMULA_SUB}, 2, true},
    {{FORMULA_MUL, FORMULA_DIV, FORMULA_MOD}, 3, true},
};
enum { LEVEL_UNARY = COUNT_OF(levels), LEVEL_PRIMARY };

static const char *op_text(enum formula_op op)
{
    switch (op) {
    case FORMULA_INT:
    case FORMULA_NAME:
        return "";
    case FORMULA_NEG:
        return "-";
    case FORMULA_NOT:
        return "!";
#define X(id, text)                                                                                \
    case FORMULA_##id:                                                                             \
        return text;
        FORMULA_OPS(X)
#undef X
    }
    panic("formula operation %d", (int)op);
}

static bool is_call(enum formula_op op)
{
    return op == FORMULA_CEILDIV || op == FORMULA_MIN || op == FORMULA_MAX;
}

/* ---- building ---- */

const struct formula *formula_int(struct arena *arena, int64_t value)
{
    struct formula *f = arena_new(arena, struct formula);
    *f = (struct formula){.op = FORMULA_INT, .value = value};
    return f;
}

const struct formula *formula_name(struct arena *arena, struct str name)
{
    struct formula *f = arena_new(arena, struct formula);
    *f = (struct formula){.op = FORMULA_NAME, .name = {str_copy(arena, name), name.len}};
    return f;
}

const struct formula *formula_binary(struct arena *arena, enum formula_op op,
                                     const struct formula *a, const struct formula *b)
{
    ASSERT(op != FORMULA_INT && op != FORMULA_NAME && op != FORMULA_NEG && op != FORMULA_NOT);
    struct formula *f = arena_new(arena, struct formula);
    *f = (struct formula){.op = op, .a = a, .b = b};
    return f;
}

/* ---- errors with a caret ---- */

/* Up to EXCERPT_BYTES of the text around `at`; what a terminal cannot show becomes '?'. */
static void excerpt(const struct parser *p, size_t at, char out[EXCERPT_BYTES + 1], size_t *column)
{
    size_t start = at > EXCERPT_BYTES / 2 ? at - EXCERPT_BYTES / 2 : 0;
    if (p->text.len <= EXCERPT_BYTES)
        start = 0;
    size_t len = p->text.len - start;
    if (len > EXCERPT_BYTES)
        len = EXCERPT_BYTES;
    for (size_t i = 0; i < len; i++) {
        char c = p->text.at[start + i];
        out[i] = c;
        if (c < ' ' || c > '~')
            out[i] = '?';
    }
    out[len] = 0;
    *column = at - start;
}

static bool fail(const struct parser *p, size_t at, enum err_code code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

static bool fail(const struct parser *p, size_t at, enum err_code code, const char *fmt, ...)
{
    char message[MESSAGE_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);

    char line[EXCERPT_BYTES + 1];
    size_t column = 0;
    excerpt(p, at, line, &column);
    return err_raise(p->err, code, "%s%scolumn %zu: %s\n    %s\n    %*s^", p->what,
                     p->what[0] ? ": " : "", at + 1, message, line, (int)column, "");
}

/* ---- tokens ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

static char peek(const struct parser *p)
{
    return p->at < p->text.len ? p->text.at[p->at] : 0;
}

static void skip_space(struct parser *p)
{
    while (p->at < p->text.len && is_space(peek(p)))
        p->at++;
}

/* Past `word` if the text continues with it.  "<" does not match the start of "<=". */
static bool accept(struct parser *p, const char *word)
{
    skip_space(p);
    size_t len = strlen(word);
    if (p->text.len - p->at < len || memcmp(p->text.at + p->at, word, len) != 0)
        return false;
    p->at += len;
    return true;
}

static struct str take_word(struct parser *p)
{
    struct str word = {p->text.at + p->at, 0};
    while (p->at < p->text.len && is_word(peek(p))) {
        p->at++;
        word.len++;
    }
    return word;
}

/* The token at the cursor, for "found ..." in errors. */
static void found(const struct parser *p, char out[32])
{
    struct parser ahead = *p;
    struct str word = take_word(&ahead);
    char c = peek(p);
    if (p->at >= p->text.len)
        snprintf(out, 32, "the end");
    else if (word.len > 0)
        snprintf(out, 32, "\"%.*s\"", word.len > 24 ? 24 : (int)word.len, word.at);
    else if (c >= ' ' && c <= '~')
        snprintf(out, 32, "\"%c\"", c);
    else
        snprintf(out, 32, "byte 0x%02x", (unsigned char)c);
}

/* ---- parsing ---- */

static bool parse_level(struct parser *p, size_t level, struct node *out);

static bool enter(struct parser *p)
{
    if (++p->nesting > NESTING_MAX)
        return fail(p, p->at, ERR_LIMIT, "nested more than %d deep; split the formula",
                    NESTING_MAX);
    return true;
}

static bool make(struct parser *p, size_t at, enum formula_op op, struct node a, struct node b,
                 struct node *out)
{
    int depth = 1 + (a.depth > b.depth ? a.depth : b.depth);
    if (depth > FORMULA_DEPTH_MAX)
        return fail(p, at, ERR_LIMIT, "more than %d operations deep; split the formula",
                    FORMULA_DEPTH_MAX);
    struct formula *f = arena_new(p->arena, struct formula);
    *f = (struct formula){.op = op, .a = a.formula, .b = b.formula};
    *out = (struct node){f, depth};
    return true;
}

static bool parse_integer(struct parser *p, bool negative, struct node *out)
{
    size_t start = p->at;
    struct str word = take_word(p);
    int64_t value = 0;
    for (size_t i = 0; i < word.len; i++) {
        if (!is_digit(word.at[i]))
            return fail(p, start, ERR_SYNTAX,
                        "\"%.*s\" is no integer; write decimal digits only, and * between factors",
                        word.len > 24 ? 24 : (int)word.len, word.at);
        int digit = negative ? '0' - word.at[i] : word.at[i] - '0';
        if (!num_mul(value, 10, &value) || !num_add(value, digit, &value))
            return fail(p, start, ERR_LIMIT, "the integer does not fit 64 bits");
    }
    if (peek(p) == '.')
        return fail(p, p->at, ERR_SYNTAX, "formulas are over integers; write no decimal point");
    *out = (struct node){formula_int(p->arena, value), 1};
    return true;
}

static bool expect(struct parser *p, const char *token, const char *why)
{
    char got[32];
    if (accept(p, token))
        return true;
    found(p, got);
    return fail(p, p->at, ERR_SYNTAX, "expected \"%s\" %s, found %s", token, why, got);
}

static bool parse_call(struct parser *p, enum formula_op op, size_t start, struct node *out)
{
    struct node a, b;
    char why[40];
    snprintf(why, sizeof(why), "in %s(a, b)", op_text(op));
    if (!expect(p, "(", why) || !parse_level(p, 0, &a) || !expect(p, ",", why) ||
        !parse_level(p, 0, &b) || !expect(p, ")", why))
        return false;
    return make(p, start, op, a, b, out);
}

static bool call_find(struct str word, enum formula_op *op)
{
    static const enum formula_op calls[] = {FORMULA_CEILDIV, FORMULA_MIN, FORMULA_MAX};
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        if (str_equal(word, str_from(op_text(calls[i])))) {
            *op = calls[i];
            return true;
        }
    return false;
}

static bool parse_word(struct parser *p, struct node *out)
{
    size_t start = p->at;
    struct str word = take_word(p);
    enum formula_op op;
    if (call_find(word, &op))
        return parse_call(p, op, start, out);
    if (str_equal(word, STR_LIT("true")) || str_equal(word, STR_LIT("false"))) {
        *out = (struct node){formula_int(p->arena, word.len == 4), 1};
        return true;
    }
    skip_space(p);
    if (peek(p) == '(')
        return fail(p, start, ERR_SYNTAX,
                    "there is no function \"%.*s\"; the functions are ceildiv, min and max",
                    word.len > 24 ? 24 : (int)word.len, word.at);
    struct formula *f = arena_new(p->arena, struct formula);
    *f = (struct formula){.op = FORMULA_NAME, .name = word};
    *out = (struct node){f, 1};
    return true;
}

static bool parse_primary(struct parser *p, struct node *out)
{
    skip_space(p);
    if (is_digit(peek(p)))
        return parse_integer(p, false, out);
    if (is_word(peek(p)))
        return parse_word(p, out);
    if (accept(p, "("))
        return parse_level(p, 0, out) && expect(p, ")", "to close \"(\"");

    char got[32];
    found(p, got);
    return fail(p, p->at, ERR_SYNTAX,
                "expected an integer, a name or \"(\", found %s; example: ceildiv(N, 128)", got);
}

static bool parse_unary(struct parser *p, struct node *out)
{
    size_t start = p->at;
    bool minus = accept(p, "-");
    if (!minus && !accept(p, "!"))
        return parse_primary(p, out);
    if (minus && is_digit(peek(p)))
        return parse_integer(p, true, out);
    struct node operand;
    if (!enter(p) || !parse_unary(p, &operand))
        return false;
    p->nesting--;
    return make(p, start, minus ? FORMULA_NEG : FORMULA_NOT, operand, (struct node){0}, out);
}

static bool accept_op(struct parser *p, const struct level *level, enum formula_op *op)
{
    for (size_t i = 0; i < level->count; i++)
        if (accept(p, op_text(level->ops[i]))) {
            *op = level->ops[i];
            return true;
        }
    return false;
}

static bool parse_level(struct parser *p, size_t level, struct node *out)
{
    if (level == LEVEL_UNARY)
        return parse_unary(p, out);
    if (level == 0 && !enter(p))
        return false;

    const struct level *row = &levels[level];
    struct node left, right;
    enum formula_op op;
    if (!parse_level(p, level + 1, &left))
        return false;
    skip_space(p);
    size_t start = p->at;
    for (int n = 0; accept_op(p, row, &op); n++) {
        if (n > 0 && !row->chain)
            return fail(p, start, ERR_SYNTAX, "comparisons do not chain; write \"a < b && b < c\"");
        if (!parse_level(p, level + 1, &right) || !make(p, start, op, left, right, &left))
            return false;
        skip_space(p);
        start = p->at;
    }
    if (level == 0)
        p->nesting--;
    *out = left;
    return true;
}

bool formula_parse(struct arena *arena, struct str text, const char *what,
                   const struct formula **out, struct err *err)
{
    struct parser p = {.arena = arena, .text = {"", 0}, .what = what, .err = err};
    if (text.len > FORMULA_BYTES_MAX)
        return fail(&p, 0, ERR_LIMIT, "the formula has %zu bytes, the limit is %d", text.len,
                    FORMULA_BYTES_MAX);
    p.text = (struct str){str_copy(arena, text), text.len};

    struct node node;
    if (!parse_level(&p, 0, &node))
        return false;
    skip_space(&p);
    if (p.at < p.text.len) {
        char got[32];
        found(&p, got);
        char c = peek(&p);
        return fail(&p, p.at, ERR_SYNTAX, "expected an operator or the end, found %s%s", got,
                    c == '=' || c == '&' || c == '|' ? "; it is written twice: ==, &&, ||" : "");
    }
    *out = node.formula;
    return true;
}

/* ---- printing ---- */

/* Row of `levels`, or unary, or primary. */
static size_t level_of(const struct formula *f)
{
    for (size_t i = 0; i < COUNT_OF(levels); i++)
        for (size_t j = 0; j < levels[i].count; j++)
            if (levels[i].ops[j] == f->op)
                return i;
    bool unary =
        f->op == FORMULA_NEG || f->op == FORMULA_NOT || (f->op == FORMULA_INT && f->value < 0);
    return unary ? LEVEL_UNARY : LEVEL_PRIMARY;
}

static void print_at(struct buf *out, const struct formula *f, size_t least)
{
    bool wrap = level_of(f) < least;
    if (wrap)
        buf_char(out, '(');
    formula_print(out, f);
    if (wrap)
        buf_char(out, ')');
}

/* The operand of a minus is wrapped where "-5" would read as a literal, or "--" as C's decrement.
 */
static void print_negation(struct buf *out, const struct formula *f)
{
    bool wrap = f->a->op == FORMULA_INT || f->a->op == FORMULA_NEG;
    buf_char(out, '-');
    if (wrap)
        buf_char(out, '(');
    print_at(out, f->a, wrap ? 0 : LEVEL_UNARY);
    if (wrap)
        buf_char(out, ')');
}

static void print_binary(struct buf *out, const struct formula *f)
{
    size_t level = level_of(f);
    print_at(out, f->a, levels[level].chain ? level : level + 1);
    buf_printf(out, " %s ", op_text(f->op));
    print_at(out, f->b, level + 1);
}

static void print_call(struct buf *out, const struct formula *f)
{
    buf_text(out, op_text(f->op));
    buf_char(out, '(');
    formula_print(out, f->a);
    buf_text(out, ", ");
    formula_print(out, f->b);
    buf_char(out, ')');
}

void formula_print(struct buf *out, const struct formula *f)
{
    if (f->op == FORMULA_INT) {
        buf_printf(out, "%lld", (long long)f->value);
    } else if (f->op == FORMULA_NAME) {
        buf_str(out, f->name);
    } else if (f->op == FORMULA_NEG) {
        print_negation(out, f);
    } else if (f->op == FORMULA_NOT) {
        buf_char(out, '!');
        print_at(out, f->a, LEVEL_UNARY);
    } else if (is_call(f->op)) {
        print_call(out, f);
    } else {
        print_binary(out, f);
    }
}

/* ---- evaluation ---- */

static bool eval_fail(const struct formula *f, struct err *err, const char *why)
{
    struct arena scratch;
    struct buf text;
    arena_init(&scratch, 1 << 20);
    buf_init(&text, &scratch, 240);
    formula_print(&text, f);
    struct str s = buf_view(&text);
    err_raise(err, ERR_SEMANTIC, "in \"%.*s%s\": %s", STR_ARG(s), text.overflow ? "..." : "", why);
    arena_release(&scratch);
    return false;
}

static bool eval_name(struct str name, const struct formula_env *env, int64_t *out, struct err *err)
{
    char known[MESSAGE_BYTES] = "";
    size_t used = 0;
    for (size_t i = 0; i < env->count; i++) {
        if (str_equal(env->names[i], name)) {
            *out = env->values[i];
            return true;
        }
        if (env->names[i].len + 3 < sizeof(known) - used)
            used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%.*s", i ? ", " : "",
                                     STR_ARG(env->names[i]));
    }
    return err_raise(err, ERR_SEMANTIC, "unknown name \"%.*s\"; %s%s",
                     name.len > 64 ? 64 : (int)name.len, name.at,
                     env->count ? "known: " : "no names are known here", known);
}

static bool eval_logic(const struct formula *f, const struct formula_env *env, int64_t *out,
                       struct err *err)
{
    int64_t a, b;
    if (!formula_eval(f->a, env, &a, err))
        return false;
    if ((a != 0) == (f->op == FORMULA_OR)) {
        *out = a != 0;
        return true;
    }
    if (!formula_eval(f->b, env, &b, err))
        return false;
    *out = b != 0;
    return true;
}

static bool eval_divide(const struct formula *f, int64_t a, int64_t b, int64_t *out,
                        struct err *err)
{
    if (b == 0)
        return eval_fail(f, err, "division by zero");
    if (f->op == FORMULA_CEILDIV && b < 0)
        return eval_fail(f, err, "ceildiv needs a positive divisor");
    if (a == INT64_MIN && b == -1)
        return eval_fail(f, err, "the result does not fit 64 bits");
    if (f->op == FORMULA_CEILDIV)
        *out = num_ceil_div(a, b);
    else
        *out = f->op == FORMULA_DIV ? a / b : a % b;
    return true;
}

static bool eval_arithmetic(const struct formula *f, int64_t a, int64_t b, int64_t *out,
                            struct err *err)
{
    bool fits = f->op == FORMULA_MUL   ? num_mul(a, b, out)
                : f->op == FORMULA_ADD ? num_add(a, b, out)
                                       : !__builtin_sub_overflow(a, b, out);
    return fits || eval_fail(f, err, "the result does not fit 64 bits");
}

static bool compare(enum formula_op op, int64_t a, int64_t b)
{
    bool less = op == FORMULA_LT || op == FORMULA_LE || op == FORMULA_NE;
    bool equal = op == FORMULA_EQ || op == FORMULA_LE || op == FORMULA_GE;
    bool greater = op == FORMULA_GT || op == FORMULA_GE || op == FORMULA_NE;
    return (less && a < b) || (equal && a == b) || (greater && a > b);
}

static bool eval_binary(const struct formula *f, int64_t a, int64_t b, int64_t *out,
                        struct err *err)
{
    switch (f->op) {
    case FORMULA_ADD:
    case FORMULA_SUB:
    case FORMULA_MUL:
        return eval_arithmetic(f, a, b, out, err);
    case FORMULA_DIV:
    case FORMULA_MOD:
    case FORMULA_CEILDIV:
        return eval_divide(f, a, b, out, err);
    case FORMULA_EQ:
    case FORMULA_NE:
    case FORMULA_LT:
    case FORMULA_LE:
    case FORMULA_GT:
    case FORMULA_GE:
        *out = compare(f->op, a, b);
        return true;
    case FORMULA_MIN:
        *out = a < b ? a : b;
        return true;
    case FORMULA_MAX:
        *out = a > b ? a : b;
        return true;
    case FORMULA_AND:
    case FORMULA_OR:
    case FORMULA_INT:
    case FORMULA_NAME:
    case FORMULA_NEG:
    case FORMULA_NOT:
        break;
    }
    panic("formula operation %d is not binary", (int)f->op);
}

bool formula_eval(const struct formula *f, const struct formula_env *env, int64_t *out,
                  struct err *err)
{
    if (f->op == FORMULA_INT) {
        *out = f->value;
        return true;
    }
    if (f->op == FORMULA_NAME)
        return eval_name(f->name, env, out, err);
    if (f->op == FORMULA_AND || f->op == FORMULA_OR)
        return eval_logic(f, env, out, err);

    int64_t a = 0, b = 0, result = 0;
    if (!formula_eval(f->a, env, &a, err) || (f->b && !formula_eval(f->b, env, &b, err)))
        return false;
    if (f->op == FORMULA_NOT)
        result = a == 0;
    else if (f->op == FORMULA_NEG && a == INT64_MIN)
        return eval_fail(f, err, "the result does not fit 64 bits");
    else if (f->op == FORMULA_NEG)
        result = -a;
    else if (!eval_binary(f, a, b, &result, err))
        return false;
    *out = result;
    return true;
}

/* ---- comparing and names ---- */

const struct formula *formula_copy(struct arena *arena, const struct formula *formula)
{
    if (formula == NULL)
        return NULL;
    struct formula *copy = arena_new(arena, struct formula);
    *copy = *formula;
    copy->a = formula_copy(arena, formula->a);
    copy->b = formula_copy(arena, formula->b);
    return copy;
}

bool formula_equal(const struct formula *a, const struct formula *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->op != b->op || a->value != b->value || !str_equal(a->name, b->name))
        return false;
    return formula_equal(a->a, b->a) && formula_equal(a->b, b->b);
}

struct str formula_unknown_name(const struct formula *f, const struct str *names, size_t count)
{
    struct str none = {"", 0};
    if (f->op == FORMULA_NAME) {
        for (size_t i = 0; i < count; i++)
            if (str_equal(names[i], f->name))
                return none;
        return f->name;
    }
    struct str unknown = f->a ? formula_unknown_name(f->a, names, count) : none;
    if (unknown.len == 0 && f->b)
        unknown = formula_unknown_name(f->b, names, count);
    return unknown;
}

/* ---- without what means nothing ---- */

static bool is_int(const struct formula *formula, int64_t value)
{
    return formula->op == FORMULA_INT && formula->value == value;
}

const struct formula *formula_mul(struct arena *arena, const struct formula *a,
                                  const struct formula *b)
{
    if (is_int(a, 1))
        return b;
    if (is_int(b, 1))
        return a;
    return formula_binary(arena, FORMULA_MUL, a, b);
}

static bool implies(const struct formula *a, const struct formula *b)
{
    return formula_equal(a, b) || (a->op == FORMULA_AND && (implies(a->a, b) || implies(a->b, b)));
}

const struct formula *formula_and(struct arena *arena, const struct formula *a,
                                  const struct formula *b)
{
    if (a == NULL || is_int(a, 1))
        return b == NULL ? formula_int(arena, 1) : b;
    if (b == NULL || is_int(b, 1) || implies(a, b))
        return a;
    return formula_binary(arena, FORMULA_AND, a, b);
}

const struct formula *formula_count(struct arena *arena, const struct formula *const *extents,
                                    size_t count)
{
    const struct formula *product = formula_int(arena, 1);
    for (size_t i = 0; i < count; i++)
        product = formula_mul(arena, product, extents[i]);
    return product;
}
