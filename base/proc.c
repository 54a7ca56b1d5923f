/*
 * Child processes with deadlines and limits.
 *
 * The parent polls in short ticks: it drains both pipes, looks whether the child has ended, and
 * compares clock, output and resident memory with their limits.  However a child ends, its whole
 * process group is killed before it is reaped, so nothing of it runs on.
 *
 * Memory: the watchdog's limit is on resident bytes, which says PROC_MEMORY reliably; RLIMIT_AS
 * stands well above it as a backstop, since a process that merely fails an allocation can not be
 * told from one that crashed.  A forked child starts with the parent's memory, so both count from
 * there.  Not here: memory of grandchildren, children that leave their process group, sandboxing.
 */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/panic.h"

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif

enum {
    TICK_MS = 5,
    READ_BYTES = 64 * 1024,
    READS_MAX = 64,
    EXIT_NO_EXEC = 127,
    ADDRESS_SLACK_BYTES = 256 << 20,
};

struct child {
    pid_t pid;
    int out_fd, err_fd; /* -1 once at their end */
    struct buf out;
    char *tail; /* the newest stderr bytes, up to twice what is kept */
    size_t tail_len;
    size_t tail_max;
    size_t rss_base; /* resident and address space that were the parent's */
    size_t vm_base;
    int64_t start_ns;
    enum proc_end killed_for; /* PROC_EXITED while it was not killed */
};

bool proc_write_all(int fd, const void *data, size_t len)
{
    const char *at = data;
    while (len) {
        ssize_t done = write(fd, at, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        at += done;
        len -= (size_t)done;
    }
    return true;
}

/* ---- the child's side ---- */

static void set_limit(int resource, rlim_t soft, rlim_t hard)
{
    struct rlimit limit = {soft, hard};
    setrlimit(resource, &limit);
}

/* Between fork and the child's own work; only calls that are safe there. */
static void enter_child(const struct proc_limits *limits, const struct child *child, pid_t parent)
{
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_NO_EXEC);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    set_limit(RLIMIT_CORE, 0, 0);
    if (limits->cpu_s)
        set_limit(RLIMIT_CPU, (rlim_t)limits->cpu_s, (rlim_t)limits->cpu_s + 1);
    if (limits->memory_bytes && !UNDER_ASAN) {
        rlim_t bytes = child->vm_base + 2 * limits->memory_bytes + ADDRESS_SLACK_BYTES;
        set_limit(RLIMIT_AS, bytes, bytes);
    }
}

static void redirect(int in_fd, int out_fd, int err_fd)
{
    dup2(in_fd, STDIN_FILENO);
    dup2(out_fd, STDOUT_FILENO);
    dup2(err_fd, STDERR_FILENO);
}

/* ---- the parent's side ---- */

/* Resident bytes of a process, and its address space; zero when it is gone. */
static void read_statm(pid_t pid, size_t *vm, size_t *rss)
{
    char path[64];
    char text[128];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned long long vm_pages = 0;
    unsigned long long rss_pages = 0;

    snprintf(path, sizeof(path), "/proc/%ld/statm", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (len > 0) {
        text[len] = '\0';
        if (sscanf(text, "%llu %llu", &vm_pages, &rss_pages) != 2)
            rss_pages = vm_pages = 0;
    }
    if (fd >= 0)
        close(fd);
    *vm = (size_t)vm_pages * page;
    *rss = (size_t)rss_pages * page;
}

static void keep_tail(struct child *child, const char *data, size_t len)
{
    size_t keep = child->tail_max;
    if (len > keep) {
        data += len - keep;
        len = keep;
    }
    if (child->tail_len + len > 2 * keep) {
        memmove(child->tail, child->tail + child->tail_len - keep, keep);
        child->tail_len = keep;
    }
    memcpy(child->tail + child->tail_len, data, len);
    child->tail_len += len;
}

static void kill_group(struct child *child, enum proc_end why)
{
    if (child->killed_for == PROC_EXITED)
        child->killed_for = why;
    kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL); /* should it not have become a group yet */
}

