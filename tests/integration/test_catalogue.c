/*
 * The catalogue of primitives: each document is complete and canonical, each fragment compiles for
 * sm_80 and sm_90a, and a small kernel around it gives on the emulator, all checks on, what the
 * host computes; the numbers observed of that kernel satisfy the document's own predicate, those of
 * a kernel without any primitive none.
 *
 * Inputs are small integers and halves, so that most sums are exact in any order; the others have
 * a bound of a few roundings.  Skips the fragments without NVRTC.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

#include "solver/legal/legal.h"
#include "tests/integration/library.h"
#include "verify/device/device.h"
#include "verify/ptx/ptx.h"

enum { ARENA_BYTES = 1 << 30, TEXT_BYTES = 1 << 20, FLOATS = 4096, NUMBERS_MAX = 64 };

static const char folder[] = "kernels/primitives";
static const struct device_paths paths = {.build_folder = "build/nvrtc"};

/* ---- documents ---- */

static const struct primitive_entry *load(struct arena *arena, enum primitive word)
{
    const struct primitive_entry *entry;
    const struct json *json;
    struct str text;
    struct err err = {0};
    char path[128];
    snprintf(path, sizeof(path), "%s/%s.json", folder, primitive_name(word));
    assert_ok(file_read(arena, path, PRIMITIVE_BYTES_MAX, &text, &err));
    assert_ok(json_parse(arena, text, path, &json, &err));
    assert_ok(primitive_entry_parse(arena, json, &entry, &err));
    assert_int_equal(entry->word, word);
    return entry;
}

static struct catalogue load_all(struct arena *arena)
{
    struct catalogue catalogue;
    for (int i = 0; i < PRIMITIVE_COUNT; i++)
        catalogue.entries[i] = load(arena, (enum primitive)i);
    return catalogue;
}

static void test_documents(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    const char *const *names;
    size_t count;
    arena_init(&arena, ARENA_BYTES);
    struct catalogue catalogue = load_all(&arena);
    assert_ok(file_list(&arena, folder, ".json", 100, &names, &count, &err));
    assert_int_equal(count, PRIMITIVE_COUNT);
    assert_ok(file_list(&arena, folder, ".cuh", 100, &names, &count, &err));
    assert_int_equal(count, PRIMITIVE_COUNT);
    for (size_t i = 0; i < PRIMITIVE_COUNT; i++)
        for (size_t k = 0; k < i; k++)
            assert_false(str_equal(catalogue.entries[i]->fragment, catalogue.entries[k]->fragment));
    arena_release(&arena);
}

/* ---- all specs ---- */

static bool any_allowed(const struct combinations *all, size_t from, size_t to)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].from == from && all->items[i].to == to && all->items[i].allowed)
            return true;
    return false;
}

static void check_notes(struct arena *arena, const char *name, const struct bound_op *bound,
                        const struct structures *found, const struct catalogue *catalogue)
{
    for (size_t i = 0; i < found->primitive_count; i++) {
        const struct primitive_note *note = &found->primitives[i];
        bool structures[STRUCTURE_COUNT] = {false};
        struct quantities quantities;
        struct str why = {0};
        for (size_t k = 0; k < found->structure_count; k++)
            if (found->structures[k].stmt == note->stmt)
                structures[found->structures[k].word] = true;
        stmt_quantities(arena, bound, note->stmt, &quantities);
        if (!primitive_fits(arena, catalogue->entries[note->word], structures, &quantities, 90,
                            &why))
            fail_msg("%s, statement %zu: %.*s", name, note->stmt, STR_ARG(why));
    }
}

/* What the notes on primitives say is what the catalogue's conditions say, and what the notes on
 * neighbours say is what some pair of primitives says. */
static void check_spec(struct arena *arena, const char *name, const struct catalogue *catalogue,
                       size_t *pairs)
{
    const struct bound_op *bound = library_load(arena, name);
    struct structures found;
    struct combinations all;
    structure_of(arena, bound, NULL, &found);
    check_notes(arena, name, bound, &found, catalogue);
    compose_primitives(arena, bound, &found, catalogue, 90, &all);
    for (size_t i = 0; i < found.composition_count; i++) {
        const struct composition_note *note = &found.compositions[i];
        if (any_allowed(&all, note->from, note->to) != note->allowed)
            fail_msg("%s, %zu -> %zu: the statements are %s, their primitives are not", name,
                     note->from, note->to, note->allowed ? "allowed" : "refused");
        (*pairs)++;
    }
    for (size_t i = 0; i < all.count; i++)
        assert_true(all.items[i].allowed || all.items[i].text.len > 0);
}

