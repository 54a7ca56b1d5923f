/*
 * Networks of repeated blocks and random ops, as spec text.
 *
 * A block is a list of lines in which % stands for the block's number, < for the tensor that comes
 * in and > for the one that goes out; weights are declared as they are met.
 */
#include "agent/bench_networks.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/panic.h"
#include "base/rng.h"

enum { TEXT_BYTES_MAX = 4 << 20, NAME_BYTES = 32, RANDOM_STMTS_MAX = 64 };

struct weight {
    const char *name, *shape;
};
struct block {
    const char *const *lines; /* "*" in front: begins a skip that a later line ends with # */
    size_t line_count;
    const struct weight *weights;
    size_t weight_count;
};

/* ---- blocks ---- */

#define NORM(in, out)                                                                              \
    out "a%[t] = sum(d) " in "[t,d] / f32(D)",                                                     \
        out "v%[t] = sum(d) (" in "[t,d] - " out "a%[t]) * (" in "[t,d] - " out "a%[t])",          \
        out "r%[t] = rsqrt(" out "v%[t] / f32(D) + 1e-5)",                                         \
        out "%[t,d] = (" in "[t,d] - " out "a%[t]) * " out "r%[t] * g" out "%[d] + b" out "%[d]"

#define MLP(in, out)                                                                               \
    "f" out "%[t,f] = sum(d) " in "[t,d] * w1" out "%[d,f]",                                       \
        "h" out "%[t,f] = f" out "%[t,f] + c1" out "%[f]",                                         \
        "e" out "%[t,f] = 0.5 * h" out "%[t,f] * (1 + erf(h" out "%[t,f] * 0.70710678))",          \
        "m" out "%[t,d] = sum(f) e" out "%[t,f] * w2" out "%[f,d]",                                \
        "o" out "%[t,d] = m" out "%[t,d] + c2" out "%[d]"

#define ATTEND(q, kv, out)                                                                         \
    "q" out "%[t,h,e] = sum(d) " q "[t,d] * wq" out "%[d,h,e]",                                    \
        "k" out "%[t,h,e] = sum(d) " kv "[t,d] * wk" out "%[d,h,e]",                               \
        "v" out "%[t,h,e] = sum(d) " kv "[t,d] * wv" out "%[d,h,e]",                               \
        "s" out "%[h,t,u] = sum(e) q" out "%[t,h,e] * k" out "%[u,h,e]",                           \
        "x" out "%[h,t] = max(u) s" out "%[h,t,u]",                                                \
        "p" out "%[h,t,u] = exp(s" out "%[h,t,u] - x" out "%[h,t])",                               \
        "z" out "%[h,t] = sum(u) p" out "%[h,t,u]",                                                \
        "c" out "%[h,t,e] = sum(u) p" out "%[h,t,u] * v" out "%[u,h,e]",                           \
        "y" out "%[h,t,e] = c" out "%[h,t,e] / z" out "%[h,t]",                                    \
        "o" out "%[t,d] = sum(h,e) y" out "%[h,t,e] * wo" out "%[h,e,d]"

static const char *const encoder[] = {
    NORM("<", "n"),  ATTEND("n%", "n%", "A"), "x%[t,d] = <[t,d] + oA%[t,d]",
    NORM("x%", "l"), MLP("l%", "F"),          ">[t,d] = x%[t,d] + oF%[t,d]"};
static const char *const decoder[] = {NORM("<", "n"),
                                      ATTEND("n%", "n%", "A"),
                                      "x%[t,d] = <[t,d] + oA%[t,d]",
                                      NORM("x%", "j"),
                                      ATTEND("j%", "memory", "B"),
                                      "y%[t,d] = x%[t,d] + oB%[t,d]",
                                      NORM("y%", "l"),
                                      MLP("l%", "F"),
                                      ">[t,d] = y%[t,d] + oF%[t,d]"};
