#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

/*
 * Growing text or bytes in an arena, up to a named maximum.
 *
 * Appending past `bytes_max` does not fail at once: it sets `overflow`, drops what does not fit,
 * and buf_finish() reports it.  So a printer needs one check at its end, and nothing is cut
 * silently. The contents stay NUL-terminated behind `len`.
 */
struct buf {
    struct arena *arena;
    char *at;
    size_t len;
    size_t room;
    size_t bytes_max;
    bool overflow;
};

void buf_init(struct buf *buf, struct arena *arena, size_t bytes_max);
void buf_bytes(struct buf *buf, const void *data, size_t len);
void buf_str(struct buf *buf, struct str s);
void buf_text(struct buf *buf, const char *text);
void buf_char(struct buf *buf, char c);
void buf_printf(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *buf, const char *fmt, va_list args) PRINTF_LIKE(2, 0);
struct str buf_view(const struct buf *buf);

/* The contents, or ERR_LIMIT naming `what` when bytes_max was exceeded. */
bool buf_finish(const struct buf *buf, const char *what, struct str *out, struct err *err) MUST_USE;

#endif
