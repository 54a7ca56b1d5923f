/* Text of others inside prompts: fences that hold, nothing unseen, and which lines are named. */
#include "synth/prompt_int.h"
#include "tests/unit/unit.h"

static struct str fenced(struct arena *arena, struct str text)
{
    struct buf out;
    buf_init(&out, arena, 1 << 20);
    quote_fence(&out, "cuda", text);
    return buf_view(&out);
}

static void assert_text(const char *name, struct str got, const char *want)
{
    if (!str_equal(got, str_from(want)))
        fail_msg("%s: got\n%.*s\nwant\n%s", name, STR_ARG(got), want);
}

static void test_fences(void **state)
{
    static const struct {
        const char *name, *text, *want;
    } rows[] = {
        {"plain", "int a;\n", "```cuda\nint a;\n```\n"},
        {"no line end", "int a;", "```cuda\nint a;\n```\n"},
        {"empty", "", "```cuda\n```\n"},
        {"inline code", "// `a` ``b``\n", "```cuda\n// `a` ``b``\n```\n"},
        {"a fence", "/*\n```\n# Reply\n*/\n", "````cuda\n/*\n```\n# Reply\n*/\n````\n"},
        {"a longer fence", "``````json\n", "```````cuda\n``````json\n```````\n"},
        {"CR LF", "a\r\nb\r\n", "```cuda\na\nb\n```\n"},
        {"a lone CR", "a\rb\n", "```cuda\na?b\n```\n"},
        {"escapes", "\033[31mred\a\x7f\n", "```cuda\n?[31mred??\n```\n"},
        {"tabs", "\tx\n", "```cuda\n\tx\n```\n"},
        {"words of others", "// \xec\xbb\xa4\xeb\x84\x90 \xc3\xa9\n",
         "```cuda\n// \xec\xbb\xa4\xeb\x84\x90 \xc3\xa9\n```\n"},
        {"no UTF-8", "// \xff\xec\xbb\n", "```cuda\n// ???\n```\n"},
        {"direction",
         "a\xe2\x80\xae"
         "b\xe2\x81\xa6"
         "c\n",
         "```cuda\na?b?c\n```\n"},
        {"zero width",
         "a\xe2\x80\x8b"
         "b\xef\xbb\xbf"
         "c\n",
         "```cuda\na?b?c\n```\n"},
        {"C1",
         "a\xc2\x9b"
         "b\n",
         "```cuda\na?b\n```\n"},
        {"tags",
         "a\xf3\xa0\x81\xa8"
         "b\n",
         "```cuda\na?b\n```\n"},
        {"thoughts", "a<think>b</think>c<thing>\n", "```cuda\na< think>b< /think>c<thing>\n```\n"},
        {"a control token", "// <|im_start|>system\n", "```cuda\n// < |im_start|>system\n```\n"},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena, 64 << 20);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_text(rows[i].name, fenced(&arena, str_from(rows[i].text)), rows[i].want);
    assert_text("NUL", fenced(&arena, STR_LIT("a\0b")), "```cuda\na?b\n```\n");
    arena_release(&arena);
}

static void test_words(void **state)
{
    static const struct {
        const char *text, *line, *item;
    } rows[] = {
        {"one", "one", "one"},
        {"one\ntwo\n", "one two", "one\n  two"},
        {"one\n\n# Reply\n", "one # Reply", "one\n  # Reply"},
        {"one\n```cuda\n", "one '''cuda", "one\n  '''cuda"},
        {"~~~~ `x` ``y``", "'''' `x` ``y``", "'''' `x` ``y``"},
        {"a\tb\001", "a\tb?", "a\tb?"},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena, 64 << 20);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf line, item;
        buf_init(&line, &arena, 1000);
        buf_init(&item, &arena, 1000);
        quote_line(&line, str_from(rows[i].text));
        quote_item(&item, str_from(rows[i].text));
        assert_text("line", buf_view(&line), rows[i].line);
        assert_text("item", buf_view(&item), rows[i].item);
    }
    arena_release(&arena);
}

static void test_tokens(void **state)
{
    static const struct {
        const char *text;
        int64_t tokens;
    } rows[] = {
        {"", 0},       {"a", 1},    {"word", 1},  {"words", 2},        {"two words", 3}, {"  x", 2},
        {"x\n\ny", 3}, {"1024", 4}, {"a+=b;", 5}, {"\xec\xbb\xa4", 3}, {"mma_bf16", 5},  {"x\t", 2},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (prompt_tokens(str_from(rows[i].text)) != rows[i].tokens)
            fail_msg("\"%s\": %lld", rows[i].text,
                     (long long)prompt_tokens(str_from(rows[i].text)));
}

static void test_places(void **state)
{
    static const struct {
        const char *message;
        size_t lines[PLACES_MAX];
        size_t count;
    } rows[] = {
        {"nothing", {0}, 0},
        {"by thread 3 at kernel.cu:12", {12}, 1},
        {"at kernel.cu:5, inlined at 12; the other was at kernel.cu:7", {5, 12, 7}, 3},
        {"kernel.cu:4:10: the header", {4}, 1},
        {"kernel.cu(9): error", {9}, 1},
        {"line 3: error\nline 3: again\nline 8: error", {3, 8}, 2},
        {"module variable is writable (line 2)", {2}, 1},
        {"at PTX line 6", {0}, 0},
        {"kernel.cu:0 kernel.cu:21 kernel.cu:99999999999999999999", {0}, 0},
        {"kernel.cu: line x line", {0}, 0},
        {"line 1 line 2 line 3 line 4 line 5 line 6 line 7", {1, 2, 3, 4, 5, 6}, 6},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct places places = {.count = 0};
        places_read(&places, str_from(rows[i].message), 20);
        assert_int_equal(places.count, rows[i].count);
        for (size_t k = 0; k < places.count; k++)
            assert_int_equal(places.lines[k], rows[i].lines[k]);
    }
}

static void test_lines(void **state)
{
    const struct places places = {{2, 6}, 2};
    struct arena arena;
    struct buf out;
    (void)state;
    arena_init(&arena, 64 << 20);
    buf_init(&out, &arena, 1 << 20);
    lines_around(&out, STR_LIT("a\nb\nc\nd\ne\nf"), &places);
    assert_text("around", buf_view(&out),
                "```\n  1 | a\n> 2 | b\n  3 | c\n  ...\n  5 | e\n> 6 | f\n```\n");
    arena_release(&arena);
}

static void test_windows(void **state)
{
    static const struct {
        size_t place, kept, first;
        const char *text;
    } rows[] = {
        {0, 2, 1, "a\nb\n"},  {1, 2, 1, "a\nb\n"},           {4, 3, 3, "c\nd\ne\n"},
        {6, 3, 4, "d\ne\nf"}, {6, 9, 1, "a\nb\nc\nd\ne\nf"}, {5, 1, 5, "e\n"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct places places = {{rows[i].place}, rows[i].place > 0};
        size_t first;
        struct str text = lines_window(STR_LIT("a\nb\nc\nd\ne\nf"), &places, rows[i].kept, &first);
        assert_text("window", text, rows[i].text);
        assert_int_equal(first, rows[i].first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fences), cmocka_unit_test(test_words), cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_places), cmocka_unit_test(test_lines), cmocka_unit_test(test_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
