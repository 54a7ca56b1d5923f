/*
 * Prompts: the two messages, within a budget of tokens.
 *
 * Every part has units (items of a list, regions of a plan, lines of a source) and a printer that
 * shows the first `kept` of them.  All are shown when they fit.  Else the parts are shortened from
 * the least important up, each to as many units as still fit, and left out when none does, until
 * the whole fits; what was shortened is said in the text, since a model that knows of a gap does
 * not take silence for permission.  Fixed parts are never touched.
 *
 * Invariant: tokens <= tokens_max, and equal inputs give equal bytes.
 */
#include <inttypes.h>

#include "base/panic.h"

#include "synth/prompt_int.h"

extern const char embed_prompts_contract_txt[];
extern const char embed_prompts_emulated_gpu_txt[];
extern const char embed_prompts_emulated_only_txt[];
extern const char embed_prompts_tensor_map_txt[];

static const size_t scratch_bytes_max = (size_t)4 << 30;

static const struct {
    const char *title;
    bool fixed;
} parts[] = {
#define FIXED            true
#define CUT              false
#define X(id, name, cut) {name, cut},
    PROMPT_PARTS(X)
#undef X
#undef CUT
#undef FIXED
};

const char *prompt_part_title(enum prompt_part part)
{
    return parts[part].title;
}

const struct track *track_of(const struct prompt_input *in)
{
    return in->track != NULL ? in->track : &in->target->op->tracks[0];
}

/* ---- the contract ---- */

static struct str system_text(struct arena *arena, const struct prompt_input *in)
{
    const struct slot slots[] = {
        {"ARCH", in->arch},
        {"SMEM", text_fmt(arena, "%" PRId64, in->smem_bytes_max)},
        {"EMULATED", in->gpu ? embed_prompts_emulated_gpu_txt : embed_prompts_emulated_only_txt},
        {"TENSOR_MAP",
         in->gpu ? embed_prompts_tensor_map_txt : "  (tensor maps cannot be passed here)\n"},
    };
    struct buf out;
    buf_init(&out, arena, PROMPT_BYTES_MAX);
    template_fill(&out, embed_prompts_contract_txt, slots, COUNT_OF(slots));
    return buf_view(&out);
}

/* ---- parts ---- */

static const struct prompt_list *list_of(const struct prompt_input *in, enum prompt_part part)
{
    switch (part) {
    case PROMPT_DIRECTIONS:
        return &in->directions;
    case PROMPT_STRUCTURE:
        return &in->structure;
    case PROMPT_PRESERVATION:
        return &in->preservation;
    case PROMPT_PRIMITIVES:
        return &in->primitives;
    case PROMPT_COMPOSITION:
        return &in->composition;
    case PROMPT_EVIDENCE:
        return &in->evidence;
    case PROMPT_HISTORY:
        return &in->history;
    case PROMPT_OPERATION:
    case PROMPT_CONSTRAINTS:
    case PROMPT_VERDICT:
    case PROMPT_LAST:
    case PROMPT_PLAN:
    case PROMPT_INCUMBENT:
    case PROMPT_REPLY:
    case PROMPT_PART_COUNT:
        return NULL;
    }
    return NULL;
}

void list_text(struct buf *out, const struct prompt_list *list, size_t kept)
{
    for (size_t i = 0; i < kept && i < list->count; i++) {
        const struct prompt_item *item = &list->items[i];
        buf_text(out, "- ");
        quote_line(out, item->head);
        buf_text(out, item->head.len > 0 && item->text.len > 0 ? ": " : "");
        quote_item(out, item->text);
        buf_char(out, '\n');
    }
}

void constraints_text(struct buf *out, const struct prompt_input *in)
{
    buf_printf(out, "- Compiled for %s; shared memory a block: %" PRId64 " bytes.\n", in->arch,
               in->smem_bytes_max);
    buf_text(out, "- Fast at ");
    op_print_dims(out, in->target);
    buf_text(out, ", where the guard must hold; right wherever the guard holds. Track ");
    quote_line(out, track_of(in)->name);
    buf_text(out, ".\n");
    if (in->bound_ns > 0)
        buf_printf(out, "- Speed of light there: %.3f us. No kernel is faster.\n",
                   in->bound_ns * 1e-3);
    list_text(out, &in->constraints, in->constraints.count);
}

