/*
 * Plans of random products on random machines, against what is known of them beforehand: types,
 * layouts and alignment of the factors as they were drawn, and the tables of the PTX ISA.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"

#include "agent/plan_view.h"
#include "solver/sched/sched.h"
#include "tests/unit/solver/ir/plans.h"

enum { SAMPLES = 100, CHOICES = 300, BEST = 2, ALL_REGISTERS = 255 };
static const size_t arena_bytes_max = (size_t)4 << 30;
static const char *const types[] = {"f32", "f16", "bf16", "f32", "f16", "bf16", "f64", "i32"};
static const int64_t sides[] = {1, 2, 7, 16, 31, 64, 127, 256, 509, 1024, 4096};
static const double tolerance = 1e-9; /* relative */

struct drawn {
    const char *dtype;
    const char *between; /* a type that the spec rounds it to first, or "" */
    char order[4];       /* indices of its tensor */
    bool more;           /* the factor is no tensor's element */
    int64_t align;
};
struct sample {
    struct drawn factor[2];
    const char *track;
    int64_t side[4]; /* of b, m, n, k */
    bool same;       /* both are of one tensor */
    const struct bound_op *bound;
    struct machine machine;
};

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static const char *pick(struct rng *rng, const char *const *list, size_t count)
{
    return list[rng_below(rng, (uint32_t)count)];
}

static int64_t side_of(const struct sample *s, char index)
{
    return s->side[strchr("bmnk", index) - "bmnk"];
}

/* ---- ops ---- */

static void draw_factor(struct rng *rng, struct drawn *own, const char *const *orders, size_t count)
{
    static const char *const between[] = {"", "", "", "", "f16", "tf32"};
    own->dtype = pick(rng, types, COUNT_OF(types));
    own->between = pick(rng, between, COUNT_OF(between));
    own->more = rng_below(rng, 8) == 0;
    own->align = rng_below(rng, 4) > 0 ? 16 : 8;
    snprintf(own->order, sizeof(own->order), "%s", pick(rng, orders, count));
}

static void draw(struct rng *rng, struct sample *s)
{
    static const char *const of_a[] = {"mk", "mk", "km", "bmk", "mbk", "mkb", "kbm"};
    static const char *const of_b[] = {"nk", "kn", "kn", "bkn", "knb", "bnk"};
    static const char *const tracks[] = {"f32", "tf32", "f16", "bf16"};
    for (int i = 0; i < 4; i++)
        s->side[i] = sides[rng_below(rng, COUNT_OF(sides) - (i == 0 ? 6 : 0))];
    if (rng_below(rng, 16) == 0)
        s->side[rng_below(rng, 4)] = 0;
    draw_factor(rng, &s->factor[0], of_a, COUNT_OF(of_a));
    draw_factor(rng, &s->factor[1], of_b, COUNT_OF(of_b));
    s->same = rng_below(rng, 8) == 0;
    if (s->same) {
        s->factor[1] = s->factor[0];
        s->side[2] = s->side[1];
        for (char *at = s->factor[1].order; *at != '\0'; at++)
            *at = *at == 'm' ? 'n' : *at;
    }
    const bool wide = is(s->factor[0].dtype, "f64") || is(s->factor[1].dtype, "f64");
    s->track = wide ? "f64" : pick(rng, tracks, COUNT_OF(tracks));
}

static void put_tensor(struct buf *out, const struct sample *s, int which)
{
    const struct drawn *own = &s->factor[which];
    buf_printf(out, "{\"name\":\"%c\",\"role\":\"input\",\"dtype\":\"%s\",\"align\":%d,\"shape\":[",
               "AB"[which], own -> dtype, (int)own -> align);
    for (const char *at = own->order; *at != '\0'; at++)
        buf_printf(out, "%s\"%c\"", at > own->order ? "," : "", *at - 'a' + 'A');
    buf_text(out, "]},");
}

static void put_factor(struct buf *out, const struct sample *s, int which)
{
    const struct drawn *own = &s->factor[which];
    const char *sum = is(s->track, "f64") ? "f64" : "f32";
    const bool rounds = own->between[0] != '\0' && !is(sum, "f64");
    buf_printf(out, "%s%s(", own->more ? "(1 + " : "", sum);
    if (rounds)
        buf_printf(out, "%s(f32(", own->between);
    buf_printf(out, "%c[", s->same ? 'A' : "AB"[which]);
    for (const char *at = own->order; *at != '\0'; at++)
        buf_printf(out, "%s%c", at > own->order ? "," : "", *at);
    buf_printf(out, "]%s)%s", rounds ? "))" : "", own->more ? ")" : "");
}

