/*
 * bench-solver --covers: cover problems of the library, of networks of repeated blocks and of
 * random ops; what each solver proves and misses; what choosing jointly is worth.
 *
 * A problem is solved by dynamic programming over cuts, and as a factor graph by the other solvers.
 * Gaps are in percent of the optimum that any of them proves.  Choosing jointly is compared, by
 * predicted time, with the greedy cover with each region's own best, and with the cover that is
 * best when handing over tensors costs nothing.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"

#include "agent/bench_networks.h"
#include "agent/bench_solver.h"
#include "agent/plan_view.h"

enum {
    OPS_MAX = 256,
    MACHINES_MAX = 64,
    TEXT_MAX = 1 << 20,
    RANDOM_STMTS_MAX = 24,
    STEPS_MAX = 1 << 19
};
static const size_t arena_bytes_max = (size_t)4 << 30;
static const double same_cost = 1e-9;
static const size_t network_sizes[] = {50, 100, 200, 500, 1000};
static const int64_t smem_limits[] = {8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10};

#define COVER_SOLVERS(X)                                                                           \
    X(ELIMINATE, "eliminate", factor_eliminate)                                                    \
    X(BNB, "bnb", factor_bnb)                                                                      \
    X(BEAM, "beam", factor_beam)                                                                   \
    X(WFC, "wfc", factor_wfc)
enum cover_solver {
#define X(id, name, function) BY_##id,
    COVER_SOLVERS(X)
#undef X
        COVER_SOLVER_COUNT
};
static const struct {
    const char *name;
    void (*solve)(struct arena *, const struct factor_graph *, const struct factor_options *,
                  struct factor_result *);
} solvers[] = {
#define X(id, name, function) {name, function},
    COVER_SOLVERS(X)
#undef X
};

struct outcome {
    double ms, cost; /* INFINITY: no cover */
    enum factor_claim claim;
    double megabytes;
    size_t circles; /* of regions, that were forbidden on the way */
};
struct row {
    char name[64];
    size_t stmts, sets, refused, candidates, classes, choices, legal;
    double domains_ms, graph_ms;
    struct outcome cuts, by[COVER_SOLVER_COUNT];
    double optimum; /* NaN: not proven */
    bool graph;     /* it was small enough to be made */
};
struct chosen {
    double greedy, alone, joint;
};
/* A bound op with its candidates, for any machine. */
struct case_of {
    const struct bound_op *bound;
    const struct skeleton_limits *limits;
    struct structures structures;
    struct candidates candidates;
};

static double now_ms(void)
{
    return (double)clock_mono_ns() / 1e6;
}

/* ---- problems ---- */

static void make_case(struct arena *arena, const struct bound_op *bound,
                      const struct machine *machine, struct case_of *out)
{
    struct skeleton_limits *limits = arena_new(arena, struct skeleton_limits);
    *limits = (struct skeleton_limits){.arch = str_copy(arena, machine->arch),
                                       .threads_max = machine->threads_per_block};
    *out = (struct case_of){.bound = bound, .limits = limits};
    structure_of(arena, bound, NULL, &out->structures);
    candidates_find(arena, bound, NULL, limits, &out->structures, &out->candidates);
}

static bool parse_case(struct arena *arena, struct str text, const struct machine *machine,
                       struct case_of *out, struct err *err)
{
    const struct op *op;
    const struct bound_op *bound;
    if (!op_parse(arena, text, "bench", NULL, &op, err) ||
        !op_bind_shape(arena, op, &op->targets[0], &bound, err))
        return false;
    make_case(arena, bound, machine, out);
    return true;
}

static struct outcome by_solver(const struct cover_problem *problem,
                                const struct cover_graph *graph, enum cover_solver solver)
{
    struct outcome out = {.cost = INFINITY};
    struct cover_graph_result found;
    struct arena arena;
    arena_init(&arena, arena_bytes_max);
    const double start = now_ms();
    const struct factor_options options = {.steps_max = solver == BY_BNB ? STEPS_MAX : 0};
    const bool any =
        cover_graph_solve(&arena, problem, graph, solvers[solver].solve, &options, &found);
    out.ms = now_ms() - start;
    out.claim = found.result.claim;
    out.circles = found.circles;
    out.megabytes = (double)arena.bytes_total / 1e6;
    if (any)
        out.cost = cover_cost(&arena, problem, found.cover.picks, found.cover.count);
    arena_release(&arena);
    return out;
}

