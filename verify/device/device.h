#ifndef VERIFY_DEVICE_DEVICE_H
#define VERIFY_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/cache.h"
#include "base/err.h"
#include "base/str.h"

#include "verify/device/gpu.h"

/*
 * verify/device: NVRTC and the CUDA driver through dlopen, so one binary starts anywhere; sandboxed
 * compiles; cubins read in plain C.
 */

/* ---- what this machine has ---- */

struct nvrtc_info {
    bool found;
    const char *path; /* of the library that loaded */
    int major, minor;
    const int *archs; /* as the library reports them: 75 80 ... */
    size_t arch_count;
    const char *include; /* toolkit headers, NULL = only the built-in ones */
    const char *include_cccl;
    const char *why_not; /* when not found: what was tried */
};

struct sandbox_info {
    int landlock_abi; /* 0 = none */
    bool user_namespaces;
    bool seccomp;
};

struct gpu_info {
    const char *name;
    int cc_major, cc_minor;
    int sm_count;
    size_t memory_bytes, l2_bytes, smem_optin_bytes;
};

struct driver_info {
    bool found;
    int version; /* 13000 = 13.0 */
    const struct gpu_info *gpus;
    size_t gpu_count;
    const char *why_not;
};

/* Where to look, decided by the command line and environment above this layer; NULL = skip. */
struct device_paths {
    const char *cuda_home; /* $CUDA_HOME: this toolkit or none; NULL: the usual places are tried */
    const char *build_folder; /* "build/nvrtc", wheels unpacked by `make deps`; tried last */
};

/* Each looks in a child, so that nothing of what it loads stays in this process. */
void device_probe_nvrtc(struct arena *arena, const struct device_paths *paths,
                        struct nvrtc_info *out);
void device_probe_driver(struct arena *arena, struct driver_info *out);
void device_probe_sandbox(struct sandbox_info *out);

/* ---- screening the source text ---- */

/*
 * Before the compiler sees it: after line splicing, comment removal, trigraph and digraph handling,
 * every #include / #include_next / __has_include / #embed / #import / #pragma-include must name an
 * allow-listed header; no absolute path, no "..", no macro-expanded include; no #line.  Host-only
 * constructs (<<<, torch/, int main) outside conditionals get a remedy.  When refused, false with
 * "kernel.cu:LINE:COLUMN: what", the source line, a caret and the remedy.
 */
bool device_screen_source(struct str source, struct err *err) MUST_USE;

/* ---- compiling ---- */

enum { COMPILE_SOURCE_BYTES_MAX = 4 << 20, COMPILE_LOG_BYTES_MAX = 256 << 10 };

struct compile_request {
    struct str source;
    const char *arch;    /* "sm_90a", "sm_90", "sm_80", "compute_90" (PTX only) */
    bool debug;          /* -G: no optimisation, so that undefined behaviour shows */
    int64_t wall_ms;     /* 0 = 60 s; counted in CPU time, 5 times as long on a busy machine */
    size_t memory_bytes; /* 0 = 4 GiB */
};

enum compile_end {
    COMPILE_OK,
    COMPILE_REJECTED, /* by the screen */
    COMPILE_FAILED,   /* errors in the source */
    COMPILE_DEADLINE,
    COMPILE_MEMORY,
    COMPILE_OUTPUT,  /* PTX, cubin or log over its limit */
    COMPILE_CRASHED, /* the compiler itself died */
};
const char *compile_end_text(enum compile_end end);

struct compile_diagnostic {
    int line, column; /* in the candidate's source; 0 = elsewhere */
    bool is_error;
    const char *text;
    const char *source_line; /* NULL = not known */
};

struct compile_result {
    enum compile_end end;
    struct str ptx;   /* empty unless COMPILE_OK */
    struct str cubin; /* empty for compute_XX */
    struct str log;   /* scrubbed of host paths; candidate is "kernel.cu" */
    const struct compile_diagnostic *diagnostics;
    size_t diagnostic_count;
    const char *reason; /* one line: what and where */
    int64_t wall_ns;    /* of this compile; of the first one when cached */
    bool cached;
};

/*
 * A compiler: one fork server with NVRTC loaded and a precompiled prelude, started at first use;
 * each compile is a fork of it, sandboxed (Landlock or namespaces, seccomp, rlimits), killed at its
 * deadline.  Headers that the source includes first are precompiled at their first use, and kept.
 *
 * One compile at a time; for more, open more compilers.  The server dies with the thread that
 * started it, so compile from a thread that lives on.  In every output the candidate is called
 * kernel.cu and headers lie in cuda/, so no host path shows in PTX or log; before each source stand
 * the prelude's types, limits, constants and a small namespace std.
 */
struct compiler;
struct compiler_options {
    struct device_paths paths;
    const struct cache *cache; /* NULL = none */
    bool no_server;            /* a fresh child loads NVRTC each time */
};
bool compiler_open(struct arena *arena, const struct compiler_options *options,
                   struct compiler **out, struct err *err) MUST_USE;
/* Err only when the machine failed (no NVRTC, fork failed) or the arch is none that NVRTC has; a
 * bad source is a result.  The result lives in `arena`: PTX, cubin, log and little else. */
bool compiler_compile(struct compiler *compiler, struct arena *arena,
                      const struct compile_request *request, struct compile_result *result,
                      struct err *err) MUST_USE;
void compiler_close(struct compiler *compiler);

/* ---- cubins ---- */

struct cubin_kernel {
    const char *name;
    uint32_t registers;
    uint32_t shared_bytes; /* static, without the 1 KB that sm_90 and later reserve */
    uint32_t barriers;
    uint32_t stack_bytes; /* frame */
    uint32_t spill_store_bytes,
        spill_load_bytes; /* from the compile log; 0 when no log was given */
    uint32_t max_threads; /* launch bound, 0 = none */
    uint32_t code_bytes;
    uint32_t param_bytes, param_count;
    uint32_t cluster[3];
};
struct cubin {
    int sm;                /* 90 */
    uint64_t global_bytes; /* of __device__ variables; a source may ask for a terabyte */
    const struct cubin_kernel *kernels;
    size_t kernel_count;
};
/* Defensive ELF64 reader; ERR_SYNTAX names the section at fault.  `log` may be empty. */
bool cubin_read(struct arena *arena, struct str bytes, struct str log, struct cubin *out,
                struct err *err) MUST_USE;

#endif
