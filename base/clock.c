/* The clocks of the machine as plain numbers. */
#include "base/clock.h"

#include <time.h>

#include "base/panic.h"

static int64_t read_ns(clockid_t id)
{
    struct timespec now;
    ASSERT(clock_gettime(id, &now) == 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_mono_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_cpu_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_wall_s(void)
{
    return read_ns(CLOCK_REALTIME) / 1000000000;
}
