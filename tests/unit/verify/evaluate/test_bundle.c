/* Candidates and bundles: one document, a folder, and what either refuses. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#include "tests/unit/unit.h"
#include "verify/evaluate/evaluate.h"

enum { ARENA_BYTES = 64 << 20, TEXT_BYTES = 1 << 20 };

#define HASH_0 "0000000000000000000000000000000000000000000000000000000000000000"
#define MANIFEST                                                                                   \
    "{\"arch\":\"sm_90a\",\"deterministic\":false,\"guard\":1,\"kernels\":[{\"args\":["            \
    "{\"tensor\":\"x\"},{\"tensor\":\"y\"}],\"block\":[128,1,1],\"cluster\":[1,1,1],"              \
    "\"cooperative\":false,\"entry\":\"relu\",\"grid\":[\"ceildiv(N, 128)\",1,1],"                 \
    "\"programmatic\":false,\"smem\":0}],\"manifest\":1,\"prepare\":[],\"strategy\":\"\","         \
    "\"workspace\":[]}"
#define PLAN                                                                                       \
    "{\"deterministic\":false,\"edges\":[],\"guard\":1,\"machine\":\"h200\",\"op\":\"" HASH_0      \
    "\",\"plan\":1,\"regions\":[{\"depth\":1,\"layout\":\"row-major\",\"mma\":[0,0,0],"            \
    "\"precision\":\"f32\",\"primitives\":[],\"split\":1,\"stages\":[],\"stmts\":[0],"             \
    "\"threads\":[128,1,1],\"tiles\":[],\"vector\":1}],\"track\":\"f32\"}"
#define CANDIDATE                                                                                  \
    "{\"candidate\":1,\"form\":\"cuda\",\"manifest\":" MANIFEST ",\"source\":\"void relu();\\n\"}"
#define CUBIN                                                                                      \
    "{\"candidate\":1,\"form\":\"cubin\",\"manifest\":" MANIFEST ",\"source_base64\":\"f0VMRgD/"   \
    "\"}"
#define OPTIONS                                                                                    \
    "{\"arch\":\"sm_80\",\"budget_warp_insns\":1000,\"last_gate\":\"compare\",\"memory_bytes\":0," \
    "\"samples\":0,\"seeds\":2,\"smem_bytes_max\":0,\"wall_ms\":60000}"
#define BUNDLE                                                                                     \
    "{\"bundle\":1,\"candidate\":" CANDIDATE ",\"incumbent\":" CUBIN ",\"options\":" OPTIONS       \
    ",\"plan\":" PLAN ",\"secret\":\"0123456789abcdef\",\"specs\":[{\"name\":\"relu\","            \
    "\"text\":\"{}\\n\"},{\"name\":\"part_2\",\"text\":\"{ }\"}],\"task\":{\"dims\":{\"N\":4096}," \
    "\"machine\":\"h200\",\"op\":\"" HASH_0 "\",\"op_name\":\"relu\",\"task\":1,"                  \
    "\"track\":\"f32\"}}"

static bool parse(struct arena *arena, struct str text, const struct bundle **out, struct err *err)
{
    const struct json *json;
    return json_parse(arena, text, "b.json", &json, err) && bundle_parse(arena, json, out, err);
}

static struct str print(struct arena *arena, const struct bundle *bundle)
{
    struct buf out;
    struct json_writer w;
    buf_init(&out, arena, TEXT_BYTES);
    json_writer_init(&w, &out);
    bundle_print(&w, bundle);
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

static void test_round_trip(void **state)
{
    static const char *const edits[][2] = {
        {"", ""},
        {PLAN, "null"},
        {CUBIN, "null"},
        {"\"form\":\"cuda\"", "\"form\":\"ptx\""},
        {"\"last_gate\":\"compare\"", "\"last_gate\":\"recheck\""},
        {",{\"name\":\"part_2\",\"text\":\"{ }\"}", ""},
        {"0123456789abcdef", "ffffffffffffffff"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(edits); i++) {
        struct arena arena;
        struct err err = {0};
        const struct bundle *bundle;
        struct hash hash, direct;
        arena_init(&arena, ARENA_BYTES);
        struct str text = edit(&arena, BUNDLE, edits[i][0], edits[i][1]);
        if (!parse(&arena, text, &bundle, &err))
            fail_msg("%s: %s", edits[i][1], err.text);
        assert_string_equal(print(&arena, bundle).at, text.at);
        assert_true(bundle_hash(bundle, &hash, &err));
        direct = hash_bytes(text.at, text.len);
        assert_memory_equal(&hash, &direct, sizeof(hash));
        arena_release(&arena);
    }
}

static void test_values(void **state)
{
    struct arena arena;
    struct err err = {0};
    const struct bundle *bundle;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    assert_true(parse(&arena, STR_LIT(BUNDLE), &bundle, &err));
    assert_int_equal(bundle->spec_count, 2);
    assert_true(str_equal(bundle->specs[1].name, STR_LIT("part_2")));
    assert_int_equal(bundle->candidate.form, CANDIDATE_CUDA);
    assert_true(str_equal(bundle->candidate.text, STR_LIT("void relu();\n")));
    assert_int_equal(bundle->incumbent->form, CANDIDATE_CUBIN);
    assert_int_equal(bundle->incumbent->text.len, 6);
    assert_memory_equal(bundle->incumbent->text.at,
                        "\x7f"
                        "ELF\0\xff",
                        6);
    assert_true(bundle->secret == UINT64_C(0x0123456789abcdef));
    assert_int_equal(bundle->options.last_gate, GATE_COMPARE);
    assert_int_equal(bundle->options.wall_ms, 60000);
    arena_release(&arena);
}

static void test_broken(void **state)
{
    static const char *const cases[][3] = {
        {"\"bundle\":1", "\"bundle\":9",
         "b.json: bundle: 9 is out of range; it must be from 1 to 1"},
        {"\"bundle\":1", "\"bundle\":1,\"path\":\"/x\"", "b.json: path: unknown key"},
        {"\"candidate\":1", "\"candidate\":2",
         "b.json: candidate.candidate: 2 is out of range; it must be from 1 to 1"},
        {"\"form\":\"cuda\"", "\"form\":\"hip\"",
         "b.json: candidate.form: \"hip\" is not known; it is one of \"cuda\", \"ptx\", \"cubin\""},
        {"\"source\":\"void relu();\\n\"", "\"source\":\"\"",
         "b.json: candidate: the source has 0 bytes; it must have from 1 to 33554432"},
        {"\"source_base64\":\"f0VMRgD/\"", "\"source_base64\":\"f0VMRgD\"",
         "b.json: incumbent.source_base64: expected base64 with padding and without spaces"},
        {"\"block\":[128,1,1]", "\"block\":[0,1,1]",
         "b.json: candidate.manifest: kernels[0].block[0]: 0 is out of range; it must be from 1 to "
         "1024"},
        {",\"plan\":" PLAN, "", "b.json: \"plan\" is missing; it must be an object or null"},
        {"\"incumbent\":" CUBIN ",", "",
         "b.json: \"incumbent\" is missing; it must be an object or null"},
        {"\"part_2\"", "\"relu\"", "b.json: specs[1].name: \"relu\" is taken"},
        {"\"part_2\"", "\"../part\"",
         "b.json: specs[1].name: 1 to 64 letters, digits, _ or - are allowed"},
        {"\"part_2\"", "\"\"",
         "b.json: specs[1].name: 1 to 64 letters, digits, _ or - are allowed"},
        {"0123456789abcdef", "123", "b.json: secret: expected 16 lower-case hexadecimal digits"},
        {"\"seeds\":2", "\"seeds\":-2",
         "b.json: options.seeds: -2 is out of range; it must be from 0 to 1000"},
        {"\"seeds\":2", "\"seed\":2", "b.json: options.seed: unknown key; did you mean \"seeds\"?"},
        {"\"task\":1,", "", "b.json: task: \"task\" is missing; it must be an integer"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct bundle *bundle = NULL;
        arena_init(&arena, ARENA_BYTES);
        if (parse(&arena, edit(&arena, BUNDLE, cases[i][0], cases[i][1]), &bundle, &err))
            fail_msg("accepted: %s", cases[i][2]);
        assert_string_equal(err.text, cases[i][2]);
        assert_null(bundle);
        arena_release(&arena);
    }
}

static void test_candidate_hash(void **state)
{
    struct arena arena;
    struct err err = {0};
    const struct bundle *a, *b, *c;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    assert_true(parse(&arena, STR_LIT(BUNDLE), &a, &err));
    assert_true(parse(&arena, edit(&arena, BUNDLE, "void relu", "int  relu"), &b, &err));
    assert_true(parse(&arena, edit(&arena, BUNDLE, "[128,1,1]", "[256,1,1]"), &c, &err));
    struct hash ha = candidate_hash(&a->candidate), hb = candidate_hash(&b->candidate);
    struct hash hc = candidate_hash(&c->candidate), again = candidate_hash(&a->candidate);
    assert_true(hash_equal(&ha, &again));
    assert_false(hash_equal(&ha, &hb));
    assert_false(hash_equal(&ha, &hc));
    arena_release(&arena);
}

/* ---- on disk ---- */

