/* Any reply of a model: refused with a text, or two blocks that stand in it, of which the manifest
 * is an object with that member. */
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/panic.h"

#include "synth/synth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 1 << 30 };

static void check(struct arena *arena, struct str reply, const struct extracted *got)
{
    const struct json *json;
    struct err err;
    ASSERT(got->cuda.len <= reply.len && got->manifest.len <= reply.len);
    ASSERT(memmem(got->cuda.at, got->cuda.len, "__global__", 10));
    ASSERT(!memchr(got->cuda.at, '\0', got->cuda.len));
    ASSERT(json_parse(arena, got->manifest, "manifest", &json, &err));
    ASSERT(json_get(json, "manifest"));
    if (!memchr(reply.at, '\r', reply.len))
        ASSERT(memmem(reply.at, reply.len, got->cuda.at, got->cuda.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct extracted got;
    struct err err = {0};
    struct str reply = {(const char *)data, size};
    arena_init(&arena, ARENA_BYTES);
    if (extract_reply(&arena, reply, &got, &err))
        check(&arena, reply, &got);
    else
        ASSERT(err.text[0] && (err.code == ERR_SYNTAX || err.code == ERR_LIMIT));
    arena_release(&arena);
    return 0;
}
