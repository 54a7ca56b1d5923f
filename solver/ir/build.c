/*
 * op_parse: the document is read, its body resolved into growing tables, the tables closed into an
 * immutable op, and the op checked at each of its shapes.
 *
 * Invariant: `struct builder` never leaves this module; the op owns copies of its tables' final
 * size, all in the caller's arena.
 */
#include <string.h>

#include "base/num.h"
#include "base/panic.h"

#include "solver/ir/op_int.h"

enum { SCRATCH_BYTES_MAX = 1 << 30, FORMULA_TEXT_BYTES_MAX = 400 };

const char *formula_text(struct arena *arena, const struct formula *formula)
{
    struct buf buf;
    buf_init(&buf, arena, FORMULA_TEXT_BYTES_MAX);
    formula_print(&buf, formula);
    return str_copy(arena, buf_view(&buf));
}

/* ---- symbols ---- */

struct symbol *scope_symbol(const struct builder *b, const struct scope *scope, struct str name)
{
    const size_t *at = map_get(&scope->symbols, name);
    return at ? b->symbols[*at] : NULL;
}

/* Room for one more entry in a growing table. */
static void *with_room(struct arena *arena, void *table, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return table;
    *room = *room ? *room * 2 : 64;
    void *more = arena_alloc(arena, *room, size, alignof(max_align_t));
    if (count)
        memcpy(more, table, count * size);
    return more;
}

struct stmt *builder_stmt(struct builder *b)
{
    b->stmts = with_room(b->arena, b->stmts, b->stmt_count, &b->stmt_room, sizeof(*b->stmts));
    return &b->stmts[b->stmt_count++];
}

struct seq *builder_seq(struct builder *b)
{
    b->seqs = with_room(b->arena, b->seqs, b->seq_count, &b->seq_room, sizeof(*b->seqs));
    return &b->seqs[b->seq_count];
}

/* `prefix` and `name` in one, made different from all names of tensors so far. */
static struct str fresh_name(const struct builder *b, struct str prefix, struct str name)
{
    char *text = arena_array(b->arena, char, prefix.len + name.len + 1);
    if (prefix.len)
        memcpy(text, prefix.at, prefix.len);
    memcpy(text + prefix.len, name.at, name.len);
    struct str whole = {text, prefix.len + name.len};
    return map_get(&b->names, whole) ? fresh_name(b, whole, STR_LIT("_")) : whole;
}

struct symbol *symbol_new(struct builder *b, struct scope *scope, struct str name)
{
    bool is_new = false;
    b->symbols =
        with_room(b->arena, b->symbols, b->symbol_count, &b->symbol_room, sizeof(struct symbol *));
    struct symbol *symbol = arena_new(b->arena, struct symbol);
    symbol->name = fresh_name(b, scope->prefix, name);
    symbol->tensor = symbol->written_by = OP_NONE;
    map_put(&b->names, symbol->name, &is_new);
    *map_put(&scope->symbols, name, &is_new) = b->symbol_count;
    ASSERT(is_new);
    b->symbols[b->symbol_count++] = symbol;
    return symbol;
}

bool symbol_enter(struct builder *b, struct symbol *symbol, struct err *err)
{
    if (b->tensor_count == OP_TENSORS_MAX)
        return err_raise(err, ERR_LIMIT, "%s: an op has at most %d tensors", b->source,
                         OP_TENSORS_MAX);
    symbol->tensor = b->tensor_count;
    b->tensors =
        with_room(b->arena, b->tensors, b->tensor_count, &b->tensor_room, sizeof(*b->tensors));
    b->tensors[b->tensor_count++] = (struct tensor){.name = symbol->name,
                                                    .temporary = true,
                                                    .role = ROLE_OUTPUT,
                                                    .align = 16,
                                                    .may_alias = OP_NONE,
                                                    .written_by = OP_NONE};
    return true;
}

const struct str *scope_names(const struct builder *b, const struct scope *scope, size_t *count)
{
    const struct spec_doc *doc = scope->doc;
    struct str *names = arena_array(b->arena, struct str, doc->tensor_count + 1);
    for (size_t i = 0; i < doc->tensor_count; i++)
        names[i] = doc->tensors[i].name;
    *count = doc->tensor_count;
    return names;
}

