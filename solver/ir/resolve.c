/*
 * Statements: loops, extents, types, the target.
 *
 * The extent of an index is, in this order: what ":" says; the dimension of a target whose shape is
 * known; the dimension of the first tensor of known shape that is read with the plain index outside
 * pad(); for a scan, the extent of the index that bounds it.  Unless ":" was given, all other plain
 * subscripts must agree, as written or at every target and verify shape.
 *
 * Invariant: a statement is appended only when complete; op.stmts grows in reading order.
 */
#include <string.h>

#include "base/panic.h"

#include "solver/ir/resolve_int.h"

/* ---- loops ---- */

/* In a used spec, an index may have the name of one of our dims. */
static struct str loop_name(const struct builder *b, struct str written)
{
    for (size_t i = 0; i < b->dim_count; i++)
        if (str_equal(b->dims[i].name, written)) {
            char *name = arena_array(b->arena, char, written.len + 2);
            memcpy(name, written.at, written.len);
            name[written.len] = '_';
            return loop_name(b, (struct str){name, written.len + 1});
        }
    return written;
}

static bool loop_name_fits(struct resolver *r, const struct ast_range *range, struct err *err)
{
    const struct spec_doc *doc = r->scope->doc;
    for (size_t i = 0; i < doc->dim_count; i++)
        if (str_equal(doc->dims[i].name, range->name)) {
            struct remedy remedy = remedy_say("indices have names of their own, such as i or n");
            return text_fail(r->typer.text, range->place, &remedy, err,
                             "'%.*s' is a dim and cannot be an index", STR_ARG(range->name));
        }
    for (size_t i = 0; i < r->stmt.loop_count; i++)
        if (str_equal(r->written[i], range->name))
            return text_fail(r->typer.text, range->place, NULL, err, "index '%.*s' is listed twice",
                             STR_ARG(range->name));
    return true;
}

static bool add_bound(struct resolver *r, const struct ast_range *range, struct loop *loop,
                      struct err *err)
{
    for (size_t i = 0; i < r->stmt.free_count; i++)
        if (str_equal(r->written[i], range->bound_name)) {
            loop->bound_loop = i;
            return true;
        }
    struct remedy remedy =
        remedy_nearest(r->b->arena, range->bound_name, r->written, r->stmt.free_count,
                       "a scan is bounded by an index of the target");
    return text_fail(r->typer.text, range->bound_place, &remedy, err,
                     "'%.*s' is no index of the target", STR_ARG(range->bound_name));
}

static bool add_loop(struct resolver *r, const struct ast_range *range, bool reduced,
                     struct err *err)
{
    size_t at = r->stmt.loop_count;
    if (!loop_name_fits(r, range, err))
        return false;
    if (at == OP_LOOPS_MAX)
        return text_fail(r->typer.text, range->place, NULL, err,
                         "a statement has at most %d indices", OP_LOOPS_MAX);
    struct loop *loop = &r->loops[at];
    loop->name = loop_name(r->b, range->name);
    loop->reduced = reduced;
    loop->bound = range->bound;
    r->written[at] = range->name;
    r->explicit[at] = range->extent != NULL;
    if (range->bound != RANGE_FULL && !add_bound(r, range, loop, err))
        return false;
    if (range->extent &&
        !scope_formula(r->b, r->scope, range->extent, range->extent_place, &loop->extent, err))
        return false;
    r->stmt.loop_count++;
    return true;
}

static bool add_loops(struct resolver *r, struct err *err)
{
    const struct ast *ast = r->ast;
    for (size_t i = 0; ast->kind == AST_ASSIGN && i < ast->free_count; i++) {
        if (!add_loop(r, &ast->frees[i], false, err))
            return false;
        r->stmt.free_count++;
    }
    for (size_t i = 0; i < ast->range_count; i++) {
        if (ast->kind == AST_SCATTER && ast->ranges[i].bound != RANGE_FULL)
            return text_fail(r->typer.text, ast->ranges[i].place, NULL, err,
                             "the indices of a scatter-add have no bounds");
        if (!add_loop(r, &ast->ranges[i], true, err))
            return false;
    }
    return true;
}

/* ---- extents ---- */

