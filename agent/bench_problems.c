/*
 * The problems of bench-solver: HW-WFC's workloads, long chains, plan spaces, grids.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"

#include "agent/bench_solver.h"

enum { LAYERS_MAX = 10000, SPEC_BYTES_MAX = 64 << 10, OPS_MAX = 256, COMPILE_RUNS = 10 };

static struct bench_problem *add(struct bench_problems *out, const char *group, const char *name)
{
    struct bench_problem *problem = &out->items[out->count++];
    *problem = (struct bench_problem){.group = group, .name = name, .unit = ""};
    return problem;
}

/* ---- HW-WFC's workloads ---- */

struct layer_shape {
    enum hwwfc_type type;
    int64_t dims[6]; /* in the order of dim_names of the type */
};

static const char *const dim_names[HWWFC_TYPE_COUNT][6] = {
    [HWWFC_LINEAR] = {"M", "N", "K"},
    [HWWFC_CONV2D] = {"H", "W", "C_in", "C_out", "KH", "KW"},
    [HWWFC_DEPTHWISE_CONV] = {"H", "W", "C", "KH", "KW"},
    [HWWFC_RELU] = {"M", "N"},
    [HWWFC_SOFTMAX] = {"M", "N"},
    [HWWFC_LAYERNORM] = {"M", "N"},
};

static const struct layer_shape attention[] = {
    {HWWFC_LINEAR, {2048, 192, 512}}, {HWWFC_LINEAR, {2048, 2048, 64}},
    {HWWFC_SOFTMAX, {2048, 2048}},    {HWWFC_LINEAR, {2048, 64, 2048}},
    {HWWFC_LINEAR, {2048, 512, 64}},  {HWWFC_LAYERNORM, {2048, 512}},
};
static const struct layer_shape toy_model[] = {
    {HWWFC_LINEAR, {256, 512, 256}},
    {HWWFC_RELU, {256, 512}},
    {HWWFC_LINEAR, {256, 128, 512}},
};
static const struct layer_shape resnet[] = {
    {HWWFC_CONV2D, {56, 56, 64, 64, 3, 3}},
    {HWWFC_LAYERNORM, {3136, 64}},
    {HWWFC_RELU, {3136, 64}},
    {HWWFC_CONV2D, {56, 56, 64, 64, 3, 3}},
    {HWWFC_LAYERNORM, {3136, 64}},
    {HWWFC_RELU, {3136, 64}},
    {HWWFC_RELU, {3136, 64}},
};
static const struct layer_shape mobilenet[] = {
    {HWWFC_CONV2D, {56, 56, 32, 192, 1, 1}},
    {HWWFC_DEPTHWISE_CONV, {56, 56, 192, 3, 3}},
    {HWWFC_RELU, {3136, 192}},
    {HWWFC_CONV2D, {56, 56, 192, 32, 1, 1}},
    {HWWFC_RELU, {3136, 32}},
};
static const struct layer_shape gpt2[] = {
    {HWWFC_LINEAR, {1024, 2304, 768}}, {HWWFC_LINEAR, {1024, 1024, 64}},
    {HWWFC_SOFTMAX, {1024, 1024}},     {HWWFC_LINEAR, {1024, 64, 1024}},
    {HWWFC_LINEAR, {1024, 768, 768}},  {HWWFC_LAYERNORM, {1024, 768}},
};
static const struct layer_shape bert[] = {
    {HWWFC_LINEAR, {512, 2304, 768}}, {HWWFC_LINEAR, {512, 512, 64}},
    {HWWFC_SOFTMAX, {512, 512}},      {HWWFC_LINEAR, {512, 64, 512}},
    {HWWFC_LINEAR, {512, 768, 768}},  {HWWFC_LAYERNORM, {512, 768}},
    {HWWFC_LINEAR, {512, 3072, 768}},
};
static const struct layer_shape linear_relu[] = {
    {HWWFC_LINEAR, {256, 512, 256}},
    {HWWFC_RELU, {256, 512}},
};

