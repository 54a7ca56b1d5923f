#ifndef TESTS_UNIT_SOLVER_LEGAL_REWRITES_H
#define TESTS_UNIT_SOLVER_LEGAL_REWRITES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#include "solver/ir/interp.h"
#include "solver/legal/legal.h"
#include "tests/unit/unit.h"

/* Ops by text, and runs of one op against the bound of another with the same declared tensors. */
enum { OPS_MAX = 256, RUN_ELEMENTS_MAX = 1 << 16 };

static inline bool ops_find(void *context, struct arena *arena, struct str name, struct str *text)
{
    char path[256];
    struct err err;
    (void)context;
    snprintf(path, sizeof(path), "kernels/ops/%.*s.json", STR_ARG(name));
    return file_read(arena, path, OP_SPEC_BYTES_MAX, text, &err);
}

static inline const struct op *ops_named(struct arena *arena, const char *name)
{
    const struct op_library library = {ops_find, NULL};
    const struct op *op;
    struct str text;
    struct err err = {0};
    assert_true(ops_find(NULL, arena, str_from(name), &text));
    assert_ok(op_parse(arena, text, name, &library, &op, &err));
    return op;
}

/* Names of kernels/ops. */
static inline size_t ops_all(struct arena *arena, const char **names)
{
    const char *const *files;
    struct err err = {0};
    size_t count;
    assert_ok(file_list(arena, "kernels/ops", ".json", OPS_MAX, &files, &count, &err));
    for (size_t i = 0; i < count; i++)
        names[i] = str_copy(arena, (struct str){files[i], strlen(files[i]) - strlen(".json")});
    return count;
}

/* An op over rows x and k and columns v; all inputs are read whatever the body is. */
static inline const struct op *op_of(struct arena *arena, const char *policy, const char *body)
{
    struct buf text;
    struct str rest = str_from(body), line;
    const struct op *op;
    struct err err = {0};
    buf_init(&text, arena, 1 << 16);
    buf_printf(&text,
               "{'spec': 1, 'name': 'case', 'doc': 'a case', "
               "'dims': {'M': [1, 64], 'N': [1, 4096], 'D': [1, 64]}, 'tensors': ["
               "{'name': 'x', 'role': 'input', 'dtype': 'f32', 'shape': ['M', 'N']}, "
               "{'name': 'v', 'role': 'input', 'dtype': 'f32', 'shape': ['N', 'D']}, "
               "{'name': 'k', 'role': 'input', 'dtype': 'i32', 'shape': ['M', 'N']}, "
               "{'name': 'y', 'role': 'output', 'dtype': 'f32', 'shape': ['M']}, "
               "{'name': 'o', 'role': 'output', 'dtype': 'f32', 'shape': ['M', 'D']}, "
               "{'name': 'i', 'role': 'output', 'dtype': 'i32', 'shape': ['M']}, "
               "{'name': 'all', 'role': 'output', 'dtype': 'f32', 'shape': ['M', 'N']}], "
               "'policy': {%s}, "
               "'tracks': {'f32': {}}, 'shapes': {'target': [{'M': 3, 'N': 77, 'D': 2}], "
               "'verify': [{'M': 3, 'N': 77, 'D': 2}, {'M': 2, 'N': 300, 'D': 1}]}, 'body': [",
               policy);
    for (bool first = true; str_next_line(&rest, &line); first = false)
        buf_printf(&text, "%s'%.*s'", first ? "" : ", ", STR_ARG(line));
    buf_text(&text, ", 'all[r,j] = x[r,j] + v[j,0] + f32(k[r,j])']}");
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] == '\'')
            text.at[i] = '"';
    assert_ok(op_parse(arena, buf_view(&text), "case", NULL, &op, &err));
    return op;
}

