/*
 * The fork server: a process that has NVRTC loaded and headers precompiled, and forks for each
 * compile.
 *
 * Parent and server share a socket.  The server says once that it is ready, or why it is not, then
 * answers requests one at a time, in order: it runs the compile in a fork (base/proc.h kills that
 * at its limits) and sends back how the fork ended and what it wrote.  Precompiled prefixes are
 * made when first needed and kept, the least recently used giving way; only allow-listed headers go
 * into them, so the server itself never reads a candidate.
 *
 * Invariant: the server outlives nobody.  It dies with its parent (PR_SET_PDEATHSIG, and the end of
 * the socket), its forks die with it, and the parent waits for no answer without a deadline.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/panic.h"

#include "verify/device/device_int.h"

enum {
    SERVER_MAGIC = 0x32667777,
    SERVER_FD = 3,
    SERVER_ARENA_BYTES = 1 << 30,
    START_MS = 60 * 1000,
    STOP_MS = 300,
    GRACE_MS = 30 * 1000,            /* beyond the compile's own deadline */
    PRECOMPILE_GRACE_MS = 90 * 1000, /* when headers may have to be precompiled first */
    PCH_SLOTS = 6,
    PCH_FD_FIRST = 110,
    PCH_KEY_BYTES = COMPILE_HEADERS_BYTES_MAX + COMPILE_ARCH_BYTES + 8,
    REPLY_ERR_BYTES = ERR_TEXT_BYTES,
};

struct request {
    uint32_t magic;
    uint32_t debug;
    char arch[COMPILE_ARCH_BYTES];
    int64_t wall_ms, cpu_s;
    uint64_t memory_bytes;
    uint64_t headers_len, source_len;
};

struct reply {
    uint32_t magic;
    uint32_t ok;
    int32_t err_code;
    int32_t end, status;
    uint32_t pad;
    int64_t wall_ns, cpu_ns;
    uint64_t rss_bytes_max;
    uint64_t out_len;
    char err_text[REPLY_ERR_BYTES];
};

/* ---- bytes over the socket ---- */

