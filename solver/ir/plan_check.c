/*
 * What must hold of a plan: by itself (plan_check_self), and for a given op.
 *
 * With the op, the regions must cover the statements exactly once, and the edges must be exactly
 * the tensors that one region writes and another reads.  Regions are listed in the order they run,
 * so every edge goes forward; with both, the order of regions respects all data dependences.
 *
 * Not here: whether the rewrites that a plan implies keep the meaning (solver/legal), and whether
 * the candidate does what the plan says (verify/check).
 */
#include <stdio.h>

#include "base/panic.h"

#include "solver/ir/doc_int.h"
#include "solver/ir/plan.h"

enum { BLOCK_THREADS_MAX = 1024 };

/* ---- without the op ---- */

static bool check_stmts(const struct plan_region *region, const char *path, struct err *err)
{
    if (region->stmt_count == 0)
        return doc_refuse(err, path, "a region has at least one statement");
    for (size_t i = 1; i < region->stmt_count; i++)
        if (region->stmts[i] <= region->stmts[i - 1])
            return doc_refuse(err, path, "stmts must ascend; %zu comes after %zu", region->stmts[i],
                              region->stmts[i - 1]);
    return true;
}

static bool check_unique(const struct plan_region *region, const char *path, struct err *err)
{
    for (size_t i = 0; i < region->primitive_count; i++)
        for (size_t j = 0; j < i; j++)
            if (region->primitives[i] == region->primitives[j])
                return doc_refuse(err, path, "the primitive \"%s\" is listed twice",
                                  primitive_name(region->primitives[i]));
    for (size_t i = 0; i < region->tile_count; i++)
        for (size_t j = 0; j < i; j++)
            if (str_equal(region->tiles[i].index, region->tiles[j].index))
                return doc_refuse(err, path, "two tiles for the index \"%.*s\"",
                                  doc_shown(region->tiles[i].index), region->tiles[i].index.at);
    for (size_t i = 0; i < region->stage_count; i++)
        for (size_t j = 0; j < i; j++)
            if (str_equal(region->stages[i].tensor, region->stages[j].tensor))
                return doc_refuse(err, path, "two stages for the tensor \"%.*s\"",
                                  doc_shown(region->stages[i].tensor), region->stages[i].tensor.at);
    return true;
}

static bool check_region(const struct plan_region *region, const char *path, struct err *err)
{
    const int64_t *t = region->threads;
    bool some = region->mma[0] || region->mma[1] || region->mma[2];
    bool all = region->mma[0] && region->mma[1] && region->mma[2];
    if (!check_stmts(region, path, err) || !check_unique(region, path, err))
        return false;
    for (size_t i = 0; i < region->tile_count; i++)
        if (region->tiles[i].block < 1 || region->tiles[i].thread < 1 || region->tiles[i].step < 0)
            return doc_refuse(err, path, "tile %zu: block and thread are at least 1, step 0", i);
    if (t[0] < 1 || t[1] < 1 || t[2] < 1 || t[0] > BLOCK_THREADS_MAX || t[1] > BLOCK_THREADS_MAX ||
        t[2] > BLOCK_THREADS_MAX || t[0] * t[1] * t[2] > BLOCK_THREADS_MAX)
        return doc_refuse(err, path, "threads multiply to from 1 to %d", BLOCK_THREADS_MAX);
    if (region->vector < 1 || (region->vector & (region->vector - 1)) != 0)
        return doc_refuse(err, path, "vector is %lld; it must be a power of two",
                          (long long)region->vector);
    if (region->depth < 1 || region->split < 1)
        return doc_refuse(err, path, "depth and split are at least 1");
    if (some != all)
        return doc_refuse(err, path, "mma has three sizes, or three zeros for none");
    if (region->layout.len == 0)
        return doc_refuse(err, path, "layout is empty; write \"row-major\"");
    return true;
}

static bool check_edge(const struct plan *plan, const struct plan_edge *edge, const char *path,
                       struct err *err)
{
    if (edge->to >= plan->region_count || edge->from >= plan->region_count)
        return doc_refuse(err, path, "from %zu to %zu, but there are %zu regions", edge->from,
                          edge->to, plan->region_count);
    if (edge->from >= edge->to)
        return doc_refuse(err, path,
                          "from %zu to %zu goes backward; list regions in the order they run",
                          edge->from, edge->to);
    return true;
}