/* `skip` links the first layer with that one too: the residual edge; 0 = a chain. */
static const struct workload {
    const char *name, *tiles;
    const struct layer_shape *shapes;
    size_t shape_count, repeats, skip;
} workloads[] = {
    {"toy_model", "default", toy_model, COUNT_OF(toy_model), 1, 0},
    {"attention_block", "default", attention, COUNT_OF(attention), 1, 0},
    {"resnet_block_dag", "default", resnet, COUNT_OF(resnet), 1, 5},
    {"mobilenet_block", "default", mobilenet, COUNT_OF(mobilenet), 1, 4},
    {"gpt2_small", "large", gpt2, COUNT_OF(gpt2), 12, 0},
    {"bert_base", "large", bert, COUNT_OF(bert), 12, 0},
};

static struct hwwfc_layer make_layer(struct arena *arena, const struct layer_shape *shape,
                                     const uint16_t *candidates, size_t candidate_count)
{
    struct hwwfc_layer layer = {.name = str_from(hwwfc_type_name(shape->type)),
                                .type = shape->type,
                                .candidates = candidates,
                                .candidate_count = candidate_count,
                                .neighbors = arena_array(arena, size_t, 3)};
    for (size_t i = 0; i < 6 && dim_names[shape->type][i] != NULL; i++)
        layer.dims[layer.dim_count++] =
            (struct hwwfc_dim){str_from(dim_names[shape->type][i]), shape->dims[i]};
    return layer;
}

static void link_layers(struct hwwfc_layer *layers, size_t a, size_t b)
{
    ((size_t *)layers[a].neighbors)[layers[a].neighbor_count++] = b;
    ((size_t *)layers[b].neighbors)[layers[b].neighbor_count++] = a;
}

static const struct hwwfc_problem *make_hwwfc(struct arena *arena, const struct workload *workload,
                                              const struct hwwfc_spec *spec)
{
    struct hwwfc_problem *problem = arena_new(arena, struct hwwfc_problem);
    const size_t count = workload->shape_count * workload->repeats;
    struct hwwfc_layer *layers = arena_array(arena, struct hwwfc_layer, count);
    const struct hwwfc_tiles *tiles = hwwfc_tiles_named(str_from(workload->tiles));
    uint16_t *all = arena_array(arena, uint16_t, hwwfc_state_count(tiles));
    for (size_t i = 0; i < hwwfc_state_count(tiles); i++)
        all[i] = (uint16_t)i;
    for (size_t i = 0; i < count; i++)
        layers[i] = make_layer(arena, &workload->shapes[i % workload->shape_count], all,
                               hwwfc_state_count(tiles));
    if (workload->skip > 0) {
        link_layers(layers, 0, workload->skip);
        for (size_t i = 0; i + 1 < count; i++)
            link_layers(layers, i, i + 1);
    }
    *problem = (struct hwwfc_problem){spec, tiles, layers, count, workload->skip > 0};
    return problem;
}

/* Scores and graph; the least time of a few, since the first runs on cold memory. */
static bool compile(struct arena *arena, struct bench_problem *problem, struct err *err)
{
    const double weight = hwwfc_weight(problem->hwwfc->spec->sram_bytes);
    problem->compile_us = INFINITY;
    for (int run = 0; run < COMPILE_RUNS; run++) {
        struct hwwfc_scores *scores = arena_new(arena, struct hwwfc_scores);
        const int64_t start_ns = clock_mono_ns();
        if (!hwwfc_scores(arena, problem->hwwfc, scores, err))
            return false;
        hwwfc_graph(arena, problem->hwwfc, scores, weight, INFINITY, &problem->graph);
        const int64_t end_ns = clock_mono_ns();
        problem->scores = scores;
        problem->compile_us = fmin(problem->compile_us, (double)(end_ns - start_ns) / 1e3);
    }
    return true;
}