static struct str spec_of(struct arena *arena, struct rng *rng, const struct sample *s)
{
    static const char *const after[] = {"", "\"t[b,m,n] = max(s[b,m,n], 0)\","};
    const char *sum = is(s->track, "f64") ? "f64" : "f32", *map = pick(rng, after, COUNT_OF(after));
    const bool two = rng_below(rng, 4) == 0;
    struct buf out;
    buf_init(&out, arena, PLANS_TEXT_BYTES);
    buf_text(&out, "{\"spec\":1,\"name\":\"t\",\"policy\":{\"finite_inputs\":true,"
                   "\"zero_dims\":true},\"dims\":{\"B\":[0,9999],\"M\":[0,9999],\"K\":[0,9999]");
    buf_printf(&out, "%s},\"tracks\":{\"%s\":{}},\"tensors\":[", s->same ? "" : ",\"N\":[0,9999]",
               s->track);
    for (int i = 0; i < (s->same ? 1 : 2); i++)
        put_tensor(&out, s, i);
    for (int i = 0; i < (two ? 2 : 1); i++)
        buf_printf(&out, "%s{\"name\":\"%c\",\"role\":\"output\",\"dtype\":\"%s\",\"shape\":[%s]}",
                   i > 0 ? "," : "", "CD"[i], sum,
                   s -> same ? "\"B\",\"M\",\"M\"" : "\"B\",\"M\",\"N\"");
    buf_text(&out, "],\"body\":[\"s[b:B,m,n] = sum(k) ");
    put_factor(&out, s, 0);
    buf_text(&out, " * ");
    put_factor(&out, s, 1);
    buf_printf(&out, "\",%s%s\"C[b,m,n] = %s[b,m,n] + 1\"],\"shapes\":{\"target\":[{", map,
               two ? "\"D[b,m,n] = s[b,m,n] * 2\"," : "", *map != '\0' ? "t" : "s");
    for (int i = 0; i < 4; i++)
        if (i != 2 || !s->same)
            buf_printf(&out, "%s\"%c\":%lld", i > 0 ? "," : "", "BMNK"[i], (long long)s -> side[i]);
    buf_text(&out, "}]}}");
    return buf_view(&out);
}

/* ---- machines ---- */

static void draw_machine(struct arena *arena, struct rng *rng, struct machine *out)
{
    static const char *const names[] = {"a100-sxm-80", "h100-sxm", "h200-sxm", "b200", "rtx-3060"};
    *out = *plans_machine(arena, pick(rng, names, COUNT_OF(names)));
    if (rng_below(rng, 4) == 0)
        out->shared_bytes_per_block_optin >>= rng_below(rng, 5);
    if (rng_below(rng, 4) == 0)
        out->sm_count = 1 + rng_below(rng, (uint32_t)out->sm_count);
    if (rng_below(rng, 8) == 0)
        out->registers_per_sm >>= 1;
    if (rng_below(rng, 8) == 0)
        out->capability = 75;
}

/* ---- what is known of a choice ---- */

static const struct drawn *factor_named(const struct sample *s, struct str name, int *first)
{
    *first = str_equal(name, str_from("A")) ? 0 : 1;
    return &s->factor[*first];
}

/* Does the tensor's memory run along an index of the tile, in whole accesses? */
static const char *vector_fault(const struct sample *s, const struct plan_region *region)
{
    for (int i = 0; i < 2; i++) {
        const struct drawn *own = &s->factor[i];
        const int64_t bytes = is(own->dtype, "f64")                            ? 8
                              : is(own->dtype, "f32") || is(own->dtype, "i32") ? 4
                                                                               : 2;
        const char inner = own->order[strlen(own->order) - 1];
        if (own->more || region->vector == 1)
            continue;
        if (bytes * region->vector > 16 || bytes * region->vector > own->align)
            return "a vector is wider than an access, or than what is aligned";
        if (inner == 'b' || side_of(s, inner) % region->vector != 0)
            return "a vector goes along another index, or beyond a row";
    }
    return NULL;
}

