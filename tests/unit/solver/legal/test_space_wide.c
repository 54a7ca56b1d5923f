/*
 * What plans for a model have besides the realiser's: instructions of tensor cores, pipelines,
 * split sums, rows in shared memory, running states.  Quantities by hand, each limit by a plan that
 * is over it alone, and the space that they make.
 */
#include <stdlib.h>
#include <string.h>

#include "solver/legal/legal.h"
#include "tests/unit/solver/ir/wide.h"

enum { ARENA_BYTES = 1 << 30 };

static struct footprint wide_footprint(struct arena *arena, const struct wide *w, bool bf16)
{
    const struct bound_op *bound;
    const struct plan *plan = wide_plan(arena, w, bf16, &bound);
    struct footprint f;
    const char *why = "";
    if (!footprint_of(arena, &plan->regions[0], bound, &f, &why))
        fail_msg("%s", why);
    return f;
}

/* ---- quantities ---- */

/* Both factors of the bf16 product lie along k or n as the spec has them: x[m, k], w[k, n]. */
static const struct {
    const char *what;
    struct wide wide;
    bool bf16;
    int64_t shared, registers, threads, blocks, kernels, workspace;
} footprint_cases[] = {
    /* three stages of 128 rows of 32 + 8 and 32 rows of 128 + 8; 40, 64 sums, fragments of 64
     * rows and 32 columns of 16 bf16: 1536 * 2 / 128 */
    {"padded", WIDE_PLAIN, true, 3 * (128 * 40 + 32 * 136) * 2, 40 + 64 + 24, 256, 1024, 1, 0},
    {"swizzled",
     {128, 128, 32, 8, 8, 256, 8, 3, 1, {16, 8, 16}, "bf16", "async", "swizzled"},
     true,
     3 * (128 * 32 + 32 * 128) * 2,
     40 + 64 + 24,
     256,
     1024,
     1,
     0},
    /* a warp group takes 64 x 256 of 128 x 256: no fragments */
    {"wgmma",
     {128, 256, 64, 2, 64, 256, 8, 2, 1, {64, 256, 16}, "bf16", "async", "swizzled"},
     true,
     2 * (128 * 64 + 64 * 256) * 2,
     40 + 128,
     256,
     512,
     1,
     0},
    /* f32 as it lies, three bf16 parts in registers: 6 bytes an element */
    {"parts",
     {128, 128, 16, 4, 16, 256, 4, 2, 1, {16, 8, 16}, "f32", "async", "row-major"},
     false,
     2 * (128 * (16 + 4) + 16 * (128 + 4)) * 4,
     40 + 64 + (32 + 64) * 16 * 6 / 128,
     256,
     1024,
     1,
     0},
    /* two stages through registers on CUDA cores: both tiles along their side, 4 words beside;
     * a thread has 128 x 16 / 256 elements of each factor in flight */
    {"registers",
     {128, 128, 16, 8, 8, 256, 4, 2, 1, {0, 0, 0}, "f32", "register", "row-major"},
     false,
     2 * 16 * (132 + 132) * 4,
     31 + 174 + 16,
     256,
     1024,
     1,
     0},
    /* four blocks a sum: 4 x 4096 x 4096 sums of 4 bytes, and a kernel that adds them */
    {"split",
     {128, 128, 16, 8, 8, 256, 1, 1, 4, {0, 0, 0}, "f32", "shared", "row-major"},
     false,
     16 * (132 + 132) * 4,
     31 + 174,
     256,
     4096,
     2,
     INT64_C(4) * 4096 * 4096 * 4},
};

static void test_footprints(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(footprint_cases); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        const struct footprint f =
            wide_footprint(&arena, &footprint_cases[i].wide, footprint_cases[i].bf16);
        if (f.shared_bytes != footprint_cases[i].shared ||
            f.registers != footprint_cases[i].registers ||
            f.threads != footprint_cases[i].threads || f.blocks != footprint_cases[i].blocks ||
            f.kernels != footprint_cases[i].kernels ||
            f.workspace_bytes != footprint_cases[i].workspace)
            fail_msg("%s: shared %lld registers %lld threads %lld blocks %lld kernels %lld "
                     "workspace %lld",
                     footprint_cases[i].what, (long long)f.shared_bytes, (long long)f.registers,
                     (long long)f.threads, (long long)f.blocks, (long long)f.kernels,
                     (long long)f.workspace_bytes);
        arena_release(&arena);
    }
}

