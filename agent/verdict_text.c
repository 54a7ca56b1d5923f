/*
 * A verdict for people: why, where, and on what evidence.  No times, so that equal runs print equal
 * text.
 */
#include <inttypes.h>
#include <string.h>

#include "base/escape.h"

#include "agent/agent.h"

static void worst_text(struct buf *out, const struct worst_element *worst)
{
    buf_printf(out, "  worst     %.*s[", STR_ARG(worst->tensor));
    for (size_t d = 0; d < worst->rank; d++)
        buf_printf(out, d == 0 ? "%" PRId64 : ", %" PRId64, worst->index[d]);
    buf_printf(out, "]: got %.9g, want %.9g, bound %.3g", worst->got, worst->want, worst->bound);
    if (worst->ratio <= 1)
        buf_printf(out, " (%.2g of it)", worst->ratio);
    buf_char(out, '\n');
}

static bool item_is(const struct observation *item, const char *prefix, const char *suffix)
{
    const size_t p = strlen(prefix), s = strlen(suffix);

    return item->name.len > p + s && memcmp(item->name.at, prefix, p) == 0 &&
           memcmp(item->name.at + item->name.len - s, suffix, s) == 0;
}

/* The largest of a number over all kernels; negative when it was not observed. */
static double largest(const struct observed *observed, const char *prefix, const char *suffix)
{
    double found = -1;

    for (size_t i = 0; i < observed->count; i++)
        if (item_is(&observed->items[i], prefix, suffix) && observed->items[i].value > found)
            found = observed->items[i].value;
    return found;
}

void resources_text(struct buf *out, const struct observed *observed)
{
    const double registers = largest(observed, "cubin.", ".registers");

    if (registers < 0)
        return;
    buf_printf(out, "%g registers, %g shared bytes, %g spilled", registers,
               largest(observed, "cubin.", ".shared_bytes"),
               largest(observed, "cubin.", ".spill_bytes"));
}

static void gates_text(struct buf *out, const struct verdict *verdict)
{
    buf_text(out, "  gates    ");
    for (size_t i = 0; i < verdict->gate_count; i++)
        buf_printf(out, " %s%s", gate_name(verdict->gates[i].gate),
                   verdict->gates[i].passed ? "" : " FAILED");
    buf_char(out, '\n');
}

/* What a candidate may have had a say in is shown escaped. */
static void shown(struct buf *out, const char *label, struct str text)
{
    buf_text(out, label);
    escape_print(out, text, VERDICT_REASON_BYTES_MAX);
    buf_char(out, '\n');
}

static void detail_text(struct buf *out, struct str detail)
{
    struct str line;

    while (str_next_line(&detail, &line))
        if (line.len > 0)
            shown(out, "            ", line);
}

void verdict_text(struct buf *out, const struct verdict *verdict)
{
    shown(out, "  why       ", verdict->reason);
    if (verdict->gate == GATE_COMPILE || verdict->gate == GATE_SCREEN)
        detail_text(out, verdict->detail);
    if (verdict->source_line > 0)
        buf_printf(out, "  line      %d of the source\n", verdict->source_line);
    if (verdict->worst.present)
        worst_text(out, &verdict->worst);
    gates_text(out, verdict);
    buf_printf(out, "  checks    %" PRId64 " executed, at least %" PRId64 " needed\n",
               verdict->checks_executed, verdict->checks_minimum);
    if (largest(&verdict->observed, "cubin.", ".registers") >= 0) {
        buf_text(out, "  observed  ");
        resources_text(out, &verdict->observed);
        buf_char(out, '\n');
    }
    if (verdict->flags.len > 0)
        shown(out, "  flags     ", verdict->flags);
    buf_printf(out, "  run       track %.*s, %.*s, %.*s, seed %" PRIu64 "\n",
               STR_ARG(verdict->track), STR_ARG(verdict->arch), STR_ARG(verdict->executor),
               verdict->seed);
}
