/*
 * `use NAME(formal = actual, ...) with DIM = formula`: another spec's statements in place of the
 * line.
 *
 * Method: the used spec is read like any other (spec_load), its dims are found from the actual
 * tensors' shapes (a dimension that is a plain variable takes the actual's extent), from `with`,
 * from constants and formulas; then its body is resolved in a scope in which formals share the
 * symbols of the actuals.  Nothing is renamed in text: names are looked up through the scope.
 *
 * Invariant: after binding, each formal's shape equals its actual's at every target and verify
 * shape.  Specs that use themselves, directly or not, are refused by name before expansion.
 */
#include <stdio.h>
#include <string.h>

#include "base/panic.h"

#include "solver/ir/op_int.h"

/* ---- loading ---- */

static bool in_progress(const struct scope *scope, struct str name)
{
    for (; scope; scope = scope->outer)
        if (str_equal(scope->doc->name, name))
            return true;
    return false;
}

static size_t depth_of(const struct scope *scope)
{
    size_t depth = 0;
    for (; scope; scope = scope->outer)
        depth++;
    return depth;
}

static bool load_one(struct builder *b, const struct scope *scope, struct ast *use, struct err *err)
{
    const struct spec_text *text = &scope->doc->text;
    struct str name = use->target;
    struct str found = {0};
    if (in_progress(scope, name))
        return text_fail(text, use->place, NULL, err, "'%.*s' uses itself", STR_ARG(name));
    if (depth_of(scope) > OP_USE_DEPTH_MAX)
        return text_fail(text, use->place, NULL, err, "specs used more than %d deep",
                         OP_USE_DEPTH_MAX);
    if (!b->library || !b->library->find(b->library->context, b->arena, name, &found)) {
        struct remedy remedy = remedy_say("specs are found by name in the folder of this spec");
        return text_fail(text, use->place, &remedy, err, "there is no spec '%.*s' to use",
                         STR_ARG(name));
    }
    char *source = arena_array(b->arena, char, name.len + sizeof(".json"));
    memcpy(source, name.at, name.len);
    memcpy(source + name.len, ".json", sizeof(".json"));
    return spec_load(b->arena, found, source, &use->used, err) ||
           text_context(text, use->place, err);
}

bool use_load(struct builder *b, const struct scope *scope, struct ast *const *body, size_t count,
              struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (body[i]->kind == AST_USE && !load_one(b, scope, body[i], err))
            return false;
    return true;
}

/* ---- binding ---- */

struct binding {
    struct builder *b;
    struct scope *outer;
    const struct ast *use;
    const struct spec_doc *doc;              /* the used spec */
    const struct formula *dims[OP_DIMS_MAX]; /* of the used spec, over our dims; NULL: not yet */
    struct symbol **actuals;                 /* by tensor of the used spec */
};

static const struct ast_bind *bind_of(const struct ast *use, struct str formal)
{
    for (size_t i = 0; i < use->bind_count; i++)
        if (str_equal(use->binds[i].name, formal))
            return &use->binds[i];
    return NULL;
}

static bool names_fit(const struct binding *u, struct err *err)
{
    const struct spec_text *text = &u->outer->doc->text;
    struct arena *arena = u->b->arena;
    struct str *known = arena_array(arena, struct str, u->doc->tensor_count + 1);
    for (size_t i = 0; i < u->doc->tensor_count; i++)
        known[i] = u->doc->tensors[i].name;
    for (size_t i = 0; i < u->use->bind_count; i++) {
        const struct ast_bind *bind = &u->use->binds[i];
        if (bind_of(u->use, bind->name) != bind)
            return text_fail(text, bind->place, NULL, err, "'%.*s' is given twice",
                             STR_ARG(bind->name));
        if (spec_tensor(u->doc, bind->name))
            continue;
        struct remedy remedy =
            remedy_nearest(arena, bind->name, known, u->doc->tensor_count, "see its tensors");
        return text_fail(text, bind->place, &remedy, err, "'%.*s' has no tensor '%.*s'",
                         STR_ARG(u->doc->name), STR_ARG(bind->name));
    }
    for (size_t i = 0; i < u->doc->tensor_count; i++)
        if (!bind_of(u->use, known[i]))
            return text_fail(text, u->use->place, NULL, err, "tensor '%.*s' of '%.*s' is not given",
                             STR_ARG(known[i]), STR_ARG(u->doc->name));
    return true;
}