static void test_specs(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    static const char *const folders[] = {"", "../../tests/cases/ops",
                                          "../../tests/cases/features"};
    size_t specs = 0, pairs = 0;
    arena_init(&arena, ARENA_BYTES);
    struct catalogue catalogue = load_all(&arena);
    for (size_t f = 0; f < COUNT_OF(folders); f++) {
        const char *const *names;
        size_t count;
        const char *path = path_join(&arena, "kernels/ops", folders[f]);
        assert_ok(file_list(&arena, path, ".json", 1000, &names, &count, &err));
        for (size_t i = 0; i < count; i++)
            check_spec(&arena, f == 0 ? names[i] : path_join(&arena, folders[f], names[i]),
                       &catalogue, &pairs);
        specs += count;
    }
    print_message("%zu specs, %zu pairs of statements\n", specs, pairs);
    assert_true(pairs > 50);
    arena_release(&arena);
}

/* ---- fragments ---- */

/* What host and kernel share: x and z are inputs, y the result. */
struct floats {
    float x[FLOATS], z[FLOATS], y[FLOATS];
};

static float sum_over(const float *x, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += (double)x[i];
    return (float)sum;
}

static void want_tree(struct floats *f)
{
    for (int i = 0; i < 32; i++)
        f->y[i] = sum_over(&f->x[i * 16], 16);
}

/* Rows 30 .. 37 and columns 28 .. 43 of 33 x 40, zeros behind the end. */
static void want_staged(struct floats *f)
{
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 16; c++)
            f->y[r * 16 + c] = 30 + r < 33 && 28 + c < 40 ? f->x[(30 + r) * 40 + 28 + c] : 0;
}

static void want_kept(struct floats *f)
{
    for (int i = 0; i < 100; i++)
        f->y[i] = f->x[i] + f->x[99 - i];
}

static void want_stream(struct floats *f)
{
    for (int t = 0; t < 32; t++) {
        double sum = 0;
        for (int i = t; i < 1000; i += 32)
            sum += (double)f->x[i];
        f->y[t] = (float)sum;
    }
}

static void want_online(struct floats *f)
{
    float most = -INFINITY;
    double sum = 0;
    for (int i = 0; i < 500; i++)
        most = fmaxf(most, f->x[i]);
    for (int i = 0; i < 500; i++)
        sum += exp((double)f->x[i] - (double)most);
    f->y[0] = most;
    f->y[1] = (float)sum;
}

static void want_again(struct floats *f)
{
    double sum = 0;
    for (int i = 0; i < 200; i++)
        sum += (double)(f->x[i] * f->x[i]);
    for (int i = 0; i < 200; i++)
        f->y[i] = (float)((double)(f->x[i] * f->x[i]) / sum);
}

static void want_warp(struct floats *f)
{
    for (int i = 0; i < 64; i++)
        f->y[i] = sum_over(&f->x[i / 32 * 32], 32);
}

static void want_block(struct floats *f)
{
    for (int i = 0; i < 96; i++)
        f->y[i] = sum_over(f->x, 96);
}

static void want_grid(struct floats *f)
{
    f->y[0] = sum_over(f->x, 4 * 64);
}

static void want_mma(struct floats *f)
{
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 8; n++) {
            f->y[m * 8 + n] = 0;
            for (int k = 0; k < 16; k++)
                f->y[m * 8 + n] += f->x[m * 16 + k] * f->z[k * 8 + n];
        }
}

static void want_pipeline(struct floats *f)
{
    for (int t = 0; t < 64; t++) {
        f->y[t] = 0;
        for (int tile = 0; tile < 7; tile++)
            f->y[t] += sum_over(&f->x[4 * (tile * 64 + 63 - t)], 4);
    }
}

/* 16 x 32 results of k = 8, x by k, z by k. */
static void want_outer(struct floats *f)
{
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 32; n++) {
            f->y[m * 32 + n] = 0;
            for (int k = 0; k < 8; k++)
                f->y[m * 32 + n] += f->x[k * 16 + m] * f->z[k * 32 + n];
        }
}

static void want_scaled(struct floats *f)
{
    for (int i = 0; i < 256; i++)
        f->y[i] = 3 * f->x[i];
}

