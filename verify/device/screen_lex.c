/*
 * Tokens of a candidate, for the screen.
 *
 * The danger is a difference between this reading and the compiler's: text that is a comment or a
 * literal here but code there.  So whatever compilers are known to read in two ways is refused:
 * trigraphs, bare carriage returns, control characters, bytes that are not UTF-8, raw strings that
 * hold a spliced line or a line that begins with '#', and raw strings glued to another literal.
 * Where a choice is left, the one that hides less text is taken: a literal that is not closed ends
 * with its line.
 *
 * Invariant: origin[] rises, and text never holds a backslash that is followed by a newline.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/panic.h"

#include "verify/device/screen_int.h"

enum { SHOWN_BYTES_MAX = 120, RAW_DELIMITER_MAX = 16, WHAT_BYTES = 400 };

/* ---- complaints ---- */

/* The part of the line around `column` that is shown, tabs as spaces so that the caret fits. */
static void show_line(struct str line, size_t column, char *shown, size_t *caret)
{
    size_t from = column > SHOWN_BYTES_MAX / 2 ? column - SHOWN_BYTES_MAX / 2 : 0;
    size_t len = line.len - from;
    if (len > SHOWN_BYTES_MAX)
        len = SHOWN_BYTES_MAX;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)line.at[from + i];
        shown[i] = c < ' ' || c == 127 ? ' ' : (char)c;
    }
    shown[len] = '\0';
    *caret = column - from;
}

bool screen_refuse_source(struct str source, size_t offset, const char *remedy, struct err *err,
                          const char *what)
{
    size_t start = offset;
    size_t end = offset;
    size_t caret;
    int line = 1;
    char shown[SHOWN_BYTES_MAX + 1];
    ASSERT(offset <= source.len);
    while (start > 0 && source.at[start - 1] != '\n')
        start--;
    while (end < source.len && source.at[end] != '\n')
        end++;
    for (size_t i = 0; i < start; i++)
        line += source.at[i] == '\n';
    show_line((struct str){source.at + start, end - start}, offset - start, shown, &caret);
    return err_raise(err, ERR_SEMANTIC, "kernel.cu:%d:%zu: %s\n  %s\n  %*s^%s%s", line,
                     offset - start + 1, what, shown, (int)caret, "", remedy ? "\n  remedy: " : "",
                     remedy ? remedy : "");
}