static const char *const resnet[] = {
    "c%[b:B,o,y:Y,x:X] = sum(i,r,s) pad(<[b,i,y + r - 1,x + s - 1]) * w1%[o,i,r,s]",
    "n%[b,o,y,x] = c%[b,o,y,x] * g1%[o] + b1%[o]",
    "r%[b,o,y,x] = max(n%[b,o,y,x], 0)",
    "d%[b:B,o,y:Y,x:X] = sum(i,r,s) pad(r%[b,i,y + r - 1,x + s - 1]) * w2%[o,i,r,s]",
    "m%[b,o,y,x] = d%[b,o,y,x] * g2%[o] + b2%[o]",
    "a%[b,o,y,x] = m%[b,o,y,x] + <[b,o,y,x]",
    ">[b,o,y,x] = max(a%[b,o,y,x], 0)"};
static const char *const mixer[] = {NORM("<", "n"),
                                    "u%[i,d] = sum(t) n%[t,d] * wa%[i,t]",
                                    "v%[i,d] = 0.5 * u%[i,d] * (1 + erf(u%[i,d] * 0.70710678))",
                                    "k%[t,d] = sum(i) v%[i,d] * wb%[t,i]",
                                    "x%[t,d] = <[t,d] + k%[t,d]",
                                    NORM("x%", "l"),
                                    MLP("l%", "F"),
                                    ">[t,d] = x%[t,d] + oF%[t,d]"};

#define NORM_WEIGHTS(out)                                                                          \
    {"g" out, "\"D\""},                                                                            \
    {                                                                                              \
        "b" out, "\"D\""                                                                           \
    }
#define MLP_WEIGHTS(out)                                                                           \
    {"w1" out, "\"D\",\"F\""}, {"c1" out, "\"F\""}, {"w2" out, "\"F\",\"D\""},                     \
    {                                                                                              \
        "c2" out, "\"D\""                                                                          \
    }
#define ATTEND_WEIGHTS(out)                                                                        \
    {"wq" out, "\"D\",\"H\",\"E\""}, {"wk" out, "\"D\",\"H\",\"E\""},                              \
        {"wv" out, "\"D\",\"H\",\"E\""},                                                           \
    {                                                                                              \
        "wo" out, "\"H\",\"E\",\"D\""                                                              \
    }

static const struct weight encoder_weights[] = {NORM_WEIGHTS("n"), ATTEND_WEIGHTS("A"),
                                                NORM_WEIGHTS("l"), MLP_WEIGHTS("F")};
static const struct weight decoder_weights[] = {NORM_WEIGHTS("n"), ATTEND_WEIGHTS("A"),
                                                NORM_WEIGHTS("j"), ATTEND_WEIGHTS("B"),
                                                NORM_WEIGHTS("l"), MLP_WEIGHTS("F")};
static const struct weight resnet_weights[] = {{"w1", "\"C\",\"C\",3,3"}, {"g1", "\"C\""},
                                               {"b1", "\"C\""},           {"w2", "\"C\",\"C\",3,3"},
                                               {"g2", "\"C\""},           {"b2", "\"C\""}};
static const struct weight mixer_weights[] = {NORM_WEIGHTS("n"),
                                              {"wa", "\"I\",\"T\""},
                                              {"wb", "\"T\",\"I\""},
                                              NORM_WEIGHTS("l"),
                                              MLP_WEIGHTS("F")};

static const struct network_kind {
    const char *name, *dims, *shape, *index;
    const char *given; /* a tensor that all blocks read, of the same shape; NULL = none */
    struct block block;
} kinds[NETWORK_COUNT] = {
    [NETWORK_ENCODER] = {"encoder",
                         "\"T\":512,\"D\":512,\"F\":2048,\"H\":8,\"E\":64",
                         "\"T\",\"D\"",
                         "t,d",
                         NULL,
                         {encoder, COUNT_OF(encoder), encoder_weights, COUNT_OF(encoder_weights)}},
    [NETWORK_DECODER] = {"decoder",
                         "\"T\":512,\"D\":512,\"F\":2048,\"H\":8,\"E\":64",
                         "\"T\",\"D\"",
                         "t,d",
                         "memory",
                         {decoder, COUNT_OF(decoder), decoder_weights, COUNT_OF(decoder_weights)}},
    [NETWORK_RESNET] = {"resnet",
                        "\"B\":16,\"C\":64,\"Y\":28,\"X\":28",
                        "\"B\",\"C\",\"Y\",\"X\"",
                        "b,o,y,x",
                        NULL,
                        {resnet, COUNT_OF(resnet), resnet_weights, COUNT_OF(resnet_weights)}},
    [NETWORK_MIXER] = {"mixer",
                       "\"T\":256,\"D\":512,\"F\":2048,\"I\":256",
                       "\"T\",\"D\"",
                       "t,d",
                       NULL,
                       {mixer, COUNT_OF(mixer), mixer_weights, COUNT_OF(mixer_weights)}},
};

