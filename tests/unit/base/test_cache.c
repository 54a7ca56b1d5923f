/* The cache gives back what was put, and takes each kind of damage for absence. */
#include <string.h>

#include "base/attr.h"
#include "base/cache.h"

#include "tests/unit/unit.h"

enum { ARENA_BYTES = 16 << 20 };

static const char *entry_path(struct arena *arena, const struct cache *cache, const char *hex)
{
    char shard[] = {hex[0], hex[1], '\0'};
    return path_join(arena, path_join(arena, cache->folder, shard), hex);
}

static const char *path_of(struct arena *arena, const struct cache *cache, const struct hash *key)
{
    char hex[HASH_HEX_BYTES];
    hash_hex(key, hex);
    return entry_path(arena, cache, hex);
}

static void what_was_put_is_got(void **state UNUSED)
{
    struct arena arena;
    struct str got;
    struct err err;
    struct hash key = hash_bytes("k", 1);
    struct hash empty_key = hash_bytes("e", 1);
    arena_init(&arena, ARENA_BYTES);
    struct cache cache = {unit_folder(&arena, "cache")};
    assert_false(cache_get(&cache, &arena, &key, &got));
    assert_ok(cache_put(&cache, &key, STR_LIT("one\0two"), &err));
    assert_ok(cache_put(&cache, &empty_key, STR_LIT(""), &err));
    assert_true(cache_get(&cache, &arena, &key, &got));
    assert_true(str_equal(got, STR_LIT("one\0two")));
    assert_ok(cache_put(&cache, &key, STR_LIT("three"), &err));
    assert_true(cache_get(&cache, &arena, &key, &got));
    assert_true(str_equal(got, STR_LIT("three")));
    assert_true(cache_get(&cache, &arena, &empty_key, &got));
    assert_int_equal(got.len, 0);
    arena_release(&arena);
}

/* Cut at every length, each byte changed: never a wrong payload. */
static void damage_is_absence(void **state UNUSED)
{
    struct arena arena;
    struct str whole, got;
    struct err err;
    struct hash key = hash_bytes("k", 1);
    arena_init(&arena, ARENA_BYTES);
    struct cache cache = {unit_folder(&arena, "damage")};
    assert_ok(cache_put(&cache, &key, STR_LIT("payload"), &err));
    const char *path = path_of(&arena, &cache, &key);
    assert_ok(file_read(&arena, path, 4096, &whole, &err));
    for (size_t i = 0; i < whole.len; i++) {
        char *changed = str_copy(&arena, whole);
        changed[i] ^= 1;
        assert_ok(file_write(path, (struct str){changed, whole.len}, &err));
        assert_false(cache_get(&cache, &arena, &key, &got));
        assert_ok(file_write(path, (struct str){whole.at, i}, &err));
        assert_false(cache_get(&cache, &arena, &key, &got));
    }
    assert_ok(file_write(path, whole, &err));
    assert_true(cache_get(&cache, &arena, &key, &got));
    arena_release(&arena);
}

static void an_entry_under_another_name_is_damage(void **state UNUSED)
{
    struct arena arena;
    struct str whole, got;
    struct err err;
    struct hash key = hash_bytes("k", 1);
    struct hash other = hash_bytes("other", 5);
    arena_init(&arena, ARENA_BYTES);
    struct cache cache = {unit_folder(&arena, "renamed")};
    assert_ok(cache_put(&cache, &key, STR_LIT("payload"), &err));
    assert_ok(file_read(&arena, path_of(&arena, &cache, &key), 4096, &whole, &err));
    const char *path = path_of(&arena, &cache, &other);
    assert_ok(file_make_dirs(path_dir(&arena, path), &err));
    assert_ok(file_write(path, whole, &err));
    assert_false(cache_get(&cache, &arena, &other, &got));
    arena_release(&arena);
}

static void no_folder_means_no_cache(void **state UNUSED)
{
    struct arena arena;
    struct str got;
    struct err err;
    struct hash key = hash_bytes("k", 1);
    struct cache none = {NULL};
    arena_init(&arena, ARENA_BYTES);
    assert_ok(cache_put(&none, &key, STR_LIT("x"), &err));
    assert_false(cache_get(&none, &arena, &key, &got));

    struct cache file = {path_join(&arena, unit_folder(&arena, "notdir"), "file")};
    assert_ok(file_write(file.folder, STR_LIT(""), &err));
    assert_false(cache_put(&file, &key, STR_LIT("x"), &err));
    assert_int_equal(err.code, ERR_IO);
    assert_false(cache_get(&file, &arena, &key, &got));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_got),
        cmocka_unit_test(damage_is_absence),
        cmocka_unit_test(an_entry_under_another_name_is_damage),
        cmocka_unit_test(no_folder_means_no_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
