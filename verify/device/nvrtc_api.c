/*
 * NVRTC by dlopen, so that the program starts where there is none.
 *
 * A toolkit that was named is taken or nothing is, except for the wheels that `make deps` unpacked;
 * without a name the usual folders and then the loader's own path are tried, newest major first.
 * The headers are those that lie beside the library that loaded, never another toolkit's.
 *
 * Invariant: every function of NVRTC_REQUIRED is set in a loaded table; those of NVRTC_OPTIONAL may
 * be NULL and each caller looks.  No state outlives the struct.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/panic.h"

#include "verify/device/device_int.h"

enum {
    TRIED_BYTES_MAX = 8192,
    ARCHS_MAX = 64,
    PATH_BYTES = PATH_MAX,
    PROBE_ARENA_BYTES = 4 << 20,
    PROBE_MS = 60 * 1000,
};

static const char *const library_names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
static const char *const usual_homes[] = {"/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"};
static const char *const library_folders[] = {"lib64", "lib", "targets/x86_64-linux/lib"};
static const char *const wheel_folders[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};
static const char *const include_folders[] = {
    "../include",
    "../../include",
    "../../cuda_runtime/include",
    "../../../include",
};

static bool bind(struct nvrtc *nvrtc, const char **missing)
{
    void *at;
#define X(name, result, params)                                                                    \
    at = dlsym(nvrtc->handle, #name);                                                              \
    memcpy(&nvrtc->name, &at, sizeof(at));                                                         \
    if (!at)                                                                                       \
        *missing = #name;
    NVRTC_OPTIONAL(X)
    *missing = NULL;
    NVRTC_REQUIRED(X)
#undef X
    return *missing == NULL;
}

/* The file that the loader took, links resolved; NULL when it does not say. */
static const char *loaded_path(struct arena *arena, void *handle)
{
    struct link_map *map = NULL;
    char path[PATH_MAX];
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map || !realpath(map->l_name, path))
        return NULL;
    return str_copy(arena, str_from(path));
}

static void find_headers(struct arena *arena, struct nvrtc *nvrtc)
{
    const char *folder = path_dir(arena, nvrtc->path);
    for (size_t i = 0; i < COUNT_OF(include_folders); i++) {
        char path[PATH_MAX];
        if (!realpath(path_join(arena, folder, include_folders[i]), path))
            continue;
        const char *include = str_copy(arena, str_from(path));
        if (!file_exists(path_join(arena, include, "cuda_fp16.h")))
            continue;
        const char *cccl = path_join(arena, include, "cccl");
        nvrtc->include = include;
        nvrtc->include_cccl = file_is_dir(cccl) ? cccl : NULL;
        return;
    }
}

static bool try_library(struct arena *arena, const char *path, struct nvrtc *nvrtc,
                        struct buf *tried)
{
    const char *missing = NULL;
    if (strchr(path, '/') && !file_exists(path)) {
        buf_printf(tried, "\n  %s: not there", path);
        return false;
    }
    nvrtc->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!nvrtc->handle) {
        buf_printf(tried, "\n  %s", dlerror());
        return false;
    }
    nvrtc->path = loaded_path(arena, nvrtc->handle);
    if (!bind(nvrtc, &missing) || !nvrtc->path ||
        nvrtc->nvrtcVersion(&nvrtc->major, &nvrtc->minor) != NVRTC_OK) {
        buf_printf(tried, "\n  %s: no usable NVRTC (%s)", path, missing ? missing : "nvrtcVersion");
        nvrtc_unload(nvrtc);
        return false;
    }
    find_headers(arena, nvrtc);
    return true;
}

static bool try_folder(struct arena *arena, const char *folder, struct nvrtc *nvrtc,
                       struct buf *tried)
{
    if (!file_is_dir(folder)) {
        buf_printf(tried, "\n  %s: no such folder", folder);
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(library_names); i++)
        if (try_library(arena, path_join(arena, folder, library_names[i]), nvrtc, tried))
            return true;
    return false;
}

static bool try_home(struct arena *arena, const char *home, struct nvrtc *nvrtc, struct buf *tried)
{
    if (!file_is_dir(home)) {
        buf_printf(tried, "\n  %s: no such folder", home);
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(library_folders); i++) {
        const char *folder = path_join(arena, home, library_folders[i]);
        if (file_is_dir(folder) && try_folder(arena, folder, nvrtc, tried))
            return true;
    }
    return false;
}

static bool try_usual(struct arena *arena, struct nvrtc *nvrtc, struct buf *tried)
{
    for (size_t i = 0; i < COUNT_OF(usual_homes); i++)
        if (try_home(arena, usual_homes[i], nvrtc, tried))
            return true;
    for (size_t i = 0; i < COUNT_OF(library_names); i++)
        if (try_library(arena, library_names[i], nvrtc, tried))
            return true;
    return false;
}

