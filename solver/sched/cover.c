/*
 * The cover problem: domains of classes of candidates, their costs, and what hangs between them.
 *
 * A class is priced once, in its part of the op, as a region that is not the first of a plan; what
 * the first one costs more is the same for any region, so it is the plan's.
 *
 * Invariant: costs come from cost_region and cost_edge alone.  Not here: search.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"

#include "solver/sched/cover_int.h"

enum { SCRATCH_BYTES = 256 << 20 };

/* ---- domains ---- */

struct priced {
    struct cover_choice choice; /* but for the guard */
    size_t index;               /* in its kind's domain */
};
struct pricer {
    struct arena *arena;
    struct cover_problem *problem;
    const struct candidate_class *class;
    struct cover_domain *domain;
    struct cover_kind kinds[REGION_SKELETONS_MAX];
    struct priced *choices; /* all legal ones */
    size_t count, room;
};

/* What the region takes as the first of a plan, or behind another one. */
static double price(struct arena *scratch, const struct cover_problem *problem,
                    const struct bound_op *part, const struct plan_region *region, bool first)
{
    const struct plan_region twice[2] = {*region, *region};
    const struct plan plan = {.regions = twice, .region_count = 2};
    struct region_cost cost;
    arena_clear(scratch);
    cost_region(scratch, &plan, first ? 0 : 1, part, problem->machine, &cost);
    return cost.seconds;
}

static void add_choice(struct pricer *p, const struct priced *choice)
{
    if (p->count == p->room) {
        p->room = p->room == 0 ? 1024 : 2 * p->room;
        struct priced *larger = arena_array(p->arena, struct priced, p->room);
        if (p->count > 0)
            memcpy(larger, p->choices, p->count * sizeof(*larger));
        p->choices = larger;
    }
    p->choices[p->count++] = *choice;
}

struct rest_edges {
    const struct op *part;
    struct plan_edge *edges;
    size_t count;
};

static void add_stored(void *context, const struct expr *expr)
{
    struct rest_edges *list = context;
    if (expr->op == EXPR_READ)
        list->edges[list->count++] =
            (struct plan_edge){list->part->tensors[expr->tensor].name, 0, 1, RESIDE_GLOBAL};
}

/* From the region, which is 0, to the rest, which is 1, and back. */
static struct rest_edges edges_of(struct arena *arena, const struct candidate_class *class)
{
    const struct op *part = class->part->op;
    struct rest_edges list = {part, arena_array(arena, struct plan_edge, 2 * part->tensor_count),
                              0};
    for (size_t t = 0; t + 1 < part->tensor_count; t++)
        if (part->tensors[t].written_by == class->stmt_count)
            list.edges[list.count++] =
                (struct plan_edge){part->tensors[t].name, 1, 0, RESIDE_GLOBAL};
    expr_walk(part->stmts[class->stmt_count].value, add_stored, &list);
    return list;
}

bool cover_kind(struct arena *arena, const struct cover_problem *problem,
                const struct candidate_class *class, size_t kind, bool first,
                struct cover_kind *out, struct err *err)
{
    const struct region_skeleton *skeleton = &class->kinds[kind];
    const struct rest_edges list = edges_of(arena, class);
    out->plan = (struct plan){.op = class->part->op->hash,
                              .track = problem->track->name,
                              .machine = str_from(problem->limits->arch),
                              .regions = &skeleton->region,
                              .region_count = 1,
                              .edges = list.edges,
                              .edge_count = list.count,
                              .guard = skeleton->guard,
                              .deterministic = class->part->op->policy.deterministic};
    const struct space_options options = {.plans_max = 1,
                                          .realisable = problem->limits->realisable};
    if (!plan_space(arena, &out->plan, class->part, problem->machine, &options, &out->space, err))
        return false;
    const struct space_domain *domain = &out->space.domains[0];
    out->seconds = arena_array(arena, double, domain->count + 1);
    struct arena scratch;
    arena_init(&scratch, SCRATCH_BYTES);
    for (size_t i = 0; i < domain->count; i++)
        out->seconds[i] = price(&scratch, problem, class->part, &domain->choices[i], first);
    arena_release(&scratch);
    return true;
}

/* Does an edge of some tensor that the class takes or gives depend on its ends? */
static bool class_varies(const struct cover_problem *problem, const struct candidate_class *class)
{
    const struct bound_op *part = class->part;
    for (size_t t = 0; t < part->op->tensor_count; t++)
        if (part->op->tensors[t].written_by != OP_NONE &&
            cost_edge_varies(part, t, problem->machine))
            return true;
    return false;
}

