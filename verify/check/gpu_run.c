/*
 * One execution of a candidate on the GPU: every kernel of its manifest, in order, once.
 *
 * Method: all its memory lies in one pool, which is poisoned as a whole before each launch; buffers
 * come to lie in another order, at other distances.  What the launch must leave alone (inputs,
 * gaps, the ends of the pool) is summed before and after by a kernel of ours, with a seed that the
 * candidate cannot know.  Then caches are flushed and shared memory is overwritten, and only then
 * do the candidate's kernels run, between two time stamps.
 *
 * Checked and timed launches go the same way to the last bit of it, so no candidate can tell them
 * apart.
 *
 * Leaves out: reads beyond a buffer that stay inside the pool; the emulator decides those, and here
 * they find other poison each time.
 */
#include <string.h>

#include "base/panic.h"

#include "verify/check/on_gpu_int.h"

enum { WORKSPACE_ALIGN = 256, POOL_BYTES_MIN = 64 << 20 };

enum owner { OWNER_TENSOR, OWNER_WORKSPACE };

struct layout {
    struct place *places;
    bool *writable;
    enum owner *owners;
    size_t *which; /* tensor or workspace */
    size_t count;
    size_t *of_tensor, *of_workspace; /* place */
};

/* ---- layout ---- */

static size_t add(struct layout *layout, struct place place, enum owner owner, size_t which,
                  bool writable)
{
    const size_t at = layout->count++;

    layout->places[at] = place;
    layout->owners[at] = owner;
    layout->which[at] = which;
    layout->writable[at] = writable;
    return at;
}

static void add_tensors(struct layout *layout, const struct bound_op *bound, bool alias)
{
    const struct op *op = bound->op;

    for (size_t t = 0; t < op->declared_count; t++)
        if (tensor_is_fed(op, t))
            layout->of_tensor[t] = add(layout,
                                       (struct place){.bytes = (size_t)bound->tensors[t].bytes,
                                                      .align = (size_t)op->tensors[t].align},
                                       OWNER_TENSOR, t, false);
    for (size_t t = 0; t < op->declared_count; t++) {
        const size_t other = op->tensors[t].may_alias;

        if (!tensor_is_output(op, t))
            continue;
        if (alias && other != OP_NONE && bound->tensors[other].bytes == bound->tensors[t].bytes) {
            layout->of_tensor[t] = layout->of_tensor[other];
            layout->writable[layout->of_tensor[t]] = true;
            continue;
        }
        layout->of_tensor[t] = add(layout,
                                   (struct place){.bytes = (size_t)bound->tensors[t].bytes,
                                                  .align = (size_t)op->tensors[t].align},
                                   OWNER_TENSOR, t, true);
    }
}

static bool make_layout(struct arena *arena, struct gpu_program *program,
                        const struct bound_op *bound, bool alias, struct layout *out,
                        struct err *err)
{
    const size_t workspaces = program->manifest->workspace_count;
    const size_t most = bound->op->declared_count + workspaces + 1;
    size_t *bytes = arena_array(arena, size_t, workspaces + 1);

    *out = (struct layout){
        .places = arena_array(arena, struct place, most),
        .writable = arena_array(arena, bool, most),
        .owners = arena_array(arena, enum owner, most),
        .which = arena_array(arena, size_t, most),
        .of_tensor = arena_array(arena, size_t, most),
        .of_workspace = arena_array(arena, size_t, most),
    };
    if (!gpu_workspaces(program, bound, bytes, err))
        return false;
    add_tensors(out, bound, alias);
    for (size_t w = 0; w < workspaces; w++)
        out->of_workspace[w] = add(out, (struct place){.bytes = bytes[w], .align = WORKSPACE_ALIGN},
                                   OWNER_WORKSPACE, w, true);
    return true;
}

bool gpu_pool_bytes(struct gpu_program *program, const struct bound_op *bound, size_t *out,
                    struct err *err)
{
    struct layout layout;
    struct arena scratch;
    bool ok;

    arena_init(&scratch, 64 << 20);
    ok = make_layout(&scratch, program, bound, false, &layout, err);
    if (ok) {
        const size_t bytes = place_bytes_min(layout.places, layout.count);

        *out = bytes + bytes / 2 + POOL_BYTES_MIN;
    }
    arena_release(&scratch);
    return ok;
}

/* ---- one execution ---- */

struct execution {
    struct gpu_bed *bed;
    struct arena *scratch;
    struct gpu_run *run;
    struct layout layout;
    struct keep *keeps;
    size_t keep_count;
    uint64_t *before, *after; /* by keep */
    uint64_t *tensors, *workspaces;
    uint64_t seed;
};

