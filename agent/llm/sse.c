/*
 * Server-sent events, read from a body that is whole.
 *
 * Lines end in LF, CR LF or CR; "data:" lines of one event are joined by newlines; comments and
 * other fields are passed over, so is a byte order mark.  Two liberties: an event at the
 * end of the body needs no blank line, for servers leave it out behind "[DONE]"; and data is taken
 * as a view where an event has a single line of it, as all chat servers send.
 *
 * Invariant: each call takes at least one byte off the rest.  Not here: what the data means.
 */
#include <string.h>

#include "agent/llm/llm_int.h"

static struct str next_line(struct str *rest)
{
    size_t len = 0;
    while (len < rest->len && rest->at[len] != '\n' && rest->at[len] != '\r')
        len++;
    struct str line = {rest->at, len};
    if (len < rest->len)
        len += rest->at[len] == '\r' && len + 1 < rest->len && rest->at[len + 1] == '\n' ? 2 : 1;
    rest->at += len;
    rest->len -= len;
    return line;
}

/* The value of a "data" line. */
static bool is_data(struct str line, struct str *value)
{
    static const struct str name = {"data", 4};
    if (!str_has_prefix(line, name) || (line.len > name.len && line.at[name.len] != ':'))
        return false;
    size_t skip = line.len > name.len ? name.len + 1 : line.len;
    if (skip < line.len && line.at[skip] == ' ')
        skip++;
    *value = (struct str){line.at + skip, line.len - skip};
    return true;
}

bool sse_next(struct arena *arena, struct str *rest, struct str *data)
{
    struct buf joined;
    struct str event = {"", 0}, value;
    size_t count = 0;
    if (str_has_prefix(*rest, STR_LIT("\xef\xbb\xbf")))
        *rest = (struct str){rest->at + 3, rest->len - 3};
    buf_init(&joined, arena, rest->len + 1);
    while (rest->len > 0) {
        struct str line = next_line(rest);
        if (line.len == 0 && count > 0)
            break;
        if (!is_data(line, &value))
            continue;
        if (count == 1)
            buf_str(&joined, event);
        if (count > 0) {
            buf_char(&joined, '\n');
            buf_str(&joined, value);
        }
        event = count > 0 ? buf_view(&joined) : value;
        count++;
    }
    if (count > 0)
        *data = event;
    return count > 0;
}

bool sse_done(struct str body)
{
    static const struct str mark = {"data: [DONE]", 12};
    while (body.len > 0 && (body.at[body.len - 1] == '\n' || body.at[body.len - 1] == '\r'))
        body.len--;
    if (body.len < mark.len || memcmp(body.at + body.len - mark.len, mark.at, mark.len) != 0)
        return false;
    body.len -= mark.len;
    return body.len == 0 || body.at[body.len - 1] == '\n' || body.at[body.len - 1] == '\r';
}
