#ifndef VERIFY_DEVICE_DEVICE_INT_H
#define VERIFY_DEVICE_DEVICE_INT_H

#include "base/proc.h"

#include "verify/device/device.h"

/* What the files of verify/device share among themselves. */

/* ---- NVRTC by dlopen ---- */

struct nvrtc_program; /* NVRTC's own, opaque */

/* Name, return type, parameters; REQUIRED ones make the load fail, OPTIONAL ones stay NULL. */
#define NVRTC_REQUIRED(X)                                                                          \
    X(nvrtcGetErrorString, const char *, (int))                                                    \
    X(nvrtcVersion, int, (int *, int *))                                                           \
    X(nvrtcCreateProgram, int,                                                                     \
      (struct nvrtc_program **, const char *, const char *, int, const char *const *,              \
       const char *const *))                                                                       \
    X(nvrtcDestroyProgram, int, (struct nvrtc_program **))                                         \
    X(nvrtcCompileProgram, int, (struct nvrtc_program *, int, const char *const *))                \
    X(nvrtcGetPTXSize, int, (struct nvrtc_program *, size_t *))                                    \
    X(nvrtcGetPTX, int, (struct nvrtc_program *, char *))                                          \
    X(nvrtcGetProgramLogSize, int, (struct nvrtc_program *, size_t *))                             \
    X(nvrtcGetProgramLog, int, (struct nvrtc_program *, char *))
#define NVRTC_OPTIONAL(X)                                                                          \
    X(nvrtcGetNumSupportedArchs, int, (int *))                                                     \
    X(nvrtcGetSupportedArchs, int, (int *))                                                        \
    X(nvrtcGetCUBINSize, int, (struct nvrtc_program *, size_t *))                                  \
    X(nvrtcGetCUBIN, int, (struct nvrtc_program *, char *))                                        \
    X(nvrtcSetPCHHeapSize, int, (size_t))                                                          \
    X(nvrtcGetPCHCreateStatus, int, (struct nvrtc_program *))

enum { NVRTC_OK = 0, NVRTC_OUT_OF_MEMORY = 1, NVRTC_INVALID_OPTION = 5, NVRTC_COMPILATION = 6 };

struct nvrtc {
    void *handle; /* NULL = not loaded */
    const char *path;
    int major, minor;
    const char *include; /* NULL = none found beside the library */
    const char *include_cccl;
#define X(name, result, params) result(*name) params;
    NVRTC_REQUIRED(X)
    NVRTC_OPTIONAL(X)
#undef X
};

/* ERR_DEVICE lists what was tried.  Strings are owned by `arena`; close with nvrtc_unload. */
bool nvrtc_load(struct arena *arena, const struct device_paths *paths, struct nvrtc *out,
                struct err *err) MUST_USE;
void nvrtc_unload(struct nvrtc *nvrtc);

/* ---- headers a candidate may include ---- */

enum header_kind {
    HEADER_REFUSED,
    HEADER_MEMORY,  /* a standard header: served from memory, the prelude has what it declares */
    HEADER_TOOLKIT, /* of the toolkit; may go before everything else */
    HEADER_LATE,    /* of the toolkit, but needs the prelude before it */
};
enum header_kind header_kind(struct str name);
/* What to do instead, NULL = no particular advice. */
const char *header_remedy(struct str name);
/* The names of the in-memory headers, and their count. */
const char *const *header_memory_names(size_t *count);

/* ---- the screen ---- */

enum { SCREEN_HOISTED_MAX = 32 };

struct screen_report {
    /* Toolkit headers that the source includes before its first macro or conditional, so that
     * including them before everything else changes nothing: sorted, each once. */
    struct str hoisted[SCREEN_HOISTED_MAX];
    size_t hoisted_count;
};

struct screen_options {
    bool strict; /* no sandbox behind us: refuse what is merely unusual, too */
};

bool screen_source(struct str source, const struct screen_options *options,
                   struct screen_report *report, struct err *err) MUST_USE;

/* ---- the sandbox of a compile ---- */

struct sandbox {
    struct sandbox_info have;
    const int *readable_fds; /* O_PATH folders that stay readable */
    size_t readable_count;
    int scratch_fd; /* O_PATH folder where files may be made, or -1: nothing can be written */
};
/*
 * For the calling process, for good: files only below the readable folders, nothing writable but
 * what is open, no sockets, no new processes or programs.  Uses what the machine has; false with
 * ERR_UNSUPPORTED when neither Landlock nor namespaces could be applied.
 */
