#ifndef TESTS_INTEGRATION_RELAY_START_H
#define TESTS_INTEGRATION_RELAY_START_H

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/unit/unit.h"

/* The relay as a child of the test; it lies beside the tests' folder in the build tree. */
struct relay_child {
    pid_t pid;
    int port;
    int out_fd;
};

enum { RELAY_ARGUMENTS_MAX = 32, RELAY_PATH_BYTES = 4096 };

static inline const char *relay_program(struct arena *arena)
{
    char path[RELAY_PATH_BYTES];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    assert_true(len > 0);
    path[len] = '\0';
    return path_join(arena, path_dir(arena, path), "../relay/relay");
}

/* Starts a server that prints a line with its port behind `before`.  False when it does not. */
static inline bool child_start(const char *const *argv, const char *before,
                               struct relay_child *child)
{
    int out[2];
    char text[RELAY_PATH_BYTES] = "";
    size_t len = 0;
    const char *at = NULL;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    child->pid = fork();
    if (child->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], STDOUT_FILENO);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    close(out[1]);
    while (!(at && strchr(at, '\n')) && len + 1 < sizeof(text)) {
        ssize_t more = read(out[0], text + len, sizeof(text) - 1 - len);
        if (more <= 0)
            break;
        len += (size_t)more;
        at = strstr(text, before);
    }
    child->out_fd = out[0]; /* kept open: a server may go on printing */
    child->port = at ? atoi(at + strlen(before)) : 0;
    return child->port > 0;
}

/* `arguments` ends with NULL. */
static inline struct relay_child relay_start(struct arena *arena, const char *const *arguments)
{
    const char *argv[RELAY_ARGUMENTS_MAX + 2] = {relay_program(arena)};
    struct relay_child child = {0};
    for (int i = 0; i < RELAY_ARGUMENTS_MAX && arguments[i]; i++)
        argv[i + 1] = arguments[i];
    assert_true(child_start(argv, "", &child));
    return child;
}

/* Its exit status, within its own time limit. */
static inline int relay_wait(const struct relay_child *child)
{
    int status = 0;
    close(child->out_fd);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void relay_kill(const struct relay_child *child)
{
    kill(child->pid, SIGKILL);
    close(child->out_fd);
    waitpid(child->pid, NULL, 0);
}

#endif
