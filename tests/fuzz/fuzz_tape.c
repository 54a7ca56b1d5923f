/* A tape is refused, or each of its lines has a canonical form that is a fixed point and holds no
 * secret's place. */
#include <stdint.h>

#include "base/panic.h"

#include "agent/llm/llm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 1 << 30, TEXT_BYTES = 64 << 20 };

static struct str print(struct arena *arena, const struct tape_line *line)
{
    struct buf buf;
    struct json_writer w;
    struct str text;
    struct err err;
    buf_init(&buf, arena, TEXT_BYTES);
    json_writer_init(&w, &buf);
    tape_line_print(&w, line);
    ASSERT(buf_finish(&buf, "text", &text, &err));
    return text;
}

static void check_line(struct arena *arena, const struct tape *tape, size_t i)
{
    const struct json *json;
    struct tape_line again;
    struct err err;
    struct str once = print(arena, &tape->lines[i]);
    ASSERT(json_parse(arena, once, "canonical", &json, &err));
    ASSERT(tape_line_parse(arena, json, &again, &err));
    ASSERT(str_equal(once, print(arena, &again)));
    ASSERT(tape_find(tape, &tape->lines[i].key, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct tape tape;
    struct err err;
    struct str text = {(const char *)data, size};
    arena_init(&arena, ARENA_BYTES);
    if (tape_parse(&arena, text, "input", &tape, &err))
        for (size_t i = 0; i < tape.count; i++)
            check_line(&arena, &tape, i);
    struct str stripped = tape_url(&arena, text);
    ASSERT(str_equal(stripped, tape_url(&arena, stripped)));
    arena_release(&arena);
    return 0;
}
