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
 * Child processes.  Every child is its own process group, dies with its parent (PR_SET_PDEATHSIG),
 * has a deadline after which the whole group is killed, and limits on CPU time, address space (0 =
 * none; under ASan a resident-size watchdog takes RLIMIT_AS's place) and output bytes.
 */
struct proc_limits {
    int64_t wall_ms;
    int64_t cpu_s;           /* 0 = none */
    size_t memory_bytes;     /* 0 = none */
    size_t output_bytes_max; /* of each of stdout and stderr, or of the result */
};

enum proc_end { PROC_EXITED, PROC_SIGNALLED, PROC_DEADLINE, PROC_MEMORY, PROC_OUTPUT };

struct proc_result {
    enum proc_end end;
    int status; /* exit status or signal number */
    int64_t wall_ns;
    int64_t cpu_ns;
    size_t rss_bytes_max;
    struct str out; /* stdout, or what the function wrote */
    struct str err; /* stderr, the last output_bytes_max of it */
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
