/*
 * Prompts: each datum shows, the budget cuts the least important first and never what must stay,
 * and examples are what they say.
 */
#include <glob.h>
#include <stdlib.h>

#include "tests/unit/solver/ir/scores_zoo.h"
#include "tests/unit/synth/prompts.h"

enum { ARENA_BYTES = 1 << 30 };

static const struct prompt_item marker[] = {ITEM("MARKER-HEAD", "MARKER-TEXT")};
static const char source[] = "// first\nextern \"C\" __global__ void f() {}\n// last\n";

static struct str both(struct arena *arena, const struct prompt *prompt)
{
    struct buf out;
    buf_init(&out, arena, 32 << 20);
    buf_str(&out, prompt->system);
    buf_str(&out, prompt->user);
    return buf_view(&out);
}

static bool has(struct str text, const char *needle)
{
    return memmem(text.at, text.len, needle, strlen(needle)) != NULL;
}

/* ---- each datum ---- */

static const struct prompt_kernel last_kernel = {
    {source, sizeof(source) - 1}, {"{\"manifest\": 7}", 15}, 4.5e6};
static struct prompt_verdict verdict;

static void use_verdict(struct prompt_input *in, enum validity validity, const char *reason)
{
    verdict = (struct prompt_verdict){
        .validity = validity, .gate = GATE_EMULATE, .reason = str_from(reason)};
    in->last = &last_kernel;
    in->verdict = &verdict;
}

static void set_structure(struct prompt_input *in)
{
    in->structure = LIST(marker);
}
static void set_preservation(struct prompt_input *in)
{
    in->preservation = LIST(marker);
}
static void set_primitives(struct prompt_input *in)
{
    in->primitives = LIST(marker);
}
static void set_composition(struct prompt_input *in)
{
    in->composition = LIST(marker);
}
static void set_evidence(struct prompt_input *in)
{
    in->evidence = LIST(marker);
}
static void set_notes(struct prompt_input *in)
{
    in->plan_notes = LIST(marker);
}
static void set_constraints(struct prompt_input *in)
{
    in->constraints = LIST(marker);
}
static void set_directions(struct prompt_input *in)
{
    in->directions = LIST(marker);
}
static void set_history(struct prompt_input *in)
{
    in->history = LIST(marker);
}
static void set_arch(struct prompt_input *in)
{
    in->arch = "sm_100a";
}
static void set_smem(struct prompt_input *in)
{
    in->smem_bytes_max = 101376;
}
static void set_gpu(struct prompt_input *in)
{
    in->gpu = true;
}
static void set_no_plan(struct prompt_input *in)
{
    in->plan = NULL;
}
static void set_bound(struct prompt_input *in)
{
    in->bound_ns = 123456;
}
static void set_incumbent(struct prompt_input *in)
{
    in->incumbent = &last_kernel;
}
static void set_repair(struct prompt_input *in)
{
    use_verdict(in, VALIDITY_WRONG, "REASON");
}
static void set_worst(struct prompt_input *in)
{
    use_verdict(in, VALIDITY_WRONG, "");
    verdict.worst.present = true;
    verdict.worst.tensor = STR_LIT("y");
    verdict.worst.rank = 2;
    verdict.worst.index[0] = 17;
    verdict.worst.index[1] = 4;
    verdict.worst.got = 0.25;
    verdict.worst.want = 0.5;
    verdict.worst.bound = 1e-6;
}
static void set_detail(struct prompt_input *in)
{
    use_verdict(in, VALIDITY_COMPILE_ERROR, "1 error");
    verdict.detail = STR_LIT("line 2: error: identifier \"z\" is undefined\n    y[i] = z;\n");
}
static void set_one_error(struct prompt_input *in)
{
    use_verdict(in, VALIDITY_COMPILE_ERROR, "kernel.cu:2:7: error: no \"z\"");
    verdict.detail = STR_LIT("line 2: error: no \"z\"\n    extern\n");
}
static void set_passed_worst(struct prompt_input *in)
{
    set_worst(in);
    verdict.validity = VALIDITY_RACE;
}
static void set_said_worst(struct prompt_input *in)
{
    set_worst(in);
    verdict.reason = STR_LIT("y[17, 4] is 0.25, must be 0.5 within 1e-06");
}
static void set_line(struct prompt_input *in)
{
    use_verdict(in, VALIDITY_RACE, "race");
    verdict.source_line = 2;
}
static void set_circumstance(struct prompt_input *in)
{
    use_verdict(in, VALIDITY_WRONG, "at M=3");
    verdict.shape = STR_LIT("M=3");
    verdict.data = STR_LIT("heavy-tail");
}
static void set_observed(struct prompt_input *in)
{
    static const struct prompt_number numbers[] = {
        {STR_LIT("cubin.f.registers"), 200, true, 64},
        {STR_LIT("cubin.f.code_bytes"), 4096, false, 0},
        {STR_LIT("ptx.f.mma_f16"), 0, false, 0},
    };
    use_verdict(in, VALIDITY_RESOURCES, "registers");
    verdict.observed = numbers;
    verdict.observed_count = COUNT_OF(numbers);
}