/* Reads what is there, but no endless flood; closes *fd at its end. */
static void drain(struct child *child, int *fd)
{
    char data[READ_BYTES];
    for (int i = 0; i < READS_MAX && *fd >= 0; i++) {
        ssize_t len = read(*fd, data, sizeof(data));
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0 && errno == EAGAIN)
            return;
        if (len <= 0) {
            close(*fd);
            *fd = -1;
        } else if (fd == &child->err_fd) {
            keep_tail(child, data, (size_t)len);
        } else {
            buf_bytes(&child->out, data, (size_t)len);
            if (child->out.overflow)
                kill_group(child, PROC_OUTPUT);
        }
    }
}

static bool has_ended(const struct child *child)
{
    siginfo_t info = {0};
    ASSERT(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0);
    return info.si_pid != 0;
}

static void check_limits(struct child *child, const struct proc_limits *limits)
{
    if (limits->wall_ms && clock_mono_ns() - child->start_ns > limits->wall_ms * 1000000)
        kill_group(child, PROC_DEADLINE);
    if (limits->memory_bytes) {
        size_t vm, rss;
        read_statm(child->pid, &vm, &rss);
        if (rss > child->rss_base + limits->memory_bytes)
            kill_group(child, PROC_MEMORY);
    }
}

static void wait_tick(const struct child *child)
{
    struct pollfd fds[] = {{child->out_fd, POLLIN, 0}, {child->err_fd, POLLIN, 0}};
    bool closed = child->out_fd < 0 && child->err_fd < 0;
    poll(fds, 2, closed ? 1 : TICK_MS);
}

static enum proc_end how_ended(const struct child *child, int status)
{
    if (child->killed_for != PROC_EXITED)
        return child->killed_for;
    if (child->out.overflow)
        return PROC_OUTPUT;
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGXCPU ? PROC_DEADLINE : PROC_SIGNALLED;
    return PROC_EXITED;
}

static void finish(struct child *child, struct proc_result *result)
{
    int status;
    struct rusage usage;
    kill(-child->pid, SIGKILL);
    drain(child, &child->out_fd);
    drain(child, &child->err_fd);
    while (wait4(child->pid, &status, 0, &usage) < 0)
        ASSERT(errno == EINTR);
    if (child->out_fd >= 0)
        close(child->out_fd);
    if (child->err_fd >= 0)
        close(child->err_fd);

    size_t cut = child->tail_len > child->tail_max ? child->tail_len - child->tail_max : 0;
    *result = (struct proc_result){
        .end = how_ended(child, status),
        .status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
        .wall_ns = clock_mono_ns() - child->start_ns,
        .cpu_ns = (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
                  (int64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000,
        .rss_bytes_max = (size_t)usage.ru_maxrss * 1024,
        .out = buf_view(&child->out),
        .err = {child->tail + cut, child->tail_len - cut},
    };
    child->tail[child->tail_len] = '\0';
}

static void supervise(struct child *child, const struct proc_limits *limits,
                      struct proc_result *result)
{
    while (!has_ended(child)) {
        wait_tick(child);
        drain(child, &child->out_fd);
        drain(child, &child->err_fd);
        check_limits(child, limits);
    }
    finish(child, result);
}

/* ---- starting ---- */

struct pipes {
    int out[2], err[2], status[2];
    int null;
};

static void close_pipes(struct pipes *pipes)
{
    int *const fds[] = {&pipes->out[0], &pipes->out[1],    &pipes->err[0],   &pipes->err[1],
                        &pipes->null,   &pipes->status[0], &pipes->status[1]};
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        if (*fds[i] >= 0) {
            close(*fds[i]);
            *fds[i] = -1;
        }
}

static bool open_pipes(struct pipes *pipes, struct err *err)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}, -1};
    pipes->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (pipes->null < 0 || pipe2(pipes->out, O_CLOEXEC) != 0 || pipe2(pipes->err, O_CLOEXEC) != 0 ||
        pipe2(pipes->status, O_CLOEXEC) != 0 || fcntl(pipes->out[0], F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(pipes->err[0], F_SETFL, O_NONBLOCK) != 0) {
        err_raise(err, ERR_CHILD, "no pipes for a child process: %s", strerror(errno));
        close_pipes(pipes);
        return false;
    }
    return true;
}