static bool actual_fits(const struct binding *u, size_t formal, const struct symbol *symbol,
                        struct err *err)
{
    const struct tensor *tensor = &u->doc->tensors[formal];
    const struct ast_bind *bind = bind_of(u->use, tensor->name);
    const struct spec_text *text = &u->outer->doc->text;
    if (symbol->dtype != tensor->dtype)
        return text_fail(text, bind->actual_place, NULL, err,
                         "'%.*s' is %s, but '%.*s' of '%.*s' is %s", STR_ARG(bind->actual),
                         dtype_name(symbol->dtype), STR_ARG(tensor->name), STR_ARG(u->doc->name),
                         dtype_name(tensor->dtype));
    if (symbol->rank != tensor->rank)
        return text_fail(text, bind->actual_place, NULL, err,
                         "'%.*s' has %zu dimensions, but '%.*s' of '%.*s' has %zu",
                         STR_ARG(bind->actual), symbol->rank, STR_ARG(tensor->name),
                         STR_ARG(u->doc->name), tensor->rank);
    return true;
}

static bool find_actuals(struct binding *u, struct err *err)
{
    u->actuals = arena_array(u->b->arena, struct symbol *, u->doc->tensor_count + 1);
    for (size_t i = 0; i < u->doc->tensor_count; i++) {
        const struct ast_bind *bind = bind_of(u->use, u->doc->tensors[i].name);
        struct symbol *symbol = scope_symbol(u->b, u->outer, bind->actual);
        u->actuals[i] = symbol;
        if (symbol && symbol->shape_known && !actual_fits(u, i, symbol, err))
            return false;
    }
    return true;
}

static size_t doc_dim_find(const struct spec_doc *doc, struct str name)
{
    for (size_t i = 0; i < doc->dim_count; i++)
        if (str_equal(doc->dims[i].name, name))
            return i;
    return OP_NONE;
}

static bool take_withs(struct binding *u, struct err *err)
{
    const struct spec_text *text = &u->outer->doc->text;
    for (size_t i = 0; i < u->use->with_count; i++) {
        const struct ast_bind *with = &u->use->withs[i];
        size_t dim = doc_dim_find(u->doc, with->name);
        if (dim == OP_NONE || u->doc->dims[dim].kind == DIM_FORMULA)
            return text_fail(text, with->place, NULL, err,
                             "'%.*s' has no variable or constant dim '%.*s'", STR_ARG(u->doc->name),
                             STR_ARG(with->name));
        if (u->dims[dim])
            return text_fail(text, with->place, NULL, err, "'%.*s' is given twice",
                             STR_ARG(with->name));
        if (!scope_formula(u->b, u->outer, with->formula, with->actual_place, &u->dims[dim], err))
            return false;
    }
    return true;
}

/* Variables that are a whole dimension of a formal take the actual's extent. */
static void deduce_dims(struct binding *u)
{
    for (size_t i = 0; i < u->doc->tensor_count; i++) {
        const struct tensor *tensor = &u->doc->tensors[i];
        const struct symbol *actual = u->actuals[i];
        for (size_t d = 0; actual && actual->shape_known && d < tensor->rank; d++) {
            if (tensor->shape[d]->op != FORMULA_NAME)
                continue;
            size_t dim = doc_dim_find(u->doc, tensor->shape[d]->name);
            if (u->doc->dims[dim].kind == DIM_VAR && !u->dims[dim])
                u->dims[dim] = actual->shape[d];
        }
    }
}

static const struct formula *substitute(const struct binding *u, const struct formula *f)
{
    if (!f || f->op == FORMULA_INT)
        return f;
    if (f->op == FORMULA_NAME)
        return u->dims[doc_dim_find(u->doc, f->name)];
    struct formula *copy = arena_new(u->b->arena, struct formula);
    *copy = *f;
    copy->a = substitute(u, f->a);
    copy->b = substitute(u, f->b);
    return copy;
}

static bool complete_dims(struct binding *u, struct err *err)
{
    const struct spec_text *text = &u->outer->doc->text;
    for (size_t i = 0; i < u->doc->dim_count; i++) {
        const struct dim *dim = &u->doc->dims[i];
        if (u->dims[i])
            continue;
        switch (dim->kind) {
        case DIM_CONST:
            u->dims[i] = formula_int(u->b->arena, dim->value);
            break;
        case DIM_FORMULA:
            u->dims[i] = substitute(u, dim->formula);
            break;
        case DIM_VAR: {
            const char *name = str_copy(u->b->arena, dim->name);
            struct remedy remedy = remedy_say("add: with %.60s = FORMULA", name);
            return text_fail(text, u->use->place, &remedy, err,
                             "dim '%s' of '%.*s' does not follow from the tensors", name,
                             STR_ARG(u->doc->name));
        }
        }
    }
    return true;
}

/* ---- checking what was bound ---- */

static bool ranges_fit(const struct binding *u, struct err *err)
{
    for (size_t i = 0; i < u->doc->dim_count; i++) {
        const struct dim *dim = &u->doc->dims[i];
        for (size_t s = 0; dim->kind == DIM_VAR && s < u->b->shape_count; s++) {
            int64_t value = 0;
            if (!builder_eval(u->b, u->dims[i], s, &value, err))
                return text_context(&u->outer->doc->text, u->use->place, err);
            if (value < dim->min || value > dim->max)
                return text_fail(&u->outer->doc->text, u->use->place, NULL, err,
                                 "dim '%.*s' of '%.*s' would be %lld, outside %lld to %lld",
                                 STR_ARG(dim->name), STR_ARG(u->doc->name), (long long)value,
                                 (long long)dim->min, (long long)dim->max);
        }
    }
    return true;
}