static const struct fragment {
    enum primitive word;
    const char *body; /* of the kernel */
    void (*want)(struct floats *f);
    uint32_t blocks, threads;
    int results;
    double bound; /* relative; 0 = exact */
} fragments[] = {
    {PRIMITIVE_REDUCTION_TREE,
     "float v[16]; for (int i = 0; i < 16; i++) v[i] = x[threadIdx.x * 16 + i];"
     "y[threadIdx.x] = tree_sum(v);",
     want_tree, 1, 32, 32, 0},
    {PRIMITIVE_TILE_STAGING,
     "__shared__ float tile[8][17]; stage_tile<8, 16, 1>(tile, x, 30, 28, 33, 40);"
     "for (int i = threadIdx.x; i < 128; i += blockDim.x)"
     "    y[127 - i] = tile[(127 - i) / 16][(127 - i) % 16];",
     want_staged, 1, 64, 128, 0},
    {PRIMITIVE_SHARED_RESIDENCY,
     "__shared__ float kept[100]; keep_row(kept, x, 100);"
     "for (int i = threadIdx.x; i < 100; i += blockDim.x) y[i] = kept[i] + kept[99 - i];",
     want_kept, 1, 64, 100, 0},
    {PRIMITIVE_STREAMING_ACCUMULATION,
     "y[threadIdx.x] = (float)stream_sum(x, 1000, threadIdx.x, 32);", want_stream, 1, 32, 32, 0},
    {PRIMITIVE_ONLINE_STATE,
     "__shared__ online_state parts[64]; online_state state = online_none();"
     "for (int i = threadIdx.x; i < 500; i += 64) state = online_add(state, x[i]);"
     "parts[threadIdx.x] = state; __syncthreads();"
     "if (threadIdx.x == 0) { state = online_none();"
     "    for (int i = 0; i < 64; i++) state = online_merge(parts[i], state);"
     "    y[0] = state.most; y[1] = state.sum; }",
     want_online, 1, 64, 2, 1e-5},
    {PRIMITIVE_REMATERIALISATION,
     "__shared__ float parts[64]; auto sum = [&](float part) { parts[threadIdx.x] = part;"
     "    __syncthreads(); float all = 0; for (int i = 0; i < 64; i++) all += parts[i];"
     "    return all; };"
     "again_normalise(y, x, 200, [](float v) { return v * v; }, sum);",
     want_again, 1, 64, 200, 1e-6},
    {PRIMITIVE_WARP_SUMMARY, "y[threadIdx.x] = warp_sum(x[threadIdx.x]);", want_warp, 1, 64, 64, 0},
    {PRIMITIVE_BLOCK_SUMMARY,
     "__shared__ float parts[32]; float sum = block_sum(x[threadIdx.x], parts);"
     "y[threadIdx.x] = block_sum(sum / 96.0f, parts);",
     want_block, 1, 96, 96, 1e-6},
    {PRIMITIVE_GRID_SUMMARY,
     "__shared__ float part; if (threadIdx.x == 0) part = 0; __syncthreads();"
     "atomicAdd(&part, x[blockIdx.x * 64 + threadIdx.x]); __syncthreads(); float total;"
     "if (grid_sum(part, w, f, &total) && threadIdx.x == 0) y[0] = total;",
     want_grid, 4, 64, 1, 0},
    {PRIMITIVE_TENSOR_CORE_TILE,
     "__shared__ unsigned short a[16 * 16], b[8 * 18]; float d[4] = {0, 0, 0, 0};"
     "for (int i = threadIdx.x; i < 256; i += 32) a[i] = __float_as_uint(x[i]) >> 16;"
     "for (int i = threadIdx.x; i < 128; i += 32)"
     "    b[i % 8 * 18 + i / 8] = __float_as_uint(z[i]) >> 16;"
     "__syncthreads(); mma_tile(d, a, 16, b, 18);"
     "int g = threadIdx.x / 4, t = threadIdx.x % 4; y[g * 8 + 2 * t] = d[0];"
     "y[g * 8 + 2 * t + 1] = d[1]; y[(g + 8) * 8 + 2 * t] = d[2];"
     "y[(g + 8) * 8 + 2 * t + 1] = d[3];",
     want_mma, 1, 32, 128, 0},
    {PRIMITIVE_ASYNC_PIPELINE,
     "__shared__ float4 ring[3 * 64];"
     "y[threadIdx.x] = pipeline_sum<3>((const float4 *)x, 7, ring);",
     want_pipeline, 1, 64, 64, 0},
    {PRIMITIVE_REGISTER_TILE,
     "__shared__ float a[8][16], b[8][32]; float r[4][4] = {};"
     "for (int i = threadIdx.x; i < 128; i += 32) a[i / 16][i % 16] = x[i];"
     "for (int i = threadIdx.x; i < 256; i += 32) b[i / 32][i % 32] = z[i];"
     "__syncthreads(); int m = threadIdx.x / 8 * 4, n = threadIdx.x % 8 * 4;"
     "outer_products(r, a, b, m, n);"
     "for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) y[(m + i) * 32 + n + j] = r[i][j];",
     want_outer, 1, 32, 512, 0},
    {PRIMITIVE_VECTOR_ACCESS, "scale_vector(y, x, threadIdx.x, 3.0f);", want_scaled, 1, 64, 256, 0},
};

