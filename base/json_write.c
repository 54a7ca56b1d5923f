/*
 * Canonical JSON text.
 *
 * The writer appends members as they come and notes where each begins; when an object closes, its
 * members' bytes are put in the order of their keys.  So callers need not know the order, and equal
 * documents have equal bytes.
 *
 * Invariant: in a frame, the members' texts lie one behind the other, without separators, from
 * members[0].start to out->len; commas are added when the container closes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/panic.h"

enum { MEMBERS_FIRST = 8, DIGITS_MAX = 17, NUMBER_BYTES = 40 };

struct member {
    struct str key; /* unused in arrays */
    size_t start;   /* of "key":value in out */
    size_t len;
};

struct json_frame {
    struct json_frame *below;
    bool is_object;
    bool has_key; /* a key waits for its value */
    size_t start; /* of the bracket in out */
    struct member *members;
    size_t count;
    size_t room;
};

/* ---- text ---- */

/* Bytes of the UTF-8 sequence at `at`, 0 if it is none (overlong, surrogate, cut off). */
static size_t utf8_len(const unsigned char *at, size_t len)
{
    unsigned char c = at[0];
    size_t need = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (need == 0 || need > len)
        return 0;
    for (size_t i = 1; i < need; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((c == 0xe0 && at[1] < 0xa0) || (c == 0xed && at[1] > 0x9f) || (c == 0xf0 && at[1] < 0x90) ||
        (c == 0xf4 && at[1] > 0x8f))
        return 0;
    return need;
}

bool json_is_text(struct str s)
{
    for (size_t i = 0; i < s.len;) {
        size_t len = utf8_len((const unsigned char *)s.at + i, s.len - i);
        if (len == 0 || s.at[i] == 0)
            return false;
        i += len;
    }
    return true;
}

struct str json_text_clean(struct arena *arena, struct str s)
{
    struct buf out;
    if (json_is_text(s))
        return s;
    buf_init(&out, arena, 3 * s.len);
    for (size_t i = 0; i < s.len;) {
        size_t len = utf8_len((const unsigned char *)s.at + i, s.len - i);
        if (len == 0 || s.at[i] == 0)
            buf_text(&out, "\xef\xbf\xbd");
        else
            buf_bytes(&out, s.at + i, len);
        i += len == 0 ? 1 : len;
    }
    return buf_view(&out);
}

static void write_ascii(struct buf *out, unsigned char c)
{
    static const char *const named[128] = {
        ['"'] = "\\\"", ['\\'] = "\\\\", ['\b'] = "\\b", ['\f'] = "\\f",
        ['\n'] = "\\n", ['\r'] = "\\r",  ['\t'] = "\\t",
    };
    if (named[c])
        buf_text(out, named[c]);
    else if (c < 0x20)
        buf_printf(out, "\\u%04x", c);
    else
        buf_char(out, (char)c);
}

static void write_string(struct buf *out, struct str s)
{
    buf_char(out, '"');
    for (size_t i = 0; i < s.len;) {
        const unsigned char *at = (const unsigned char *)s.at + i;
        size_t len = utf8_len(at, s.len - i);
        if (len == 1)
            write_ascii(out, *at);
        else if (len)
            buf_bytes(out, at, len);
        else
            buf_text(out, "\xef\xbf\xbd");
        i += len ? len : 1;
    }
    buf_char(out, '"');
}

/* The fewest digits that read back as `value`, as "d.ddde+xx"; their number. */
static int shortest(double value, char text[NUMBER_BYTES])
{
    for (int digits = 1; digits < DIGITS_MAX; digits++) {
        snprintf(text, NUMBER_BYTES, "%.*e", digits - 1, value);
        if (strtod(text, NULL) == value)
            return digits;
    }
    snprintf(text, NUMBER_BYTES, "%.*e", DIGITS_MAX - 1, value);
    return DIGITS_MAX;
}

/* Plain decimals where they are short, else an exponent; always something that reads as a real. */
static void write_real(struct buf *out, double value)
{
    char text[NUMBER_BYTES];
    if (value == 0) {
        buf_text(out, signbit(value) ? "-0.0" : "0.0");
        return;
    }
    int digits = shortest(fabs(value), text);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (signbit(value))
        buf_char(out, '-');
    if (exponent >= -5 && exponent < 16) {
        int decimals = digits - 1 - exponent;
        buf_printf(out, "%.*f", decimals > 1 ? decimals : 1, fabs(value));
        return;
    }
    buf_printf(out, "%c", text[0]);
    if (digits > 1)
        buf_printf(out, ".%.*s", digits - 1, text + 2);
    buf_printf(out, "e%d", exponent);
}

/* ---- containers ---- */

void json_writer_init(struct json_writer *w, struct buf *out)
{
    *w = (struct json_writer){.out = out};
}

static void add_member(struct json_writer *w, struct json_frame *frame, struct str key)
{
    if (frame->count == frame->room) {
        size_t room = frame->room ? 2 * frame->room : MEMBERS_FIRST;
        struct member *members = arena_array(w->out->arena, struct member, room);
        if (frame->count)
            memcpy(members, frame->members, frame->count * sizeof(*members));
        frame->members = members;
        frame->room = room;
    }
    frame->members[frame->count++] = (struct member){.key = key, .start = w->out->len};
}

/* Called before each value: it must be expected here. */
static void begin_value(struct json_writer *w)
{
    struct json_frame *frame = w->top;
    if (!frame)
        return;
    if (!frame->is_object)
        add_member(w, frame, STR_LIT(""));
    ASSERT(!frame->is_object || frame->has_key);
    frame->has_key = false;
}

static void open_frame(struct json_writer *w, bool is_object)
{
    begin_value(w);
    struct json_frame *frame = arena_new(w->out->arena, struct json_frame);
    *frame = (struct json_frame){.below = w->top, .is_object = is_object, .start = w->out->len};
    w->top = frame;
}

static int compare_members(const void *a, const void *b)
{
    const struct str x = ((const struct member *)a)->key;
    const struct str y = ((const struct member *)b)->key;
    size_t len = x.len < y.len ? x.len : y.len;
    int order = len ? memcmp(x.at, y.at, len) : 0;
    return order ? order : (x.len > y.len) - (x.len < y.len);
}

static void sort_members(struct json_frame *frame)
{
    if (frame->count == 0)
        return;
    qsort(frame->members, frame->count, sizeof(*frame->members), compare_members);
    for (size_t i = 1; i < frame->count; i++)
        ASSERT(compare_members(&frame->members[i - 1], &frame->members[i]) < 0);
}

static void close_frame(struct json_writer *w, bool is_object)
{
    struct json_frame *frame = w->top;
    struct buf *out = w->out;
    ASSERT(frame && frame->is_object == is_object && !frame->has_key);
    w->top = frame->below;
    if (out->overflow)
        return; /* the offsets mean nothing, and buf_finish() will say so */

    for (size_t i = 0; i < frame->count; i++) {
        size_t end = i + 1 < frame->count ? frame->members[i + 1].start : out->len;
        frame->members[i].len = end - frame->members[i].start;
    }
    size_t len = out->len - frame->start;
    char *old = arena_array(out->arena, char, len + 1);
    if (len)
        memcpy(old, out->at + frame->start, len);
    if (is_object)
        sort_members(frame);
    out->len = frame->start;
    buf_char(out, is_object ? '{' : '[');
    for (size_t i = 0; i < frame->count; i++) {
        if (i)
            buf_char(out, ',');
        buf_bytes(out, old + (frame->members[i].start - frame->start), frame->members[i].len);
    }
    buf_char(out, is_object ? '}' : ']');
}

void json_open_object(struct json_writer *w)
{
    open_frame(w, true);
}

void json_close_object(struct json_writer *w)
{
    close_frame(w, true);
}

void json_open_array(struct json_writer *w)
{
    open_frame(w, false);
}

void json_close_array(struct json_writer *w)
{
    close_frame(w, false);
}

static void put_key(struct json_writer *w, struct str key)
{
    ASSERT(w->top && w->top->is_object && !w->top->has_key);
    add_member(w, w->top, (struct str){str_copy(w->out->arena, key), key.len});
    w->top->has_key = true;
    write_string(w->out, key);
    buf_char(w->out, ':');
}

void json_key(struct json_writer *w, const char *key)
{
    put_key(w, str_from(key));
}

/* ---- values ---- */

void json_put_str(struct json_writer *w, struct str s)
{
    begin_value(w);
    write_string(w->out, s);
}

void json_put_text(struct json_writer *w, const char *text)
{
    json_put_str(w, str_from(text));
}

void json_put_int(struct json_writer *w, int64_t value)
{
    begin_value(w);
    buf_printf(w->out, "%lld", (long long)value);
}

void json_put_real(struct json_writer *w, double value)
{
    if (isnan(value)) {
        json_put_text(w, "nan");
    } else if (isinf(value)) {
        json_put_text(w, value > 0 ? "inf" : "-inf");
    } else {
        begin_value(w);
        write_real(w->out, value);
    }
}

void json_put_bool(struct json_writer *w, bool value)
{
    begin_value(w);
    buf_text(w->out, value ? "true" : "false");
}

void json_put_null(struct json_writer *w)
{
    begin_value(w);
    buf_text(w->out, "null");
}

static void put_object(struct json_writer *w, const struct json *value)
{
    json_open_object(w);
    for (size_t i = 0; i < value->count; i++) {
        put_key(w, value->keys[i]);
        json_put_tree(w, &value->items[i]);
    }
    json_close_object(w);
}

void json_put_tree(struct json_writer *w, const struct json *value)
{
    switch (value->kind) {
    case JSON_NULL:
        json_put_null(w);
        return;
    case JSON_BOOL:
        json_put_bool(w, value->boolean);
        return;
    case JSON_INT:
        json_put_int(w, value->integer);
        return;
    case JSON_REAL:
        json_put_real(w, value->real);
        return;
    case JSON_STRING:
        json_put_str(w, value->string);
        return;
    case JSON_ARRAY:
        json_open_array(w);
        for (size_t i = 0; i < value->count; i++)
            json_put_tree(w, &value->items[i]);
        json_close_array(w);
        return;
    case JSON_OBJECT:
        put_object(w, value);
        return;
    }
    panic("JSON kind %d", (int)value->kind);
}

void json_write(struct buf *out, const struct json *value)
{
    struct json_writer w;
    json_writer_init(&w, out);
    json_put_tree(&w, value);
}

/* ---- members ---- */

void json_member_str(struct json_writer *w, const char *key, struct str s)
{
    json_key(w, key);
    json_put_str(w, s);
}

void json_member_text(struct json_writer *w, const char *key, const char *text)
{
    json_key(w, key);
    json_put_text(w, text);
}

void json_member_int(struct json_writer *w, const char *key, int64_t value)
{
    json_key(w, key);
    json_put_int(w, value);
}

void json_member_real(struct json_writer *w, const char *key, double value)
{
    json_key(w, key);
    json_put_real(w, value);
}

void json_member_bool(struct json_writer *w, const char *key, bool value)
{
    json_key(w, key);
    json_put_bool(w, value);
}
