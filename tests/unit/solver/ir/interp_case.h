#ifndef TESTS_UNIT_SOLVER_IR_INTERP_CASE_H
#define TESTS_UNIT_SOLVER_IR_INTERP_CASE_H

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"

#include "solver/ir/interp.h"
#include "tests/unit/unit.h"

/*
 * An op from short text, its data and its runs.  In all texts ' stands for ", so that they can be
 * read; tensors are written "x input f32 M,N; i input i64 M 0..N-1; y output f32 -", dims "M=3
 * N=4".
 */
enum { CASE_BYTES_MAX = 1 << 30 };

struct interp_case {
    struct arena arena;
    const struct op *op;
    const struct bound_op *bound;
    const void **data;   /* by tensor */
    const char *policy;  /* "finite_inputs: true" in JSON, or NULL */
    struct values *real; /* by tensor, after case_run */
};

static inline void case_word(struct str *rest, const char *stop, struct str *out)
{
    size_t at = 0;
    while (rest->len && (*rest->at == ' ' || *rest->at == ';')) {
        rest->at++;
        rest->len--;
    }
    while (at < rest->len && !strchr(stop, rest->at[at]))
        at++;
    *out = (struct str){rest->at, at};
    rest->at += at;
    rest->len -= at;
}

static inline void case_list(struct buf *out, struct str list)
{
    for (size_t from = 0, at = 0; at <= list.len && list.len; at++) {
        if (at < list.len && list.at[at] != ',')
            continue;
        buf_printf(out, "%s\"%.*s\"", from ? ", " : "", (int)(at - from), list.at + from);
        from = at + 1;
    }
}

/* "0..N - 1", the range of an integer tensor's fill. */
static inline void case_fill_range(struct buf *out, struct str range)
{
    const char *dots = strstr(range.at, "..");
    assert_non_null(dots);
    int low = (int)(dots - range.at);
    int high = (int)range.len - low - 2;
    buf_printf(out, ", \"fill\": {\"kind\": \"ints\", \"low\": \"%.*s\", \"high\": \"%.*s\"}", low,
               range.at, high, dots + 2);
}

static inline void case_tensors(struct buf *out, struct str text)
{
    struct str name, role, dtype, shape, range;
    for (int i = 0; text.len; i++) {
        case_word(&text, " ;", &name);
        case_word(&text, " ;", &role);
        case_word(&text, " ;", &dtype);
        case_word(&text, " ;", &shape);
        buf_printf(out,
                   "%s{\"name\": \"%.*s\", \"role\": \"%.*s\", \"dtype\": \"%.*s\", \"shape\": [",
                   i ? ", " : "", STR_ARG(name), STR_ARG(role), STR_ARG(dtype));
        if (!str_equal(shape, STR_LIT("-")))
            case_list(out, shape);
        buf_text(out, "]");
        if (text.len && *text.at == ' ') {
            case_word(&text, ";", &range);
            case_fill_range(out, range);
        }
        buf_text(out, "}");
    }
}

static inline void case_body(struct buf *out, const char *body)
{
    struct str rest = str_from(body);
    struct str line;
    for (int i = 0; str_next_line(&rest, &line); i++)
        buf_printf(out, "%s\"%.*s\"", i ? ", " : "", STR_ARG(line));
}

static inline void case_dims(struct buf *dims, struct buf *shape, const char *text)
{
    struct str rest = str_from(text);
    for (int i = 0; rest.len; i++) {
        struct str name, value;
        case_word(&rest, "=", &name);
        if (!name.len)
            return;
        rest.at++;
        rest.len--;
        case_word(&rest, " ", &value);
        buf_printf(dims, "%s\"%.*s\": [1, 1048576]", i ? ", " : "", STR_ARG(name));
        buf_printf(shape, "%s\"%.*s\": %.*s", i ? ", " : "", STR_ARG(name), STR_ARG(value));
    }
}

