#ifndef TESTS_UNIT_SYNTH_PROMPTS_H
#define TESTS_UNIT_SYNTH_PROMPTS_H

#include "base/json.h"

#include "tests/unit/synth/specs.h"

/* Inputs of prompts by hand, as the campaign would fill them for an H200. */
#define ITEM(a, b)                                                                                 \
    {                                                                                              \
        {(a), sizeof(a) - 1},                                                                      \
        {                                                                                          \
            (b), sizeof(b) - 1                                                                     \
        }                                                                                          \
    }
#define LIST(items) ((struct prompt_list){(items), COUNT_OF(items)})

static const struct prompt_item softmax_structure[] = {
    ITEM("mx[m]", "reduction (max) over n; mergeable"),
    ITEM("s[m]", "reduction (sum) over n of exp(x - mx): rescaled accumulation with mx; the pair "
                 "(mx, s) is a bounded summary state of 8 bytes a row"),
    ITEM("y[m,n]", "coupled numerator and denominator; streaming normalisation of the row"),
};
static const struct prompt_item softmax_preservation[] = {
    ITEM("regroup", "sums and maxima over n, any tree; error term inside the bound"),
    ITEM("rescale", "s may be kept relative to a running maximum: s = s * exp(old - new) + ...; "
                    "adds one rounding and one exp a merge"),
    ITEM("recompute", "e[m,n] may be computed twice instead of stored"),
    ITEM("not allowed", "dropping the maximum: exp overflows for |x| > 88"),
};
static const struct prompt_item softmax_primitives[] = {
    ITEM("vector-access", "1, 2 or 4 elements of f32 an access"),
    ITEM("warp-cooperative-summary", "32 lanes merge (mx, s) in 5 shuffles"),
    ITEM("block-cooperative-summary", "up to 32 warps through shared memory, one barrier pair"),
};
static const struct prompt_item softmax_composition[] = {
    ITEM("online-state-update + block-cooperative-summary", "legal: one pass over the row"),
    ITEM("split > 1", "refused: y needs the whole row's (mx, s) before it can be written"),
};
static const struct prompt_item softmax_evidence[] = {
    ITEM("bound", "memory: 134217728 bytes read and written at least, 4.8 TB/s"),
    ITEM("measured", "copy of the same bytes: 33.1 us cold"),
};
static const struct prompt_item softmax_plan_notes[] = {
    ITEM("predicted", "34.0 us, limited by HBM"),
};
static const struct prompt_item h200_constraints[] = {
    ITEM("machine", "H200, 132 SMs, 50 MiB L2"),
};
static const struct prompt_item softmax_directions[] = {
    ITEM("Memory Access", "read each element once, from registers the second time"),
};
static const struct prompt_item softmax_history[] = {
    ITEM("attempt 2", "accepted, 41.2 us: two passes, 256 threads a row"),
    ITEM("attempt 1", "wrong: the tail of rows with N % 4 != 0"),
};

static inline const struct bound_op *prompt_target(struct arena *arena, const char *spec)
{
    char path[256];
    const struct bound_op *target = NULL;
    struct err err;
    snprintf(path, sizeof(path), "kernels/ops/%s.json", spec);
    const struct op *op = spec_load(arena, path);
    assert_ok(op_bind_shape(arena, op, &op->targets[0], &target, &err));
    return target;
}

static inline struct prompt_input prompt_plain(struct arena *arena, const char *spec)
{
    const struct bound_op *target = prompt_target(arena, spec);
    return (struct prompt_input){
        .target = target,
        .arch = "sm_90a",
        .smem_bytes_max = 227 * 1024,
        .plan = spec_plan(arena, target->op),
    };
}

static inline struct prompt_input prompt_softmax(struct arena *arena)
{
    struct prompt_input in = prompt_plain(arena, "softmax");
    in.bound_ns = 27962;
    in.structure = LIST(softmax_structure);
    in.preservation = LIST(softmax_preservation);
    in.primitives = LIST(softmax_primitives);
    in.composition = LIST(softmax_composition);
    in.evidence = LIST(softmax_evidence);
    in.plan_notes = LIST(softmax_plan_notes);
    in.constraints = LIST(h200_constraints);
    in.directions = LIST(softmax_directions);
    in.history = LIST(softmax_history);
    return in;
}

/* A candidate of the emitters, as incumbent or last attempt. */
static inline struct prompt_kernel prompt_kernel_of(struct arena *arena,
                                                    const struct emitted *emitted, double time_ns)
{
    struct buf text;
    struct json_writer w;
    buf_init(&text, arena, 1 << 20);
    json_writer_init(&w, &text);
    manifest_print(&w, emitted->manifest);
    return (struct prompt_kernel){emitted->cuda, buf_view(&text), time_ns};
}

static inline struct prompt prompt_made(struct arena *arena, const struct prompt_input *in)
{
    struct prompt prompt = {.tokens = 0};
    struct err err;
    assert_ok(prompt_write(arena, in, &prompt, &err));
    return prompt;
}

#endif
