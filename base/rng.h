#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/*
 * Philox4x32-10 (Salmon et al., SC 2011): a counter-based generator, so element i of a tensor is a
 * pure function of (secret, stream, i) and CPU, emulator and GPU can all compute it.
 */
struct rng_key {
    uint32_t word[2];
};
struct rng_block {
    uint32_t word[4];
};

struct rng_block rng_philox(struct rng_key key, struct rng_block counter);

/* The key of one tensor in one call: a hash of (secret, tensor ordinal, call). */
struct rng_key rng_key_derive(uint64_t secret, uint32_t tensor, uint32_t call);

/* A sequential generator for shuffles and test data. */
struct rng {
    struct rng_key key;
    uint64_t next;
};
void rng_init(struct rng *rng, uint64_t seed);
uint32_t rng_u32(struct rng *rng);
/* Uniform in [0, bound), bound > 0. */
uint32_t rng_below(struct rng *rng, uint32_t bound);

#endif
