/*
 * The last verdict in its smallest useful form: at which gate it ended and why, in the verifier's
 * own words; the lines of the source it names; the worst element; numbers where they explain
 * something.  What another part of the verdict has said already is not said again.
 *
 * Everything here may quote the model's own source or what it made the compiler print; all of it
 * passes through quote.c.
 */
#include <inttypes.h>
#include <string.h>

#include "synth/prompt_int.h"

enum { MESSAGE_BYTES_SHOWN = 2400, NUMBERS_SHOWN = 40 };

/* What to do about it; the reason says what it is. */
static const char *remedy(enum validity validity)
{
    switch (validity) {
    case VALIDITY_ACCEPTED:
        return "Right at every shape that was tested.";
    case VALIDITY_PARTIAL:
        return "Nothing wrong was found, but too little could be checked: widen the guard, so that "
               "small shapes are admitted.";
    case VALIDITY_SOURCE_REJECTED:
        return "The contract forbids this; do without it.";
    case VALIDITY_COMPILE_ERROR:
        return "It does not compile.";
    case VALIDITY_RESOURCES:
        return "It needs more than a block may have: smaller tiles, fewer stages, fewer registers "
               "a thread or fewer threads.";
    case VALIDITY_OFF_PLAN:
        return "It is not what the plan or the contract allows.";
    case VALIDITY_WRONG:
        return "A result is outside its error bound, or comes from memory that nobody wrote.";
    case VALIDITY_NONDETERMINISTIC:
        return "Results depend on the order of blocks: fix the order of every sum.";
    case VALIDITY_OUT_OF_BOUNDS:
        return "An access left its buffer: predicate tails at this shape, and check the index "
               "formula and its width.";
    case VALIDITY_RACE:
        return "Two threads touch the same memory without an order between them, or a barrier or "
               "warp primitive is not reached by all it names.";
    case VALIDITY_MUTATED_INPUT:
        return "Inputs and weights are read-only.";
    case VALIDITY_TIMED_OUTPUT_WRONG:
        return "Right when checked, wrong when timed: something survives from launch to launch, or "
               "a race shows only at full speed.";
    case VALIDITY_LAUNCH_ERROR:
        return "It cannot be launched as the manifest says, or a thread did what stops a launch.";
    case VALIDITY_TIMEOUT:
        return "It does not end within its budget: a loop without end, a wait for another block, "
               "or far more work than the op needs.";
    case VALIDITY_CRASH:
        return "The process that ran it died.";
    case VALIDITY_UNSUPPORTED:
        return "It uses what cannot be checked here; do without it.";
    case VALIDITY_INFRASTRUCTURE:
        return "The checker failed, which says nothing about the kernel.";
    case VALIDITY_COUNT:
        break;
    }
    return "";
}

/* Whole lines of a message, at most MESSAGE_BYTES_SHOWN bytes. */
static void message_text(struct buf *out, struct str message)
{
    struct buf text;
    struct str rest = message, line;
    size_t shown = 0;
    buf_init(&text, out->arena, PROMPT_BYTES_MAX);
    while (str_next_line(&rest, &line)) {
        if (text.len + line.len > MESSAGE_BYTES_SHOWN && shown > 0) {
            buf_text(&text, "(more was said)\n");
            break;
        }
        bool cut = line.len > MESSAGE_BYTES_SHOWN;
        line.len = cut ? MESSAGE_BYTES_SHOWN : line.len;
        buf_str(&text, line);
        buf_text(&text, cut ? " ...\n" : "\n");
        shown++;
    }
    quote_fence(out, "", buf_view(&text));
}

static void circumstance_text(struct buf *out, const struct prompt_verdict *v)
{
    const struct {
        const char *what;
        struct str text;
    } rows[] = {{"shape", v->shape}, {"data", v->data}, {"run", v->what}};
    const char *separator = "First failing check: ";
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].text.len == 0 || text_has(v->reason, rows[i].text))
            continue;
        buf_printf(out, "%s%s ", separator, rows[i].what);
        quote_line(out, rows[i].text);
        separator = ", ";
    }
    buf_text(out, separator[0] == ',' ? ".\n" : "");
}

/* Other verdicts have the worst element of checks that passed. */
static bool is_about_values(enum validity validity)
{
    return validity == VALIDITY_WRONG || validity == VALIDITY_TIMED_OUTPUT_WRONG ||
           validity == VALIDITY_NONDETERMINISTIC;
}

