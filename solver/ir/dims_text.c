/* Shapes as text: "M=4096,N=128" in, "M=4096 N=128" out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "solver/ir/op_int.h"

static bool is_separator(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\n';
}

static bool parse_size(struct str digits, int64_t *out)
{
    char text[24];
    char *end = NULL;
    if (digits.len == 0 || digits.len >= sizeof(text) || digits.at[0] < '0' || digits.at[0] > '9')
        return false;
    memcpy(text, digits.at, digits.len);
    text[digits.len] = '\0';
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0';
}

/* One NAME=SIZE. */
static bool parse_one(const struct op *op, struct str part, struct str *name, int64_t *value,
                      struct err *err)
{
    const char *equals = memchr(part.at, '=', part.len);
    size_t at = equals ? (size_t)(equals - part.at) : part.len;
    *name = (struct str){part.at, at};
    if (!equals || !parse_size((struct str){equals + 1, part.len - at - 1}, value))
        return err_raise(err, ERR_USAGE, "'%.*s' is no size of a dim; write M=4096,N=128",
                         STR_ARG(part));
    if (op_dim_find(op, *name) == OP_NONE)
        return err_raise(err, ERR_USAGE, "'%.*s' has no dim '%.*s'", STR_ARG(op->name),
                         STR_ARG(*name));
    return true;
}

bool op_parse_dims(struct arena *arena, const struct op *op, struct str text,
                   struct formula_env *out, struct err *err)
{
    struct str *names = arena_array(arena, struct str, OP_DIMS_MAX);
    int64_t *values = arena_array(arena, int64_t, OP_DIMS_MAX);
    size_t count = 0;
    for (size_t at = 0; at < text.len;) {
        size_t from = at;
        while (at < text.len && !is_separator(text.at[at]))
            at++;
        struct str part = {text.at + from, at - from};
        at++;
        if (part.len == 0)
            continue;
        if (count == OP_DIMS_MAX)
            return err_raise(err, ERR_USAGE, "more than %d dims", OP_DIMS_MAX);
        struct str name;
        if (!parse_one(op, part, &name, &values[count], err))
            return false;
        names[count++] = op->dims[op_dim_find(op, name)].name;
    }
    *out = (struct formula_env){names, values, count};
    return true;
}

void op_print_dims(struct buf *out, const struct bound_op *bound)
{
    bool first = true;
    for (size_t i = 0; i < bound->op->dim_count; i++) {
        if (bound->op->dims[i].kind != DIM_VAR)
            continue;
        buf_printf(out, "%s%.*s=%lld", first ? "" : " ", STR_ARG(bound->op->dims[i].name),
                   (long long)bound->dims[i]);
        first = false;
    }
}
