#ifndef VERIFY_DEVICE_SCREEN_INT_H
#define VERIFY_DEVICE_SCREEN_INT_H

#include "verify/device/device_int.h"

/*
 * The screen's view of a source: bytes after line splicing, each knowing where it came from, and
 * tokens of them.  Tokens are those of C++17 as far as the screen needs: what is a comment, a
 * literal, a word, and what begins a line.
 */
struct screen_text {
    struct str source;
    struct str text;        /* spliced */
    const uint32_t *origin; /* of each byte of text, and of its end: offset in source */
};

enum token_kind {
    TOKEN_END,
    TOKEN_NEWLINE,
    TOKEN_WORD,
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_CHAR,
    TOKEN_RAW, /* raw string */
    TOKEN_PUNCT,
};

struct token {
    enum token_kind kind;
    size_t at;
    struct str text;
    bool first; /* nothing but space and comments before it on its line */
};

struct screen_lexer {
    const struct screen_text *text;
    size_t at;
    bool line_start;
    bool after_literal; /* a literal ended here, with nothing in between */
};

/* Checks the bytes (UTF-8, no control characters, no odd line ends) and splices lines. */
bool screen_text_prepare(struct arena *arena, struct str source, struct screen_text *out,
                         struct err *err) MUST_USE;
bool screen_lex(struct screen_lexer *lexer, struct token *token, struct err *err) MUST_USE;
/* Past blanks and comments of this line; the next byte decides. */
void screen_skip_blank(struct screen_lexer *lexer);

/* ERR_SEMANTIC: "kernel.cu:3:10: WHAT", the line, a caret, the remedy (NULL = none); false. */
bool screen_refuse(const struct screen_text *text, size_t at, const char *remedy, struct err *err,
                   const char *fmt, ...) PRINTF_LIKE(5, 6);
/* As screen_refuse, at an offset of the source itself. */
bool screen_refuse_source(struct str source, size_t offset, const char *remedy, struct err *err,
                          const char *what);

#endif