static void set_unread(struct prompt_input *in)
{
    static const struct prompt_kernel nothing = {.time_ns = 0};
    use_verdict(in, VALIDITY_SOURCE_REJECTED, "your reply has no code block");
    in->last = &nothing;
}

struct datum_row {
    const char *name;
    void (*set)(struct prompt_input *in);
    const char *now[3]; /* not in the plain prompt, but then */
};

static const struct datum_row data[] = {
    {"structure", set_structure, {"# Computation structure\n- MARKER-HEAD: MARKER-TEXT\n"}},
    {"preservation", set_preservation, {"# Preservation boundary\n- MARKER-HEAD: MARKER-TEXT\n"}},
    {"primitives", set_primitives, {"# Available primitives\n- MARKER-HEAD: MARKER-TEXT\n"}},
    {"composition", set_composition, {"# Composition legality\n- MARKER-HEAD: MARKER-TEXT\n"}},
    {"evidence", set_evidence, {"# Hardware evidence\n- MARKER-HEAD: MARKER-TEXT\n"}},
    {"notes", set_notes, {"layout row-major\n- MARKER-HEAD: MARKER-TEXT\n"}},
    {"constraints", set_constraints, {"- MARKER-HEAD: MARKER-TEXT\n"}},
    {"directions", set_directions, {"# Directions\n- MARKER-HEAD: MARKER-TEXT\n"}},
    {"history", set_history, {"# Earlier attempts\n- MARKER-HEAD: MARKER-TEXT\n"}},
    {"arch", set_arch, {"Device code for sm_100a", "\"arch\": \"sm_100a\"", "for sm_100a; shared"}},
    {"smem", set_smem, {"thread, 101376 bytes of shared memory", "a block: 101376 bytes"}},
    {"gpu", set_gpu, {"checked on the GPU only", "{\"tensor_map\": \"NAME\""}},
    {"no plan", set_no_plan, {"- None: choose how to realise the op"}},
    {"bound", set_bound, {"Speed of light there: 123.456 us"}},
    {"incumbent", set_incumbent, {"# Incumbent\n", "4500.000 us at the target", "// last\n"}},
    {"improve", set_incumbent, {"Beat the incumbent"}},
    {"repair", set_repair, {"# Last attempt\n", "// first\nextern", "Repair the last attempt"}},
    {"verdict",
     set_repair,
     {"`wrong`, at the gate `emulate`", "```\nREASON\n```", "manifest\": 7"}},
    {"unread", set_unread, {"no code block\n", "The last reply could not be read"}},
    {"worst", set_worst, {"Worst element: y[17, 4] got 0.25, want 0.5, error bound 1e-06."}},
    {"detail", set_detail, {"line 2: error: identifier \"z\" is undefined", "> 2 | extern"}},
    {"line", set_line, {"  1 | // first\n> 2 | extern", "  3 | // last\n"}},
    {"circumstance", set_circumstance, {"First failing check: data heavy-tail.\n"}},
    {"observed", set_observed, {"- cubin.f.registers 200 (plan: 64)\n"}},
};

static void test_data(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(data); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        struct prompt_input in = prompt_plain(&arena, "softmax");
        struct prompt before = prompt_made(&arena, &in);
        data[i].set(&in);
        struct prompt after = prompt_made(&arena, &in);
        for (size_t k = 0; k < COUNT_OF(data[i].now) && data[i].now[k] != NULL; k++) {
            if (has(both(&arena, &before), data[i].now[k]))
                fail_msg("%s: \"%s\" is there without it", data[i].name, data[i].now[k]);
            assert_has(&arena, both(&arena, &after), data[i].now[k]);
        }
        arena_release(&arena);
    }
}

