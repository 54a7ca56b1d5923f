/* Any text at all: it is refused, or its canonical form is a fixed point. */
#include <stdint.h>

#include "base/json.h"
#include "base/panic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 256 << 20, TEXT_BYTES = 16 << 20 };

static struct str write_tree(struct arena *arena, const struct json *tree)
{
    struct buf out;
    struct str text;
    struct err err;
    buf_init(&out, arena, TEXT_BYTES);
    json_write(&out, tree);
    ASSERT(buf_finish(&out, "text", &text, &err));
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    const struct json *tree;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    if (json_parse(&arena, (struct str){(const char *)data, size}, "input", &tree, &err)) {
        struct str once = write_tree(&arena, tree);
        ASSERT(json_parse(&arena, once, "canonical", &tree, &err));
        ASSERT(str_equal(once, write_tree(&arena, tree)));
    }
    arena_release(&arena);
    return 0;
}
