#ifndef VERIFY_BENCH_BENCH_H
#define VERIFY_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

#include "verify/check/check.h"

/*
 * verify/bench: how long a launch takes, cold.
 *
 * A sample is the time from the first kernel's start to the last one's end, gaps and the zeroing of
 * workspaces included, after 256 MiB (at least twice the L2 cache) were written and read and all
 * shared memory was overwritten.  Each has its own data and addresses, and all its outputs are
 * compared.  No time is subtracted.
 */
enum { BENCH_SAMPLES_MIN = 30, BENCH_SAMPLES_DEFAULT = 40, BENCH_WARM_UPS = 3 };

struct bench_summary {
    int64_t median_ns, least_ns, most_ns;
    int64_t quartile_ns[2]; /* first and third */
    double spread;          /* (third - first) / median */
};
/* Median and quartiles by linear interpolation between order statistics; count > 0. */
void bench_summarise(struct arena *arena, const int64_t *times_ns, size_t count,
                     struct bench_summary *out);

/*
 * No launch on cold caches can be faster: compulsory reads, and those writes that the L2 cache
 * cannot keep, at the memory's full rate (DESIGN section 5).  0 where the rate is not known.
 */
int64_t bench_floor_ns(const struct op_count *count, size_t l2_bytes, double bytes_per_s);

/*
 * The gate "time": fills the verdict's samples, timing and observed numbers (gpu.time.*), or says
 * what was wrong with *passed false.  samples 0 = BENCH_SAMPLES_DEFAULT, at least
 * BENCH_SAMPLES_MIN.
 */
bool bench_trial(struct arena *arena, struct gpu_trial *trial, const struct bound_op *target,
                 int64_t samples, struct verdict *verdict, struct observed_builder *observed,
                 bool *passed, struct err *err) MUST_USE;

#endif
