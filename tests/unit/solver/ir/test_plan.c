/* Plans and tasks: canonical text, round trips, complaints, and consistency with an op. */
#include <stdio.h>
#include <string.h>

#include "solver/ir/plan.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 64 << 20, TEXT_BYTES = 64 << 10 };

#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_0 "0000000000000000000000000000000000000000000000000000000000000000"

/* Two regions: the row maximum and sum, then the division. */
#define PLAN_TEXT                                                                                  \
    "{\"deterministic\":false,"                                                                    \
    "\"edges\":[{\"from\":0,\"residency\":\"global\",\"tensor\":\"s\",\"to\":1}],"                 \
    "\"guard\":\"N % 4 == 0\",\"machine\":\"h200\",\"op\":\"" HASH_0 "\",\"plan\":1,"              \
    "\"regions\":[{\"depth\":1,\"layout\":\"row-major\",\"mma\":[0,0,0],\"precision\":\"f32\","    \
    "\"primitives\":[\"reduction-tree\",\"vector-access\"],\"split\":1,"                           \
    "\"stages\":[{\"staging\":\"register\",\"tensor\":\"x\"}],\"stmts\":[0],"                      \
    "\"threads\":[256,1,1],"                                                                       \
    "\"tiles\":[{\"block\":1,\"index\":\"m\",\"step\":0,\"thread\":1},"                            \
    "{\"block\":4096,\"index\":\"n\",\"step\":1024,\"thread\":16}],\"vector\":4},"                 \
    "{\"depth\":1,\"layout\":\"row-major\",\"mma\":[0,0,0],\"precision\":\"f32\","                 \
    "\"primitives\":[],\"split\":1,\"stages\":[],\"stmts\":[1],\"threads\":[128,2,1],"             \
    "\"tiles\":[],\"vector\":1}],\"track\":\"f32\"}"

#define TASK_TEXT                                                                                  \
    "{\"dims\":{\"M\":4096,\"N\":128},\"machine\":\"h200\",\"op\":\"" HASH_A                       \
    "\",\"op_name\":\"softmax\",\"task\":1,\"track\":\"f32\"}"

static bool parse_plan(struct arena *arena, struct str text, const struct plan **out,
                       struct err *err)
{
    const struct json *json;
    return json_parse(arena, text, "p.json", &json, err) && plan_parse(arena, json, out, err);
}

static bool parse_task(struct arena *arena, struct str text, const struct task **out,
                       struct err *err)
{
    const struct json *json;
    return json_parse(arena, text, "t.json", &json, err) && task_parse(arena, json, out, err);
}

static struct str print_plan(struct arena *arena, const struct plan *plan)
{
    struct buf out;
    struct json_writer w;
    buf_init(&out, arena, TEXT_BYTES);
    json_writer_init(&w, &out);
    plan_print(&w, plan);
    return buf_view(&out);
}

static struct str print_task(struct arena *arena, const struct task *task)
{
    struct buf out;
    struct json_writer w;
    buf_init(&out, arena, TEXT_BYTES);
    json_writer_init(&w, &out);
    task_print(&w, task);
    return buf_view(&out);
}

/* `text` with its first `from` replaced by `to`. */
static struct str edit(struct arena *arena, const char *text, const char *from, const char *to)
{
    struct buf out;
    const char *at = strstr(text, from);
    assert_non_null(at);
    buf_init(&out, arena, TEXT_BYTES);
    buf_bytes(&out, text, (size_t)(at - text));
    buf_text(&out, to);
    buf_text(&out, at + strlen(from));
    return buf_view(&out);
}

