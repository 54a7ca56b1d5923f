/* Structures of the library's ops, what they allow, and that names mean nothing. */
#include <ctype.h>
#include <string.h>

#include "base/file.h"

#include "solver/legal/legal.h"
#include "tests/unit/solver/ir/plans.h"
#include "tests/unit/solver/legal/grown.h"
#include "tests/unit/solver/legal/zoo.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 256 << 20, TEXT_BYTES = 1 << 20 };

static const struct bound_op *bind(struct arena *arena, struct str text)
{
    struct err err = {0};
    const struct op *op;
    const struct bound_op *bound;
    assert_ok(op_parse(arena, text, "spec", NULL, &op, &err));
    assert_ok(op_bind_shape(arena, op, &op->targets[0], &bound, &err));
    return bound;
}

/* "2: reduction, rescaled-accumulation(0)" of the statements that have more than a map. */
static const char *words_of(struct arena *arena, const struct bound_op *bound)
{
    struct structures found;
    struct buf out;
    size_t shown = OP_NONE;
    structure_of(arena, bound, NULL, &found);
    buf_init(&out, arena, TEXT_BYTES);
    for (size_t i = 0; i < found.structure_count; i++) {
        const struct structure_note *note = &found.structures[i];
        assert_true(note->text.len > 0);
        if (note->word == STRUCTURE_MAP)
            continue;
        if (note->stmt == shown)
            buf_text(&out, ", ");
        else
            buf_printf(&out, "%s%zu: ", out.len > 0 ? "; " : "", note->stmt);
        shown = note->stmt;
        buf_text(&out, structure_name(note->word));
        if (note->with != OP_NONE)
            buf_printf(&out, "(%zu)", note->with);
    }
    return out.len > 0 ? out.at : "";
}

