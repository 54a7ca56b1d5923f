/* JSON reading: values, places in complaints, what is refused. */
#include <string.h>

#include "base/attr.h"
#include "base/json.h"

#include "tests/unit/unit.h"

enum { ARENA_BYTES = 64 << 20 };

static const struct json *parse(struct arena *arena, const char *text)
{
    const struct json *root;
    struct err err;
    assert_ok(json_parse(arena, str_from(text), "t.json", &root, &err));
    return root;
}

static void values_arrive(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    const struct json *root =
        parse(&arena, "{\"n\":null,\"b\":true,\"f\":false,\"i\":-9223372036854775808,\"r\":2.5e-3,"
                      "\"s\":\"a\\u00e9\\n\",\"a\":[1,[],{}]}");
    assert_int_equal(root->kind, JSON_OBJECT);
    assert_int_equal(root->count, 7);
    assert_int_equal(json_get(root, "n")->kind, JSON_NULL);
    assert_true(json_get(root, "b")->boolean);
    assert_false(json_get(root, "f")->boolean);
    assert_true(json_get(root, "i")->integer == INT64_MIN);
    assert_true(json_get(root, "i")->real == -0x1p63);
    assert_true(json_get(root, "r")->real == 2.5e-3);
    assert_string_equal(json_get(root, "s")->string.at, "a\xc3\xa9\n");
    const struct json *a = json_get(root, "a");
    assert_int_equal(a->count, 3);
    assert_ptr_equal(a->items[1].parent, a);
    assert_int_equal(a->items[2].index, 2);
    assert_int_equal(a->items[2].kind, JSON_OBJECT);
    assert_string_equal(root->keys[3].at, "i");
    assert_null(json_get(root, "absent"));
    assert_null(json_get(a, "absent"));
    arena_release(&arena);
}

static void refused_texts(void **state UNUSED)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "t.json: line 1, column 0"},           {"{\"a\":1,\"a\":2}", "duplicate object key"},
        {"[1] x", "end of file expected"},          {"{\"a\":\n  NaN}", "t.json: line 2"},
        {"[1e999]", "real number overflow"},        {"[9223372036854775808]", "too big integer"},
        {"\"\xff\"", "unable to decode byte 0xff"}, {"\"\\u0000\"", "\\u0000"},
        {"[1,]", "t.json: line 1, column 4"},       {"{'a':1}", "t.json: line 1"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err;
        const struct json *root = NULL;
        arena_init(&arena, ARENA_BYTES);
        assert_false(json_parse(&arena, str_from(cases[i].text), "t.json", &root, &err));
        assert_null(root);
        assert_int_equal(err.code, ERR_SYNTAX);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].text, err.text, cases[i].says);
        arena_release(&arena);
    }
}

static void nesting_has_a_limit(void **state UNUSED)
{
    for (int depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        struct arena arena;
        struct err err;
        const struct json *root;
        char text[2 * JSON_DEPTH_MAX + 8] = "";
        arena_init(&arena, ARENA_BYTES);
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        bool ok = json_parse(&arena, str_from(text), "t.json", &root, &err);
        assert_int_equal(ok, depth <= JSON_DEPTH_MAX);
        arena_release(&arena);
    }
}

enum getter { NEED_STR, NEED_INT, NEED_REAL, NEED_ARRAY, OPT_STR_, OPT_INT_, OPT_BOOL_, OPT_REAL_ };

static bool get(enum getter getter, const struct json *object, struct err *err)
{
    struct str s = STR_LIT("kept");
    int64_t i = 7;
    double r = 7;
    bool b = true;
    const struct json *j = NULL;
    switch (getter) {
    case NEED_STR:
        return json_need_str(object, "k", &s, err);
    case NEED_INT:
        return json_need_int(object, "k", 1, 10, &i, err);
    case NEED_REAL:
        return json_need(object, "k", JSON_REAL, &j, err);
    case NEED_ARRAY:
        return json_need(object, "k", JSON_ARRAY, &j, err);
    case OPT_STR_:
        return json_opt_str(object, "k", &s, err);
    case OPT_INT_:
        return json_opt_int(object, "k", 1, 10, &i, err);
    case OPT_BOOL_:
        return json_opt_bool(object, "k", &b, err);
    case OPT_REAL_:
        return json_opt_real(object, "k", &r, err);
    }
    return false;
}

