/*
 * What the text of a statement says about the extent of an index: plain subscripts x[.., i, ..] of
 * tensors whose shape is known, outside pad().  Used by the resolver to infer and by the printer
 * to decide when ":" must be written, so that printed text reads back the same.
 */
#include "solver/ir/op_int.h"

struct walk {
    const struct extent_source *source;
    size_t loop;
    extent_visitor *visit;
    void *context;
};

static bool shape_known(const struct extent_source *source, size_t tensor)
{
    return tensor < source->declared_count || source->tensors[tensor].written_by < source->stmt;
}

static void visit_read(void *context, const struct expr *e)
{
    const struct walk *w = context;
    if (e->op != EXPR_READ || e->pad || !shape_known(w->source, e->tensor))
        return;
    const struct tensor *tensor = &w->source->tensors[e->tensor];
    for (size_t i = 0; i < tensor->rank; i++)
        if (e->subs[i]->op == EXPR_INDEX && e->subs[i]->loop == w->loop)
            w->visit(w->context, e, tensor->shape[i]);
}

void extent_walk(const struct extent_source *source, const struct stmt *stmt, size_t loop,
                 extent_visitor *visit, void *context)
{
    struct walk walk = {source, loop, visit, context};
    size_t rank = source->tensors[stmt->target].rank;
    for (size_t i = 0; stmt->scatter && i < rank; i++)
        expr_walk(stmt->scatter[i], visit_read, &walk);
    expr_walk(stmt->value, visit_read, &walk);
}

static void take_first(void *context, const struct expr *read, const struct formula *extent)
{
    const struct formula **first = context;
    (void)read;
    if (!*first)
        *first = extent;
}

const struct formula *extent_infer(const struct extent_source *source, const struct stmt *stmt,
                                   size_t loop)
{
    const struct formula *extent = NULL;
    extent_walk(source, stmt, loop, take_first, &extent);
    if (!extent && stmt->loops[loop].bound != RANGE_FULL)
        extent = stmt->loops[stmt->loops[loop].bound_loop].extent;
    return extent;
}
