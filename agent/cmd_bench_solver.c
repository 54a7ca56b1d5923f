/*
 * bench-solver: how good and how fast the solvers are; HW-WFC's recorded results against the
 * preset.
 *
 * A time is the least of several runs, each with an arena of its own, of the solver alone; making
 * the graph (scores or costs, limits, tables) is timed apart, once.  Quality is the distance to the
 * proven optimum in percent of it.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"

#include "agent/bench_solver.h"

enum { RUNS_MIN = 3, RUNS_MAX = 200, RUNS_NS = 20000000, TEXT_BYTES_MAX = 1 << 20 };
enum { PRESET_LAYERS_MAX = 1000 }; /* the preset is quadratic in time and memory */
enum { RANDOM_MAX = 100000, RANDOM_OPS = 100 /* of --covers */ };
static const size_t arena_bytes_max = (size_t)8 << 30;
static const double same_cost = 1e-9; /* relative: sums are made in different orders */

struct bench_args {
    struct common common;
    const char *check;
    bool covers, brief;
    int64_t random;
};

/* ---- measurement ---- */

const struct bench_solver_entry bench_solvers[] = {
#define X(id, name, function) {name, function},
    BENCH_SOLVERS(X)
#undef X
};

struct measure {
    double us;
    double cost; /* INFINITY = none found */
    enum factor_claim claim;
};
struct row {
    const struct bench_problem *problem;
    double optimum; /* the best bound where it is not proven */
    bool proven;
    struct measure by[BENCH_SOLVER_COUNT];
    double preset_us, preset_cost; /* HW-WFC's own collapse; us 0 = none */
};

static struct measure measure(const struct factor_graph *graph, enum bench_solver solver,
                              double *bound)
{
    struct measure best = {.us = INFINITY, .cost = INFINITY};
    const int64_t began_ns = clock_mono_ns();
    for (int run = 0; run < RUNS_MAX; run++) {
        struct factor_result result;
        struct arena arena;
        arena_init(&arena, arena_bytes_max);
        const int64_t start_ns = clock_mono_ns();
        bench_solvers[solver].solve(&arena, graph, &(struct factor_options){0}, &result);
        const int64_t end_ns = clock_mono_ns();
        best.us = fmin(best.us, (double)(end_ns - start_ns) / 1e3);
        best.claim = result.claim;
        best.cost = result.count > 0 ? result.best[0].cost : (double)INFINITY;
        *bound = result.bound;
        arena_release(&arena);
        if (end_ns - began_ns > RUNS_NS && (run + 1 >= RUNS_MIN || end_ns - start_ns > RUNS_NS))
            break;
    }
    return best;
}

static bool measure_preset(struct row *row, struct err *err)
{
    const struct hwwfc_options options = {.threshold = 1.5, .weight = -1, .backtracks_max = 10};
    const struct bench_problem *problem = row->problem;
    const size_t n = problem->hwwfc->layer_count;
    const int64_t began_ns = clock_mono_ns();
    row->preset_us = INFINITY;
    for (int run = 0; run < RUNS_MAX && clock_mono_ns() - began_ns <= RUNS_NS; run++) {
        struct hwwfc_run found;
        struct hwwfc_edges edges;
        struct arena arena;
        arena_init(&arena, arena_bytes_max);
        const int64_t start_ns = clock_mono_ns();
        bool fine = hwwfc_collapse(&arena, problem->hwwfc, problem->scores, &options, &found, err);
        row->preset_us = fmin(row->preset_us, (double)(clock_mono_ns() - start_ns) / 1e3);
        if (fine) {
            size_t *states = arena_array(&arena, size_t, n);
            for (size_t i = 0; found.success && i < n; i++)
                states[i] = (size_t)found.states[i];
            hwwfc_edges(&arena, problem->hwwfc, &edges);
            row->preset_cost =
                found.success
                    ? -hwwfc_objective(problem->hwwfc, problem->scores, &edges,
                                       hwwfc_weight(problem->hwwfc->spec->sram_bytes), states)
                    : (double)INFINITY;
        }
        arena_release(&arena);
        if (!fine)
            return false;
    }
    return true;
}

static bool measure_row(const struct bench_problem *problem, struct row *row, struct err *err)
{
    double bound = -INFINITY;
    *row = (struct row){.problem = problem, .optimum = -INFINITY};
    for (int i = 0; i < BENCH_SOLVER_COUNT; i++) {
        row->by[i] = measure(&problem->graph, (enum bench_solver)i, &bound);
        row->optimum = fmax(row->optimum, bound);
        row->proven = row->proven || row->by[i].claim == FACTOR_OPTIMAL;
    }
    return problem->hwwfc == NULL || problem->graph.variable_count > PRESET_LAYERS_MAX ||
           measure_preset(row, err);
}