/* All legal choices of one kind of region. */
static void add_kind(struct pricer *p, size_t number)
{
    struct cover_kind *kind = &p->kinds[number];
    struct err err;
    if (!cover_kind(p->arena, p->problem, p->class, number, false, kind, &err)) {
        if (p->domain->why == NULL)
            p->domain->why = str_copy(p->arena, str_from(err.text));
        return;
    }
    const struct space_domain *domain = &kind->space.domains[0];
    const bool varies = class_varies(p->problem, p->class);
    p->domain->generated += kind->space.generated;
    p->domain->legal += domain->count;
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        p->domain->refused[i] += kind->space.refused[i];
    for (size_t i = 0; i < domain->count; i++) {
        const size_t signature =
            varies ? number * COST_SIGNATURES + cost_signature(&domain->choices[i]) : 0;
        const struct priced choice = {
            {domain->choices[i], NULL, kind->seconds[i], signature, number}, i};
        ASSERT(signature < COVER_SIGNATURES);
        add_choice(p, &choice);
    }
}

static int by_signature(const void *a, const void *b)
{
    const struct priced *const *x = a, *const *y = b;
    const struct cover_choice *own = &(*x)->choice, *other = &(*y)->choice;
    if (own->signature != other->signature)
        return own->signature < other->signature ? -1 : 1;
    if (own->seconds != other->seconds)
        return own->seconds < other->seconds ? -1 : 1;
    return *x < *y ? -1 : *x > *y; /* in the order of the space */
}

static const struct formula *guard_of(struct arena *arena, const struct pricer *p,
                                      const struct priced *priced)
{
    const struct cover_kind *kind = &p->kinds[priced->choice.kind];
    const struct plan *plan =
        space_plan(p->arena, &kind->plan, p->class->part, &kind->space, &priced->index);
    return formula_copy(arena, plan->guard);
}

/* The `best` cheapest of each signature, into the problem's arena. */
static void keep_best(struct arena *arena, const struct pricer *p)
{
    const struct priced **order = arena_array(p->arena, const struct priced *, p->count + 1);
    struct cover_choice *kept =
        arena_array(arena, struct cover_choice, COVER_SIGNATURES * p->problem->best + 1);
    size_t of_signature[COVER_SIGNATURES] = {0}, count = 0;
    for (size_t i = 0; i < p->count; i++)
        order[i] = &p->choices[i];
    qsort(order, p->count, sizeof(*order), by_signature);
    for (size_t i = 0; i < p->count; i++) {
        const struct cover_choice *own = &order[i]->choice;
        if (of_signature[own->signature]++ >= p->problem->best)
            continue;
        kept[count] = *own;
        kept[count].region = plan_region_copy(arena, &own->region);
        kept[count++].guard = guard_of(arena, p, order[i]);
    }
    p->domain->choices = kept;
    p->domain->count = count;
    for (size_t s = 0, at = 0; s <= COVER_SIGNATURES; s++) {
        while (at < count && kept[at].signature < s)
            at++;
        p->domain->starts[s] = at;
    }
}

static void make_domain(struct arena *arena, struct cover_problem *problem,
                        const struct candidate_class *class, struct cover_domain *domain)
{
    struct arena scratch;
    struct pricer p = {.arena = &scratch, .problem = problem, .class = class, .domain = domain};
    arena_init(&scratch, SCRATCH_BYTES);
    for (size_t i = 0; i < class->kind_count; i++)
        add_kind(&p, i);
    keep_best(arena, &p);
    if (domain->why != NULL)
        domain->why = str_copy(arena, str_from(domain->why));
    problem->generated += domain->generated;
    problem->legal += domain->legal;
    problem->kept += domain->count;
    problem->reused += class->members > 0 ? class->members - 1 : 0;
    arena_release(&scratch);
}

static void make_domains(struct arena *arena, struct cover_problem *problem)
{
    const struct candidates *c = problem->candidates;
    struct cover_domain *domains = arena_array(arena, struct cover_domain, c->class_count + 1);
    bool priced = false;
    for (size_t i = 0; i < c->class_count; i++) {
        make_domain(arena, problem, &c->classes[i], &domains[i]);
        if (domains[i].count == 0 || priced)
            continue;
        const struct plan_region *region = &domains[i].choices[0].region;
        struct arena scratch;
        arena_init(&scratch, SCRATCH_BYTES);
        problem->start_s = price(&scratch, problem, c->classes[i].part, region, true) -
                           price(&scratch, problem, c->classes[i].part, region, false);
        arena_release(&scratch);
        priced = true;
    }
    problem->domains = domains;
}

