/*
 * HW-WFC's states, hard limits and costs.
 *
 * Each formula keeps the order of Python's operations.  Three of Python's habits are not C's: the
 * quotient of two integers is rounded once from the exact value, x ** 2 is pow(), and integers do
 * not overflow; here those beyond 63 bits are refused.
 */
#include "solver/sched/hwwfc.h"

#include <math.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/panic.h"

enum { STATE_BYTES_MAX = 100 };

/* clang-format off */
static const struct hwwfc_tile default_tiles[] = {
    {8, 8},     {16, 16},  {32, 32},   {64, 64},   {128, 128}, {32, 64},
    {64, 32},   {32, 128}, {128, 32},  {64, 128},  {128, 64}};
static const struct hwwfc_tile large_tiles[] = {
    {32, 32},   {64, 64},  {128, 128}, {256, 256}, {32, 64},   {64, 32},   {64, 128},
    {128, 64},  {128, 256}, {256, 128}, {256, 512}, {512, 256}, {512, 512}};
/* clang-format on */
static const struct hwwfc_tiles tile_sets[] = {
    {{"default", 7}, default_tiles, COUNT_OF(default_tiles)},
    {{"large", 5}, large_tiles, COUNT_OF(large_tiles)},
};

static const struct {
    const char *name;
    double multiplier, affinity[HWWFC_LAYOUT_COUNT];
} types[] = {
#define X(id, multiplier, row, column, tiled) {#id, multiplier, {row, column, tiled}},
    HWWFC_TYPES(X)
#undef X
};

enum { ELEMENT_BYTES = 4 };

const struct hwwfc_tiles *hwwfc_tiles_named(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(tile_sets); i++)
        if (str_equal(tile_sets[i].name, name))
            return &tile_sets[i];
    return NULL;
}

size_t hwwfc_state_count(const struct hwwfc_tiles *tiles)
{
    return tiles->count * HWWFC_LAYOUT_COUNT * HWWFC_MEMORY_COUNT;
}

struct hwwfc_state hwwfc_state(const struct hwwfc_tiles *tiles, size_t id)
{
    ASSERT(id < hwwfc_state_count(tiles));
    return (struct hwwfc_state){
        .tile = tiles->tiles[id / (HWWFC_LAYOUT_COUNT * HWWFC_MEMORY_COUNT)],
        .layout = (enum hwwfc_layout)(id / HWWFC_MEMORY_COUNT % HWWFC_LAYOUT_COUNT),
        .memory = (enum hwwfc_memory)(id % HWWFC_MEMORY_COUNT)};
}

struct str hwwfc_state_text(struct arena *arena, const struct hwwfc_state *state)
{
    static const char *const layouts[] = {"ROW_MAJOR", "COL_MAJOR", "BLOCK_TILED"};
    static const char *const memories[] = {"SRAM", "DRAM"};
    struct buf text;
    buf_init(&text, arena, STATE_BYTES_MAX);
    buf_printf(&text, "%lldx%lld %s %s", (long long)state->tile.m, (long long)state->tile.n,
               layouts[state->layout], memories[state->memory]);
    return buf_view(&text);
}

const char *hwwfc_type_name(enum hwwfc_type type)
{
    return types[type].name;
}

double hwwfc_multiplier(enum hwwfc_type type)
{
    return types[type].multiplier;
}

/* ---- counts ---- */

static int64_t dim(const struct hwwfc_layer *layer, const char *name, int64_t missing)
{
    for (size_t i = 0; i < layer->dim_count; i++)
        if (str_equal(layer->dims[i].name, str_from(name)))
            return layer->dims[i].value;
    return missing;
}

static int64_t kernel_height(const struct hwwfc_layer *layer)
{
    return dim(layer, "KH", 3);
}

static int64_t kernel_width(const struct hwwfc_layer *layer)
{
    return dim(layer, "KW", 3);
}

static bool too_large(struct err *err, const struct hwwfc_layer *layer)
{
    return err_raise(err, ERR_LIMIT, "layer %.*s counts more than 2^63 flops or bytes",
                     STR_ARG(layer->name));
}