/* ---- dims ---- */

static struct formula_env shape_env(const struct builder *b, size_t shape)
{
    return (struct formula_env){b->dim_names, b->shapes[shape], b->dim_count};
}

bool builder_eval(const struct builder *b, const struct formula *formula, size_t shape,
                  int64_t *out, struct err *err)
{
    struct formula_env env = shape_env(b, shape);
    return formula_eval(formula, &env, out, err);
}

bool builder_extents_agree(const struct builder *b, const struct formula *one,
                           const struct formula *two)
{
    struct err ignored;
    if (formula_equal(one, two))
        return true;
    for (size_t s = 0; s < b->shape_count; s++) {
        int64_t a = 0;
        int64_t c = 0;
        if (!builder_eval(b, one, s, &a, &ignored) || !builder_eval(b, two, s, &c, &ignored) ||
            a != c)
            return false;
    }
    return true;
}

static const struct formula *rename_dims(const struct builder *b, const struct scope *scope,
                                         const struct formula *f)
{
    if (!f || f->op == FORMULA_INT)
        return f;
    if (f->op == FORMULA_NAME) {
        for (size_t i = 0; i < scope->doc->dim_count; i++)
            if (str_equal(scope->doc->dims[i].name, f->name))
                return formula_name(b->arena, b->dims[scope->dims[i]].name);
        panic("formula with an unknown dim");
    }
    struct formula *copy = arena_new(b->arena, struct formula);
    *copy = *f;
    copy->a = rename_dims(b, scope, f->a);
    copy->b = rename_dims(b, scope, f->b);
    return copy;
}

bool scope_formula(const struct builder *b, const struct scope *scope,
                   const struct formula *formula, struct op_place place, const struct formula **out,
                   struct err *err)
{
    const struct spec_doc *doc = scope->doc;
    struct str *names = arena_array(b->arena, struct str, doc->dim_count + 1);
    for (size_t i = 0; i < doc->dim_count; i++)
        names[i] = doc->dims[i].name;
    struct str unknown = formula_unknown_name(formula, names, doc->dim_count);
    if (unknown.len) {
        struct remedy remedy =
            remedy_nearest(b->arena, unknown, names, doc->dim_count, "declare it under dims");
        return text_fail(&doc->text, place, &remedy, err, "unknown dim '%.*s'", STR_ARG(unknown));
    }
    *out = rename_dims(b, scope, formula);
    return true;
}

static bool dim_means(const struct builder *b, const struct dim *dim, const struct formula *f)
{
    if (f->op == FORMULA_NAME)
        return str_equal(f->name, dim->name);
    if (f->op == FORMULA_INT)
        return dim->kind == DIM_CONST && dim->value == f->value;
    (void)b;
    return dim->kind == DIM_FORMULA && formula_equal(dim->formula, f);
}

bool builder_dim(struct builder *b, const struct formula *formula, struct str prefix,
                 struct str name, size_t *out, struct err *err)
{
    for (size_t i = 0; i < b->dim_count; i++)
        if (dim_means(b, &b->dims[i], formula)) {
            *out = i;
            return true;
        }
    if (b->dim_count == OP_DIMS_MAX)
        return err_raise(err, ERR_LIMIT, "an op has at most %d dims, those of used specs included",
                         OP_DIMS_MAX);
    size_t at = b->dim_count;
    struct dim *dim = &b->dims[at];
    *dim = (struct dim){.name = fresh_name(b, prefix, name), .kind = DIM_FORMULA};
    for (size_t i = 0; i < at; i++)
        if (str_equal(b->dims[i].name, dim->name)) {
            dim->name = fresh_name(b, dim->name, STR_LIT("_"));
            i = 0;
        }
    dim->formula = formula;
    if (formula->op == FORMULA_INT) {
        dim->kind = DIM_CONST;
        dim->value = formula->value;
    }
    for (size_t s = 0; s < b->shape_count; s++)
        if (!builder_eval(b, formula, s, &b->shapes[s][at], err))
            return false;
    b->dim_names[at] = dim->name;
    b->dim_count++;
    *out = at;
    return true;
}