static bool extent_unknown(struct resolver *r, size_t loop, struct err *err)
{
    const struct ast *ast = r->ast;
    bool is_free = loop < r->stmt.free_count;
    const struct ast_range *range =
        is_free ? &ast->frees[loop] : &ast->ranges[loop - r->stmt.free_count];
    const char *name = str_copy(r->b->arena, range->name);
    struct remedy remedy = remedy_say("write it: %.60s:EXTENT, a formula over dims", name);
    return text_fail(r->typer.text, range->place, &remedy, err,
                     "the extent of index '%s' does not follow from the statement", name);
}

struct agreement {
    struct resolver *r;
    size_t loop;
    const struct expr *bad;
    const struct formula *found;
};

static void note_disagreement(void *context, const struct expr *read, const struct formula *extent)
{
    struct agreement *a = context;
    const struct formula *ours = a->r->loops[a->loop].extent;
    if (!a->bad && !builder_extents_agree(a->r->b, ours, extent)) {
        a->bad = read;
        a->found = extent;
    }
}

static bool extents_agree(struct resolver *r, const struct extent_source *source, size_t loop,
                          struct err *err)
{
    struct agreement a = {.r = r, .loop = loop};
    struct arena *arena = r->b->arena;
    extent_walk(source, &r->stmt, loop, note_disagreement, &a);
    if (!a.bad)
        return true;
    const char *name = str_copy(arena, r->written[loop]);
    const char *ours = formula_text(arena, r->loops[loop].extent);
    struct remedy remedy =
        remedy_say("if only a part is meant, give the extent: %.40s:%.60s", name, ours);
    return text_fail(r->typer.text, a.bad->place, &remedy, err,
                     "index '%s' runs over %s, but '%.*s' has %s there", name, ours,
                     STR_ARG(r->b->tensors[a.bad->tensor].name), formula_text(arena, a.found));
}

static bool explicit_matches_target(struct resolver *r, const struct symbol *target, size_t loop,
                                    struct err *err)
{
    const struct formula *given = r->loops[loop].extent;
    if (builder_extents_agree(r->b, given, target->shape[loop]))
        return true;
    return text_fail(r->typer.text, r->ast->frees[loop].place, NULL, err,
                     "index '%.*s' runs over %s, but '%.*s' has %s there",
                     STR_ARG(r->written[loop]), formula_text(r->b->arena, given),
                     STR_ARG(target->name), formula_text(r->b->arena, target->shape[loop]));
}

static bool find_extents(struct resolver *r, const struct symbol *target, struct err *err)
{
    struct extent_source source = {r->b->tensors, r->b->declared_count, r->b->stmt_count};
    bool known = target->shape_known && r->ast->kind == AST_ASSIGN;
    for (size_t i = 0; i < r->stmt.loop_count; i++) {
        struct loop *loop = &r->loops[i];
        bool from_target = known && i < r->stmt.free_count;
        if (from_target && loop->extent && !explicit_matches_target(r, target, i, err))
            return false;
        if (from_target)
            loop->extent = target->shape[i];
        if (!loop->extent)
            loop->extent = extent_infer(&source, &r->stmt, i);
        if (!loop->extent)
            return extent_unknown(r, i, err);
        if (!r->explicit[i] && !extents_agree(r, &source, i, err))
            return false;
    }
    return true;
}

/* ---- values ---- */

static bool check_reduced(struct resolver *r, const struct expr *value, struct err *err)
{
    bool is_bool = value->dtype == DTYPE_BOOL;
    bool wants_bool = r->ast->reduce == REDUCE_ANY || r->ast->reduce == REDUCE_ALL;
    if (r->ast->reduce == REDUCE_NONE || is_bool == wants_bool)
        return true;
    struct remedy remedy =
        wants_bool ? remedy_say("compare it: x != 0")
                   : remedy_say("to count, cast: %s(...) i64(...)", reduce_op_name(r->ast->reduce));
    return text_fail(r->typer.text, value->place, &remedy, err, "%s of %s",
                     reduce_op_name(r->ast->reduce), dtype_name(value->dtype));
}

