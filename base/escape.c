/*
 * A stranger's text on our terminal.
 *
 * Servers' messages are shown to people, so nothing in them may move the cursor, change colours,
 * start a new line or reverse the direction of writing: control characters (C0, DEL, C1), invalid
 * UTF-8, line separators and bidirectional marks come out as \xNN, byte by byte.  All other text,
 * whatever its language, stays.
 *
 * Invariant: the output is one line of valid UTF-8 without control characters.  Left out:
 * characters that merely look alike.
 */
#include "base/escape.h"

#include <stdint.h>

#include "base/attr.h"

struct code_range {
    uint32_t first, last;
};

static const struct code_range shown_as_bytes[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xd800, 0xdfff}, {0xfeff, 0xfeff},
};

/* The code point at `s`, and its bytes in *len; UINT32_MAX and 1 when it is not UTF-8. */
static uint32_t decode(struct str s, size_t *len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)s.at;
    size_t n = at[0] < 0x80       ? 1
               : at[0] >> 5 == 6  ? 2
               : at[0] >> 4 == 14 ? 3
               : at[0] >> 3 == 30 ? 4
                                  : 0;
    uint32_t code = n == 1 ? at[0] : n ? at[0] & (0x7fu >> n) : 0;
    *len = 1;
    if (n == 0 || n > s.len)
        return UINT32_MAX;
    for (size_t i = 1; i < n; i++) {
        if (at[i] >> 6 != 2)
            return UINT32_MAX;
        code = code << 6 | (at[i] & 0x3f);
    }
    if (n > 1 && (code < least[n] || code > 0x10ffff))
        return UINT32_MAX;
    *len = n;
    return code;
}

static bool is_shown(uint32_t code)
{
    for (size_t i = 0; i < COUNT_OF(shown_as_bytes); i++)
        if (code >= shown_as_bytes[i].first && code <= shown_as_bytes[i].last)
            return false;
    return code != UINT32_MAX;
}

void escape_print(struct buf *out, struct str text, size_t bytes_max)
{
    size_t start = out->len;
    for (size_t i = 0, len; i < text.len; i += len) {
        uint32_t code = decode((struct str){text.at + i, text.len - i}, &len);
        if (out->len - start + 4 * len > bytes_max) {
            buf_text(out, "...");
            return;
        }
        if (is_shown(code))
            buf_bytes(out, text.at + i, len);
        else
            for (size_t k = 0; k < len; k++)
                buf_printf(out, "\\x%02x", (unsigned char)text.at[i + k]);
    }
}
