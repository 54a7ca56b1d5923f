/* Replies in all the shapes that models give them, and what is said to the model about the rest. */
#include <string.h>

#include "synth/synth.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 256 << 20 };

#define CODE  "__global__ void f() {}\n"
#define LAST  "__global__ void g() {}\n"
#define CUDA  "```cuda\n" CODE "```\n"
#define JSON  "```json\n{\"manifest\": 1}\n```\n"
#define DOC   "{\"manifest\": 1}\n"
#define LATER "{\"manifest\": 1, \"strategy\": \"later\"}\n"

struct good_row {
    const char *name, *reply, *cuda, *manifest;
};

static const struct good_row good_rows[] = {
    {"both", CUDA JSON, CODE, DOC},
    {"manifest first", JSON CUDA, CODE, DOC},
    {"prose around", "I think `x` is ```fast```.\n\n" CUDA "\nand\n\n" JSON "Good luck.", CODE,
     DOC},
    {"CR LF", "```cuda\r\n__global__ void f() {}\r\n```\r\n```json\r\n{\"manifest\": 1}\r\n```\r\n",
     CODE, DOC},
    {"no newline at the end", CUDA "```json\n{\"manifest\": 1}\n```", CODE, DOC},
    {"four backticks", "````cuda\n" CODE "````\n" JSON, CODE, DOC},
    {"longer closing fence", "```cuda\n" CODE "`````  \n" JSON, CODE, DOC},
    {"tildes", "~~~cuda\n" CODE "~~~\n~~~~json\n" DOC "~~~~\n", CODE, DOC},
    {"tildes inside backticks", "```cuda\n" CODE "~~~\n```\n" JSON, CODE "~~~\n", DOC},
    {"a shorter fence inside", "````cuda\n```\n" CODE "````\n" JSON, "```\n" CODE, DOC},
    {"indented", "1. code\n   ```cuda\n" CODE "   ```\n2. manifest\n\t```json\n" DOC "\t```\n",
     CODE, DOC},
    {"labels: cu", "```cu\n" CODE "```\n" JSON, CODE, DOC},
    {"labels: CUDA", "```CUDA\n" CODE "```\n" JSON, CODE, DOC},
    {"labels: c++", "```c++\n" CODE "```\n" JSON, CODE, DOC},
    {"labels: cpp and more", "```cpp title=\"f.cu\"\n" CODE "```\n" JSON, CODE, DOC},
    {"labels: c", "```c\n" CODE "```\n" JSON, CODE, DOC},
    {"labels: cuda:file", "```cuda:f.cu\n" CODE "```\n" JSON, CODE, DOC},
    {"labels: braces", "``` {.cuda}\n" CODE "```\n" JSON, CODE, DOC},
    {"no labels", "```\n" CODE "```\n```\n" DOC "```\n", CODE, DOC},
    {"the last version", CUDA JSON "Better:\n```cuda\n" LAST "```\n```json\n" LATER "```\n", LAST,
     LATER},
    {"host code behind", CUDA "```cpp\nint main() { return 0; }\n```\n" JSON, CODE, DOC},
    {"C++ behind CUDA", CUDA "```cpp\n" LAST "```\n" JSON, CODE, DOC},
    {"a shell line without label", CUDA "```\nnvcc __global__.cu\n```\n" JSON, CODE, DOC},
    {"other JSON behind", CUDA JSON "```json\n{\"note\": 1}\n```\n", CODE, DOC},
    {"a fence in a comment", "```cuda\n/* use:\n```\nf<<<1, 1>>>();\n```\n*/\n" CODE "```\n" JSON,
     "/* use:\n```\nf<<<1, 1>>>();\n```\n*/\n" CODE, DOC},
    {"a fence behind //", "```cuda\n// ```\n" CODE "```\n" JSON, "// ```\n" CODE, DOC},
    {"comment signs in a string", "```cuda\nconst char *s = \"\\\"/*\";\n" CODE "```\n" JSON,
     "const char *s = \"\\\"/*\";\n" CODE, DOC},
    {"a comment without end", "```cuda\n" CODE "/* end\n```\n" JSON, CODE "/* end\n", DOC},
    {"// with /*", "```cuda\n" CODE "// a /* b\n```\n" JSON, CODE "// a /* b\n", DOC},
    {"not closed before the next", "```cuda\n" CODE "```json\n" DOC "```\n", CODE, DOC},
    {"the next not closed", "```json\n" DOC "```cuda\n" CODE "```\n", CODE, DOC},
    {"a fence too many", CUDA JSON "```\n", CODE, DOC},
    {"thoughts", "<think>\n```cuda\nint draft;\n</think>\n" CUDA JSON, CODE, DOC},
    {"thoughts about thoughts", "\n<think>a</think>b</think>" CUDA JSON, CODE, DOC},
    {"thoughts without a beginning", "Well.\n```cuda\n</think>\n\n" CUDA JSON, CODE, DOC},
    {"empty other blocks", "```\n```\n" CUDA JSON, CODE, DOC},
};