static void child_init(struct child *child, struct arena *arena, const struct proc_limits *limits)
{
    size_t tail_max = limits->output_bytes_max < PROC_STDERR_BYTES_MAX ? limits->output_bytes_max
                                                                       : PROC_STDERR_BYTES_MAX;
    *child = (struct child){
        .tail = arena_array(arena, char, 2 * tail_max + 1),
        .tail_max = tail_max,
        .start_ns = clock_mono_ns(),
        .killed_for = PROC_EXITED,
    };
    buf_init(&child->out, arena, limits->output_bytes_max);
}

/* The parent keeps its ends; the others close. */
static void adopt_pipes(struct child *child, struct pipes *pipes)
{
    setpgid(child->pid, child->pid); /* as the child does: whoever comes first */
    child->out_fd = pipes->out[0];
    child->err_fd = pipes->err[0];
    pipes->out[0] = pipes->err[0] = -1;
}

static NORETURN void exec_child(const char *const *argv, const char *const *env, int status_fd)
{
    char *const *args = (char *const *)argv; /* exec takes them without const, and changes none */
    if (env)
        execvpe(argv[0], args, (char *const *)env);
    else
        execvp(argv[0], args);
    int cause = errno;
    proc_write_all(status_fd, &cause, sizeof(cause));
    _exit(EXIT_NO_EXEC);
}

/* Zero when the child has become the new program, else why it could not. */
static int read_exec_status(struct pipes *pipes)
{
    int cause = 0;
    close(pipes->status[1]);
    pipes->status[1] = -1;
    ssize_t len;
    do
        len = read(pipes->status[0], &cause, sizeof(cause));
    while (len < 0 && errno == EINTR);
    return len == (ssize_t)sizeof(cause) ? cause : 0;
}

bool proc_run(struct arena *arena, const char *const *argv, const char *const *env,
              const struct proc_limits *limits, struct proc_result *result, struct err *err)
{
    struct pipes pipes;
    struct child child;
    pid_t parent = getpid();
    ASSERT(limits->output_bytes_max > 0);
    if (!open_pipes(&pipes, err))
        return false;

    child_init(&child, arena, limits);
    child.pid = fork();
    if (child.pid == 0) {
        enter_child(limits, &child, parent);
        redirect(pipes.null, pipes.out[1], pipes.err[1]);
        exec_child(argv, env, pipes.status[1]);
    }
    if (child.pid < 0) {
        err_raise(err, ERR_CHILD, "fork: %s", strerror(errno));
        close_pipes(&pipes);
        return false;
    }
    adopt_pipes(&child, &pipes);
    int cause = read_exec_status(&pipes);
    close_pipes(&pipes);
    struct proc_result ended;
    supervise(&child, limits, &ended);
    if (cause)
        return err_raise(err, ERR_CHILD, "run %s: %s", argv[0], strerror(cause));
    *result = ended;
    return true;
}

bool proc_fork(struct arena *arena, proc_work *work, void *context,
               const struct proc_limits *limits, struct proc_result *result, struct err *err)
{
    struct pipes pipes;
    struct child child;
    pid_t parent = getpid();
    ASSERT(limits->output_bytes_max > 0);
    if (!open_pipes(&pipes, err))
        return false;

    child_init(&child, arena, limits);
    read_statm(parent, &child.vm_base, &child.rss_base);
    fflush(stdout);
    child.pid = fork();
    if (child.pid == 0) {
        enter_child(limits, &child, parent);
        redirect(pipes.null, pipes.err[1], pipes.err[1]);
        int status = work(context, pipes.out[1]);
        fflush(NULL);
        _exit(status);
    }
    if (child.pid < 0) {
        err_raise(err, ERR_CHILD, "fork: %s", strerror(errno));
        close_pipes(&pipes);
        return false;
    }
    adopt_pipes(&child, &pipes);
    close_pipes(&pipes);
    supervise(&child, limits, result);
    return true;
}
