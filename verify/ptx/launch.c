/*
 * Launches: checks, memory as the launch sees it, and the report.
 *
 * Invariant: nothing outlives ptx_launch but the report's strings, which are in the caller's arena.
 */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"

#include "verify/ptx/fault_int.h"
#include "verify/ptx/mem_int.h"
#include "verify/ptx/warp_int.h"

enum {
    THREADS_MAX = 1024,
    PRINTED_BYTES_MAX = 4096,
    CLUSTER_BLOCKS_MAX = 16,
    CALL_WINDOWS_BYTES_MAX = 1 << 19, /* registers of one warp's callees */
    WORKSPACE_BYTES = 4096,
};
#define LAUNCH_ARENA_MAX ((size_t)4 << 30)

/* ---- before ---- */

static bool check_shape(struct run *run, const struct ptx_entry *entry)
{
    const struct ptx_launch *l = run->launch;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1];
    threads = threads > THREADS_MAX ? threads : threads * l->block[2];
    uint64_t limit = 1;
    bool limited = entry->max_threads[0] > 0;
    for (int i = 0; i < 3; i++)
        limit *= entry->max_threads[i] ? entry->max_threads[i] : 1;
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1];
    bool grid_fits = l->grid[0] <= INT32_MAX && l->grid[1] <= 65535 && l->grid[2] <= 65535;
    if (threads == 0 || blocks == 0 || l->grid[2] == 0)
        fault_launch(run, "a launch with no threads");
    else if (threads > THREADS_MAX || l->block[2] > 64)
        fault_launch(run, "%u x %u x %u threads a block, more than 1024", l->block[0], l->block[1],
                     l->block[2]);
    else if (limited && threads > limit)
        fault_launch(run, "%u threads a block, but the kernel is bound to %u", (unsigned)threads,
                     (unsigned)limit);
    else if (!grid_fits)
        fault_launch(run, "a grid of %u x %u x %u blocks is too large", l->grid[0], l->grid[1],
                     l->grid[2]);
    run->threads = (uint32_t)threads;
    run->warps = (uint32_t)((threads + LANES - 1) / LANES);
    run->grid_blocks = blocks * l->grid[2];
    return !run->faulted;
}

static bool check_cluster(struct run *run, const struct ptx_entry *entry)
{
    const struct ptx_launch *l = run->launch;
    run->cluster_size = 1;
    for (int i = 0; i < 3; i++) {
        uint32_t dim = l->cluster[i] ? l->cluster[i] : entry->cluster[i];
        run->cluster_dims[i] = dim ? dim : 1;
        if (run->cluster_dims[i] > CLUSTER_BLOCKS_MAX || l->grid[i] % run->cluster_dims[i]) {
            fault_launch(run, "the grid is no multiple of clusters of %u blocks",
                         run->cluster_dims[i]);
            return false;
        }
        run->cluster_size *= run->cluster_dims[i];
        run->grid_clusters[i] = l->grid[i] / run->cluster_dims[i];
    }
    if (run->cluster_size > CLUSTER_BLOCKS_MAX)
        fault_launch(run, "clusters of %u blocks, more than %d", run->cluster_size,
                     CLUSTER_BLOCKS_MAX);
    return !run->faulted;
}

static bool check_shared(struct run *run, const struct ptx_entry *entry)
{
    const struct ptx_launch *l = run->launch;
    size_t fixed = (entry->shared_bytes + 15) / 16 * 16;
    run->dynamic_shared = (uint32_t)fixed;
    size_t base = l->dynamic_shared || entry->uses_dynamic_shared ? fixed : entry->shared_bytes;
    if (l->dynamic_shared > l->shared_bytes_max || base > l->shared_bytes_max - l->dynamic_shared)
        fault_launch(run, "%zu bytes of shared memory a block, more than the machine's %zu",
                     base + l->dynamic_shared, l->shared_bytes_max);
    run->shared_bytes = (uint32_t)(base + l->dynamic_shared);
    if (base + l->dynamic_shared > SHARED_ADDR_MASK - SHARED_BASE)
        fault_launch(run, "shared memory larger than an address holds");
    return !run->faulted;
}

static bool check_buffers(struct run *run)
{
    for (uint64_t i = 0; i < run->memory->region_count; i++)
        if (run->memory->regions[i].bytes > UINT32_MAX - SHADOW_PAGE_BYTES) {
            fault_launch(run, "buffer '%s' is larger than 4 GB", run->memory->regions[i].name);
            return false;
        }
    return true;
}

