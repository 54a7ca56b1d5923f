/*
 * SHA-256 as FIPS 180-4 states it, and FNV-1a.
 *
 * Not here: hardware SHA instructions; documents and kernels are kilobytes, and a compile takes
 * a thousand times longer than its hash.
 */
#include "base/hash.h"

#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t load_big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void schedule(uint32_t w[64], const uint8_t *block)
{
    for (int i = 0; i < 16; i++)
        w[i] = load_big_endian(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15];
        uint32_t b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

static void compress(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64];
    uint32_t v[8];
    schedule(w, block);
    memcpy(v, state, sizeof(v));
    for (int i = 0; i < 64; i++) {
        uint32_t a = v[0];
        uint32_t e = v[4];
        uint32_t t1 = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                      ((e & v[5]) ^ (~e & v[6])) + round_constants[i] + w[i];
        uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

void hash_begin(struct hash_stream *stream)
{
    *stream = (struct hash_stream){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                  0x1f83d9ab, 0x5be0cd19},
    };
}

void hash_add(struct hash_stream *stream, const void *data, size_t len)
{
    const uint8_t *at = data;
    stream->bytes_total += len;
    while (len) {
        if (stream->block_used == 0 && len >= sizeof(stream->block)) {
            compress(stream->state, at);
            at += sizeof(stream->block);
            len -= sizeof(stream->block);
            continue;
        }
        size_t room = sizeof(stream->block) - stream->block_used;
        size_t part = len < room ? len : room;
        memcpy(stream->block + stream->block_used, at, part);
        stream->block_used += part;
        at += part;
        len -= part;
        if (stream->block_used == sizeof(stream->block)) {
            compress(stream->state, stream->block);
            stream->block_used = 0;
        }
    }
}

void hash_field(struct hash_stream *stream, struct str field)
{
    uint8_t len[8];
    for (int i = 0; i < 8; i++)
        len[i] = (uint8_t)((uint64_t)field.len >> (8 * i));
    hash_add(stream, len, sizeof(len));
    hash_add(stream, field.at, field.len);
}

struct hash hash_end(struct hash_stream *stream)
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = stream->bytes_total * 8;
    uint8_t tail[8];
    struct hash hash;

    for (int i = 0; i < 8; i++)
        tail[i] = (uint8_t)(bits >> (56 - 8 * i));
    hash_add(stream, padding, 1 + (119 - stream->bytes_total % 64) % 64);
    hash_add(stream, tail, sizeof(tail));
    for (int i = 0; i < 32; i++)
        hash.bytes[i] = (uint8_t)(stream->state[i / 4] >> (24 - 8 * (i % 4)));
    return hash;
}

struct hash hash_bytes(const void *data, size_t len)
{
    struct hash_stream stream;
    hash_begin(&stream);
    hash_add(&stream, data, len);
    return hash_end(&stream);
}

void hash_hex(const struct hash *hash, char out[HASH_HEX_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++) {
        out[2 * i] = digits[hash->bytes[i] >> 4];
        out[2 * i + 1] = digits[hash->bytes[i] & 15];
    }
    out[64] = '\0';
}

struct str hash_text(struct arena *arena, const struct hash *hash)
{
    char hex[HASH_HEX_BYTES];
    hash_hex(hash, hex);
    return str_from(str_copy(arena, str_from(hex)));
}

bool hash_parse(struct str hex, struct hash *out)
{
    static const char digits[] = "0123456789abcdef";
    struct hash hash;
    if (hex.len != 2 * sizeof(hash.bytes))
        return false;
    for (size_t i = 0; i < sizeof(hash.bytes); i++) {
        const char *high = memchr(digits, hex.at[2 * i], 16);
        const char *low = memchr(digits, hex.at[2 * i + 1], 16);
        if (!high || !low)
            return false;
        hash.bytes[i] = (uint8_t)((high - digits) << 4 | (low - digits));
    }
    *out = hash;
    return true;
}

bool hash_equal(const struct hash *a, const struct hash *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

uint64_t hash_fast(const void *data, size_t len)
{
    const uint8_t *at = data;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}
