/*
 * The catalogue of primitives: kernels/primitives beside kernels/ops, a document for each word of
 * base/vocab.def.
 */
#include "base/file.h"
#include "base/vocab.h"

#include "agent/agent.h"
#include "solver/legal/legal.h"

static bool load(struct arena *arena, const char *folder, enum primitive word,
                 const struct primitive_entry **out, struct err *err)
{
    const struct primitive_entry *entry;
    const struct json *json;
    struct str text;
    struct buf name;

    buf_init(&name, arena, 4096);
    buf_printf(&name, "%s.json", primitive_name(word));
    const char *path = path_join(arena, folder, name.at);
    if (!file_read(arena, path, PRIMITIVE_BYTES_MAX, &text, err) ||
        !json_parse(arena, text, path, &json, err) ||
        !primitive_entry_parse(arena, json, &entry, err))
        return false;
    if (entry->word != word)
        return json_fail(json, err, "it calls itself %.*s", STR_ARG(entry->name));
    *out = entry;
    return true;
}

bool session_primitives(struct session *session, const struct catalogue **out, struct err *err)
{
    struct arena *arena = session->arena;
    struct catalogue *catalogue = arena_new(arena, struct catalogue);

    if (session->env.ops_folder == NULL)
        return err_raise(err, ERR_IO, "kernels/primitives is not where this program was built");
    const char *folder = path_join(arena, path_dir(arena, session->env.ops_folder), "primitives");
    for (int i = 0; i < PRIMITIVE_COUNT; i++)
        if (!load(arena, folder, (enum primitive)i, &catalogue->entries[i], err))
            return false;
    *out = catalogue;
    return true;
}