static const char rows_text[] =
    "{\"stmts\":[0,1,2,3],\"primitives\":[\"reduction-tree\",\"block-cooperative-summary\","
    "\"streaming-accumulation\"%s],\"tiles\":[{\"index\":\"m\",\"block\":1,\"thread\":1},"
    "{\"index\":\"n\",\"block\":512,\"thread\":4,\"step\":512}],\"stages\":[],"
    "\"threads\":[128,1,1],\"vector\":4,\"split\":%d,\"precision\":\"f32\"}";

static const struct plan *rows_plan(struct arena *arena, const struct bound_op *bound,
                                    const char *primitives, int split)
{
    struct buf text;
    buf_init(&text, arena, PLANS_TEXT_BYTES);
    buf_printf(&text, rows_text, primitives, split);
    return plans_plan(arena, bound, text.at, "");
}

/* Streamed softmax reads its row three times; a running state saves one, shared memory all but the
 * first. */
static void test_rows(void **state UNUSED)
{
    static const struct {
        const char *primitives;
        int64_t passes, loads, held;
    } cases[] = {{"", 3, 3, 0},
                 {",\"online-state-update\"", 2, 2, 0},
                 {",\"shared-residency\"", 3, 1, 4096 * 4},
                 {",\"shared-residency\",\"online-state-update\"", 2, 1, 4096 * 4}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct footprint f;
        struct limits limits;
        const char *why;
        arena_init(&arena, ARENA_BYTES);
        const struct bound_op *bound = plans_op(&arena, "softmax");
        const struct plan *plan = rows_plan(&arena, bound, cases[i].primitives, 1);
        assert_true(footprint_of(&arena, &plan->regions[0], bound, &f, &why));
        assert_int_equal(f.passes, cases[i].passes);
        assert_int_equal(f.loads[op_tensor_find(bound->op, str_from("x"))], cases[i].loads);
        assert_int_equal(f.held_bytes, cases[i].held);
        assert_int_equal(region_realisable(&plan->regions[0], &why), i == 0);
        plan_limits(&arena, plan, bound, plans_machine(&arena, "h200-sxm"), &limits);
        assert_true(limits.legal);
        arena_release(&arena);
    }
}

/* ---- limits ---- */