/* Another folder for each case of each test. */
static const char *case_folder(struct arena *arena, const char *test, size_t i)
{
    char name[64];
    snprintf(name, sizeof(name), "bundle-%s-%zu", test, i);
    return unit_folder(arena, name);
}

static void test_disk_round_trip(void **state)
{
    static const char *const edits[][2] = {{"", ""}, {PLAN, "null"}, {CUBIN, "null"}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(edits); i++) {
        struct arena arena;
        struct err err = {0};
        const struct bundle *bundle, *from_file, *from_folder;
        arena_init(&arena, ARENA_BYTES);
        const char *root = case_folder(&arena, "disk", i);
        const char *file = path_join(&arena, root, "b.json");
        const char *folder = path_join(&arena, root, "b");
        struct str text = edit(&arena, BUNDLE, edits[i][0], edits[i][1]);
        assert_true(parse(&arena, text, &bundle, &err));
        if (!bundle_write_file(file, bundle, &err) ||
            !bundle_read(&arena, file, &from_file, &err) ||
            !bundle_write_folder(folder, bundle, &err) ||
            !bundle_read(&arena, folder, &from_folder, &err))
            fail_msg("%s", err.text);
        assert_string_equal(print(&arena, from_file).at, text.at);
        assert_string_equal(print(&arena, from_folder).at, text.at);
        assert_false(bundle_write_folder(folder, bundle, &err));
        assert_non_null(strstr(err.text, "is there already"));
        arena_release(&arena);
    }
}

