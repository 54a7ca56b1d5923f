/* A document is refused, or its canonical form is a fixed point: primitives. */
#include <stdint.h>

#include "base/panic.h"

#include "solver/legal/primitives.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 1 << 30, TEXT_BYTES = 64 << 20 };

/* Parses and prints; false when the document is refused. */
static bool do_primitive(struct arena *arena, struct str text, struct str *out)
{
    const struct json *json;
    const struct primitive_entry *document;
    struct err err;
    struct buf buf;
    struct json_writer w;
    if (!json_parse(arena, text, "input", &json, &err) ||
        !primitive_entry_parse(arena, json, &document, &err))
        return false;
    buf_init(&buf, arena, TEXT_BYTES);
    json_writer_init(&w, &buf);
    primitive_entry_print(&w, document);
    ASSERT(buf_finish(&buf, "text", out, &err));
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    typedef bool read_and_print(struct arena *, struct str, struct str *);
    static read_and_print *const documents[] = {do_primitive};
    for (size_t i = 0; i < COUNT_OF(documents); i++) {
        struct arena arena;
        struct str once, twice;
        arena_init(&arena, ARENA_BYTES);
        if (documents[i](&arena, (struct str){(const char *)data, size}, &once)) {
            ASSERT(documents[i](&arena, once, &twice));
            ASSERT(str_equal(once, twice));
        }
        arena_release(&arena);
    }
    return 0;
}
