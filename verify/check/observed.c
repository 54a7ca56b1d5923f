/*
 * Observed numbers: a sorted list of dotted names with values.
 *
 * Names hold kernel names out of foreign cubins and PTX, so any byte may come in; what is not
 * printable ASCII becomes '?', which keeps names unique after printing.
 *
 * Invariant: a finished list is sorted by bytes without duplicates; so is its JSON object.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"

#include "verify/check/contracts.h"

#define EXACT_INTEGER_MAX 9007199254740992.0 /* 2^53 */

enum { ROOM_FIRST = 64 };

static int compare_names(struct str a, struct str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.at, b.at, len) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* ---- building ---- */

void observed_begin(struct observed_builder *b, struct arena *arena)
{
    *b = (struct observed_builder){.arena = arena};
}

void observed_add(struct observed_builder *b, double value, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    ASSERT(len > 0);
    char *name = arena_array(b->arena, char, (size_t)len + 1);
    vsnprintf(name, (size_t)len + 1, fmt, again);
    va_end(again);
    for (int i = 0; i < len; i++)
        if (name[i] < ' ' || name[i] > '~')
            name[i] = '?';

    if (b->count == b->room) {
        size_t room = b->room ? 2 * b->room : ROOM_FIRST;
        struct observation *items = arena_array(b->arena, struct observation, room);
        if (b->count)
            memcpy(items, b->items, b->count * sizeof(*items));
        b->items = items;
        b->room = room;
    }
    b->items[b->count++] = (struct observation){{name, (size_t)len}, value};
}

/* With the position it was added at, because qsort is not stable. */
struct ranked {
    struct observation item;
    size_t order;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    int order = compare_names(x->item.name, y->item.name);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

struct observed observed_end(struct observed_builder *b)
{
    struct ranked *ranked = arena_array(b->arena, struct ranked, b->count);
    size_t count = 0;
    for (size_t i = 0; i < b->count; i++)
        ranked[i] = (struct ranked){b->items[i], i};
    if (b->count)
        qsort(ranked, b->count, sizeof(*ranked), compare_ranked);
    for (size_t i = 0; i < b->count; i++) {
        if (count > 0 && str_equal(b->items[count - 1].name, ranked[i].item.name))
            count--;
        b->items[count++] = ranked[i].item;
    }
    b->count = count;
    return (struct observed){b->items, count};
}

bool observed_find(const struct observed *observed, const char *name, double *value)
{
    for (size_t i = 0; i < observed->count; i++)
        if (str_equal(observed->items[i].name, str_from(name))) {
            *value = observed->items[i].value;
            return true;
        }
    return false;
}

/* ---- JSON ---- */

bool observed_parse(struct arena *arena, const struct json *json, struct observed *out,
                    struct err *err)
{
    static const char *const known[] = {"observed", "values", NULL};
    const struct json *values;
    int64_t version;
    if (!json_need_int(json, "observed", 1, 1, &version, err) || !json_only(json, known, err) ||
        !json_need(json, "values", JSON_OBJECT, &values, err))
        return false;

    struct observed_builder builder;
    observed_begin(&builder, arena);
    for (size_t i = 0; i < values->count; i++) {
        double value;
        struct str name = values->keys[i];
        if (name.len == 0)
            return json_fail(values, err, "a name is empty");
        for (size_t j = 0; j < name.len; j++)
            if (name.at[j] < ' ' || name.at[j] > '~')
                return json_fail(values, err, "name %zu is not printable ASCII", i);
        if (!json_number(&values->items[i], &value, err))
            return false;
        observed_add(&builder, value, "%s", name.at);
    }
    *out = observed_end(&builder);
    return true;
}

void observed_print(struct json_writer *w, const struct observed *observed)
{
    json_open_object(w);
    json_member_int(w, "observed", 1);
    json_key(w, "values");
    json_open_object(w);
    for (size_t i = 0; i < observed->count; i++) {
        double value = observed->items[i].value;
        bool whole = fabs(value) <= EXACT_INTEGER_MAX && trunc(value) == value;
        json_key(w, str_copy(w->out->arena, observed->items[i].name));
        if (whole && !(value == 0 && signbit(value)))
            json_put_int(w, (int64_t)value);
        else
            json_put_real(w, value);
    }
    json_close_object(w);
    json_close_object(w);
}