/* What explains nothing, or was said, is not said. */
static void test_smallest_form(void **state)
{
    static const struct {
        void (*set)(struct prompt_input *in);
        const char *absent;
    } rows[] = {
        {set_observed, "code_bytes"},
        {set_observed, "mma_f16"},
        {set_circumstance, "check: shape M=3"},
        {set_repair, "Lines it names"},
        {set_worst, "Observed"},
        {set_one_error, "line 2: error"},
        {set_detail, "    y[i] = z;"},
        {set_passed_worst, "Worst element"},
        {set_said_worst, "Worst element"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        struct prompt_input in = prompt_plain(&arena, "softmax");
        rows[i].set(&in);
        if (has(prompt_made(&arena, &in).user, rows[i].absent))
            fail_msg("\"%s\" is there", rows[i].absent);
        arena_release(&arena);
    }
}

/* ---- plans ---- */

static void test_plan_demands(void **state)
{
    static const struct {
        enum primitive primitive;
        const char *demand;
    } rows[] = {
        {PRIMITIVE_TENSOR_CORE_TILE, "- Checked: the code has an mma instruction."},
        {PRIMITIVE_ASYNC_PIPELINE, "- Checked: the code has an asynchronous copy"},
        {PRIMITIVE_GRID_SUMMARY, "- Cooperative launch and clusters are allowed."},
        {PRIMITIVE_VECTOR_ACCESS, "- Checked: no cooperative launch, no clusters."},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        struct prompt_input in = prompt_plain(&arena, "relu");
        struct plan plan = *in.plan;
        struct plan_region region = plan.regions[0];
        region.primitives = &rows[i].primitive;
        region.primitive_count = 1;
        plan.regions = &region;
        in.plan = &plan;
        assert_has(&arena, prompt_made(&arena, &in).user, rows[i].demand);
        arena_release(&arena);
    }
}

static void test_direction(void **state)
{
    static const char order[] =
        "  - order: blocks walk the region's output from its end, so that what the region before "
        "wrote last is read while L2 still holds it\n";
    (void)state;
    for (int reverse = 0; reverse < 2; reverse++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        struct prompt_input in = prompt_plain(&arena, "relu");
        struct plan plan = *in.plan;
        struct plan_region region = plan.regions[0];
        region.reverse = reverse;
        plan.regions = &region;
        in.plan = &plan;
        assert_int_equal(has(prompt_made(&arena, &in).user, order), reverse);
        arena_release(&arena);
    }
}

/* The kinds of a product with row statistics, in the order of region_skeletons. */
static void test_chains(void **state)
{
    static const struct skeleton_limits limits = {.arch = "sm_90a", .threads_max = 1024};
    static const char chain[] = "  - chain: a block owns rows", again[] = "; a second pass makes";
    static const char held[] = "; they stay in shared memory until their row is finished\n";
    static const size_t all[] = {0, 1, 2, 3, 4};
    (void)state;
    for (size_t i = 0; i < REGION_SKELETONS_MAX; i++) {
        struct arena arena;
        struct region_skeleton made[REGION_SKELETONS_MAX];
        const char *why = "";
        arena_init(&arena, ARENA_BYTES);
        struct prompt_input in = prompt_plain(&arena, "relu");
        in.target = scores_bound(&arena, &scores_zoo[0]);
        assert_int_equal(
            region_skeletons(&arena, in.target, NULL, &limits, all, COUNT_OF(all), made, &why),
            REGION_SKELETONS_MAX);
        in.plan = plan_of_regions(&arena, in.target, NULL, &limits, &made[i], 1);
        const struct str text = prompt_made(&arena, &in).user;
        assert_true(has(text, chain));
        assert_int_equal(has(text, again), i < 2);
        assert_int_equal(has(text, held), i >= 2);
        arena_release(&arena);
    }
}

/* ---- the budget ---- */

static struct prompt_input full_input(struct arena *arena)
{
    static struct prompt_kernel incumbent;
    struct prompt_input in = prompt_softmax(arena);
    struct emitted emitted;
    struct err err;
    assert_ok(realise(arena, in.target->op, in.plan, spec_limits.arch, &emitted, &err));
    incumbent = prompt_kernel_of(arena, &emitted, 41200);
    in.incumbent = &incumbent;
    use_verdict(&in, VALIDITY_RACE, "THE-REASON at kernel.cu:2");
    return in;
}

static const char *const fixed_texts[] = {
    "# Operation\nsoftmax",
    "s[m] = sum(n) e[m,n]",
    "x[M, N]: input, f32, aligned to 16 bytes",
    "Track f32: accuracy",
    "# Target constraints",
    "- machine: H200, 132 SMs",
    "THE-REASON",
    "> 2 | extern",
    "# Reply\nRepair the last attempt",
    "{\"workspace\": \"scratch\"}",
};

static const enum prompt_part cuttable[] = {
    PROMPT_LAST,       PROMPT_PLAN,        PROMPT_DIRECTIONS, PROMPT_STRUCTURE, PROMPT_PRESERVATION,
    PROMPT_PRIMITIVES, PROMPT_COMPOSITION, PROMPT_INCUMBENT,  PROMPT_EVIDENCE,  PROMPT_HISTORY,
};

static const struct prompt_cut *cut_of(const struct prompt *prompt, enum prompt_part part)
{
    for (size_t i = 0; i < prompt->cut_count; i++)
        if (prompt->cuts[i].part == part)
            return &prompt->cuts[i];
    return NULL;
}

/* All parts behind one that was cut are gone; the text says which were cut. */
static void assert_cuts(struct arena *arena, const struct prompt *prompt)
{
    bool cut = false;
    for (size_t i = 0; i < COUNT_OF(cuttable); i++) {
        const struct prompt_cut *found = cut_of(prompt, cuttable[i]);
        char heading[64];
        snprintf(heading, sizeof(heading), "# %s\n", prompt_part_title(cuttable[i]));
        assert_int_equal(has(prompt->user, heading), found == NULL || found->kept > 0);
        if (cut)
            assert_true(found != NULL && found->kept == 0);
        cut = cut || found != NULL;
    }
    assert_int_equal(has(prompt->user, "Left out for length"), cut);
    if (cut)
        assert_has(arena, prompt->user, "Earlier attempts.\n");
}

static void test_budget(void **state)
{
    struct arena arena;
    struct err err;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    struct prompt_input in = full_input(&arena);
    struct prompt whole = prompt_made(&arena, &in), prompt;
    size_t cuts = 0;
    int64_t least = whole.tokens;
    assert_int_equal(whole.cut_count, 0);
    for (in.tokens_max = whole.tokens; prompt_write(&arena, &in, &prompt, &err);
         in.tokens_max -= 7) {
        assert_true(prompt.tokens <= in.tokens_max);
        assert_true(prompt.cut_count >= cuts);
        assert_cuts(&arena, &prompt);
        for (size_t i = 0; i < COUNT_OF(fixed_texts); i++)
            assert_has(&arena, prompt.user, fixed_texts[i]);
        assert_true(str_equal(prompt.system, whole.system));
        cuts = prompt.cut_count;
        least = in.tokens_max;
    }
    assert_int_equal(cuts, COUNT_OF(cuttable));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_true(least < whole.tokens);
    arena_release(&arena);
}

/* What the error says is needed is enough. */
static void test_budget_error(void **state)
{
    struct arena arena;
    struct err err;
    struct prompt prompt;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    struct prompt_input in = full_input(&arena);
    in.tokens_max = 1;
    assert_false(prompt_write(&arena, &in, &prompt, &err));
    const char *need = strstr(err.text, "need ");
    assert_non_null(need);
    in.tokens_max = strtoll(need + 5, NULL, 10);
    assert_ok(prompt_write(&arena, &in, &prompt, &err));
    in.tokens_max--;
    assert_false(prompt_write(&arena, &in, &prompt, &err));
    arena_release(&arena);
}

/* A source that is shown in part is shown where the verdict points. */
static void test_source_window(void **state)
{
    struct arena arena;
    struct buf text;
    struct err err;
    struct prompt prompt;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    struct prompt_input in = prompt_plain(&arena, "softmax");
    buf_init(&text, &arena, 1 << 20);
    for (int i = 1; i <= 400; i++)
        buf_printf(&text, "float number_%d = %d; // a line of the source\n", i, i);
    const struct prompt_kernel last = {.cuda = buf_view(&text)};
    use_verdict(&in, VALIDITY_RACE, "at kernel.cu:300");
    in.last = &last;
    in.tokens_max = prompt_made(&arena, &in).tokens / 2;
    assert_ok(prompt_write(&arena, &in, &prompt, &err));
    const struct prompt_cut *cut = cut_of(&prompt, PROMPT_LAST);
    assert_non_null(cut);
    assert_int_equal(cut->of, 400);
    assert_true(cut->kept > 10 && cut->kept < 400);
    assert_has(&arena, prompt.user, "\nfloat number_300 = 300;");
    assert_has(&arena, prompt.user, " of 400:\n");
    assert_false(has(prompt.user, "\nfloat number_1 = 1;"));
    arena_release(&arena);
}

/* ---- examples ---- */

static size_t count_of(struct str text, char c)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.at[i] == c;
    return count;
}

