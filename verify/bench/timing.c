/*
 * Samples, what they add up to, and the floor below which a time is no time.
 *
 * The median stands for a kernel, because single launches are disturbed upwards only; quartiles say
 * how far to believe it.  A median below the floor is never a result: the launch did not read its
 * inputs, or the clock is wrong.
 *
 * Leaves out: warm times, graph replay, opponents in a paired loop.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"

#include "verify/bench/bench.h"

/* TUNING: a repeat of the same kernel on an H200 has a spread under 2 %. */
static const double spread_max = 0.10;

static int compare_times(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t quantile(const int64_t *sorted, size_t count, double part)
{
    const double at = part * (double)(count - 1);
    const size_t below = (size_t)at;
    const size_t above = below + 1 < count ? below + 1 : below;
    const double share = at - (double)below;

    return (int64_t)floor((double)sorted[below] * (1 - share) + (double)sorted[above] * share +
                          0.5);
}

void bench_summarise(struct arena *arena, const int64_t *times_ns, size_t count,
                     struct bench_summary *out)
{
    int64_t *sorted = arena_array(arena, int64_t, count);

    ASSERT(count > 0);
    memcpy(sorted, times_ns, count * sizeof(sorted[0]));
    qsort(sorted, count, sizeof(sorted[0]), compare_times);
    *out = (struct bench_summary){
        .median_ns = quantile(sorted, count, 0.5),
        .least_ns = sorted[0],
        .most_ns = sorted[count - 1],
        .quartile_ns = {quantile(sorted, count, 0.25), quantile(sorted, count, 0.75)},
    };
    if (out->median_ns > 0)
        out->spread = (double)(out->quartile_ns[1] - out->quartile_ns[0]) / (double)out->median_ns;
}

int64_t bench_floor_ns(const struct op_count *count, size_t l2_bytes, double bytes_per_s)
{
    const double kept = fmin((double)count->bytes_written, (double)l2_bytes);
    const double bytes = (double)count->bytes_read + (double)count->bytes_written - kept;

    return bytes_per_s > 0 ? (int64_t)(bytes / bytes_per_s * 1e9) : 0;
}

static bool take_samples(struct gpu_trial *trial, int64_t *times, size_t count, bool *passed,
                         struct err *err)
{
    int64_t ignored;

    *passed = true;
    for (int i = 0; i < BENCH_WARM_UPS && *passed; i++)
        if (!gpu_trial_launch(trial, &ignored, passed, err))
            return false;
    for (size_t i = 0; i < count && *passed; i++)
        if (!gpu_trial_launch(trial, &times[i], passed, err))
            return false;
    return true;
}

static void observe(struct observed_builder *observed, const struct bench_summary *summary,
                    int64_t floor_ns)
{
    observed_add(observed, (double)summary->median_ns, "gpu.time.median_ns");
    observed_add(observed, (double)summary->least_ns, "gpu.time.least_ns");
    observed_add(observed, (double)summary->most_ns, "gpu.time.most_ns");
    observed_add(observed, (double)summary->quartile_ns[0], "gpu.time.quartile1_ns");
    observed_add(observed, (double)summary->quartile_ns[1], "gpu.time.quartile3_ns");
    observed_add(observed, summary->spread, "gpu.time.spread");
    observed_add(observed, (double)floor_ns, "gpu.time.floor_ns");
}

static void judge(struct arena *arena, struct verdict *verdict, const struct bench_summary *summary,
                  int64_t floor_ns)
{
    struct buf text;

    buf_init(&text, arena, VERDICT_REASON_BYTES_MAX);
    buf_printf(&text, "%.*s; median of %zu cold launches %.2f us, spread %.1f %%",
               STR_ARG(verdict->reason), verdict->time_count, (double)summary->median_ns / 1e3,
               100 * summary->spread);
    if (summary->median_ns < floor_ns) {
        verdict->timing = TIMING_BELOW_FLOOR;
        buf_printf(&text, ": below the %.2f us that its compulsory traffic takes",
                   (double)floor_ns / 1e3);
    } else {
        verdict->timing = summary->spread > spread_max ? TIMING_UNSTABLE : TIMING_MEASURED;
    }
    verdict->gate = GATE_TIME;
    verdict->reason = str_from(str_copy(arena, buf_view(&text)));
}

bool bench_trial(struct arena *arena, struct gpu_trial *trial, const struct bound_op *target,
                 int64_t samples, struct verdict *verdict, struct observed_builder *observed,
                 bool *passed, struct err *err)
{
    const int64_t asked = samples > 0 ? samples : BENCH_SAMPLES_DEFAULT;
    const size_t count = (size_t)(asked > BENCH_SAMPLES_MIN ? asked : BENCH_SAMPLES_MIN);
    const struct gpu_facts *facts = gpu_trial_facts(trial);
    const struct op_count traffic = op_count(target);
    const int64_t floor_ns = bench_floor_ns(&traffic, facts->l2_bytes, facts->bytes_per_s);
    int64_t *times = arena_array(arena, int64_t, count);
    struct bench_summary summary;

    if (!take_samples(trial, times, count, passed, err))
        return false;
    if (!*passed)
        return true;
    verdict->time_ns = times;
    verdict->time_count = count;
    bench_summarise(arena, times, count, &summary);
    observe(observed, &summary, floor_ns);
    judge(arena, verdict, &summary, floor_ns);
    return true;
}