bool plan_check_self(const struct plan *plan, struct err *err)
{
    char path[DOC_PATH_BYTES];
    if (plan->track.len == 0)
        return doc_refuse(err, "track", "it is empty; write one of the spec's tracks");
    if (plan->machine.len == 0)
        return doc_refuse(err, "machine", "it is empty; write a machine's name");
    if (plan->region_count == 0 || plan->region_count > PLAN_REGIONS_MAX)
        return doc_refuse(err, "regions", "%zu of them; a plan has from 1 to %d",
                          plan->region_count, PLAN_REGIONS_MAX);
    for (size_t i = 0; i < plan->region_count; i++) {
        snprintf(path, sizeof(path), "regions[%zu]", i);
        if (!check_region(&plan->regions[i], path, err))
            return false;
    }
    for (size_t i = 0; i < plan->edge_count; i++) {
        snprintf(path, sizeof(path), "edges[%zu]", i);
        if (!check_edge(plan, &plan->edges[i], path, err))
            return false;
    }
    return true;
}

/* ---- with the op ---- */

struct checker {
    const struct plan *plan;
    const struct op *op;
    size_t region_of[OP_STATEMENTS_MAX]; /* OP_NONE: in none */
    struct err *err;
};

static bool check_cover(struct checker *c)
{
    char path[DOC_PATH_BYTES];
    for (size_t i = 0; i < c->op->stmt_count; i++)
        c->region_of[i] = OP_NONE;
    for (size_t i = 0; i < c->plan->region_count; i++) {
        const struct plan_region *region = &c->plan->regions[i];
        snprintf(path, sizeof(path), "regions[%zu]", i);
        for (size_t j = 0; j < region->stmt_count; j++) {
            size_t stmt = region->stmts[j];
            if (stmt >= c->op->stmt_count)
                return doc_refuse(c->err, path, "there is no statement %zu; the spec has %zu", stmt,
                                  c->op->stmt_count);
            if (c->region_of[stmt] != OP_NONE)
                return doc_refuse(c->err, path, "statement %zu is in regions[%zu] already", stmt,
                                  c->region_of[stmt]);
            c->region_of[stmt] = i;
        }
    }
    for (size_t i = 0; i < c->op->stmt_count; i++)
        if (c->region_of[i] == OP_NONE)
            return doc_refuse(c->err, "regions", "statement %zu is in none", i);
    return true;
}

static bool region_has_index(const struct checker *c, const struct plan_region *region,
                             struct str index)
{
    for (size_t i = 0; i < region->stmt_count; i++) {
        const struct stmt *stmt = &c->op->stmts[region->stmts[i]];
        for (size_t j = 0; j < stmt->loop_count; j++)
            if (str_equal(stmt->loops[j].name, index))
                return true;
    }
    return false;
}

struct search {
    size_t tensor;
    bool found;
};

static void visit_read(void *context, const struct expr *expr)
{
    struct search *search = context;
    if (expr->op == EXPR_READ && expr->tensor == search->tensor)
        search->found = true;
}

static bool stmt_reads(const struct op *op, const struct stmt *stmt, size_t tensor)
{
    struct search search = {.tensor = tensor};
    stmt_walk(op, stmt, visit_read, &search);
    return search.found;
}

static bool region_reads(const struct checker *c, size_t region_index, size_t tensor)
{
    const struct plan_region *region = &c->plan->regions[region_index];
    for (size_t i = 0; i < region->stmt_count; i++) {
        const struct stmt *stmt = &c->op->stmts[region->stmts[i]];
        if (stmt_reads(c->op, stmt, tensor))
            return true;
    }
    return false;
}

static bool writes(const struct checker *c, size_t region, size_t tensor)
{
    size_t stmt = c->op->tensors[tensor].written_by;
    return stmt != OP_NONE && c->region_of[stmt] == region;
}