static bool dims_product(const struct hwwfc_layer *layer, int64_t *out)
{
    int64_t values[HWWFC_DIMS_MAX];
    for (size_t i = 0; i < layer->dim_count; i++)
        values[i] = layer->dims[i].value;
    return num_product(values, layer->dim_count, out);
}

#define PRODUCT(out, ...)                                                                          \
    num_product((const int64_t[]){__VA_ARGS__}, COUNT_OF(((const int64_t[]){__VA_ARGS__})), (out))

bool hwwfc_flops(const struct hwwfc_layer *layer, int64_t *out, struct err *err)
{
    const struct hwwfc_layer *l = layer;
    bool fits = false;
    switch (layer->type) {
    case HWWFC_LINEAR:
        fits = PRODUCT(out, 2, dim(l, "M", 1), dim(l, "N", 1), dim(l, "K", 1));
        break;
    case HWWFC_CONV2D:
        fits = PRODUCT(out, 2, dim(l, "H", 1), dim(l, "W", 1), dim(l, "C_in", 1),
                       dim(l, "C_out", 1), kernel_height(l), kernel_width(l));
        break;
    case HWWFC_DEPTHWISE_CONV:
        fits = PRODUCT(out, 2, dim(l, "H", 1), dim(l, "W", 1), dim(l, "C", 1), kernel_height(l),
                       kernel_width(l));
        break;
    case HWWFC_RELU:
    case HWWFC_SOFTMAX:
    case HWWFC_LAYERNORM:
        fits = dims_product(l, out);
        break;
    case HWWFC_TYPE_COUNT:
        break;
    }
    return fits || too_large(err, layer);
}

/* A matrix product that reads its operands once a tile; convolutions are made one (im2col). */
static bool matmul_bytes(int64_t m, int64_t n, int64_t k, struct hwwfc_tile tile, int64_t *out)
{
    int64_t first, second, result, sum;
    return PRODUCT(&first, num_ceil_div(n, tile.n), m, k) &&
           PRODUCT(&second, num_ceil_div(m, tile.m), k, n) && num_mul(m, n, &result) &&
           num_add(first, second, &sum) && num_add(sum, result, &sum) &&
           num_mul(sum, ELEMENT_BYTES, out);
}

static bool conv_bytes(const struct hwwfc_layer *layer, struct hwwfc_tile tile, int64_t *out)
{
    int64_t m, k;
    return num_mul(dim(layer, "H", 1), dim(layer, "W", 1), &m) &&
           PRODUCT(&k, dim(layer, "C_in", 1), kernel_height(layer), kernel_width(layer)) &&
           matmul_bytes(m, dim(layer, "C_out", 1), k, tile, out);
}

/* The only traffic that is a double: its halo is a fraction. */
static bool depthwise_bytes(const struct hwwfc_layer *layer, struct hwwfc_tile tile, int64_t *out)
{
    const int64_t channels = dim(layer, "C", 1), area = tile.m * tile.n;
    int64_t plane, pixels, kernel, kernel_bytes, result_bytes;
    if (!num_mul(dim(layer, "H", 1), dim(layer, "W", 1), &plane) ||
        !num_mul(channels, plane, &pixels) ||
        !num_mul(kernel_height(layer), kernel_width(layer), &kernel) ||
        !PRODUCT(&kernel_bytes, channels, kernel, num_ceil_div(plane, area), ELEMENT_BYTES) ||
        !num_mul(pixels, ELEMENT_BYTES, &result_bytes))
        return false;
    double halo = fmin((double)kernel / (double)area, 1.0);
    double sum = (double)pixels * (1.0 + halo) * ELEMENT_BYTES;
    sum = sum + (double)kernel_bytes + (double)result_bytes;
    if (sum >= 0x1p63)
        return false;
    *out = (int64_t)sum;
    return true;
}

static bool softmax_bytes(const struct hwwfc_layer *layer, struct hwwfc_tile tile, int64_t *out)
{
    const int64_t passes = num_ceil_div(dim(layer, "N", 1), tile.n);
    int64_t once, reads;
    return PRODUCT(&once, dim(layer, "M", 1), dim(layer, "N", 1), ELEMENT_BYTES) &&
           num_mul(once, passes == 1 ? 1 : 2 * passes, &reads) && num_add(reads, once, out);
}