const char *network_name(enum network network)
{
    return kinds[network].name;
}

/* ---- text ---- */

struct writer {
    struct buf tensors, body;
    size_t stmts;
};

static void begin(struct writer *w, struct arena *arena)
{
    buf_init(&w->tensors, arena, TEXT_BYTES_MAX);
    buf_init(&w->body, arena, TEXT_BYTES_MAX);
    w->stmts = 0;
}

static void put_tensor(struct writer *w, const char *name, const char *role, const char *shape)
{
    buf_printf(&w->tensors, "%s{\"name\":\"%s\",\"role\":\"%s\",\"dtype\":\"f32\",\"shape\":[%s]}",
               w->tensors.len > 0 ? ",\n" : "", name, role, shape);
}

static void put_line(struct writer *w, const char *line, size_t block, const char *in,
                     const char *out)
{
    buf_text(&w->body, w->stmts++ > 0 ? "\",\n\"" : "\"");
    for (; *line != '\0'; line++)
        if (*line == '%')
            buf_printf(&w->body, "%zu", block);
        else if (*line == '<')
            buf_text(&w->body, in);
        else if (*line == '>')
            buf_text(&w->body, out);
        else
            buf_char(&w->body, *line);
}

static struct str finish(struct writer *w, struct arena *arena, const char *name, const char *dims,
                         const char *target)
{
    struct buf text;
    buf_init(&text, arena, TEXT_BYTES_MAX);
    buf_printf(&text,
               "{\"spec\":1,\"name\":\"%s\",\"doc\":\"Made by bench-solver.\",\"dims\":{%s},", name,
               dims);
    buf_printf(&text, "\n\"tensors\":[%.*s],\n", STR_ARG(buf_view(&w->tensors)));
    buf_printf(&text, "\"body\":[%.*s\"],\n", STR_ARG(buf_view(&w->body)));
    buf_printf(&text, "\"tracks\":{\"f32\":{}},\"shapes\":{\"target\":[%s]}}\n", target);
    ASSERT(!text.overflow && !w->tensors.overflow && !w->body.overflow);
    return buf_view(&text);
}

struct str network_text(struct arena *arena, enum network network, size_t stmts)
{
    const struct network_kind *kind = &kinds[network];
    char in[NAME_BYTES] = "in", out[NAME_BYTES];
    char line[3 * NAME_BYTES];
    struct writer w;
    size_t block = 0;
    begin(&w, arena);
    put_tensor(&w, "in", "input", kind->shape);
    if (kind->given != NULL)
        put_tensor(&w, kind->given, "input", kind->shape);
    while (w.stmts < stmts) {
        const bool whole = stmts - w.stmts >= kind->block.line_count;
        const bool last = stmts - w.stmts == (whole ? kind->block.line_count : 1);
        snprintf(out, sizeof(out), last ? "out" : "t%zu", block);
        for (size_t i = 0; whole && i < kind->block.weight_count; i++) {
            char name[NAME_BYTES];
            snprintf(name, sizeof(name), "%s%zu", kind->block.weights[i].name, block);
            put_tensor(&w, name, "weight", kind->block.weights[i].shape);
        }
        for (size_t i = 0; whole && i < kind->block.line_count; i++)
            put_line(&w, kind->block.lines[i], block, in, out);
        snprintf(line, sizeof(line), ">[%s] = tanh(<[%s])", kind->index, kind->index);
        if (!whole)
            put_line(&w, line, block, in, out);
        memcpy(in, out, sizeof(in));
        block++;
    }
    put_tensor(&w, "out", "output", kind->shape);
    return finish(&w, arena, kind->name, kind->dims, "{}");
}

/* ---- random ops ---- */

