/*
 * The process's surroundings, read once: environment variables, home folder, where the program
 * lies.  Keys are looked at for presence; their values go from environment_key to the model's
 * client, and nowhere else.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#include "agent/agent.h"

enum { PATH_BYTES_MAX = 4096 };

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0';
}

const char *environment_key(const char *name)
{
    return is_set(name) ? getenv(name) : NULL;
}

static const char *value_of(struct arena *arena, const char *name)
{
    return is_set(name) ? str_copy(arena, str_from(getenv(name))) : NULL;
}

static const char *cache_folder(struct arena *arena)
{
    if (is_set("XDG_CACHE_HOME"))
        return path_join(arena, getenv("XDG_CACHE_HOME"), "warpwright");
    if (is_set("HOME"))
        return path_join(arena, path_join(arena, getenv("HOME"), ".cache"), "warpwright");
    return NULL;
}

static const char *program_folder(struct arena *arena)
{
    char path[PATH_BYTES_MAX];
    const ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (len < 0)
        return ".";
    path[len] = '\0';
    return path_dir(arena, path);
}

/* The program lies in build/COMPILER/, the specs in kernels/ops beside build/. */
static const char *ops_folder(struct arena *arena, const char *program)
{
    const char *places[] = {
        "kernels/ops",
        path_join(arena, program, "../../kernels/ops"),
        path_join(arena, program, "../kernels/ops"),
    };

    for (size_t i = 0; i < COUNT_OF(places); i++)
        if (file_is_dir(places[i]))
            return places[i];
    return NULL;
}

void environment_read(struct arena *arena, struct environment *out)
{
    *out = (struct environment){
        .cuda_home = value_of(arena, "CUDA_HOME"),
        .cache_folder = cache_folder(arena),
        .program_folder = program_folder(arena),
        .openai_key = is_set("OPENAI_API_KEY"),
        .warpwright_key = is_set("WARPWRIGHT_API_KEY"),
    };
    out->build_folder = path_join(arena, path_dir(arena, out->program_folder), "nvrtc");
    out->ops_folder = ops_folder(arena, out->program_folder);
}
