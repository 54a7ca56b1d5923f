/*
 * One execution of a candidate on the emulator: every kernel of its manifest, in order.
 *
 * Problem: a candidate may lean on anything that is not promised: memory that happens to be zero,
 * neighbours that happen to be mapped, pointers that happen to be aligned, buffers that happen to
 * be where they were.  So every execution gets fresh copies of the inputs, outputs and workspaces
 * with random finite contents, addresses in another order and with another offset, and decoys
 * between them.  Inputs cannot be written, and are compared with the originals afterwards all the
 * same.
 *
 * Method: each buffer lies in host memory between two red zones with random contents.  The emulator
 * decides bounds exactly; the zones are a second, independent witness.
 *
 * Leaves out: tensor maps, which only the GPU path can encode; they end as `unsupported`.
 */
#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "base/panic.h"
#include "base/rng.h"

#include "verify/check/check_int.h"

enum { ZONE_BYTES = 256, DECOYS_MAX = 3, OFFSET_MAX = 4096, WORKSPACE_ALIGN = 256 };

/* What a buffer is for. */
enum use { USE_INPUT, USE_OUTPUT, USE_SHARED, USE_WORKSPACE, USE_DECOY };

struct slot {
    enum use use;
    size_t owner;  /* tensor or workspace */
    uint8_t *host; /* the block: zone, contents, zone */
    size_t bytes;
    uint64_t zone_seed;
    struct ptx_buffer *buffer;
};

struct session {
    struct arena *arena;
    const struct subject *subject;
    const struct dataset *set;
    const struct run_options *options;
    struct rng rng;
    struct slot *slots;
    size_t slot_count;
    struct ptx_buffer *buffers;
    size_t *slot_of_tensor, *slot_of_workspace;
    struct ptx_memory *memory;
    struct run *run;
};

/* ---- contents ---- */

static void random_bytes(uint64_t seed, uint8_t *out, size_t bytes)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (size_t i = 0; i < bytes; i += 4) {
        const uint32_t word = rng_u32(&rng);

        memcpy(out + i, &word, bytes - i < 4 ? bytes - i : 4);
    }
}

static bool random_bytes_match(uint64_t seed, const uint8_t *at, size_t bytes)
{
    uint8_t zone[ZONE_BYTES];

    random_bytes(seed, zone, bytes);
    return memcmp(zone, at, bytes) == 0;
}

/* Plausible values of the tensor's type that no kernel computed. */
static void poison(struct rng *rng, enum dtype dtype, void *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t word = rng_u32(rng);

        if (dtype_is_float(dtype))
            elem_from_double(dtype, out, i, ((double)word - 2147483648.0) / 536870912.0);
        else
            elem_from_int(dtype, out, i, (int64_t)(int32_t)word);
    }
}

/* ---- buffers ---- */

static struct slot *slot_new(struct session *s, enum use use, size_t owner, size_t bytes)
{
    struct slot *slot = &s->slots[s->slot_count++];

    *slot = (struct slot){.use = use, .owner = owner, .bytes = bytes};
    slot->host = arena_alloc(s->arena, bytes + 2 * ZONE_BYTES + 64, 1, 64);
    slot->zone_seed = ((uint64_t)rng_u32(&s->rng) << 32) | rng_u32(&s->rng);
    random_bytes(slot->zone_seed, slot->host, ZONE_BYTES);
    random_bytes(slot->zone_seed + 1, slot->host + ZONE_BYTES + bytes, ZONE_BYTES);
    return slot;
}