static void test_tile_limits(void **state UNUSED)
{
    static const struct {
        enum limit limit;
        struct wide wide;
        const char *machine;
    } cases[] = {
        {LIMIT_COUNT, WIDE_PLAIN, "h200-sxm"},
        {LIMIT_COUNT, WIDE_PLAIN, "a100-sxm-80"},
        {LIMIT_MMA_SHAPE,
         {128, 128, 32, 8, 8, 256, 8, 3, 1, {16, 16, 16}, "bf16", "async", "row-major"},
         "h200-sxm"},
        {LIMIT_MMA_SHAPE, /* no wgmma from 10.0 on */
         {128, 256, 64, 2, 64, 256, 8, 2, 1, {64, 256, 16}, "bf16", "async", "swizzled"},
         "b200"},
        {LIMIT_CAPABILITY,
         {128, 256, 64, 2, 64, 256, 8, 2, 1, {64, 256, 16}, "bf16", "async", "swizzled"},
         "a100-sxm-80"},
        {LIMIT_MMA_REST, /* 8 rows a warp */
         {128, 128, 32, 1, 16, 1024, 8, 3, 1, {16, 8, 16}, "bf16", "async", "row-major"},
         "h200-sxm"},
        {LIMIT_MMA_REST, /* half an instruction deep */
         {128, 128, 8, 8, 8, 256, 8, 3, 1, {16, 8, 16}, "bf16", "async", "row-major"},
         "h200-sxm"},
        {LIMIT_MMA_LAYOUT,
         {128, 256, 64, 2, 64, 256, 8, 2, 1, {64, 256, 16}, "bf16", "async", "row-major"},
         "h200-sxm"},
        {LIMIT_PRECISION, /* the track is bf16; f16 has not its range */
         {128, 128, 32, 8, 8, 256, 8, 2, 1, {16, 8, 16}, "f16", "register", "row-major"},
         "h200-sxm"},
        {LIMIT_DEPTH,
         {128, 128, 32, 8, 8, 256, 8, 3, 64, {16, 8, 16}, "bf16", "async", "row-major"},
         "h200-sxm"},
        {LIMIT_SPLIT,
         {128, 128, 32, 8, 8, 256, 8, 1, 256, {16, 8, 16}, "bf16", "async", "row-major"},
         "h200-sxm"},
        {LIMIT_STAGING,
         {128, 128, 32, 8, 8, 256, 8, 3, 1, {16, 8, 16}, "bf16", "register", "row-major"},
         "h200-sxm"},
        {LIMIT_STAGING,
         {128, 128, 32, 8, 8, 256, 8, 2, 1, {16, 8, 16}, "bf16", "shared", "row-major"},
         "h200-sxm"},
        {LIMIT_COPY_BYTES, /* 2 bytes */
         {128, 128, 32, 8, 8, 256, 1, 3, 1, {16, 8, 16}, "bf16", "async", "row-major"},
         "h200-sxm"},
        {LIMIT_COPY_BYTES, /* 32 bytes */
         {128, 128, 32, 8, 8, 256, 16, 3, 1, {16, 8, 16}, "bf16", "async", "row-major"},
         "h200-sxm"},
        {LIMIT_VECTOR_BYTES,
         {128, 128, 32, 8, 8, 256, 16, 1, 1, {16, 8, 16}, "bf16", "shared", "row-major"},
         "h200-sxm"},
        {LIMIT_SHARED,
         {256, 256, 64, 16, 16, 256, 8, 4, 1, {16, 8, 16}, "bf16", "async", "row-major"},
         "h200-sxm"},
        {LIMIT_REGISTERS,
         {256, 256, 32, 16, 32, 128, 8, 2, 1, {16, 8, 16}, "bf16", "async", "row-major"},
         "h200-sxm"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct limits limits;
        const struct bound_op *bound;
        arena_init(&arena, ARENA_BYTES);
        const struct plan *plan = wide_plan(&arena, &cases[i].wide, true, &bound);
        plan_limits(&arena, plan, bound, plans_machine(&arena, cases[i].machine), &limits);
        if (limits.legal != (cases[i].limit == LIMIT_COUNT) ||
            (!limits.legal && limits.over.limit != cases[i].limit))
            fail_msg("case %zu: %s", i, limits.legal ? "legal" : limits.reason.at);
        arena_release(&arena);
    }
}

/* Less precise products than f32 are not in matmul's first track; f32 data are not copied as bf16.
 */
static void test_refused_kernels(void **state UNUSED)
{
    static const struct wide tf32 = {128, 128, 32,         8,      8,       256,        4,
                                     3,   1,   {16, 8, 8}, "tf32", "async", "row-major"};
    struct wide narrow = tf32;
    struct arena arena;
    struct limits limits;
    const struct bound_op *bound;
    arena_init(&arena, ARENA_BYTES);
    const struct machine *machine = plans_machine(&arena, "h200-sxm");
    const struct plan *plan = wide_plan(&arena, &tf32, false, &bound);
    plan_limits(&arena, plan, bound, machine, &limits);
    assert_false(limits.legal);
    assert_int_equal(limits.over.limit, LIMIT_PRECISION);
    assert_int_equal(limits.over.value, 13);
    narrow.precision = "bf16";
    narrow.mma[2] = 16;
    plan = wide_plan(&arena, &narrow, false, &bound);
    plan_limits(&arena, plan, bound, machine, &limits);
    assert_int_equal(limits.over.limit, LIMIT_KERNEL);
    assert_non_null(strstr(limits.reason.at, "converts nothing"));
    arena_release(&arena);
}

/* A running state where there is none, and blocks that share a row which is needed again. */
static void test_row_limits(void **state UNUSED)
{
    struct arena arena;
    struct limits limits;
    arena_init(&arena, ARENA_BYTES);
    const struct machine *machine = plans_machine(&arena, "h200-sxm");
    const struct bound_op *softmax = plans_op(&arena, "softmax");
    plan_limits(&arena, rows_plan(&arena, softmax, "", 2), softmax, machine, &limits);
    assert_int_equal(limits.over.limit, LIMIT_KERNEL);
    assert_non_null(strstr(limits.reason.at, "several blocks share a row"));

    const struct bound_op *norm = plans_op(&arena, "l2norm");
    static const char text[] =
        "{\"stmts\":[0,1],\"primitives\":[\"reduction-tree\",\"block-cooperative-summary\","
        "\"streaming-accumulation\",\"online-state-update\"],\"tiles\":["
        "{\"index\":\"m\",\"block\":1,\"thread\":1},"
        "{\"index\":\"n\",\"block\":512,\"thread\":4,\"step\":512}],\"stages\":[],"
        "\"threads\":[128,1,1],\"vector\":4,\"precision\":\"f32\"}";
    plan_limits(&arena, plans_plan(&arena, norm, text, ""), norm, machine, &limits);
    assert_false(limits.legal);
    assert_int_equal(limits.over.limit, LIMIT_STATE);
    arena_release(&arena);
}

/* ---- the space ---- */

static struct space space_of(struct arena *arena, const struct bound_op *bound, bool realisable)
{
    static const struct skeleton_limits limits = {.arch = "sm_90a", .threads_max = 1024};
    const struct plan *skeleton;
    struct space space;
    struct err err = {0};
    assert_ok(plan_skeleton(arena, bound, NULL, &limits, &skeleton, &err));
    assert_ok(plan_space(arena, skeleton, bound, plans_machine(arena, "h200-sxm"),
                         &(struct space_options){1, realisable}, &space, &err));
    return space;
}

static struct hash region_hash(const struct bound_op *bound, const struct plan_region *region)
{
    static const struct formula one = {.op = FORMULA_INT, .value = 1};
    const struct plan plan = {.op = bound->op->hash,
                              .track = bound->op->tracks[0].name,
                              .machine = str_from("sm_90a"),
                              .regions = region,
                              .region_count = 1,
                              .guard = &one};
    return plan_hash(&plan);
}

static int by_hash(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct hash));
}

