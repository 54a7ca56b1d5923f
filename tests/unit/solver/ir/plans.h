#ifndef TESTS_UNIT_SOLVER_IR_PLANS_H
#define TESTS_UNIT_SOLVER_IR_PLANS_H

#include "base/file.h"

#include "solver/ir/ir.h"
#include "tests/unit/unit.h"

/* Ops of the library at their first target, machines, and plans of one region for them. */
enum { PLANS_TEXT_BYTES = 1 << 16 };

static inline const struct bound_op *plans_op(struct arena *arena, const char *name)
{
    struct err err = {0};
    struct str text;
    const struct op *op;
    const struct bound_op *bound;
    char path[128];
    snprintf(path, sizeof(path), "kernels/ops/%s.json", name);
    assert_ok(file_read(arena, path, OP_SPEC_BYTES_MAX, &text, &err));
    assert_ok(op_parse(arena, text, path, NULL, &op, &err));
    assert_ok(op_bind_shape(arena, op, &op->targets[0], &bound, &err));
    return bound;
}

static inline const struct machine *plans_machine(struct arena *arena, const char *name)
{
    struct err err = {0};
    const struct json *json;
    const struct machine *machine;
    struct str text;
    char path[128];
    snprintf(path, sizeof(path), "kernels/machines/%s.json", name);
    assert_ok(file_read(arena, path, MACHINE_BYTES_MAX, &text, &err));
    assert_ok(json_parse(arena, text, path, &json, &err));
    assert_ok(machine_parse(arena, json, &machine, &err));
    return machine;
}

/* A plan from the JSON of its regions and edges. */
static inline const struct plan *plans_plan(struct arena *arena, const struct bound_op *bound,
                                            const char *regions, const char *edges)
{
    struct err err = {0};
    struct buf text;
    const struct json *json;
    const struct plan *plan;
    char hex[HASH_HEX_BYTES];
    hash_hex(&bound->op->hash, hex);
    buf_init(&text, arena, PLANS_TEXT_BYTES);
    buf_printf(&text,
               "{\"plan\":1,\"op\":\"%s\",\"track\":\"%.*s\",\"machine\":\"sm_90a\",\"guard\":1,"
               "\"regions\":[%s],\"edges\":[%s]}",
               hex, STR_ARG(bound->op->tracks[0].name), regions, edges);
    assert_ok(json_parse(arena, buf_view(&text), "plan", &json, &err));
    assert_ok(plan_parse(arena, json, &plan, &err));
    assert_ok(plan_check(plan, bound->op, &err));
    return plan;
}

/* Sums of 64 rows. */
static inline const struct bound_op *plans_sums(struct arena *arena, int columns, int align)
{
    struct err err = {0};
    struct buf text;
    const struct op *op;
    const struct bound_op *bound;
    buf_init(&text, arena, PLANS_TEXT_BYTES);
    buf_printf(&text,
               "{\"spec\":1,\"name\":\"t\",\"tracks\":{\"f32\":{}},\"shapes\":{\"target\":[{}]},"
               "\"tensors\":[{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":"
               "[64,%d],\"align\":%d},{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\","
               "\"shape\":[64]}],\"body\":[\"y[m] = sum(n) x[m,n]\"]}",
               columns, align);
    assert_ok(op_parse(arena, buf_view(&text), "spec", NULL, &op, &err));
    assert_ok(op_bind_shape(arena, op, &op->targets[0], &bound, &err));
    return bound;
}

struct tile_numbers {
    int m, n, k, thread_m, thread_n, threads;
};
/* The whole of matmul as one tiled region. */
static inline const char *plans_tile(struct arena *arena, const struct tile_numbers *t)
{
    struct buf text;
    buf_init(&text, arena, PLANS_TEXT_BYTES);
    buf_printf(&text,
               "{\"stmts\":[0],\"primitives\":[\"tile-staging\",\"shared-residency\","
               "\"register-tile\"],\"tiles\":[{\"index\":\"m\",\"block\":%d,\"thread\":%d},"
               "{\"index\":\"n\",\"block\":%d,\"thread\":%d},"
               "{\"index\":\"k\",\"block\":%d,\"thread\":1,\"step\":%d}],\"stages\":[],"
               "\"threads\":[%d,1,1],\"precision\":\"f32\"}",
               t->m, t->thread_m, t->n, t->thread_n, t->k, t->k, t->threads);
    return text.at;
}

struct row_numbers {
    int threads, vector, items;
    bool warp, streaming;
};
/* The whole of softmax, layernorm, ... as one region of rows over n. */
static inline const char *plans_rows(struct arena *arena, const struct bound_op *bound,
                                     const struct row_numbers *r)
{
    struct buf text;
    buf_init(&text, arena, PLANS_TEXT_BYTES);
    buf_text(&text, "{\"stmts\":[");
    for (size_t i = 0; i < bound->op->stmt_count; i++)
        buf_printf(&text, "%s%zu", i == 0 ? "" : ",", i);
    buf_printf(&text,
               "],\"primitives\":[\"reduction-tree\",\"%s-cooperative-summary\"%s],\"tiles\":["
               "{\"index\":\"m\",\"block\":1,\"thread\":1},{\"index\":\"n\",\"block\":%d,"
               "\"thread\":%d}],\"stages\":[],\"threads\":[%d,1,1],\"vector\":%d,"
               "\"precision\":\"f32\"}",
               r->warp ? "warp" : "block", r->streaming ? ",\"streaming-accumulation\"" : "",
               (r->warp ? 32 : r->threads) * r->items, r->items, r->threads, r->vector);
    return text.at;
}

#endif