/* Registers of the entry, and of callees one behind another. */
static bool size_windows(struct run *run, const struct ptx_entry *entry)
{
    const struct func *f = run->entry;
    run->window_bytes = f->window_bytes;
    run->predicate_count = f->predicates;
    run->local_bytes = (uint32_t)(entry->local_bytes + 15) / 16 * 16;
    run->calls = f->callee_count > 0;
    run->taints = f->tainted_count + f->tainted_pred_count > 0;
    if (run->calls) {
        for (size_t i = 0; i < run->module->func_count; i++)
            run->taints |= run->module->funcs[i].tainted_count > 0;
        run->window_bytes += CALL_WINDOWS_BYTES_MAX;
        run->predicate_count += PREDICATES_MAX;
    }
    if (block_bytes(run) * run->cluster_size > RESIDENT_BYTES_MAX)
        fault_launch(run, "one block takes more memory than the emulator has");
    return !run->faulted;
}

static void make_poison(struct run *run)
{
    struct rng rng;
    rng_init(&rng, run->launch->poison_seed);
    unsigned char *raw = arena_alloc(run->arena, POISON_BYTES + 64, 1, 16);
    run->poison = raw + (64 - (uintptr_t)raw % 64) % 64;
    for (size_t i = 0; i < POISON_BYTES; i += 4) {
        /* Finite as f32, and both halves finite as f16 and bf16. */
        uint32_t word = (rng_u32(&rng) & 0xbbffbbff) | 0x30003000;
        memcpy(run->poison + i, &word, sizeof(word));
    }
}

/* The launch's own view of memory: race shadows start empty, the grid's workspace is added. */
static void make_regions(struct run *run)
{
    struct ptx_memory *memory = run->memory;
    size_t count = memory->region_count;
    run->regions = arena_array(run->arena, struct region, count + 1);
    memcpy(run->regions, memory->regions, count * sizeof(*run->regions));
    run->region_count = count;
    for (size_t i = 0; i < count && run->check; i++) {
        struct region *r = &run->regions[i];
        if (!r->writable || !r->buffer)
            continue;
        size_t pages = r->bytes / SHADOW_PAGE_BYTES + 1;
        r->pages = arena_array(run->arena, struct shadow *, pages);
    }
    if (run->launch->cooperative) {
        struct region *r = &run->regions[run->region_count++];
        r->data = arena_array(run->arena, unsigned char, WORKSPACE_BYTES);
        r->bytes = WORKSPACE_BYTES;
        r->name = "grid workspace";
        r->writable = true;
        r->base = WINDOW_BASE(WINDOW_FIRST_REGION + count);
        run->grid_workspace = r->base;
    }
    unsigned char *params = arena_array(run->arena, unsigned char, run->launch->param_bytes + 64);
    if (run->launch->param_bytes)
        memcpy(params, run->launch->params, run->launch->param_bytes);
    run->params = (struct region){.data = params,
                                  .base = WINDOW_BASE(WINDOW_PARAM),
                                  .bytes = run->launch->param_bytes,
                                  .name = "parameters"};
}

/* ---- after ---- */

static void report(struct run *run, struct arena *arena)
{
    struct ptx_report *out = run->report;
    out->counts = run->counts;
    out->counts.warp_insns = run->executed;
    out->communicates = run->communicates;
    if (run->printed->len > 0)
        out->printed = str_copy(arena, buf_view(run->printed));
}

static void execute(struct run *run, const struct ptx_entry *entry)
{
    if (entry->unsupported) {
        run->faulted = true;
        run->fault->kind = PTX_FAULT_UNSUPPORTED;
        run->fault->ptx_line = entry->unsupported_line;
        snprintf(run->fault->text, PTX_FAULT_TEXT_BYTES, "unsupported (%s)", entry->unsupported);
        return;
    }
    if (!check_shape(run, entry) || !check_cluster(run, entry) || !check_shared(run, entry) ||
        !check_buffers(run) || !size_windows(run, entry))
        return;
    make_poison(run);
    make_regions(run);
    schedule_run(run);
}

bool ptx_launch(struct arena *arena, const struct ptx_module *module, struct ptx_memory *memory,
                const struct ptx_launch *launch, struct ptx_report *out, struct err *err)
{
    const struct ptx_entry *entry = ptx_entry_find(module, launch->entry);
    if (!entry)
        return err_raise(err, ERR_SEMANTIC, "the module has no kernel '%s'", launch->entry);
    if (launch->param_bytes != entry->param_bytes)
        return err_raise(err, ERR_SEMANTIC, "kernel '%s' takes %zu bytes of parameters, not %zu",
                         launch->entry, entry->param_bytes, launch->param_bytes);
    struct arena scratch;
    struct buf printed;
    arena_init(&scratch, LAUNCH_ARENA_MAX);
    buf_init(&printed, &scratch, PRINTED_BYTES_MAX);
    *out = (struct ptx_report){0};
    struct run run = {
        .module = module,
        .entry = &module->funcs[module->entry_funcs[entry - module->entries]],
        .launch = launch,
        .memory = memory,
        .report = out,
        .fault = &out->fault,
        .check = launch->check,
        .shared_grain = module->shared_grain,
        .global_grain = module->global_grain,
        .time = 1,
        .arena = &scratch,
        .printed = &printed,
    };
    execute(&run, entry);
    report(&run, arena);
    arena_release(&scratch);
    return true;
}
