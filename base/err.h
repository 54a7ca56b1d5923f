#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

#include "base/attr.h"

/*
 * Errors.
 *
 * A function that can fail returns bool, true on success, and takes a
 * `struct err *` as its last parameter.  The place that knows why fills it,
 * once; everyone above passes the failure on, adding at most what they were
 * doing.  On failure, out parameters are untouched.
 *
 * Two things are not errors.  A kernel that does not compile, is wrong or is
 * slow is an ordinary result (struct verdict).  A broken invariant, or memory
 * running out, is a bug or the end: it aborts (base/panic.h).
 */

#define ERR_CODES(X)                                                                               \
    X(NONE, "no error")                                                                            \
    X(IO, "input or output failed")                                                                \
    X(USAGE, "the command line is wrong")                                                          \
    X(SYNTAX, "malformed input")                                                                   \
    X(SEMANTIC, "well-formed input that means nothing")                                            \
    X(LIMIT, "a limit was exceeded")                                                               \
    X(UNSUPPORTED, "this is not supported")                                                        \
    X(CHILD, "a child process failed")                                                             \
    X(NETWORK, "the network failed")                                                               \
    X(DATABASE, "the database failed")                                                             \
    X(DEVICE, "the device or its driver failed")

enum err_code {
#define X(name, text) ERR_##name,
    ERR_CODES(X)
#undef X
};

/* Room for what happened, the source line with its caret, and the remedy. */
enum { ERR_TEXT_BYTES = 1200 };

struct err {
    enum err_code code;
    int line;         /* where it was raised */
    const char *file; /* static storage */
    char text[ERR_TEXT_BYTES];
};

/* Fill *err and return false, so that raising is one statement:
 *     return err_raise(err, ERR_IO, "open %s: %s", path, strerror(errno)); */
#define err_raise(err, code, ...)                                                                  \
    err_failed(err_raise_at(__FILE__, __LINE__, (err), (code), __VA_ARGS__))

bool err_raise_at(const char *file, int line, struct err *err, enum err_code code, const char *fmt,
                  ...) PRINTF_LIKE(5, 6);

/* Put "what we were doing: " in front of the text; return false. */
#define err_context(err, ...) err_failed(err_context_add((err), __VA_ARGS__))

bool err_context_add(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* False, seen by the compiler too, so that it knows what is set after a failure. */
static inline bool err_failed(bool raised UNUSED)
{
    return false;
}

const char *err_code_text(enum err_code code);

#endif
