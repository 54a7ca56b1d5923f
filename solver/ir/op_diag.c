/*
 * Errors of a body: place, message, the line with a caret under the column, and a remedy.
 *
 * Long lines are shown as a window around the column, so that caret and remedy always fit into
 * struct err; error text is the one thing that may be cut.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/opt.h"
#include "base/panic.h"

#include "solver/ir/op_int.h"

enum { WINDOW_BYTES = 88, MESSAGE_BYTES = 480, EXCERPT_BYTES = 2 * WINDOW_BYTES + 32 };

struct remedy remedy_say(const char *fmt, ...)
{
    struct remedy remedy;
    va_list args;
    va_start(args, fmt);
    vsnprintf(remedy.text, sizeof(remedy.text), fmt, args);
    va_end(args);
    return remedy;
}

struct remedy remedy_nearest(struct arena *arena, struct str word, const struct str *known,
                             size_t count, const char *otherwise)
{
    const char **names = arena_array(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        names[i] = str_copy(arena, known[i]);
    /* any letter is near to any other */
    const char *near = word.len < 2 ? NULL : opt_nearest(str_copy(arena, word), names, count);
    return near ? remedy_say("did you mean '%.100s'?", near) : remedy_say("%s", otherwise);
}

/* "  LINE\n  ^" with unprintable bytes as spaces. */
static void excerpt(char out[EXCERPT_BYTES], struct str line, int column)
{
    size_t at = column > 0 ? (size_t)column - 1 : 0;
    if (at > line.len)
        at = line.len;
    size_t from = line.len > WINDOW_BYTES && at > WINDOW_BYTES / 2 ? at - WINDOW_BYTES / 2 : 0;
    if (line.len > WINDOW_BYTES && from > line.len - WINDOW_BYTES)
        from = line.len - WINDOW_BYTES;
    size_t len = line.len - from < WINDOW_BYTES ? line.len - from : WINDOW_BYTES;
    char text[WINDOW_BYTES + 1];
    for (size_t i = 0; i < len; i++)
        text[i] = line.at[from + i] >= ' ' && line.at[from + i] != 127 ? line.at[from + i] : ' ';
    text[len] = '\0';
    snprintf(out, EXCERPT_BYTES, "\n  %s%s%s\n  %*s^", from ? "..." : "", text,
             from + len < line.len ? "..." : "", (int)(at - from + (from ? 3 : 0)), "");
}

static void place_text(char out[EXCERPT_BYTES], const struct spec_text *text, struct op_place place)
{
    out[0] = '\0';
    if (place.line >= 1 && (size_t)place.line <= text->count)
        excerpt(out, text->lines[place.line - 1], place.column);
}

bool text_fail(const struct spec_text *text, struct op_place place, const struct remedy *remedy,
               struct err *err, const char *fmt, ...)
{
    char message[MESSAGE_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    char shown[EXCERPT_BYTES];
    place_text(shown, text, place);
    const char *more = remedy ? remedy->text : "";
    return err_raise(err, ERR_SEMANTIC, "%.200s: body line %d, column %d: %s%s%s%s", text->source,
                     place.line, place.column, message, shown, *more ? "\n  " : "", more);
}

bool text_context(const struct spec_text *text, struct op_place place, struct err *err)
{
    return err_context(err, "%.200s: body line %d, column %d", text->source, place.line,
                       place.column);
}

bool stmt_fail(const struct op *op, const struct stmt *stmt, struct op_place place,
               const char *where, const struct remedy *remedy, struct err *err, const char *fmt,
               ...)
{
    char message[MESSAGE_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    struct spec_text text = {where, op->body, op->body_count};
    if (place.line >= 1)
        return text_fail(&text, place, remedy, err, "%s", message);
    struct str target = op->tensors[stmt->target].name;
    const char *more = remedy ? remedy->text : "";
    return err_raise(err, ERR_SEMANTIC, "%.200s: statement of '%.*s': %s%s%s", where,
                     STR_ARG(target), message, *more ? "\n  " : "", more);
}