static struct outcome by_cuts(const struct cover_problem *problem)
{
    struct outcome out = {.cost = INFINITY};
    struct cover_result result;
    struct arena arena;
    arena_init(&arena, arena_bytes_max);
    const double start = now_ms();
    cover_solve(&arena, problem, 0, &result);
    out.ms = now_ms() - start;
    out.claim = result.claim;
    out.megabytes = (double)arena.bytes_total / 1e6;
    if (result.count > 0)
        out.cost = cover_cost(&arena, problem, result.best[0].picks, result.best[0].count);
    arena_release(&arena);
    return out;
}

/* What every solver makes of the problem. */
static void solve_all(struct arena *arena, const struct cover_problem *problem, struct row *row)
{
    struct cover_graph graph;
    struct err ignored;
    const double start = now_ms();
    row->graph = cover_graph(arena, problem, &graph, &ignored);
    row->graph_ms = now_ms() - start;
    row->cuts = by_cuts(problem);
    row->optimum = row->cuts.claim == FACTOR_OPTIMAL ? row->cuts.cost : (double)NAN;
    for (int i = 0; row->graph && i < COVER_SOLVER_COUNT; i++) {
        row->by[i] = by_solver(problem, &graph, (enum cover_solver)i);
        if (isnan(row->optimum) && row->by[i].claim == FACTOR_OPTIMAL)
            row->optimum = row->by[i].cost;
    }
}

static bool solve_row(const struct case_of *c, const struct machine *machine, struct row *row,
                      struct err *err)
{
    struct cover_problem problem;
    struct arena arena;
    arena_init(&arena, arena_bytes_max);
    const double start = now_ms();
    const bool fine = cover_problem(&arena, &c->candidates, machine, 1, &problem, err);
    if (fine) {
        row->domains_ms = now_ms() - start;
        row->stmts = c->bound->op->stmt_count;
        row->sets = c->candidates.generated;
        row->refused = c->candidates.refused;
        row->candidates = problem.item_count;
        row->classes = c->candidates.class_count;
        row->choices = problem.generated;
        row->legal = problem.legal;
        solve_all(&arena, &problem, row);
    }
    arena_release(&arena);
    return fine;
}

/* ---- jointly, or region by region ---- */

/* The cheapest choice of an item whose statements are those, as a pick; false: there is none. */
static bool own_best(const struct cover_problem *p, const struct plan_region *region,
                     struct cover_pick *out)
{
    const size_t unit = p->candidates->unit_of[region->stmts[0]];
    for (size_t i = p->starts[unit]; i < p->starts[unit + 1]; i++) {
        const struct cover_item *item = &p->items[i];
        if (item->candidate->stmt_count != region->stmt_count ||
            memcmp(item->candidate->stmts, region->stmts,
                   region->stmt_count * sizeof(*region->stmts)) != 0)
            continue;
        *out = (struct cover_pick){i, 0};
        for (size_t x = 1; x < item->domain->count; x++)
            if (item->domain->choices[x].seconds < item->domain->choices[out->choice].seconds)
                out->choice = x;
        return true;
    }
    return false;
}

static double greedy_cost(struct arena *arena, const struct case_of *c,
                          const struct cover_problem *problem)
{
    const struct plan *plan;
    struct err err;
    if (!plan_skeleton(arena, c->bound, NULL, c->limits, &plan, &err))
        return INFINITY;
    struct cover_pick *picks = arena_array(arena, struct cover_pick, plan->region_count + 1);
    for (size_t i = 0; i < plan->region_count; i++)
        if (!own_best(problem, &plan->regions[i], &picks[i]))
            return INFINITY;
    return cover_cost(arena, problem, picks, plan->region_count);
}

static bool choose(const struct case_of *c, const struct machine *machine, struct chosen *out,
                   struct err *err)
{
    struct cover_problem problem, apart;
    struct cover_result result;
    struct arena arena;
    arena_init(&arena, arena_bytes_max);
    bool fine = cover_problem(&arena, &c->candidates, machine, 1, &problem, err);
    if (fine) {
        apart = problem;
        apart.edges_ignored = true;
        cover_solve(&arena, &problem, 0, &result);
        out->joint = cover_cost(&arena, &problem, result.best[0].picks, result.best[0].count);
        cover_solve(&arena, &apart, 0, &result);
        out->alone = cover_cost(&arena, &problem, result.best[0].picks, result.best[0].count);
        out->greedy = greedy_cost(&arena, c, &problem);
    }
    arena_release(&arena);
    return fine;
}