/* Of a factor whose bytes are copied as they lie. */
static const char *copy_fault(const struct sample *s, const struct plan_region *region,
                              const struct drawn *own)
{
    const bool f64 = is(own->dtype, "f64"), word = is(own->dtype, "f32") || is(own->dtype, "i32");
    const int64_t bytes = region->vector * (f64 ? 8 : word ? 4 : 2);
    const bool mma = region->mma[0] > 0, group = region->mma[0] == 64;
    const char *taken = region->precision == COMPUTE_F64    ? "f64"
                        : region->precision == COMPUTE_F16  ? "f16"
                        : region->precision == COMPUTE_BF16 ? "bf16"
                                                            : "f32";
    if (s->machine.capability < 80 || own->more || (bytes != 4 && bytes != 8 && bytes != 16))
        return "there is no such copy";
    if (mma && !is(taken, own->dtype))
        return "tensor cores take another type than is copied";
    if (mma && !is(s->track, "f64") && is(own->between, "f16") && !is(own->dtype, "f16"))
        return "the spec rounds what is copied";
    if (group && is(taken, "f32") && region->vector > 1 &&
        own->order[strlen(own->order) - 1] != 'k')
        return "wgmma reads tiles of f32 along K alone";
    return NULL;
}

static bool in_isa(const struct plan_region *region, int64_t capability)
{
    static const struct {
        enum compute compute;
        int64_t m, k, least;
    } rows[] = {{COMPUTE_F16, 16, 8, 75},   {COMPUTE_F16, 16, 16, 80}, {COMPUTE_BF16, 16, 8, 80},
                {COMPUTE_BF16, 16, 16, 80}, {COMPUTE_F32, 16, 8, 80},  {COMPUTE_F32, 16, 16, 80},
                {COMPUTE_TF32, 16, 4, 80},  {COMPUTE_TF32, 16, 8, 80}, {COMPUTE_F64, 8, 4, 80},
                {COMPUTE_F64, 16, 4, 90},   {COMPUTE_F64, 16, 8, 90},  {COMPUTE_F64, 16, 16, 90}};
    const int64_t *mma = region->mma;
    if (mma[0] == 64)
        return capability == 90 && mma[1] % 8 == 0 && mma[1] >= 8 && mma[1] <= 256 &&
               ((region->precision == COMPUTE_TF32 && mma[2] == 8) ||
                (mma[2] == 16 &&
                 (region->precision == COMPUTE_F16 || region->precision == COMPUTE_BF16)));
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].compute == region->precision && rows[i].m == mma[0] && mma[1] == 8 &&
            rows[i].k == mma[2] && capability >= rows[i].least)
            return true;
    return false;
}

/* Least shared memory and registers: tiles of all stages, sums of a thread. */
static const char *room_fault(const struct sample *s, const struct plan_region *region)
{
    int64_t block[3] = {1, 1, 1};
    for (size_t i = 0; i < region->tile_count; i++)
        for (int k = 0; k < 3; k++)
            if (region->tiles[i].index.at[0] == "mnk"[k])
                block[k] = k == 2 ? region->tiles[i].step : region->tiles[i].block;
    const bool half = region->mma[0] > 0 &&
                      (region->precision == COMPUTE_F16 || region->precision == COMPUTE_BF16);
    const int64_t word = is(s->track, "f64") ? 8 : 4;
    const int64_t shared = region->depth * (block[0] + block[1]) * block[2] * (half ? 2 : word);
    const int64_t sums = block[0] * block[1] * word / 4 / region->threads[0];
    if (shared > s->machine.shared_bytes_per_block_optin)
        return "shared memory does not hold its tiles";
    return sums > ALL_REGISTERS || sums * region->threads[0] > s->machine.registers_per_sm
               ? "registers do not hold its sums"
               : NULL;
}

static const char *fault_of(const struct sample *s, const struct plan_region *region)
{
    const bool tile = region_uses(region, PRIMITIVE_REGISTER_TILE) ||
                      region_uses(region, PRIMITIVE_TENSOR_CORE_TILE);
    const char *fault = NULL;
    if (!tile || region_uses(region, PRIMITIVE_STREAMING_ACCUMULATION))
        return NULL;
    for (size_t i = 0; i < region->stage_count && fault == NULL; i++) {
        int which;
        const struct drawn *own = factor_named(s, region->stages[i].tensor, &which);
        if (region->stages[i].staging != STAGE_ASYNC)
            continue;
        fault = copy_fault(s, region, own);
        if (fault == NULL && s->same)
            fault = copy_fault(s, region, &s->factor[1]);
    }
    if (fault == NULL)
        fault = vector_fault(s, region);
    if (fault == NULL)
        fault = room_fault(s, region);
    if (fault == NULL && region->mma[0] > 0 && !in_isa(region, s->machine.capability))
        fault = "there is no such instruction";
    return fault;
}

/* ---- plans ---- */