static void kernel_facts(struct buf *out, const struct prompt_input *in,
                         const struct prompt_kernel *kernel)
{
    if (kernel->time_ns > 0) {
        buf_printf(out, "%.3f us at the target", kernel->time_ns * 1e-3);
        if (in->bound_ns > 0)
            buf_printf(out, ", %.2f times the speed of light", kernel->time_ns / in->bound_ns);
        buf_text(out, ".\n");
    }
    if (kernel->manifest.len > 0)
        quote_fence(out, "json", kernel->manifest);
}

static bool is_incumbent(const struct prompt_input *in)
{
    return in->incumbent != NULL && in->last != NULL && in->last->cuda.len > 0 &&
           str_equal(in->incumbent->cuda, in->last->cuda);
}

static void last_text(struct buf *out, const struct prompt_input *in, size_t kept)
{
    struct places places = verdict_places(in);
    size_t first, count = lines_count(in->last->cuda);
    kernel_facts(out, in, in->last);
    struct str window = lines_window(in->last->cuda, &places, kept, &first);
    if (kept < count)
        buf_printf(out, "Lines %zu to %zu of %zu:\n", first, first + kept - 1, count);
    quote_fence(out, "cuda", window);
}

/* One unit is time and manifest, two the source as well. */
static void incumbent_text(struct buf *out, const struct prompt_input *in, size_t kept)
{
    const bool timed = in->incumbent->time_ns > 0;
    if (is_incumbent(in)) {
        buf_printf(out, "The last attempt, above, is %s.\n",
                   timed ? "the fastest kernel so far that is right" : "right; it was not timed");
        return;
    }
    buf_text(out, timed ? "The fastest kernel so far that is right.\n"
                        : "A kernel that is right; it was not timed.\n");
    kernel_facts(out, in, in->incumbent);
    if (kept > 1)
        quote_fence(out, "cuda", in->incumbent->cuda);
}

size_t part_units(const struct prompt_input *in, enum prompt_part part)
{
    const struct prompt_list *list = list_of(in, part);
    switch (part) {
    case PROMPT_VERDICT:
        return in->verdict != NULL;
    case PROMPT_LAST:
        return in->last != NULL ? lines_count(in->last->cuda) : 0;
    case PROMPT_PLAN:
        return plan_units(in->plan) + in->plan_notes.count;
    case PROMPT_INCUMBENT:
        return in->incumbent == NULL ? 0 : 1 + (in->incumbent->cuda.len > 0 && !is_incumbent(in));
    case PROMPT_OPERATION:
    case PROMPT_CONSTRAINTS:
    case PROMPT_REPLY:
        return 1;
    case PROMPT_DIRECTIONS:
    case PROMPT_STRUCTURE:
    case PROMPT_PRESERVATION:
    case PROMPT_PRIMITIVES:
    case PROMPT_COMPOSITION:
    case PROMPT_EVIDENCE:
    case PROMPT_HISTORY:
    case PROMPT_PART_COUNT:
        break;
    }
    return list != NULL ? list->count : 0;
}

void part_print(struct buf *out, const struct prompt_input *in, enum prompt_part part, size_t kept)
{
    const struct prompt_list *list = list_of(in, part);
    size_t regions = plan_units(in->plan);
    buf_printf(out, "# %s\n", parts[part].title);
    if (list != NULL)
        list_text(out, list, kept);
    else if (part == PROMPT_OPERATION)
        operation_text(out, in);
    else if (part == PROMPT_CONSTRAINTS)
        constraints_text(out, in);
    else if (part == PROMPT_VERDICT)
        verdict_text_for_model(out, in);
    else if (part == PROMPT_LAST)
        last_text(out, in, kept);
    else if (part == PROMPT_INCUMBENT)
        incumbent_text(out, in, kept);
    else if (part == PROMPT_REPLY)
        reply_text(out->arena, out, in);
    if (part == PROMPT_PLAN) {
        plan_text(out, in, kept);
        list_text(out, &in->plan_notes, kept > regions ? kept - regions : 0);
    }
    buf_char(out, '\n');
}

/* ---- the budget ---- */

struct fitting {
    struct arena *arena; /* scratch: parts are printed many times */
    bool overflow;
    const struct prompt_input *in;
    size_t units[PROMPT_PART_COUNT], kept[PROMPT_PART_COUNT];
    struct str text[PROMPT_PART_COUNT];
    int64_t tokens[PROMPT_PART_COUNT];
};