bool sandbox_enter(const struct sandbox *sandbox, struct err *err) MUST_USE;
bool sandbox_confines_files(const struct sandbox_info *have);

/* ---- one compile, in a child ---- */

enum {
    COMPILE_PTX_BYTES_MAX = 32 << 20,
    COMPILE_CUBIN_BYTES_MAX = 64 << 20,
    COMPILE_ARCH_BYTES = 32,
    COMPILE_HEADERS_BYTES_MAX = 4096,
    COMPILE_OPTIONS_MAX = 24,
};

/* Newer options, dropped one by one when the library refuses them. */
#define COMPILE_OPTIONAL(X)                                                                        \
    X("--modify-stack-limit=false")                                                                \
    X("-no-cache")

/* NVRTC with what was learnt about it, ready to compile. */
struct compile_tool {
    const struct nvrtc *nvrtc;
    struct sandbox sandbox;
    const char *include_options[2]; /* "-I/proc/self/fd/N" */
    size_t include_count;
    const char *optional[4]; /* of COMPILE_OPTIONAL, those it takes */
    size_t optional_count;
    int folder_fds[2];
    const char *scratch; /* an empty folder of ours for precompiled headers, NULL = none */
    int scratch_fd;
};

/* Loads what a first compile loads, so that later ones need no file but headers; opens the include
 * folders under fixed descriptors, so that no host path reaches PTX, cubin or log. */
bool compile_tool_prepare(struct compile_tool *tool, struct arena *arena, const struct nvrtc *nvrtc,
                          const struct sandbox_info *have, struct err *err) MUST_USE;
/* Makes the scratch folder, where precompiled headers are usable at all; sweeps those that killed
 * servers left behind.  Without one, compiles are slower and otherwise the same. */
void compile_tool_scratch(struct compile_tool *tool, struct arena *arena);
void compile_tool_release(struct compile_tool *tool);

struct compile_job {
    struct str source;
    const char *arch;
    const char *headers; /* text of #include lines that go first; "" = none */
    const char *pch;     /* path of a precompiled prefix, NULL = none */
    bool debug;
};

/* What a child writes: this head, then PTX, cubin, log. */
enum { COMPILE_FRAME_MAGIC = 0x31665777 };
struct compile_frame {
    uint32_t magic;
    int32_t rc; /* nvrtcResult, or -1: the sandbox failed, the log says why */
    uint32_t over_limit;
    uint32_t pad;
    uint64_t ptx_len, cubin_len, log_len;
};
enum {
    COMPILE_FRAME_BYTES_MAX = (int)sizeof(struct compile_frame) + COMPILE_PTX_BYTES_MAX +
                              COMPILE_CUBIN_BYTES_MAX + COMPILE_LOG_BYTES_MAX,
};

/* In the child: confine, compile, write the frame.  Returns the exit status. */
int compile_child_run(const struct compile_tool *tool, const struct compile_job *job, int out_fd);

/* In the server: precompile `headers` and the prelude into a sealed memory file, whose descriptor
 * goes to *fd; -1 when the library cannot. */
void compile_precompile(const struct compile_tool *tool, const char *arch, bool debug,
                        const char *headers, int *fd);

/* ---- the fork server ---- */

struct compile_server {
    int pid; /* 0 = not running */
    int fd;
};
enum compile_relay { RELAY_OK, RELAY_LOST, RELAY_FAILED };

/* RELAY_LOST: the server died or hung and has been stopped, *err says when; RELAY_FAILED with *err:
 * it answered that it cannot. */
enum compile_relay compile_server_start(const struct device_paths *paths,
                                        struct compile_server *server, struct err *err) MUST_USE;
void compile_server_stop(struct compile_server *server);

/* One job through the server. */
enum compile_relay compile_server_run(struct compile_server *server, struct arena *arena,
                                      const struct compile_job *job,
                                      const struct proc_limits *limits, struct proc_result *result,
                                      struct err *err) MUST_USE;

/* ---- the log ---- */

/* Host-dependent parts replaced or left out: folders, times. */
bool compile_log_clean(struct arena *arena, struct str raw, struct str *clean,
                       struct err *err) MUST_USE;
/* The same for the names in .file lines. */
struct str compile_ptx_clean(struct arena *arena, struct str ptx);
void compile_log_parse(struct arena *arena, struct str log, struct compile_result *result);

#endif
