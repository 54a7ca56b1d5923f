/*
 * Machines by name: kernels/machines beside kernels/ops.
 *
 * A name is a file's, or an architecture's ("sm_90", "sm_90a"): then the first machine of its
 * compute capability, the default one before the others, those in alphabetic order.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#include "agent/agent.h"

enum { MACHINES_MAX = 256 };
static const char default_machine[] = "h200-sxm";

static bool load(struct arena *arena, const char *folder, const char *name,
                 const struct machine **out, struct err *err)
{
    char *path = path_join(arena, folder, name);
    const struct machine *machine;
    const struct json *json;
    struct str text;
    struct buf file;

    buf_init(&file, arena, 4096);
    buf_printf(&file, "%s.json", path);
    if (!file_read(arena, file.at, MACHINE_BYTES_MAX, &text, err) ||
        !json_parse(arena, text, file.at, &json, err) || !machine_parse(arena, json, &machine, err))
        return false;
    if (!str_equal(machine->name, str_from(name)))
        return json_fail(json, err, "it calls itself %.*s", STR_ARG(machine->name));
    *out = machine;
    return true;
}

/* Names without .json, the default first. */
static bool list(struct arena *arena, const char *folder, const char ***out, size_t *count,
                 struct err *err)
{
    const char *const *files;
    const char **names;
    size_t n;

    if (!file_list(arena, folder, ".json", MACHINES_MAX, &files, &n, err))
        return false;
    names = arena_array(arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        names[i] = str_copy(arena, (struct str){files[i], strlen(files[i]) - strlen(".json")});
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && strcmp(names[k], default_machine) == 0; k--) {
            const char *swap = names[k];

            names[k] = names[k - 1];
            names[k - 1] = swap;
        }
    *out = names;
    *count = n;
    return true;
}

static bool unknown(struct arena *arena, const char *name, const char *const *names, size_t count,
                    struct err *err)
{
    struct buf known;

    buf_init(&known, arena, ERR_TEXT_BYTES / 2);
    for (size_t i = 0; i < count; i++)
        buf_printf(&known, "%s%s", i == 0 ? "" : ", ", names[i]);
    return err_raise(err, ERR_USAGE, "there is no machine \"%s\"; known are %s", name,
                     count == 0 ? "none" : known.at);
}

/* "sm_90" and "sm_90a" are one capability; 0 = no architecture. */
static long capability_of(const char *name)
{
    return strncmp(name, "sm_", 3) == 0 ? strtol(name + 3, NULL, 10) : 0;
}

bool machine_find(struct arena *arena, const char *folder, const char *name,
                  const struct machine **out, struct err *err)
{
    const char *wanted = name == NULL ? default_machine : name;
    const long capability = capability_of(wanted);
    const char **names;
    size_t count;

    if (!list(arena, folder, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct machine *machine;

        if (strcmp(names[i], wanted) == 0)
            return load(arena, folder, wanted, out, err);
        if (capability == 0)
            continue;
        if (!load(arena, folder, names[i], &machine, err))
            return false;
        if (machine->capability == capability) {
            *out = machine;
            return true;
        }
    }
    return unknown(arena, wanted, names, count, err);
}

bool session_machine(struct session *session, const char *name, const struct machine **out,
                     struct err *err)
{
    struct arena *arena = session->arena;

    if (session->env.ops_folder == NULL)
        return err_raise(err, ERR_IO, "kernels/machines is not where this program was built");
    return machine_find(arena,
                        path_join(arena, path_dir(arena, session->env.ops_folder), "machines"),
                        name, out, err);
}
