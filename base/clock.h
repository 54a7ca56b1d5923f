#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* Time is taken here only and handed down; nothing below the command line asks for it twice. */
int64_t clock_mono_ns(void); /* CLOCK_MONOTONIC */
int64_t clock_cpu_ns(void);  /* this process's CPU time */
int64_t clock_wall_s(void);  /* seconds since 1970, UTC */

#endif
