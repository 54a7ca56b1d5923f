/*
 * Which lines of a source a message is about, and these lines.
 *
 * Compiler, screen and emulator name lines in three ways: "kernel.cu:12" (with the calls behind it,
 * "inlined at 40"), and "line 7".  The message may quote hostile text, so a number that is no line
 * of the source is passed over, and the number of places is limited.
 *
 * Invariant: every place is a line of the source, from 1.
 */
#include <stdlib.h>
#include <string.h>

#include "synth/prompt_int.h"

enum { LINE_BYTES_SHOWN = 240, DIGITS_MAX = 9 };

size_t lines_count(struct str text)
{
    struct str line;
    size_t count = 0;
    while (str_next_line(&text, &line))
        count++;
    return count;
}

void places_add(struct places *places, size_t line, size_t line_count)
{
    if (line < 1 || line > line_count || places->count == PLACES_MAX)
        return;
    for (size_t i = 0; i < places->count; i++)
        if (places->lines[i] == line)
            return;
    places->lines[places->count++] = line;
}

/* The number at the start of `text`, 0 when there is none. */
static size_t number_at(struct str text)
{
    size_t value = 0;
    for (size_t i = 0; i < text.len && i < DIGITS_MAX; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            break;
        value = 10 * value + (size_t)(text.at[i] - '0');
    }
    return value;
}

void places_read(struct places *places, struct str message, size_t line_count)
{
    static const char *const marks[] = {"kernel.cu:", "kernel.cu(", "inlined at ", "line "};
    for (size_t i = 0; i < message.len; i++) {
        struct str rest = {message.at + i, message.len - i};
        for (size_t m = 0; m < COUNT_OF(marks); m++) {
            size_t len = strlen(marks[m]);
            /* "PTX line 12" and "in line" aside: PTX lines are not the source's. */
            if (!str_has_prefix(rest, str_from(marks[m])) ||
                (i >= 4 && memcmp(rest.at - 4, "PTX ", 4) == 0))
                continue;
            places_add(places, number_at((struct str){rest.at + len, rest.len - len}), line_count);
        }
    }
}

static bool is_near(const struct places *places, size_t line, size_t distance)
{
    for (size_t i = 0; i < places->count; i++)
        if (line + distance >= places->lines[i] && line <= places->lines[i] + distance)
            return true;
    return false;
}

void lines_around(struct buf *out, struct str source, const struct places *places)
{
    struct buf text;
    struct str line;
    size_t last = 0;
    if (places->count == 0)
        return;
    buf_init(&text, out->arena, PROMPT_BYTES_MAX);
    for (size_t number = 1; str_next_line(&source, &line); number++) {
        bool cut = line.len > LINE_BYTES_SHOWN;
        if (!is_near(places, number, 1))
            continue;
        if (last > 0 && number > last + 1)
            buf_text(&text, "  ...\n");
        buf_printf(&text, "%c %zu | ", is_near(places, number, 0) ? '>' : ' ', number);
        line.len = cut ? LINE_BYTES_SHOWN : line.len;
        buf_str(&text, line);
        buf_text(&text, cut ? " ...\n" : "\n");
        last = number;
    }
    quote_fence(out, "", buf_view(&text));
}

struct str lines_window(struct str source, const struct places *places, size_t kept, size_t *first)
{
    size_t count = lines_count(source);
    size_t center = places->count > 0 ? places->lines[0] : 1;
    size_t from = center > kept / 2 ? center - kept / 2 : 1;
    struct str rest = source, line;
    kept = kept < count ? kept : count;
    from = from + kept > count + 1 ? count + 1 - kept : from;
    *first = from;
    for (size_t i = 1; i < from; i++)
        (void)str_next_line(&rest, &line);
    struct str window = rest;
    for (size_t i = 0; i < kept; i++)
        (void)str_next_line(&rest, &line);
    window.len -= rest.len;
    return window;
}
