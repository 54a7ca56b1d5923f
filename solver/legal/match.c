/*
 * Terms of one statement found in another: its reduced loops are placed on loops of the other, or
 * on subscripts that data decide, in all ways until one fits.
 *
 * Not here: loops that split or join.  A sum over i and j is not found in one over i * N + j.
 */
#include "solver/legal/structure_int.h"

/* ---- candidates ---- */

void candidates_loops(struct analysis *a, size_t s, uint64_t mask, struct candidates *out)
{
    for (size_t i = 0; i < a->op->stmts[s].loop_count && out->count < CANDIDATES_MAX; i++)
        if (mask >> i & 1)
            out->at[out->count++] =
                (struct candidate){term_loop(&a->terms, i), a->bound->extents[s][i]};
}

struct gathering {
    const struct op *op;
    struct candidates *out;
};

static void collect_gathered(void *context, const struct term *term)
{
    struct gathering *g = context;
    struct candidates *out = g->out;
    for (size_t i = 0; term->kind == TERM_READ && i < g->op->tensors[term->number].rank; i++)
        if (term->parts[i].term->reads && out->count < CANDIDATES_MAX)
            out->at[out->count++] = (struct candidate){term->parts[i].term, ANY_EXTENT};
}

void candidates_gathered(struct analysis *a, const struct term *term, struct candidates *out)
{
    struct gathering g = {a->op, out};
    term_walk(&a->terms, term, collect_gathered, &g);
}

/* ---- placings ---- */

struct search {
    struct analysis *a;
    size_t writer, shift;
    const struct candidates *candidates;
    bool taken[CANDIDATES_MAX];
    const struct term *by_loop[TERM_LOOPS_ALL];
    placing_test *test;
    void *context;
    size_t tried;
};

static bool place(struct search *s, size_t loop)
{
    const struct stmt *stmt = &s->a->op->stmts[s->writer];
    if (loop == stmt->loop_count)
        return ++s->tried <= PLACINGS_MAX && s->test(s->context, s->by_loop);
    for (size_t i = 0; i < s->candidates->count; i++) {
        const struct candidate *candidate = &s->candidates->at[i];
        bool fits = candidate->extent == ANY_EXTENT ||
                    candidate->extent == s->a->bound->extents[s->writer][loop];
        if (s->taken[i] || !fits)
            continue;
        s->taken[i] = true;
        s->by_loop[s->shift + loop] = candidate->term;
        bool found = place(s, loop + 1);
        s->taken[i] = false;
        if (found)
            return true;
    }
    return false;
}

bool match_reduced(struct analysis *a, size_t writer, size_t shift,
                   const struct candidates *candidates, placing_test *test, void *context)
{
    struct search search = {.a = a,
                            .writer = writer,
                            .shift = shift,
                            .candidates = candidates,
                            .test = test,
                            .context = context};
    return place(&search, a->op->stmts[writer].free_count);
}

/* ---- factors ---- */

bool is_range(const struct term *term)
{
    return (term->kind == TERM_HOLDS || term->kind == TERM_MASK) && !term->reads;
}

bool factors_in(const struct term *term, uint64_t mask, struct factors *out)
{
    const struct term_part *parts;
    struct term_part single;
    size_t count = term_factors(term, &parts, &single);
    out->count = 0;
    for (size_t i = 0; i < count; i++) {
        if ((parts[i].term->loops & mask) == 0)
            continue;
        if (out->count == FACTORS_MAX)
            return false;
        out->at[out->count++] = parts[i];
    }
    return true;
}

bool has_factor(const struct factors *factors, const struct term_part *wanted)
{
    for (size_t i = 0; i < factors->count; i++)
        if (factors->at[i].term == wanted->term && factors->at[i].weight == wanted->weight)
            return true;
    return false;
}
