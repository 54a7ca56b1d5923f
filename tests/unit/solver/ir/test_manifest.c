/* Manifests: canonical text, and the exact complaint about each kind of broken one. */
#include <stdio.h>
#include <string.h>

#include "solver/ir/manifest.h"
#include "solver/ir/op.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 64 << 20, TEXT_BYTES = 64 << 10 };

/* A manifest in parts, so that a case changes one of them. */
struct part {
    const char *name, *text;
};
static const struct part kernel_parts[] = {
    {"entry", "\"entry\": \"row_sum\""},
    {"grid", "\"grid\": [\"M\", 1, 1]"},
    {"block", "\"block\": [256, 1, 1]"},
    {"smem", "\"smem\": \"N * 4\""},
    {"cluster", "\"cluster\": [1, 1, 1]"},
    {"args", "\"args\": [{\"tensor\": \"x\"}, {\"tensor\": \"y\"},"
             " {\"dim\": \"N\", \"dtype\": \"i32\"}, {\"workspace\": \"part\"},"
             " {\"scalar\": 1, \"dtype\": \"f32\"},"
             " {\"tensor_map\": \"x\", \"box\": [64, 32], \"swizzle\": 128}]"},
    {"kernel extra", NULL},
};
static const struct part top_parts[] = {
    {"manifest", "\"manifest\": 1"},
    {"arch", "\"arch\": \"sm_90a\""},
    {"guard", "\"guard\": \"N%4==0 && N<=8192\""},
    {"kernels", "\"kernels\": [{@}]"},
    {"workspace", "\"workspace\": [{\"name\": \"part\", \"bytes\": \"M*8\", \"init\": \"zero\"}]"},
    {"strategy", "\"strategy\": \"online/one-pass\""},
    {"extra", NULL},
};

static void put_parts(struct buf *out, const struct part *parts, size_t count, const char *name,
                      const char *text)
{
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        const char *part = strcmp(parts[i].name, name) == 0 ? text : parts[i].text;
        if (!part)
            continue;
        const char *hole = strchr(part, '@');
        buf_text(out, first ? "" : ", ");
        first = false;
        if (!hole) {
            buf_text(out, part);
            continue;
        }
        buf_bytes(out, part, (size_t)(hole - part));
        put_parts(out, kernel_parts, COUNT_OF(kernel_parts), name, text);
        buf_text(out, hole + 1);
    }
}

/* The whole document with part `name` replaced by `text` (NULL: left out). */
static struct str document(struct arena *arena, const char *name, const char *text)
{
    struct buf out;
    buf_init(&out, arena, TEXT_BYTES);
    buf_char(&out, '{');
    put_parts(&out, top_parts, COUNT_OF(top_parts), name, text);
    buf_char(&out, '}');
    return buf_view(&out);
}

static bool parse_text(struct arena *arena, struct str text, const struct manifest **out,
                       struct err *err)
{
    const struct json *json;
    return json_parse(arena, text, "m.json", &json, err) && manifest_parse(arena, json, out, err);
}

static struct str print_text(struct arena *arena, const struct manifest *manifest)
{
    struct buf out;
    struct json_writer w;
    buf_init(&out, arena, TEXT_BYTES);
    json_writer_init(&w, &out);
    manifest_print(&w, manifest);
    return buf_view(&out);
}

static void test_canonical(void **state)
{
    static const char expected[] =
        "{\"arch\":\"sm_90a\",\"deterministic\":false,\"guard\":\"N % 4 == 0 && N <= 8192\","
        "\"kernels\":[{\"args\":[{\"tensor\":\"x\"},{\"tensor\":\"y\"},"
        "{\"dim\":\"N\",\"dtype\":\"i32\"},{\"workspace\":\"part\"},"
        "{\"dtype\":\"f32\",\"scalar\":1.0},"
        "{\"box\":[64,32],\"swizzle\":128,\"tensor_map\":\"x\"}],"
        "\"block\":[256,1,1],\"cluster\":[1,1,1],\"cooperative\":false,\"entry\":\"row_sum\","
        "\"grid\":[\"M\",1,1],\"programmatic\":false,\"smem\":\"N * 4\"}],\"manifest\":1,"
        "\"prepare\":[],\"strategy\":\"online/one-pass\","
        "\"workspace\":[{\"bytes\":\"M * 8\",\"init\":\"zero\",\"name\":\"part\"}]}";
    struct arena arena;
    struct err err = {0};
    const struct manifest *manifest;
    (void)state;
    arena_init(&arena, ARENA_BYTES);
    if (!parse_text(&arena, document(&arena, "", NULL), &manifest, &err))
        fail_msg("%s", err.text);
    assert_string_equal(print_text(&arena, manifest).at, expected);
    arena_release(&arena);
}