static bool traffic_bytes(const struct hwwfc_layer *layer, struct hwwfc_tile tile, int64_t *out)
{
    int64_t elements;
    switch (layer->type) {
    case HWWFC_LINEAR:
        return matmul_bytes(dim(layer, "M", 1), dim(layer, "N", 1), dim(layer, "K", 1), tile, out);
    case HWWFC_CONV2D:
        return conv_bytes(layer, tile, out);
    case HWWFC_DEPTHWISE_CONV:
        return depthwise_bytes(layer, tile, out);
    case HWWFC_SOFTMAX:
        return softmax_bytes(layer, tile, out);
    case HWWFC_RELU:
    case HWWFC_LAYERNORM:
        return dims_product(layer, &elements) && num_mul(elements, 2 * ELEMENT_BYTES, out);
    case HWWFC_TYPE_COUNT:
        break;
    }
    return false;
}

/* ---- score ---- */

/* a / b as Python divides integers: the exact quotient rounded once.  Beyond 2^53 the operands are
 * no doubles; then the quotient has 64 bits or more and a last bit that says whether it is exact.
 */
static double quotient(int64_t a, int64_t b)
{
    const int64_t exact_max = INT64_C(1) << 53;
    if (a == 0 || (a <= exact_max && b <= exact_max))
        return (double)a / (double)b;
    const int raised = 64 + __builtin_clzll((unsigned long long)a);
    unsigned __int128 wide = (unsigned __int128)a << raised;
    unsigned __int128 whole = wide / (unsigned __int128)b;
    bool inexact = wide % (unsigned __int128)b != 0;
    int shift = 0;
    while (whole >> 62 != 0) {
        inexact = inexact || (whole & 1) != 0;
        whole >>= 1;
        shift++;
    }
    return ldexp((double)((uint64_t)whole | inexact), shift - raised);
}

static double roofline(int64_t flops, int64_t traffic, enum hwwfc_memory memory,
                       const struct hwwfc_spec *spec)
{
    double bandwidth = (memory == HWWFC_SRAM ? spec->sram_gbps : spec->dram_gbps) * 1e9;
    double peak = spec->compute_gflops * 1e9;
    if (traffic == 0 || peak <= 0)
        return 0.0;
    return fmin(1.0, fmax(0.0, fmin(peak, quotient(flops, traffic) * bandwidth) / peak));
}

/* A compiler would make x * x of pow(x, 2.0), which is not the same in the last bit. */
static double square(double x)
{
    volatile double two = 2.0;
    return pow(x, two);
}

static double cache_efficiency(enum hwwfc_type type, const struct hwwfc_state *state,
                               const struct hwwfc_spec *spec)
{
    if (state->memory != HWWFC_SRAM)
        return 0.0;
    double bytes = (double)(state->tile.m * state->tile.n * ELEMENT_BYTES);
    double used = bytes * types[type].multiplier / spec->sram_bytes;
    return used > 1.0 ? -0.3 : exp(-square(used - 0.75) / (2 * 0.0625)) * 0.2;
}

bool hwwfc_score(const struct hwwfc_layer *layer, const struct hwwfc_state *state,
                 const struct hwwfc_spec *spec, struct hwwfc_score *out, struct err *err)
{
    int64_t flops, traffic;
    if (!hwwfc_flops(layer, &flops, err))
        return false;
    if (!traffic_bytes(layer, state->tile, &traffic))
        return too_large(err, layer);
    out->traffic = traffic;
    out->roofline = roofline(flops, traffic, state->memory, spec);
    out->affinity = types[layer->type].affinity[state->layout];
    out->cache = cache_efficiency(layer->type, state, spec);
    out->total = out->roofline + out->affinity + out->cache;
    return true;
}

static bool same_shape(const struct hwwfc_layer *a, const struct hwwfc_layer *b)
{
    if (a->type != b->type || a->dim_count != b->dim_count)
        return false;
    for (size_t i = 0; i < a->dim_count; i++)
        if (!str_equal(a->dims[i].name, b->dims[i].name) || a->dims[i].value != b->dims[i].value)
            return false;
    return true;
}