static void worst_text(struct buf *out, const struct prompt_verdict *v)
{
    struct buf element;
    if (!v->worst.present || !is_about_values(v->validity))
        return;
    buf_init(&element, out->arena, PROMPT_BYTES_MAX);
    quote_line(&element, v->worst.tensor);
    buf_char(&element, '[');
    for (size_t d = 0; d < v->worst.rank && d < OP_RANK_MAX; d++)
        buf_printf(&element, "%s%" PRId64, d > 0 ? ", " : "", v->worst.index[d]);
    buf_text(&element, "] ");
    if (text_has(v->reason, buf_view(&element)))
        return;
    buf_text(out, "Worst element: ");
    buf_str(out, buf_view(&element));
    buf_printf(out, "got %.9g, want %.9g, error bound %.3g.\n", v->worst.got, v->worst.want,
               v->worst.bound);
}

/* ---- the compiler's errors ---- */

/* "line 3: error: ..." without the place. */
static struct str message_of(struct str line)
{
    const char *colon = memchr(line.at, ':', line.len);
    if (colon == NULL || !str_has_prefix(line, STR_LIT("line ")))
        return line;
    size_t used = (size_t)(colon - line.at) + 1;
    used += used < line.len && line.at[used] == ' ';
    return (struct str){line.at + used, line.len - used};
}

/* The detail without what the reason says, and without the source lines in it when these stand
 * numbered below. */
static struct str detail_of(struct arena *arena, const struct prompt_verdict *v, bool lines_follow)
{
    struct buf text;
    struct str rest = v->detail, line;
    buf_init(&text, arena, PROMPT_BYTES_MAX);
    while (!text_has(v->reason, v->detail) && str_next_line(&rest, &line)) {
        if (line.len == 0 || text_has(v->reason, message_of(line)) ||
            (lines_follow && str_has_prefix(line, STR_LIT("    "))))
            continue;
        buf_str(&text, line);
        buf_char(&text, '\n');
    }
    return buf_view(&text);
}

/* ---- numbers ---- */

static bool explains(enum validity validity)
{
    return validity == VALIDITY_ACCEPTED || validity == VALIDITY_PARTIAL ||
           validity == VALIDITY_RESOURCES || validity == VALIDITY_OFF_PLAN ||
           validity == VALIDITY_TIMEOUT;
}

static bool ends_with(struct str name, const char *suffix)
{
    size_t len = strlen(suffix);
    return name.len >= len && memcmp(name.at + name.len - len, suffix, len) == 0;
}

/* Counts of what a kernel does not use are noise, so zeros are shown for few. */
static bool is_shown(const struct prompt_number *number)
{
    static const char *const always[] = {".registers", ".shared_bytes", ".spill_bytes"};
    static const char *const never[] = {".code_bytes", ".instructions", ".traps"};
    for (size_t i = 0; i < COUNT_OF(never); i++)
        if (ends_with(number->name, never[i]))
            return number->has_plan;
    for (size_t i = 0; i < COUNT_OF(always); i++)
        if (ends_with(number->name, always[i]))
            return true;
    return number->has_plan || number->value != 0;
}

static void numbers_text(struct buf *out, const struct prompt_verdict *v)
{
    size_t shown = 0;
    for (size_t i = 0; i < v->observed_count && explains(v->validity); i++) {
        const struct prompt_number *number = &v->observed[i];
        if (!is_shown(number))
            continue;
        if (++shown > NUMBERS_SHOWN)
            break;
        buf_text(out, shown == 1 ? "Observed:\n- " : "- ");
        quote_line(out, number->name);
        buf_printf(out, " %.6g", number->value);
        if (number->has_plan)
            buf_printf(out, " (plan: %.6g)", number->plan);
        buf_char(out, '\n');
    }
}

/* ---- the whole ---- */

struct places verdict_places(const struct prompt_input *in)
{
    const struct prompt_verdict *v = in->verdict;
    struct places places = {.count = 0};
    if (v == NULL || in->last == NULL)
        return places;
    size_t count = lines_count(in->last->cuda);
    if (v->source_line > 0)
        places_add(&places, (size_t)v->source_line, count);
    places_read(&places, v->reason, count);
    places_read(&places, v->detail, count);
    return places;
}

void verdict_text_for_model(struct buf *out, const struct prompt_input *in)
{
    const struct prompt_verdict *v = in->verdict;
    struct places places = verdict_places(in);
    buf_printf(out, "`%s`, at the gate `%s`. %s\n", validity_name(v->validity), gate_name(v->gate),
               remedy(v->validity));
    if (v->reason.len > 0)
        message_text(out, v->reason);
    struct str detail = detail_of(out->arena, v, places.count > 0);
    if (detail.len > 0)
        message_text(out, detail);
    circumstance_text(out, v);
    worst_text(out, v);
    if (places.count > 0) {
        buf_text(out, "Lines it names:\n");
        lines_around(out, in->last->cuda, &places);
    }
    if (v->timing != TIMING_NONE)
        buf_printf(out, "Timing: %s.\n", timing_name(v->timing));
    numbers_text(out, v);
}