static void test_library(void **state UNUSED)
{
    static const char *const cases[][2] = {
        {"relu", ""},
        {"rowsum", "0: reduction, mergeable-statistics"},
        {"argmax", "0: reduction, mergeable-statistics, bounded-summary-state"},
        {"matmul", "0: reduction, contraction"},
        {"gemv", "0: reduction, contraction"},
        {"cumsum", "0: bounded-summary-state, scan"},
        {"cumprod_reverse", "0: bounded-summary-state, scan"},
        {"embedding", "0: gather"},
        {"scatter_add", "0: gather"},
        {"transpose", ""},
        {"conv2d", "0: reduction, contraction, stencil"},
        {"depthwise_conv", "0: reduction, contraction, stencil"},
        {"transposed_conv", "0: reduction, contraction, stencil"},
        {"maxpool", "0: reduction, mergeable-statistics, stencil"},
        {"mean_var", "0: reduction, mergeable-statistics; 2: reduction, mergeable-statistics(0)"},
        {"layernorm", "0: reduction, mergeable-statistics; "
                      "3: reduction, mergeable-statistics(0); 5: streaming-normalisation(3)"},
        {"groupnorm", "0: reduction, mergeable-statistics; "
                      "2: reduction, mergeable-statistics(0); 4: streaming-normalisation(2)"},
        {"rmsnorm", "0: reduction, mergeable-statistics; 2: streaming-normalisation(0)"},
        {"l2norm", "0: reduction, mergeable-statistics; 1: streaming-normalisation(0)"},
        {"batchnorm", ""},
        {"softmax", "0: reduction, mergeable-statistics; 2: reduction, rescaled-accumulation(0); "
                    "3: streaming-normalisation(2), coupled-numerator-denominator(2)"},
        {"log_softmax",
         "0: reduction, mergeable-statistics; 1: reduction, rescaled-accumulation(0); "
         "2: streaming-normalisation(1), coupled-numerator-denominator(1)"},
        {"logsumexp", "0: reduction, mergeable-statistics; 1: reduction, rescaled-accumulation(0)"},
        {"causal_attention",
         "0: reduction, contraction; 2: reduction, mergeable-statistics; "
         "4: reduction, rescaled-accumulation(2); "
         "5: reduction, weighted-reduction, rescaled-accumulation(2), contraction; "
         "6: streaming-normalisation(4), coupled-numerator-denominator(4)"},
        {"cross_entropy",
         "0: reduction, mergeable-statistics; 1: reduction, rescaled-accumulation(0); "
         "2: coupled-numerator-denominator(1), gather; 3: reduction, mergeable-statistics"},
        {"lstm", "0: reduction, contraction; 1: reduction, contraction, scan; 2: scan; 3: scan; "
                 "4: bounded-summary-state, scan; 5: bounded-summary-state, scan"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        const char *words = words_of(&arena, plans_op(&arena, cases[i][0]));
        if (strcmp(words, cases[i][1]) != 0)
            fail_msg("%s: %s", cases[i][0], words);
        arena_release(&arena);
    }
}

/* "2:RX(0)" of the statements that have more than a map; see zoo.h. */
static const char *letters_of(struct arena *arena, const struct bound_op *bound)
{
    static const char letters[] = "?RMWXBNQCSPG"; /* in the order of base/vocab.def */
    struct structures found;
    struct buf out;
    size_t shown = OP_NONE;
    structure_of(arena, bound, NULL, &found);
    buf_init(&out, arena, TEXT_BYTES);
    for (size_t i = 0; i < found.structure_count; i++) {
        const struct structure_note *note = &found.structures[i];
        if (note->word == STRUCTURE_MAP)
            continue;
        if (note->stmt != shown)
            buf_printf(&out, "%s%zu:", out.len > 0 ? " " : "", note->stmt);
        shown = note->stmt;
        buf_char(&out, letters[note->word]);
        if (note->with != OP_NONE)
            buf_printf(&out, "(%zu)", note->with);
    }
    return out.len > 0 ? out.at : "";
}

static const char *text_of(const struct structures *found, size_t stmt, enum structure word)
{
    for (size_t i = 0; i < found->structure_count; i++)
        if (found->structures[i].stmt == stmt && found->structures[i].word == word)
            return found->structures[i].text.at;
    return "";
}

static void test_zoo(void **state UNUSED)
{
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT_OF(zoo); i++) {
        struct arena arena;
        struct structures found;
        const struct bound_op *bound;
        struct err err = {0};
        arena_init(&arena, ARENA_BYTES);
        const struct op *op = zoo_op(&arena, &zoo[i]);
        assert_ok(op_bind_shape(&arena, op, &op->targets[0], &bound, &err));
        const char *letters = letters_of(&arena, bound);
        if (strcmp(letters, zoo[i].found) != 0) {
            print_error("%s: %s, wanted %s\n", zoo[i].name, letters, zoo[i].found);
            wrong++;
        }
        structure_of(&arena, bound, NULL, &found);
        if (zoo[i].roles != NULL) {
            size_t stmt = (size_t)(zoo[i].roles[0] - '0');
            const char *text = text_of(&found, stmt, STRUCTURE_CONTRACTION);
            if (strcmp(text, zoo[i].roles + 3) != 0) {
                print_error("%s: %s\n", zoo[i].name, text);
                wrong++;
            }
        }
        arena_release(&arena);
    }
    assert_int_equal(wrong, 0);
}

/* x[8,64] to y[8]; lines separated by ';'. */
static const struct bound_op *small_op(struct arena *arena, const char *lines, const char *policy)
{
    struct buf text;
    buf_init(&text, arena, TEXT_BYTES);
    buf_printf(&text,
               "{\"spec\":1,\"name\":\"t\",\"policy\":{%s},\"tracks\":{\"f32\":{}},"
               "\"shapes\":{\"target\":[{}]},\"tensors\":["
               "{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[8,64]},"
               "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[8]}],\"body\":[\"",
               policy);
    for (const char *c = lines; *c; c++)
        if (*c == ';')
            buf_text(&text, "\",\"");
        else
            buf_char(&text, *c);
    buf_text(&text, "\"]}");
    return bind(arena, buf_view(&text));
}

