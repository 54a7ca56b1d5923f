#ifndef BASE_CACHE_H
#define BASE_CACHE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"

/*
 * A content-addressed cache of finished work (compiles, emulations) in a folder:
 * FOLDER/ab/abcdef... . Each entry carries a checksum of its payload; a damaged entry counts as
 * absent.  Writers race safely (rename); a full or read-only disk makes cache_put report, and the
 * caller may go on without.
 */
struct cache {
    const char *folder; /* NULL: no cache, get always misses and put does nothing */
};

bool cache_get(const struct cache *cache, struct arena *arena, const struct hash *key,
               struct str *payload);
bool cache_put(const struct cache *cache, const struct hash *key, struct str payload,
               struct err *err) MUST_USE;

#endif