static bool check_names(const struct checker *c, size_t index)
{
    const struct plan_region *region = &c->plan->regions[index];
    char path[DOC_PATH_BYTES];
    for (size_t i = 0; i < region->tile_count; i++) {
        struct str name = region->tiles[i].index;
        snprintf(path, sizeof(path), "regions[%zu].tiles[%zu]", index, i);
        if (!region_has_index(c, region, name))
            return doc_refuse(c->err, path, "no statement of the region has an index \"%.*s\"",
                              doc_shown(name), name.at);
    }
    for (size_t i = 0; i < region->stage_count; i++) {
        struct str name = region->stages[i].tensor;
        size_t tensor = op_tensor_find(c->op, name);
        snprintf(path, sizeof(path), "regions[%zu].stages[%zu]", index, i);
        if (tensor == OP_NONE || (!region_reads(c, index, tensor) && !writes(c, index, tensor)))
            return doc_refuse(c->err, path, "no statement of the region uses a tensor \"%.*s\"",
                              doc_shown(name), name.at);
    }
    return true;
}

static bool check_edges_true(const struct checker *c)
{
    char path[DOC_PATH_BYTES];
    for (size_t i = 0; i < c->plan->edge_count; i++) {
        const struct plan_edge *edge = &c->plan->edges[i];
        size_t tensor = op_tensor_find(c->op, edge->tensor);
        snprintf(path, sizeof(path), "edges[%zu]", i);
        if (tensor == OP_NONE || !writes(c, edge->from, tensor))
            return doc_refuse(c->err, path, "regions[%zu] does not write \"%.*s\"", edge->from,
                              doc_shown(edge->tensor), edge->tensor.at);
        if (!region_reads(c, edge->to, tensor))
            return doc_refuse(c->err, path, "regions[%zu] does not read \"%.*s\"", edge->to,
                              doc_shown(edge->tensor), edge->tensor.at);
    }
    return true;
}

static bool has_edge(const struct plan *plan, struct str tensor, size_t from, size_t to)
{
    for (size_t i = 0; i < plan->edge_count; i++) {
        const struct plan_edge *edge = &plan->edges[i];
        if (edge->from == from && edge->to == to && str_equal(edge->tensor, tensor))
            return true;
    }
    return false;
}

static bool check_edges_whole(const struct checker *c)
{
    for (size_t t = 0; t < c->op->tensor_count; t++) {
        const struct tensor *tensor = &c->op->tensors[t];
        if (tensor->written_by == OP_NONE)
            continue;
        size_t from = c->region_of[tensor->written_by];
        for (size_t to = 0; to < c->plan->region_count; to++)
            if (to != from && region_reads(c, to, t) && !has_edge(c->plan, tensor->name, from, to))
                return doc_refuse(c->err, "edges",
                                  "\"%.*s\" is written by regions[%zu] and read by regions[%zu], "
                                  "but no edge says where it lives",
                                  doc_shown(tensor->name), tensor->name.at, from, to);
    }
    return true;
}

static bool check_guard(const struct checker *c)
{
    struct str names[OP_DIMS_MAX];
    char list[DOC_NAMES_BYTES];
    ASSERT(c->op->dim_count <= OP_DIMS_MAX);
    for (size_t i = 0; i < c->op->dim_count; i++)
        names[i] = c->op->dims[i].name;
    struct str unknown = formula_unknown_name(c->plan->guard, names, c->op->dim_count);
    if (unknown.len == 0)
        return true;
    doc_join_names(names, c->op->dim_count, list);
    return doc_refuse(c->err, "guard", "there is no dim \"%.*s\"; the spec has %s",
                      doc_shown(unknown), unknown.at, list[0] ? list : "none");
}

bool plan_check(const struct plan *plan, const struct op *op, struct err *err)
{
    struct checker c = {.plan = plan, .op = op, .err = err};
    bool has_track = false;
    ASSERT(op->stmt_count <= OP_STATEMENTS_MAX);
    if (!plan_check_self(plan, err))
        return false;
    if (!hash_equal(&plan->op, &op->hash))
        return doc_refuse(err, "op", "the plan is for another spec than \"%.*s\"",
                          doc_shown(op->name), op->name.at);
    for (size_t i = 0; i < op->track_count; i++)
        has_track |= str_equal(op->tracks[i].name, plan->track);
    if (!has_track)
        return doc_refuse(err, "track", "the spec has no track \"%.*s\"", doc_shown(plan->track),
                          plan->track.at);
    if (!check_guard(&c) || !check_cover(&c))
        return false;
    for (size_t i = 0; i < plan->region_count; i++)
        if (!check_names(&c, i))
            return false;
    return check_edges_true(&c) && check_edges_whole(&c);
}
