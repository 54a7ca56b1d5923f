/*
 * Faults in words.
 *
 * One sentence holds all that is known: what, in which memory and at which offset, by which thread,
 * at which source line with the calls it was inlined through, and for a race the other side.  The
 * first fault of a launch ends it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "verify/ptx/fault_int.h"

const char *ptx_fault_text(enum ptx_fault_kind kind)
{
    static const char *const texts[] = {
#define X(name, text) text,
        PTX_FAULTS(X)
#undef X
    };
    return (size_t)kind < COUNT_OF(texts) ? texts[kind] : "unknown fault";
}

struct writer {
    char *at;
    size_t room, used;
};

static void say(struct writer *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void vsay(struct writer *w, const char *fmt, va_list args) PRINTF_LIKE(2, 0);

static void vsay(struct writer *w, const char *fmt, va_list args)
{
    if (w->used + 1 >= w->room)
        return;
    int n = vsnprintf(w->at + w->used, w->room - w->used, fmt, args);
    if (n > 0)
        w->used += (size_t)n < w->room - w->used ? (size_t)n : w->room - w->used - 1;
}

static void say(struct writer *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsay(w, fmt, args);
    va_end(args);
}

/* ---- source lines ---- */

static const char *file_name(const struct ptx_module *m, uint32_t file)
{
    const char *path = file < m->file_count ? m->files[file] : NULL;
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

static const struct loc_info *loc_of(const struct ptx_module *m, uint32_t insn)
{
    uint32_t loc = insn < m->code_count ? m->infos[insn].loc : 0;
    return loc ? &m->locs[loc - 1] : NULL;
}

static void say_line(struct writer *out, const struct ptx_module *m, uint32_t insn)
{
    enum { CHAIN_MAX = 6 };
    const struct loc_info *loc = loc_of(m, insn);
    if (!loc) {
        if (insn < m->code_count)
            say(out, " at PTX line %d", m->infos[insn].ptx_line);
        return;
    }
    const char *name = file_name(m, loc->file);
    say(out, " at %s:%d", name ? name : "line", loc->line);
    for (int i = 0; i < CHAIN_MAX && loc->inlined_at; i++) {
        const struct loc_info *call = &m->locs[loc->inlined_at - 1];
        if (call == loc)
            break;
        say(out, ", inlined at %d", call->line);
        loc = call;
    }
}

static int line_of(const struct ptx_module *m, uint32_t insn)
{
    const struct loc_info *loc = loc_of(m, insn);
    return loc ? loc->line : 0;
}

/* ---- threads ---- */

static void thread_ids(const struct run *run, uint32_t linear, uint32_t out[3])
{
    const uint32_t *dim = run->launch->block;
    out[0] = linear % dim[0];
    out[1] = linear / dim[0] % dim[1];
    out[2] = linear / dim[0] / dim[1];
}

static void block_ids(const struct run *run, uint64_t linear, uint32_t out[3])
{
    const uint32_t *grid = run->launch->grid;
    out[0] = (uint32_t)(linear % grid[0]);
    out[1] = (uint32_t)(linear / grid[0] % grid[1]);
    out[2] = (uint32_t)(linear / grid[0] / grid[1]);
}

/* Trailing zero coordinates of one-dimensional launches are noise. */
static void say_ids(struct writer *out, const char *what, const uint32_t id[3],
                    const uint32_t dim[3])
{
    if (dim[1] <= 1 && dim[2] <= 1)
        say(out, "%s %u", what, id[0]);
    else
        say(out, "%s (%u,%u,%u)", what, id[0], id[1], id[2]);
}

static void say_thread(struct writer *out, const struct run *run, const struct ptx_fault *fault)
{
    say(out, ", by ");
    say_ids(out, "thread", fault->thread, run->launch->block);
    say_ids(out, " of block", fault->block, run->launch->grid);
}

static void say_place(struct writer *out, const struct fault_place *place)
{
    if (place->buffer)
        say(out, " of '%s'", place->buffer);
    say(out, " (%s memory", place->space);
    if (place->bytes)
        say(out, ", byte %" PRId64 " of %" PRIu64, (int64_t)place->offset, place->bytes);
    say(out, ")");
}

/* ---- raising ---- */

static bool begin(struct warp *w, const struct insn *in, int lane, enum ptx_fault_kind kind,
                  const struct fault_place *place)
{
    struct run *run = w->run;
    struct ptx_fault *fault = run->fault;
    w->event = EVENT_FAULT;
    w->next = in;
    if (run->faulted)
        return false;
    run->faulted = true;
    uint32_t insn = (uint32_t)(in - run->module->code);
    const struct loc_info *loc = loc_of(run->module, insn);
    *fault = (struct ptx_fault){.kind = kind};
    fault->ptx_line = insn < run->module->code_count ? run->module->infos[insn].ptx_line : 0;
    fault->source_line = loc ? loc->line : 0;
    fault->source_file =
        loc && loc->file < run->module->file_count ? run->module->files[loc->file] : NULL;
    memcpy(fault->block, w->block->id, sizeof(fault->block));
    thread_ids(run, w->index * LANES + (uint32_t)lane, fault->thread);
    if (place) {
        fault->space = place->space;
        fault->buffer = place->buffer;
        fault->address = place->offset;
    }
    return true;
}

static void finish(struct warp *w, const struct insn *in, struct writer *out,
                   const struct fault_place *place)
{
    if (place)
        say_place(out, place);
    say_thread(out, w->run, w->run->fault);
    say_line(out, w->run->module, (uint32_t)(in - w->run->module->code));
}

const struct insn *fault_at(struct warp *w, const struct insn *in, int lane,
                            enum ptx_fault_kind kind, const struct fault_place *place,
                            const char *fmt, ...)
{
    if (begin(w, in, lane, kind, place)) {
        struct writer out = {w->run->fault->text, PTX_FAULT_TEXT_BYTES, 0};
        va_list args;
        va_start(args, fmt);
        vsay(&out, fmt, args);
        va_end(args);
        finish(w, in, &out, place);
    }
    return w->limit;
}

const struct insn *fault_bounds(struct warp *w, const struct insn *in, int lane,
                                const struct fault_place *place, uint32_t bytes, bool writes)
{
    const char *verb = writes ? "write" : "read";
    if (place->gone)
        return fault_at(w, in, lane, PTX_FAULT_OUT_OF_BOUNDS, place,
                        "%u-byte %s of shared memory of a block that has ended", bytes, verb);
    if (place->bytes == 0)
        return fault_at(w, in, lane, PTX_FAULT_OUT_OF_BOUNDS, place,
                        "%u-byte %s at address 0x%" PRIx64 ", which is in no buffer", bytes, verb,
                        place->address);
    bool below = (int64_t)place->offset < 0;
    uint64_t past = below ? -place->offset : place->offset + bytes - place->bytes;
    return fault_at(w, in, lane, PTX_FAULT_OUT_OF_BOUNDS, place,
                    "%u-byte %s out of bounds, %" PRIu64 " bytes %s", bytes, verb, past,
                    below ? "before the start" : "past the end");
}

const struct insn *fault_race(struct warp *w, const struct insn *in, int lane,
                              enum ptx_fault_kind kind, const struct fault_place *place,
                              uint32_t who, uint32_t block, const char *what)
{
    if (!begin(w, in, lane, kind, place))
        return w->limit;
    struct run *run = w->run;
    struct ptx_fault *fault = run->fault;
    struct writer out = {fault->text, PTX_FAULT_TEXT_BYTES, 0};
    say(&out, "%s", what);
    finish(w, in, &out, place);
    uint32_t insn = SHADOW_INSN(who);
    thread_ids(run, SHADOW_THREAD(who), fault->other_thread);
    fault->other_line = line_of(run->module, insn);
    say(&out, "; the other was ");
    say_ids(&out, "thread", fault->other_thread, run->launch->block);
    if (block && block - 1 != w->block->ordinal) {
        uint32_t id[3];
        block_ids(run, block - 1, id);
        say_ids(&out, " of block", id, run->launch->grid);
    }
    say_line(&out, run->module, insn);
    return w->limit;
}

void fault_launch(struct run *run, const char *fmt, ...)
{
    struct writer out = {run->fault->text, PTX_FAULT_TEXT_BYTES, 0};
    va_list args;
    if (run->faulted)
        return;
    run->faulted = true;
    run->fault->kind = PTX_FAULT_LAUNCH;
    va_start(args, fmt);
    vsay(&out, fmt, args);
    va_end(args);
}