struct comparison {
    char name[64];
    size_t problems, greedy_worse, alone_worse;
    double greedy_ratio, alone_ratio; /* sums of logarithms, over joint */
    double greedy_worst, alone_worst;
};

static void compare(struct comparison *c, const struct chosen *chosen)
{
    c->problems++;
    c->greedy_worse += chosen->greedy > chosen->joint * (1 + same_cost);
    c->alone_worse += chosen->alone > chosen->joint * (1 + same_cost);
    if (chosen->greedy < INFINITY) {
        c->greedy_ratio += log(chosen->greedy / chosen->joint);
        c->greedy_worst = fmax(c->greedy_worst, chosen->greedy / chosen->joint);
    }
    c->alone_ratio += log(chosen->alone / chosen->joint);
    c->alone_worst = fmax(c->alone_worst, chosen->alone / chosen->joint);
}

static bool compare_all(const struct case_of *cases, size_t count, const struct machine *machine,
                        struct comparison *out, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct chosen chosen;
        if (!choose(&cases[i], machine, &chosen, err))
            return false;
        compare(out, &chosen);
    }
    return true;
}

/* ---- printing ---- */

/* Percent over the optimum; NaN where nothing is proven. */
static double gap(const struct row *row, const struct outcome *o)
{
    const double over = o->cost - row->optimum;
    return over <= same_cost * row->optimum ? 0 : 100 * over / row->optimum;
}

static void put_outcome(struct buf *out, const struct row *row, const struct outcome *o)
{
    if (o->cost == INFINITY)
        buf_printf(out, " %9.2f     none", o->ms);
    else if (isnan(row->optimum))
        buf_printf(out, " %9.2f %8.1f?", o->ms, o->cost * 1e6);
    else
        buf_printf(out, " %9.2f %7.2f%%%c", o->ms, gap(row, o),
                   o->claim == FACTOR_OPTIMAL ? '*' : ' ');
}

static void put_row(struct buf *out, const struct row *row)
{
    buf_printf(out, "%-24s %5zu %6zu %6zu %5zu %7zu %7zu %9.1f %11.2f%c", row->name, row->stmts,
               row->sets, row->refused, row->classes, row->choices, row->legal, row->domains_ms,
               row->cuts.cost * 1e6, isnan(row->optimum) ? '?' : ' ');
    put_outcome(out, row, &row->cuts);
    for (int i = 0; row->graph && i < COVER_SOLVER_COUNT; i++)
        put_outcome(out, row, &row->by[i]);
    buf_printf(out, " %7.2f\n", row->cuts.megabytes);
}

static void put_head(struct buf *out)
{
    buf_printf(out, "%-24s %5s %6s %6s %5s %7s %7s %9s %11s  %9s %8s ", "covers", "stmts", "sets",
               "refuse", "class", "choices", "legal", "price ms", "best us", "cuts ms", "over");
    for (int i = 0; i < COVER_SOLVER_COUNT; i++)
        buf_printf(out, " %9s %8s ", solvers[i].name, "over");
    buf_printf(out, " %7s\n", "cuts MB");
}

static void json_outcome(struct json_writer *w, const char *name, const struct outcome *o)
{
    json_key(w, name);
    json_open_object(w);
    json_member_real(w, "ms", o->ms);
    json_member_real(w, "seconds", o->cost);
    json_member_text(w, "claim", factor_claim_text(o->claim));
    json_member_real(w, "megabytes", o->megabytes);
    json_close_object(w);
}

static void json_row(struct json_writer *w, const struct row *row)
{
    json_open_object(w);
    json_member_text(w, "covers", row->name);
    json_member_int(w, "stmts", (int64_t)row->stmts);
    json_member_int(w, "sets", (int64_t)row->sets);
    json_member_int(w, "refused", (int64_t)row->refused);
    json_member_int(w, "classes", (int64_t)row->classes);
    json_member_int(w, "choices", (int64_t)row->choices);
    json_member_int(w, "legal", (int64_t)row->legal);
    json_member_real(w, "price_ms", row->domains_ms);
    json_outcome(w, "cuts", &row->cuts);
    for (int i = 0; row->graph && i < COVER_SOLVER_COUNT; i++)
        json_outcome(w, solvers[i].name, &row->by[i]);
    json_close_object(w);
}

