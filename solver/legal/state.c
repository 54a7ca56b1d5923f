/*
 * Running states: tried on the region's statements as an op of their own, for the rewrites know
 * their conditions.
 */
#include "solver/legal/state.h"

#include <string.h>

#include "solver/legal/rewrite.h"

enum { PART = 32 }; /* any will do */

/* The region's statements alone: what others write comes in, what others read goes out.  False:
 * some are of a seq block, which is its own running state. */
static bool region_op(struct arena *arena, const struct op *op, const struct plan_region *region,
                      struct op *out)
{
    const bool *stored = region_stored(arena, op, region->stmts, region->stmt_count);
    struct stmt *stmts = arena_array(arena, struct stmt, region->stmt_count + 1);
    struct tensor *tensors = arena_array(arena, struct tensor, op->tensor_count + 1);
    memcpy(tensors, op->tensors, op->tensor_count * sizeof(*tensors));
    for (size_t t = 0; t < op->tensor_count; t++) {
        tensors[t].written_by = OP_NONE;
        tensors[t].temporary = false;
    }
    for (size_t i = 0; i < region->stmt_count; i++) {
        stmts[i] = op->stmts[region->stmts[i]];
        if (stmts[i].seq != OP_NONE)
            return false;
        tensors[stmts[i].target].written_by = i;
        tensors[stmts[i].target].temporary = !stored[stmts[i].target];
    }
    *out = *op;
    out->stmts = stmts;
    out->stmt_count = region->stmt_count;
    out->tensors = tensors;
    out->seq_count = 0;
    return true;
}

static bool admits(struct arena *arena, const struct op *op, enum rewrite_rule rule, size_t s)
{
    const struct stmt *stmt = &op->stmts[s];
    struct rewritten made;
    preserve_apply(
        arena, op,
        &(struct rewrite){.rule = rule, .stmt = s, .loop = stmt->loop_count - 1, .number = PART},
        &made);
    return made.op != NULL;
}

bool state_exists(struct arena *arena, const struct bound_op *bound,
                  const struct plan_region *region)
{
    struct op op;
    if (!region_op(arena, bound->op, region, &op))
        return false;
    for (size_t s = 0; s < op.stmt_count; s++) {
        if (op.stmts[s].reduce == REDUCE_NONE || op.stmts[s].scatter != NULL)
            continue;
        if (admits(arena, &op, REWRITE_ONLINE, s) || admits(arena, &op, REWRITE_WELFORD, s))
            return true;
    }
    return false;
}