/* The same from the statements that matter; other outputs get one each. */
static inline const struct op *case_op(struct arena *arena, const char *policy, const char *body)
{
    static const char *const rest[][2] = {
        {"\ny[", "\ny[r] = x[r,0]"}, {"\no[", "\no[r,d] = v[0,d]"}, {"\ni[", "\ni[r] = k[r,0]"}};
    char whole[2048];
    snprintf(whole, sizeof(whole), "\n%s", body);
    for (size_t t = 0; t < COUNT_OF(rest); t++)
        if (strstr(whole, rest[t][0]) == NULL)
            strncat(whole, rest[t][1], sizeof(whole) - strlen(whole) - 1);
    return op_of(arena, policy, whole + 1);
}

static inline const char *body_of(struct arena *arena, const struct op *op)
{
    struct buf text;
    buf_init(&text, arena, OP_SPEC_BYTES_MAX);
    op_print_body(&text, op);
    return text.len > 0 ? text.at : "";
}

/* ---- runs ---- */

struct trial {
    const struct bound_op *first; /* whose bound counts */
    const struct track *track;    /* NULL = its first */
    const struct values *want;    /* by tensor */
    struct interp_inputs inputs;
};

static inline bool is_small(const struct bound_op *bound)
{
    int64_t work = 0;
    for (size_t t = 0; t < bound->op->tensor_count; t++)
        work += bound->tensors[t].count;
    for (size_t s = 0; s < bound->op->stmt_count; s++) {
        int64_t iterations = 1;
        for (size_t i = 0; i < bound->op->stmts[s].loop_count; i++)
            iterations *= bound->extents[s][i];
        work += iterations;
    }
    return work <= RUN_ELEMENTS_MAX;
}

static inline void trial_begin(struct arena *arena, const struct bound_op *bound,
                               const struct track *track, enum data_class class, uint64_t secret,
                               struct trial *out)
{
    const void **data = arena_array(arena, const void *, bound->op->tensor_count + 1);
    struct values *want = arena_array(arena, struct values, bound->op->tensor_count);
    const struct interp_options options = {.mode = INTERP_BOUND, .threads = 1, .track = track};
    struct err err = {0};
    for (size_t t = 0; t < bound->op->declared_count; t++) {
        if (bound->op->tensors[t].role == ROLE_OUTPUT)
            continue;
        void *room = arena_alloc(arena, (size_t)bound->tensors[t].count + 1, 8, 16);
        assert_ok(fill_tensor(bound, t, class, secret, 0, room, &err));
        data[t] = room;
    }
    *out = (struct trial){bound, track, want, {data}};
    assert_ok(interp_run(arena, bound, &out->inputs, &options, want, &err));
}

/* The furthest from its value that an element of `op` is, over bound * scale; 0 = all exact,
 * infinite = one is not comparable. */
static inline double element_ratio(const struct trial *trial, size_t tensor, int64_t i,
                                   const struct values *got)
{
    const struct values *want = &trial->want[tensor];
    if (want->open != NULL && want->open[i])
        return 0;
    if (got->reals == NULL)
        return interp_accepts(trial->first, &trial->inputs, trial->want, tensor, i, got->ints[i])
                   ? 0
                   : (double)INFINITY;
    double value = want->reals[i], off = fabs(got->reals[i] - value);
    if (isnan(value) && isnan(got->reals[i]))
        return 0;
    if (got->reals[i] <= value && got->reals[i] >= value)
        return 0;
    return off <= want->bounds[i] * (double)INFINITY ? off / want->bounds[i] : (double)INFINITY;
}

static inline double trial_ratio(struct arena *arena, const struct trial *trial,
                                 const struct op *op, enum interp_order order)
{
    const struct interp_options options = {.mode = INTERP_TYPED, .threads = 1, .order = order};
    const struct bound_op *bound;
    double worst = 0;
    struct err err = {0};
    assert_ok(op_bind(arena, op, &trial->first->env, &bound, &err));
    struct values *got = arena_array(arena, struct values, op->tensor_count);
    assert_ok(interp_run(arena, bound, &trial->inputs, &options, got, &err));
    for (size_t t = 0; t < op->declared_count; t++) {
        if (op->tensors[t].role != ROLE_OUTPUT)
            continue;
        for (int64_t i = 0; i < got[t].count; i++)
            worst = fmax(worst, element_ratio(trial, t, i, &got[t]));
    }
    return worst;
}

#endif
