#ifndef VERIFY_EVALUATE_EVALUATE_H
#define VERIFY_EVALUATE_EVALUATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "base/vocab.h"

#include "solver/ir/ir.h"
#include "verify/check/check.h"

/*
 * verify/evaluate: bundle in, verdict out.  A bundle is all that a worker needs, wherever it runs:
 * nothing in it names a path, a command or a machine's address.
 */

/*
 * Candidate, version 1: { "candidate": 1, "form": "cuda", "source": TEXT, "manifest": {...} }.
 * form: "cuda", "ptx", "cubin".  Bytes that are no text are in "source_base64".  The guard is the
 * manifest's.
 */
enum { CANDIDATE_BYTES_MAX = 32 << 20 };
bool candidate_parse(struct arena *arena, const struct json *json, struct candidate *out,
                     struct err *err) MUST_USE;
void candidate_print(struct json_writer *w, const struct candidate *candidate);
struct hash candidate_hash(const struct candidate *candidate);
const char *candidate_form_name(enum candidate_form form);

/* A spec's text under the name by which others `use` it: letters, digits, _ and -. */
struct bundle_spec {
    struct str name;
    struct str text;
};

struct bundle_options {
    enum gate last_gate;       /* run no further than this one */
    int64_t seeds;             /* data sets a class and shape; 0 = default */
    int64_t budget_warp_insns; /* a launch; 0 = default */
    int64_t wall_ms;           /* of the whole evaluation; 0 = default */
    int64_t memory_bytes;      /* of the worker; 0 = default */
    int64_t samples;           /* timed launches of each of candidate and incumbent; 0 = default */
    int64_t smem_bytes_max;    /* opt-in shared memory a block; 0 = of the arch */
    struct str arch;           /* "": the manifest's */
};

/*
 * Bundle, version 1:
 *   { "bundle": 1, "specs": [{"name", "text"}], "task": {...}, "candidate": {...},
 *     "plan": {...} or null, "incumbent": {...} or null, "options": {...}, "secret": "HEX64" }
 * specs[0] is the task's; the others are those that it uses.  `secret` seeds all data.
 */
enum { BUNDLE_SPECS_MAX = 64, BUNDLE_BYTES_MAX = JSON_BYTES_MAX };

struct bundle {
    const struct bundle_spec *specs;
    size_t spec_count;
    const struct task *task;
    struct candidate candidate;
    const struct plan *plan;           /* NULL = none: conformance is not checked */
    const struct candidate *incumbent; /* NULL = none */
    struct bundle_options options;
    uint64_t secret;
};

bool bundle_parse(struct arena *arena, const struct json *json, const struct bundle **out,
                  struct err *err) MUST_USE;
void bundle_print(struct json_writer *w, const struct bundle *bundle);
/* ERR_LIMIT when the document is over BUNDLE_BYTES_MAX. */
bool bundle_hash(const struct bundle *bundle, struct hash *out, struct err *err) MUST_USE;

/*
 * The op of specs[0], parsed; the task must name it (hash, name, track, dims) and the plan, if any,
 * must fit it.  `bundle` must outlive the op.
 */
bool bundle_op(struct arena *arena, const struct bundle *bundle, const struct op **op,
               const struct shape **target, struct err *err) MUST_USE;

/*
 * On disk: one JSON file, or a folder that a person can read and edit:
 *   bundle.json (options, secret, names of the specs), task.json, plan.json, specs/NAME.json,
 *   candidate/kernel.{cu,ptx,cubin} and manifest.json, incumbent/ likewise.
 * bundle_read takes either; plan.json and incumbent/ may be absent.  Writing demands a new folder,
 * so that nothing stale is read later.
 */
bool bundle_read(struct arena *arena, const char *path, const struct bundle **out,
                 struct err *err) MUST_USE;
bool bundle_write_file(const char *path, const struct bundle *bundle, struct err *err) MUST_USE;
bool bundle_write_folder(const char *folder, const struct bundle *bundle, struct err *err) MUST_USE;

/* ---- bundle in, verdict out ---- */

struct evaluate_options {
    struct compiler *compiler; /* NULL: bundles with CUDA source, and GPUs, are out of reach */
    const struct cache *cache; /* of emulations; NULL = none */
    const struct driver_info *driver; /* GPU 0 of it runs candidates; NULL = no GPU */
    bool gpu_only;                    /* start at the gate "gpu": the emulator has had its turn */
};

/*
 * All gates up to the bundle's last one.  Without a GPU the verdict is the emulator's.  What the
 * emulator cannot run (`unsupported`) the GPU decides.  False when no verdict was possible: the
 * bundle's parts contradict each other, or the machine failed.
 */
bool evaluate_bundle(struct arena *arena, const struct bundle *bundle,
                     const struct evaluate_options *options, struct check_products *products,
                     struct verdict *verdict, struct err *err) MUST_USE;

/*
 * Every bundle in a folder (NAME.json or NAME/), one after the other in order of names; each leaves
 * OUT/NAME.verdict.json, replaced as a whole.  A bundle that cannot be read or judged leaves an
 * `infrastructure` verdict and does not stop the others.
 */
struct evaluate_report {
    void (*show)(void *context, size_t number, size_t count, const char *name,
                 const struct verdict *verdict);
    void *context;
};
struct evaluate_tally {
    size_t bundles, judged, accepted; /* judged: all but `infrastructure` */
};
enum { EVALUATE_BUNDLES_MAX = 100000 };
bool evaluate_folder(const char *in, const char *out, const struct evaluate_options *options,
                     const struct evaluate_report *report, struct evaluate_tally *tally,
                     struct err *err) MUST_USE;

#endif
