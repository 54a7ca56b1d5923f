/* A document is refused, or its canonical form is a fixed point: rows of every table. */
#include <stdint.h>

#include "base/panic.h"

#include "memory/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 1 << 30, TEXT_BYTES = 64 << 20 };

#define T(name, NAME)                                                                              \
    static bool do_##name(struct arena *arena, struct str text, struct str *out)                   \
    {                                                                                              \
        const struct json *json;                                                                   \
        struct name##_row row;                                                                     \
        struct err err;                                                                            \
        struct buf buf;                                                                            \
        struct json_writer w;                                                                      \
        if (!json_parse(arena, text, "input", &json, &err) ||                                      \
            !name##_row_parse(arena, json, &row, &err))                                            \
            return false;                                                                          \
        buf_init(&buf, arena, TEXT_BYTES);                                                         \
        json_writer_init(&w, &buf);                                                                \
        name##_row_print(&w, &row, true);                                                          \
        ASSERT(buf_finish(&buf, "text", out, &err));                                               \
        return true;                                                                               \
    }
BANK_TABLES(T)
#undef T

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    typedef bool read_and_print(struct arena *, struct str, struct str *);
    static read_and_print *const tables[] = {
#define T(name, NAME) do_##name,
        BANK_TABLES(T)
#undef T
    };
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        struct arena arena;
        struct str once, twice;
        arena_init(&arena, ARENA_BYTES);
        if (tables[i](&arena, (struct str){(const char *)data, size}, &once)) {
            ASSERT(tables[i](&arena, once, &twice));
            ASSERT(str_equal(once, twice));
        }
        arena_release(&arena);
    }
    return 0;
}
