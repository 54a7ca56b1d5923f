/*
 * Tokens of a body.  Each line of the body is one JSON string; the end of a line is a token, a
 * comment runs from '#' to the end of its line.
 *
 * Invariant: places count bytes from 1, and a token never spans lines.  Numbers are unsigned here;
 * a minus is an operator.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "solver/ir/op_int.h"

enum { NUMBER_BYTES_MAX = 64, NAME_BYTES_MAX = 64 };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool name_is_valid(struct str name)
{
    if (name.len == 0 || name.len > NAME_BYTES_MAX || !is_letter(name.at[0]))
        return false;
    for (size_t i = 1; i < name.len; i++)
        if (!is_letter(name.at[i]) && !is_digit(name.at[i]))
            return false;
    return true;
}

static char byte_at(struct str line, size_t at)
{
    return at < line.len ? line.at[at] : '\0';
}

static bool lex_name(struct lexer *lexer, struct str line, struct token *out, struct err *err)
{
    size_t from = lexer->column;
    while (is_letter(byte_at(line, lexer->column)) || is_digit(byte_at(line, lexer->column)))
        lexer->column++;
    out->kind = TOKEN_NAME;
    out->text = (struct str){line.at + from, lexer->column - from};
    if (out->text.len <= NAME_BYTES_MAX)
        return true;
    return text_fail(lexer->text, out->place, NULL, err, "a name of more than %d letters",
                     NAME_BYTES_MAX);
}

/* The number's end; *is_float when it has a point or an exponent. */
static size_t number_end(struct str line, size_t at, bool *is_float)
{
    while (is_digit(byte_at(line, at)))
        at++;
    if (byte_at(line, at) == '.') {
        *is_float = true;
        at++;
        while (is_digit(byte_at(line, at)))
            at++;
    }
    if (byte_at(line, at) == 'e' || byte_at(line, at) == 'E') {
        size_t digits = at + 1;
        if (byte_at(line, digits) == '+' || byte_at(line, digits) == '-')
            digits++;
        if (is_digit(byte_at(line, digits))) {
            *is_float = true;
            at = digits;
            while (is_digit(byte_at(line, at)))
                at++;
        }
    }
    return at;
}

static bool lex_number(struct lexer *lexer, struct str line, struct token *out, struct err *err)
{
    bool is_float = false;
    size_t from = lexer->column;
    size_t end = number_end(line, from, &is_float);
    char digits[NUMBER_BYTES_MAX + 1];
    if (end - from > NUMBER_BYTES_MAX)
        return text_fail(lexer->text, out->place, NULL, err, "a number of more than %d digits",
                         NUMBER_BYTES_MAX);
    memcpy(digits, line.at + from, end - from);
    digits[end - from] = '\0';
    if (is_letter(byte_at(line, end))) {
        struct remedy remedy = remedy_say("numbers have no suffix: write %.40s, or a cast", digits);
        return text_fail(lexer->text, out->place, &remedy, err, "letters behind a number");
    }
    lexer->column = end;
    out->text = (struct str){line.at + from, end - from};
    errno = 0;
    if (is_float) {
        out->kind = TOKEN_FLOAT;
        out->real = strtod(digits, NULL);
        if (out->real <= 1.7976931348623157e308)
            return true;
    } else {
        out->kind = TOKEN_INT;
        out->integer = strtoll(digits, NULL, 10);
        if (errno == 0)
            return true;
    }
    return text_fail(lexer->text, out->place, NULL, err, "the number %s is too large", digits);
}

static bool lex_punct(struct lexer *lexer, struct str line, struct token *out, struct err *err)
{
    static const char *const pairs[] = {"+=", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    size_t at = lexer->column;
    out->kind = TOKEN_PUNCT;
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        if (byte_at(line, at) == pairs[i][0] && byte_at(line, at + 1) == pairs[i][1]) {
            out->text = (struct str){line.at + at, 2};
            lexer->column += 2;
            return true;
        }
    if (line.at[at] && strchr("[](){},:=+-*/%<>!~&|^?", line.at[at])) {
        out->text = (struct str){line.at + at, 1};
        lexer->column++;
        return true;
    }
    unsigned char byte = (unsigned char)line.at[at];
    if (byte > ' ' && byte < 127)
        return text_fail(lexer->text, out->place, NULL, err, "'%c' means nothing here", byte);
    return text_fail(lexer->text, out->place, NULL, err, "the byte 0x%02x means nothing here",
                     byte);
}

bool lex_next(struct lexer *lexer, struct token *out, struct err *err)
{
    struct token token = {.kind = TOKEN_END};
    if (lexer->line >= lexer->text->count) {
        token.place = (struct op_place){(int)lexer->text->count, 1};
        *out = token;
        return true;
    }
    struct str line = lexer->text->lines[lexer->line];
    while (byte_at(line, lexer->column) == ' ' || byte_at(line, lexer->column) == '\t')
        lexer->column++;
    token.place = (struct op_place){(int)lexer->line + 1, (int)lexer->column + 1};
    char c = byte_at(line, lexer->column);
    bool ok = true;
    if (lexer->column >= line.len || c == '#') {
        token.kind = TOKEN_LINE_END;
        lexer->line++;
        lexer->column = 0;
    } else if (is_letter(c)) {
        ok = lex_name(lexer, line, &token, err);
    } else if (is_digit(c) || (c == '.' && is_digit(byte_at(line, lexer->column + 1)))) {
        ok = lex_number(lexer, line, &token, err);
    } else {
        ok = lex_punct(lexer, line, &token, err);
    }
    if (ok)
        *out = token;
    return ok;
}
