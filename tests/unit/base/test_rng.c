/* Philox4x32-10 against the known-answer vectors published with it. */
#include <string.h>

#include "base/attr.h"
#include "base/rng.h"

#include "tests/unit/unit.h"

static void known_answers(void **state UNUSED)
{
    static const struct {
        struct rng_block counter;
        struct rng_key key;
        struct rng_block answer;
    } cases[] = {
        {{{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
        {{{~0U, ~0U, ~0U, ~0U}}, {{~0U, ~0U}}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
        {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
         {{0xa4093822, 0x299f31d0}},
         {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rng_block got = rng_philox(cases[i].key, cases[i].counter);
        assert_memory_equal(got.word, cases[i].answer.word, sizeof(got.word));
    }
}

static void keys_differ_in_each_part(void **state UNUSED)
{
    struct rng_key base = rng_key_derive(1, 2, 3);
    struct rng_key same = rng_key_derive(1, 2, 3);
    struct rng_key others[] = {rng_key_derive(2, 2, 3), rng_key_derive(1, 3, 3),
                               rng_key_derive(1, 2, 4), rng_key_derive(1 | 1ULL << 40, 2, 3),
                               rng_key_derive(1, 3, 2)};
    assert_memory_equal(&base, &same, sizeof(base));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_memory_not_equal(&base, &others[i], sizeof(base));
}

static void the_sequence_is_the_counter(void **state UNUSED)
{
    struct rng rng;
    rng_init(&rng, UINT64_C(0x123456789abcdef0));
    for (uint32_t i = 0; i < 10; i++) {
        struct rng_block counter = {{i / 4, 0, 0, 0}};
        struct rng_block block = rng_philox((struct rng_key){{0x9abcdef0, 0x12345678}}, counter);
        assert_int_equal(rng_u32(&rng), block.word[i % 4]);
    }
}

static void below_is_uniform(void **state UNUSED)
{
    enum { BOUND = 7, DRAWS = 70000 };
    uint32_t counts[BOUND] = {0};
    double chi = 0;
    struct rng rng;
    rng_init(&rng, 42);
    for (int i = 0; i < DRAWS; i++) {
        uint32_t draw = rng_below(&rng, BOUND);
        assert_true(draw < BOUND);
        counts[draw]++;
    }
    for (int i = 0; i < BOUND; i++) {
        double off = (double)counts[i] - DRAWS / BOUND;
        chi += off * off / (DRAWS / BOUND);
    }
    assert_true(chi < 22.5); /* 6 degrees of freedom, p = 0.001 */
    assert_int_equal(rng_below(&rng, 1), 0);
}

/* With a bound of 3/4 of the range, taking every draw would give each third value twice as often.
 */
static void below_is_uniform_for_large_bounds(void **state UNUSED)
{
    enum { DRAWS = 30000 };
    int thirds[3] = {0};
    struct rng rng;
    rng_init(&rng, 5);
    for (int i = 0; i < DRAWS; i++)
        thirds[rng_below(&rng, 0xc0000000) % 3]++;
    for (int i = 0; i < 3; i++)
        assert_in_range(thirds[i], DRAWS / 3 - 400, DRAWS / 3 + 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(keys_differ_in_each_part),
        cmocka_unit_test(the_sequence_is_the_counter),
        cmocka_unit_test(below_is_uniform),
        cmocka_unit_test(below_is_uniform_for_large_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