/* Multiples of 1/2 from -4 to 4, which bf16 holds too. */
static void fill(float *out, uint32_t seed)
{
    for (int i = 0; i < FLOATS; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (float)((int)(seed >> 24) % 17 - 8) / 2;
    }
}

struct numbers {
    char text[NUMBERS_MAX][48];
    struct str names[NUMBERS_MAX];
    double values[NUMBERS_MAX];
    size_t count;
};

static void put(struct numbers *n, const char *name, double value)
{
    assert_true(n->count < NUMBERS_MAX);
    snprintf(n->text[n->count], sizeof(n->text[0]), "%s", name);
    n->names[n->count] = str_from(n->text[n->count]);
    n->values[n->count++] = value;
}

/* As verify/check names them. */
static void observe_all(struct numbers *n, const struct ptx_facts *facts,
                        const struct ptx_counts *counts, const struct cubin *cubin)
{
    put(n, "ptx.k.mma_f16", facts->mma_f16);
    put(n, "ptx.k.mma_bf16", facts->mma_bf16);
    put(n, "ptx.k.mma_tf32", facts->mma_tf32);
    put(n, "ptx.k.cp_async", facts->cp_async);
    put(n, "ptx.k.barriers", facts->barriers);
    put(n, "ptx.k.atomics", facts->atomics);
    put(n, "ptx.k.shuffles", facts->shuffles);
    put(n, "ptx.k.vector_accesses", facts->vector_accesses);
    put(n, "cubin.k.shared_bytes", cubin->kernels[0].shared_bytes);
    put(n, "emu.k.flops", (double)counts->flops);
    put(n, "emu.k.shared_bytes_read", (double)counts->shared_bytes_read);
    put(n, "emu.k.shared_bytes_written", (double)counts->shared_bytes_written);
}

static struct str source_of(struct arena *arena, const char *head, const char *body)
{
    struct buf text;
    buf_init(&text, arena, TEXT_BYTES);
    buf_printf(&text,
               "%s\nextern \"C\" __global__ void k(const float *x, const float *z, float *y, "
               "float *w, unsigned *f)\n{\n%s\n}\n",
               head, body);
    return buf_view(&text);
}

static void compile(struct compiler *compiler, struct arena *arena, struct str source,
                    const char *arch, struct compile_result *result)
{
    struct err err = {0};
    struct compile_request request = {.source = source, .arch = arch};
    assert_ok(compiler_compile(compiler, arena, &request, result, &err));
    if (result->end != COMPILE_OK)
        fail_msg("%s: %s\n%.*s", arch, result->reason, STR_ARG(source));
}