/* ---- the start: declared dims, shapes and tensors ---- */

static bool eval_shape(struct builder *b, const struct spec_doc *doc,
                       const struct spec_shape *shape, int64_t *values, struct err *err)
{
    for (size_t i = 0; i < doc->dim_count; i++) {
        const struct dim *dim = &doc->dims[i];
        struct formula_env env = {b->dim_names, values, i};
        values[i] = dim->kind == DIM_CONST ? dim->value : shape->given[i];
        if (dim->kind == DIM_FORMULA && !formula_eval(dim->formula, &env, &values[i], err)) {
            char cause[ERR_TEXT_BYTES];
            memcpy(cause, err->text, sizeof(cause));
            return json_fail(shape->json, err, "dim '%.*s': %.600s", STR_ARG(dim->name), cause);
        }
    }
    return true;
}

static bool start_dims(struct builder *b, const struct spec_doc *doc, struct err *err)
{
    for (size_t i = 0; i < doc->dim_count; i++) {
        b->dims[i] = doc->dims[i];
        b->dim_names[i] = doc->dims[i].name;
    }
    b->dim_count = doc->dim_count;
    b->shape_count = doc->target_count + doc->verify_count;
    b->shapes = (int64_t(*)[OP_DIMS_MAX])arena_alloc(b->arena, b->shape_count, sizeof(*b->shapes),
                                                     alignof(int64_t));
    for (size_t s = 0; s < b->shape_count; s++) {
        const struct spec_shape *shape =
            s < doc->target_count ? &doc->targets[s] : &doc->verify[s - doc->target_count];
        if (!eval_shape(b, doc, shape, b->shapes[s], err))
            return false;
    }
    return true;
}

static void start_tensors(struct builder *b, struct scope *root)
{
    const struct spec_doc *doc = root->doc;
    b->tensor_room = doc->tensor_count + 16;
    b->tensors = arena_array(b->arena, struct tensor, b->tensor_room);
    for (size_t i = 0; i < doc->tensor_count; i++) {
        const struct tensor *tensor = &doc->tensors[i];
        struct symbol *symbol = symbol_new(b, root, tensor->name);
        symbol->tensor = i;
        symbol->declared = true;
        symbol->shape_known = symbol->rank_known = symbol->dtype_known = true;
        symbol->dtype = tensor->dtype;
        symbol->rank = tensor->rank;
        memcpy(symbol->shape, tensor->shape, sizeof(symbol->shape));
        b->tensors[i] = *tensor;
    }
    b->tensor_count = b->declared_count = doc->tensor_count;
}

/* ---- the end: a closed op ---- */

static const struct shape *close_shapes(const struct builder *b, size_t first, size_t count)
{
    struct shape *shapes = arena_array(b->arena, struct shape, count + 1);
    for (size_t s = 0; s < count; s++) {
        int64_t *values = arena_array(b->arena, int64_t, b->dim_count + 1);
        memcpy(values, b->shapes[first + s], b->dim_count * sizeof(*values));
        shapes[s].values = values;
    }
    return shapes;
}

static void *copy_table(struct arena *arena, const void *table, size_t count, size_t size)
{
    void *copy = arena_alloc(arena, count + 1, size, alignof(max_align_t));
    if (count)
        memcpy(copy, table, count * size);
    return copy;
}

static void op_hash(struct op *op)
{
    struct arena scratch;
    struct buf buf;
    arena_init(&scratch, SCRATCH_BYTES_MAX);
    buf_init(&buf, &scratch, JSON_BYTES_MAX);
    op_print_json(&buf, op);
    op->hash = hash_bytes(buf.at, buf.len);
    arena_release(&scratch);
}

