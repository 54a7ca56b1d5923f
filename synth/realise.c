/*
 * A plan to CUDA: regions in the plan's order, each by the writer that its primitives name.
 *
 *   register-tile                       a contraction with its epilogue (realise_tile.c)
 *   warp- or block-cooperative summary  rows (realise_rows.c)
 *   vector-access alone                 fused maps (realise_rows.c)
 *   none                                one thread an element (naive_kernels.c)
 *
 * The plan may come from anywhere, so each region is recognised again from its statements, and what
 * it reads must have been written by regions before it.
 *
 * Invariant: the launches are right at every shape that the manifest's guard admits.
 */
#include "synth/realise_int.h"

void print_indices(struct cuda *out, const struct printer *printer, const char *flat,
                   const size_t *loops, const char *const *names, const struct loop *all,
                   size_t count)
{
    const char *rest = flat;
    for (size_t i = count; i-- > 0;) {
        const char *extent = print_formula(printer, all[loops[i]].extent);
        if (i == 0)
            cuda_line(out, "const i64 %s = %s;", names[loops[i]], rest);
        else
            cuda_line(out, "const i64 %s = %s %% %s;", names[loops[i]], rest, extent);
        rest = text_fmt(printer->arena, "%s / %s", rest, extent);
    }
}

/* ---- order ---- */

struct order_check {
    const struct op *op;
    const bool *written; /* by tensor */
    size_t missing;      /* tensor, or OP_NONE */
};

static void find_missing(void *context, const struct expr *expr)
{
    struct order_check *check = context;
    if (expr->op == EXPR_READ && !check->written[expr->tensor])
        check->missing = expr->tensor;
}

/* Marks the region's targets as written; false when it reads what no region before it wrote. */
static bool region_follows(const struct op *op, const struct plan_region *region, bool *written,
                           size_t *missing)
{
    struct order_check check = {op, written, OP_NONE};
    for (size_t i = 0; i < region->stmt_count; i++)
        if (op->stmts[region->stmts[i]].seq != OP_NONE)
            written[op->stmts[region->stmts[i]].target] = true;
    for (size_t i = 0; i < region->stmt_count; i++) {
        const struct stmt *stmt = &op->stmts[region->stmts[i]];
        stmt_walk(op, stmt, find_missing, &check);
        written[stmt->target] = true;
    }
    *missing = check.missing;
    return check.missing == OP_NONE;
}

/* ---- regions ---- */

static bool realise_elements(struct file_text *file, const struct plan_region *region,
                             struct err *err)
{
    const struct op *op = file->op;
    for (size_t i = 0; i < region->stmt_count; i++) {
        size_t stmt = region->stmts[i], seq = op->stmts[stmt].seq;
        if (seq == OP_NONE) {
            if (!naive_statement(file, stmt, region->reverse, err))
                return false;
            continue;
        }
        size_t count = op->seqs[seq].count;
        if (op->seqs[seq].first != stmt || region->stmt_count - i < count ||
            region->stmts[i + count - 1] != stmt + count - 1)
            return err_raise(err, ERR_UNSUPPORTED, "a seq block is cut into several regions");
        if (!naive_seq(file, seq, region->reverse, err))
            return false;
        i += count - 1;
    }
    return true;
}

static const char *region_comment(struct arena *arena, const struct op *op,
                                  const struct plan_region *region, const char *what)
{
    const char *text = what;
    for (size_t i = 0; i < region->stmt_count; i++)
        text = text_fmt(arena, "%s\n *   %s", text,
                        text_stmt(arena, op, &op->stmts[region->stmts[i]]));
    return text_fmt(arena, "%s\n", text);
}

static bool realise_region(struct file_text *file, const struct plan_region *region,
                           struct err *err)
{
    struct rows rows;
    struct tile tile;
    const char *why = "";
    bool summary =
        region_uses(region, PRIMITIVE_WARP_SUMMARY) || region_uses(region, PRIMITIVE_BLOCK_SUMMARY);
    if (!region_realisable(region, &why))
        return err_raise(err, ERR_UNSUPPORTED, "%s", why);
    if (region_uses(region, PRIMITIVE_REGISTER_TILE)) {
        if (!tile_recognise(file->arena, file->op, region->stmts, region->stmt_count, &tile, &why))
            return err_raise(err, ERR_UNSUPPORTED, "no contraction: %s", why);
        return realise_tile(file, &tile, region,
                            region_comment(file->arena, file->op, region,
                                           "A tile of the output a block, staged through shared "
                                           "memory:"),
                            err);
    }
    if (!summary && !region_uses(region, PRIMITIVE_VECTOR_ACCESS))
        return realise_elements(file, region, err);
    if (!rows_recognise(file->arena, file->op, region->stmts, region->stmt_count, &rows, &why))
        return err_raise(err, ERR_UNSUPPORTED, "no rows: %s", why);
    const char *what = !summary                                      ? "Fused maps:"
                       : region_uses(region, PRIMITIVE_WARP_SUMMARY) ? "A row a warp:"
                                                                     : "A row a block:";
    return realise_rows(file, &rows, region, region_comment(file->arena, file->op, region, what),
                        err);
}

static const char *plan_comment(struct arena *arena, const struct op *op, const struct plan *plan)
{
    struct buf buf;
    buf_init(&buf, arena, CUDA_TEXT_BYTES_MAX);
    buf_printf(&buf, " * %.*s, track %.*s, guard ", STR_ARG(op->name), STR_ARG(plan->track));
    formula_print(&buf, plan->guard);
    buf_text(&buf, "\n");
    for (size_t i = 0; i < plan->region_count; i++) {
        const struct plan_region *region = &plan->regions[i];
        buf_printf(&buf, " * region %zu: %lld threads, vector %lld", i,
                   (long long)region->threads[0], (long long)region->vector);
        for (size_t k = 0; k < region->tile_count; k++)
            buf_printf(&buf, ", %.*s %lld/%lld", STR_ARG(region->tiles[k].index),
                       (long long)region->tiles[k].block, (long long)region->tiles[k].thread);
        for (size_t k = 0; k < region->primitive_count; k++)
            buf_printf(&buf, "%s%s", k == 0 ? "; " : ", ", primitive_name(region->primitives[k]));
        if (region->reverse)
            buf_text(&buf, "; from the end");
        buf_text(&buf, "\n");
    }
    return buf.at;
}

bool realise(struct arena *arena, const struct op *op, const struct plan *plan, const char *arch,
             struct emitted *out, struct err *err)
{
    struct file_text file;
    file_text_init(&file, arena, op);
    bool *written = arena_array(arena, bool, op->tensor_count + 1);
    for (size_t i = 0; i < op->tensor_count; i++)
        written[i] = op->tensors[i].written_by == OP_NONE;
    for (size_t i = 0; i < plan->region_count; i++) {
        size_t missing;
        if (!region_follows(op, &plan->regions[i], written, &missing))
            return err_raise(err, ERR_UNSUPPORTED, "region %zu reads %.*s before it is written", i,
                             STR_ARG(op->tensors[missing].name));
        if (!realise_region(&file, &plan->regions[i], err))
            return err_context(err, "%.*s, region %zu", STR_ARG(op->name), i);
    }
    if (!naive_final_copies(&file, err))
        return err_context(err, "%.*s", STR_ARG(op->name));
    return file_finish(&file, plan_comment(arena, op, plan), arch,
                       formula_and(arena, plan->guard, file.guard), "realised", out, err);
}