/* Runs the kernel on f; what it observed goes to *numbers. */
static void run(struct compiler *compiler, struct arena *arena, struct str source, uint32_t blocks,
                uint32_t threads, struct floats *f, struct numbers *numbers)
{
    struct compile_result result;
    const struct ptx_module *module;
    struct ptx_facts facts;
    struct ptx_report report;
    struct cubin cubin;
    struct err err = {0};
    float w[64];
    unsigned finished = 0;
    struct ptx_buffer buffers[] = {
        {.name = "x", .data = f->x, .bytes = sizeof(f->x), .address_offset = 16},
        {.name = "z", .data = f->z, .bytes = sizeof(f->z), .address_offset = 16},
        {.name = "y", .data = f->y, .bytes = sizeof(f->y), .address_offset = 16, .writable = true},
        {.name = "w", .data = w, .bytes = sizeof(w), .address_offset = 16, .writable = true},
        {.name = "f", .data = &finished, .bytes = 4, .address_offset = 16, .writable = true},
    };
    uint64_t params[COUNT_OF(buffers)];
    buffers[0].initialised = buffers[1].initialised = buffers[4].initialised = true;
    compile(compiler, arena, source, "sm_80", &result);
    compile(compiler, arena, source, "sm_90a", &result);
    assert_ok(ptx_load(arena, result.ptx, &module, &err));
    assert_ok(cubin_read(arena, result.cubin, result.log, &cubin, &err));
    struct ptx_memory *memory = ptx_memory_new(arena, module, buffers, COUNT_OF(buffers));
    for (size_t i = 0; i < COUNT_OF(buffers); i++)
        params[i] = buffers[i].address;
    struct ptx_launch launch = {.entry = "k",
                                .grid = {blocks, 1, 1},
                                .block = {threads, 1, 1},
                                .params = params,
                                .param_bytes = sizeof(params),
                                .budget_warp_insns = 1 << 24,
                                .shared_bytes_max = 48 << 10,
                                .check = true,
                                .poison_seed = 0x9e3779b97f4a7c15};
    assert_ok(ptx_launch(arena, module, memory, &launch, &report, &err));
    if (report.fault.kind != PTX_FAULT_NONE)
        fail_msg("%s\n%.*s", report.fault.text, STR_ARG(source));
    ptx_module_facts(module, "k", &facts);
    observe_all(numbers, &facts, &report.counts, &cubin);
}

static void try_fragment(struct compiler *compiler, const struct fragment *fragment,
                         const struct numbers *plain)
{
    struct arena arena;
    struct str text;
    struct err err = {0};
    char path[128];
    struct numbers numbers = {.count = 0};
    arena_init(&arena, ARENA_BYTES);
    struct floats *got = arena_new(&arena, struct floats);
    struct floats *want = arena_new(&arena, struct floats);
    const struct primitive_entry *entry = load(&arena, fragment->word);
    snprintf(path, sizeof(path), "%s/%s.cuh", folder, primitive_name(fragment->word));
    assert_ok(file_read(&arena, path, TEXT_BYTES, &text, &err));
    assert_non_null(strstr(text.at, str_copy(&arena, entry->fragment)));
    assert_non_null(strstr(fragment->body, str_copy(&arena, entry->fragment)));
    fill(got->x, 1);
    fill(got->z, 2);
    *want = *got;
    fragment->want(want);
    run(compiler, &arena, source_of(&arena, text.at, fragment->body), fragment->blocks,
        fragment->threads, got, &numbers);
    for (int i = 0; i < fragment->results; i++)
        if (!(fabsf(got->y[i] - want->y[i]) <= fragment->bound * fabs((double)want->y[i])))
            fail_msg("%s: result %d is %.9g, must be %.9g", primitive_name(fragment->word), i,
                     (double)got->y[i], (double)want->y[i]);
    struct observed_numbers shown = {numbers.names, numbers.values, numbers.count};
    struct observed_numbers unshown = {plain->names, plain->values, plain->count};
    if (entry->sign_count > 0 && !primitive_shown(entry, &shown))
        fail_msg("%s is not shown by its own kernel", primitive_name(fragment->word));
    assert_false(primitive_shown(entry, &unshown));
    arena_release(&arena);
}

static void test_fragments(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    struct compiler *compiler;
    struct nvrtc_info info;
    struct numbers plain = {.count = 0};
    struct compiler_options options = {.paths = paths};
    arena_init(&arena, ARENA_BYTES);
    device_probe_nvrtc(&arena, &paths, &info);
    if (!info.found || info.include == NULL) {
        print_message("skipped: %s\n", info.why_not);
        arena_release(&arena);
        skip();
    }
    assert_int_equal(COUNT_OF(fragments), PRIMITIVE_COUNT);
    assert_ok(compiler_open(&arena, &options, &compiler, &err));
    struct floats *f = arena_new(&arena, struct floats);
    fill(f->x, 1);
    fill(f->z, 2);
    run(compiler, &arena, source_of(&arena, "", "y[threadIdx.x] = x[threadIdx.x] + 1.0f;"), 1, 32,
        f, &plain);
    for (size_t i = 0; i < COUNT_OF(fragments); i++)
        try_fragment(compiler, &fragments[i], &plain);
    compiler_close(compiler);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_specs),
        cmocka_unit_test(test_fragments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