static void complaints_say_where(void **state UNUSED)
{
    static const struct {
        const char *text;
        enum getter getter;
        const char *says; /* NULL = no complaint */
    } cases[] = {
        {"{\"a\":[{},{\"k\":1}]}", NEED_STR, "t.json: a[1].k: expected a string, found an integer"},
        {"{\"a\":[{},{\"k\":\"x\"}]}", NEED_STR, NULL},
        {"{\"a\":[{},{}]}", NEED_STR, "t.json: a[1]: \"k\" is missing; it must be a string"},
        {"{\"a\":[{},{\"k\":11}]}", NEED_INT,
         "t.json: a[1].k: 11 is out of range; it must be from 1 to 10"},
        {"{\"a\":[{},{\"k\":0}]}", OPT_INT_, "must be from 1 to 10"},
        {"{\"a\":[{},{\"k\":10}]}", NEED_INT, NULL},
        {"{\"a\":[{},{\"k\":1.5}]}", NEED_INT, "expected an integer, found a number"},
        {"{\"a\":[{},{\"k\":1}]}", NEED_REAL, NULL},
        {"{\"a\":[{},{\"k\":\"1\"}]}", OPT_REAL_, "expected a number, found a string"},
        {"{\"a\":[{},{\"k\":{}}]}", NEED_ARRAY, "expected an array, found an object"},
        {"{\"a\":[{},{\"k\":null}]}", OPT_BOOL_, "expected true or false, found null"},
        {"{\"a\":[{},{}]}", OPT_BOOL_, NULL},
        {"{\"a\":[{},{}]}", OPT_STR_, NULL},
        {"{\"a\":[{},[]]}", OPT_STR_, "t.json: a[1]: expected an object, found an array"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err;
        arena_init(&arena, ARENA_BYTES);
        const struct json *object = &json_get(parse(&arena, cases[i].text), "a")->items[1];
        bool ok = get(cases[i].getter, object, &err);
        if (ok != (cases[i].says == NULL))
            fail_msg("case %zu: %s", i, ok ? "accepted" : err.text);
        if (!ok && !strstr(err.text, cases[i].says))
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.text, cases[i].says);
        arena_release(&arena);
    }
}

static void optional_members_keep_their_value(void **state UNUSED)
{
    struct arena arena;
    struct err err;
    struct str s = STR_LIT("kept");
    int64_t i = 7;
    double r = 7.5;
    bool b = true;
    arena_init(&arena, ARENA_BYTES);
    const struct json *root = parse(&arena, "{}");
    assert_true(json_opt_str(root, "k", &s, &err) && json_opt_int(root, "k", 1, 2, &i, &err) &&
                json_opt_real(root, "k", &r, &err) && json_opt_bool(root, "k", &b, &err));
    assert_true(str_equal(s, STR_LIT("kept")) && i == 7 && r == 7.5 && b);
    root = parse(&arena, "{\"k\":2}");
    assert_true(json_opt_int(root, "k", 1, 2, &i, &err) && json_opt_real(root, "k", &r, &err));
    assert_true(i == 2 && r == 2);
    arena_release(&arena);
}

static void unknown_keys_name_the_nearest(void **state UNUSED)
{
    static const char *const known[] = {"dtype", "shape", NULL};
    struct arena arena;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    assert_true(json_only(parse(&arena, "{\"shape\":1,\"dtype\":2}"), known, &err));
    assert_false(json_only(parse(&arena, "{\"shpae\":1}"), known, &err));
    assert_string_equal(err.text, "t.json: shpae: unknown key; did you mean \"shape\"?");
    assert_false(json_only(parse(&arena, "{\"elephant\":1}"), known, &err));
    assert_string_equal(err.text, "t.json: elephant: unknown key");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_arrive),
        cmocka_unit_test(refused_texts),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(complaints_say_where),
        cmocka_unit_test(optional_members_keep_their_value),
        cmocka_unit_test(unknown_keys_name_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
