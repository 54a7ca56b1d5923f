#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

/*
 * Child processes.  Every child is its own process group and dies with the thread that started it
 * (PR_SET_PDEATHSIG).  It has a deadline and limits on CPU time, memory and output; past any of
 * them, and whenever the child itself ends, the whole group is killed.
 *
 * Memory is resident bytes, looked at every few milliseconds; for proc_fork it is what the child
 * has beyond its parent's at the fork.  RLIMIT_AS stands at twice that and 256 MiB as a backstop,
 * except under ASan, which reserves address space without end.
 */
struct proc_limits {
    int64_t wall_ms;         /* 0 = none */
    int64_t cpu_s;           /* 0 = none */
    size_t memory_bytes;     /* 0 = none */
    size_t output_bytes_max; /* of stdout, or of what the function wrote */
};

enum { PROC_STDERR_BYTES_MAX = 256 << 10 };

/* PROC_DEADLINE is both wall_ms and cpu_s; stderr over its limit loses its beginning, no more. */
enum proc_end { PROC_EXITED, PROC_SIGNALLED, PROC_DEADLINE, PROC_MEMORY, PROC_OUTPUT };

struct proc_result {
    enum proc_end end;
    int status; /* exit status or signal number */
    int64_t wall_ns;
    int64_t cpu_ns;
    size_t rss_bytes_max; /* at least the parent's: the kernel counts from the fork */
    struct str out;       /* stdout, or what the function wrote */
    struct str err;       /* the end of stderr: output_bytes_max, at most PROC_STDERR_BYTES_MAX */
};

/* Run argv[0] (a path, or a name looked up in PATH) with no stdin.  `env` NULL = inherit. */
bool proc_run(struct arena *arena, const char *const *argv, const char *const *env,
              const struct proc_limits *limits, struct proc_result *result,
              struct err *err) MUST_USE;

/*
 * Run `work` in a fork of this process; what it writes to the descriptor is result->out.  The child
 * ends with the returned status; it must not touch what the parent shares (databases, terminals).
 */
typedef int proc_work(void *context, int out_fd);
bool proc_fork(struct arena *arena, proc_work *work, void *context,
               const struct proc_limits *limits, struct proc_result *result,
               struct err *err) MUST_USE;

/* Write all of `data` to a descriptor, retrying interrupted and short writes. */
bool proc_write_all(int fd, const void *data, size_t len);

#endif