static bool add_hwwfc(struct arena *arena, const char *group, const char *name,
                      const struct workload *workload, const struct hwwfc_spec *spec,
                      struct bench_problems *out, struct err *err)
{
    struct bench_problem *added = add(out, group, name);
    added->hwwfc = make_hwwfc(arena, workload, spec);
    return compile(arena, added, err);
}

static bool load_spec(struct session *session, const char *name, const struct hwwfc_spec **out,
                      struct err *err)
{
    struct arena *arena = session->arena;
    const struct json *json;
    struct str text;
    if (session->env.ops_folder == NULL)
        return err_raise(err, ERR_IO, "kernels/machines is not where this program was built");
    char *folder = path_join(arena, path_dir(arena, session->env.ops_folder), "machines/hwwfc");
    char *path = path_join(arena, folder, name);
    return file_read(arena, path, SPEC_BYTES_MAX, &text, err) &&
           json_parse(arena, text, path, &json, err) && hwwfc_spec_parse(arena, json, out, err);
}

bool bench_hwwfc(struct session *session, struct bench_problems *out, struct err *err)
{
    static const char *const specs[] = {"toy_gpu", "tight_gpu", "stress_gpu",
                                        "rtx3060", "a100",      "h100"};
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        const struct hwwfc_spec *spec;
        struct buf file;
        buf_init(&file, session->arena, 64);
        buf_printf(&file, "%s.json", specs[i]);
        if (!load_spec(session, file.at, &spec, err))
            return false;
        for (size_t k = 0; k < COUNT_OF(workloads); k++)
            if (!add_hwwfc(session->arena, specs[i], workloads[k].name, &workloads[k], spec, out,
                           err))
                return false;
    }
    return true;
}

/* ---- random costs ---- */

struct random_costs {
    struct rng *rng;
    uint32_t forbidden_percent;
};

static double random_cost(const void *context, size_t row UNUSED, size_t column UNUSED)
{
    const struct random_costs *random = context;
    if (rng_below(random->rng, 100) < random->forbidden_percent)
        return INFINITY;
    return rng_u32(random->rng) / 0x1p32;
}

static void random_variables(struct arena *arena, struct rng *rng,
                             struct factor_variable *variables, size_t count, size_t values)
{
    const struct factor_domain *domain = factor_domain_whole(arena, values);
    for (size_t i = 0; i < count; i++) {
        double *unary = arena_array(arena, double, values);
        for (size_t x = 0; x < values; x++)
            unary[x] = rng_u32(rng) / 0x1p32;
        variables[i] = (struct factor_variable){STR_LIT("random"), domain, unary};
    }
}

/* ---- chains ---- */

/* Each variable has costs of its own; one table, so that 10,000 of them stay small. */
static void add_random_chain(struct arena *arena, const char *name, size_t count,
                             struct bench_problems *out)
{
    enum { VALUES = 45 };
    struct factor_variable *variables = arena_array(arena, struct factor_variable, count);
    struct factor_edge *edges = arena_array(arena, struct factor_edge, count);
    struct rng rng;
    rng_init(&rng, count);
    const struct random_costs random = {&rng, 0};
    const struct factor_table *table = factor_table(arena, VALUES, VALUES, random_cost, &random);
    random_variables(arena, &rng, variables, count, VALUES);
    for (size_t i = 0; i + 1 < count; i++)
        edges[i] = (struct factor_edge){i, i + 1, table};
    add(out, "random chain", name)->graph =
        (struct factor_graph){variables, count, edges, count - 1};
}

bool bench_chains(struct session *session, struct bench_problems *out, struct err *err)
{
    static const struct {
        const char *name;
        size_t count;
    } lengths[] = {{"100", 100}, {"200", 200}, {"1000", 1000}, {"10000", LAYERS_MAX}};
    const struct hwwfc_spec *spec;
    if (!load_spec(session, "toy_gpu.json", &spec, err))
        return false;
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        const struct workload chain = {lengths[i].name,      "default",
                                       linear_relu,          COUNT_OF(linear_relu),
                                       lengths[i].count / 2, 0};
        if (!add_hwwfc(session->arena, "Linear/ReLU", lengths[i].name, &chain, spec, out, err))
            return false;
    }
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        add_random_chain(session->arena, lengths[i].name, lengths[i].count, out);
    return true;
}