static void fit_part(struct fitting *f, enum prompt_part part, size_t kept)
{
    struct buf out;
    buf_init(&out, f->arena, PROMPT_BYTES_MAX);
    f->kept[part] = kept;
    if (kept > 0)
        part_print(&out, f->in, part, kept);
    f->overflow = f->overflow || out.overflow;
    f->text[part] = buf_view(&out);
    f->tokens[part] = prompt_tokens(f->text[part]);
}

static void cuts_text(struct buf *out, const struct fitting *f)
{
    const char *separator = "Left out for length, less important than what is here: ";
    for (size_t p = 0; p < PROMPT_PART_COUNT; p++) {
        if (f->kept[p] == f->units[p])
            continue;
        buf_printf(out, "%s%s", separator, parts[p].title);
        if (f->kept[p] > 0)
            buf_printf(out, " (%zu of %zu shown)", f->kept[p], f->units[p]);
        separator = ", ";
    }
    buf_text(out, separator[0] == ',' ? ".\n\n" : "");
}

static int64_t fit_total(const struct fitting *f)
{
    struct buf cuts;
    int64_t total = 0;
    buf_init(&cuts, f->arena, PROMPT_BYTES_MAX);
    cuts_text(&cuts, f);
    for (size_t p = 0; p < PROMPT_PART_COUNT; p++)
        total += f->tokens[p];
    return total + prompt_tokens(buf_view(&cuts));
}

/* The most units of a part with which the whole fits; 0 when none does. */
static void shorten(struct fitting *f, enum prompt_part part, int64_t room)
{
    size_t low = 0, high = f->units[part];
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        fit_part(f, part, middle);
        if (fit_total(f) <= room)
            low = middle;
        else
            high = middle;
    }
    fit_part(f, part, low);
}

static bool fit(struct fitting *f, int64_t room, int64_t fixed, struct err *err)
{
    for (size_t p = 0; p < PROMPT_PART_COUNT; p++) {
        f->units[p] = part_units(f->in, (enum prompt_part)p);
        fit_part(f, (enum prompt_part)p, f->units[p]);
    }
    for (size_t p = PROMPT_PART_COUNT; p-- > 0 && fit_total(f) > room;)
        if (!parts[p].fixed && f->units[p] > 0)
            shorten(f, (enum prompt_part)p, room);
    if (f->overflow)
        return err_raise(err, ERR_LIMIT, "a part of the prompt is over %d bytes", PROMPT_BYTES_MAX);
    if (fit_total(f) > room)
        return err_raise(err, ERR_LIMIT,
                         "the contract and what must not be cut need %" PRId64
                         " tokens, the prompt may have %" PRId64 "; allow more",
                         fixed + fit_total(f), fixed + room);
    return true;
}

static bool join(struct arena *arena, const struct fitting *f, struct str *user, struct err *err)
{
    struct buf out;
    buf_init(&out, arena, PROMPT_BYTES_MAX);
    for (size_t p = 0; p < PROMPT_PART_COUNT; p++) {
        if (p == PROMPT_REPLY)
            cuts_text(&out, f);
        buf_str(&out, f->text[p]);
    }
    return buf_finish(&out, "the prompt", user, err);
}

bool prompt_write(struct arena *arena, const struct prompt_input *in, struct prompt *out,
                  struct err *err)
{
    struct arena scratch;
    struct prompt made = {.system = system_text(arena, in)};
    int64_t fixed = prompt_tokens(made.system);
    int64_t room = in->tokens_max > 0 ? in->tokens_max - fixed : INT64_MAX / 2;
    ASSERT((in->last != NULL) == (in->verdict != NULL));
    arena_init(&scratch, scratch_bytes_max);
    struct fitting f = {.arena = &scratch, .in = in};
    bool ok = fit(&f, room, fixed, err) && join(arena, &f, &made.user, err);
    made.tokens = fixed + prompt_tokens(made.user);
    for (size_t p = 0; p < PROMPT_PART_COUNT; p++)
        if (f.kept[p] < f.units[p])
            made.cuts[made.cut_count++] =
                (struct prompt_cut){(enum prompt_part)p, f.kept[p], f.units[p]};
    arena_release(&scratch);
    if (ok)
        *out = made;
    return ok;
}