static void tensor_slots(struct session *s)
{
    const struct bound_op *bound = s->set->bound;
    const struct op *op = bound->op;

    for (size_t t = 0; t < op->declared_count; t++) {
        const size_t bytes = (size_t)bound->tensors[t].bytes;

        if (!tensor_is_fed(op, t))
            continue;
        s->slot_of_tensor[t] = s->slot_count;
        memcpy(slot_new(s, USE_INPUT, t, bytes)->host + ZONE_BYTES, s->set->data[t], bytes);
    }
    for (size_t t = 0; t < op->declared_count; t++) {
        const size_t other = op->tensors[t].may_alias;
        const size_t bytes = (size_t)bound->tensors[t].bytes;

        if (!tensor_is_output(op, t))
            continue;
        if (s->options->alias && other != OP_NONE &&
            bound->tensors[other].bytes == bound->tensors[t].bytes) {
            s->slot_of_tensor[t] = s->slot_of_tensor[other];
            s->slots[s->slot_of_tensor[other]].use = USE_SHARED;
            continue;
        }
        s->slot_of_tensor[t] = s->slot_count;
        poison(&s->rng, op->tensors[t].dtype, slot_new(s, USE_OUTPUT, t, bytes)->host + ZONE_BYTES,
               (size_t)bound->tensors[t].count);
    }
}

static bool refuse_run(struct session *s, enum validity validity, const char *reason)
{
    s->run->launch_refused = true;
    s->run->refusal = validity;
    s->run->reason = reason;
    return false;
}

enum { WORKSPACE_BYTES_MAX = 1 << 30 };

static bool workspace_slots(struct session *s)
{
    const struct manifest *manifest = s->subject->manifest;

    for (size_t w = 0; w < manifest->workspace_count; w++) {
        const struct manifest_workspace *workspace = &manifest->workspaces[w];
        struct slot *slot;
        int64_t bytes;
        struct err err;

        if (!formula_eval(workspace->bytes, &s->set->bound->env, &bytes, &err))
            return refuse_run(s, VALIDITY_LAUNCH_ERROR, str_copy(s->arena, str_from(err.text)));
        if (bytes < 0 || bytes > WORKSPACE_BYTES_MAX)
            return refuse_run(s, VALIDITY_RESOURCES,
                              "a workspace has a negative size or more than 1 GiB at this shape");
        s->slot_of_workspace[w] = s->slot_count;
        slot = slot_new(s, USE_WORKSPACE, w, (size_t)bytes);
        if (workspace->zero)
            memset(slot->host + ZONE_BYTES, 0, (size_t)bytes);
        else
            poison(&s->rng, DTYPE_F32, slot->host + ZONE_BYTES, (size_t)bytes / 4);
    }
    return true;
}

static size_t slot_align(const struct session *s, const struct slot *slot)
{
    switch (slot->use) {
    case USE_INPUT:
    case USE_OUTPUT:
    case USE_SHARED:
        return (size_t)s->set->bound->op->tensors[slot->owner].align;
    case USE_WORKSPACE:
    case USE_DECOY:
        return WORKSPACE_ALIGN;
    }
    return WORKSPACE_ALIGN;
}

/* A multiple of the promised alignment; `weakest` makes it an odd one. */
static size_t slot_offset(struct session *s, const struct slot *slot)
{
    const size_t align = slot_align(s, slot);
    const size_t steps = OFFSET_MAX / align;
    size_t step;

    if (steps < 2)
        return 0;
    step = rng_below(&s->rng, (uint32_t)steps);
    if (s->options->weakest)
        step |= 1;
    return step * align;
}

static const char *slot_name(const struct session *s, const struct slot *slot)
{
    switch (slot->use) {
    case USE_INPUT:
    case USE_OUTPUT:
    case USE_SHARED:
        return str_copy(s->arena, s->set->bound->op->tensors[slot->owner].name);
    case USE_WORKSPACE:
        return str_copy(s->arena, s->subject->manifest->workspaces[slot->owner].name);
    case USE_DECOY:
        return "(a buffer that is not an argument)";
    }
    return "";
}

