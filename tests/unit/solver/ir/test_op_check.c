/*
 * op_check on ops that a rewrite could have made wrong: each case damages a copy of a good op.
 */
#include <string.h>

#include "solver/ir/op.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES_MAX = 64 << 20 };

static const char spec[] =
    "{\"spec\":1,\"name\":\"t\",\"dims\":{\"M\":[1,64],\"N\":[1,64]},\"tensors\":["
    "{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"M\",\"N\"]},"
    "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[\"M\",\"N\"]}],"
    "\"tracks\":{\"f32\":{}},\"shapes\":{\"target\":[{\"M\":4,\"N\":6}]},"
    "\"body\":[\"s[m] = sum(n) x[m,n]\",\"y[m,n] = x[m,n] - s[m]\"]}";

/* A good op whose tables may be changed. */
struct good {
    struct op op;
    struct tensor tensors[3];
    struct stmt stmts[2];
    struct loop loops[2][2];
    struct expr value; /* of the second statement */
    struct expr read;  /* s[m] in it */
};

static void damage_target(struct good *g)
{
    g->stmts[1].target = 9;
}
static void damage_input(struct good *g)
{
    g->stmts[1].target = 0;
}
static void damage_twice(struct good *g)
{
    g->stmts[1].target = 2;
}
static void damage_order(struct good *g)
{
    struct stmt first = g->stmts[0];
    g->stmts[0] = g->stmts[1];
    g->stmts[1] = first;
    g->tensors[1].written_by = 0;
    g->tensors[2].written_by = 1;
}
static void damage_rank(struct good *g)
{
    g->read.rank = 2;
}
static void damage_type(struct good *g)
{
    g->read.dtype = DTYPE_F16;
}
static void damage_value(struct good *g)
{
    g->value.dtype = DTYPE_BF16;
}
static void damage_args(struct good *g)
{
    g->value.args[1] = NULL;
}
static void damage_loop(struct good *g)
{
    g->loops[0][1].reduced = false;
}
static void damage_names(struct good *g)
{
    g->loops[1][1].name = g->loops[1][0].name;
}
static void damage_bound(struct good *g)
{
    g->loops[0][1].bound = RANGE_LE;
    g->loops[0][1].bound_loop = 1;
}
static void damage_extent(struct good *g)
{
    g->loops[1][0].extent = NULL;
}
static void damage_reduce(struct good *g)
{
    g->stmts[0].reduce = REDUCE_NONE;
}
static void damage_cover(struct good *g)
{
    g->stmts[1].free_count = 1;
    g->stmts[1].loop_count = 1;
}
static void damage_block(struct good *g)
{
    g->stmts[1].seq = 0;
}
static void damage_tracks(struct good *g)
{
    g->op.track_count = 0;
}

struct damage {
    const char *name;
    void (*damage)(struct good *);
    const char *want;
};
static const struct damage damages[] = {
    {"no such target", damage_target, "t: malformed op: a wrong writer"},
    {"an input as target", damage_input, "t: malformed op: a wrong writer"},
    {"written twice", damage_twice, "t: malformed op: a wrong writer"},
    {"read before write", damage_order,
     "t: malformed op: statement 0 (line 2): a read before its write"},
    {"rank of a read", damage_rank,
     "t: malformed op: statement 1 (line 2): a read with the wrong number of subscripts"},
    {"type of a read", damage_type,
     "t: malformed op: statement 1 (line 2): a read whose type is not the tensor's"},
    {"type of a value", damage_value,
     "t: malformed op: statement 1 (line 2): a value whose type is not the target's"},
    {"a missing argument", damage_args,
     "t: malformed op: statement 1 (line 2): an operation with too few or many args"},
    {"a reduced loop that says it is free", damage_loop,
     "t: malformed op: statement 0 (line 1): free loops are not first"},
    {"two loops of one name", damage_names,
     "t: malformed op: statement 1 (line 2): two loops of one name"},
    {"bounded by itself", damage_bound,
     "t: malformed op: statement 0 (line 1): a bound that is no free loop"},
    {"no extent", damage_extent, "t: malformed op: statement 1 (line 2): a loop without extent"},
    {"reduced loops, no reduction", damage_reduce,
     "t: malformed op: statement 0 (line 1): reduced loops without a reduction"},
    {"target not covered", damage_cover,
     "t: malformed op: statement 1 (line 2): loops that do not cover the target"},
    {"no such block", damage_block,
     "t: malformed op: statement 1 (line 2): a statement outside its block"},
    {"no track", damage_tracks, "t: malformed op: no track or no target shape"},
};

static void copy_op(const struct op *op, struct good *g)
{
    g->op = *op;
    memcpy(g->tensors, op->tensors, sizeof(g->tensors));
    memcpy(g->stmts, op->stmts, sizeof(g->stmts));
    for (int i = 0; i < 2; i++) {
        memcpy(g->loops[i], op->stmts[i].loops, sizeof(g->loops[i]));
        g->stmts[i].loops = g->loops[i];
    }
    g->value = *op->stmts[1].value;
    g->read = *g->value.args[1];
    g->value.args[1] = &g->read;
    g->stmts[1].value = &g->value;
    g->op.tensors = g->tensors;
    g->op.stmts = g->stmts;
}

static void damage_is_found(void **state)
{
    struct arena arena;
    struct err err;
    const struct op *op = NULL;
    (void)state;
    arena_init(&arena, ARENA_BYTES_MAX);
    assert_ok(op_parse(&arena, str_from(spec), "t.json", NULL, &op, &err));
    assert_int_equal(op->tensor_count, 3);
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        struct good good;
        copy_op(op, &good);
        assert_ok(op_check(&good.op, &err));
        damages[i].damage(&good);
        if (op_check(&good.op, &err))
            fail_msg("%s: not found", damages[i].name);
        if (strcmp(err.text, damages[i].want) != 0)
            fail_msg("%s: %s", damages[i].name, err.text);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
