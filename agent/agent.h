#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/cache.h"
#include "base/err.h"
#include "base/opt.h"

#include "agent/llm/llm.h"
#include "solver/ir/ir.h"
#include "synth/synth.h"
#include "verify/check/check.h"
#include "verify/device/device.h"
#include "verify/evaluate/evaluate.h"

/*
 * agent: the command line.  One cmd_*.c a command: option table, call a module, print.  Results go
 * to stdout, progress to stderr; exit 0 done, 1 failed or rejected, 2 usage or bad input.  The
 * environment is read in environment.c and nowhere else.
 */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct command {
    const char *name;
    int (*run)(const struct command *self, int argc, char **argv);
    const char *summary;
};
int cmd_synth(const struct command *self, int argc, char **argv);
int cmd_plan(const struct command *self, int argc, char **argv);
int cmd_verify(const struct command *self, int argc, char **argv);
int cmd_selftest(const struct command *self, int argc, char **argv);
int cmd_doctor(const struct command *self, int argc, char **argv);
int cmd_memory(const struct command *self, int argc, char **argv);
int cmd_evaluate(const struct command *self, int argc, char **argv);
int cmd_bench_solver(const struct command *self, int argc, char **argv);

/* Parses the arguments; false when the command ends here (help, usage), with its *status. */
bool command_begin(const struct opt_command *command, int argc, char **argv,
                   const char **positional, int *count, int *status) MUST_USE;
/* Prints "warpwright COMMAND: text" to stderr and returns the exit status that the code means. */
int command_failed(const char *name, const struct err *err);

/* ---- environment.c ---- */

struct environment {
    const char *cuda_home;    /* $CUDA_HOME or NULL */
    const char *cache_folder; /* $XDG_CACHE_HOME/warpwright, ~/.cache/warpwright, or NULL */
    const char *program_folder;
    const char *build_folder;        /* where `make deps` unpacks; NULL = none */
    const char *ops_folder;          /* kernels/ops of this program; NULL = not found */
    bool openai_key, warpwright_key; /* set or not */
};
void environment_read(struct arena *arena, struct environment *out);
/* The value of a variable that holds a key; NULL when it is unset or empty.  Never print it. */
const char *environment_key(const char *name);

/* ---- session.c: what several commands need ---- */

/* Options that mean the same wherever they appear. */
struct common {
    const char *track, *arch, *seed, *shape, *out, *cache;
    bool json, no_cache;
};
#define COMMON_TRACK(c)                                                                            \
    {                                                                                              \
        "track", OPT_TEXT, &(c)->track, "NAME", "accuracy class, one of the spec's", 0, 0          \
    }
#define COMMON_ARCH(c, text)                                                                       \
    {                                                                                              \
        "arch", OPT_TEXT, &(c)->arch, "ARCH", text, 0, 0                                           \
    }
#define COMMON_SEED(c)                                                                             \
    {                                                                                              \
        "seed", OPT_TEXT, &(c)->seed, "S", "secret of all data; default: from the system", 0, 0    \
    }
#define COMMON_SHAPE(c, text)                                                                      \
    {                                                                                              \
        "shape", OPT_TEXT, &(c)->shape, "M=..,N=..", text, 0, 0                                    \
    }
#define COMMON_OUT(c, text)                                                                        \
    {                                                                                              \
        "out", OPT_TEXT, &(c)->out, "DIR", text, 0, 0                                              \
    }
#define COMMON_JSON(c)                                                                             \
    {                                                                                              \
        "json", OPT_FLAG, &(c)->json, NULL, "print one JSON document", 0, 0                        \
    }
#define COMMON_CACHE(c)                                                                            \
    {                                                                                              \
        "cache", OPT_TEXT, &(c)->cache, "DIR", "cache folder; default: the user's cache folder",   \
        0,       0},                                                                               \
    {                                                                                              \
        "no-cache", OPT_FLAG, &(c)->no_cache, NULL, "neither read nor write the cache", 0, 0       \
    }

