/*
 * The order of statements: each reads only what is written before.
 *
 * Method: Kahn's algorithm with the earliest ready statement first, so a body that is in order
 * stays as it is.  Inside a sequential block only reads at the block's own step (first subscript
 * the plain index) order the statements; reads at other steps are proved to look back in
 * bounds.c.
 *
 * Invariant: names written twice, unknown names and circles are refused here, so that what follows
 * meets every tensor's writer before its readers.
 */
#include "base/panic.h"

#include "solver/ir/op_int.h"

/* The names an item of the body reads or writes. */
struct names {
    struct arena *arena;
    struct str *at;
    struct op_place *places;
    size_t count, room;
};

static void names_add(struct names *names, struct str name, struct op_place place)
{
    for (size_t i = 0; i < names->count; i++)
        if (str_equal(names->at[i], name))
            return;
    if (names->count == names->room) {
        size_t room = names->room ? names->room * 2 : 8;
        struct str *at = arena_array(names->arena, struct str, room);
        struct op_place *places = arena_array(names->arena, struct op_place, room);
        for (size_t i = 0; i < names->count; i++) {
            at[i] = names->at[i];
            places[i] = names->places[i];
        }
        names->at = at;
        names->places = places;
        names->room = room;
    }
    names->at[names->count] = name;
    names->places[names->count++] = place;
}

/* `step`: the index of the sequential block, when only reads at its own step count. */
static void node_reads(struct names *names, const struct node *node, const struct str *step)
{
    if (!node)
        return;
    if (node->op == EXPR_READ) {
        bool same_step = node->sub_count > 0 && node->subs[0]->op == EXPR_INDEX && step &&
                         str_equal(node->subs[0]->name, *step);
        if (!step || same_step)
            names_add(names, node->name, node->place);
        for (size_t i = 0; i < node->sub_count; i++)
            node_reads(names, node->subs[i], step);
        node_reads(names, node->pad, step);
    }
    for (int i = 0; i < 3; i++)
        node_reads(names, node->args[i], step);
}

static void ast_reads(struct names *names, const struct ast *ast, const struct str *step)
{
    node_reads(names, ast->value, step);
    for (size_t i = 0; ast->kind == AST_SCATTER && i < ast->free_count; i++)
        node_reads(names, ast->subs[i], step);
    for (size_t i = 0; i < ast->child_count; i++)
        ast_reads(names, ast->children[i], NULL);
    for (size_t i = 0; i < ast->bind_count; i++) {
        const struct tensor *formal = spec_tensor(ast->used, ast->binds[i].name);
        if (formal && formal->role != ROLE_OUTPUT)
            names_add(names, ast->binds[i].actual, ast->binds[i].actual_place);
    }
}

static void ast_writes(struct names *names, const struct ast *ast)
{
    if (ast->kind == AST_ASSIGN || ast->kind == AST_SCATTER)
        names_add(names, ast->target, ast->place);
    for (size_t i = 0; i < ast->child_count; i++)
        ast_writes(names, ast->children[i]);
    for (size_t i = 0; i < ast->bind_count; i++) {
        const struct tensor *formal = spec_tensor(ast->used, ast->binds[i].name);
        if (formal && formal->role == ROLE_OUTPUT)
            names_add(names, ast->binds[i].actual, ast->binds[i].actual_place);
    }
}

struct order {
    struct builder *b;
    struct scope *scope;
    struct ast *const *body;
    size_t count;
    const struct str *step;
    struct names *reads, *writes; /* by item */
    struct map writer;            /* name -> item */
    bool *placed;
};

static bool written_twice(struct order *o, struct str name, struct op_place place, size_t other,
                          struct err *err)
{
    struct op_place first = o->body[other]->place;
    struct remedy remedy = remedy_say("each tensor is written by one statement, all of it");
    return text_fail(&o->scope->doc->text, place, &remedy, err,
                     "'%.*s' is written twice, first in line %d", STR_ARG(name), first.line);
}

static bool note_writes(struct order *o, size_t item, struct err *err)
{
    struct names *writes = &o->writes[item];
    for (size_t i = 0; i < writes->count; i++) {
        struct str name = writes->at[i];
        const struct tensor *declared = spec_tensor(o->scope->doc, name);
        if (declared && declared->role != ROLE_OUTPUT) {
            struct remedy remedy = remedy_say("write another name, or make its role output");
            return text_fail(&o->scope->doc->text, writes->places[i], &remedy, err,
                             "'%.*s' is an input and cannot be written", STR_ARG(name));
        }
        bool is_new = false;
        size_t *slot = map_put(&o->writer, name, &is_new);
        if (!is_new)
            return written_twice(o, name, writes->places[i], *slot, err);
        *slot = item;
    }
    return true;
}