static bool place(struct execution *e, struct rng *rng, struct err *err)
{
    const struct bound_op *bound = e->run->data.bound;
    struct gpu_bed *bed = e->bed;
    struct layout *layout = &e->layout;

    if (!make_layout(e->scratch, &bed->program, bound, e->run->alias, layout, err))
        return false;
    if (!place_all(e->scratch, rng, bed->pool_bytes, e->run->weakest, layout->places,
                   layout->count)) {
        bed->program.validity = VALIDITY_RESOURCES;
        return err_raise(err, ERR_LIMIT, "tensors and workspaces do not fit in the GPU's memory");
    }
    e->keeps = arena_array(e->scratch, struct keep, 2 * layout->count + 1);
    e->keep_count = place_keeps(e->scratch, bed->pool_bytes, layout->places, layout->writable,
                                layout->count, e->keeps);
    e->before = arena_array(e->scratch, uint64_t, e->keep_count);
    e->after = arena_array(e->scratch, uint64_t, e->keep_count);
    e->tensors = arena_array(e->scratch, uint64_t, bound->op->tensor_count + 1);
    e->workspaces = arena_array(e->scratch, uint64_t, layout->count + 1);
    for (size_t t = 0; t < bound->op->declared_count; t++)
        e->tensors[t] = bed->pool + layout->places[layout->of_tensor[t]].offset;
    for (size_t w = 0; w < bed->program.manifest->workspace_count; w++)
        e->workspaces[w] = bed->pool + layout->places[layout->of_workspace[w]].offset;
    return true;
}

static bool fill_all(struct execution *e, struct err *err)
{
    const struct op *op = e->run->data.bound->op;

    if (!gpu_poison(&e->bed->tools, e->bed->pool, e->bed->pool_bytes, e->seed, err))
        return false;
    for (size_t t = 0; t < op->declared_count; t++)
        if (tensor_is_fed(op, t) &&
            !gpu_fill(&e->bed->tools, e->scratch, &e->run->data, t, e->tensors[t], err))
            return err_context(err, "tensor %.*s", STR_ARG(op->tensors[t].name));
    return true;
}

static bool sum_keeps(struct execution *e, uint64_t *sums, struct err *err)
{
    return gpu_checksum(&e->bed->tools, e->scratch, e->bed->pool, e->keeps, e->keep_count,
                        e->seed + 1, sums, err);
}

static bool launch(struct execution *e, struct err *err)
{
    const struct gpu_addresses addresses = {e->tensors, e->workspaces};
    const struct bound_op *bound = e->run->data.bound;
    struct gpu_bed *bed = e->bed;

    return gpu_program_queue(e->scratch, &bed->program, bound, &addresses, GPU_STAGE_PREPARE,
                             err) &&
           gpu_wait(bed->gpu, bed->launch_ms, err) && gpu_scrub(&bed->tools, e->seed + 2, err) &&
           gpu_flush(&bed->tools, e->seed + 3, err) && gpu_mark(bed->gpu, 0, err) &&
           gpu_program_queue(e->scratch, &bed->program, bound, &addresses, GPU_STAGE_RUN, err) &&
           gpu_mark(bed->gpu, 1, err) && gpu_wait(bed->gpu, bed->launch_ms, err) &&
           gpu_elapsed(bed->gpu, &e->run->time_ns, err);
}

static const char *buffer_name(struct execution *e, size_t at)
{
    const struct str name = e->layout.owners[at] == OWNER_TENSOR
                                ? e->run->data.bound->op->tensors[e->layout.which[at]].name
                                : e->bed->program.manifest->workspaces[e->layout.which[at]].name;

    return str_copy(e->scratch, name);
}

/* The buffer that ends where the zone begins, or the one behind it. */
static const char *neighbour(struct execution *e, const struct keep *zone)
{
    for (size_t i = 0; i < e->layout.count; i++) {
        const struct place *place = &e->layout.places[i];

        if ((int64_t)(place->offset + place->bytes) == zone->begin ||
            (int64_t)place->offset == zone->end)
            return buffer_name(e, i);
    }
    return "(none)";
}

static void inspect(struct execution *e)
{
    for (size_t i = 0; i < e->keep_count; i++) {
        if (e->before[i] == e->after[i])
            continue;
        if (e->keeps[i].place == SIZE_MAX)
            e->run->broken_zone = neighbour(e, &e->keeps[i]);
        else
            e->run->changed_input = buffer_name(e, e->keeps[i].place);
    }
}

bool gpu_execute(struct gpu_bed *bed, struct arena *scratch, struct gpu_run *run, struct err *err)
{
    struct execution e = {.bed = bed, .scratch = scratch, .run = run};
    struct rng rng;

    bed->program.validity = VALIDITY_ACCEPTED;
    rng_init(&rng, run->salt);
    e.seed = (uint64_t)rng_u32(&rng) << 32 | rng_u32(&rng);
    run->broken_zone = run->changed_input = NULL;
    if (!place(&e, &rng, err) || !fill_all(&e, err) || !sum_keeps(&e, e.before, err) ||
        !launch(&e, err) || !sum_keeps(&e, e.after, err))
        return false;
    inspect(&e);
    run->outputs = e.tensors;
    return true;
}