static void put_comparison(struct buf *out, const struct comparison *c)
{
    const double n = (double)c->problems;
    buf_printf(out, "%-24s %8zu %8zu %8.3f %8.3f %8zu %8.3f %8.3f\n", c->name, c->problems,
               c->greedy_worse, exp(c->greedy_ratio / n), c->greedy_worst, c->alone_worse,
               exp(c->alone_ratio / n), c->alone_worst);
}

static void json_comparison(struct json_writer *w, const struct comparison *c)
{
    json_open_object(w);
    json_member_text(w, "joint_against", c->name);
    json_member_int(w, "problems", (int64_t)c->problems);
    json_member_int(w, "greedy_worse", (int64_t)c->greedy_worse);
    json_member_real(w, "greedy_mean", exp(c->greedy_ratio / (double)c->problems));
    json_member_real(w, "greedy_worst", c->greedy_worst);
    json_member_int(w, "alone_worse", (int64_t)c->alone_worse);
    json_member_real(w, "alone_mean", exp(c->alone_ratio / (double)c->problems));
    json_member_real(w, "alone_worst", c->alone_worst);
    json_close_object(w);
}

/* Where results go: a table, or the members of one JSON array; and what all of them come to. */
struct sink {
    struct buf *out;
    struct json_writer *w;
    bool json;
    size_t *claims, *false_claims; /* of an optimum: all, and those that are none */
};

static void count_claim(const struct sink *sink, const struct row *row, const struct outcome *o)
{
    if (o->claim != FACTOR_OPTIMAL)
        return;
    ++*sink->claims;
    *sink->false_claims += !(gap(row, o) == 0);
}

static void count_claims(const struct sink *sink, const struct row *row)
{
    count_claim(sink, row, &row->cuts);
    for (int i = 0; row->graph && i < COVER_SOLVER_COUNT; i++)
        count_claim(sink, row, &row->by[i]);
}

static void sink_row(const struct sink *sink, const struct row *row)
{
    count_claims(sink, row);
    if (sink->json)
        json_row(sink->w, row);
    else
        put_row(sink->out, row);
}

static void sink_comparison(const struct sink *sink, const struct comparison *c)
{
    if (sink->json)
        json_comparison(sink->w, c);
    else
        put_comparison(sink->out, c);
}

/* ---- random ops ---- */

struct gaps {
    double *items;
    size_t count, proven, exact, circular, none;
    double sum, ms, megabytes;
};

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void add_gap(struct gaps *g, const struct row *row, const struct outcome *o)
{
    g->ms += o->ms;
    g->megabytes = fmax(g->megabytes, o->megabytes);
    g->proven += o->claim == FACTOR_OPTIMAL;
    g->circular += o->circles > 0;
    g->none += o->cost == INFINITY;
    if (isnan(row->optimum) || o->cost == INFINITY)
        return;
    g->items[g->count] = gap(row, o);
    g->exact += g->items[g->count] == 0;
    g->sum += g->items[g->count++];
}

static void sink_gaps(const struct sink *sink, const char *name, struct gaps *g, size_t ops)
{
    const double n = g->count > 0 ? (double)g->count : 1;
    qsort(g->items, g->count, sizeof(*g->items), by_size);
    const double p95 = g->count > 0 ? g->items[(g->count - 1) * 95 / 100] : 0;
    const double worst = g->count > 0 ? g->items[g->count - 1] : 0;
    if (!sink->json) {
        buf_printf(sink->out, "%-24s %8zu %8zu %8zu %8zu %8zu %8.3f %8.3f %8.3f %9.3f %9.2f\n",
                   name, ops, g->proven, g->exact, g->none, g->circular, g->sum / n, p95, worst,
                   g->ms / (double)ops, g->megabytes);
        return;
    }
    json_open_object(sink->w);
    json_member_text(sink->w, "random", name);
    json_member_int(sink->w, "ops", (int64_t)ops);
    json_member_int(sink->w, "proven", (int64_t)g->proven);
    json_member_int(sink->w, "optimal", (int64_t)g->exact);
    json_member_int(sink->w, "none", (int64_t)g->none);
    json_member_int(sink->w, "circular", (int64_t)g->circular);
    json_member_real(sink->w, "gap_mean_percent", g->sum / n);
    json_member_real(sink->w, "gap_p95_percent", p95);
    json_member_real(sink->w, "gap_worst_percent", worst);
    json_member_real(sink->w, "ms_mean", g->ms / (double)ops);
    json_member_real(sink->w, "megabytes_most", g->megabytes);
    json_close_object(sink->w);
}