/* ---- grids ---- */

static void add_grid(struct arena *arena, const char *name, size_t side, size_t values,
                     uint32_t forbidden_percent, struct bench_problems *out)
{
    const size_t count = side * side;
    struct factor_variable *variables = arena_array(arena, struct factor_variable, count);
    struct factor_edge *edges = arena_array(arena, struct factor_edge, 2 * count);
    size_t edge_count = 0;
    struct rng rng;
    rng_init(&rng, side);
    const struct random_costs random = {&rng, forbidden_percent};
    random_variables(arena, &rng, variables, count, values);
    for (size_t i = 0; i < count; i++) {
        const size_t next[2] = {i % side + 1 < side ? i + 1 : count, i + side};
        for (size_t k = 0; k < 2; k++)
            if (next[k] < count)
                edges[edge_count++] = (struct factor_edge){
                    i, next[k], factor_table(arena, values, values, random_cost, &random)};
    }
    add(out, "grid", name)->graph = (struct factor_graph){variables, count, edges, edge_count};
}

void bench_grids(struct session *session, struct bench_problems *out)
{
    add_grid(session->arena, "4x4, 8 values", 4, 8, 20, out);
    add_grid(session->arena, "6x6, 8 values", 6, 8, 20, out);
    add_grid(session->arena, "8x8, 8 values", 8, 8, 20, out);
    add_grid(session->arena, "12x12, 16 values", 12, 16, 40, out);
    add_grid(session->arena, "20x20, 16 values", 20, 16, 40, out);
}

/* ---- plan spaces ---- */

static bool add_plans(struct session *session, const char *path, const char *name,
                      const struct machine *machine, struct bench_problems *out, struct err *err)
{
    const struct skeleton_limits limits = {.arch = str_copy(session->arena, machine->arch),
                                           .threads_max = machine->threads_per_block};
    const struct op *op;
    const struct bound_op *bound;
    const struct plan *skeleton;
    struct space space;
    struct factor_graph graph;
    if (!session_spec(session, path, &op, err) ||
        !op_bind_shape(session->arena, op, &op->targets[0], &bound, err) ||
        !plan_skeleton(session->arena, bound, NULL, &limits, &skeleton, err) ||
        !plan_space(session->arena, skeleton, bound, machine,
                    &(struct space_options){.plans_max = 1, .realisable = true}, &space, err))
        return false;
    const int64_t start_ns = clock_mono_ns();
    if (!plan_graph(session->arena, skeleton, bound, machine, &space, &graph, err))
        return false;
    const int64_t end_ns = clock_mono_ns();
    struct bench_problem *added = add(out, "plans", name);
    added->graph = graph;
    added->unit = "s";
    added->compile_us = (double)(end_ns - start_ns) / 1e3;
    return true;
}

bool bench_plans(struct session *session, struct bench_problems *out, struct err *err)
{
    const struct machine *machine;
    const char *const *names;
    size_t count;
    if (!session_machine(session, NULL, &machine, err) ||
        !file_list(session->arena, session->env.ops_folder, ".json", OPS_MAX, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        char *name =
            str_copy(session->arena, (struct str){names[i], strlen(names[i]) - strlen(".json")});
        char *path = path_join(session->arena, session->env.ops_folder, names[i]);
        if (add_plans(session, path, name, machine, out, err))
            continue;
        if (err->code != ERR_UNSUPPORTED && err->code != ERR_LIMIT)
            return false;
        fprintf(stderr, "%s is left out: %s\n", name, err->text);
    }
    return true;
}