bool screen_refuse(const struct screen_text *text, size_t at, const char *remedy, struct err *err,
                   const char *fmt, ...)
{
    char what[WHAT_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return screen_refuse_source(text->source, text->origin[at], remedy, err, what);
}

/* ---- bytes ---- */

/* Bytes of the UTF-8 sequence at `at`; 0 when there is none. */
static size_t utf8_len(struct str s, size_t at)
{
    unsigned char c = (unsigned char)s.at[at];
    size_t len = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : (c & 0xF0) == 0xE0 ? 3 : 4;
    if (c >= 0xF5 || (c >= 0x80 && c < 0xC2) || len > s.len - at)
        return 0;
    for (size_t i = 1; i < len; i++)
        if (((unsigned char)s.at[at + i] & 0xC0) != 0x80)
            return 0;
    return len;
}

static bool check_bytes(struct str source, struct err *err)
{
    for (size_t i = 0; i < source.len;) {
        char c = source.at[i];
        size_t len = utf8_len(source, i);
        if (len == 0)
            return screen_refuse_source(source, i, "write ASCII or UTF-8", err,
                                        "bytes that are not UTF-8");
        if (c == '\r' && (i + 1 == source.len || source.at[i + 1] != '\n'))
            return screen_refuse_source(source, i, "end lines with a newline", err,
                                        "a carriage return without newline");
        if (((unsigned char)c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 127)
            return screen_refuse_source(source, i, "remove it", err, "a control character");
        if (c == '?' && source.len - i >= 3 && source.at[i + 1] == '?' &&
            (source.at[i + 2] == '=' || source.at[i + 2] == '/'))
            return screen_refuse_source(source, i, "write # or \\", err, "a trigraph");
        i += len;
    }
    return true;
}

/* Bytes of a line splice at `at`, 0 when there is none. */
static size_t splice_len(struct str source, size_t at)
{
    if (source.at[at] != '\\')
        return 0;
    if (source.len - at >= 2 && source.at[at + 1] == '\n')
        return 2;
    if (source.len - at >= 3 && source.at[at + 1] == '\r' && source.at[at + 2] == '\n')
        return 3;
    return 0;
}

bool screen_text_prepare(struct arena *arena, struct str source, struct screen_text *out,
                         struct err *err)
{
    if (source.len > COMPILE_SOURCE_BYTES_MAX)
        return err_raise(err, ERR_LIMIT, "the source has %zu bytes; at most %d are taken",
                         source.len, COMPILE_SOURCE_BYTES_MAX);
    if (!check_bytes(source, err))
        return false;

    char *text = arena_array(arena, char, source.len + 1);
    uint32_t *origin = arena_array(arena, uint32_t, source.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < source.len;) {
        size_t skip = splice_len(source, i);
        if (skip) {
            i += skip;
            continue;
        }
        text[len] = source.at[i];
        if (text[len] == '\r')
            text[len] = ' ';
        origin[len++] = (uint32_t)i++;
    }
    origin[len] = (uint32_t)source.len;
    *out = (struct screen_text){source, {text, len}, origin};
    return true;
}

/* ---- tokens ---- */

static char peek(const struct screen_lexer *lexer, size_t ahead)
{
    size_t at = lexer->at + ahead;
    return at < lexer->text->text.len ? lexer->text->text.at[at] : '\0';
}

static bool is_word_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word_byte(char c)
{
    return is_word_start(c) || is_digit(c);
}

/* Past one comment, if there is one here. */
static bool skip_comment(struct screen_lexer *lexer)
{
    if (peek(lexer, 0) != '/' || (peek(lexer, 1) != '/' && peek(lexer, 1) != '*'))
        return false;
    bool block = peek(lexer, 1) == '*';
    lexer->at += 2;
    while (peek(lexer, 0) != '\0') {
        if (block && peek(lexer, 0) == '*' && peek(lexer, 1) == '/') {
            lexer->at += 2;
            return true;
        }
        if (peek(lexer, 0) == '\n') {
            if (!block)
                return true;
            lexer->line_start = true;
        }
        lexer->at++;
    }
    return true;
}

void screen_skip_blank(struct screen_lexer *lexer)
{
    size_t start = lexer->at;
    while (peek(lexer, 0) == ' ' || peek(lexer, 0) == '\t' || skip_comment(lexer))
        if (peek(lexer, 0) == ' ' || peek(lexer, 0) == '\t')
            lexer->at++;
    if (lexer->at != start)
        lexer->after_literal = false;
}

/* A string or character literal; the opening quote is here. */
static void skip_quoted(struct screen_lexer *lexer)
{
    char quote = peek(lexer, 0);
    lexer->at++;
    while (peek(lexer, 0) != '\0' && peek(lexer, 0) != '\n') {
        char c = peek(lexer, 0);
        lexer->at++;
        if (c == quote)
            break;
        if (c == '\\' && peek(lexer, 0) != '\n' && peek(lexer, 0) != '\0')
            lexer->at++;
    }
}

static void skip_number(struct screen_lexer *lexer)
{
    while (true) {
        char c = peek(lexer, 0);
        char next = peek(lexer, 1);
        bool exponent = c == 'e' || c == 'E' || c == 'p' || c == 'P';
        if (exponent && (next == '+' || next == '-'))
            lexer->at += 2;
        else if (c == '\'' && is_word_byte(next))
            lexer->at += 2;
        else if (is_word_byte(c) || c == '.')
            lexer->at++;
        else
            return;
    }
}

static bool is_raw_prefix(struct str word)
{
    static const char *const prefixes[] = {"R", "LR", "uR", "UR", "u8R"};
    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        if (str_equal(word, str_from(prefixes[i])))
            return true;
    return false;
}

static bool begins_directive(struct str text)
{
    bool start = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '\n')
            start = true;
        else if (start && (c == '#' || (c == '%' && i + 1 < text.len && text.at[i + 1] == ':')))
            return true;
        else if (c != ' ' && c != '\t')
            start = false;
    }
    return false;
}

