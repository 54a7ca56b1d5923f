#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

/* SHA-256 (FIPS 180-4) for content ids; hash_fast (FNV-1a, 64 bits) for tables, never stored. */
struct hash {
    uint8_t bytes[32];
};
enum { HASH_HEX_BYTES = 65 }; /* 64 digits and the terminator */

struct hash_stream {
    uint32_t state[8];
    uint64_t bytes_total;
    uint8_t block[64];
    size_t block_used;
};

void hash_begin(struct hash_stream *stream);
void hash_add(struct hash_stream *stream, const void *data, size_t len);
/* A length-prefixed field, so that ("ab","c") and ("a","bc") differ. */
void hash_field(struct hash_stream *stream, struct str field);
struct hash hash_end(struct hash_stream *stream);
struct hash hash_bytes(const void *data, size_t len);
void hash_hex(const struct hash *hash, char out[HASH_HEX_BYTES]);
struct str hash_text(struct arena *arena, const struct hash *hash); /* the same, as text */
/* The hash that hash_hex wrote: 64 lower-case digits; false and *out untouched for other text. */
bool hash_parse(struct str hex, struct hash *out) MUST_USE;
bool hash_equal(const struct hash *a, const struct hash *b);
uint64_t hash_fast(const void *data, size_t len);

#endif