/* What almost has a structure, and the same thing written otherwise. */
static void test_near_misses(void **state UNUSED)
{
    static const char *const cases[][2] = {
        /* raw moments, in one statement each */
        {"a[m] = sum(n) x[m,n];b[m] = sum(n) x[m,n] * x[m,n];y[m] = b[m] - a[m] * a[m]",
         "0: reduction, mergeable-statistics; 1: reduction, mergeable-statistics(0)"},
        /* squared distance from something else */
        {"a[m] = sum(n) x[m,n];b[m] = sum(n) (x[m,n] - 3.0) * (x[m,n] - 3.0);y[m] = b[m] - a[m]",
         "0: reduction, mergeable-statistics; 1: reduction, mergeable-statistics"},
        /* products of different elements are no square */
        {"a[m] = sum(n) x[m,n];b[m] = sum(n) x[m,n] * x[m,63 - n];y[m] = b[m] - a[m]",
         "0: reduction, mergeable-statistics; "
         "1: reduction, mergeable-statistics, weighted-reduction"},
        /* the minimum rescales nothing */
        {"a[m] = min(n) x[m,n];y[m] = sum(n) exp(x[m,n] - a[m])",
         "0: reduction, mergeable-statistics; 1: reduction, mergeable-statistics"},
        /* the maximum of something else */
        {"a[m] = max(n) x[m,n] * 2.0;y[m] = sum(n) exp(x[m,n] - a[m])",
         "0: reduction, mergeable-statistics; 1: reduction, mergeable-statistics"},
        /* the same, behind a temporary and a cast */
        {"t[m,n] = x[m,n] * 2.0;a[m] = max(n) t[m,n];e[m,n] = exp(x[m,n] * 2.0 - a[m]);"
         "y[m] = sum(n) f32(e[m,n])",
         "1: reduction, mergeable-statistics; 3: reduction, rescaled-accumulation(1)"},
        /* a maximum over the other index */
        {"a[n] = max(m) x[m,n];y[m] = sum(n) exp(x[m,n] - a[n])",
         "0: reduction, mergeable-statistics; 1: reduction, mergeable-statistics"},
        /* blocks of four without overlap are no stencil; of five, they are */
        {"t[m:8,p:16] = sum(r:4) x[m,4 * p + r];y[m] = sum(p) t[m,p]",
         "0: reduction, mergeable-statistics; 1: reduction, mergeable-statistics"},
        {"t[m:8,p:15] = sum(r:5) x[m,4 * p + r];y[m] = sum(p) t[m,p]",
         "0: reduction, mergeable-statistics, stencil; 1: reduction, mergeable-statistics"},
        /* halves side by side are no stencil */
        {"t[m:8,p:32] = x[m,p] + x[m,p + 32];y[m] = sum(p) t[m,p]",
         "1: reduction, mergeable-statistics"},
        /* a row dot is no contraction: it has neither M nor N */
        {"t[m,n] = x[m,n] + 1.0;y[m] = sum(n) x[m,n] * t[m,n]",
         "1: reduction, mergeable-statistics, weighted-reduction"},
        /* divided by a sum of other things */
        {"s[m] = sum(n) abs(x[m,n]);y[m] = s[m] / (s[m] + 1.0)",
         "0: reduction, mergeable-statistics"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        const char *words = words_of(&arena, small_op(&arena, cases[i][0], ""));
        if (strcmp(words, cases[i][1]) != 0)
            fail_msg("%s: %s", cases[i][0], words);
        arena_release(&arena);
    }
}

/* The text with the partner's name and number taken out. */
static const char *impersonal(struct arena *arena, const struct bound_op *bound,
                              const struct structure_note *note)
{
    const struct op *op = bound->op;
    struct str name = op->tensors[op->stmts[note->with].target].name;
    struct buf out;
    char number[32];
    size_t digits = (size_t)snprintf(number, sizeof(number), "%zu", note->with);
    buf_init(&out, arena, TEXT_BYTES);
    for (size_t at = 0; at < note->text.len;) {
        bool fits =
            at + name.len <= note->text.len && memcmp(note->text.at + at, name.at, name.len) == 0;
        bool named = fits && !isalnum((unsigned char)note->text.at[at + name.len]) &&
                     (at == 0 || !isalnum((unsigned char)note->text.at[at - 1]));
        bool numbered = at >= 10 && memcmp(note->text.at + at - 10, "statement ", 10) == 0 &&
                        memcmp(note->text.at + at, number, digits) == 0;
        buf_char(&out, named ? '@' : numbered ? '#' : note->text.at[at]);
        at += named ? name.len : numbered ? digits : 1;
    }
    return out.at;
}

/* Softmax, its logarithm, its sum, the loss and attention have one structure where they are one:
 * the sum of exponentials, and what it divides. */
static void same_structure(enum structure word, const char *const *names, size_t count)
{
    struct arena arena;
    const char *first = NULL;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < count; i++) {
        const struct bound_op *bound = plans_op(&arena, names[i]);
        struct structures found;
        size_t notes = 0;
        structure_of(&arena, bound, NULL, &found);
        for (size_t n = 0; n < found.structure_count; n++) {
            if (found.structures[n].word != word)
                continue;
            const char *text = impersonal(&arena, bound, &found.structures[n]);
            first = first == NULL ? text : first;
            assert_string_equal(text, first);
            notes++;
        }
        if (notes == 0)
            fail_msg("%s has no %s", names[i], structure_name(word));
    }
    arena_release(&arena);
}

