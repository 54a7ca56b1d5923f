/*
 * bench-solver --random: the solvers on seeded random graphs of many shapes.
 *
 * Graph i is a function of i alone: its family in turn, then sizes, domains, forbidden share and
 * costs from a generator with that seed.  Each solver runs once a graph with an arena of its own.
 * Gaps are to optima that some solver proved, in percent of them; costs are positive, so that is
 * well defined.  A failure is no assignment where another solver has one.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/rng.h"

#include "agent/bench_solver.h"

static const size_t graph_bytes_max = (size_t)4 << 30;
static const double same_cost = 1e-9; /* relative: sums are made in different orders */

#define FAMILIES(X)                                                                                \
    X(TREE, "tree", tree)                                                                          \
    X(SKIPS, "chain with skips", skips)                                                            \
    X(SERIES_PARALLEL, "series-parallel", series_parallel)                                         \
    X(GRID, "grid", grid)                                                                          \
    X(SPARSE, "sparse random", sparse)                                                             \
    X(DENSE, "dense small", dense)
enum family {
#define X(id, name, function) FAMILY_##id,
    FAMILIES(X)
#undef X
        FAMILY_COUNT
};

/* ---- graphs ---- */

struct draft {
    struct arena *arena;
    struct rng rng;
    struct factor_variable *variables;
    struct factor_edge *edges;
    size_t variable_count, edge_count;
    uint32_t values_most, forbidden_percent;
};
enum { VARIABLES_MOST = 512, EDGES_MOST = 2048 };

static double draw_entry(const void *context, size_t row UNUSED, size_t column UNUSED)
{
    struct draft *d = (struct draft *)context;
    if (rng_below(&d->rng, 100) < d->forbidden_percent)
        return INFINITY;
    return rng_u32(&d->rng) / 0x1p32;
}

static size_t between(struct draft *d, uint32_t least, uint32_t most)
{
    return least + rng_below(&d->rng, most - least + 1);
}

static void put_variables(struct draft *d, size_t count)
{
    while (d->variable_count < count) {
        const size_t values = between(d, 2, d->values_most);
        double *unary = arena_array(d->arena, double, values);
        for (size_t x = 0; x < values; x++)
            unary[x] = rng_u32(&d->rng) / 0x1p32;
        d->variables[d->variable_count++] = (struct factor_variable){
            STR_LIT("random"), factor_domain_whole(d->arena, values), unary};
    }
}

static void put_edge(struct draft *d, size_t a, size_t b)
{
    const struct factor_table *table = factor_table(d->arena, d->variables[a].domain->count,
                                                    d->variables[b].domain->count, draw_entry, d);
    d->edges[d->edge_count++] = (struct factor_edge){a, b, table};
}

static void tree(struct draft *d)
{
    put_variables(d, between(d, 10, 400));
    for (size_t v = 1; v < d->variable_count; v++)
        put_edge(d, v - 1 - rng_below(&d->rng, v < 8 ? (uint32_t)v : 8), v);
}

/* Residual connections: each over 2 to 5 steps. */
static void skips(struct draft *d)
{
    put_variables(d, between(d, 10, 300));
    for (size_t v = 1; v < d->variable_count; v++)
        put_edge(d, v - 1, v);
    for (size_t v = 0; v + 5 < d->variable_count; v += between(d, 2, 8))
        put_edge(d, v, v + between(d, 2, 5));
}

/* Starts as one edge; an edge becomes two in a row, or gets a parallel path of two. */
static void series_parallel(struct draft *d)
{
    const size_t count = between(d, 10, 200);
    size_t(*pairs)[2] = arena_alloc(d->arena, EDGES_MOST, sizeof(*pairs), _Alignof(size_t));
    size_t pair_count = 1, used = 2;
    pairs[0][0] = 0;
    pairs[0][1] = 1;
    for (; used < count; used++) {
        const size_t at = rng_below(&d->rng, (uint32_t)pair_count);
        const size_t a = pairs[at][0], b = pairs[at][1];
        if (rng_below(&d->rng, 2) == 0) {
            pairs[at][1] = used;
        } else {
            pairs[pair_count][0] = a;
            pairs[pair_count++][1] = used;
        }
        pairs[pair_count][0] = used;
        pairs[pair_count++][1] = b;
    }
    put_variables(d, count);
    for (size_t i = 0; i < pair_count; i++)
        put_edge(d, pairs[i][0], pairs[i][1]);
}

