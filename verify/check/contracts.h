#ifndef VERIFY_CHECK_CONTRACTS_H
#define VERIFY_CHECK_CONTRACTS_H

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

/*
 * Observed and verdict, version 1: what verification says.  Plain data with a JSON form;
 * parse(print(x)) = x.
 */

/*
 * Observed: named numbers read from PTX, cubin and emulator.  Names are dotted paths, sorted,
 * unique: cubin.KERNEL.registers  .shared_bytes .spill_bytes .barriers .stack_bytes .code_bytes
 *   ptx.KERNEL.mma_f16 ... .cp_async .instructions (static counts)
 *   emu.KERNEL.warp_insns .flops .bank_conflicts .barriers ; emu.bytes_read.TENSOR
 * .bytes_written.TENSOR
 */
struct observation {
    struct str name;
    double value;
};
struct observed {
    const struct observation *items;
    size_t count;
};
bool observed_parse(struct arena *arena, const struct json *json, struct observed *out,
                    struct err *err) MUST_USE;
void observed_print(struct json_writer *w, const struct observed *observed);
/* False and *value untouched when there is no such number. */
bool observed_find(const struct observed *observed, const char *name, double *value);

struct observed_builder {
    struct arena *arena;
    struct observation *items;
    size_t count, room;
};
void observed_begin(struct observed_builder *b, struct arena *arena);
void observed_add(struct observed_builder *b, double value, const char *fmt, ...) PRINTF_LIKE(3, 4);
struct observed observed_end(struct observed_builder *b); /* sorts; the last of equal names wins */

/* The worst element of a comparison. */
struct worst_element {
    bool present;
    struct str tensor;
    int64_t index[8];
    size_t rank;
    double got, want,
        bound;    /* |got - want| <= bound is right; integers exactly as doubles up to 2^53 */
    double ratio; /* |got - want| / bound, the largest of the run */
};

/* One executed check: which data, shape and seed, and what came of it. */
struct check_record {
    enum gate gate;
    struct str shape; /* "M=3 N=7" */
    struct str data;  /* data class, or "" */
    struct str what;  /* "compare", "red zones", "reversed order", "weakest alignment", ... */
    bool passed;
};

enum { VERDICT_REASON_BYTES_MAX = 8192, VERDICT_CHECKS_MAX = 100000 };

struct gate_record {
    enum gate gate;
    bool passed;
    int64_t wall_ns; /* left out of canonical exports */
    struct str note; /* one line */
};

struct verdict {
    enum validity validity;
    enum timing timing;
    enum gate gate;         /* at which it ended; GATE_COMPARE when accepted on the emulator */
    struct str reason;      /* one line a person understands: what, where, remedy */
    struct str detail;      /* compile log excerpt, fault sentence; may be empty */
    int source_line;        /* in the candidate, 0 = none */
    struct str instruction; /* of `unsupported` */
    struct worst_element worst;
    int64_t checks_executed, checks_minimum; /* accepted demands executed >= minimum */
    const struct gate_record *gates;
    size_t gate_count;
    const struct check_record *failed; /* the checks that failed, at most a few */
    size_t failed_count;
    struct str track, arch, executor; /* executor: "emulator" or the GPU's name */
    uint64_t seed;                    /* campaign secret, revealed */
    struct observed observed;
    const int64_t *time_ns; /* samples; empty when timing is none */
    size_t time_count;
    struct str flags; /* "unverifiable: zeros pass", "partial: ..." or "" */
};
bool verdict_parse(struct arena *arena, const struct json *json, struct verdict *out,
                   struct err *err) MUST_USE;
/* with_times false leaves wall clock values out, so that two runs give the same bytes. */
void verdict_print(struct json_writer *w, const struct verdict *verdict, bool with_times);

#endif