/* A weak value would change its type if a temporary were read back from the printed text. */
static const struct expr *pin_dtype(struct resolver *r, const struct symbol *target,
                                    const struct expr *value)
{
    enum dtype plain = dtype_is_float(value->dtype) ? DTYPE_F32 : DTYPE_I64;
    if (target->declared || !value->weak || value->dtype == plain)
        return value;
    struct expr *cast = arena_new(r->b->arena, struct expr);
    *cast = (struct expr){.op = EXPR_CAST, .dtype = value->dtype, .place = value->place};
    cast->args[0] = value;
    return cast;
}

static bool wrong_index_dtype(struct resolver *r, const struct symbol *target, struct err *err)
{
    struct remedy remedy = remedy_say("reduce into a temporary, then cast: y[m] = %s(k[m])",
                                      dtype_name(target->dtype));
    return text_fail(r->typer.text, r->ast->place, &remedy, err, "%s gives i64, but '%.*s' is %s",
                     reduce_op_name(r->ast->reduce), STR_ARG(target->name),
                     dtype_name(target->dtype));
}

static bool resolve_value(struct resolver *r, struct symbol *target, struct err *err)
{
    const struct expr *value = NULL;
    bool by_index = r->ast->reduce == REDUCE_ARGMAX || r->ast->reduce == REDUCE_ARGMIN;
    if (!resolve_expr(r, r->ast->value, &value, err) || !check_reduced(r, value, err))
        return false;
    bool give = target->dtype_known && !by_index;
    if (give ? !type_give(&r->typer, value, target->dtype, &value, err)
             : !type_default(&r->typer, value, &value, err))
        return false;
    enum dtype dtype = reduce_dtype(r->ast->reduce, value->dtype);
    if (by_index && target->dtype_known && target->dtype != dtype)
        return wrong_index_dtype(r, target, err);
    target->dtype = dtype;
    target->dtype_known = true;
    r->stmt.value = by_index ? value : pin_dtype(r, target, value);
    return true;
}

static bool resolve_scatter(struct resolver *r, const struct symbol *target, struct err *err)
{
    const struct ast *ast = r->ast;
    if (!target->shape_known) {
        struct remedy remedy = remedy_say("declare it under tensors with role output");
        return text_fail(r->typer.text, ast->place, &remedy, err,
                         "the shape of '%.*s' does not follow from a scatter-add",
                         STR_ARG(target->name));
    }
    const struct expr **subs = arena_array(r->b->arena, const struct expr *, ast->free_count);
    for (size_t i = 0; i < ast->free_count; i++)
        if (!resolve_subscript(r, ast->subs[i], &subs[i], err))
            return false;
    r->stmt.scatter = subs;
    r->stmt.target = target->tensor;
    return true;
}

/* ---- the statement as a whole ---- */

static bool check_target(struct resolver *r, struct symbol *target, struct err *err)
{
    if (!target->rank_known || target->rank == r->ast->free_count)
        return true;
    return text_fail(r->typer.text, r->ast->place, NULL, err,
                     "'%.*s' has %zu dimension%s, but %zu %s listed", STR_ARG(target->name),
                     target->rank, target->rank == 1 ? "" : "s", r->ast->free_count,
                     r->ast->free_count == 1 ? "is" : "are");
}

static void move_place(void *context, const struct expr *expr)
{
    ((struct expr *)expr)->place = *(const struct op_place *)context;
}

/* Places in a used spec mean nothing in ours: point to the `use`. */
static void move_places(struct resolver *r)
{
    struct op_place place = r->scope->use_place;
    if (place.line == 0)
        return;
    r->stmt.place = place;
    expr_walk(r->stmt.value, move_place, &place);
    for (size_t i = 0; r->stmt.scatter && i < r->ast->free_count; i++)
        expr_walk(r->stmt.scatter[i], move_place, &place);
}

