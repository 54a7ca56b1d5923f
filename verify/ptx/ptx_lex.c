/*
 * PTX text to tokens.
 *
 * A word is a name, a directive, a special register or a mnemonic with all its modifiers, so dots
 * and double colons inside belong to it ("cp.async.ca.shared::cta", "%tid.x").  Comments and white
 * space separate.  Nothing is copied: tokens are views of the text.
 *
 * Invariant: `at` never passes the end, and each call of ptx_lex_next moves it or yields TOKEN_END.
 * Not here: what words mean.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/ptx/ast_int.h"

enum { ECHO_BYTES = 60 };

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

void lex_init(struct lexer *lexer, struct str text)
{
    *lexer = (struct lexer){.text = text, .line = 1};
}

bool lex_fail(const struct lexer *lexer, struct err *err, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    struct str near = lexer->token.text;
    if (lexer->token.kind == TOKEN_END)
        return err_raise(err, ERR_SYNTAX, "PTX line %d: %s at the end of the text",
                         lexer->token.line, text);
    if (near.len > ECHO_BYTES)
        near.len = ECHO_BYTES;
    return err_raise(err, ERR_SYNTAX, "PTX line %d: %s near '%.*s'", lexer->token.line, text,
                     STR_ARG(near));
}

static char peek(const struct lexer *lexer, size_t ahead)
{
    size_t at = lexer->at + ahead;
    return at < lexer->text.len ? lexer->text.at[at] : '\0';
}

static void skip_line(struct lexer *lexer)
{
    while (lexer->at < lexer->text.len && lexer->text.at[lexer->at] != '\n')
        lexer->at++;
}

static bool skip_block_comment(struct lexer *lexer, struct err *err)
{
    int line = lexer->line;
    for (lexer->at += 2; lexer->at < lexer->text.len; lexer->at++) {
        if (peek(lexer, 0) == '*' && peek(lexer, 1) == '/') {
            lexer->at += 2;
            return true;
        }
        lexer->line += peek(lexer, 0) == '\n';
    }
    return err_raise(err, ERR_SYNTAX, "PTX line %d: comment without end", line);
}

static bool skip_blank(struct lexer *lexer, struct err *err)
{
    while (lexer->at < lexer->text.len) {
        char c = peek(lexer, 0);
        if (c == '\n')
            lexer->line++;
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            lexer->at++;
        } else if (c == '/' && peek(lexer, 1) == '/') {
            skip_line(lexer);
        } else if (c == '/' && peek(lexer, 1) == '*') {
            if (!skip_block_comment(lexer, err))
                return false;
        } else {
            break;
        }
    }
    return true;
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 16;
}

static size_t lex_integer(struct str text, size_t at, size_t start, int base, struct token *token)
{
    uint64_t value = 0;
    size_t i = start;
    for (; i < text.len && hex_value(text.at[i]) < base; i++) {
        uint64_t digit = (uint64_t)hex_value(text.at[i]);
        if (value > (UINT64_MAX - digit) / (uint64_t)base)
            return 0;
        value = value * (uint64_t)base + digit;
    }
    if (i == start)
        return 0;
    token->bits = value;
    if (i < text.len && text.at[i] == 'U')
        i++;
    return i - at;
}

/* 0f and 0d: exactly 8 or 16 hex digits. */
static size_t lex_hex_float(struct str text, size_t at, struct token *token)
{
    token->is_float = true;
    token->is_single = text.at[at + 1] == 'f' || text.at[at + 1] == 'F';
    size_t digits = token->is_single ? 8 : 16;
    for (size_t i = 0; i < digits; i++) {
        int value = at + 2 + i < text.len ? hex_value(text.at[at + 2 + i]) : 16;
        if (value == 16)
            return 0;
        token->bits = token->bits << 4 | (uint64_t)value;
    }
    return digits + 2;
}

static size_t lex_decimal_float(struct str text, size_t at, size_t len, struct token *token)
{
    char copy[64];
    if (len >= sizeof(copy))
        return 0;
    memcpy(copy, text.at + at, len);
    copy[len] = '\0';
    char *end;
    double value = strtod(copy, &end);
    token->is_float = true;
    memcpy(&token->bits, &value, sizeof(value));
    return end == copy + len ? len : 0;
}

size_t lex_number(struct str text, size_t at, struct token *token)
{
    token->bits = 0;
    token->is_float = token->is_single = false;
    char second = at + 1 < text.len ? text.at[at + 1] : '\0';
    if (text.at[at] == '0') {
        if (second == 'x' || second == 'X')
            return lex_integer(text, at, at + 2, 16, token);
        if (second == 'b' || second == 'B')
            return lex_integer(text, at, at + 2, 2, token);
        if (second == 'f' || second == 'F' || second == 'd' || second == 'D')
            return lex_hex_float(text, at, token);
    }
    size_t len = 0;
    bool real = false;
    for (; at + len < text.len; len++) {
        char c = text.at[at + len];
        bool sign = (c == '+' || c == '-') && len > 0 &&
                    (text.at[at + len - 1] == 'e' || text.at[at + len - 1] == 'E');
        if (!is_digit(c) && c != '.' && c != 'e' && c != 'E' && !sign)
            break;
        real |= c == '.' || c == 'e' || c == 'E';
    }
    if (real)
        return lex_decimal_float(text, at, len, token);
    bool octal = text.at[at] == '0' && len > 1;
    return lex_integer(text, at, octal ? at + 1 : at, octal ? 8 : 10, token);
}

/* Directives end at the next dot: ".reg.b16" is two of them. */
static size_t word_length(const struct lexer *lexer)
{
    size_t len = 1;
    bool directive = peek(lexer, 0) == '.';
    for (;;) {
        char c = peek(lexer, len);
        char after = peek(lexer, len + 1);
        if (is_word(c) || (c == '.' && !directive && is_word(after)))
            len++;
        else if (c == ':' && after == ':' && is_word(peek(lexer, len + 2)))
            len += 2;
        else
            return len;
    }
}

static size_t string_length(const struct lexer *lexer)
{
    size_t len = 1;
    while (peek(lexer, len) != '"') {
        if (lexer->at + len >= lexer->text.len || peek(lexer, len) == '\n')
            return 0;
        len += peek(lexer, len) == '\\' ? 2 : 1;
    }
    return len + 1;
}

bool ptx_lex_next(struct lexer *lexer, struct err *err)
{
    if (!skip_blank(lexer, err))
        return false;
    struct token *token = &lexer->token;
    *token = (struct token){.kind = TOKEN_END, .line = lexer->line};
    token->text = (struct str){lexer->text.at + lexer->at, 0};
    if (lexer->at >= lexer->text.len)
        return true;

    char c = peek(lexer, 0);
    size_t len = 1;
    if (is_digit(c)) {
        token->kind = TOKEN_NUMBER;
        len = lex_number(lexer->text, lexer->at, token);
    } else if (is_word(c) || (c == '.' && is_word(peek(lexer, 1)))) {
        token->kind = TOKEN_WORD;
        len = word_length(lexer);
    } else if (c == '"') {
        token->kind = TOKEN_STRING;
        len = string_length(lexer);
    } else {
        token->kind = TOKEN_PUNCT;
        token->punct = c;
    }
    if (len == 0 || lexer->at + len > lexer->text.len) {
        token->text.len = 1;
        return lex_fail(lexer, err, "malformed %s",
                        token->kind == TOKEN_STRING ? "string" : "number");
    }
    token->text.len = len;
    lexer->at += len;
    return true;
}