/* The quote after a raw prefix is here; `start` is where the prefix began. */
static bool skip_raw(struct screen_lexer *lexer, size_t start, struct err *err)
{
    const struct screen_text *text = lexer->text;
    char close[RAW_DELIMITER_MAX + 3] = ")";
    size_t len = 1;
    lexer->at++;
    while (peek(lexer, 0) != '(') {
        char c = peek(lexer, 0);
        if (len > RAW_DELIMITER_MAX || c == '\0' || c == '\n' || c == ' ' || c == ')' || c == '\\')
            return screen_refuse(text, start, "write R\"( ... )\"", err, "a malformed raw string");
        close[len++] = c;
        lexer->at++;
    }
    close[len++] = '"';
    const char *from = text->text.at + lexer->at;
    const char *end = memmem(from, text->text.len - lexer->at, close, len);
    if (!end)
        return screen_refuse(text, start, NULL, err, "a raw string that does not end");
    struct str body = {from, (size_t)(end - from)};
    lexer->at += body.len + len;
    if (text->origin[lexer->at - 1] - text->origin[start] != lexer->at - 1 - start)
        return screen_refuse(text, start, "use ordinary strings", err,
                             "a raw string with a backslash at the end of a line");
    if (begins_directive(body))
        return screen_refuse(text, start, "use ordinary strings", err,
                             "a raw string with a line that begins with #");
    return true;
}

static bool lex_word(struct screen_lexer *lexer, struct token *token, struct err *err)
{
    bool glued = lexer->after_literal;
    size_t start = lexer->at;
    while (is_word_byte(peek(lexer, 0)))
        lexer->at++;
    struct str word = {lexer->text->text.at + start, lexer->at - start};
    char next = peek(lexer, 0);
    token->kind = TOKEN_WORD;
    if (next != '"' && next != '\'')
        return true;
    if (glued)
        return screen_refuse(lexer->text, start, "put a space between them", err,
                             "two literals without a space between them");
    token->kind = next == '"' ? TOKEN_STRING : TOKEN_CHAR;
    if (next == '"' && is_raw_prefix(word)) {
        token->kind = TOKEN_RAW;
        return skip_raw(lexer, start, err);
    }
    skip_quoted(lexer);
    return true;
}

static bool lex_one(struct screen_lexer *lexer, struct token *token, struct err *err)
{
    char c = peek(lexer, 0);
    if (is_word_start(c))
        return lex_word(lexer, token, err);
    if (is_digit(c) || (c == '.' && is_digit(peek(lexer, 1)))) {
        token->kind = TOKEN_NUMBER;
        skip_number(lexer);
    } else if (c == '"' || c == '\'') {
        token->kind = c == '"' ? TOKEN_STRING : TOKEN_CHAR;
        skip_quoted(lexer);
    } else {
        token->kind = TOKEN_PUNCT;
        lexer->at += c == '%' && peek(lexer, 1) == ':' ? 2 : 1;
    }
    return true;
}

bool screen_lex(struct screen_lexer *lexer, struct token *token, struct err *err)
{
    screen_skip_blank(lexer);
    *token = (struct token){.at = lexer->at, .first = lexer->line_start};
    if (lexer->at >= lexer->text->text.len) {
        token->kind = TOKEN_END;
        return true;
    }
    if (peek(lexer, 0) == '\n') {
        token->kind = TOKEN_NEWLINE;
        lexer->at++;
        lexer->line_start = true;
        lexer->after_literal = false;
        return true;
    }
    if (!lex_one(lexer, token, err))
        return false;
    token->text = (struct str){lexer->text->text.at + token->at, lexer->at - token->at};
    lexer->line_start = false;
    lexer->after_literal = token->kind == TOKEN_STRING || token->kind == TOKEN_CHAR ||
                           token->kind == TOKEN_RAW ||
                           (token->kind == TOKEN_WORD && lexer->after_literal);
    return true;
}
