/* Documents of primitives: canonical text, complaints, what fits, what observed numbers show. */
#include <string.h>

#include "base/file.h"

#include "solver/legal/primitives.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 64 << 20, TEXT_BYTES = 1 << 20 };

static const char folder[] = "kernels/primitives";

static bool parse(struct arena *arena, struct str text, const struct primitive_entry **out,
                  struct err *err)
{
    const struct json *json;
    return json_parse(arena, text, "p.json", &json, err) &&
           primitive_entry_parse(arena, json, out, err);
}

static struct str print(struct arena *arena, const struct primitive_entry *entry)
{
    struct buf out;
    struct json_writer w;
    buf_init(&out, arena, TEXT_BYTES);
    json_writer_init(&w, &out);
    primitive_entry_print(&w, entry);
    return buf_view(&out);
}

static struct str read_file(struct arena *arena, const char *name)
{
    struct str text;
    struct err err = {0};
    assert_ok(file_read(arena, path_join(arena, folder, name), PRIMITIVE_BYTES_MAX, &text, &err));
    return text;
}

static const struct primitive_entry *load(struct arena *arena, const char *name)
{
    const struct primitive_entry *entry;
    struct err err = {0};
    assert_ok(parse(arena, read_file(arena, name), &entry, &err));
    return entry;
}

static void test_round_trip(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    const char *const *names;
    size_t count;
    arena_init(&arena, ARENA_BYTES);
    assert_ok(file_list(&arena, folder, ".json", 100, &names, &count, &err));
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        const struct primitive_entry *again;
        const struct json *json;
        struct buf direct;
        struct str text = read_file(&arena, names[i]);
        struct str once = print(&arena, load(&arena, names[i]));
        assert_ok(json_parse(&arena, text, names[i], &json, &err));
        buf_init(&direct, &arena, TEXT_BYTES);
        json_write(&direct, json);
        assert_ok(parse(&arena, once, &again, &err));
        assert_true(str_equal(once, print(&arena, again)));
        /* nothing of the file is lost: its number of bytes, whatever the order of its words */
        assert_int_equal(once.len, direct.len);
    }
    arena_release(&arena);
}

static struct str edit(struct arena *arena, struct str text, const char *from, const char *to)
{
    struct buf out;
    const char *at = strstr(text.at, from);
    assert_non_null(at);
    buf_init(&out, arena, TEXT_BYTES);
    buf_bytes(&out, text.at, (size_t)(at - text.at));
    buf_text(&out, to);
    buf_text(&out, at + strlen(from));
    return buf_view(&out);
}

static void test_broken(void **state UNUSED)
{
    static const char *const cases[][3] = {
        {"\"primitive\": 1", "\"primitive\": 2",
         "p.json: primitive: 2 is out of range; it must be from 1 to 1"},
        {"\"warp-cooperative-summary\"", "\"warp-summary\"",
         "p.json: name: \"warp-summary\" is not known"},
        {"\"form\": \"lanes\"", "\"form\": \"lane\"", "p.json: gives[0].form: "},
        {"\"of\": \"contraction\"", "\"of\": \"reduction\"",
         "p.json: gives[1]: the form of a reduction is said twice"},
        {"\"terms >= 2 &&", "\"term >= 2 &&",
         "p.json: needs.condition: the name term means nothing here"},
        {"\"terms >= 2 &&", "\"terms >= &&", "p.json: needs.condition: "},
        {"\"form\": \"block\"", "\"form\": \"thread\"",
         "p.json: refuses[0]: thread is taken or refused already"},
        {"\"row\",\n", "\"reduced\",\n", "p.json: takes[0].readings[1]: reduced is there twice"},
        {"\"least\": 32", "\"least\": 2048",
         "p.json: parameters[0]: least is 2048, more than most, 1024"},
        {"\"least\": 5", "\"least\": 0",
         "p.json: observed[0].least: 0 is out of range; it must be over 0 and under 1e18"},
        {"\"registers\": \"2\"", "\"registers\": \"2 * lanes\"",
         "p.json: resources.registers: the name lanes means nothing here"},
        {"\"fragment\": \"warp_sum\"", "\"fragment\": \"warp sum\"",
         "p.json: fragment: expected the name of a function: a-z, 0-9 and _"},
        {"\"title\": \"", "\"headline\": \"", "p.json: headline: unknown key"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct primitive_entry *entry = NULL;
        arena_init(&arena, ARENA_BYTES);
        struct str text = read_file(&arena, "warp-cooperative-summary.json");
        text = edit(&arena, text, cases[i][0], cases[i][1]);
        assert_false(parse(&arena, text, &entry, &err));
        if (strncmp(err.text, cases[i][2], strlen(cases[i][2])) != 0)
            fail_msg("%s, not %s", err.text, cases[i][2]);
        assert_null(entry);
        arena_release(&arena);
    }
}

static void test_fits(void **state UNUSED)
{
    struct arena arena;
    struct str why = {0};
    bool structures[STRUCTURE_COUNT] = {false};
    struct quantities q = {.m = 8, .n = 8, .k = 8, .terms = 8, .results = 64};
    arena_init(&arena, ARENA_BYTES);
    const struct primitive_entry *mma = load(&arena, "tensor-core-tile.json");
    assert_false(primitive_fits(&arena, mma, structures, &q, 90, &why));
    assert_non_null(strstr(why.at, "none of the structures"));
    structures[STRUCTURE_CONTRACTION] = true;
    assert_true(primitive_fits(&arena, mma, structures, &q, 80, &why));
    assert_false(primitive_fits(&arena, mma, structures, &q, 75, &why));
    assert_string_equal(why.at, "tensor-core-tile needs compute capability 80, the machine has 75");
    q.n = 7;
    assert_false(primitive_fits(&arena, mma, structures, &q, 90, &why));
    assert_string_equal(why.at, "tensor-core-tile needs m >= 8 && n >= 8 && k >= 8");
    arena_release(&arena);
}

static bool shown(const struct primitive_entry *entry, const char *name, double value,
                  const char *other, double other_value)
{
    const struct str names[] = {str_from(name), str_from(other)};
    const double values[] = {value, other_value};
    return primitive_shown(entry, &(struct observed_numbers){names, values, 2});
}

static void test_shown(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const struct primitive_entry *warp = load(&arena, "warp-cooperative-summary.json");
    const struct primitive_entry *tile = load(&arena, "register-tile.json");
    const struct primitive_entry *stream = load(&arena, "streaming-accumulation.json");
    assert_true(shown(warp, "ptx.k.shuffles", 5, "x", 1));
    assert_true(shown(warp, "ptx.a.b.shuffles", 3, "ptx.c.shuffles", 2));
    assert_false(shown(warp, "ptx.k.shuffles", 4, "ptx.k.barriers", 9));
    assert_false(shown(warp, "ptx.shuffles", 9, "shuffles", 9));
    assert_true(shown(tile, "emu.k.flops", 8, "emu.k.shared_bytes_read", 16));
    assert_false(shown(tile, "emu.k.flops", 2, "emu.k.shared_bytes_read", 8));
    assert_false(shown(tile, "emu.k.flops", 8, "emu.k.shared_bytes_read", 0));
    assert_false(shown(stream, "emu.k.flops", 8, "ptx.k.f64_ops", 8)); /* it has no predicate */
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