static bool send_all(int fd, const void *data, size_t len)
{
    const char *at = data;
    while (len) {
        ssize_t done = send(fd, at, len, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        len -= (size_t)done;
    }
    return true;
}

/* deadline_ns 0 = wait for ever. */
static bool receive_all(int fd, void *data, size_t len, int64_t deadline_ns)
{
    char *at = data;
    while (len) {
        struct pollfd ready = {fd, POLLIN, 0};
        int64_t left_ms = deadline_ns ? (deadline_ns - clock_mono_ns()) / 1000000 + 1 : -1;
        if (deadline_ns && left_ms <= 0)
            return false;
        int polled = poll(&ready, 1, (int)left_ms);
        if (polled <= 0) {
            if (polled == 0 || errno == EINTR)
                continue;
            return false;
        }
        ssize_t done = recv(fd, at, len, 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        len -= (size_t)done;
    }
    return true;
}

/* ---- the server's side ---- */

struct pch_slot {
    char key[PCH_KEY_BYTES]; /* "" = free */
    int fd;                  /* -1 = cannot be precompiled */
    uint64_t used;
};

struct server {
    struct compile_tool tool;
    struct pch_slot slots[PCH_SLOTS];
    uint64_t clock;
};

static struct pch_slot *oldest_slot(struct server *server)
{
    struct pch_slot *oldest = &server->slots[0];
    for (size_t i = 1; i < PCH_SLOTS; i++)
        if (server->slots[i].used < oldest->used)
            oldest = &server->slots[i];
    return oldest;
}

static void fill_slot(struct server *server, struct pch_slot *slot, const char *key,
                      const struct compile_job *job)
{
    int fixed = PCH_FD_FIRST + (int)(slot - server->slots);
    int fd;
    if (slot->key[0] && slot->fd >= 0)
        close(slot->fd);
    snprintf(slot->key, sizeof(slot->key), "%s", key);
    slot->fd = -1;
    compile_precompile(&server->tool, job->arch, job->debug, job->headers, &fd);
    if (fd < 0)
        return;
    if (dup3(fd, fixed, O_CLOEXEC) == fixed)
        slot->fd = fixed;
    close(fd);
}

/* The precompiled prefix for a job, made if need be; NULL when there is none. */
static const char *precompiled(struct server *server, struct arena *arena,
                               const struct compile_job *job)
{
    char key[PCH_KEY_BYTES];
    char path[64];
    struct pch_slot *slot = NULL;
    if (!server->tool.scratch)
        return NULL;
    snprintf(key, sizeof(key), "%s %d %s", job->arch, job->debug, job->headers);
    for (size_t i = 0; i < PCH_SLOTS; i++)
        if (strcmp(server->slots[i].key, key) == 0)
            slot = &server->slots[i];
    if (!slot) {
        slot = oldest_slot(server);
        fill_slot(server, slot, key, job);
    }
    slot->used = ++server->clock;
    if (slot->fd < 0)
        return NULL;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", slot->fd);
    return str_copy(arena, str_from(path));
}

struct work {
    const struct compile_tool *tool;
    const struct compile_job *job;
};

static int compile_work(void *context, int out_fd)
{
    const struct work *work = context;
    return compile_child_run(work->tool, work->job, out_fd);
}

static void fail_reply(struct reply *reply, const struct err *err)
{
    reply->ok = false;
    reply->err_code = (int32_t)err->code;
    snprintf(reply->err_text, sizeof(reply->err_text), "%s", err->text);
}

static bool receive_job(struct arena *arena, struct request *request, struct compile_job *job)
{
    if (!receive_all(SERVER_FD, request, sizeof(*request), 0) || request->magic != SERVER_MAGIC ||
        request->headers_len > COMPILE_HEADERS_BYTES_MAX ||
        request->source_len > COMPILE_SOURCE_BYTES_MAX)
        return false;
    char *headers = arena_array(arena, char, request->headers_len + 1);
    char *source = arena_array(arena, char, request->source_len + 1);
    request->arch[COMPILE_ARCH_BYTES - 1] = '\0';
    *job = (struct compile_job){
        .source = {source, request->source_len},
        .arch = request->arch,
        .headers = headers,
        .debug = request->debug != 0,
    };
    return receive_all(SERVER_FD, headers, request->headers_len, 0) &&
           receive_all(SERVER_FD, source, request->source_len, 0);
}

static bool serve_one(struct server *server, struct arena *arena)
{
    struct request request;
    struct compile_job job;
    struct err err = {0};
    struct proc_result result = {0};
    struct reply reply = {.magic = SERVER_MAGIC, .ok = true};
    if (!receive_job(arena, &request, &job))
        return false;
    job.pch = precompiled(server, arena, &job);

    struct work work = {&server->tool, &job};
    struct proc_limits limits = {
        .wall_ms = request.wall_ms,
        .cpu_s = request.cpu_s,
        .memory_bytes = request.memory_bytes,
        .output_bytes_max = COMPILE_FRAME_BYTES_MAX,
    };
    if (!proc_fork(arena, compile_work, &work, &limits, &result, &err))
        fail_reply(&reply, &err);
    reply.end = (int32_t)result.end;
    reply.status = result.status;
    reply.wall_ns = result.wall_ns;
    reply.cpu_ns = result.cpu_ns;
    reply.rss_bytes_max = result.rss_bytes_max;
    reply.out_len = result.out.len;
    return send_all(SERVER_FD, &reply, sizeof(reply)) &&
           send_all(SERVER_FD, result.out.at, result.out.len);
}

/* Nothing of the parent's stays reachable: descriptors, environment, signal handlers, terminal. */
static void enter_server(int fd, pid_t parent)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGALRM};
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        signal(signals[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    clearenv();
    if (fd != SERVER_FD) {
        dup2(fd, SERVER_FD);
        close(fd);
    }
    close_range(SERVER_FD + 1, ~0U, 0);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; null >= 0 && i < SERVER_FD; i++)
        dup2(null, i);
}

static bool server_prepare(struct server *server, struct arena *arena,
                           const struct device_paths *paths, struct nvrtc *nvrtc, struct err *err)
{
    struct sandbox_info have;
    device_probe_sandbox(&have);
    if (!nvrtc_load(arena, paths, nvrtc, err) ||
        !compile_tool_prepare(&server->tool, arena, nvrtc, &have, err))
        return false;
    compile_tool_scratch(&server->tool, arena);
    return true;
}

static NORETURN void server_main(const struct device_paths *paths)
{
    struct arena arena;
    struct nvrtc nvrtc = {0};
    struct err err = {0};
    struct reply hello = {.magic = SERVER_MAGIC, .ok = true};
    arena_init(&arena, SERVER_ARENA_BYTES);
    struct server *server = arena_new(&arena, struct server);
    if (!server_prepare(server, &arena, paths, &nvrtc, &err))
        fail_reply(&hello, &err);
    bool going = send_all(SERVER_FD, &hello, sizeof(hello)) && hello.ok;
    while (going) {
        struct arena scratch;
        arena_init(&scratch, SERVER_ARENA_BYTES);
        going = serve_one(server, &scratch);
        arena_release(&scratch);
    }
    compile_tool_release(&server->tool);
    _exit(0);
}

/* ---- the parent's side ---- */

static bool spawn_server(const struct device_paths *paths, struct compile_server *server,
                         struct err *err)
{
    int fds[2];
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return err_raise(err, ERR_CHILD, "no socket for the compile server: %s", strerror(errno));
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        enter_server(fds[1], parent);
        server_main(paths);
    }
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return err_raise(err, ERR_CHILD, "fork: %s", strerror(errno));
    }
    *server = (struct compile_server){(int)pid, fds[0]};
    return true;
}

