/*
 * Ends of a candidate that the case folders do not reach: what plans demand, guards that leave
 * little, deadlines, and candidates that are PTX or cubin.  Needs NVRTC.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"

#include "tests/unit/unit.h"
#include "verify/check/check.h"

#define CHEATS "tests/cases/cheats"
#define OPS    "tests/cases/ops"

enum { FILE_BYTES_MAX = 4 << 20 };

static const char relu_source[] =
    "extern \"C\" __global__ void cand(const float *x, float *y, long long n) {\n"
    "  long long i = blockIdx.x * 256LL + threadIdx.x;\n"
    "  if (i < n) y[i] = x[i] < 0.f ? 0.f : x[i];\n"
    "}\n";
static const char spinning_source[] =
    "extern \"C\" __global__ void cand(const float *x, float *y, long long n) {\n"
    "  volatile int z = 1;\n"
    "  while (z) { }\n"
    "  y[0] = x[0];\n"
    "}\n";
static const char many_registers_source[] =
    "extern \"C\" __global__ void cand(const float *x, float *y, long long n) {\n"
    "  float v[96];\n"
    "#pragma unroll\n"
    "  for (int k = 0; k < 96; ++k) v[k] = x[(threadIdx.x * 96 + k) % n];\n"
    "  float s = 0.f;\n"
    "  for (int r = 0; r < (int)n; ++r) {\n"
    "#pragma unroll\n"
    "    for (int k = 0; k < 96; ++k) { v[k] = v[k] * v[(k + 1) % 96] + 1.f; s += v[k]; }\n"
    "  }\n"
    "  long long i = blockIdx.x * 1024LL + threadIdx.x;\n"
    "  if (i < n) y[i] = s;\n"
    "}\n";
static const char atomic_source[] =
    "extern \"C\" __global__ void part(const float *x, float *w, int R, int C) {\n"
    "  for (int i = threadIdx.x; i < C; i += blockDim.x)\n"
    "    atomicAdd(&w[blockIdx.x], x[(size_t)blockIdx.x * C + i]);\n"
    "}\n"
    "extern \"C\" __global__ void copy(const float *w, float *y, int R) {\n"
    "  int i = blockIdx.x * 256 + threadIdx.x;\n"
    "  if (i < R) y[i] = w[i];\n"
    "}\n";

#define RELU_ARGS                                                                                  \
    "\"args\":[{\"tensor\":\"x\"},{\"tensor\":\"y\"},{\"dim\":\"n\",\"dtype\":\"i64\"}]"
#define RELU(guard, grid, block, more)                                                             \
    "{\"manifest\":1,\"op\":\"relu\",\"arch\":\"sm_90\",\"guard\":\"" guard "\",\"kernels\":["     \
    "{\"entry\":\"cand\",\"grid\":[\"" grid "\",1,1],\"block\":[" block ",1,1]," more RELU_ARGS    \
    "}],\"workspace\":[],\"prepare\":[],\"strategy\":\"\"}"
#define ATOMIC(deterministic)                                                                      \
    "{\"manifest\":1,\"op\":\"rowsum\",\"arch\":\"sm_90\",\"guard\":\"true\",\"kernels\":["        \
    "{\"entry\":\"part\",\"grid\":[\"R\",1,1],\"block\":[128,1,1],\"args\":[{\"tensor\":\"x\"},"   \
    "{\"workspace\":\"w\"},{\"dim\":\"R\",\"dtype\":\"i32\"},{\"dim\":\"C\",\"dtype\":\"i32\"}]}," \
    "{\"entry\":\"copy\",\"grid\":[\"ceildiv(R,256)\",1,1],\"block\":[256,1,1],\"args\":["         \
    "{\"workspace\":\"w\"},{\"tensor\":\"y\"},{\"dim\":\"R\",\"dtype\":\"i32\"}]}],"               \
    "\"workspace\":[{\"name\":\"w\",\"bytes\":\"R * 4\",\"init\":\"zero\"}],\"prepare\":[],"       \
    "\"strategy\":\"\",\"deterministic\":" deterministic "}"

struct gate_case {
    const char *name, *op, *source, *manifest;
    enum validity expected;
    const char *reason;       /* the verdict's holds this */
    enum primitive primitive; /* of the plan, PRIMITIVE_COUNT = no plan */
    int64_t wall_ms;
    uint64_t budget;
};

