/*
 * What several commands need: cache, compiler, secret, and documents found by path.
 *
 * The secret of all data comes from the operating system unless --seed gives one; so a candidate
 * cannot know its data, and a verdict can still be replayed, for it says its seed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/file.h"

#include "agent/agent.h"

static bool secret_of(const char *text, uint64_t *out, struct err *err)
{
    char *end;

    if (text == NULL) {
        if (getrandom(out, sizeof(*out), 0) != (ssize_t)sizeof(*out))
            return err_raise(err, ERR_IO, "no random bytes from the system: %s", strerror(errno));
        *out >>= 1; /* JSON integers are signed */
        return true;
    }
    errno = 0;
    *out = strtoull(text, &end, 0);
    if (end == text || *end != '\0' || errno != 0 || *out > INT64_MAX || text[0] == '-')
        return err_raise(err, ERR_USAGE,
                         "--seed wants a number from 0 to %lld, decimal or 0x..., not \"%s\"",
                         (long long)INT64_MAX, text);
    return true;
}

bool session_begin(struct session *session, struct arena *arena, const struct common *common,
                   struct err *err)
{
    *session = (struct session){.arena = arena};
    environment_read(arena, &session->env);
    if (!common->no_cache)
        session->cache.folder = common->cache != NULL ? common->cache : session->env.cache_folder;
    return secret_of(common->seed, &session->secret, err);
}

bool session_compiler(struct session *session, struct err *err)
{
    const struct compiler_options options = {
        .paths = {session->env.cuda_home, session->env.build_folder},
        .cache = &session->cache,
    };

    return session->compiler != NULL ||
           compiler_open(session->arena, &options, &session->compiler, err);
}

void session_end(struct session *session)
{
    if (session->compiler != NULL)
        compiler_close(session->compiler);
    session->compiler = NULL;
}

/* ---- documents ---- */

struct library {
    struct session *session;
    const char *folders[2];
};

/* Specs that travel with the one that uses them are noted as the parser asks for them. */
static void note_spec(struct session *session, struct str name, struct str text)
{
    for (size_t i = 0; i < session->spec_count; i++)
        if (str_equal(session->specs[i].name, name))
            return;
    if (session->spec_count < BUNDLE_SPECS_MAX)
        session->specs[session->spec_count++] =
            (struct bundle_spec){str_from(str_copy(session->arena, name)), text};
}

static bool library_find(void *context, struct arena *arena, struct str name, struct str *text)
{
    const struct library *library = context;
    const char *file;
    struct buf buf;
    struct err err;

    if (memchr(name.at, '/', name.len) != NULL || (name.len > 0 && name.at[0] == '.'))
        return false;
    buf_init(&buf, arena, 4096);
    buf_printf(&buf, "%.*s.json", STR_ARG(name));
    file = str_copy(arena, buf_view(&buf));
    for (size_t i = 0; i < COUNT_OF(library->folders); i++) {
        if (library->folders[i] == NULL ||
            !file_read(arena, path_join(arena, library->folders[i], file), OP_SPEC_BYTES_MAX, text,
                       &err))
            continue;
        note_spec(library->session, name, *text);
        return true;
    }
    return false;
}

bool session_spec(struct session *session, const char *path, const struct op **out, struct err *err)
{
    struct library folders = {session, {path_dir(session->arena, path), session->env.ops_folder}};
    const struct op_library library = {library_find, &folders};
    struct str text;

    session->spec_count = 1;
    if (!file_read(session->arena, path, OP_SPEC_BYTES_MAX, &text, err) ||
        !op_parse(session->arena, text, path, &library, out, err))
        return false;
    session->specs[0] = (struct bundle_spec){(*out)->name, text};
    return true;
}

bool session_manifest(struct session *session, const char *path, const struct manifest **out,
                      struct err *err)
{
    const struct json *json;
    struct str text;

    return file_read(session->arena, path, MANIFEST_BYTES_MAX, &text, err) &&
           json_parse(session->arena, text, path, &json, err) &&
           manifest_parse(session->arena, json, out, err);
}

bool session_track(const struct op *op, const char *name, const struct track **out, struct err *err)
{
    char known[256] = "";
    size_t used = 0;

    *out = &op->tracks[0];
    if (name == NULL || op_track_find(op, str_from(name), out))
        return true;
    for (size_t i = 0; i < op->track_count && used < sizeof(known); i++)
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%.*s", i > 0 ? ", " : "",
                                 STR_ARG(op->tracks[i].name));
    return err_raise(err, ERR_USAGE, "%.*s has no track \"%s\"; it has %s", STR_ARG(op->name), name,
                     known);
}

bool session_shape(struct session *session, const struct op *op, const char *text,
                   const struct bound_op **out, struct err *err)
{
    struct formula_env dims;

    *out = NULL;
    if (text == NULL)
        return true;
    if (op_parse_dims(session->arena, op, str_from(text), &dims, err) &&
        op_bind(session->arena, op, &dims, out, err))
        return true;
    err->code = ERR_USAGE;
    return err_context(err, "--shape");
}