/* Buffers in a random order, so that the high bits of addresses change from run to run. */
static void place_buffers(struct session *s)
{
    size_t *order = arena_array(s->arena, size_t, s->slot_count);

    s->buffers = arena_array(s->arena, struct ptx_buffer, s->slot_count);
    for (size_t i = 0; i < s->slot_count; i++)
        order[i] = i;
    for (size_t i = s->slot_count; i > 1; i--) {
        const size_t j = rng_below(&s->rng, (uint32_t)i);
        const size_t other = order[j];

        order[j] = order[i - 1];
        order[i - 1] = other;
    }
    for (size_t i = 0; i < s->slot_count; i++) {
        struct slot *slot = &s->slots[order[i]];
        const bool zeroed =
            slot->use == USE_WORKSPACE && s->subject->manifest->workspaces[slot->owner].zero;

        slot->buffer = &s->buffers[i];
        *slot->buffer = (struct ptx_buffer){
            .name = slot_name(s, slot),
            .data = slot->host + ZONE_BYTES,
            .bytes = slot->bytes,
            .address_offset = slot_offset(s, slot),
            .initialised = slot->use == USE_INPUT || slot->use == USE_SHARED || zeroed,
            .writable = slot->use != USE_INPUT && slot->use != USE_DECOY,
        };
    }
    s->memory = ptx_memory_new(s->arena, s->subject->module, s->buffers, s->slot_count);
}

static bool prepare_memory(struct session *s)
{
    const size_t tensors = s->set->bound->op->tensor_count;
    const size_t workspaces = s->subject->manifest->workspace_count;
    const uint32_t decoys = rng_below(&s->rng, DECOYS_MAX + 1);

    s->slots = arena_array(s->arena, struct slot, tensors + workspaces + DECOYS_MAX);
    s->slot_of_tensor = arena_array(s->arena, size_t, tensors + 1);
    s->slot_of_workspace = arena_array(s->arena, size_t, workspaces + 1);
    tensor_slots(s);
    if (!workspace_slots(s))
        return false;
    for (uint32_t i = 0; i < decoys; i++)
        (void)slot_new(s, USE_DECOY, 0, 64 + rng_below(&s->rng, 4096));
    place_buffers(s);
    return true;
}

/* ---- arguments ---- */

static size_t workspace_find(const struct manifest *manifest, struct str name)
{
    for (size_t w = 0; w < manifest->workspace_count; w++)
        if (str_equal(manifest->workspaces[w].name, name))
            return w;
    return SIZE_MAX;
}

/* Bytes of an argument as the host would pass them; 0 = cannot be passed here. */
static size_t argument_bytes(struct session *s, const struct manifest_arg *arg, uint8_t out[8])
{
    const struct op *op = s->set->bound->op;
    const struct formula_env *env = &s->set->bound->env;
    uint64_t address;
    int64_t value;
    struct err err;

    switch (arg->kind) {
    case ARG_TENSOR: {
        const size_t tensor = op_tensor_find(op, arg->name);

        ASSERT(tensor < op->declared_count);
        address = s->slots[s->slot_of_tensor[tensor]].buffer->address;
        memcpy(out, &address, sizeof(address));
        return sizeof(address);
    }
    case ARG_WORKSPACE: {
        const size_t workspace = workspace_find(s->subject->manifest, arg->name);

        ASSERT(workspace != SIZE_MAX);
        address = s->slots[s->slot_of_workspace[workspace]].buffer->address;
        memcpy(out, &address, sizeof(address));
        return sizeof(address);
    }
    case ARG_DIM:
        if (!formula_eval(arg->dim, env, &value, &err))
            return 0;
        if (dtype_is_float(arg->dtype))
            elem_from_double(arg->dtype, out, 0, (double)value);
        else
            elem_from_int(arg->dtype, out, 0, value);
        return dtype_bytes(arg->dtype);
    case ARG_SCALAR:
        if (dtype_is_float(arg->dtype))
            elem_from_double(arg->dtype, out, 0, arg->scalar);
        else
            elem_from_int(arg->dtype, out, 0, (int64_t)arg->scalar);
        return dtype_bytes(arg->dtype);
    case ARG_TENSOR_MAP:
        return 0;
    }
    return 0;
}