/* ---- items ---- */

struct linker {
    struct arena *arena;
    const struct op *op;
    const size_t *const *readers; /* by tensor: statements, ascending; OP_NONE at the end */
    const struct candidate_set *candidate;
    struct cover_read *reads;
    size_t read_count, reader; /* the statement at hand */
};

static bool has_stmt(const struct candidate_set *candidate, size_t stmt)
{
    size_t low = 0, high = candidate->stmt_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (candidate->stmts[middle] < stmt)
            low = middle + 1;
        else
            high = middle;
    }
    return low < candidate->stmt_count && candidate->stmts[low] == stmt;
}

struct reader_scan {
    size_t **readers;
    size_t *counts;
    size_t stmt;
};

static void scan_readers(void *context, const struct expr *expr)
{
    struct reader_scan *scan = context;
    if (expr->op != EXPR_READ)
        return;
    size_t *own = scan->readers[expr->tensor];
    const size_t count = scan->counts[expr->tensor];
    if (own != NULL && (count == 0 || own[count - 1] != scan->stmt))
        own[scan->counts[expr->tensor]++] = scan->stmt;
    else if (own == NULL)
        scan->counts[expr->tensor]++;
}

static const size_t *const *find_readers(struct arena *arena, const struct op *op)
{
    struct reader_scan scan = {arena_array(arena, size_t *, op->tensor_count + 1),
                               arena_array(arena, size_t, op->tensor_count + 1), 0};
    for (size_t s = 0; s < op->stmt_count; s++)
        stmt_walk(op, &op->stmts[s], scan_readers, &scan);
    for (size_t t = 0; t < op->tensor_count; t++) {
        scan.readers[t] = arena_array(arena, size_t, scan.counts[t] + 1);
        scan.counts[t] = 0;
    }
    for (scan.stmt = 0; scan.stmt < op->stmt_count; scan.stmt++)
        stmt_walk(op, &op->stmts[scan.stmt], scan_readers, &scan);
    for (size_t t = 0; t < op->tensor_count; t++)
        scan.readers[t][scan.counts[t]] = OP_NONE;
    return (const size_t *const *)scan.readers;
}

static void count_reads(void *context, const struct expr *expr)
{
    struct linker *l = context;
    l->read_count += expr->op == EXPR_READ;
}

static void find_reads(void *context, const struct expr *expr)
{
    struct linker *l = context;
    if (expr->op != EXPR_READ)
        return;
    const size_t writer = l->op->tensors[expr->tensor].written_by;
    if (writer == OP_NONE || has_stmt(l->candidate, writer))
        return;
    for (size_t i = 0; i < l->read_count; i++)
        if (l->reads[i].tensor == expr->tensor)
            return;
    struct cover_read read = {expr->tensor, writer, l->reader, 0, 0};
    for (const size_t *r = l->readers[expr->tensor]; *r != OP_NONE; r++)
        read.count += has_stmt(l->candidate, *r);
    l->reads[l->read_count++] = read;
}

static void link_item(struct linker *l, struct cover_item *item)
{
    const struct candidate_set *candidate = l->candidate = item->candidate;
    struct cover_write *writes = arena_array(l->arena, struct cover_write, candidate->stmt_count);
    l->read_count = 0;
    for (size_t i = 0; i < candidate->stmt_count; i++)
        stmt_walk(l->op, &l->op->stmts[candidate->stmts[i]], count_reads, l);
    l->reads = arena_array(l->arena, struct cover_read, l->read_count + 1);
    l->read_count = 0;
    for (size_t i = 0; i < candidate->stmt_count; i++) {
        const struct stmt *stmt = &l->op->stmts[candidate->stmts[i]];
        struct cover_write write = {stmt->target, OP_NONE, 0, 0};
        l->reader = candidate->stmts[i];
        stmt_walk(l->op, stmt, find_reads, l);
        for (const size_t *r = l->readers[stmt->target]; *r != OP_NONE; r++) {
            if (has_stmt(candidate, *r))
                continue;
            write.first = write.count == 0 ? *r : write.first;
            write.count++;
        }
        if (write.count > 0)
            writes[item->write_count++] = write;
    }
    item->reads = l->reads;
    item->read_count = l->read_count;
    item->writes = writes;
}