static bool random_ops(struct arena *arena, const struct machine *machine, size_t count,
                       const struct sink *sink, struct err *err)
{
    struct gaps gaps[COVER_SOLVER_COUNT + 1] = {{0}};
    for (int i = 0; i <= COVER_SOLVER_COUNT; i++)
        gaps[i].items = arena_array(arena, double, count + 1);
    for (size_t seed = 0; seed < count; seed++) {
        struct arena own;
        struct case_of c;
        struct row row = {.name = "random"};
        arena_init(&own, arena_bytes_max);
        const struct str text = random_op_text(&own, seed, RANDOM_STMTS_MAX, 1024);
        const bool fine =
            parse_case(&own, text, machine, &c, err) && solve_row(&c, machine, &row, err);
        arena_release(&own);
        if (!fine)
            return false;
        count_claims(sink, &row);
        add_gap(&gaps[COVER_SOLVER_COUNT], &row, &row.cuts);
        for (int i = 0; row.graph && i < COVER_SOLVER_COUNT; i++)
            add_gap(&gaps[i], &row, &row.by[i]);
    }
    if (!sink->json)
        buf_printf(sink->out, "\n%-24s %8s %8s %8s %8s %8s %8s %8s %8s %9s %9s\n", "random ops",
                   "ops", "proven", "optimal", "none", "circles", "mean %", "p95 %", "worst %",
                   "ms", "most MB");
    sink_gaps(sink, "cuts", &gaps[COVER_SOLVER_COUNT], count);
    for (int i = 0; i < COVER_SOLVER_COUNT; i++)
        sink_gaps(sink, solvers[i].name, &gaps[i], count);
    return true;
}

/* ---- all of it ---- */

struct library {
    struct case_of cases[OPS_MAX + NETWORK_COUNT];
    char names[OPS_MAX + NETWORK_COUNT][64];
    size_t count;
};