/* Percent above the optimum, of its size; 0 when it is the optimum up to rounding. */
static double gap_percent(const struct row *row, double cost)
{
    const double above = cost - row->optimum;
    if (above <= same_cost * fabs(row->optimum))
        return 0;
    return row->optimum == 0 ? (double)INFINITY : 100 * above / fabs(row->optimum);
}

/* ---- printing ---- */

static void put_measure(struct buf *out, const struct row *row, double us, double cost)
{
    if (cost == INFINITY) {
        buf_printf(out, " %9.1f    none ", us);
        return;
    }
    const double gap = gap_percent(row, cost);
    if (gap == 0 && row->proven)
        buf_printf(out, " %9.1f optimal ", us);
    else
        buf_printf(out, " %9.1f %6.2f %%", us, gap);
}

static void put_row(struct buf *out, const struct row *row)
{
    const struct factor_graph *graph = &row->problem->graph;
    size_t values = 0;
    for (size_t v = 0; v < graph->variable_count; v++)
        values += graph->variables[v].domain->count;
    buf_printf(out, "%-12s %-22s %5zu %7zu %11.5g%s %9.1f", row->problem->group, row->problem->name,
               graph->variable_count, values, row->optimum, row->proven ? " " : "?",
               row->problem->compile_us);
    for (int i = 0; i < BENCH_SOLVER_COUNT; i++)
        put_measure(out, row, row->by[i].us, row->by[i].cost);
    if (row->preset_us > 0)
        put_measure(out, row, row->preset_us, row->preset_cost);
    buf_char(out, '\n');
}

static void put_head(struct buf *out)
{
    buf_printf(out, "%-12s %-22s %5s %7s %11s  %9s", "group", "problem", "vars", "values",
               "optimum", "graph us");
    for (int i = 0; i < BENCH_SOLVER_COUNT; i++)
        buf_printf(out, " %6s us %8s", bench_solvers[i].name, "over");
    buf_printf(out, " %6s us %8s\n", "preset", "over");
}

/* How many values each limit removed, over all variables. */
static void json_removals(struct json_writer *w, const struct factor_graph *graph)
{
    const struct factor_domain *first = graph->variables[0].domain;
    json_key(w, "removed");
    json_open_object(w);
    for (size_t limit = 0; limit < first->limit_count; limit++) {
        int64_t removed = 0;
        for (size_t v = 0; v < graph->variable_count; v++)
            removed += (int64_t)graph->variables[v].domain->removals[limit].removed;
        if (removed > 0)
            json_member_int(w, first->limits[limit], removed);
    }
    json_close_object(w);
}

static void json_row(struct json_writer *w, const struct row *row)
{
    json_open_object(w);
    json_member_text(w, "group", row->problem->group);
    json_member_text(w, "problem", row->problem->name);
    json_member_text(w, "unit", row->problem->unit);
    json_member_int(w, "variables", (int64_t)row->problem->graph.variable_count);
    json_member_real(w, "bound", row->optimum);
    json_member_bool(w, "proven", row->proven);
    json_member_real(w, "graph_us", row->problem->compile_us);
    json_removals(w, &row->problem->graph);
    for (int i = 0; i < BENCH_SOLVER_COUNT; i++) {
        json_key(w, bench_solvers[i].name);
        json_open_object(w);
        json_member_real(w, "us", row->by[i].us);
        json_member_real(w, "cost", row->by[i].cost);
        json_member_text(w, "claim", factor_claim_text(row->by[i].claim));
        json_close_object(w);
    }
    if (row->preset_us > 0) {
        json_member_real(w, "preset_us", row->preset_us);
        json_member_real(w, "preset_cost", row->preset_cost);
    }
    json_close_object(w);
}

/* ---- what it comes to ---- */

struct tally {
    size_t proven, open;
    size_t wfc_optimal, wfc_none, wfc_faster;  /* of the proven */
    size_t wfc_cheaper, wfc_equal, wfc_dearer; /* than the exact solver's, of the open */
    double worst_gap, slowest_exact_us, largest_gain_us, largest_open_gain_us, worst_open_gap;
};

