/*
 * A growing byte buffer: room doubles inside the arena until bytes_max.
 *
 * Invariant: len <= bytes_max, at[len] is NUL once anything was reserved, and after the first
 * append that did not fit nothing more is added, so the contents are a true prefix.
 */
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

#include "base/panic.h"

enum { FIRST_ROOM = 256 };

void buf_init(struct buf *buf, struct arena *arena, size_t bytes_max)
{
    ASSERT(bytes_max > 0 && bytes_max < SIZE_MAX / 2);
    *buf = (struct buf){.arena = arena, .bytes_max = bytes_max};
}

static bool reserve(struct buf *buf, size_t more)
{
    if (buf->overflow || more > buf->bytes_max - buf->len) {
        buf->overflow = true;
        return false;
    }
    size_t need = buf->len + more;
    if (buf->at && need <= buf->room)
        return true;
    size_t room = buf->room ? 2 * buf->room : FIRST_ROOM;
    if (room < need)
        room = need;
    if (room > buf->bytes_max)
        room = buf->bytes_max;
    char *at = arena_array(buf->arena, char, room + 1);
    if (buf->len)
        memcpy(at, buf->at, buf->len);
    buf->at = at;
    buf->room = room;
    return true;
}

void buf_bytes(struct buf *buf, const void *data, size_t len)
{
    if (!reserve(buf, len))
        return;
    if (len)
        memcpy(buf->at + buf->len, data, len);
    buf->len += len;
    buf->at[buf->len] = '\0';
}

void buf_str(struct buf *buf, struct str s)
{
    buf_bytes(buf, s.at, s.len);
}

void buf_text(struct buf *buf, const char *text)
{
    buf_bytes(buf, text, strlen(text));
}

void buf_char(struct buf *buf, char c)
{
    buf_bytes(buf, &c, 1);
}

void buf_printf(struct buf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    buf_vprintf(buf, fmt, args);
    va_end(args);
}

void buf_vprintf(struct buf *buf, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    ASSERT(len >= 0);
    if (reserve(buf, (size_t)len)) {
        vsnprintf(buf->at + buf->len, (size_t)len + 1, fmt, again);
        buf->len += (size_t)len;
    }
    va_end(again);
}

struct str buf_view(const struct buf *buf)
{
    return (struct str){buf->at ? buf->at : "", buf->len};
}

bool buf_finish(const struct buf *buf, const char *what, struct str *out, struct err *err)
{
    if (buf->overflow)
        return err_raise(err, ERR_LIMIT, "%s is over its limit of %zu bytes", what, buf->bytes_max);
    *out = buf_view(buf);
    return true;
}