static bool load_ops(struct session *session, const struct machine *machine, struct library *out,
                     struct err *err)
{
    const char *const *names;
    size_t count;
    if (session->env.ops_folder == NULL)
        return err_raise(err, ERR_IO, "kernels/ops is not where this program was built");
    if (!file_list(session->arena, session->env.ops_folder, ".json", OPS_MAX, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct op *op;
        const struct bound_op *bound;
        if (!session_spec(session, path_join(session->arena, session->env.ops_folder, names[i]),
                          &op, err) ||
            !op_bind_shape(session->arena, op, &op->targets[0], &bound, err))
            return false;
        snprintf(out->names[out->count], sizeof(out->names[0]), "%.*s",
                 (int)(strlen(names[i]) - strlen(".json")), names[i]);
        make_case(session->arena, bound, machine, &out->cases[out->count++]);
    }
    return true;
}

static bool solve_library(const struct machine *machine, const struct library *library,
                          const struct sink *sink, struct err *err)
{
    for (size_t i = 0; i < library->count; i++) {
        struct row row = {.stmts = 0};
        snprintf(row.name, sizeof(row.name), "%s", library->names[i]);
        if (!solve_row(&library->cases[i], machine, &row, err))
            return false;
        sink_row(sink, &row);
    }
    return true;
}

static bool solve_network(struct arena *arena, enum network kind, size_t stmts,
                          const struct machine *machine, const struct sink *sink,
                          struct case_of *out, struct err *err)
{
    struct row row = {.stmts = 0};
    snprintf(row.name, sizeof(row.name), "%s %zu", network_name(kind), stmts);
    if (!parse_case(arena, network_text(arena, kind, stmts), machine, out, err) ||
        !solve_row(out, machine, &row, err))
        return false;
    sink_row(sink, &row);
    return true;
}

/* Networks of 50 statements join the library. */
static bool solve_networks(struct session *session, const struct machine *machine,
                           struct library *library, const struct sink *sink, struct err *err)
{
    bool fine = true;
    for (size_t n = 0; n < COUNT_OF(network_sizes); n++)
        for (int kind = 0; fine && kind < NETWORK_COUNT; kind++) {
            struct case_of c;
            struct arena own;
            arena_init(&own, arena_bytes_max);
            fine = solve_network(n == 0 ? session->arena : &own, (enum network)kind,
                                 network_sizes[n], machine, sink, &c, err);
            arena_release(&own);
            if (fine && n == 0)
                library->cases[library->count++] = c;
        }
    return fine;
}

static bool compare_machines(struct session *session, const struct machine *machine,
                             const struct library *library, const struct sink *sink,
                             struct err *err)
{
    const char *folder =
        path_join(session->arena, path_dir(session->arena, session->env.ops_folder), "machines");
    const char *const *files;
    size_t count;
    if (!file_list(session->arena, folder, ".json", MACHINES_MAX, &files, &count, err))
        return false;
    if (!sink->json)
        buf_printf(sink->out, "\n%-24s %8s %8s %8s %8s %8s %8s %8s\n", "over joint choice",
                   "problems", "greedy >", "mean", "worst", "alone >", "mean", "worst");
    for (size_t i = 0; i < count + COUNT_OF(smem_limits); i++) {
        struct comparison comparison = {.problems = 0};
        const struct machine *own;
        if (i < count) {
            const char *name =
                str_copy(session->arena, (struct str){files[i], strlen(files[i]) - 5});
            if (!session_machine(session, name, &own, err))
                return false;
            snprintf(comparison.name, sizeof(comparison.name), "%s", name);
        } else {
            own = machine_with_smem_limit(session->arena, machine, smem_limits[i - count]);
            snprintf(comparison.name, sizeof(comparison.name), "smem %" PRId64 "K",
                     smem_limits[i - count] >> 10);
        }
        if (!compare_all(library->cases, library->count, own, &comparison, err))
            return false;
        sink_comparison(sink, &comparison);
    }
    return true;
}

static bool all_of_it(struct session *session, const struct machine *machine,
                      const struct covers_args *args, const struct sink *sink, struct err *err)
{
    struct library *library = arena_new(session->arena, struct library);
    if (args->brief)
        return random_ops(session->arena, machine, args->randoms, sink, err);
    if (!load_ops(session, machine, library, err))
        return false;
    if (!sink->json)
        put_head(sink->out);
    return solve_library(machine, library, sink, err) &&
           solve_networks(session, machine, library, sink, err) &&
           random_ops(session->arena, machine, args->randoms, sink, err) &&
           compare_machines(session, machine, library, sink, err);
}

static void sink_total(const struct sink *sink)
{
    if (sink->json) {
        json_open_object(sink->w);
        json_member_int(sink->w, "claims", (int64_t)*sink->claims);
        json_member_int(sink->w, "false_claims", (int64_t)*sink->false_claims);
        json_member_real(sink->w, "peak_megabytes", bench_peak_megabytes());
        json_close_object(sink->w);
        return;
    }
    buf_printf(sink->out,
               "* the solver's own proof; over: percent above the proven optimum; circles: ops of "
               "which one had to be forbidden\n"
               "peak memory of all of it: %.1f MB\n"
               "%zu claims of an optimum, %zu of them false\n",
               bench_peak_megabytes(), *sink->claims, *sink->false_claims);
}

bool bench_covers(struct session *session, const struct covers_args *args, size_t *false_claims,
                  struct err *err)
{
    const struct machine *machine;
    struct json_writer w;
    struct buf out;
    struct str text;
    size_t claims = 0;
    *false_claims = 0;
    buf_init(&out, session->arena, TEXT_MAX);
    json_writer_init(&w, &out);
    const struct sink sink = {&out, &w, args->json, &claims, false_claims};
    if (!session_machine(session, NULL, &machine, err))
        return false;
    if (args->json)
        json_open_array(&w);
    if (!all_of_it(session, machine, args, &sink, err))
        return false;
    sink_total(&sink);
    if (args->json)
        json_close_array(&w);
    if (!buf_finish(&out, "the report", &text, err))
        return false;
    printf("%.*s%s", STR_ARG(text), args->json ? "\n" : "");
    return true;
}
