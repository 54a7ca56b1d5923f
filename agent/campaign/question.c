/*
 * What a prompt is filled with: everything that is known of the task and of the attempts so far, in
 * the neutral form that synth/prompt.h takes.  No wording of instructions here: that is in
 * prompts/.
 *
 * The question is about the attempt before it when that was the model's and was not accepted; the
 * incumbent is the best accepted kernel, whoever wrote it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/campaign/campaign_int.h"

enum { ITEMS_MAX = 256, TEXT_BYTES_MAX = 1 << 20 };

/* ---- lists ---- */

struct list {
    struct arena *arena;
    struct prompt_item items[ITEMS_MAX];
    size_t count;
};

static struct list *list_begin(struct arena *arena)
{
    struct list *list = arena_new(arena, struct list);

    list->arena = arena;
    return list;
}

static void add(struct list *list, struct str head, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void add(struct list *list, struct str head, const char *fmt, ...)
{
    struct buf text;
    va_list args;

    if (list->count == ITEMS_MAX)
        return;
    buf_init(&text, list->arena, TEXT_BYTES_MAX);
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    list->items[list->count++] = (struct prompt_item){head, buf_view(&text)};
}

static struct prompt_list list_end(const struct list *list)
{
    return (struct prompt_list){list->items, list->count};
}

/* ---- structure ---- */

/* The name of what a statement computes. */
static struct str target_name(const struct campaign *c, size_t stmt)
{
    const struct op *op = c->options->op;

    return op->tensors[op->stmts[stmt].target].name;
}

static struct prompt_list structure(const struct campaign *c)
{
    const struct structures *s = &c->structures;
    struct list *list = list_begin(c->arena);

    for (size_t i = 0; i < s->structure_count; i++)
        add(list, target_name(c, s->structures[i].stmt), "%s: %.*s",
            structure_name(s->structures[i].word), STR_ARG(s->structures[i].text));
    return list_end(list);
}

/* What is allowed first, then what is not: the tail is what a long list loses. */
static struct prompt_list preservation(const struct campaign *c)
{
    const struct structures *s = &c->structures;
    struct list *list = list_begin(c->arena);

    for (int allowed = 1; allowed >= 0; allowed--)
        for (size_t i = 0; i < s->preservation_count; i++)
            if (s->preservations[i].allowed == (allowed == 1))
                add(list, target_name(c, s->preservations[i].stmt), "%s%s: %.*s",
                    preservation_name(s->preservations[i].word), allowed ? "" : " is not allowed",
                    STR_ARG(s->preservations[i].text));
    return list_end(list);
}

static struct prompt_list primitives(const struct campaign *c)
{
    const struct structures *s = &c->structures;
    struct list *list = list_begin(c->arena);

    for (size_t i = 0; i < s->primitive_count; i++)
        add(list, str_from(primitive_name(s->primitives[i].word)), "for %.*s: %.*s",
            STR_ARG(target_name(c, s->primitives[i].stmt)), STR_ARG(s->primitives[i].text));
    return list_end(list);
}

static struct prompt_list composition(const struct campaign *c)
{
    const struct structures *s = &c->structures;
    struct list *list = list_begin(c->arena);

    for (size_t i = 0; i < s->composition_count; i++) {
        const struct composition_note *note = &s->compositions[i];
        struct buf head;

        buf_init(&head, c->arena, TEXT_BYTES_MAX);
        buf_printf(&head, "%.*s with %.*s", STR_ARG(target_name(c, note->from)),
                   STR_ARG(target_name(c, note->to)));
        add(list, buf_view(&head), "%s: %.*s", note->allowed ? "one region" : "not in one region",
            STR_ARG(note->text));
    }
    return list_end(list);
}

/* ---- machine, cost ---- */

static struct prompt_list constraints(const struct campaign *c)
{
    const struct machine *m = c->options->machine;
    struct list *list = list_begin(c->arena);

    add(list, STR_LIT("machine"), "%.*s, %s, %" PRId64 " SMs", STR_ARG(m->title), c->options->arch,
        m->sm_count);
    add(list, STR_LIT("a block"),
        "at most %" PRId64 " threads, %" PRId64 " bytes of shared memory (of %" PRId64
        " on an SM), %" PRId64 " registers a thread (of %" PRId64 " on an SM)",
        m->threads_per_block, m->shared_bytes_per_block_optin, m->shared_bytes_per_sm,
        m->registers_per_thread, m->registers_per_sm);
    add(list, STR_LIT("an SM"), "at most %" PRId64 " threads in %" PRId64 " blocks",
        m->threads_per_sm, m->blocks_per_sm);
    add(list, STR_LIT("memory"), "%.3g TB/s from DRAM, %" PRId64 " MiB of L2",
        m->dram_bytes_per_s / 1e12, m->l2_bytes >> 20);
    for (int r = 0; r < MACHINE_RATE_COUNT; r++)
        if (m->rates[r] > 0)
            add(list, str_from(machine_rate_name((enum machine_rate)r)), "%.3g TFLOP/s, dense",
                m->rates[r] / 1e12);
    return list_end(list);
}

static const struct planned *planned_of(const struct campaign *c, const struct plan *plan)
{
    for (size_t i = 0; i < c->planning.count; i++)
        if (c->planning.plans[i].plan == plan)
            return &c->planning.plans[i];
    return NULL;
}

static struct prompt_list plan_notes(const struct campaign *c, const struct planned *planned)
{
    struct list *list = list_begin(c->arena);

    if (planned == NULL)
        return list_end(list);
    add(list, STR_LIT("predicted"), "%.4g us, rank %zu of %zu legal plans",
        planned->cost.seconds * 1e6, (size_t)(planned - c->planning.plans) + 1, c->planning.count);
    return list_end(list);
}

static void add_sol(const struct campaign *c, struct list *list)
{
    const struct sol *sol = &c->result->sol;

    add(list, STR_LIT("speed of light"),
        "%.4g us, bound by %s: %.4g MB at least from and to memory (%.4g us), %.4g GFLOP (%.4g us, "
        "%s)",
        sol->seconds * 1e6, sol_limiter_name(sol->limiter), sol->bytes / 1e6, sol->memory_s * 1e6,
        sol->flops / 1e9, sol->compute_s * 1e6, machine_rate_name(sol->means));
}

static void add_costs(const struct planned *planned, struct list *list)
{
    for (size_t r = 0; planned != NULL && r < planned->cost.region_count; r++) {
        const struct region_cost *cost = &planned->cost.regions[r];

        add(list, STR_LIT("predicted"),
            "region %zu: %.4g us, limited by %s; memory %.4g us, arithmetic %.4g us; %" PRId64
            " blocks, %" PRId64 " at a time on an SM, %.3g waves",
            r, cost->seconds * 1e6, cost_limiter_name(cost->limiter), cost->memory_s * 1e6,
            cost->compute_s * 1e6, cost->blocks, cost->blocks_per_sm, cost->waves);
    }
}

/* What was seen of the best kernel so far. */
static void add_observed(const struct campaign *c, struct list *list)
{
    static const char *const wanted[] = {".registers",      ".spill_bytes", ".shared_bytes",
                                         ".bank_conflicts", ".flops",       "gpu.time.median_ns"};
    const struct observed *observed;

    if (c->result->best == SIZE_MAX)
        return;
    observed = &c->result->attempts[c->result->best].verdict.observed;
    for (size_t i = 0; i < observed->count; i++)
        for (size_t w = 0; w < COUNT_OF(wanted); w++) {
            const struct str name = observed->items[i].name;
            const size_t len = strlen(wanted[w]);

            if (name.len >= len && memcmp(name.at + name.len - len, wanted[w], len) == 0)
                add(list, STR_LIT("incumbent"), "%.*s = %.10g", STR_ARG(name),
                    observed->items[i].value);
        }
}

static struct prompt_list evidence(const struct campaign *c, const struct planned *planned)
{
    struct list *list = list_begin(c->arena);

    add_sol(c, list);
    add_costs(planned, list);
    add_observed(c, list);
    return list_end(list);
}

/* ---- attempts so far ---- */

static struct prompt_list history(const struct campaign *c)
{
    struct list *list = list_begin(c->arena);

    for (size_t i = c->result->count; i > 0; i--) {
        const struct campaign_attempt *a = &c->result->attempts[i - 1];
        struct buf head;

        buf_init(&head, c->arena, TEXT_BYTES_MAX);
        buf_printf(&head, "attempt %" PRId64 ", %s", a->number, a->how);
        if (a->median_ns > 0)
            add(list, buf_view(&head), "%s, %.4g us", validity_name(a->verdict.validity),
                a->median_ns / 1e3);
        else
            add(list, buf_view(&head), "%s: %.*s", validity_name(a->verdict.validity),
                STR_ARG(a->verdict.reason));
    }
    return list_end(list);
}

static const struct prompt_kernel *kernel_of(const struct campaign *c,
                                             const struct campaign_attempt *a)
{
    struct prompt_kernel *kernel = arena_new(c->arena, struct prompt_kernel);
    struct json_writer w;
    struct buf text;

    *kernel = (struct prompt_kernel){
        .cuda = a->candidate.text, .manifest = a->bad_manifest, .time_ns = a->median_ns};
    if (a->candidate.manifest == NULL)
        return kernel;
    buf_init(&text, c->arena, TEXT_BYTES_MAX);
    json_writer_init(&w, &text);
    manifest_print(&w, a->candidate.manifest);
    kernel->manifest = buf_view(&text);
    return kernel;
}

static const struct prompt_number *numbers_of(const struct campaign *c, const struct verdict *v)
{
    struct prompt_number *numbers =
        arena_array(c->arena, struct prompt_number, v->observed.count + 1);

    for (size_t i = 0; i < v->observed.count; i++)
        numbers[i] = (struct prompt_number){.name = v->observed.items[i].name,
                                            .value = v->observed.items[i].value};
    return numbers;
}

static const struct prompt_verdict *verdict_of(const struct campaign *c, const struct verdict *v)
{
    struct prompt_verdict *out = arena_new(c->arena, struct prompt_verdict);

    *out = (struct prompt_verdict){
        .validity = v->validity,
        .timing = v->timing,
        .gate = v->gate,
        .reason = v->reason,
        .detail = v->detail,
        .source_line = v->source_line,
        .observed = numbers_of(c, v),
        .observed_count = v->observed.count,
    };
    if (v->failed_count > 0) {
        out->shape = v->failed[0].shape;
        out->data = v->failed[0].data;
        out->what = v->failed[0].what;
    }
    out->worst.present = v->worst.present;
    out->worst.tensor = v->worst.tensor;
    out->worst.rank = v->worst.rank;
    memcpy(out->worst.index, v->worst.index, sizeof(v->worst.index));
    out->worst.got = v->worst.got;
    out->worst.want = v->worst.want;
    out->worst.bound = v->worst.bound;
    return out;
}

/* The model's attempt before this one, unless it is the incumbent itself or got no answer. */
static const struct campaign_attempt *last_of(const struct campaign *c)
{
    const size_t count = c->result->count;
    const struct campaign_attempt *last;

    for (size_t i = count; i > 0; i--) {
        last = &c->result->attempts[i - 1];
        if (last->writer != WRITER_MODEL || i - 1 == c->result->best)
            return NULL;
        if (last->verdict.validity != VALIDITY_INFRASTRUCTURE)
            return last;
    }
    return NULL;
}

bool question_write(const struct campaign *c, const struct campaign_attempt *attempt,
                    struct prompt *out, struct err *err)
{
    const struct planned *planned = planned_of(c, attempt->plan);
    const struct campaign_attempt *last = last_of(c);
    const struct campaign_options *o = c->options;
    struct prompt_input input = {
        .target = o->target,
        .track = o->track,
        .arch = o->arch,
        .smem_bytes_max = o->machine->shared_bytes_per_block_optin,
        .gpu = o->driver != NULL && o->driver->gpu_count > 0,
        .plan = attempt->plan,
        .bound_ns = c->result->sol.seconds * 1e9,
        .structure = structure(c),
        .preservation = preservation(c),
        .primitives = primitives(c),
        .composition = composition(c),
        .evidence = evidence(c, planned),
        .plan_notes = plan_notes(c, planned),
        .constraints = constraints(c),
        .history = history(c),
        .tokens_max = o->tokens_max,
    };

    if (c->result->best != SIZE_MAX)
        input.incumbent = kernel_of(c, &c->result->attempts[c->result->best]);
    if (last != NULL) {
        input.last = kernel_of(c, last);
        input.verdict = verdict_of(c, &last->verdict);
    }
    return prompt_write(c->arena, &input, out, err) || err_context(err, "write the prompt");
}