static bool score_shape(struct arena *arena, const struct hwwfc_problem *problem, size_t layer,
                        const double **out, struct err *err)
{
    const size_t count = hwwfc_state_count(problem->tiles);
    double *scores = arena_array(arena, double, count);
    for (size_t id = 0; id < count; id++) {
        struct hwwfc_state state = hwwfc_state(problem->tiles, id);
        struct hwwfc_score score;
        if (!hwwfc_score(&problem->layers[layer], &state, problem->spec, &score, err))
            return false;
        scores[id] = score.total;
    }
    *out = scores;
    return true;
}

bool hwwfc_scores(struct arena *arena, const struct hwwfc_problem *problem,
                  struct hwwfc_scores *out, struct err *err)
{
    const size_t count = problem->layer_count;
    const double **of = arena_array(arena, const double *, count);
    int64_t *flops = arena_array(arena, int64_t, count);
    size_t *shapes = arena_array(arena, size_t, count); /* the first layer of each */
    size_t shape_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t known = 0;
        while (known < shape_count &&
               !same_shape(&problem->layers[shapes[known]], &problem->layers[i]))
            known++;
        if (known < shape_count) {
            of[i] = of[shapes[known]];
            flops[i] = flops[shapes[known]];
            continue;
        }
        shapes[shape_count++] = i;
        if (!hwwfc_flops(&problem->layers[i], &flops[i], err) ||
            !score_shape(arena, problem, i, &of[i], err))
            return false;
    }
    *out = (struct hwwfc_scores){of, flops};
    return true;
}

void hwwfc_rank(const double *scores, uint16_t *ids, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint16_t id = ids[i];
        size_t k = i;
        while (k > 0 && scores[ids[k - 1]] < scores[id]) {
            ids[k] = ids[k - 1];
            k--;
        }
        ids[k] = id;
    }
}

double hwwfc_entropy(const double *scores, const uint16_t *ids, size_t count)
{
    double shares[HWWFC_CANDIDATES_MAX], sum = 0.0, entropy = 0.0;
    ASSERT(count > 0 && count <= HWWFC_CANDIDATES_MAX);
    for (size_t i = 0; i < count; i++) {
        shares[i] = exp(scores[ids[i]] - scores[ids[0]]);
        sum += shares[i];
    }
    for (size_t i = 0; i < count; i++) {
        double p = shares[i] / sum;
        if (p > 0)
            entropy -= p * log2(p);
    }
    return entropy;
}

/* ---- hard limits ---- */

double hwwfc_slack(enum hwwfc_limit limit, enum hwwfc_type type, const struct hwwfc_state *state,
                   const struct hwwfc_spec *spec)
{
    const double bytes = (double)(state->tile.m * state->tile.n * ELEMENT_BYTES);
    const bool resident = state->memory == HWWFC_SRAM;
    switch (limit) {
    case HWWFC_CAPACITY:
        return resident ? spec->sram_bytes - bytes : INFINITY;
    case HWWFC_ALIGNMENT:
        return -(double)(state->tile.n * ELEMENT_BYTES % spec->alignment_bytes);
    case HWWFC_WORKING_MEMORY:
        return resident ? spec->sram_bytes - bytes * types[type].multiplier : INFINITY;
    case HWWFC_LIMIT_COUNT:
        break;
    }
    return INFINITY;
}

bool hwwfc_allowed(enum hwwfc_type type, const struct hwwfc_state *state,
                   const struct hwwfc_spec *spec)
{
    for (int limit = 0; limit < HWWFC_LIMIT_COUNT; limit++)
        if (hwwfc_slack((enum hwwfc_limit)limit, type, state, spec) < 0)
            return false;
    return true;
}

size_t hwwfc_filter(const struct hwwfc_problem *problem, size_t layer, uint16_t *out)
{
    const struct hwwfc_layer *l = &problem->layers[layer];
    size_t count = 0;
    for (size_t i = 0; i < l->candidate_count; i++) {
        struct hwwfc_state state = hwwfc_state(problem->tiles, l->candidates[i]);
        if (hwwfc_allowed(l->type, &state, problem->spec))
            out[count++] = l->candidates[i];
    }
    return count;
}

/* ---- hand-over ---- */

static double layout_penalty(enum hwwfc_layout a, enum hwwfc_layout b)
{
    return a == b ? 0.0 : a == HWWFC_TILED || b == HWWFC_TILED ? 0.5 : 1.0;
}