static struct op *close_op(const struct builder *b, const struct spec_doc *doc)
{
    struct arena *arena = b->arena;
    struct op *op = arena_new(arena, struct op);
    op->name = doc->name;
    op->doc = doc->doc;
    op->dims = copy_table(arena, b->dims, b->dim_count, sizeof(*b->dims));
    op->dim_count = b->dim_count;
    op->tensors = copy_table(arena, b->tensors, b->tensor_count, sizeof(*b->tensors));
    op->tensor_count = b->tensor_count;
    op->declared_count = b->declared_count;
    op->stmts = copy_table(arena, b->stmts, b->stmt_count, sizeof(*b->stmts));
    op->stmt_count = b->stmt_count;
    op->seqs = copy_table(arena, b->seqs, b->seq_count, sizeof(*b->seqs));
    op->seq_count = b->seq_count;
    op->policy = doc->policy;
    op->tracks = doc->tracks;
    op->track_count = doc->track_count;
    op->targets = close_shapes(b, 0, doc->target_count);
    op->target_count = doc->target_count;
    op->verify = close_shapes(b, doc->target_count, doc->verify_count);
    op->verify_count = doc->verify_count;
    op->body = doc->text.lines;
    op->body_count = doc->text.count;
    return op;
}

/* ---- what only a whole op can show ---- */

struct readers {
    bool *read; /* by tensor */
};

static void note_read(void *context, const struct expr *e)
{
    struct readers *readers = context;
    if (e->op == EXPR_READ)
        readers->read[e->tensor] = true;
}

static bool check_uses(const struct builder *b, const struct spec_doc *doc, const struct op *op,
                       struct err *err)
{
    struct readers readers = {arena_array(b->arena, bool, op->tensor_count)};
    for (size_t i = 0; i < op->stmt_count; i++) {
        expr_walk(op->stmts[i].value, note_read, &readers);
        for (size_t d = 0; op->stmts[i].scatter && d < op->tensors[op->stmts[i].target].rank; d++)
            expr_walk(op->stmts[i].scatter[d], note_read, &readers);
    }
    for (size_t i = 0; i < op->declared_count; i++) {
        const struct tensor *tensor = &op->tensors[i];
        bool is_output = tensor->role == ROLE_OUTPUT;
        const struct json *at = &doc->tensors_json->items[i];
        if (is_output && tensor->written_by == OP_NONE)
            return json_fail(at, err, "output '%.*s' is never written by the body",
                             STR_ARG(tensor->name));
        if (!is_output && !readers.read[i])
            return json_fail(at, err, "%s '%.*s' is never read by the body",
                             role_name(tensor->role), STR_ARG(tensor->name));
    }
    return true;
}

static bool check_shapes(const struct op *op, const char *source, struct err *err)
{
    struct arena scratch;
    bool ok = true;
    arena_init(&scratch, SCRATCH_BYTES_MAX);
    for (size_t s = 0; ok && s < op->target_count + op->verify_count; s++) {
        const struct shape *shape =
            s < op->target_count ? &op->targets[s] : &op->verify[s - op->target_count];
        const struct bound_op *bound = NULL;
        ok = bind_values(&scratch, op, shape->values, source, &bound, err);
        arena_release(&scratch);
        arena_init(&scratch, SCRATCH_BYTES_MAX);
    }
    arena_release(&scratch);
    return ok;
}

bool op_parse(struct arena *arena, struct str text, const char *source,
              const struct op_library *library, const struct op **out, struct err *err)
{
    const struct spec_doc *doc = NULL;
    if (!spec_load(arena, text, source, &doc, err))
        return false;
    struct builder *b = arena_new(arena, struct builder);
    struct scope root = {.doc = doc};
    *b = (struct builder){.arena = arena, .source = source, .library = library};
    map_init(&b->names, arena);
    map_init(&root.symbols, arena);
    size_t *dims = arena_array(arena, size_t, OP_DIMS_MAX);
    for (size_t i = 0; i < OP_DIMS_MAX; i++)
        dims[i] = i;
    root.dims = dims;
    if (!start_dims(b, doc, err))
        return false;
    start_tensors(b, &root);
    if (!resolve_body(b, &root, err))
        return false;
    struct op *op = close_op(b, doc);
    if (!check_uses(b, doc, op, err) || !op_check(op, err) || !check_shapes(op, source, err))
        return false;
    op_hash(op);
    *out = op;
    return true;
}
