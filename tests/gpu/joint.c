/*
 * Plans of a spec, as kernels for a GPU; those that differ in the direction of their regions:
 *
 *     joint SPEC OUT [SHAPE]
 *
 *   forward    the cheapest choice of each region alone, which walks forwards
 *   joint      the cheapest plan by unary and pair terms (plan_graph and factor_solve)
 *   alternate  forward, but every second region walks backwards, whatever the model says of it
 *   counter    the same, but the first region does
 *
 * or, with COUNT, that many forward plans from all over the space that the realiser writes:
 *
 *     joint SPEC OUT SHAPE COUNT      an empty SHAPE is the spec's first target
 *
 *   N          the choices of each region fall into strata of equal primitives and threads.  Even N
 *              are the cheapest of strata, spread over all strata by predicted time, the cheapest
 * of all first; odd N are drawn from all choices by a fixed seed
 *
 * each in OUT/NAME: kernel.cu, manifest.json, plan.json.  A line a plan on stdout: name, predicted
 * seconds, directions of its regions (f, r).  Used by pack.sh.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#include "solver/cost/cost.h"
#include "solver/sched/sched.h"
#include "synth/synth.h"

struct job {
    struct arena *arena;
    const char *out;
    const struct op *op;
    const struct bound_op *bound;
    const struct machine *machine;
    const struct plan *skeleton;
    struct space space;
    struct factor_graph graph;
    size_t sample; /* plans; 0 = those that differ in directions */
};

enum { TEXT_BYTES_MAX = 16 << 20, FILE_BYTES_MAX = 1 << 20 };

static bool find_spec(void *context, struct arena *arena, struct str name, struct str *text)
{
    struct err err;
    char path[256];
    snprintf(path, sizeof(path), "%s/%.*s.json", (const char *)context, STR_ARG(name));
    return file_read(arena, path, FILE_BYTES_MAX, text, &err);
}

static bool read_machine(struct job *job, struct err *err)
{
    static const char path[] = "kernels/machines/h200-sxm.json";
    const struct json *json;
    struct str text;
    return file_read(job->arena, path, MACHINE_BYTES_MAX, &text, err) &&
           json_parse(job->arena, text, path, &json, err) &&
           machine_parse(job->arena, json, &job->machine, err);
}

static bool read_spec(struct job *job, const char *path, const char *shape, struct err *err)
{
    static const char folder[] = "kernels/ops";
    const struct op_library library = {find_spec, (void *)(uintptr_t)folder};
    struct formula_env dims;
    struct str text;
    if (!file_read(job->arena, path, FILE_BYTES_MAX, &text, err) ||
        !op_parse(job->arena, text, path, &library, &job->op, err))
        return false;
    if (shape == NULL)
        return op_bind_shape(job->arena, job->op, &job->op->targets[0], &job->bound, err);
    return op_parse_dims(job->arena, job->op, str_from(shape), &dims, err) &&
           op_bind(job->arena, job->op, &dims, &job->bound, err);
}

static bool make_space(struct job *job, struct err *err)
{
    const struct skeleton_limits limits = {.arch = job->machine->arch.at,
                                           .threads_max = job->machine->threads_per_block};
    return plan_skeleton(job->arena, job->bound, NULL, &limits, &job->skeleton, err) &&
           plan_space(job->arena, job->skeleton, job->bound, job->machine,
                      &(struct space_options){1, true}, &job->space, err) &&
           plan_graph(job->arena, job->skeleton, job->bound, job->machine, &job->space, &job->graph,
                      err);
}

/* ---- plans ---- */

static const struct plan *forward_plan(struct job *job)
{
    size_t *choices = arena_array(job->arena, size_t, job->space.domain_count);
    for (size_t r = 0; r < job->space.domain_count; r++) {
        const double *unary = job->graph.variables[r].unary;
        for (size_t i = 1; i < job->space.domains[r].count; i++)
            if (unary[i] < unary[choices[r]])
                choices[r] = i;
    }
    return space_plan(job->arena, job->skeleton, job->bound, &job->space, choices);
}

static const struct plan *joint_plan(struct job *job)
{
    const struct factor_options options = {.best_count = 1};
    struct factor_result result;
    size_t *choices = arena_array(job->arena, size_t, job->space.domain_count);
    factor_solve(job->arena, &job->graph, &options, &result);
    if (result.count == 0)
        return NULL;
    for (size_t r = 0; r < job->space.domain_count; r++)
        choices[r] = result.best[0].values[r];
    return space_plan(job->arena, job->skeleton, job->bound, &job->space, choices);
}

static const struct plan *alternating(struct job *job, const struct plan *forward, size_t first)
{
    struct plan *plan = arena_new(job->arena, struct plan);
    struct plan_region *regions =
        arena_array(job->arena, struct plan_region, forward->region_count);
    *plan = *forward;
    for (size_t r = 0; r < forward->region_count; r++) {
        regions[r] = forward->regions[r];
        regions[r].reverse = r % 2 == first;
    }
    plan->regions = regions;
    return plan;
}

/* ---- samples of the space ---- */

struct option {
    uint64_t stratum;
    double seconds;
    size_t choice;
};

static uint64_t stratum_of(const struct plan_region *region)
{
    uint64_t primitives = 0;
    for (size_t i = 0; i < PRIMITIVE_COUNT; i++)
        primitives |= (uint64_t)region_uses(region, (enum primitive)i) << i;
    return primitives << 16 | (uint64_t)region->threads[0];
}

