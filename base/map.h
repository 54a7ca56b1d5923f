#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

/* String to size_t, open addressing, memory in the arena; keys are borrowed. */
struct map {
    struct arena *arena;
    struct map_slot *slots;
    size_t room;
    size_t count;
};
void map_init(struct map *map, struct arena *arena);
/* The value's place, created as *is_new = true and 0 when the key is absent. */
size_t *map_put(struct map *map, struct str key, bool *is_new);
/* NULL when absent. */
const size_t *map_get(const struct map *map, struct str key);

#endif