static void test_good(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(good_rows); i++) {
        const struct good_row *c = &good_rows[i];
        struct arena arena;
        struct err err;
        struct extracted got;
        arena_init(&arena, ARENA_BYTES);
        if (!extract_reply(&arena, str_from(c->reply), &got, &err))
            fail_msg("%s: %s", c->name, err.text);
        if (!str_equal(got.cuda, str_from(c->cuda)) ||
            !str_equal(got.manifest, str_from(c->manifest)))
            fail_msg("%s: got %.*s and %.*s", c->name, STR_ARG(got.cuda), STR_ARG(got.manifest));
        arena_release(&arena);
    }
}

struct bad_row {
    const char *name, *reply, *want;
};

static const struct bad_row bad_rows[] = {
    {"nothing", "", "your reply has no code block. Give one ```cuda block"},
    {"prose", "I can not do that.", "your reply has no code block."},
    {"a fence inside a line", "use ```cuda``` here", "your reply has no code block."},
    {"no CUDA", JSON, "your reply has no ```cuda block."},
    {"CUDA in Python", "```python\n" CODE "```\n" JSON, "your reply has no ```cuda block."},
    {"no kernel", "```cuda\nint x;\n```\n" JSON,
     "no block of your reply has a __global__ function."},
    {"no JSON", CUDA, "your reply has no ```json block."},
    {"JSON of another kind", CUDA "```json\n{}\n```\n",
     "no ```json block of your reply has the member \"manifest\": 1."},
    {"manifest as a comment", "```cuda\n" CODE "/* {\"manifest\": 1} */\n```\n",
     "the manifest stands inside the ```cuda block."},
    {"no valid JSON", CUDA "\n```json\n{\"manifest\": 1,}\n```\n",
     "the ```json block that begins in line 5 of your reply is not JSON: manifest: "},
    {"the last one counts", CUDA JSON "```json\n{\"manifest\": }\n```\n",
     "the ```json block that begins in line 7 of your reply is not JSON"},
    {"manifest deeper", CUDA "```json\n[{\"manifest\": 1}]\n```\n",
     "the ```json block that begins in line 4 of your reply is no object with the member"},
    {"cut off in CUDA", "Here.\n```cuda\n" CODE,
     "your reply was cut off: the block that begins in line 2 is not closed."},
    {"cut off in JSON", CUDA "```json\n{\"manifest\": 1",
     "your reply was cut off: the block that begins in line 4 is not closed."},
    {"cut off in a second version", CUDA JSON "Better:\n```cuda\n__glob",
     "your reply was cut off: the block that begins in line 8 is not closed."},
    {"cut off behind the fence", CUDA "```", "your reply was cut off"},
    {"cut off with a block in it", "````cuda\n" CODE "```\n", "your reply was cut off"},
    {"cut off in thoughts", "<think>\n" CUDA JSON,
     "your reply was cut off while you were thinking."},
};

static void test_bad(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(bad_rows); i++) {
        struct arena arena;
        struct err err = {0};
        struct extracted got;
        arena_init(&arena, ARENA_BYTES);
        if (extract_reply(&arena, str_from(bad_rows[i].reply), &got, &err))
            fail_msg("%s: accepted", bad_rows[i].name);
        if (err.code != ERR_SYNTAX ||
            !str_has_prefix(str_from(err.text), str_from(bad_rows[i].want)))
            fail_msg("%s: %s", bad_rows[i].name, err.text);
        arena_release(&arena);
    }
}

static void test_limits(void **state UNUSED)
{
    struct arena arena;
    struct err err;
    struct extracted got;
    struct buf reply;
    arena_init(&arena, ARENA_BYTES);
    buf_init(&reply, &arena, EXTRACT_BYTES_MAX + 1);
    for (int i = 0; i < 300; i++)
        buf_text(&reply, CUDA);
    assert_false(extract_reply(&arena, buf_view(&reply), &got, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_non_null(strstr(err.text, "over 256 blocks"));
    while (!reply.overflow)
        buf_text(&reply, "text without end\n");
    reply.len = EXTRACT_BYTES_MAX + 1;
    assert_false(extract_reply(&arena, buf_view(&reply), &got, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    struct str nul = {CUDA JSON, sizeof(CUDA JSON) - 1};
    char *copy = str_copy(&arena, nul);
    copy[10] = '\0';
    assert_false(extract_reply(&arena, (struct str){copy, nul.len}, &got, &err));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
