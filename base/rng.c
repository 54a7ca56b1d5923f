/*
 * Philox4x32-10: ten rounds of two 32x32 multiplications, whose halves are exchanged and mixed
 * with a key that grows by two Weyl constants a round.  Integer operations only.
 */
#include "base/rng.h"

#include "base/panic.h"

struct rng_block rng_philox(struct rng_key key, struct rng_block counter)
{
    struct rng_block x = counter;
    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xd2511f53) * x.word[0];
        uint64_t b = UINT64_C(0xcd9e8d57) * x.word[2];
        x = (struct rng_block){{
            (uint32_t)(b >> 32) ^ x.word[1] ^ key.word[0],
            (uint32_t)b,
            (uint32_t)(a >> 32) ^ x.word[3] ^ key.word[1],
            (uint32_t)a,
        }};
        key.word[0] += 0x9e3779b9;
        key.word[1] += 0xbb67ae85;
    }
    return x;
}

static struct rng_key key_of(uint64_t secret)
{
    return (struct rng_key){{(uint32_t)secret, (uint32_t)(secret >> 32)}};
}

struct rng_key rng_key_derive(uint64_t secret, uint32_t tensor, uint32_t call)
{
    struct rng_block counter = {{tensor, call, 0x6b657920, 0x64657269}};
    struct rng_block block = rng_philox(key_of(secret), counter);
    return (struct rng_key){{block.word[0], block.word[1]}};
}

void rng_init(struct rng *rng, uint64_t seed)
{
    *rng = (struct rng){.key = key_of(seed)};
}

uint32_t rng_u32(struct rng *rng)
{
    uint64_t index = rng->next++;
    struct rng_block counter = {{(uint32_t)(index / 4), (uint32_t)(index / 4 >> 32), 0, 0}};
    return rng_philox(rng->key, counter).word[index % 4];
}

/* The high half of a 32x32 product; products whose low half is under 2^32 mod bound would be drawn
 * once too often and are drawn again. */
uint32_t rng_below(struct rng *rng, uint32_t bound)
{
    ASSERT(bound > 0);
    uint32_t excess = (0U - bound) % bound;
    for (;;) {
        uint64_t product = (uint64_t)rng_u32(rng) * bound;
        if ((uint32_t)product >= excess)
            return (uint32_t)(product >> 32);
    }
}