bool nvrtc_load(struct arena *arena, const struct device_paths *paths, struct nvrtc *out,
                struct err *err)
{
    struct buf tried;
    struct nvrtc nvrtc = {0};
    buf_init(&tried, arena, TRIED_BYTES_MAX);
    bool found = paths->cuda_home ? try_home(arena, paths->cuda_home, &nvrtc, &tried)
                                  : try_usual(arena, &nvrtc, &tried);
    for (size_t i = 0; !found && paths->build_folder && i < COUNT_OF(wheel_folders); i++)
        found = try_folder(arena, path_join(arena, paths->build_folder, wheel_folders[i]), &nvrtc,
                           &tried);
    if (!found)
        return err_raise(err, ERR_DEVICE,
                         "no NVRTC (libnvrtc.so.13 or .12) found; `make deps` fetches it, or set "
                         "CUDA_HOME. Tried:%.*s",
                         STR_ARG(buf_view(&tried)));
    *out = nvrtc;
    return true;
}

void nvrtc_unload(struct nvrtc *nvrtc)
{
    if (nvrtc->handle)
        dlclose(nvrtc->handle);
    nvrtc->handle = NULL;
}

/* ---- the probe ---- */

/* What the probing child writes. */
struct report {
    int found, major, minor;
    int arch_count;
    int archs[ARCHS_MAX];
    char path[PATH_BYTES], include[PATH_BYTES], include_cccl[PATH_BYTES]; /* "" = none */
    char why_not[ERR_TEXT_BYTES];
};

static void read_archs(const struct nvrtc *nvrtc, struct report *out)
{
    int count = 0;
    if (!nvrtc->nvrtcGetNumSupportedArchs || !nvrtc->nvrtcGetSupportedArchs ||
        nvrtc->nvrtcGetNumSupportedArchs(&count) != NVRTC_OK || count <= 0 || count > ARCHS_MAX ||
        nvrtc->nvrtcGetSupportedArchs(out->archs) != NVRTC_OK)
        return;
    out->arch_count = count;
}

static void set_path(char *out, const char *path)
{
    if (path)
        snprintf(out, PATH_BYTES, "%s", path);
}

static int probe_child(void *context, int out_fd)
{
    const struct device_paths *paths = context;
    struct arena arena;
    struct nvrtc nvrtc;
    struct err err = {0};
    struct report report = {0};
    arena_init(&arena, PROBE_ARENA_BYTES);
    report.found = nvrtc_load(&arena, paths, &nvrtc, &err);
    if (report.found) {
        report.major = nvrtc.major;
        report.minor = nvrtc.minor;
        set_path(report.path, nvrtc.path);
        set_path(report.include, nvrtc.include);
        set_path(report.include_cccl, nvrtc.include_cccl);
        read_archs(&nvrtc, &report);
    }
    snprintf(report.why_not, sizeof(report.why_not), "%s", err.text);
    arena_release(&arena);
    return proc_write_all(out_fd, &report, sizeof(report)) ? 0 : 1;
}

static bool run_probe(const struct device_paths *paths, struct report *report, struct err *err)
{
    struct arena arena;
    struct proc_result child;
    struct device_paths copy = *paths;
    struct proc_limits limits = {.wall_ms = PROBE_MS, .output_bytes_max = sizeof(*report)};
    arena_init(&arena, PROBE_ARENA_BYTES);
    bool ok = proc_fork(&arena, probe_child, &copy, &limits, &child, err);
    if (ok && (child.end != PROC_EXITED || child.out.len != sizeof(*report)))
        ok = err_raise(err, ERR_CHILD, "a process that loads NVRTC dies");
    if (ok)
        memcpy(report, child.out.at, sizeof(*report));
    arena_release(&arena);
    return ok;
}

static const char *path_or_null(struct arena *arena, const char *path)
{
    return path[0] ? str_copy(arena, str_from(path)) : NULL;
}

/* In a child: the library is 100 MB, keeps memory when it is closed, and may be anything. */
void device_probe_nvrtc(struct arena *arena, const struct device_paths *paths,
                        struct nvrtc_info *out)
{
    struct report report = {0};
    struct err err = {0};
    *out = (struct nvrtc_info){0};
    if (!run_probe(paths, &report, &err) || !report.found) {
        out->why_not = str_copy(arena, str_from(err.text[0] ? err.text : report.why_not));
        return;
    }
    int *archs = arena_array(arena, int, (size_t)report.arch_count);
    memcpy(archs, report.archs, (size_t)report.arch_count * sizeof(*archs));
    *out = (struct nvrtc_info){
        .found = true,
        .path = path_or_null(arena, report.path),
        .major = report.major,
        .minor = report.minor,
        .archs = archs,
        .arch_count = (size_t)report.arch_count,
        .include = path_or_null(arena, report.include),
        .include_cccl = path_or_null(arena, report.include_cccl),
    };
}
