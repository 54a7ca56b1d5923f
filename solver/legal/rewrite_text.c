/*
 * Rewrites as text: RULE:STATEMENT[:INDEX][:NUMBER].
 *
 * What is read is checked against the op: the statement is there and has such an index.  Whether
 * the rewrite is legal is not asked here.
 */
#include <stdio.h>
#include <string.h>

#include "solver/legal/rewrite_int.h"

enum { FIELDS_MAX = 4, FIELD_BYTES = 64, KNOWN_BYTES = 512 };

struct reader {
    const struct op *op;
    struct str text;
    const char *where;
    struct str fields[FIELDS_MAX + 1];
    size_t count;
    struct err *err;
};

static bool at_field(struct reader *r, size_t which)
{
    return err_context(r->err, "%s: \"%.*s\", column %zu", r->where, STR_ARG(r->text),
                       (size_t)(r->fields[which].at - r->text.at) + 1);
}

/* What is wrong at a field, and what could stand there. */
#define field_fail(r, which, ...)                                                                  \
    (err_raise((r)->err, ERR_USAGE, __VA_ARGS__) || at_field((r), (which)))

static void cut_fields(struct reader *r)
{
    struct str rest = r->text;
    while (r->count <= FIELDS_MAX) {
        const char *colon = memchr(rest.at, ':', rest.len);
        size_t len = colon == NULL ? rest.len : (size_t)(colon - rest.at);
        r->fields[r->count++] = (struct str){rest.at, len};
        if (colon == NULL)
            return;
        rest = (struct str){colon + 1, rest.len - len - 1};
    }
}

static bool read_number(struct str text, int64_t *out)
{
    int64_t value = 0;
    if (text.len == 0 || text.len > 15)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        value = value * 10 + (text.at[i] - '0');
    }
    *out = value;
    return true;
}

static void add_name(char *known, struct str name)
{
    size_t used = strlen(known);
    if (used + name.len + 3 < KNOWN_BYTES)
        snprintf(known + used, KNOWN_BYTES - used, "%s%.*s", used > 0 ? ", " : "", STR_ARG(name));
}

static bool find_stmt(struct reader *r, size_t *out)
{
    char known[KNOWN_BYTES] = "";
    const struct op *op = r->op;
    int64_t number;
    for (size_t s = 0; s < op->stmt_count; s++) {
        struct str name = op->tensors[op->stmts[s].target].name;
        if (str_equal(name, r->fields[1])) {
            *out = s;
            return true;
        }
        add_name(known, name);
    }
    if (!read_number(r->fields[1], &number) || (size_t)number >= op->stmt_count)
        return field_fail(r, 1, "no statement writes \"%.*s\"; there are %s", STR_ARG(r->fields[1]),
                          known);
    *out = (size_t)number;
    return true;
}

static bool find_loop(struct reader *r, const struct stmt *stmt, size_t *out)
{
    char known[KNOWN_BYTES] = "";
    for (size_t i = 0; i < stmt->loop_count; i++) {
        if (str_equal(stmt->loops[i].name, r->fields[2])) {
            *out = i;
            return true;
        }
        add_name(known, stmt->loops[i].name);
    }
    return field_fail(r, 2, "the statement has no index \"%.*s\"; it has %s", STR_ARG(r->fields[2]),
                      known);
}

static const char *form_of(enum rewrite_rule rule)
{
    static const char *const forms[][4] = {
        [LOOP_NONE] = {"STATEMENT", "", "STATEMENT:DEGREE", "STATEMENT:PARTS"},
        [LOOP_REDUCED] = {"STATEMENT:INDEX", "STATEMENT:INDEX:BLOCK"},
        [LOOP_FREE] = {"STATEMENT:INDEX"},
        [LOOP_FACTOR] = {"STATEMENT:FACTOR"},
    };
    return forms[rewrite_loop_of(rule)][rewrite_number_of(rule)];
}

static bool find_rule(struct reader *r, enum rewrite_rule *out)
{
    char known[KNOWN_BYTES] = "";
    if (rewrite_find(r->fields[0], out))
        return true;
    for (int i = 0; i < REWRITE_COUNT; i++)
        add_name(known, str_from(rewrite_name((enum rewrite_rule)i)));
    return field_fail(r, 0, "there is no rewrite \"%.*s\"; there are %s", STR_ARG(r->fields[0]),
                      known);
}

bool rewrite_parse(const struct op *op, struct str text, const char *where, struct rewrite *out,
                   struct err *err)
{
    struct reader r = {.op = op, .text = text, .where = where, .err = err};
    struct rewrite rewrite = {.stmt = 0};
    int64_t factor;
    cut_fields(&r);
    if (!find_rule(&r, &rewrite.rule))
        return false;
    bool loop = rewrite_loop_of(rewrite.rule) != LOOP_NONE;
    bool number = rewrite_number_of(rewrite.rule) != NUMBER_NONE;
    size_t wanted = 2 + (size_t)loop + (size_t)number;
    if (r.count != wanted)
        return field_fail(&r, r.count > wanted ? wanted : r.count - 1, "it reads %s:%s",
                          rewrite_name(rewrite.rule), form_of(rewrite.rule));
    if (!find_stmt(&r, &rewrite.stmt))
        return false;
    if (rewrite_loop_of(rewrite.rule) == LOOP_FACTOR) {
        if (!read_number(r.fields[2], &factor))
            return field_fail(&r, 2, "a factor is a number, 0 the first");
        rewrite.loop = (size_t)factor;
    } else if (loop && !find_loop(&r, &op->stmts[rewrite.stmt], &rewrite.loop)) {
        return false;
    }
    if (number && !read_number(r.fields[wanted - 1], &rewrite.number))
        return field_fail(&r, wanted - 1, "it wants a number");
    *out = rewrite;
    return true;
}

void rewrite_print(struct buf *out, const struct op *op, const struct rewrite *rewrite)
{
    const struct stmt *stmt = &op->stmts[rewrite->stmt];
    buf_printf(out, "%s:%.*s", rewrite_name(rewrite->rule),
               STR_ARG(op->tensors[stmt->target].name));
    if (rewrite_loop_of(rewrite->rule) == LOOP_FACTOR)
        buf_printf(out, ":%zu", rewrite->loop);
    else if (rewrite_loop_of(rewrite->rule) != LOOP_NONE)
        buf_printf(out, ":%.*s", STR_ARG(stmt->loops[rewrite->loop].name));
    if (rewrite_number_of(rewrite->rule) != NUMBER_NONE)
        buf_printf(out, ":%lld", (long long)rewrite->number);
}
