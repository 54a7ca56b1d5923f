/*
 * The selected plan in a prompt, region by region, and what verification will demand of the code
 * because of it.
 *
 * The demands mirror the rules of verify/check/conform.c: they are what makes an attempt
 * `off plan`, so they are said in the same words.  Not here: why this plan (the caller's notes).
 */
#include <inttypes.h>

#include "synth/prompt_int.h"

size_t plan_units(const struct plan *plan)
{
    return plan == NULL || plan->region_count == 0 ? 1 : plan->region_count;
}

static const char *stage_word(enum staging staging)
{
    switch (staging) {
    case STAGE_DIRECT:
        return "read where used";
    case STAGE_REGISTER:
        return "kept in registers";
    case STAGE_SHARED:
        return "copied to shared memory";
    case STAGE_ASYNC:
        return "copied to shared memory asynchronously";
    }
    return "";
}

static void tiles_text(struct buf *out, const struct plan_region *region)
{
    for (size_t t = 0; t < region->tile_count; t++) {
        const struct plan_tile *tile = &region->tiles[t];
        buf_text(out, t > 0 ? "; " : "  - tiles: ");
        quote_line(out, tile->index);
        buf_printf(out, " %" PRId64 " a block, %" PRId64 " a thread", tile->block, tile->thread);
        if (tile->step > 0)
            buf_printf(out, ", in steps of %" PRId64, tile->step);
    }
    buf_text(out, region->tile_count > 0 ? "\n" : "");
}

static void stages_text(struct buf *out, const struct plan_region *region)
{
    for (size_t s = 0; s < region->stage_count; s++) {
        buf_text(out, s > 0 ? "; " : "  - operands: ");
        quote_line(out, region->stages[s].tensor);
        buf_printf(out, " %s", stage_word(region->stages[s].staging));
    }
    buf_text(out, region->stage_count > 0 ? "\n" : "");
}

static void sizes_text(struct buf *out, const struct plan_region *region)
{
    buf_printf(out, "  - block: %" PRId64 " x %" PRId64 " x %" PRId64 " threads",
               region->threads[0], region->threads[1], region->threads[2]);
    if (region->vector > 1)
        buf_printf(out, "; %" PRId64 " elements an access", region->vector);
    if (region->depth > 1)
        buf_printf(out, "; pipeline of %" PRId64 " stages", region->depth);
    if (region->split > 1)
        buf_printf(out, "; reduction split over %" PRId64 " blocks", region->split);
    if (region->mma[0] > 0)
        buf_printf(out, "; mma m%" PRId64 "n%" PRId64 "k%" PRId64, region->mma[0], region->mma[1],
                   region->mma[2]);
    buf_printf(out, "; products in %s; layout ", compute_name(region->precision));
    quote_line(out, region->layout);
    buf_char(out, '\n');
    if (region->reverse)
        buf_text(out, "  - order: blocks walk the region's output from its end, so that what the "
                      "region before wrote last is read while L2 still holds it\n");
}

/* Of a chain: where results that other statements reduce are, for they are never stored. */
static void chain_text(struct buf *out, const struct bound_op *target,
                       const struct plan_region *region)
{
    struct footprint f;
    const char *why;
    if (!footprint_of(out->arena, region, target, &f, &why) || f.kind != FOOTPRINT_CHAIN)
        return;
    buf_text(out, "  - chain: a block owns rows and goes along the index that reductions read the "
                  "product by; its results are never stored, steps are merged into what a row "
                  "keeps");
    if (f.passes > 1)
        buf_text(out, "; a second pass makes them again for what is written along that index");
    if (f.held > 0)
        buf_text(out, "; they stay in shared memory until their row is finished");
    buf_char(out, '\n');
}

static void region_text(struct buf *out, const struct bound_op *target, const struct plan *plan,
                        size_t r)
{
    const struct plan_region *region = &plan->regions[r];
    const struct op *op = target->op;
    buf_printf(out, "- Region %zu:", r);
    for (size_t s = 0; s < region->stmt_count; s++) {
        buf_text(out, s > 0 ? "; `" : " `");
        quote_line(out, str_from(text_stmt(out->arena, op, &op->stmts[region->stmts[s]])));
        buf_char(out, '`');
    }
    buf_text(out, "\n  - primitives: ");
    for (size_t p = 0; p < region->primitive_count; p++)
        buf_printf(out, "%s%s", p > 0 ? ", " : "", primitive_name(region->primitives[p]));
    buf_text(out, region->primitive_count > 0 ? "\n" : "one thread an element\n");
    tiles_text(out, region);
    stages_text(out, region);
    sizes_text(out, region);
    chain_text(out, target, region);
    for (size_t e = 0; e < plan->edge_count; e++)
        if (plan->edges[e].from == r) {
            buf_text(out, "  - ");
            quote_line(out, plan->edges[e].tensor);
            buf_printf(out, " goes to region %zu: %s\n", plan->edges[e].to,
                       plan->edges[e].residency == RESIDE_GLOBAL
                           ? "through a workspace"
                           : residency_name(plan->edges[e].residency));
        }
}

static void demands_text(struct buf *out, const struct plan *plan)
{
    if (plan_uses(plan, PRIMITIVE_TENSOR_CORE_TILE))
        buf_text(out, "- Checked: the code has an mma instruction.\n");
    if (plan_uses(plan, PRIMITIVE_ASYNC_PIPELINE))
        buf_text(out, "- Checked: the code has an asynchronous copy (cp.async or bulk).\n");
    buf_text(out, plan_uses(plan, PRIMITIVE_GRID_SUMMARY)
                      ? "- Cooperative launch and clusters are allowed.\n"
                      : "- Checked: no cooperative launch, no clusters.\n");
    if (plan->deterministic)
        buf_text(out, "- Checked: results are bitwise the same in any order of blocks.\n");
    if (plan->guard->op == FORMULA_INT)
        return;
    buf_text(out, "- The plan is made for ");
    formula_print(out, plan->guard);
    buf_text(out, ": the guard may demand that, or a general path serve the rest.\n");
}

void plan_text(struct buf *out, const struct prompt_input *in, size_t regions)
{
    if (in->plan == NULL) {
        buf_text(out, "- None: choose how to realise the op. Cooperative launch and clusters are "
                      "allowed.\n");
        return;
    }
    buf_text(out, "Follow it; sizes may differ where the code's own limits ask for that.\n");
    demands_text(out, in->plan);
    for (size_t r = 0; r < regions && r < in->plan->region_count; r++)
        region_text(out, in->target, in->plan, r);
}