static const struct gate_case cases[] = {
    {"accepted", "relu", relu_source, RELU("true", "ceildiv(n,256)", "256", ""), VALIDITY_ACCEPTED,
     "checks passed", PRIMITIVE_COUNT, 0, 0},
    {"a guard that admits nothing", "relu", relu_source, RELU("n < 0", "ceildiv(n,256)", "256", ""),
     VALIDITY_OFF_PLAN, "guard", PRIMITIVE_COUNT, 0, 0},
    {"a guard that leaves the full shape", "relu", relu_source,
     RELU("n == 16777216", "ceildiv(n,256)", "256", ""), VALIDITY_PARTIAL, "sampled blocks",
     PRIMITIVE_COUNT, 0, 0},
    {"the plan wants tensor cores", "relu", relu_source, RELU("true", "ceildiv(n,256)", "256", ""),
     VALIDITY_OFF_PLAN, "no mma instruction", PRIMITIVE_TENSOR_CORE_TILE, 0, 0},
    {"the plan wants asynchronous copies", "relu", relu_source,
     RELU("true", "ceildiv(n,256)", "256", ""), VALIDITY_OFF_PLAN, "no asynchronous copy",
     PRIMITIVE_ASYNC_PIPELINE, 0, 0},
    {"cooperative against the plan", "relu", relu_source,
     RELU("true", "ceildiv(n,256)", "256", "\"cooperative\":true,"), VALIDITY_OFF_PLAN,
     "cooperatively", PRIMITIVE_VECTOR_ACCESS, 0, 0},
    {"programmatic launch", "relu", relu_source,
     RELU("true", "ceildiv(n,256)", "256", "\"programmatic\":true,"), VALIDITY_OFF_PLAN,
     "programmatic", PRIMITIVE_COUNT, 0, 0},
    {"an empty grid", "relu", relu_source, RELU("true", "n / 256", "256", ""),
     VALIDITY_LAUNCH_ERROR, "grid.x is 0", PRIMITIVE_COUNT, 0, 0},
    {"registers that do not fit", "relu", many_registers_source,
     RELU("true", "ceildiv(n,1024)", "1024", ""), VALIDITY_RESOURCES, "registers", PRIMITIVE_COUNT,
     0, 0},
    {"an instruction budget", "relu", spinning_source, RELU("true", "ceildiv(n,256)", "256", ""),
     VALIDITY_TIMEOUT, "warp instructions", PRIMITIVE_COUNT, 0, 0},
    {"a deadline", "relu", spinning_source, RELU("true", "ceildiv(n,256)", "256", ""),
     VALIDITY_TIMEOUT, "took longer", PRIMITIVE_COUNT, 1500, (uint64_t)1 << 50},
    {"repeatability that was not promised", "rowsum", atomic_source, ATOMIC("false"),
     VALIDITY_ACCEPTED, "", PRIMITIVE_COUNT, 0, 0},
    {"repeatability that was promised", "rowsum", atomic_source, ATOMIC("true"),
     VALIDITY_NONDETERMINISTIC, "order of blocks", PRIMITIVE_COUNT, 0, 0},
};

static struct compiler *the_compiler(void)
{
    static struct arena arena;
    static struct compiler *compiler;
    const struct compiler_options options = {.paths = {getenv("CUDA_HOME"), "build/nvrtc"}};
    struct nvrtc_info nvrtc;
    struct err err;

    if (compiler != NULL)
        return compiler;
    arena_init(&arena, (size_t)1 << 30);
    device_probe_nvrtc(&arena, &options.paths, &nvrtc);
    if (!nvrtc.found)
        return NULL;
    assert_ok(compiler_open(&arena, &options, &compiler, &err));
    return compiler;
}

static void load(struct arena *arena, const char *op_name, const char *manifest_text,
                 const struct op **op, const struct manifest **manifest)
{
    const struct json *json;
    struct str text;
    char path[256];
    struct err err;

    snprintf(path, sizeof(path), OPS "/%s.json", op_name);
    assert_ok(file_read(arena, path, FILE_BYTES_MAX, &text, &err));
    assert_ok(op_parse(arena, text, path, NULL, op, &err));
    assert_ok(json_parse(arena, str_from(manifest_text), "manifest", &json, &err));
    assert_ok(manifest_parse(arena, json, manifest, &err));
}

static void judge(void **state)
{
    const struct gate_case *c = *state;
    const struct plan_region region = {
        .primitives = &c->primitive, .primitive_count = 1, .depth = 1};
    const struct plan plan = {.regions = &region, .region_count = 1};
    const struct check_options options = {
        .secret = 3,
        .plan = c->primitive == PRIMITIVE_COUNT ? NULL : &plan,
        .wall_ms = c->wall_ms,
        .budget_warp_insns = c->budget,
    };
    struct candidate candidate = {.form = CANDIDATE_CUDA, .text = str_from(c->source)};
    struct check_products products;
    struct verdict verdict;
    const struct op *op;
    struct arena arena;
    struct err err;

    if (the_compiler() == NULL)
        skip();
    arena_init(&arena, (size_t)2 << 30);
    load(&arena, c->op, c->manifest, &op, &candidate.manifest);
    assert_ok(check_candidate(&arena, op, &candidate, &options, the_compiler(), &products, &verdict,
                              &err));
    if (verdict.validity != c->expected ||
        memmem(verdict.reason.at, verdict.reason.len, c->reason, strlen(c->reason)) == NULL)
        fail_msg("%s: %.*s", validity_name(verdict.validity), STR_ARG(verdict.reason));
    arena_release(&arena);
}