struct session {
    struct arena *arena;
    struct environment env;
    struct cache cache;
    struct compiler *compiler; /* NULL until session_compiler */
    uint64_t secret;
    struct bundle_spec specs[BUNDLE_SPECS_MAX]; /* of the last session_spec: it, then the used */
    size_t spec_count;
};
bool session_begin(struct session *session, struct arena *arena, const struct common *common,
                   struct err *err) MUST_USE;
bool session_compiler(struct session *session, struct err *err) MUST_USE;
void session_end(struct session *session);

/* A spec by path; `use` finds specs in its own folder, then in kernels/ops. */
bool session_spec(struct session *session, const char *path, const struct op **out,
                  struct err *err) MUST_USE;
bool session_manifest(struct session *session, const char *path, const struct manifest **out,
                      struct err *err) MUST_USE;
/* --track and --shape against the spec; *shape NULL when not given. */
bool session_track(const struct op *op, const char *name, const struct track **out,
                   struct err *err) MUST_USE;
bool session_shape(struct session *session, const struct op *op, const char *text,
                   const struct bound_op **out, struct err *err) MUST_USE;

/* ---- session_machine.c ---- */

/* FOLDER/NAME.json; NAME may be an architecture ("sm_90a"), NULL is h200-sxm.  ERR_USAGE lists the
 * known names. */
bool machine_find(struct arena *arena, const char *folder, const char *name,
                  const struct machine **out, struct err *err) MUST_USE;
/* The same in kernels/machines of this program. */
bool session_machine(struct session *session, const char *name, const struct machine **out,
                     struct err *err) MUST_USE;

/* ---- session_primitives.c ---- */

struct catalogue;
/* kernels/primitives of this program, whole: a document that is missing is an error. */
bool session_primitives(struct session *session, const struct catalogue **out,
                        struct err *err) MUST_USE;

/* ---- model.c: who writes CUDA ---- */

struct model_args {
    const char *llm, *model, *key_file, *record, *replay;
    bool strict, plain_http;
    int64_t deadline_s; /* of one answer; 0 = default */
};
/* *out NULL: no model. */
bool session_model(struct session *session, const struct model_args *args, struct llm **out,
                   struct err *err) MUST_USE;
/* The name under which a bank knows the tape; "" = none. */
const char *model_tape(const struct model_args *args);

/* ---- products.c: what a verified candidate leaves in a folder ---- */

struct products {
    struct str source;               /* kernel.cu; empty for PTX and cubin candidates */
    const struct manifest *manifest; /* NULL = none */
    const struct plan *plan;         /* NULL = none */
    const struct check_products *made;
    const struct verdict *verdict;
};
bool products_write(struct arena *arena, const char *folder, const struct products *products,
                    struct err *err) MUST_USE;
struct str verdict_json(struct arena *arena, const struct verdict *verdict);

/* ---- pack.c: a bundle from a kernel and its manifest ---- */

struct pack_args {
    const char *file, *spec, *kernel;
    const char *manifest, *plan, *gate; /* NULL = default */
    int64_t samples;
};
int pack_bundle(const struct command *self, const struct pack_args *args,
                const struct common *common);

/* ---- verdict_text.c ---- */

/* The evidence, indented, without times: equal runs print equal text. */
void verdict_text(struct buf *out, const struct verdict *verdict);
/* "12 registers, 1 KB shared, 0 spilled" of the first kernel; empty when nothing is known. */
void resources_text(struct buf *out, const struct observed *observed);

/* ---- progress.c ---- */

/* One line at 4 Hz on a terminal, plain lines elsewhere; on stderr. */
struct progress {
    bool terminal;
    int64_t shown_ns;
    bool dirty;
};
void progress_begin(struct progress *progress);
void progress_show(struct progress *progress, const char *fmt, ...) PRINTF_LIKE(2, 3);
void progress_end(struct progress *progress);

#endif