/* The realiser's choices are those of the wide space that it writes, each region once. */
static void test_realisable_is_a_part(void **state UNUSED)
{
    static const char *const ops[] = {"matmul", "softmax", "layernorm", "conv2d",
                                      "matmul_bias_gelu_bf16"};
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        struct arena arena;
        const char *why;
        size_t own = 0;
        arena_init(&arena, ARENA_BYTES);
        const struct bound_op *bound = plans_op(&arena, ops[i]);
        const struct space wide = space_of(&arena, bound, false);
        const struct space narrow = space_of(&arena, bound, true);
        const struct space_domain *all = &wide.domains[0], *some = &narrow.domains[0];
        struct hash *hashes = arena_array(&arena, struct hash, all->count);
        for (size_t k = 0; k < all->count; k++) {
            hashes[k] = region_hash(bound, &all->choices[k]);
            own += region_realisable(&all->choices[k], &why);
        }
        qsort(hashes, all->count, sizeof(*hashes), by_hash);
        for (size_t k = 1; k < all->count; k++)
            assert_true(by_hash(&hashes[k - 1], &hashes[k]) != 0);
        assert_int_equal(own, some->count);
        assert_true(all->count > 2 * some->count && some->count > 0);
        for (size_t k = 0; k < some->count; k++) {
            const struct hash hash = region_hash(bound, &some->choices[k]);
            assert_non_null(bsearch(&hash, hashes, all->count, sizeof(*hashes), by_hash));
        }
        arena_release(&arena);
    }
}