struct made {
    bool matrix; /* else a row */
    bool read;
};
struct maker {
    struct writer w;
    struct rng rng;
    struct made made[RANDOM_STMTS_MAX + 2]; /* 0, 1: the inputs, matrices */
    size_t count;
    bool weight; /* some statement reads w */
};

/* A tensor of that kind, mostly of the last few; SIZE_MAX = there is none. */
static size_t pick(struct maker *m, bool matrix)
{
    size_t at[RANDOM_STMTS_MAX + 2], count = 0;
    for (size_t i = 0; i < m->count; i++)
        if (m->made[i].matrix == matrix)
            at[count++] = i;
    if (count == 0)
        return SIZE_MAX;
    const size_t recent = count < 3 ? count : 3;
    const bool near = rng_below(&m->rng, 4) > 0;
    return at[count - 1 - rng_below(&m->rng, (uint32_t)(near ? recent : count))];
}

/* A statement: > is the target, < and t% are what it reads. */
static const struct form {
    const char *text;
    bool matrix;    /* the target is one */
    bool row, two;  /* the second read is a row; a matrix */
    bool of_row;    /* the first read is a row */
    bool weight;    /* it reads w */
    uint32_t share; /* of all */
} forms[] = {
    {">[m] = sum(n) <[m,n]", false, false, false, false, false, 2},
    {">[m] = max(n) <[m,n]", false, false, false, false, false, 1},
    {">[m] = exp(<[m])", false, false, false, true, false, 2},
    {">[m,n] = <[m,n] * t%[m]", true, true, false, false, false, 3},
    {">[m,n] = sum(k) <[m,k] * w[k,n]", true, false, false, false, true, 2},
    {">[m,n] = tanh(<[n,m])", true, false, false, false, false, 1},
    {">[m,n] = <[m,n] + t%[m,n]", true, false, true, false, false, 3},
    {">[m,n] = exp(<[m,n])", true, false, false, false, false, 2},
};
enum { FORM_SHARES = 16 };

static const struct form *pick_form(struct maker *m)
{
    uint32_t at = rng_below(&m->rng, FORM_SHARES);
    size_t i = 0;
    for (; at >= forms[i].share; i++)
        at -= forms[i].share;
    return &forms[i];
}

static void put_random(struct maker *m)
{
    const struct form *form = pick_form(m);
    size_t first = pick(m, !form->of_row), second = 0;
    char in[NAME_BYTES], out[NAME_BYTES];
    if (form->row || form->two)
        second = pick(m, form->two);
    if (first == SIZE_MAX || second == SIZE_MAX) { /* no row yet */
        form = &forms[0];
        first = pick(m, true);
        second = 0;
    }
    m->made[first].read = true;
    if (form->row || form->two)
        m->made[second].read = true;
    m->weight |= form->weight;
    snprintf(in, sizeof(in), "t%zu", first);
    snprintf(out, sizeof(out), "t%zu", m->count);
    put_line(&m->w, form->text, second, in, out);
    m->made[m->count++] = (struct made){form->matrix, false};
}

/* Results nobody reads are the outputs. */
struct str random_op_text(struct arena *arena, uint64_t seed, size_t stmts_max, int side)
{
    struct maker *m = arena_new(arena, struct maker);
    char dims[NAME_BYTES], name[NAME_BYTES];
    ASSERT(stmts_max >= 2 && stmts_max <= RANDOM_STMTS_MAX);
    begin(&m->w, arena);
    rng_init(&m->rng, seed);
    m->made[m->count++] = (struct made){true, false};
    m->made[m->count++] = (struct made){true, false};
    const size_t stmts = 2 + rng_below(&m->rng, (uint32_t)stmts_max - 1);
    for (size_t i = 0; i < stmts; i++)
        put_random(m);
    if (m->weight)
        put_tensor(&m->w, "w", "weight", "\"N\",\"N\"");
    for (size_t i = 0; i < m->count; i++) {
        snprintf(name, sizeof(name), "t%zu", i);
        const char *shape = m->made[i].matrix ? "\"N\",\"N\"" : "\"N\"";
        if ((i < 2) == m->made[i].read)
            put_tensor(&m->w, name, i < 2 ? "input" : "output", shape);
    }
    snprintf(dims, sizeof(dims), "\"N\":%d", side);
    return finish(&m->w, arena, "random", dims, "{}");
}