static void test_plan_round_trip(void **state)
{
    static const char *const edits[][2] = {
        {"", ""},
        {"\"vector\":4", "\"vector\":8"},
        {"[256,1,1]", "[1,4,256]"},
        {"\"mma\":[0,0,0]", "\"mma\":[16,8,16]"},
        {"\"precision\":\"f32\"", "\"precision\":\"bf16\""},
        {"\"staging\":\"register\"", "\"staging\":\"async\""},
        {"\"residency\":\"global\"", "\"residency\":\"recompute\""},
        {"\"deterministic\":false", "\"deterministic\":true"},
        {"row-major", "blocked-16"},
        {"\"primitives\":[],", "\"primitives\":[],\"reverse\":true,"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(edits); i++) {
        struct arena arena;
        struct err err = {0};
        const struct plan *plan;
        arena_init(&arena, ARENA_BYTES);
        struct str text = edit(&arena, PLAN_TEXT, edits[i][0], edits[i][1]);
        if (!parse_plan(&arena, text, &plan, &err))
            fail_msg("%s: %s", edits[i][1], err.text);
        assert_string_equal(print_plan(&arena, plan).at, text.at);
        struct hash hash = plan_hash(plan), direct = hash_bytes(text.at, text.len);
        assert_memory_equal(&hash, &direct, sizeof(hash));
        arena_release(&arena);
    }
}

static void test_plan_defaults(void **state)
{
    struct arena arena;
    struct err err = {0};
    const struct plan *plan;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    static const char text[] =
        "{\"plan\":1,\"op\":\"" HASH_0 "\",\"track\":\"f32\",\"machine\":\"h200\",\"guard\":1,"
        "\"regions\":[{\"stmts\":[0],\"primitives\":[],\"tiles\":[{\"index\":\"m\",\"block\":1,"
        "\"thread\":1}],\"stages\":[],\"threads\":[32,1,1],\"precision\":\"f32\"}]}";
    if (!parse_plan(&arena, str_from(text), &plan, &err))
        fail_msg("%s", err.text);
    const struct plan_region *region = &plan->regions[0];
    assert_int_equal(region->vector, 1);
    assert_int_equal(region->depth, 1);
    assert_int_equal(region->split, 1);
    assert_false(region->reverse);
    assert_int_equal(region->mma[0], 0);
    assert_int_equal(region->tiles[0].step, 0);
    assert_true(str_equal(region->layout, STR_LIT("row-major")));
    assert_int_equal(plan->edge_count, 0);
    assert_false(plan->deterministic);
    arena_release(&arena);
}

static void test_plan_broken(void **state)
{
    static const char *const cases[][3] = {
        {"\"plan\":1", "\"plan\":3", "p.json: plan: 3 is out of range; it must be from 1 to 1"},
        {"\"op\":\"0", "\"op\":\"G",
         "p.json: op: expected a SHA-256 in 64 lower-case hexadecimal digits"},
        {"\"track\":\"f32\"", "\"track\":\"\"", "p.json: track: a name has from 1 to 64 bytes"},
        {"\"guard\":\"N % 4 == 0\",", "",
         "p.json: \"guard\" is missing; it must be an integer or a formula"},
        {"\"split\"", "\"splits\"",
         "p.json: regions[0].splits: unknown key; did you mean \"split\"?"},
        {"\"stmts\":[0]", "\"stmts\":[]",
         "p.json: regions[0].stmts: 0 items; it must have from 1 to 1000"},
        {"\"stmts\":[0]", "\"stmts\":[2,1]",
         "p.json: regions[0]: stmts must ascend; 1 comes after 2"},
        {"\"stmts\":[0]", "\"stmts\":[-1]",
         "p.json: regions[0].stmts[0]: expected a statement's number, from 0 to 999"},
        {"reduction-tree", "reduction",
         "p.json: regions[0].primitives[0]: \"reduction\" is not known; it is one of "
         "\"reduction-tree\", \"tile-staging\", \"shared-residency\", \"streaming-accumulation\", "
         "\"online-state-update\", \"rematerialisation\", \"warp-cooperative-summary\", "
         "\"block-cooperative-summary\", \"multi-block-cooperative-summary\", "
         "\"tensor-core-tile\", \"async-pipeline\", \"register-tile\", \"vector-access\""},
        {"\"vector-access\"", "\"reduction-tree\"",
         "p.json: regions[0]: the primitive \"reduction-tree\" is listed twice"},
        {"\"staging\":\"register\"", "\"staging\":\"l1\"",
         "p.json: regions[0].stages[0].staging: \"l1\" is not known; it is one of \"direct\", "
         "\"register\", \"shared\", \"async\""},
        {"\"index\":\"n\"", "\"index\":\"m\"", "p.json: regions[0]: two tiles for the index \"m\""},
        {"\"block\":4096", "\"block\":0",
         "p.json: regions[0].tiles[1].block: 0 is out of range; it must be from 1 to 2147483647"},
        {"[256,1,1]", "[256,8,1]", "p.json: regions[0]: threads multiply to from 1 to 1024"},
        {"[256,1,1]", "[256,1]", "p.json: regions[0].threads: 2 items; it must have from 3 to 3"},
        {"\"vector\":4", "\"vector\":3",
         "p.json: regions[0]: vector is 3; it must be a power of two"},
        {"\"mma\":[0,0,0]", "\"mma\":[16,8,0]",
         "p.json: regions[0]: mma has three sizes, or three zeros for none"},
        {"\"precision\":\"f32\"", "\"precision\":\"fp32\"",
         "p.json: regions[0].precision: \"fp32\" is not known; it is one of \"f64\", \"f32\", "
         "\"tf32\", \"f16\", \"bf16\""},
        {"\"primitives\":[],", "\"primitives\":[],\"reverse\":1,",
         "p.json: regions[1].reverse: expected true or false, found an integer"},
        {"\"to\":1", "\"to\":2", "p.json: edges[0]: from 0 to 2, but there are 2 regions"},
        {"\"to\":1", "\"to\":0",
         "p.json: edges[0]: from 0 to 0 goes backward; list regions in the order they run"},
        {"\"residency\":\"global\"", "\"residency\":\"l2\"",
         "p.json: edges[0].residency: \"l2\" is not known; it is one of \"global\", \"shared\", "
         "\"register\", \"recompute\""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct plan *plan = NULL;
        arena_init(&arena, ARENA_BYTES);
        if (parse_plan(&arena, edit(&arena, PLAN_TEXT, cases[i][0], cases[i][1]), &plan, &err))
            fail_msg("accepted: %s", cases[i][1]);
        assert_string_equal(err.text, cases[i][2]);
        assert_null(plan);
        arena_release(&arena);
    }
}

/* s[m] = sum(n) x[m,n]; y[m] = x[m,0] / s[m], made by hand. */
static const struct expr read_x = {.op = EXPR_READ, .tensor = 0};
static const struct expr read_s = {.op = EXPR_READ, .tensor = 1};
static const struct expr ratio = {.op = EXPR_DIV, .args = {&read_x, &read_s}};
static const struct loop loops[] = {{.name = {"m", 1}}, {.name = {"n", 1}, .reduced = true}};
static const struct stmt stmts[] = {
    {.target = 1, .loops = loops, .loop_count = 2, .free_count = 1, .value = &read_x},
    {.target = 2, .loops = loops, .loop_count = 1, .free_count = 1, .value = &ratio},
};
static const struct tensor tensors[] = {
    {.name = {"x", 1}, .role = ROLE_INPUT, .rank = 2, .written_by = OP_NONE},
    {.name = {"s", 1}, .temporary = true, .rank = 1, .written_by = 0},
    {.name = {"y", 1}, .role = ROLE_OUTPUT, .rank = 1, .written_by = 1},
};
static const struct dim dims[] = {{.name = {"M", 1}}, {.name = {"N", 1}}};
static const struct track tracks[] = {{.name = {"f32", 3}, .compute = COMPUTE_F32}};
static const struct op op = {
    .name = {"ratio", 5},
    .dims = dims,
    .dim_count = 2,
    .tensors = tensors,
    .tensor_count = 3,
    .declared_count = 3,
    .stmts = stmts,
    .stmt_count = 2,
    .tracks = tracks,
    .track_count = 1,
};

static void test_plan_check(void **state)
{
    static const char *const cases[][3] = {
        {"", "", NULL},
        {"\"op\":\"0", "\"op\":\"1", "op: the plan is for another spec than \"ratio\""},
        {"\"track\":\"f32\"", "\"track\":\"bf16\"", "track: the spec has no track \"bf16\""},
        {"N % 4", "K % 4", "guard: there is no dim \"K\"; the spec has M, N"},
        {"\"stmts\":[1]", "\"stmts\":[2]", "regions[1]: there is no statement 2; the spec has 2"},
        {"\"stmts\":[1]", "\"stmts\":[0,1]", "regions[1]: statement 0 is in regions[0] already"},
        {"\"index\":\"n\"", "\"index\":\"k\"",
         "regions[0].tiles[1]: no statement of the region has an index \"k\""},
        {"\"tensor\":\"x\"", "\"tensor\":\"y\"",
         "regions[0].stages[0]: no statement of the region uses a tensor \"y\""},
        {"\"tensor\":\"x\"", "\"tensor\":\"s\"", NULL},
        {"\"tensor\":\"s\"", "\"tensor\":\"x\"", "edges[0]: regions[0] does not write \"x\""},
        {"[{\"from\":0,\"residency\":\"global\",\"tensor\":\"s\",\"to\":1}]", "[]",
         "edges: \"s\" is written by regions[0] and read by regions[1], but no edge says where it "
         "lives"},
        {"\"stmts\":[0]", "\"stmts\":[1]", "regions[1]: statement 1 is in regions[0] already"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct plan *plan = NULL;
        arena_init(&arena, ARENA_BYTES);
        if (!parse_plan(&arena, edit(&arena, PLAN_TEXT, cases[i][0], cases[i][1]), &plan, &err))
            fail_msg("%s", err.text);
        bool ok = plan_check(plan, &op, &err);
        if (ok != !cases[i][2])
            fail_msg("%s: %s", cases[i][1], ok ? "accepted" : err.text);
        if (!ok)
            assert_string_equal(err.text, cases[i][2]);
        arena_release(&arena);
    }
}

static void test_task(void **state)
{
    static const char *const cases[][3] = {
        {"", "", NULL},
        {"\"M\":4096,\"N\":128", "", NULL},
        {"\"M\":4096,\"N\":128", "\"N\":128,\"M\":4096", NULL},
        {"\"task\":1", "\"task\":0", "t.json: task: 0 is out of range; it must be from 1 to 1"},
        {"\"M\":4096", "\"M\":-1", "t.json: dims.M: expected an integer from 0 to 2^40"},
        {"\"M\":4096", "\"M\":4.5", "t.json: dims.M: expected an integer from 0 to 2^40"},
        {"\"M\":", "\"a-b\":", "t.json: dims: the dim \"a-b\" is no identifier"},
        {"\"machine\":\"h200\",", "", "t.json: \"machine\" is missing; it must be a string"},
        {"\"machine\":\"h200\"", "\"machine\":\"\"",
         "t.json: machine: a name has from 1 to 64 bytes"},
        {"\"track\"", "\"tracks\"", "t.json: tracks: unknown key; did you mean \"track\"?"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct task *task = NULL, *again;
        arena_init(&arena, ARENA_BYTES);
        struct str text = edit(&arena, TASK_TEXT, cases[i][0], cases[i][1]);
        bool ok = parse_task(&arena, text, &task, &err);
        if (ok != !cases[i][2])
            fail_msg("%s: %s", cases[i][1], ok ? "accepted" : err.text);
        if (!ok) {
            assert_string_equal(err.text, cases[i][2]);
            assert_null(task);
        } else {
            struct str printed = print_task(&arena, task);
            assert_true(parse_task(&arena, printed, &again, &err));
            assert_string_equal(printed.at, print_task(&arena, again).at);
            struct hash hash = task_hash(task), direct = hash_bytes(printed.at, printed.len);
            assert_memory_equal(&hash, &direct, sizeof(hash));
            if (i != 1)
                assert_string_equal(printed.at, TASK_TEXT);
        }
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_round_trip),
        cmocka_unit_test(test_plan_defaults),
        cmocka_unit_test(test_plan_broken),
        cmocka_unit_test(test_plan_check),
        cmocka_unit_test(test_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