static void grid(struct draft *d)
{
    const size_t width = between(d, 2, 8), height = between(d, 2, 8);
    put_variables(d, width * height);
    for (size_t v = 0; v < d->variable_count; v++) {
        if ((v + 1) % width != 0)
            put_edge(d, v, v + 1);
        if (v + width < d->variable_count)
            put_edge(d, v, v + width);
    }
}

static void put_random_edges(struct draft *d, double chance)
{
    for (size_t a = 0; a < d->variable_count; a++)
        for (size_t b = a + 1; b < d->variable_count; b++)
            if (rng_u32(&d->rng) / 0x1p32 < chance && d->edge_count < EDGES_MOST)
                put_edge(d, a, b);
}

static void sparse(struct draft *d)
{
    put_variables(d, between(d, 10, 60));
    put_random_edges(d, (double)between(d, 10, 35) / 10 / (double)d->variable_count);
}

static void dense(struct draft *d)
{
    put_variables(d, between(d, 4, 12));
    put_random_edges(d, (double)between(d, 50, 100) / 100);
}

static enum family make_graph(struct arena *arena, size_t number, struct factor_graph *out)
{
    static const struct {
        void (*make)(struct draft *);
        uint32_t values_most;
    } makers[] = {
#define X(id, name, function) {function, FAMILY_##id == FAMILY_TREE ? 24 : 10},
        FAMILIES(X)
#undef X
    };
    static const uint32_t forbidden[] = {0, 0, 5, 15, 30, 45};
    const size_t family = number % FAMILY_COUNT;
    struct draft d = {.arena = arena,
                      .variables = arena_array(arena, struct factor_variable, VARIABLES_MOST),
                      .edges = arena_array(arena, struct factor_edge, EDGES_MOST)};
    rng_init(&d.rng, number + 1);
    d.values_most = (uint32_t)between(&d, 2, makers[family].values_most);
    d.forbidden_percent = forbidden[rng_below(&d.rng, COUNT_OF(forbidden))];
    makers[family].make(&d);
    *out = (struct factor_graph){d.variables, d.variable_count, d.edges, d.edge_count};
    return (enum family)family;
}

/* ---- runs ---- */

struct run {
    enum family family;
    bool possible; /* some solver has an assignment */
    bool proven;
    double optimum;
    struct {
        double us, cost, bytes;
        enum factor_claim claim;
    } by[BENCH_SOLVER_COUNT];
};

static void run_graph(size_t number, struct run *out)
{
    struct arena arena;
    struct factor_graph graph;
    arena_init(&arena, graph_bytes_max);
    *out = (struct run){.optimum = INFINITY};
    out->family = make_graph(&arena, number, &graph);
    for (int i = 0; i < BENCH_SOLVER_COUNT; i++) {
        struct factor_result result;
        struct arena own;
        arena_init(&own, graph_bytes_max);
        const int64_t start_ns = clock_mono_ns();
        bench_solvers[i].solve(&own, &graph, &(struct factor_options){0}, &result);
        out->by[i].us = (double)(clock_mono_ns() - start_ns) / 1e3;
        out->by[i].claim = result.claim;
        out->by[i].cost = result.count > 0 ? result.best[0].cost : (double)INFINITY;
        out->by[i].bytes = (double)own.bytes_total;
        out->possible = out->possible || result.count > 0;
        if (result.claim == FACTOR_OPTIMAL) {
            out->proven = true;
            out->optimum = fmin(out->optimum, out->by[i].cost);
        }
        arena_release(&own);
    }
    arena_release(&arena);
}

/* ---- what they come to ---- */

struct summary {
    size_t graphs, proven, impossible, failures, gaps, optimal;
    double gap_mean, gap_p95, gap_worst;
    double us_median, us_p95, us_worst, bytes_most;
};

static int compare_reals(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The least value that at least `share` of them do not exceed; sorts. */
static double quantile(double *values, size_t count, double share)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof(*values), compare_reals);
    const size_t rank = (size_t)ceil(share * (double)count);
    return values[rank == 0 ? 0 : rank - 1];
}

static double gap_percent(const struct run *run, int solver)
{
    const double above = run->by[solver].cost - run->optimum;
    return above <= same_cost * run->optimum ? 0 : 100 * above / run->optimum;
}