/* A model that only copied the form would give a manifest that holds, with one argument a
 * parameter; an op is passed whole. */
static void check_example(struct arena *arena, const char *path)
{
    const struct op *op = spec_load(arena, path);
    const struct bound_op *target;
    const struct manifest *manifest;
    const struct json *json;
    struct extracted reply;
    struct err err;
    assert_ok(op_bind_shape(arena, op, &op->targets[0], &target, &err));
    struct prompt_input in = {.target = target, .arch = "sm_90a", .smem_bytes_max = 232448};
    struct prompt prompt = prompt_made(arena, &in);
    assert_ok(extract_reply(arena, prompt.user, &reply, &err));
    assert_ok(json_parse(arena, reply.manifest, path, &json, &err));
    assert_ok(manifest_parse(arena, json, &manifest, &err));
    assert_ok(manifest_check(manifest, op, &err));
    const char *open = strstr(reply.cuda.at, "_kernel(");
    struct str parameters = {open, strlen(open)};
    assert_int_equal(count_of(parameters, ',') + 1, manifest->kernels[0].arg_count);
    for (size_t i = 0; i < op->declared_count; i++)
        assert_has(arena, prompt.user, str_copy(arena, op->tensors[i].name));
    for (size_t i = 0; i < op->stmt_count; i++) {
        struct buf text;
        buf_init(&text, arena, 1 << 20);
        op_print_stmt(&text, op, &op->stmts[i]);
        assert_has(arena, prompt.user, str_copy(arena, buf_view(&text)));
    }
}