static void test_broken_folders(void **state)
{
    static const struct {
        const char *file, *text, *error; /* text NULL: the file is removed */
    } cases[] = {
        {"bundle.json", NULL, "bundle.json"},
        {"task.json", NULL, "task.json"},
        {"specs/part_2.json", NULL, "part_2.json"},
        {"candidate/kernel.cu", NULL, "there is no kernel.cu, kernel.ptx or kernel.cubin"},
        {"candidate/kernel.cu", "", "kernel.cu: the file is empty"},
        {"candidate/kernel.ptx", "x", "kernel.cu and kernel.ptx are both there; remove one"},
        {"candidate/manifest.json", "{}", "manifest.json: \"manifest\" is missing"},
        {"plan.json", "[]", "plan.json: expected an object, found an array"},
        {"bundle.json",
         "{\"bundle\":1,\"specs\":[\"../../etc\"],\"options\":{\"last_gate\":\"time\"},"
         "\"secret\":\"0123456789abcdef\"}",
         "specs[0].name: 1 to 64 letters, digits, _ or - are allowed"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct bundle *bundle, *again = NULL;
        arena_init(&arena, ARENA_BYTES);
        const char *root = case_folder(&arena, "broken", i);
        const char *folder = path_join(&arena, root, "b");
        const char *file = path_join(&arena, folder, cases[i].file);
        assert_true(parse(&arena, STR_LIT(BUNDLE), &bundle, &err));
        assert_true(bundle_write_folder(folder, bundle, &err));
        if (cases[i].text)
            assert_true(file_write(file, str_from(cases[i].text), &err));
        else
            assert_int_equal(unlink(file), 0);
        assert_false(bundle_read(&arena, folder, &again, &err));
        if (!strstr(err.text, cases[i].error))
            fail_msg("%s: %s", cases[i].file, err.text);
        arena_release(&arena);
    }
}

/* ---- the op ---- */

#define RELU                                                                                       \
    "{\"spec\":1,\"name\":\"relu\",\"doc\":\"clamp at zero\",\"dims\":{\"N\":[1,65536]},"          \
    "\"tensors\":[{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"N\"],"         \
    "\"fill\":\"normal\"},{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\","                  \
    "\"shape\":[\"N\"]}],\"body\":[\"y[n] = max(x[n], 0)\"],\"policy\":{\"finite_inputs\":true},"  \
    "\"tracks\":{\"f32\":{}},\"shapes\":{\"target\":[{\"N\":4096}],\"verify\":[{\"N\":7}]}}"

static void test_op(void **state)
{
    struct arena arena;
    struct err err = {0};
    const struct bundle *bundle;
    const struct op *op, *alone;
    const struct shape *target;
    char hex[HASH_HEX_BYTES];
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    if (!op_parse(&arena, STR_LIT(RELU), "relu.json", NULL, &alone, &err))
        fail_msg("%s", err.text);
    hash_hex(&alone->hash, hex);
    assert_true(parse(&arena, STR_LIT(BUNDLE), &bundle, &err));
    struct bundle filled = *bundle;
    struct task task = *bundle->task;
    struct bundle_spec spec = {STR_LIT("relu"), STR_LIT(RELU)};
    filled.specs = &spec;
    filled.spec_count = 1;
    filled.plan = NULL;
    filled.task = &task;
    assert_false(bundle_op(&arena, &filled, &op, &target, &err));
    assert_string_equal(err.text, "the task is for another version of the spec \"relu\"");
    task.op = alone->hash;
    if (!bundle_op(&arena, &filled, &op, &target, &err))
        fail_msg("%s", err.text);
    assert_true(hash_equal(&op->hash, &alone->hash));
    assert_int_equal(target->values[0], 4096);
    task.track = STR_LIT("bf16");
    assert_false(bundle_op(&arena, &filled, &op, &target, &err));
    assert_string_equal(err.text, "the spec has no track \"bf16\"");
    task.track = STR_LIT("f32");
    filled.plan = bundle->plan;
    assert_false(bundle_op(&arena, &filled, &op, &target, &err));
    assert_string_equal(err.text, "the plan: op: the plan is for another spec than \"relu\"");
    filled.plan = NULL;
    int64_t too_large = 65537;
    task.dim_values = &too_large;
    assert_false(bundle_op(&arena, &filled, &op, &target, &err));
    assert_non_null(strstr(err.text, "the task's shape: "));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_candidate_hash),
        cmocka_unit_test(test_disk_round_trip),
        cmocka_unit_test(test_broken_folders),
        cmocka_unit_test(test_op),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