/* Duplicate targets inside one sequential block. */
static bool children_distinct(struct order *o, const struct ast *seq, struct err *err)
{
    for (size_t i = 0; i < seq->child_count; i++)
        for (size_t j = 0; j < i; j++)
            if (str_equal(seq->children[i]->target, seq->children[j]->target)) {
                struct remedy remedy = remedy_say("each tensor is written by one statement");
                return text_fail(&o->scope->doc->text, seq->children[i]->place, &remedy, err,
                                 "'%.*s' is written twice, first in line %d",
                                 STR_ARG(seq->children[i]->target), seq->children[j]->place.line);
            }
    return true;
}

static bool reads_known(struct order *o, size_t item, struct err *err)
{
    const struct names *reads = &o->reads[item];
    for (size_t i = 0; i < reads->count; i++) {
        struct str name = reads->at[i];
        const struct symbol *symbol = scope_symbol(o->b, o->scope, name);
        if (map_get(&o->writer, name) || (symbol && (symbol->tensor != OP_NONE)))
            continue;
        size_t known_count = 0;
        const struct str *known = scope_names(o->b, o->scope, &known_count);
        struct names all = {.arena = o->b->arena};
        for (size_t k = 0; k < known_count; k++)
            names_add(&all, known[k], reads->places[i]);
        for (size_t k = 0; k < o->count; k++)
            for (size_t w = 0; w < o->writes[k].count; w++)
                names_add(&all, o->writes[k].at[w], reads->places[i]);
        struct remedy remedy =
            remedy_nearest(o->b->arena, name, all.at, all.count,
                           "declare it under tensors, or write it in a statement");
        return text_fail(&o->scope->doc->text, reads->places[i], &remedy, err,
                         "unknown tensor '%.*s'", STR_ARG(name));
    }
    return true;
}

/* The item that blocks this one, OP_NONE when it is ready. */
static size_t blocker(const struct order *o, size_t item, struct str *through)
{
    const struct names *reads = &o->reads[item];
    for (size_t i = 0; i < reads->count; i++) {
        const size_t *writer = map_get(&o->writer, reads->at[i]);
        bool own = writer && *writer == item && o->body[item]->kind == AST_SEQ;
        if (writer && !o->placed[*writer] && !own) {
            *through = reads->at[i];
            return *writer;
        }
    }
    return OP_NONE;
}

/* No item is ready: follow blockers until one repeats. */
static bool circle_fail(const struct order *o, struct err *err)
{
    bool *seen = arena_array(o->b->arena, bool, o->count);
    struct str through = {0};
    size_t at = 0;
    while (o->placed[at])
        at++;
    while (!seen[at]) {
        seen[at] = true;
        at = blocker(o, at, &through);
        ASSERT(at != OP_NONE);
    }
    size_t next = blocker(o, at, &through);
    struct op_place other = o->body[next]->place;
    struct remedy remedy =
        remedy_say("recurrences are written in a block: seq t: T { ... } with reads at t - 1");
    if (next == at)
        return text_fail(&o->scope->doc->text, o->body[at]->place, &remedy, err,
                         "the statement reads '%.*s', which it writes itself", STR_ARG(through));
    return text_fail(&o->scope->doc->text, o->body[at]->place, &remedy, err,
                     "the statement needs '%.*s' of line %d, which needs this one",
                     STR_ARG(through), other.line);
}

static bool order_sort(struct order *o, struct ast **out, struct err *err)
{
    struct str through;
    for (size_t placed = 0; placed < o->count; placed++) {
        size_t item = 0;
        while (item < o->count && (o->placed[item] || blocker(o, item, &through) != OP_NONE))
            item++;
        if (item == o->count)
            return circle_fail(o, err);
        o->placed[item] = true;
        out[placed] = o->body[item];
    }
    return true;
}

static bool order_items(struct order *o, struct ast *const **out, struct err *err)
{
    struct arena *arena = o->b->arena;
    o->reads = arena_array(arena, struct names, o->count);
    o->writes = arena_array(arena, struct names, o->count);
    o->placed = arena_array(arena, bool, o->count);
    map_init(&o->writer, arena);
    for (size_t i = 0; i < o->count; i++) {
        o->reads[i].arena = o->writes[i].arena = arena;
        ast_reads(&o->reads[i], o->body[i], o->step);
        ast_writes(&o->writes[i], o->body[i]);
        if (!children_distinct(o, o->body[i], err) || !note_writes(o, i, err))
            return false;
    }
    for (size_t i = 0; !o->step && i < o->count; i++)
        if (!reads_known(o, i, err))
            return false;
    struct ast **sorted = arena_array(arena, struct ast *, o->count);
    if (!order_sort(o, sorted, err))
        return false;
    *out = sorted;
    return true;
}

bool ast_order(struct builder *b, struct scope *scope, struct ast *const *body, size_t count,
               struct ast *const **out, struct err *err)
{
    struct order order = {.b = b, .scope = scope, .body = body, .count = count};
    if (!order_items(&order, out, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct ast *ast = body[i];
        if (ast->kind != AST_SEQ)
            continue;
        struct order inner = {.b = b,
                              .scope = scope,
                              .body = ast->children,
                              .count = ast->child_count,
                              .step = &ast->target};
        if (!order_items(&inner, &ast->children, err))
            return false;
    }
    return true;
}