static bool pack_arguments(struct session *s, const struct manifest_kernel *kernel,
                           const struct ptx_entry *entry, uint8_t *block)
{
    for (size_t a = 0; a < kernel->arg_count; a++) {
        uint8_t bytes[8] = {0};
        const size_t count = argument_bytes(s, &kernel->args[a], bytes);
        struct buf text;

        if (count == 0 && kernel->args[a].kind == ARG_TENSOR_MAP)
            return refuse_run(s, VALIDITY_UNSUPPORTED,
                              "tensor maps cannot be emulated; run this candidate on a GPU");
        if (count == entry->params[a].bytes) {
            memcpy(block + entry->params[a].offset, bytes, count);
            continue;
        }
        buf_init(&text, s->arena, ERR_TEXT_BYTES);
        buf_printf(&text, "kernel %s: parameter %zu has %zu bytes, the manifest passes %zu",
                   entry->name, a, entry->params[a].bytes, count);
        return refuse_run(s, VALIDITY_LAUNCH_ERROR, str_copy(s->arena, buf_view(&text)));
    }
    return true;
}

/* ---- launches ---- */

static void pick_blocks(struct session *s, struct ptx_launch *launch)
{
    const uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    const uint64_t room = s->options->blocks_max;
    uint64_t *picked;

    if (room == 0 || blocks <= room)
        return;
    picked = arena_array(s->arena, uint64_t, room);
    for (uint64_t i = 0; i < room; i++)
        picked[i] = i + 1 == room ? blocks - 1 : i * (blocks / room);
    launch->only_blocks = picked;
    launch->only_count = room;
}

static bool launch_one(struct session *s, const struct manifest_kernel *kernel, size_t index,
                       struct err *err)
{
    const char *name = str_copy(s->arena, kernel->entry);
    const struct ptx_entry *entry = ptx_entry_find(s->subject->module, name);
    struct ptx_launch launch = {.entry = name};
    struct ptx_report report = {0};
    struct geometry geometry;
    uint8_t *block;

    ASSERT(entry != NULL && entry->param_count == kernel->arg_count);
    s->run->kernel = index;
    if (!geometry_at(s->arena, s->subject, kernel, s->set->bound, &geometry, &s->run->refusal,
                     &s->run->reason)) {
        s->run->launch_refused = true;
        return true;
    }
    block = arena_alloc(s->arena, entry->param_bytes + 16, 1, 16);
    if (!pack_arguments(s, kernel, entry, block))
        return true;
    memcpy(launch.grid, geometry.grid, sizeof(launch.grid));
    memcpy(launch.block, geometry.block, sizeof(launch.block));
    memcpy(launch.cluster, geometry.cluster, sizeof(launch.cluster));
    launch.dynamic_shared = geometry.smem;
    launch.params = block;
    launch.param_bytes = entry->param_bytes;
    launch.cooperative = kernel->cooperative;
    launch.budget_warp_insns = s->options->budget;
    launch.shared_bytes_max = s->subject->smem_bytes_max;
    launch.reverse_order = s->options->order == ORDER_BLOCKS_REVERSED;
    launch.interleave_seed =
        s->options->order == ORDER_BLOCKS_INTERLEAVED ? (s->options->salt + index) | 1 : 0;
    launch.check = true;
    launch.poison_seed = s->options->salt + index;
    pick_blocks(s, &launch);
    if (!ptx_launch(s->arena, s->subject->module, s->memory, &launch, &report, err))
        return err_context(err, "kernel %s", name);
    s->run->fault = report.fault;
    s->run->communicates |= report.communicates;
    if (index < s->subject->manifest->kernel_count)
        s->run->counts[index] = report.counts;
    return true;
}

static bool run_ended(const struct run *run)
{
    return run->launch_refused || run->fault.kind != PTX_FAULT_NONE;
}