/* Of one family, or of all: FAMILY_COUNT. */
static struct summary summarise(struct arena *arena, const struct run *runs, size_t count,
                                enum family family, int solver)
{
    double *us = arena_array(arena, double, count + 1),
           *gaps = arena_array(arena, double, count + 1);
    struct summary s = {0};
    for (size_t i = 0; i < count; i++) {
        const struct run *run = &runs[i];
        if (family != FAMILY_COUNT && run->family != family)
            continue;
        us[s.graphs++] = run->by[solver].us;
        s.proven += run->by[solver].claim == FACTOR_OPTIMAL;
        s.impossible += run->by[solver].claim == FACTOR_IMPOSSIBLE;
        s.bytes_most = fmax(s.bytes_most, run->by[solver].bytes);
        s.failures += run->possible && run->by[solver].cost == INFINITY;
        if (run->proven && run->by[solver].cost < INFINITY) {
            gaps[s.gaps] = gap_percent(run, solver);
            s.optimal += gaps[s.gaps] == 0;
            s.gap_mean += gaps[s.gaps++];
        }
    }
    s.gap_mean = s.gaps > 0 ? s.gap_mean / (double)s.gaps : 0;
    s.gap_p95 = quantile(gaps, s.gaps, 0.95);
    s.gap_worst = quantile(gaps, s.gaps, 1);
    s.us_median = quantile(us, s.graphs, 0.5);
    s.us_p95 = quantile(us, s.graphs, 0.95);
    s.us_worst = quantile(us, s.graphs, 1);
    return s;
}

static const char *family_name(enum family family)
{
    static const char *const names[] = {
#define X(id, name, function) name,
        FAMILIES(X)
#undef X
            "all"};
    return names[family];
}

/* "proven" counts optima and impossibilities; gaps are over graphs with a proven optimum. */
static void put_summary(struct buf *out, enum family family, int solver, const struct summary *s)
{
    buf_printf(out,
               "%-17s %-6s %6zu %6zu %5.1f %% %5zu %6zu %8.2f %7.2f %7.2f %10.1f %10.1f %10.1f "
               "%8.2f\n",
               family_name(family), bench_solvers[solver].name, s->graphs,
               s->proven + s->impossible,
               100 * (double)(s->proven + s->impossible) / (double)s->graphs, s->failures,
               s->optimal, s->gap_mean, s->gap_p95, s->gap_worst, s->us_median, s->us_p95,
               s->us_worst, s->bytes_most / 1048576);
}

static void json_summary(struct json_writer *w, enum family family, int solver,
                         const struct summary *s)
{
    json_open_object(w);
    json_member_text(w, "family", family_name(family));
    json_member_text(w, "solver", bench_solvers[solver].name);
    json_member_int(w, "graphs", (int64_t)s->graphs);
    json_member_int(w, "proven_optimal", (int64_t)s->proven);
    json_member_int(w, "proven_impossible", (int64_t)s->impossible);
    json_member_int(w, "failures", (int64_t)s->failures);
    json_member_int(w, "optimal", (int64_t)s->optimal);
    json_member_real(w, "gap_percent_mean", s->gap_mean);
    json_member_real(w, "gap_percent_p95", s->gap_p95);
    json_member_real(w, "gap_percent_worst", s->gap_worst);
    json_member_real(w, "us_median", s->us_median);
    json_member_real(w, "us_p95", s->us_p95);
    json_member_real(w, "us_worst", s->us_worst);
    json_member_real(w, "bytes_most", s->bytes_most);
    json_close_object(w);
}

static void put_head(struct buf *out)
{
    buf_printf(out, "%-17s %-6s %6s %6s %7s %5s %6s %8s %7s %7s %10s %10s %10s %8s\n", "family",
               "solver", "graphs", "proven", "", "fail", "equal", "gap mean", "p95 %", "worst %",
               "median us", "p95 us", "worst us", "most MiB");
}

void bench_random(struct arena *arena, size_t count, bool json, struct buf *out)
{
    struct run *runs = arena_array(arena, struct run, count + 1);
    struct json_writer w;
    for (size_t i = 0; i < count; i++)
        run_graph(i, &runs[i]);
    json_writer_init(&w, out);
    if (json)
        json_open_array(&w);
    else
        put_head(out);
    for (int family = 0; family <= FAMILY_COUNT; family++)
        for (int solver = 0; solver < BENCH_SOLVER_COUNT; solver++) {
            const struct summary s = summarise(arena, runs, count, (enum family)family, solver);
            if (s.graphs == 0)
                continue;
            if (json)
                json_summary(&w, (enum family)family, solver, &s);
            else
                put_summary(out, (enum family)family, solver, &s);
        }
    if (json)
        json_close_array(&w);
    else
        buf_printf(out, "peak memory of all of it: %.1f MB\n", bench_peak_megabytes());
}

double bench_peak_megabytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss * 1024 / 1e6 : 0;
}
