/* SHA-256 against the vectors of FIPS 180-4 and the padding's edges; FNV-1a against its own. */
#include <string.h>

#include "base/attr.h"
#include "base/hash.h"

#include "tests/unit/unit.h"

static void known_digests(void **state UNUSED)
{
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
         "lmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char hex[HASH_HEX_BYTES];
        struct hash hash = hash_bytes(cases[i].text, strlen(cases[i].text));
        hash_hex(&hash, hex);
        assert_string_equal(hex, cases[i].hex);
    }
}

static void a_million_times_a(void **state UNUSED)
{
    struct hash_stream stream;
    char hex[HASH_HEX_BYTES];
    hash_begin(&stream);
    for (int i = 0; i < 100000; i++)
        hash_add(&stream, "aaaaaaaaaa", 10);
    struct hash hash = hash_end(&stream);
    hash_hex(&hash, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* However the bytes are cut, around every padding edge. */
static void pieces_do_not_matter(void **state UNUSED)
{
    char data[200];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * 7);
    for (size_t len = 0; len <= sizeof(data); len++)
        for (size_t cut = 0; cut <= len; cut += 13) {
            struct hash_stream stream;
            hash_begin(&stream);
            hash_add(&stream, data, cut);
            hash_add(&stream, data + cut, len - cut);
            struct hash in_two = hash_end(&stream);
            struct hash whole = hash_bytes(data, len);
            assert_memory_equal(in_two.bytes, whole.bytes, sizeof(whole.bytes));
        }
}

static struct hash of_fields(const char *a, const char *b)
{
    struct hash_stream stream;
    hash_begin(&stream);
    hash_field(&stream, str_from(a));
    hash_field(&stream, str_from(b));
    return hash_end(&stream);
}

static void fields_keep_their_borders(void **state UNUSED)
{
    struct hash one = of_fields("ab", "c");
    struct hash other = of_fields("a", "bc");
    struct hash again = of_fields("ab", "c");
    assert_memory_not_equal(one.bytes, other.bytes, sizeof(one.bytes));
    assert_memory_equal(one.bytes, again.bytes, sizeof(one.bytes));
}

static void fnv_vectors(void **state UNUSED)
{
    assert_true(hash_fast("", 0) == UINT64_C(0xcbf29ce484222325));
    assert_true(hash_fast("a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(hash_fast("foobar", 6) == UINT64_C(0x85944171f73967e8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_digests),        cmocka_unit_test(a_million_times_a),
        cmocka_unit_test(pieces_do_not_matter), cmocka_unit_test(fields_keep_their_borders),
        cmocka_unit_test(fnv_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