static bool shapes_fit(const struct binding *u, struct err *err)
{
    struct arena *arena = u->b->arena;
    for (size_t i = 0; i < u->doc->tensor_count; i++) {
        const struct tensor *tensor = &u->doc->tensors[i];
        const struct symbol *actual = u->actuals[i];
        for (size_t d = 0; actual && actual->shape_known && d < tensor->rank; d++) {
            const struct formula *want = substitute(u, tensor->shape[d]);
            if (builder_extents_agree(u->b, want, actual->shape[d]))
                continue;
            const struct ast_bind *bind = bind_of(u->use, tensor->name);
            return text_fail(&u->outer->doc->text, bind->actual_place, NULL, err,
                             "dimension %zu of '%.*s' is %s, but '%.*s' of '%.*s' has %s there", d,
                             STR_ARG(bind->actual), formula_text(arena, actual->shape[d]),
                             STR_ARG(tensor->name), STR_ARG(u->doc->name),
                             formula_text(arena, want));
        }
    }
    return true;
}

/* ---- expansion ---- */

static struct str fresh_prefix(struct builder *b, struct str spec)
{
    char *prefix = arena_array(b->arena, char, spec.len + 24);
    int len = snprintf(prefix, spec.len + 24, "%.*s%zu_", STR_ARG(spec), ++b->use_count);
    return (struct str){prefix, (size_t)len};
}

/* An output that is one of our temporaries gets its shape and type from the used spec. */
static void know_output(const struct binding *u, size_t formal, struct symbol *symbol)
{
    const struct tensor *tensor = &u->doc->tensors[formal];
    symbol->dtype = tensor->dtype;
    symbol->rank = tensor->rank;
    symbol->dtype_known = symbol->rank_known = symbol->shape_known = true;
    for (size_t d = 0; d < tensor->rank; d++)
        symbol->shape[d] = substitute(u, tensor->shape[d]);
}

static void open_symbols(struct binding *u, struct scope *inner)
{
    map_init(&inner->symbols, u->b->arena);
    for (size_t i = 0; i < u->doc->tensor_count; i++) {
        const struct ast_bind *bind = bind_of(u->use, u->doc->tensors[i].name);
        bool is_new = false;
        if (!u->actuals[i]) {
            u->actuals[i] = symbol_new(u->b, u->outer, bind->actual);
            know_output(u, i, u->actuals[i]);
        }
        const size_t *outer = map_get(&u->outer->symbols, bind->actual);
        ASSERT(outer);
        *map_put(&inner->symbols, bind->name, &is_new) = *outer;
    }
}

static bool open_dims(struct binding *u, struct scope *inner, struct err *err)
{
    size_t *dims = arena_array(u->b->arena, size_t, u->doc->dim_count + 1);
    for (size_t i = 0; i < u->doc->dim_count; i++)
        if (!builder_dim(u->b, u->dims[i], inner->prefix, u->doc->dims[i].name, &dims[i], err))
            return text_context(&u->outer->doc->text, u->use->place, err);
    inner->dims = dims;
    return true;
}

static bool outputs_written(const struct binding *u, struct err *err)
{
    for (size_t i = 0; i < u->doc->tensor_count; i++)
        if (u->doc->tensors[i].role == ROLE_OUTPUT && u->actuals[i]->written_by == OP_NONE)
            return text_fail(&u->outer->doc->text, u->use->place, NULL, err,
                             "'%.*s' never writes its output '%.*s'", STR_ARG(u->doc->name),
                             STR_ARG(u->doc->tensors[i].name));
    return true;
}

bool use_expand(struct builder *b, struct scope *scope, const struct ast *use, struct err *err)
{
    struct binding u = {.b = b, .outer = scope, .use = use, .doc = use->used};
    struct scope *inner = arena_new(b->arena, struct scope);
    if (!names_fit(&u, err) || !find_actuals(&u, err) || !take_withs(&u, err))
        return false;
    deduce_dims(&u);
    if (!complete_dims(&u, err) || !ranges_fit(&u, err) || !shapes_fit(&u, err))
        return false;
    inner->doc = use->used;
    inner->outer = scope;
    inner->use_place = scope->use_place.line ? scope->use_place : use->place;
    inner->prefix = fresh_prefix(b, use->used->name);
    open_symbols(&u, inner);
    if (!open_dims(&u, inner, err))
        return false;
    if (!resolve_body(b, inner, err))
        return text_context(&scope->doc->text, use->place, err);
    return outputs_written(&u, err);
}