static void tally_open(struct tally *t, const struct row *row)
{
    const struct measure *exact = &row->by[SOLVER_EXACT], *wfc = &row->by[SOLVER_WFC];
    const double same = same_cost * fabs(exact->cost);
    t->open++;
    if (wfc->cost < exact->cost && !(exact->cost - wfc->cost <= same))
        t->wfc_cheaper++;
    else if (wfc->cost == exact->cost || wfc->cost - exact->cost <= same)
        t->wfc_equal++;
    else
        t->wfc_dearer++;
    t->worst_open_gap = fmax(t->worst_open_gap, gap_percent(row, exact->cost));
    t->largest_open_gain_us = fmax(t->largest_open_gain_us, exact->us - wfc->us);
}

static void tally_add(struct tally *t, const struct row *row)
{
    const struct measure *exact = &row->by[SOLVER_EXACT], *wfc = &row->by[SOLVER_WFC];
    if (exact->claim == FACTOR_IMPOSSIBLE)
        return;
    if (exact->claim != FACTOR_OPTIMAL) {
        tally_open(t, row);
        return;
    }
    t->proven++;
    t->wfc_faster += wfc->us < exact->us;
    t->slowest_exact_us = fmax(t->slowest_exact_us, exact->us);
    t->largest_gain_us = fmax(t->largest_gain_us, exact->us - wfc->us);
    if (wfc->cost == INFINITY) {
        t->wfc_none++;
        return;
    }
    t->wfc_optimal += gap_percent(row, wfc->cost) == 0;
    t->worst_gap = fmax(t->worst_gap, gap_percent(row, wfc->cost));
}

/* Each statement is a count; the last one says what they allow. */
static void put_sentence(struct buf *out, const struct tally *t)
{
    buf_printf(
        out,
        "\nThe exact solver proved its optimum in %zu of %zu problems, in %.1f ms at most; WFC "
        "reached that optimum in %zu of them (%.2f %% over it at worst, nothing found in %zu) "
        "and was faster in %zu, by %.1f ms at most.\n",
        t->proven, t->proven + t->open, t->slowest_exact_us / 1e3, t->wfc_optimal, t->worst_gap,
        t->wfc_none, t->wfc_faster, t->largest_gain_us / 1e3);
    if (t->open > 0)
        buf_printf(out,
                   "Where the exact solver stopped at its limit (%zu, %.2f %% over its bound at "
                   "worst), WFC's assignment was cheaper in %zu, equal in %zu, dearer in %zu, and "
                   "there %.1f ms sooner at most.\n",
                   t->open, t->worst_open_gap, t->wfc_cheaper, t->wfc_equal, t->wfc_dearer,
                   t->largest_open_gain_us / 1e3);
    if (t->wfc_cheaper > 0)
        buf_printf(out, "WFC is worth using for its assignments: in %zu of %zu problems.\n",
                   t->wfc_cheaper, t->proven + t->open);
    else
        buf_printf(out, "WFC found nothing that the exact solver did not: it saves time alone, and "
                        "has no proof.\n");
}

static bool run_all(struct session *session, const struct bench_args *args, struct err *err)
{
    struct bench_problems *problems = arena_new(session->arena, struct bench_problems);
    struct tally tally = {0};
    struct json_writer w;
    struct str text;
    struct buf out;
    if (!bench_hwwfc(session, problems, err) || !bench_chains(session, problems, err) ||
        !bench_plans(session, problems, err))
        return false;
    bench_grids(session, problems);
    buf_init(&out, session->arena, TEXT_BYTES_MAX);
    json_writer_init(&w, &out);
    if (args->common.json)
        json_open_array(&w);
    else
        put_head(&out);
    for (size_t i = 0; i < problems->count; i++) {
        struct row row;
        if (!measure_row(&problems->items[i], &row, err))
            return false;
        tally_add(&tally, &row);
        if (args->common.json)
            json_row(&w, &row);
        else
            put_row(&out, &row);
    }
    if (args->common.json)
        json_close_array(&w);
    else
        put_sentence(&out, &tally);
    if (!buf_finish(&out, "the report", &text, err))
        return false;
    printf("%.*s%s", STR_ARG(text), args->common.json ? "\n" : "");
    return true;
}

/* ---- commands ---- */