static bool make_items(struct arena *arena, struct cover_problem *problem, struct err *err)
{
    const struct candidates *c = problem->candidates;
    struct linker l = {.arena = arena, .op = problem->bound->op};
    struct cover_item *items = arena_array(arena, struct cover_item, c->count + 1);
    size_t *starts = arena_array(arena, size_t, c->unit_count + 2);
    l.readers = find_readers(arena, l.op);
    for (size_t u = 0; u < c->unit_count; u++) {
        starts[u] = problem->item_count;
        for (size_t i = c->starts[u]; i < c->starts[u + 1]; i++) {
            const struct cover_domain *domain = &problem->domains[c->items[i].class];
            struct cover_item *item = &items[problem->item_count];
            if (domain->count == 0)
                continue;
            *item = (struct cover_item){.candidate = &c->items[i], .domain = domain};
            link_item(&l, item);
            problem->item_count++;
        }
        if (starts[u] == problem->item_count || items[starts[u]].candidate->unit_count > 1)
            return err_raise(err, ERR_LIMIT, "statement %zu has no legal region: %s",
                             c->units[u].first, problem->domains[c->items[c->starts[u]].class].why);
    }
    starts[c->unit_count] = problem->item_count;
    problem->items = items;
    problem->starts = starts;
    return true;
}

/* What an item takes at least: its cheapest choice, and each tensor handed over as cheaply as any
 * ends do it. */
static void find_least(struct arena *arena, const struct cover_problem *problem,
                       struct cover_item *items)
{
    const size_t tensors = problem->bound->op->tensor_count;
    double *least = arena_array(arena, double, tensors + 1);
    for (size_t t = 0; t < tensors; t++) {
        const struct cover_hand *hand = &problem->hands[t];
        least[t] = INFINITY;
        for (size_t i = 0; i < 2 * hand->rows * hand->columns; i++)
            least[t] = fmin(least[t], hand->seconds[i]);
    }
    for (size_t i = 0; i < problem->item_count; i++) {
        items[i].least = INFINITY;
        for (size_t k = 0; k < items[i].domain->count; k++)
            items[i].least = fmin(items[i].least, items[i].domain->choices[k].seconds);
        for (size_t r = 0; r < items[i].read_count; r++)
            items[i].least += least[items[i].reads[r].tensor];
    }
}

bool cover_problem(struct arena *arena, const struct candidates *candidates,
                   const struct machine *machine, size_t best, struct cover_problem *out,
                   struct err *err)
{
    struct cover_problem problem = {.bound = candidates->bound,
                                    .track = candidates->track,
                                    .machine = machine,
                                    .limits = candidates->limits,
                                    .candidates = candidates,
                                    .best = best};
    ASSERT(best > 0 && best <= FACTOR_BEST_MAX);
    make_domains(arena, &problem);
    if (!make_items(arena, &problem, err))
        return false;
    cover_hands(arena, &problem, (struct cover_item *)problem.items);
    find_least(arena, &problem, (struct cover_item *)problem.items);
    *out = problem;
    return true;
}

/* ---- results ---- */

double cover_cost(struct arena *arena, const struct cover_problem *problem,
                  const struct cover_pick *picks, size_t count)
{
    size_t *pick_of = arena_array(arena, size_t, problem->bound->op->stmt_count + 1);
    double cost = problem->start_s;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < problem->items[picks[i].item].candidate->stmt_count; k++)
            pick_of[problem->items[picks[i].item].candidate->stmts[k]] = i;
    for (size_t i = 0; i < count; i++) {
        const struct cover_item *item = &problem->items[picks[i].item];
        const struct cover_choice *choice = &item->domain->choices[picks[i].choice];
        cost += choice->seconds;
        for (size_t r = 0; r < item->read_count; r++) {
            const struct cover_pick *from = &picks[pick_of[item->reads[r].writer]];
            const struct cover_item *writer = &problem->items[from->item];
            size_t w = 0;
            while (writer->writes[w].tensor != item->reads[r].tensor)
                w++;
            cost += cover_edge(problem, &writer->writes[w],
                               writer->domain->choices[from->choice].signature, &item->reads[r],
                               choice->signature);
        }
    }
    return cost;
}

const struct plan *cover_plan(struct arena *arena, const struct cover_problem *problem,
                              const struct cover_pick *picks, size_t count)
{
    struct region_skeleton *regions = arena_array(arena, struct region_skeleton, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct cover_item *item = &problem->items[picks[i].item];
        const struct cover_choice *choice = &item->domain->choices[picks[i].choice];
        regions[i] = (struct region_skeleton){
            candidate_region(arena, problem->candidates, item->candidate, &choice->region),
            choice->guard};
    }
    return plan_of_regions(arena, problem->bound, problem->track, problem->limits, regions, count);
}