/* Parse and bind; `tracks` is a JSON object's inside with ' for ", NULL = f32. */
static inline void case_open(struct interp_case *c, const char *dims, const char *tensors,
                             const char *body, const char *policy, const char *tracks)
{
    struct err err = {0};
    struct buf text, shape;
    arena_init(&c->arena, CASE_BYTES_MAX);
    buf_init(&text, &c->arena, 1 << 16);
    buf_init(&shape, &c->arena, 1 << 16);
    buf_text(&text, "{\"spec\": 1, \"name\": \"case\", \"doc\": \"a case\", \"dims\": {");
    case_dims(&text, &shape, dims);
    buf_text(&text, "}, \"tensors\": [");
    case_tensors(&text, str_from(tensors));
    buf_text(&text, "], \"body\": [");
    case_body(&text, body);
    buf_printf(&text, "], \"policy\": {%s}, \"tracks\": {%s}, \"shapes\": {\"target\": [{%.*s}]}}",
               policy ? policy : "", tracks ? tracks : "'f32': {}", STR_ARG(buf_view(&shape)));
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] == '\'')
            text.at[i] = '"';
    assert_ok(op_parse(&c->arena, buf_view(&text), "case", NULL, &c->op, &err));
    assert_ok(op_bind_shape(&c->arena, c->op, &c->op->targets[0], &c->bound, &err));
    c->data = arena_array(&c->arena, const void *, c->op->tensor_count);
}

static inline void case_close(struct interp_case *c)
{
    arena_release(&c->arena);
}

static inline size_t case_tensor(const struct interp_case *c, const char *name)
{
    size_t tensor = op_tensor_find(c->op, str_from(name));
    assert_true(tensor != OP_NONE);
    return tensor;
}

static inline int64_t case_count(const struct interp_case *c, const char *name)
{
    return c->bound->tensors[case_tensor(c, name)].count;
}

static inline void *case_room(struct interp_case *c, size_t tensor)
{
    void *room = arena_alloc(&c->arena, (size_t)c->bound->tensors[tensor].count + 1, 8, 16);
    c->data[tensor] = room;
    return room;
}

/* Elements given as doubles, converted to the tensor's type. */
static inline void case_set(struct interp_case *c, const char *name, const double *values)
{
    size_t tensor = case_tensor(c, name);
    enum dtype dtype = c->op->tensors[tensor].dtype;
    void *room = case_room(c, tensor);
    for (int64_t i = 0; i < c->bound->tensors[tensor].count; i++) {
        if (dtype_is_float(dtype))
            elem_from_double(dtype, room, (size_t)i, values[i]);
        else
            elem_from_int(dtype, room, (size_t)i, (int64_t)values[i]);
    }
}

/* All inputs from one data class. */
static inline void case_fill(struct interp_case *c, enum data_class class, uint64_t secret)
{
    struct err err = {0};
    for (size_t t = 0; t < c->op->declared_count; t++)
        if (c->op->tensors[t].role != ROLE_OUTPUT)
            assert_ok(fill_tensor(c->bound, t, class, secret, 0, case_room(c, t), &err));
}

static inline double case_in(const struct interp_case *c, const char *name, int64_t i)
{
    size_t tensor = case_tensor(c, name);
    return elem_to_double(c->op->tensors[tensor].dtype, c->data[tensor], (size_t)i);
}

static inline bool case_try(struct interp_case *c, const struct interp_options *options,
                            struct values **out, struct err *err)
{
    struct interp_inputs inputs = {c->data};
    *out = arena_array(&c->arena, struct values, c->op->tensor_count);
    return interp_run(&c->arena, c->bound, &inputs, options, *out, err);
}

static inline struct values *case_run(struct interp_case *c, const struct interp_options *options)
{
    struct err err = {0};
    struct values *out;
    assert_ok(case_try(c, options, &out, &err));
    return out;
}

static inline const struct values *case_values(const struct interp_case *c,
                                               const struct values *values, const char *name)
{
    return &values[case_tensor(c, name)];
}

/* The output `name` of a run in the given mode on the track `track` (NULL = the first). */
static inline const struct values *case_output(struct interp_case *c, enum interp_mode mode,
                                               const char *track, const char *name)
{
    const struct track *found = NULL;
    if (track)
        assert_true(op_track_find(c->op, str_from(track), &found));
    struct interp_options options = {.mode = mode, .track = found};
    return case_values(c, case_run(c, &options), name);
}

#endif