static bool launch_all(struct session *s, struct err *err)
{
    const struct manifest *manifest = s->subject->manifest;

    for (size_t k = 0; k < manifest->prepare_count && !run_ended(s->run); k++)
        if (!launch_one(s, &manifest->prepare[k], manifest->kernel_count + k, err))
            return false;
    for (size_t k = 0;
         k < (s->options->blocks_max > 0 ? 1 : manifest->kernel_count) && !run_ended(s->run); k++)
        if (k != s->options->skip && !launch_one(s, &manifest->kernels[k], k, err))
            return false;
    return true;
}

/* ---- afterwards ---- */

static void inspect(struct session *s)
{
    const struct op *op = s->set->bound->op;

    for (size_t i = 0; i < s->slot_count; i++) {
        const struct slot *slot = &s->slots[i];

        if (!random_bytes_match(slot->zone_seed, slot->host, ZONE_BYTES) ||
            !random_bytes_match(slot->zone_seed + 1, slot->host + ZONE_BYTES + slot->bytes,
                                ZONE_BYTES))
            s->run->broken_zone = slot->buffer->name;
        if (slot->use == USE_INPUT &&
            memcmp(slot->host + ZONE_BYTES, s->set->data[slot->owner], slot->bytes) != 0)
            s->run->changed_input = slot->buffer->name;
    }
    for (size_t t = 0; t < op->declared_count; t++) {
        const struct slot *slot = &s->slots[s->slot_of_tensor[t]];

        s->run->bytes_read[t] = slot->buffer->bytes_read;
        s->run->bytes_written[t] = slot->buffer->bytes_written;
        if (tensor_is_output(op, t))
            s->run->outputs[t] = slot->host + ZONE_BYTES;
    }
}

bool emu_run(struct arena *arena, const struct subject *subject, const struct dataset *dataset,
             const struct run_options *options, struct run *out, struct err *err)
{
    const size_t tensors = dataset->bound->op->tensor_count;
    struct session s = {
        .arena = arena, .subject = subject, .set = dataset, .options = options, .run = out};

    *out = (struct run){
        .outputs = arena_array(arena, void *, tensors + 1),
        .counts = arena_array(arena, struct ptx_counts, subject->manifest->kernel_count + 1),
        .bytes_read = arena_array(arena, uint64_t, tensors + 1),
        .bytes_written = arena_array(arena, uint64_t, tensors + 1),
    };
    rng_init(&s.rng, options->salt);
    if (!prepare_memory(&s))
        return true;
    if (!launch_all(&s, err))
        return false;
    inspect(&s);
    return true;
}

enum validity fault_validity(enum ptx_fault_kind kind)
{
    switch (kind) {
    case PTX_FAULT_NONE:
        return VALIDITY_ACCEPTED;
    case PTX_FAULT_OUT_OF_BOUNDS:
        return VALIDITY_OUT_OF_BOUNDS;
    case PTX_FAULT_READ_ONLY:
        return VALIDITY_MUTATED_INPUT;
    case PTX_FAULT_UNINITIALISED:
    case PTX_FAULT_UNINITIALISED_REGISTER:
        return VALIDITY_WRONG;
    case PTX_FAULT_RACE:
    case PTX_FAULT_RACE_GLOBAL:
    case PTX_FAULT_BARRIER_DIVERGENT:
    case PTX_FAULT_LEAKED_WAIT:
    case PTX_FAULT_SHUFFLE_INACTIVE:
        return VALIDITY_RACE;
    case PTX_FAULT_BARRIER_STUCK:
    case PTX_FAULT_BUDGET:
        return VALIDITY_TIMEOUT;
    case PTX_FAULT_MISALIGNED:
    case PTX_FAULT_TRAP:
    case PTX_FAULT_ASSERT:
    case PTX_FAULT_STACK:
    case PTX_FAULT_LAUNCH:
        return VALIDITY_LAUNCH_ERROR;
    case PTX_FAULT_UNSUPPORTED:
        return VALIDITY_UNSUPPORTED;
    }
    return VALIDITY_INFRASTRUCTURE;
}