/* The same kernel as PTX is accepted without a compiler, as a cubin observed, as noise refused. */
static void other_forms(void **state)
{
    const struct check_options options = {.secret = 3};
    struct candidate candidate = {.form = CANDIDATE_CUDA, .text = str_from(relu_source)};
    struct check_products products, ignored;
    struct verdict verdict;
    const struct op *op;
    struct arena arena;
    struct err err;

    (void)state;
    if (the_compiler() == NULL)
        skip();
    arena_init(&arena, (size_t)2 << 30);
    load(&arena, "relu", cases[0].manifest, &op, &candidate.manifest);
    assert_ok(check_candidate(&arena, op, &candidate, &options, the_compiler(), &products, &verdict,
                              &err));
    assert_int_equal(verdict.validity, VALIDITY_ACCEPTED);
    candidate.form = CANDIDATE_PTX;
    candidate.text = products.ptx;
    assert_ok(check_candidate(&arena, op, &candidate, &options, NULL, &ignored, &verdict, &err));
    assert_int_equal(verdict.validity, VALIDITY_ACCEPTED);
    candidate.form = CANDIDATE_CUBIN;
    candidate.text = products.cubin;
    assert_ok(check_candidate(&arena, op, &candidate, &options, NULL, &ignored, &verdict, &err));
    assert_int_equal(verdict.validity, VALIDITY_UNSUPPORTED);
    assert_true(verdict.observed.count > 0);
    candidate.text.len /= 2;
    assert_ok(check_candidate(&arena, op, &candidate, &options, NULL, &ignored, &verdict, &err));
    assert_int_equal(verdict.validity, VALIDITY_SOURCE_REJECTED);
    candidate.form = CANDIDATE_PTX;
    assert_ok(check_candidate(&arena, op, &candidate, &options, NULL, &ignored, &verdict, &err));
    assert_int_equal(verdict.validity, VALIDITY_SOURCE_REJECTED);
    candidate.form = CANDIDATE_CUDA;
    candidate.text = str_from(relu_source);
    assert_false(check_candidate(&arena, op, &candidate, &options, NULL, &ignored, &verdict, &err));
    arena_release(&arena);
}

/* The same question, the same verdict: with the cache, without it, and byte for byte. */
static struct str verdict_bytes(struct arena *arena, const struct verdict *verdict)
{
    struct json_writer w;
    struct buf text;

    buf_init(&text, arena, FILE_BYTES_MAX);
    json_writer_init(&w, &text);
    verdict_print(&w, verdict, false);
    return buf_view(&text);
}

/* A guard that leaves no target is honest, and flagged. */
static void useless_guard(void **state)
{
    const struct check_options options = {.secret = 3};
    struct candidate candidate = {.form = CANDIDATE_CUDA, .text = str_from(relu_source)};
    struct check_products products;
    struct verdict verdict;
    const struct op *op;
    struct arena arena;
    struct err err;

    (void)state;
    if (the_compiler() == NULL)
        skip();
    arena_init(&arena, (size_t)2 << 30);
    load(&arena, "relu", RELU("n < 1000", "ceildiv(n,256)", "256", ""), &op, &candidate.manifest);
    assert_ok(check_candidate(&arena, op, &candidate, &options, the_compiler(), &products, &verdict,
                              &err));
    assert_int_equal(verdict.validity, VALIDITY_ACCEPTED);
    assert_true(str_has_prefix(verdict.flags, STR_LIT("the guard excludes every target")));
    arena_release(&arena);
}

static void repeatable(void **state)
{
    struct candidate candidate = {.form = CANDIDATE_CUDA, .text = str_from(relu_source)};
    struct check_options options = {.secret = 3};
    struct cache cache;
    struct check_products products;
    struct str first = {0};
    const struct op *op;
    struct arena arena;
    struct err err;

    (void)state;
    if (the_compiler() == NULL)
        skip();
    arena_init(&arena, (size_t)2 << 30);
    load(&arena, "relu", cases[0].manifest, &op, &candidate.manifest);
    cache.folder = unit_folder(&arena, "gates-cache");
    for (int i = 0; i < 4; i++) {
        struct verdict verdict;
        struct str bytes;

        options.cache = i < 2 ? NULL : &cache;
        assert_ok(check_candidate(&arena, op, &candidate, &options, the_compiler(), &products,
                                  &verdict, &err));
        bytes = verdict_bytes(&arena, &verdict);
        if (i == 0)
            first = bytes;
        assert_true(str_equal(first, bytes));
    }
    arena_release(&arena);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(cases) + 3] = {
        cmocka_unit_test(other_forms),
        cmocka_unit_test(repeatable),
        cmocka_unit_test(useless_guard),
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        tests[i + 3] = (struct CMUnitTest){cases[i].name, judge, NULL, NULL, (void *)&cases[i]};
    return _cmocka_run_group_tests("gates", tests, COUNT_OF(tests), NULL, NULL);
}