static void test_round_trip(void **state)
{
    static const struct part cases[] = {
        {"smem", NULL},
        {"smem", "\"smem\": 49152"},
        {"cluster", NULL},
        {"cluster", "\"cluster\": [2, 1, 1]"},
        {"strategy", NULL},
        {"kernel extra", "\"cooperative\": true, \"programmatic\": true"},
        {"extra", "\"op\": \"row_sum\", \"deterministic\": true"},
        {"extra", "\"prepare\": [{\"entry\": \"pack\", \"grid\": [1,1,1], \"block\": [32,1,1],"
                  " \"args\": [{\"workspace\": \"part\"}]}]"},
        {"args", "\"args\": []"},
        {"args", "\"args\": [{\"scalar\": \"-inf\", \"dtype\": \"f32\"},"
                 " {\"scalar\": \"nan\", \"dtype\": \"bf16\"}, {\"scalar\": -128, \"dtype\": "
                 "\"i8\"}, {\"scalar\": 255, \"dtype\": \"u8\"}, {\"scalar\": 1, \"dtype\": "
                 "\"bool\"}, {\"scalar\": -9007199254740992, \"dtype\": \"i64\"},"
                 " {\"scalar\": 1e-300, \"dtype\": \"f64\"}, {\"scalar\": 65504, \"dtype\": "
                 "\"f16\"}, {\"dim\": \"ceildiv(N,2)\", \"dtype\": \"i64\"}]"},
        {"workspace", "\"workspace\": [{\"name\": \"part\", \"bytes\": 8}, {\"name\": "
                      "\"value:y.0-a\", \"bytes\": \"N\", \"init\": \"none\"}]"},
        {"arch", "\"arch\": \"sm_100f\""},
        {"arch", "\"arch\": \"sm_80\""},
        {"guard", "\"guard\": 1"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct manifest *first, *second;
        arena_init(&arena, ARENA_BYTES);
        if (!parse_text(&arena, document(&arena, cases[i].name, cases[i].text), &first, &err))
            fail_msg("%s: %s", cases[i].text, err.text);
        struct str text = print_text(&arena, first);
        if (!parse_text(&arena, text, &second, &err))
            fail_msg("%s: %s", text.at, err.text);
        assert_string_equal(text.at, print_text(&arena, second).at);
        struct hash a = manifest_hash(first), b = manifest_hash(second);
        assert_memory_equal(&a, &b, sizeof(a));
        struct hash direct = hash_bytes(text.at, text.len);
        assert_memory_equal(&a, &direct, sizeof(a));
        arena_release(&arena);
    }
}

static const struct {
    const char *part, *text, *error;
} broken_cases[] = {
    {"manifest", NULL, "m.json: \"manifest\" is missing; it must be an integer"},
    {"manifest", "\"manifest\": 2", "m.json: manifest: 2 is out of range; it must be from 1 to 1"},
    {"arch", NULL, "m.json: \"arch\" is missing; it must be a string"},
    {"arch", "\"arch\": \"compute_90\"",
     "m.json: arch: \"compute_90\" is no architecture; write sm_90a, sm_90, sm_80 ..."},
    {"arch", "\"arch\": \"sm_9\"",
     "m.json: arch: \"sm_9\" is no architecture; write sm_90a, sm_90, sm_80 ..."},
    {"arch", "\"arch\": \"sm_90b\"",
     "m.json: arch: \"sm_90b\" is no architecture; write sm_90a, sm_90, sm_80 ..."},
    {"guard", NULL, "m.json: \"guard\" is missing; it must be an integer or a formula"},
    {"guard", "\"guard\": true",
     "m.json: guard: expected an integer or a formula such as \"ceildiv(N, 128)\""},
    {"guard", "\"guard\": \"N = 4\"",
     "m.json: guard: column 3: expected an operator or the end, found \"=\"; it is written "
     "twice: ==, &&, ||\n    N = 4\n      ^"},
    {"extra", "\"guards\": \"1\"", "m.json: guards: unknown key; did you mean \"guard\"?"},
    {"extra", "\"priority\": 3", "m.json: priority: unknown key"},
    {"kernels", NULL, "m.json: \"kernels\" is missing; it must be an array"},
    {"kernels", "\"kernels\": []", "m.json: kernels: 0 items; it must have from 1 to 256"},
    {"kernels", "\"kernels\": {}", "m.json: kernels: expected an array, found an object"},
    {"kernels", "\"kernels\": [7]", "m.json: kernels[0]: expected an object, found an integer"},
    {"entry", NULL, "m.json: kernels[0]: \"entry\" is missing; it must be a string"},
    {"entry", "\"entry\": \"row-sum\"", "m.json: kernels[0]: entry \"row-sum\" is no C identifier"},
    {"entry", "\"entry\": \"\"", "m.json: kernels[0]: entry \"\" is no C identifier"},
    {"grid", NULL, "m.json: kernels[0]: \"grid\" is missing; it must be an array"},
    {"grid", "\"grid\": [1, 1]", "m.json: kernels[0].grid: 2 items; it must have from 3 to 3"},
    {"grid", "\"grid\": [\"M\", \"N )\", 1]",
     "m.json: kernels[0].grid[1]: column 3: expected an operator or the end, found \")\"\n"
     "    N )\n      ^"},
    {"grid", "\"grid\": [\"M\", 1.5, 1]",
     "m.json: kernels[0].grid[1]: expected an integer or a formula such as "
     "\"ceildiv(N, 128)\""},
    {"grid", "\"grid\": [1, 65536, 1]",
     "m.json: kernels[0].grid[1]: 65536 is out of range; it must be from 1 to 65535"},
    {"block", "\"block\": [0, 1, 1]",
     "m.json: kernels[0].block[0]: 0 is out of range; it must be from 1 to 1024"},
    {"block", "\"block\": [64, 32, 1]",
     "m.json: kernels[0]: a block of 2048 threads; the limit is 1024"},
    {"smem", "\"smem\": -4", "m.json: kernels[0]: smem is -4 bytes; it cannot be negative"},
    {"cluster", "\"cluster\": [4, 4, 2]", "m.json: kernels[0]: a cluster has from 1 to 16 blocks"},
    {"cluster", "\"cluster\": [1, 2, 1]",
     "m.json: kernels[0]: grid[1] is 1, no multiple of cluster[1] = 2"},
    {"cluster", "\"cluster\": [1, 0, 1]",
     "m.json: kernels[0].cluster[1]: expected an integer from 1 to 16"},
    {"kernel extra", "\"cooprative\": true",
     "m.json: kernels[0].cooprative: unknown key; did you mean \"cooperative\"?"},
    {"kernel extra", "\"cooperative\": 1",
     "m.json: kernels[0].cooperative: expected true or false, found an integer"},
    {"args", NULL, "m.json: kernels[0]: \"args\" is missing; it must be an array"},
    {"args", "\"args\": [\"x\"]",
     "m.json: kernels[0].args[0]: expected an object such as {\"tensor\": \"x\"}"},
    {"args", "\"args\": [{}]",
     "m.json: kernels[0].args[0]: an argument has exactly one of \"tensor\", \"dim\", "
     "\"workspace\", \"scalar\", \"tensor_map\"; this one has none"},
    {"args", "\"args\": [{\"tensor\": \"x\", \"dim\": \"N\"}]",
     "m.json: kernels[0].args[0]: an argument has exactly one of \"tensor\", \"dim\", "
     "\"workspace\", \"scalar\", \"tensor_map\"; this one has several"},
    {"args", "\"args\": [{\"tensor\": \"x\", \"dtype\": \"f32\"}]",
     "m.json: kernels[0].args[0].dtype: unknown key"},
    {"args", "\"args\": [{\"dim\": \"N\"}]",
     "m.json: kernels[0].args[0]: \"dtype\" is missing; it must be a string"},
    {"args", "\"args\": [{\"dim\": \"N\", \"dtype\": \"int\"}]",
     "m.json: kernels[0].args[0].dtype: \"int\" is not known; it is one of \"f64\", \"f32\", "
     "\"f16\", \"bf16\", \"e4m3\", \"e5m2\", \"i64\", \"i32\", \"i16\", \"i8\", \"u8\", "
     "\"bool\""},
    {"args", "\"args\": [{\"dim\": \"N\", \"dtype\": \"f32\"}]",
     "m.json: kernels[0].args[0]: a dim is passed as i32 or i64, not as f32"},
    {"args", "\"args\": [{\"dim\": \"N / \", \"dtype\": \"i32\"}]",
     "m.json: kernels[0].args[0].dim: column 5: expected an integer, a name or \"(\", found "
     "the end; example: ceildiv(N, 128)\n    N / \n        ^"},
    {"args", "\"args\": [{\"workspace\": \"prt\"}]",
     "m.json: kernels[0].args[0]: there is no workspace \"prt\"; \"workspace\" declares part"},
    {"args", "\"args\": [{\"scalar\": \"one\", \"dtype\": \"f32\"}]",
     "m.json: kernels[0].args[0].scalar: expected a number, \"nan\", \"inf\" or \"-inf\", "
     "found a string"},
    {"args", "\"args\": [{\"scalar\": 0.5, \"dtype\": \"i32\"}]",
     "m.json: kernels[0].args[0]: 0.5 is no i32; write an integer, at most 2^53, or a float "
     "dtype"},
    {"args", "\"args\": [{\"scalar\": \"nan\", \"dtype\": \"i32\"}]",
     "m.json: kernels[0].args[0]: nan is no i32; write an integer, at most 2^53, or a float "
     "dtype"},
    {"args", "\"args\": [{\"scalar\": 128, \"dtype\": \"i8\"}]",
     "m.json: kernels[0].args[0]: 128 does not fit i8"},
    {"args", "\"args\": [{\"scalar\": -1, \"dtype\": \"u8\"}]",
     "m.json: kernels[0].args[0]: -1 does not fit u8"},
    {"args", "\"args\": [{\"scalar\": 2, \"dtype\": \"bool\"}]",
     "m.json: kernels[0].args[0]: 2 does not fit bool"},
    {"args", "\"args\": [{\"scalar\": 70000, \"dtype\": \"f16\"}]",
     "m.json: kernels[0].args[0]: 70000 does not fit f16"},
    {"args", "\"args\": [{\"tensor_map\": \"x\", \"box\": [1, 300]}]",
     "m.json: kernels[0].args[0]: box[1] is 300; a side is from 1 to 256"},
    {"args", "\"args\": [{\"tensor_map\": \"x\", \"box\": []}]",
     "m.json: kernels[0].args[0].box: 0 items; it must have from 1 to 5"},
    {"args", "\"args\": [{\"tensor_map\": \"x\", \"box\": [\"64\"]}]",
     "m.json: kernels[0].args[0].box[0]: expected an integer"},
    {"args", "\"args\": [{\"tensor_map\": \"x\", \"box\": [64], \"swizzle\": 48}]",
     "m.json: kernels[0].args[0]: swizzle is 48; it is 0, 32, 64 or 128"},
    {"workspace", "\"workspace\": [{\"name\": \"part\"}]",
     "m.json: workspace[0]: \"bytes\" is missing; it must be an integer or a formula"},
    {"workspace", "\"workspace\": [{\"name\": \"part\", \"bytes\": 0}]",
     "m.json: workspace[0]: 0 bytes; it must be at least 1"},
    {"workspace", "\"workspace\": [{\"name\": \"a b\", \"bytes\": 8}]",
     "m.json: workspace[0]: a name has 1 to 64 letters, digits, or any of _ : . -"},
    {"workspace",
     "\"workspace\": [{\"name\": \"part\", \"bytes\": 8}, {\"name\": \"part\", "
     "\"bytes\": 4}]",
     "m.json: workspace[1]: the name \"part\" is taken"},
    {"workspace", "\"workspace\": [{\"name\": \"part\", \"bytes\": 8, \"init\": \"poison\"}]",
     "m.json: workspace[0].init: \"poison\" is not known; it is one of \"none\", \"zero\""},
    {"strategy", "\"strategy\": 3", "m.json: strategy: expected a string, found an integer"},
    {"extra",
     "\"prepare\": [{\"entry\": \"pack\", \"grid\": [1,1,1], \"block\": [2000,1,1],"
     " \"args\": []}]",
     "m.json: prepare[0].block[0]: 2000 is out of range; it must be from 1 to 1024"},
};

static void test_broken(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(broken_cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct manifest *manifest = NULL;
        arena_init(&arena, ARENA_BYTES);
        struct str text = document(&arena, broken_cases[i].part, broken_cases[i].text);
        if (parse_text(&arena, text, &manifest, &err))
            fail_msg("accepted: %s", broken_cases[i].text);
        assert_string_equal(err.text, broken_cases[i].error);
        assert_null(manifest);
        arena_release(&arena);
    }
}

/* ---- with an op, made by hand ---- */

static const struct dim dims[] = {
    {.name = {"M", 1}, .kind = DIM_VAR, .min = 1, .max = 4096},
    {.name = {"N", 1}, .kind = DIM_VAR, .min = 1, .max = 4096},
};
static const struct tensor tensors[] = {
    {.name = {"x", 1}, .role = ROLE_INPUT, .dtype = DTYPE_F16, .rank = 2},
    {.name = {"w", 1}, .role = ROLE_WEIGHT, .dtype = DTYPE_F16, .rank = 2},
    {.name = {"y", 1}, .role = ROLE_OUTPUT, .dtype = DTYPE_F32, .rank = 1},
    {.name = {"t", 1}, .temporary = true, .dtype = DTYPE_F32, .rank = 1},
};
static const struct op op = {
    .name = {"row_sum", 7},
    .dims = dims,
    .dim_count = COUNT_OF(dims),
    .tensors = tensors,
    .tensor_count = COUNT_OF(tensors),
    .declared_count = 3,
};

static void test_check(void **state)
{
    static const struct {
        const char *part, *text, *error; /* error NULL: accepted */
    } cases[] = {
        {"", "", NULL},
        {"extra", "\"op\": \"row_sum\"", NULL},
        {"extra", "\"op\": \"softmax\"",
         "op: the manifest is for \"softmax\", the spec is \"row_sum\""},
        {"guard", "\"guard\": \"K > 1\"", "guard: there is no dim \"K\"; the spec has M, N"},
        {"grid", "\"grid\": [1, \"m\", 1]",
         "kernels[0].grid[1]: there is no dim \"m\"; the spec has M, N"},
        {"block", "\"block\": [1, 1, \"B\"]",
         "kernels[0].block[2]: there is no dim \"B\"; the spec has M, N"},
        {"smem", "\"smem\": \"4 * K\"",
         "kernels[0].smem: there is no dim \"K\"; the spec has M, N"},
        {"workspace", "\"workspace\": [{\"name\": \"part\", \"bytes\": \"K\"}]",
         "workspace[0].bytes: there is no dim \"K\"; the spec has M, N"},
        {"args", "\"args\": [{\"tensor\": \"y\"}, {\"dim\": \"N + K\", \"dtype\": \"i32\"}]",
         "kernels[0].args[1]: there is no dim \"K\"; the spec has M, N"},
        {"args", "\"args\": [{\"tensor\": \"z\"}]",
         "kernels[0].args[0]: there is no tensor \"z\"; the spec declares x, w, y"},
        {"args", "\"args\": [{\"tensor\": \"t\"}]",
         "kernels[0].args[0]: there is no tensor \"t\"; the spec declares x, w, y"},
        {"args", "\"args\": [{\"tensor\": \"x\"}]",
         "kernels: no kernel gets the output \"y\"; add {\"tensor\": \"y\"} to args"},
        {"args", "\"args\": [{\"tensor_map\": \"y\", \"box\": [64]}]", NULL},
        {"args", "\"args\": [{\"tensor_map\": \"x\", \"box\": [64]}]",
         "kernels[0].args[0]: the box has 1 sides, but \"x\" has 2 indices"},
        {"args", "\"args\": [{\"tensor_map\": \"x\", \"box\": [64, 4]}]",
         "kernels[0].args[0]: the box's last side is 8 bytes, no multiple of 16"},
        {"args", "\"args\": [{\"tensor_map\": \"x\", \"box\": [64, 128], \"swizzle\": 128}]",
         "kernels[0].args[0]: the box's last side is 256 bytes, over the swizzle of 128"},
        {"extra",
         "\"prepare\": [{\"entry\": \"p\", \"grid\": [1,1,1], \"block\": [1,1,1],"
         " \"args\": [{\"tensor\": \"w\"}]}]",
         NULL},
        {"extra",
         "\"prepare\": [{\"entry\": \"p\", \"grid\": [1,1,1], \"block\": [1,1,1],"
         " \"args\": [{\"tensor\": \"x\"}]}]",
         "prepare[0].args[0]: the role of \"x\" is input; prepare may read weights only"},
        {"extra",
         "\"prepare\": [{\"entry\": \"p\", \"grid\": [1,1,1], \"block\": [1,1,1],"
         " \"args\": [{\"workspace\": \"part\"}]}]",
         "prepare[0].args[0]: \"part\" is prepared ahead of the launch; its init must be "
         "\"none\""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct manifest *manifest = NULL;
        arena_init(&arena, ARENA_BYTES);
        struct str text = document(&arena, cases[i].part, cases[i].text);
        if (!parse_text(&arena, text, &manifest, &err))
            fail_msg("%s: %s", cases[i].text, err.text);
        bool ok = manifest_check(manifest, &op, &err);
        if (ok != !cases[i].error)
            fail_msg("%s: %s", cases[i].text, ok ? "accepted" : err.text);
        if (!ok)
            assert_string_equal(err.text, cases[i].error);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