static void test_same_rescaling(void **state UNUSED)
{
    static const char *const names[] = {"softmax", "log_softmax", "logsumexp", "cross_entropy",
                                        "causal_attention"};
    same_structure(STRUCTURE_RESCALED_ACCUMULATION, names, COUNT_OF(names));
}

static void test_same_normalisation(void **state UNUSED)
{
    static const char *const shares[] = {"softmax", "causal_attention", "l2norm", "rmsnorm",
                                         "layernorm"};
    same_structure(STRUCTURE_STREAMING_NORMALISATION, shares, COUNT_OF(shares));
}

static void test_same_logarithm(void **state UNUSED)
{
    static const char *const names[] = {"log_softmax", "cross_entropy"};
    same_structure(STRUCTURE_COUPLED_RATIO, names, COUNT_OF(names));
}

/* Windows, halo and reuse, by hand: 3 wide at stride 2 shares 1 and is read twice. */
static void test_windows(void **state UNUSED)
{
    static const char *const cases[][2] = {
        {"maxpool", "neighbouring results read overlapping windows of x: along p window 3, stride "
                    "2, halo 1, reuse 2; along q window 3, stride 2, halo 1, reuse 2"},
        {"conv2d", "neighbouring results read overlapping windows of x: along p window 3, stride "
                   "2, halo 1, reuse 2; along q window 3, stride 2, halo 1, reuse 2"},
        {"transposed_conv",
         "neighbouring results read overlapping windows of x: along p window 2, stride 1 of 2, "
         "halo 2, reuse 3; along q window 2, stride 1 of 2, halo 2, reuse 3"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct structures found;
        arena_init(&arena, ARENA_BYTES);
        structure_of(&arena, plans_op(&arena, cases[i][0]), NULL, &found);
        assert_string_equal(text_of(&found, 0, STRUCTURE_STENCIL), cases[i][1]);
        arena_release(&arena);
    }
}

static void test_roles(void **state UNUSED)
{
    static const struct {
        const char *op;
        size_t stmt;
        const char *text;
    } cases[] = {
        {"matmul", 0, "sum of products: M m, N n, K k"},
        {"batched_matmul", 0, "sum of products: batch s, M m, N n, K k"},
        {"causal_attention", 5, "sum of products: batch b and h, M i, N d, K j"},
        {"conv2d", 0, "sum of products: M b and p and q, N k, K c and r and s"},
        {"gemv", 0, "sum of products: M m, K k"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct structures found;
        arena_init(&arena, ARENA_BYTES);
        structure_of(&arena, plans_op(&arena, cases[i].op), NULL, &found);
        assert_string_equal(text_of(&found, cases[i].stmt, STRUCTURE_CONTRACTION), cases[i].text);
        arena_release(&arena);
    }
}

/* +1 allowed, -1 refused, 0 not mentioned. */
static int preserved(const struct structures *found, size_t stmt, enum preservation word)
{
    for (size_t i = 0; i < found->preservation_count; i++)
        if (found->preservations[i].stmt == stmt && found->preservations[i].word == word)
            return found->preservations[i].allowed ? 1 : -1;
    return 0;
}

static void test_preservation(void **state UNUSED)
{
    static const struct {
        const char *op, *track;
        size_t stmt;
        enum preservation word;
        int answer;
    } cases[] = {
        {"softmax", "f32", 0, PRESERVATION_REORDER, 1},
        {"softmax", "f32", 2, PRESERVATION_RESCALE, 1},
        {"softmax", "f32", 2, PRESERVATION_SPLIT_MERGE, 1},
        {"softmax", "f32", 1, PRESERVATION_RECOMPUTE, 1},
        {"softmax", "f32", 1, PRESERVATION_APPROXIMATION, -1},
        {"softmax", "f32", 1, PRESERVATION_REGROUP, 0},
        {"softmax", "f32", 3, PRESERVATION_RELAYOUT, -1},
        {"matmul", "f32", 0, PRESERVATION_PRECISION, -1},
        {"matmul", "tf32", 0, PRESERVATION_PRECISION, 1},
        {"matmul", "f32", 0, PRESERVATION_APPROXIMATION, 0},
        {"matmul_bias_gelu_bf16", "bf16", 2, PRESERVATION_APPROXIMATION, 1},
        {"cumsum", "f32", 0, PRESERVATION_REORDER, -1},
        {"cumsum", "f32", 0, PRESERVATION_SPLIT_MERGE, 1},
        {"lstm", "f32", 4, PRESERVATION_REORDER, -1},
        {"lstm", "f32", 4, PRESERVATION_SPLIT_MERGE, -1},
        {"lstm", "f32", 4, PRESERVATION_RECOMPUTE, -1},
        {"layernorm", "f32", 3, PRESERVATION_SUMMARISE, 1},
        {"rmsnorm", "f32", 0, PRESERVATION_SUMMARISE, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct structures found;
        const struct track *track;
        arena_init(&arena, ARENA_BYTES);
        const struct bound_op *bound = plans_op(&arena, cases[i].op);
        assert_true(op_track_find(bound->op, str_from(cases[i].track), &track));
        structure_of(&arena, bound, track, &found);
        int answer = preserved(&found, cases[i].stmt, cases[i].word);
        if (answer != cases[i].answer)
            fail_msg("%s, statement %zu, %s: %d", cases[i].op, cases[i].stmt,
                     preservation_name(cases[i].word), answer);
        arena_release(&arena);
    }
}

static void test_deterministic(void **state UNUSED)
{
    static const char body[] = "y[m] += (m, n) x[m,n]";
    struct arena arena;
    struct structures found;
    arena_init(&arena, ARENA_BYTES);
    structure_of(&arena, small_op(&arena, body, "\"deterministic\":false"), NULL, &found);
    assert_int_equal(preserved(&found, 0, PRESERVATION_REORDER), 1);
    structure_of(&arena, small_op(&arena, body, "\"deterministic\":true"), NULL, &found);
    assert_int_equal(preserved(&found, 0, PRESERVATION_REORDER), -1);
    arena_release(&arena);
}

static int composed(const struct structures *found, size_t from, size_t to)
{
    for (size_t i = 0; i < found->composition_count; i++)
        if (found->compositions[i].from == from && found->compositions[i].to == to)
            return found->compositions[i].allowed ? 1 : -1;
    return 0;
}

static void test_composition(void **state UNUSED)
{
    static const struct {
        const char *op;
        size_t from, to;
        int answer;
    } cases[] = {
        {"softmax", 0, 1, 1},
        {"softmax", 1, 2, 1},
        {"softmax", 0, 2, 0},
        {"softmax", 2, 3, 1},
        {"layernorm", 2, 5, 1},
        {"causal_attention", 1, 2, 1},
        {"causal_attention", 3, 5, 1},
        {"groupnorm", 1, 4, -1},
        {"cross_entropy", 2, 3, 1},
        {"cross_entropy", 1, 2, 1},
        {"avgpool", 0, 1, 1},
        {"lstm", 0, 2, -1},
        {"lstm", 4, 5, 1},
        {"lstm", 4, 6, -1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct structures found;
        arena_init(&arena, ARENA_BYTES);
        structure_of(&arena, plans_op(&arena, cases[i].op), NULL, &found);
        int answer = composed(&found, cases[i].from, cases[i].to);
        if (answer != cases[i].answer)
            fail_msg("%s, %zu to %zu: %d", cases[i].op, cases[i].from, cases[i].to, answer);
        arena_release(&arena);
    }
}

static bool applies(const struct structures *found, size_t stmt, enum primitive word)
{
    for (size_t i = 0; i < found->primitive_count; i++)
        if (found->primitives[i].stmt == stmt && found->primitives[i].word == word)
            return true;
    return false;
}

static void test_primitives(void **state UNUSED)
{
    static const struct {
        const char *op;
        size_t stmt;
        enum primitive word;
        bool applies;
    } cases[] = {
        {"matmul", 0, PRIMITIVE_TENSOR_CORE_TILE, true},
        {"matmul", 0, PRIMITIVE_WARP_SUMMARY, false},
        {"gemv", 0, PRIMITIVE_TENSOR_CORE_TILE, false},
        {"softmax", 2, PRIMITIVE_ONLINE_STATE, true},
        {"softmax", 2, PRIMITIVE_BLOCK_SUMMARY, true},
        {"softmax", 0, PRIMITIVE_ONLINE_STATE, false},
        {"softmax", 1, PRIMITIVE_REMATERIALISATION, true},
        {"softmax", 1, PRIMITIVE_VECTOR_ACCESS, true},
        {"transpose", 0, PRIMITIVE_REDUCTION_TREE, false},
        {"groupnorm", 0, PRIMITIVE_GRID_SUMMARY, true},
        {"rowsum", 0, PRIMITIVE_GRID_SUMMARY, false},
        {"cumsum", 0, PRIMITIVE_REDUCTION_TREE, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct structures found;
        arena_init(&arena, ARENA_BYTES);
        structure_of(&arena, plans_op(&arena, cases[i].op), NULL, &found);
        if (applies(&found, cases[i].stmt, cases[i].word) != cases[i].applies)
            fail_msg("%s, statement %zu, %s", cases[i].op, cases[i].stmt,
                     primitive_name(cases[i].word));
        arena_release(&arena);
    }
}

/* ---- names ---- */

/* `text` with @0, @1, ... replaced by names. */
static struct str with_names(struct arena *arena, const char *text, const char *const *names)
{
    struct buf out;
    buf_init(&out, arena, TEXT_BYTES);
    for (; *text; text++)
        if (*text == '@')
            buf_text(&out, names[*++text - '0']);
        else
            buf_char(&out, *text);
    return buf_view(&out);
}

/* Everything found, with each name of `names` written as @0, @1, ... */
static const char *without_names(struct arena *arena, const struct structures *found,
                                 const char *const *names, size_t name_count)
{
    struct buf all, out;
    buf_init(&all, arena, TEXT_BYTES);
    for (size_t i = 0; i < found->structure_count; i++)
        buf_printf(&all, "%zu %zu %d %s\n", found->structures[i].stmt, found->structures[i].with,
                   (int)found->structures[i].word, found->structures[i].text.at);
    for (size_t i = 0; i < found->preservation_count; i++)
        buf_printf(&all, "%zu %d %d %s\n", found->preservations[i].stmt,
                   (int)found->preservations[i].word, found->preservations[i].allowed,
                   found->preservations[i].text.at);
    for (size_t i = 0; i < found->primitive_count; i++)
        buf_printf(&all, "%zu %d %s\n", found->primitives[i].stmt, (int)found->primitives[i].word,
                   found->primitives[i].text.at);
    for (size_t i = 0; i < found->composition_count; i++)
        buf_printf(&all, "%zu %zu %d %s\n", found->compositions[i].from, found->compositions[i].to,
                   found->compositions[i].allowed, found->compositions[i].text.at);
    buf_init(&out, arena, TEXT_BYTES);
    for (const char *at = all.at; *at;) {
        size_t n = 0;
        while (n < name_count && strncmp(at, names[n], strlen(names[n])) != 0)
            n++;
        if (n == name_count) {
            buf_char(&out, *at++);
            continue;
        }
        buf_printf(&out, "@%zu", n);
        at += strlen(names[n]);
    }
    return out.at;
}

static void test_renaming(void **state UNUSED)
{
    /* indices 0 1 2, tensors 3.. */
    static const char spec[] =
        "{\"spec\":1,\"name\":\"t\",\"tracks\":{\"f32\":{}},\"shapes\":{\"target\":[{}]},"
        "\"tensors\":[{\"name\":\"@3\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[32,64]},"
        "{\"name\":\"@4\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[64,16]},"
        "{\"name\":\"@9\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[32,16]}],\"body\":["
        "\"@5[@0] = max(@1) @3[@0,@1]\",\"@6[@0,@1] = exp(@3[@0,@1] - @5[@0])\","
        "\"@7[@0] = sum(@1) @6[@0,@1]\",\"@8[@0,@2] = sum(@1) @6[@0,@1] * @4[@1,@2]\","
        "\"@9[@0,@2] = @8[@0,@2] / @7[@0]\"]}";
    static const char *const names[][10] = {
        {"QA", "QB", "QC", "QD", "QE", "QF", "QG", "QH", "QI", "QJ"},
        {"ZJ", "ZI", "ZH", "ZG", "ZF", "ZE", "ZD", "ZC", "ZB", "ZA"},
        {"K_sum", "K_batch", "K_mean", "K_y", "K_x", "K_softmax", "K_matmul", "K_gamma", "K_max",
         "K_loss"},
    };
    struct arena arena;
    const char *first = NULL;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct structures found;
        structure_of(&arena, bind(&arena, with_names(&arena, spec, names[i])), NULL, &found);
        const char *text = without_names(&arena, &found, names[i], COUNT_OF(names[i]));
        if (first == NULL)
            first = text;
        assert_string_equal(text, first);
        assert_true(structures_have(&found, 4, STRUCTURE_COUPLED_RATIO));
        assert_true(structures_have(&found, 3, STRUCTURE_WEIGHTED_REDUCTION));
        assert_false(structures_have(&found, 0, STRUCTURE_CONTRACTION));
    }
    arena_release(&arena);
}

/* Squares of squares: inlined, this is 2^40 factors. */
static void test_deep_inlining(void **state UNUSED)
{
    struct arena arena;
    struct buf lines;
    arena_init(&arena, ARENA_BYTES);
    buf_init(&lines, &arena, TEXT_BYTES);
    buf_text(&lines, "t0[m,n] = x[m,n] * x[m,n]");
    for (int i = 1; i < 40; i++)
        buf_printf(&lines, ";t%d[m,n] = t%d[m,n] * t%d[m,n]", i, i - 1, i - 1);
    buf_text(&lines, ";a[m] = sum(n) t39[m,n];y[m] = sum(n) (t39[m,n] + a[m]) * (t38[m,n] + a[m])");
    const char *words = words_of(&arena, small_op(&arena, lines.at, ""));
    assert_string_equal(words, "40: reduction, mergeable-statistics; "
                               "41: reduction, mergeable-statistics, weighted-reduction");
    arena_release(&arena);
}

/* Bytes grow with the statements, not with their pairs, and words do not change on the way. */
static void test_growth(void **state UNUSED)
{
    static const int blocks[] = {7, 21, 70};
    double first = 0;
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        struct arena spec, arena;
        struct structures found;
        arena_init(&spec, ARENA_BYTES);
        arena_init(&arena, ARENA_BYTES);
        const struct bound_op *bound = bind(&spec, grown_spec(&spec, blocks[i]));
        structure_of(&arena, bound, NULL, &found);
        size_t stmts = bound->op->stmt_count;
        assert_int_equal(stmts, blocks[i] * GROWN_BLOCK + 2);
        double each = (double)arena.bytes_total / (double)stmts;
        first = i == 0 ? each : first;
        print_message("%zu statements: %.1f KB each\n", stmts, each / 1e3);
        if (each > 3 * first || each > 64e3)
            fail_msg("%zu statements: %.1f KB each, of few %.1f", stmts, each / 1e3, first / 1e3);
        for (int b = 0; b < blocks[i]; b++) {
            size_t at = 1 + (size_t)b * GROWN_BLOCK;
            assert_true(structures_have(&found, at + 2, STRUCTURE_MERGEABLE_STATISTICS));
            assert_true(structures_have(&found, at + 3, STRUCTURE_STREAMING_NORMALISATION));
            assert_true(structures_have(&found, at + 4, STRUCTURE_CONTRACTION));
            assert_true(structures_have(&found, at + 7, STRUCTURE_RESCALED_ACCUMULATION));
            assert_true(structures_have(&found, at + 8, STRUCTURE_RESCALED_ACCUMULATION));
            assert_true(structures_have(&found, at + 9, STRUCTURE_COUPLED_RATIO));
        }
        arena_release(&arena);
        arena_release(&spec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library),
        cmocka_unit_test(test_zoo),
        cmocka_unit_test(test_near_misses),
        cmocka_unit_test(test_same_rescaling),
        cmocka_unit_test(test_same_normalisation),
        cmocka_unit_test(test_same_logarithm),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_preservation),
        cmocka_unit_test(test_deterministic),
        cmocka_unit_test(test_composition),
        cmocka_unit_test(test_primitives),
        cmocka_unit_test(test_renaming),
        cmocka_unit_test(test_deep_inlining),
        cmocka_unit_test(test_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