static int run_bench(const struct command *self, struct arena *arena, const struct bench_args *args)
{
    const struct covers_args covers = {.randoms =
                                           args->random > 0 ? (size_t)args->random : RANDOM_OPS,
                                       .brief = args->brief,
                                       .json = args->common.json};
    struct session session;
    struct err err;
    size_t false_claims = 0;
    if (!session_begin(&session, arena, &args->common, &err))
        return command_failed(self->name, &err);
    bool fine = args->covers ? bench_covers(&session, &covers, &false_claims, &err)
                             : run_all(&session, args, &err);
    session_end(&session);
    if (!fine)
        return command_failed(self->name, &err);
    return false_claims == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int run_check(const struct command *self, struct arena *arena, const char *path)
{
    struct hwwfc_check check;
    const struct json *document;
    struct str text;
    struct err err;
    if (!file_read(arena, path, HWWFC_FILE_BYTES_MAX, &text, &err) ||
        !json_parse(arena, text, path, &document, &err) ||
        !hwwfc_check(arena, document, &check, &err))
        return command_failed(self->name, &err);
    if (check.comparisons == 0) {
        err_failed(
            err_raise(&err, ERR_SEMANTIC,
                      "%s: nothing of it is compared; \"fuzz\", \"results\" or another member of "
                      "HW-WFC's recorded results has to be there",
                      path));
        return command_failed(self->name, &err);
    }
    for (size_t i = 0; i < check.complaint_count; i++)
        printf("%s\n", check.complaints[i]);
    printf("%" PRId64 " comparisons, %" PRId64 " mismatches\n", check.comparisons,
           check.mismatches);
    return check.mismatches == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int run_random(const struct command *self, struct arena *arena,
                      const struct bench_args *args)
{
    struct str text;
    struct buf out;
    struct err err;
    buf_init(&out, arena, TEXT_BYTES_MAX);
    bench_random(arena, (size_t)args->random, args->common.json, &out);
    if (!buf_finish(&out, "the report", &text, &err))
        return command_failed(self->name, &err);
    printf("%.*s%s", STR_ARG(text), args->common.json ? "\n" : "");
    return EXIT_DONE;
}

/* What one way of running leaves unread is refused rather than ignored. */
static bool check_args(const struct bench_args *args, struct err *err)
{
    if (args->check != NULL &&
        (args->covers || args->brief || args->random > 0 || args->common.json))
        return err_raise(err, ERR_USAGE, "--check goes alone: leave out the other options");
    if (args->brief && !args->covers)
        return err_raise(err, ERR_USAGE, "--brief goes with --covers");
    return true;
}

int cmd_bench_solver(const struct command *self, int argc, char **argv)
{
    struct bench_args args = {.common = {.no_cache = true}};
    const struct opt options[] = {
        {"check", OPT_TEXT, &args.check, "FILE", "compare recorded results of HW-WFC", 0, 0},
        {"covers", OPT_FLAG, &args.covers, NULL, "solve covers by regions instead", 0, 0},
        {"brief", OPT_FLAG, &args.brief, NULL, "with --covers: random ops alone", 0, 0},
        {"random", OPT_INT, &args.random, "N",
         "solve N seeded random graphs instead; with --covers: ops, default 100", 1, RANDOM_MAX},
        COMMON_JSON(&args.common),
    };
    const struct opt_command command = {
        .name = self->name,
        .synopsis = "[--check FILE | --covers [--brief]] [--random N] [--json]",
        .summary = self->summary,
        .text =
            "Solves HW-WFC's workloads, long chains, the plan spaces of kernels/ops and random\n"
            "grids with each solver: microseconds, and how far over the proven optimum.\n"
            "With --check, every number that HW-WFC recorded in FILE is computed anew by the\n"
            "preset and compared to the bit; the last line counts.\n"
            "With --random, trees, chains with skips, series-parallel graphs, grids, sparse and\n"
            "dense graphs, always the same ones: how many each solver proves (optimum or that\n"
            "there is none), fails on, finds the optimum of, and how far off it is.\n\n"
            "With --covers, covers of kernels/ops, of networks of up to 1,000 statements and of\n"
            "random ops, with the choices inside the regions; then, on each machine, what "
            "choosing\n"
            "all jointly is worth against choosing region by region.  The last line counts what "
            "solvers\n"
            "called optimal and what of it was not.  It takes minutes, most of them for rivals of\n"
            "dynamic programming; --brief with a small --random takes seconds.\n\n"
            "Exit status: 0 done, no mismatch, 1 a mismatch or a false claim, 2 usage or "
            "malformed\n"
            "input.\n\n"
            "    warpwright bench-solver --check tests/golden/hwwfc/hw-wfc.json",
        .options = options,
        .option_count = COUNT_OF(options),
    };
    const char *positional[1];
    struct arena arena;
    struct err err;
    int count, status;

    if (!command_begin(&command, argc, argv, positional, &count, &status))
        return status;
    if (!check_args(&args, &err))
        return command_failed(self->name, &err);
    arena_init(&arena, arena_bytes_max);
    if (args.check != NULL)
        status = run_check(self, &arena, args.check);
    else if (args.random > 0 && !args.covers)
        status = run_random(self, &arena, &args);
    else
        status = run_bench(self, &arena, &args);
    arena_release(&arena);
    return status;
}