static void test_examples(void **state)
{
    glob_t found;
    (void)state;
    assert_int_equal(glob("kernels/ops/*.json", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 30);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        check_example(&arena, found.gl_pathv[i]);
        arena_release(&arena);
    }
    globfree(&found);
}

/* The language is explained where it is used. */
static void test_language(void **state)
{
    static const struct {
        const char *spec, *present, *absent;
    } rows[] = {
        {"cumsum", "is a prefix sum", "is a gather"},
        {"embedding", "is a gather", "is a prefix sum"},
        {"conv2d", "pad(x[...], v)", "adds v for every"},
        {"scatter_add", "clear it in a kernel", "argmax and argmin"},
        {"softmax", "never arrive", "propagate NaN"},
        {"argmax", "argmax and argmin", "runs its statements"},
        {"lstm", "runs its statements", "argmax and argmin"},
        {"matmul", "3xTF32", "are casts"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES);
        struct prompt_input in = prompt_plain(&arena, rows[i].spec);
        struct prompt prompt = prompt_made(&arena, &in);
        assert_has(&arena, prompt.user, rows[i].present);
        if (has(prompt.user, rows[i].absent))
            fail_msg("%s: \"%s\" is there", rows[i].spec, rows[i].absent);
        arena_release(&arena);
    }
}

/* NaN matters where it may arrive. */
static void test_nan(void **state)
{
    static const char spec[] =
        "{\"spec\":1,\"name\":\"top\",\"dims\":{\"n\":[1,4096]},\"tensors\":[{\"name\":\"x\","
        "\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"n\"]},{\"name\":\"y\",\"role\":"
        "\"output\",\"dtype\":\"f32\",\"shape\":[]}],\"body\":[\"y[] = max(i) x[i]\"],\"policy\":"
        "{\"finite_inputs\":false},\"tracks\":{\"f32\":{}},\"shapes\":{\"target\":[{\"n\":1024}],"
        "\"verify\":[]}}";
    struct arena arena;
    struct err err;
    struct prompt_input in = {.arch = "sm_90a", .smem_bytes_max = 1024};
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    const struct op *op = spec_parse(&arena, STR_LIT(spec), "top");
    assert_ok(op_bind_shape(&arena, op, &op->targets[0], &in.target, &err));
    struct prompt prompt = prompt_made(&arena, &in);
    assert_has(&arena, prompt.user, "max and min propagate NaN");
    assert_has(&arena, prompt.user, "NaN and infinity may arrive");
    assert_has(&arena, prompt.user, "y[]: output");
    assert_has(&arena, prompt.user, "\"bytes\": 4,");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data),         cmocka_unit_test(test_smallest_form),
        cmocka_unit_test(test_plan_demands), cmocka_unit_test(test_direction),
        cmocka_unit_test(test_chains),       cmocka_unit_test(test_budget),
        cmocka_unit_test(test_budget_error), cmocka_unit_test(test_source_window),
        cmocka_unit_test(test_examples),     cmocka_unit_test(test_language),
        cmocka_unit_test(test_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