static bool append_stmt(struct resolver *r, struct symbol *target, struct err *err)
{
    struct builder *b = r->b;
    if (b->stmt_count == OP_STATEMENTS_MAX)
        return text_fail(r->typer.text, r->ast->place, NULL, err, "an op has at most %d statements",
                         OP_STATEMENTS_MAX);
    if (target->tensor == OP_NONE && !symbol_enter(b, target, err))
        return false;
    struct loop *loops = arena_array(b->arena, struct loop, r->stmt.loop_count + 1);
    memcpy(loops, r->loops, r->stmt.loop_count * sizeof(*loops));
    r->stmt.loops = loops;
    r->stmt.target = target->tensor;
    move_places(r);
    struct tensor *tensor = &b->tensors[target->tensor];
    if (!target->shape_known)
        for (size_t i = 0; i < r->stmt.free_count; i++)
            target->shape[i] = loops[i].extent;
    target->rank = r->ast->free_count;
    target->rank_known = target->shape_known = true;
    target->written_by = tensor->written_by = b->stmt_count;
    tensor->dtype = target->dtype;
    tensor->rank = target->rank;
    memcpy(tensor->shape, target->shape, sizeof(tensor->shape));
    *builder_stmt(b) = r->stmt;
    return true;
}

/* `seq`: the block's index and extent, or NULL. */
static bool resolve_stmt(struct builder *b, struct scope *scope, const struct ast *ast,
                         const struct ast *seq, struct err *err)
{
    struct resolver r = {.b = b,
                         .scope = scope,
                         .typer = {b->arena, &scope->doc->text},
                         .ast = ast,
                         .stmt = {.reduce = ast->reduce, .place = ast->place, .seq = OP_NONE}};
    r.stmt.loops = r.loops;
    struct symbol *target = scope_symbol(b, scope, ast->target);
    if (!target)
        target = symbol_new(b, scope, ast->target);
    if (!check_target(&r, target, err) || !add_loops(&r, err))
        return false;
    if (seq) {
        r.stmt.seq = b->seq_count;
        r.loops[0].extent = b->seqs[b->seq_count].extent;
        r.explicit[0] = true;
    }
    bool scatter = ast->kind == AST_SCATTER;
    return (!scatter || resolve_scatter(&r, target, err)) && resolve_value(&r, target, err) &&
           find_extents(&r, target, err) && append_stmt(&r, target, err);
}

/* ---- sequential blocks ---- */

static bool seq_target_fits(const struct scope *scope, const struct ast *seq,
                            const struct ast *child, struct err *err)
{
    bool first = child->kind == AST_ASSIGN && child->free_count > 0 &&
                 str_equal(child->frees[0].name, seq->target) && !child->frees[0].extent;
    if (first)
        return true;
    struct remedy remedy =
        remedy_say("in a seq block the sequential index is the first one of every target");
    return text_fail(&scope->doc->text, child->place, &remedy, err,
                     "the target does not start with the sequential index '%.*s'",
                     STR_ARG(seq->target));
}

static bool resolve_seq(struct builder *b, struct scope *scope, const struct ast *seq,
                        struct err *err)
{
    struct seq block = {.first = b->stmt_count, .count = seq->child_count};
    struct ast_range range = {.name = seq->target, .place = seq->place};
    block.index = loop_name(b, range.name);
    if (!scope_formula(b, scope, seq->extent, seq->extent_place, &block.extent, err))
        return false;
    for (size_t i = 0; i < seq->child_count; i++) {
        const struct ast *child = seq->children[i];
        if (!seq_target_fits(scope, seq, child, err))
            return false;
        struct symbol *symbol = scope_symbol(b, scope, child->target);
        if (!symbol)
            symbol = symbol_new(b, scope, child->target);
        if (symbol->tensor == OP_NONE && !symbol_enter(b, symbol, err))
            return false;
    }
    *builder_seq(b) = block;
    for (size_t i = 0; i < seq->child_count; i++)
        if (!resolve_stmt(b, scope, seq->children[i], seq, err))
            return false;
    b->seq_count++;
    return true;
}

bool resolve_body(struct builder *b, struct scope *scope, struct err *err)
{
    struct ast *const *sorted = NULL;
    const struct spec_doc *doc = scope->doc;
    if (!use_load(b, scope, doc->body, doc->body_count, err) ||
        !ast_order(b, scope, doc->body, doc->body_count, &sorted, err))
        return false;
    for (size_t i = 0; i < doc->body_count; i++) {
        const struct ast *ast = sorted[i];
        bool ok = ast->kind == AST_USE   ? use_expand(b, scope, ast, err)
                  : ast->kind == AST_SEQ ? resolve_seq(b, scope, ast, err)
                                         : resolve_stmt(b, scope, ast, NULL, err);
        if (!ok)
            return false;
    }
    return true;
}