/* Where the grid leaves SMs idle, sums are shared; where it does not, they are not. */
static void test_splits(void **state UNUSED)
{
    static const struct {
        const char *op, *dims;
        bool split;
    } cases[] = {{"matmul", "M=64,N=64,K=65536", true},
                 {"matmul", "M=8192,N=8192,K=1024", false},
                 {"rowsum", "M=4,N=1048576", true},
                 {"rowsum", "M=65536,N=1024", false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        struct formula_env dims;
        const struct bound_op *bound;
        size_t split = 0;
        arena_init(&arena, ARENA_BYTES);
        const struct op *op = plans_op(&arena, cases[i].op)->op;
        assert_ok(op_parse_dims(&arena, op, str_from(cases[i].dims), &dims, &err));
        assert_ok(op_bind(&arena, op, &dims, &bound, &err));
        const struct space space = space_of(&arena, bound, false);
        for (size_t k = 0; k < space.domains[0].count; k++)
            split += space.domains[0].choices[k].split > 1;
        if ((split > 0) != cases[i].split)
            fail_msg("%s %s: %zu split", cases[i].op, cases[i].dims, split);
        arena_release(&arena);
    }
}

/* ---- factors ---- */

static const struct bound_op *product_op(struct arena *arena, const char *dtype, const char *track,
                                         const char *a, const char *body)
{
    struct err err = {0};
    struct buf text;
    const struct op *op;
    const struct bound_op *bound;
    buf_init(&text, arena, PLANS_TEXT_BYTES);
    buf_printf(&text,
               "{\"spec\":1,\"name\":\"t\",\"tracks\":{\"%s\":{}},\"shapes\":{\"target\":[{}]},"
               "\"tensors\":[{\"name\":\"A\",\"role\":\"input\",\"dtype\":\"%s\",\"shape\":%s},"
               "{\"name\":\"B\",\"role\":\"input\",\"dtype\":\"%s\",\"shape\":[1024,1024]},"
               "{\"name\":\"C\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[16,1024,1024]}],"
               "\"body\":[\"%s\"]}",
               track, dtype, a, dtype, body);
    assert_ok(op_parse(arena, buf_view(&text), "spec", NULL, &op, &err));
    assert_ok(op_bind_shape(arena, op, &op->targets[0], &bound, &err));
    return bound;
}

#define GROUP(m, n, k, vector, depth, deep, precision, staging)                                    \
    {                                                                                              \
        m, n, k, 2, n / 4, m * 2, vector, depth, 1, {64, n, deep}, precision, staging, "swizzled"  \
    }
#define OF_WARPS(vector, depth, deep, precision, staging)                                          \
    {                                                                                              \
        128, 128, 32, 4, 16, 256, vector, depth, 1, {16, 8, deep}, precision, staging, "swizzled"  \
    }

/* What tensor cores take from shared memory as it lies, and along what vectors go. */
static const char flat[] = "[1024,1024]", deep[] = "[16,1024,1024]", inner[] = "[1024,1024,16]";
static const struct {
    const char *dtype, *track, *shape, *body;
    struct wide wide;
    enum limit limit;
} factor_cases[] = {
    /* a warp group reads f32 tiles along K alone: CUTLASS has tf32 for TN only */
    {"f32", "tf32", flat, "C[b,m,n] = sum(k) A[m,k] * B[n,k]",
     GROUP(128, 128, 32, 4, 2, 8, "tf32", "async"), LIMIT_COUNT},
    {"f32", "tf32", flat, "C[b,m,n] = sum(k) A[m,k] * B[k,n]",
     GROUP(128, 128, 32, 4, 2, 8, "tf32", "async"), LIMIT_MMA_LAYOUT},
    {"f32", "tf32", flat, "C[b,m,n] = sum(k) A[k,m] * B[n,k]",
     GROUP(128, 128, 32, 4, 2, 8, "tf32", "async"), LIMIT_MMA_LAYOUT},
    {"f32", "tf32", flat, "C[b,m,n] = sum(k) A[k,m] * B[k,n]",
     GROUP(128, 128, 32, 1, 2, 8, "tf32", "async"), LIMIT_COUNT},
    {"f32", "tf32", flat, "C[b,m,n] = sum(k) A[k,m] * B[k,n]",
     GROUP(128, 128, 32, 4, 2, 8, "tf32", "register"), LIMIT_COUNT},
    {"f32", "tf32", flat, "C[b,m,n] = sum(k) A[k,m] * B[k,n]", OF_WARPS(4, 2, 8, "tf32", "async"),
     LIMIT_COUNT},
    {"bf16", "bf16", flat, "C[b,m,n] = sum(k) f32(A[k,m]) * f32(B[k,n])",
     GROUP(128, 128, 32, 8, 2, 16, "bf16", "async"), LIMIT_COUNT},
    /* two bytes, but of another type */
    {"f16", "bf16", flat, "C[b,m,n] = sum(k) f32(A[m,k]) * f32(B[n,k])",
     GROUP(128, 128, 32, 8, 2, 16, "bf16", "async"), LIMIT_KERNEL},
    {"f16", "bf16", flat, "C[b,m,n] = sum(k) f32(A[m,k]) * f32(B[n,k])",
     GROUP(128, 128, 32, 8, 2, 16, "bf16", "register"), LIMIT_COUNT},
    {"i32", "tf32", flat, "C[b,m,n] = sum(k) f32(A[m,k]) * f32(B[n,k])",
     OF_WARPS(4, 2, 8, "tf32", "async"), LIMIT_KERNEL},
    /* what the spec rounds between */
    {"f32", "tf32", flat, "C[b,m,n] = sum(k) f32(f16(A[m,k])) * f32(f16(B[n,k]))",
     OF_WARPS(4, 2, 8, "tf32", "async"), LIMIT_KERNEL},
    {"f32", "tf32", flat, "C[b,m,n] = sum(k) tf32(A[m,k]) * tf32(B[n,k])",
     OF_WARPS(4, 2, 8, "tf32", "async"), LIMIT_COUNT},
    {"f32", "f32", flat, "C[b,m,n] = sum(k) tf32(A[m,k]) * tf32(B[n,k])",
     OF_WARPS(4, 2, 16, "f32", "async"), LIMIT_KERNEL},
    /* what a precision holds is exact on any track */
    {"f16", "f32", flat, "C[b,m,n] = sum(k) f32(A[m,k]) * f32(B[n,k])",
     GROUP(128, 128, 32, 8, 2, 16, "f16", "async"), LIMIT_COUNT},
    {"f32", "f32", flat, "C[b,m,n] = sum(k) f32(f16(A[m,k])) * f32(f16(B[n,k]))",
     GROUP(128, 128, 32, 4, 2, 16, "f16", "register"), LIMIT_COUNT},
    {"f32", "f32", flat, "C[b,m,n] = sum(k) f32(f16(A[m,k])) * f32(f16(B[n,k]))",
     GROUP(128, 128, 32, 4, 2, 16, "bf16", "register"), LIMIT_PRECISION},
    {"f16", "f32", flat, "C[b,m,n] = sum(k) f32(bf16(A[m,k])) * f32(B[n,k])",
     GROUP(128, 128, 32, 8, 2, 16, "f16", "register"), LIMIT_PRECISION},
    {"bf16", "f32", flat, "C[b,m,n] = sum(k) tf32(f32(A[m,k])) * f32(B[n,k])",
     GROUP(128, 128, 32, 4, 2, 8, "tf32", "register"), LIMIT_COUNT},
    /* along the batch index, of which a block has one */
    {"f16", "f16", deep, "C[b,m,n] = sum(k) f32(A[b,m,k]) * f32(B[n,k])",
     OF_WARPS(8, 2, 16, "f16", "async"), LIMIT_COUNT},
    {"f16", "f16", inner, "C[b,m,n] = sum(k) f32(A[m,k,b]) * f32(B[n,k])",
     OF_WARPS(8, 2, 16, "f16", "async"), LIMIT_VECTOR_REST},
    /* nothing comes by vectors */
    {"f32",
     "tf32",
     flat,
     "C[b,m,n] = sum(k) (A[m,k] + 1) * (B[n,k] * 2)",
     {128, 128, 32, 4, 16, 256, 1, 1, 1, {16, 8, 8}, "tf32", "", "swizzled"},
     LIMIT_COUNT},
    {"f32",
     "tf32",
     flat,
     "C[b,m,n] = sum(k) (A[m,k] + 1) * (B[n,k] * 2)",
     {128, 128, 32, 4, 16, 256, 4, 1, 1, {16, 8, 8}, "tf32", "", "swizzled"},
     LIMIT_VECTOR_REST},
};

static void test_factors(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(factor_cases); i++) {
        struct arena arena;
        struct limits limits;
        arena_init(&arena, ARENA_BYTES);
        const struct bound_op *bound =
            product_op(&arena, factor_cases[i].dtype, factor_cases[i].track, factor_cases[i].shape,
                       factor_cases[i].body);
        const struct plan *plan =
            plans_plan(&arena, bound, wide_text(&arena, &factor_cases[i].wide, false), "");
        plan_limits(&arena, plan, bound, plans_machine(&arena, "h200-sxm"), &limits);
        if (limits.legal != (factor_cases[i].limit == LIMIT_COUNT) ||
            (!limits.legal && limits.over.limit != factor_cases[i].limit))
            fail_msg("case %zu: %s", i, limits.legal ? "legal" : limits.reason.at);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_footprints),  cmocka_unit_test(test_rows),
        cmocka_unit_test(test_tile_limits), cmocka_unit_test(test_refused_kernels),
        cmocka_unit_test(test_row_limits),  cmocka_unit_test(test_realisable_is_a_part),
        cmocka_unit_test(test_splits),      cmocka_unit_test(test_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
