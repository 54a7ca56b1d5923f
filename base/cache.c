/*
 * Content-addressed cache: one file an entry, FOLDER/ab/KEY.
 *
 * An entry is a magic line, the SHA-256 of (key, payload), then the payload.  The key is under the
 * checksum so that a file copied to another name counts as damaged too.  Readers trust nothing:
 * whatever does not check is absent, and the next put replaces it whole (file_write renames).
 * Not here: eviction; `make clean` or the owner of the folder empties it.
 */
#include "base/cache.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"

static const char magic[] = "warpwright-cache 1\n";

enum {
    MAGIC_BYTES = sizeof(magic) - 1,
    HEAD_BYTES = MAGIC_BYTES + sizeof(struct hash),
    ENTRY_BYTES_MAX = 256 << 20,
    PATH_ARENA_BYTES = 1 << 20,
};

static char *entry_path(const struct cache *cache, struct arena *arena, const struct hash *key)
{
    char hex[HASH_HEX_BYTES];
    hash_hex(key, hex);
    char shard[] = {hex[0], hex[1], '\0'};
    return path_join(arena, path_join(arena, cache->folder, shard), hex);
}

static struct hash checksum(const struct hash *key, struct str payload)
{
    struct hash_stream stream;
    hash_begin(&stream);
    hash_add(&stream, key->bytes, sizeof(key->bytes));
    hash_field(&stream, payload);
    return hash_end(&stream);
}

bool cache_get(const struct cache *cache, struct arena *arena, const struct hash *key,
               struct str *payload)
{
    struct err err;
    struct str entry;
    if (!cache->folder)
        return false;
    const char *path = entry_path(cache, arena, key);
    if (!file_read(arena, path, ENTRY_BYTES_MAX, &entry, &err) || entry.len < HEAD_BYTES)
        return false;
    struct str content = {entry.at + HEAD_BYTES, entry.len - HEAD_BYTES};
    struct hash expected = checksum(key, content);
    if (memcmp(entry.at, magic, MAGIC_BYTES) != 0 ||
        memcmp(entry.at + MAGIC_BYTES, expected.bytes, sizeof(expected.bytes)) != 0)
        return false;
    *payload = content;
    return true;
}

bool cache_put(const struct cache *cache, const struct hash *key, struct str payload,
               struct err *err)
{
    bool ok = false;
    struct arena arena;
    struct buf entry;
    struct str text;
    if (!cache->folder)
        return true;

    arena_init(&arena, payload.len + HEAD_BYTES + PATH_ARENA_BYTES);
    struct hash sum = checksum(key, payload);
    const char *path = entry_path(cache, &arena, key);
    buf_init(&entry, &arena, ENTRY_BYTES_MAX);
    buf_bytes(&entry, magic, MAGIC_BYTES);
    buf_bytes(&entry, sum.bytes, sizeof(sum.bytes));
    buf_str(&entry, payload);
    if (!buf_finish(&entry, "cache entry", &text, err) ||
        !file_make_dirs(path_dir(&arena, path), err) || !file_write(path, text, err))
        goto out;
    ok = true;
out:
    arena_release(&arena);
    return ok || err_context(err, "cache %s", cache->folder);
}