static double shape_penalty(struct hwwfc_tile a, struct hwwfc_tile b)
{
    const int64_t x = a.m * a.n, y = b.m * b.n;
    if (a.m == b.m && a.n == b.n)
        return 0.0;
    if (x == y)
        return 0.3;
    return fmin(0.6, 0.3 * log2((double)(x > y ? x : y) / (double)(x > y ? y : x)));
}

double hwwfc_penalty(const struct hwwfc_state *a, const struct hwwfc_state *b)
{
    return layout_penalty(a->layout, b->layout) + (a->memory == b->memory ? 0.0 : 0.8) +
           shape_penalty(a->tile, b->tile);
}

double hwwfc_weight(double sram_bytes)
{
    return fmax(0.01, fmin(0.5, 4096 / sram_bytes));
}

static bool is_named(const size_t *layers, size_t count, size_t layer)
{
    for (size_t i = 0; i < count; i++)
        if (layers[i] == layer)
            return true;
    return false;
}

/* The pair was met before: further up in this list, or in that of an earlier layer. */
static bool is_known_pair(const struct hwwfc_layer *layers, size_t layer, size_t at)
{
    const size_t other = layers[layer].neighbors[at];
    return is_named(layers[layer].neighbors, at, other) ||
           (other < layer &&
            is_named(layers[other].neighbors, layers[other].neighbor_count, layer));
}

void hwwfc_edges(struct arena *arena, const struct hwwfc_problem *problem, struct hwwfc_edges *out)
{
    const size_t n = problem->layer_count;
    size_t room = n, count = 0;
    for (size_t i = 0; i < n; i++)
        room += problem->layers[i].neighbor_count;
    size_t(*pairs)[2] = arena_alloc(arena, room, sizeof(*pairs), _Alignof(size_t));
    for (size_t i = 0; !problem->graph && i + 1 < n; i++, count++)
        pairs[count][0] = i, pairs[count][1] = i + 1;
    for (size_t i = 0; problem->graph && i < n; i++)
        for (size_t k = 0; k < problem->layers[i].neighbor_count; k++) {
            const size_t other = problem->layers[i].neighbors[k];
            if (is_known_pair(problem->layers, i, k))
                continue;
            pairs[count][0] = i < other ? i : other;
            pairs[count++][1] = i < other ? other : i;
        }
    *out = (struct hwwfc_edges){(const size_t(*)[2])pairs, count};
}

double hwwfc_unary_sum(const struct hwwfc_problem *problem, const struct hwwfc_scores *scores,
                       const size_t *states)
{
    double sum = 0.0;
    for (size_t i = 0; i < problem->layer_count; i++)
        sum += scores->of[i][states[i]];
    return sum;
}

double hwwfc_objective(const struct hwwfc_problem *problem, const struct hwwfc_scores *scores,
                       const struct hwwfc_edges *edges, double weight, const size_t *states)
{
    double penalties = 0.0;
    for (size_t i = 0; i < edges->count; i++) {
        struct hwwfc_state a = hwwfc_state(problem->tiles, states[edges->pairs[i][0]]);
        struct hwwfc_state b = hwwfc_state(problem->tiles, states[edges->pairs[i][1]]);
        penalties += weight * hwwfc_penalty(&a, &b);
    }
    return hwwfc_unary_sum(problem, scores, states) - penalties;
}

/* ---- code generation ---- */

int64_t hwwfc_warps(int64_t area)
{
    return area <= 1024 ? 2 : area <= 4096 ? 4 : area <= 16384 ? 8 : 16;
}

int64_t hwwfc_stages(int64_t area)
{
    return area <= 1024 ? 4 : area <= 4096 ? 3 : 2;
}

int64_t hwwfc_tile_k(int64_t k)
{
    for (int64_t step = 64; step >= 16; step /= 2)
        if (step <= k)
            return step;
    return k;
}

double hwwfc_adapt(double threshold, int64_t removed, int64_t target)
{
    double rate = (double)removed / (double)target;
    if (rate >= 0.20 && rate <= 0.60)
        return threshold;
    return threshold * (rate < 0.20 ? 0.6 + 2.0 * rate : 1.0 + 2.0 * (rate - 0.60));
}