static void check_round_trip(struct arena *arena, const struct sample *s, const struct plan *plan)
{
    struct err err = {0};
    struct json_writer w;
    struct buf text;
    const struct json *json;
    const struct plan *again;
    buf_init(&text, arena, PLANS_TEXT_BYTES);
    json_writer_init(&w, &text);
    plan_print(&w, plan);
    assert_ok(json_parse(arena, buf_view(&text), "plan", &json, &err));
    assert_ok(plan_parse(arena, json, &again, &err));
    assert_ok(plan_check(again, s->bound->op, &err));
    struct hash a = plan_hash(plan), b = plan_hash(again);
    assert_true(hash_equal(&a, &b));
}

static void check_best(struct arena *arena, const struct sample *s, const struct plan_view *view,
                       const struct plan_ranked *best)
{
    struct err err = {0};
    struct limits limits;
    int64_t holds = 0;
    plan_limits(arena, best->plan, s->bound, &s->machine, &limits);
    if (!limits.legal)
        fail_msg("%.*s", STR_ARG(limits.reason));
    assert_true(isfinite(best->cost.seconds) &&
                best->cost.seconds >= view->sol.seconds * (1 - tolerance));
    assert_ok(formula_eval(best->plan->guard, &s->bound->env, &holds, &err));
    assert_true(holds != 0);
    check_round_trip(arena, s, best->plan);
}

static size_t check_sample(struct arena *arena, struct rng *rng, struct sample *s)
{
    struct err err = {0};
    const struct op *op;
    struct plan_view view;
    size_t checked = 0;
    const struct str text = spec_of(arena, rng, s);
    if (!op_parse(arena, text, "sample", NULL, &op, &err) ||
        !op_bind_shape(arena, op, &op->targets[0], &s->bound, &err))
        fail_msg("%s\n%.*s", err.text, STR_ARG(text));
    const struct plan_task task = {.arena = arena,
                                   .op = op,
                                   .track = &op->tracks[0],
                                   .bound = s->bound,
                                   .machine = &s->machine,
                                   .arch = "sm_90a"};
    if (!plan_explore(&task, BEST, &view, &err))
        fail_msg("%s\n%.*s", err.text, STR_ARG(text));
    assert_true(view.best_count > 0 || view.why_none.len > 0);
    for (size_t i = 0; i < view.best_count; i++)
        check_best(arena, s, &view, &view.best[i]);
    for (size_t i = 0; i < view.space.domain_count; i++)
        for (size_t k = 0; k < CHOICES && view.space.domains[i].count > 0; k++) {
            const struct space_domain *domain = &view.space.domains[i];
            const size_t at = rng_below(rng, (uint32_t)domain->count);
            const char *fault = fault_of(s, &domain->choices[at]);
            checked += domain->choices[at].mma[0] > 0;
            assert_true(isfinite(view.seconds[i][at]) && view.seconds[i][at] > 0);
            if (fault != NULL)
                fail_msg("%s: %.*s\n%.*s", fault,
                         STR_ARG(region_summary(arena, &domain->choices[at], s->bound)),
                         STR_ARG(text));
        }
    return checked;
}

static void test_products(void **state UNUSED)
{
    struct rng rng;
    size_t checked = 0;
    rng_init(&rng, 11);
    for (int i = 0; i < SAMPLES; i++) {
        struct arena arena;
        struct sample sample = {.track = ""};
        arena_init(&arena, arena_bytes_max);
        draw(&rng, &sample);
        draw_machine(&arena, &rng, &sample.machine);
        checked += check_sample(&arena, &rng, &sample);
        arena_release(&arena);
    }
    print_message("%zu choices with tensor cores\n", checked);
    assert_true(checked > SAMPLES * CHOICES / 8);
}

/* A side of size 0 leaves nothing to do, and kernels to launch all the same. */
static void test_nothing_to_do(void **state UNUSED)
{
    static const int64_t shapes[][4] = {
        {1, 0, 1024, 1024}, {1, 1024, 0, 7}, {2, 64, 64, 0}, {0, 64, 64, 64}, {0, 0, 0, 0}};
    struct rng rng;
    rng_init(&rng, 12);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        struct arena arena;
        struct sample sample = {
            .factor = {{"f32", "", "mk", false, 16}, {"f32", "", "kn", false, 16}}, .track = "f32"};
        arena_init(&arena, arena_bytes_max);
        memcpy(sample.side, shapes[i], sizeof(shapes[i]));
        sample.machine = *plans_machine(&arena, "h200-sxm");
        (void)check_sample(&arena, &rng, &sample);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products),
                                       cmocka_unit_test(test_nothing_to_do)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