static int by_seconds(const void *a, const void *b)
{
    const struct option *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    return (x->choice > y->choice) - (x->choice < y->choice);
}

/* The forward choices of a region, cheapest first. */
static struct option *options_of(struct job *job, size_t r, size_t *count)
{
    const struct space_domain *domain = &job->space.domains[r];
    struct option *all = arena_array(job->arena, struct option, domain->count + 1);
    *count = 0;
    for (size_t i = 0; i < domain->count; i++)
        if (!domain->choices[i].reverse)
            all[(*count)++] = (struct option){stratum_of(&domain->choices[i]),
                                              job->graph.variables[r].unary[i], i};
    qsort(all, *count, sizeof(all[0]), by_seconds);
    return all;
}

/* Of options in order, the first of each stratum. */
static size_t firsts_of(const struct option *all, size_t count, struct option *firsts)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < found && firsts[k].stratum != all[i].stratum)
            k++;
        if (k == found)
            firsts[found++] = all[i];
    }
    return found;
}

static size_t drawn(uint64_t number, size_t count)
{
    uint64_t x = (number + 1) * 0x9e3779b97f4a7c15; /* splitmix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return (size_t)((x ^ x >> 31) % count);
}

static size_t sample_choice(struct job *job, size_t r, size_t number)
{
    size_t count, even = (job->sample + 1) / 2;
    const struct option *all = options_of(job, r, &count);
    if (number % 2 == 1)
        return all[drawn(number, count)].choice;
    struct option *firsts = arena_array(job->arena, struct option, count + 1);
    size_t strata = firsts_of(all, count, firsts);
    return firsts[even > 1 ? number / 2 * (strata - 1) / (even - 1) : 0].choice;
}

static const struct plan *sample_plan(struct job *job, size_t number)
{
    size_t *choices = arena_array(job->arena, size_t, job->space.domain_count);
    for (size_t r = 0; r < job->space.domain_count; r++)
        choices[r] = sample_choice(job, r, number);
    return space_plan(job->arena, job->skeleton, job->bound, &job->space, choices);
}

/* ---- files ---- */

static bool write_json(struct job *job, const char *folder, const char *name,
                       const struct buf *text, struct err *err)
{
    struct str whole;
    struct buf copy = *text;
    return buf_finish(&copy, name, &whole, err) &&
           file_write(path_join(job->arena, folder, name), whole, err);
}

static bool write_plan(struct job *job, const char *name, const struct plan *plan, struct err *err)
{
    const char *folder = path_join(job->arena, job->out, name);
    struct emitted emitted;
    struct json_writer w;
    struct buf plan_json, manifest_json;
    if (!realise(job->arena, job->op, plan, job->machine->arch.at, &emitted, err) ||
        !file_make_dirs(folder, err) ||
        !file_write(path_join(job->arena, folder, "kernel.cu"), emitted.cuda, err))
        return false;
    buf_init(&plan_json, job->arena, TEXT_BYTES_MAX);
    json_writer_init(&w, &plan_json);
    plan_print(&w, plan);
    buf_init(&manifest_json, job->arena, TEXT_BYTES_MAX);
    json_writer_init(&w, &manifest_json);
    manifest_print(&w, emitted.manifest);
    return write_json(job, folder, "plan.json", &plan_json, err) &&
           write_json(job, folder, "manifest.json", &manifest_json, err);
}

static bool write_one(struct job *job, const char *name, const struct plan *plan, struct err *err)
{
    struct plan_cost cost;
    cost_plan(job->arena, plan, job->bound, job->machine, &cost);
    printf("%s\t%.9g\t", name, cost.seconds);
    for (size_t r = 0; r < plan->region_count; r++)
        putchar(plan->regions[r].reverse ? 'r' : 'f');
    putchar('\n');
    return write_plan(job, name, plan, err);
}

static bool write_sample(struct job *job, struct err *err)
{
    for (size_t i = 0; i < job->sample; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%zu", i);
        if (!write_one(job, name, sample_plan(job, i), err))
            return false;
    }
    return true;
}

static bool write_all(struct job *job, struct err *err)
{
    if (job->sample > 0)
        return write_sample(job, err);
    const struct plan *forward = forward_plan(job), *joint = joint_plan(job);
    if (joint == NULL)
        return err_raise(err, ERR_LIMIT, "no plan found within the solver's limits");
    return write_one(job, "forward", forward, err) && write_one(job, "joint", joint, err) &&
           write_one(job, "alternate", alternating(job, forward, 1), err) &&
           write_one(job, "counter", alternating(job, forward, 0), err);
}

int main(int argc, char **argv)
{
    struct arena arena;
    struct err err;
    if (argc < 3 || argc > 5) {
        fputs("usage: joint SPEC OUT [SHAPE [COUNT]]\n", stderr);
        return 2;
    }
    arena_init(&arena, (size_t)8 << 30);
    struct job job = {
        .arena = &arena, .out = argv[2], .sample = argc > 4 ? strtoul(argv[4], NULL, 10) : 0};
    const char *shape = argc > 3 && argv[3][0] != '\0' ? argv[3] : NULL;
    bool ok = read_machine(&job, &err) && read_spec(&job, argv[1], shape, &err) &&
              make_space(&job, &err) && write_all(&job, &err);
    if (!ok)
        fprintf(stderr, "%s: %s\n", argv[1], err.text);
    arena_release(&arena);
    return ok ? 0 : 1;
}