enum compile_relay compile_server_start(const struct device_paths *paths,
                                        struct compile_server *server, struct err *err)
{
    struct reply hello;
    if (!spawn_server(paths, server, err))
        return RELAY_FAILED;
    int64_t deadline = clock_mono_ns() + START_MS * (int64_t)1000000;
    if (!receive_all(server->fd, &hello, sizeof(hello), deadline) || hello.magic != SERVER_MAGIC) {
        compile_server_stop(server);
        err_raise(err, ERR_CHILD, "the compile server died or hung while it loaded NVRTC");
        return RELAY_LOST;
    }
    if (!hello.ok) {
        compile_server_stop(server);
        hello.err_text[REPLY_ERR_BYTES - 1] = '\0';
        err_raise(err, (enum err_code)hello.err_code, "%s", hello.err_text);
        return RELAY_FAILED;
    }
    return RELAY_OK;
}

void compile_server_stop(struct compile_server *server)
{
    if (server->pid == 0)
        return;
    close(server->fd);
    for (int ms = 0; ms < STOP_MS; ms++) { /* an idle one goes by itself, and tidies up */
        if (waitpid(server->pid, NULL, WNOHANG) == server->pid) {
            *server = (struct compile_server){0, -1};
            return;
        }
        poll(NULL, 0, 1);
    }
    kill(-server->pid, SIGKILL);
    kill(server->pid, SIGKILL);
    while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    *server = (struct compile_server){0, -1};
}

static bool send_job(int fd, const struct compile_job *job, const struct proc_limits *limits)
{
    struct request request = {
        .magic = SERVER_MAGIC,
        .debug = job->debug,
        .wall_ms = limits->wall_ms,
        .cpu_s = limits->cpu_s,
        .memory_bytes = limits->memory_bytes,
        .headers_len = strlen(job->headers),
        .source_len = job->source.len,
    };
    snprintf(request.arch, sizeof(request.arch), "%s", job->arch);
    return send_all(fd, &request, sizeof(request)) &&
           send_all(fd, job->headers, request.headers_len) &&
           send_all(fd, job->source.at, job->source.len);
}

static bool receive_reply(int fd, struct arena *arena, int64_t deadline, struct reply *reply,
                          char **out)
{
    if (!receive_all(fd, reply, sizeof(*reply), deadline) || reply->magic != SERVER_MAGIC ||
        reply->out_len > COMPILE_FRAME_BYTES_MAX)
        return false;
    *out = arena_array(arena, char, reply->out_len + 1);
    return receive_all(fd, *out, reply->out_len, deadline);
}

enum compile_relay compile_server_run(struct compile_server *server, struct arena *arena,
                                      const struct compile_job *job,
                                      const struct proc_limits *limits, struct proc_result *result,
                                      struct err *err)
{
    struct reply reply;
    char *out;
    int64_t grace_ms = job->headers[0] ? PRECOMPILE_GRACE_MS : GRACE_MS;
    int64_t deadline = clock_mono_ns() + (limits->wall_ms + grace_ms) * 1000000;
    ASSERT(server->pid != 0);
    if (!send_job(server->fd, job, limits) ||
        !receive_reply(server->fd, arena, deadline, &reply, &out)) {
        compile_server_stop(server);
        err_raise(err, ERR_CHILD, "the compile server died or hung while it compiled");
        return RELAY_LOST;
    }
    if (!reply.ok) {
        reply.err_text[REPLY_ERR_BYTES - 1] = '\0';
        err_raise(err, (enum err_code)reply.err_code, "%s", reply.err_text);
        return RELAY_FAILED;
    }
    *result = (struct proc_result){
        .end = (enum proc_end)reply.end,
        .status = reply.status,
        .wall_ns = reply.wall_ns,
        .cpu_ns = reply.cpu_ns,
        .rss_bytes_max = reply.rss_bytes_max,
        .out = {out, reply.out_len},
    };
    return RELAY_OK;
}
