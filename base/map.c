/*
 * Open addressing with linear probing; at most half the slots are used, so a probe ends.
 * Growing leaves the old table in the arena.
 */
#include "base/map.h"

#include "base/hash.h"

enum { FIRST_ROOM = 16 };

struct map_slot {
    struct str key;
    size_t value;
    bool used;
};

void map_init(struct map *map, struct arena *arena)
{
    *map = (struct map){.arena = arena};
}

static struct map_slot *find(const struct map *map, struct str key)
{
    size_t mask = map->room - 1;
    size_t i = (size_t)hash_fast(key.at, key.len) & mask;
    while (map->slots[i].used && !str_equal(map->slots[i].key, key))
        i = (i + 1) & mask;
    return &map->slots[i];
}

static void grow(struct map *map)
{
    struct map old = *map;
    map->room = old.room ? 2 * old.room : FIRST_ROOM;
    map->slots = arena_array(map->arena, struct map_slot, map->room);
    for (size_t i = 0; i < old.room; i++)
        if (old.slots[i].used)
            *find(map, old.slots[i].key) = old.slots[i];
}

size_t *map_put(struct map *map, struct str key, bool *is_new)
{
    if (2 * (map->count + 1) > map->room)
        grow(map);
    struct map_slot *slot = find(map, key);
    *is_new = !slot->used;
    if (!slot->used) {
        *slot = (struct map_slot){.key = key, .used = true};
        map->count++;
    }
    return &slot->value;
}

const size_t *map_get(const struct map *map, struct str key)
{
    if (map->count == 0)
        return NULL;
    const struct map_slot *slot = find(map, key);
    return slot->used ? &slot->value : NULL;
}
