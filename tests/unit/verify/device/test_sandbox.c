/*
 * What a confined process can still do, tried from inside, with each way to confine it.  A machine
 * without a way skips its tests and says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"

#include "tests/unit/unit.h"
#include "verify/device/device_int.h"

enum { FOLDER_FD = 90, NOT_CONFINED = 99 };

enum attempt {
    READ_HOST_FILE,
    LIST_HOST_FOLDER,
    READ_ALLOWED_FILE,
    CLIMB_OUT,
    MAKE_FILE,
    OPEN_SOCKET,
    FORK_CHILD,
    RUN_PROGRAM,
    SIGNAL_PARENT,
    WRITE_SCRATCH,
};

static bool can_open(const char *path, int flags)
{
    int fd = open(path, flags, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool can_fork(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid > 0;
}

/* In the child: whether the attempt succeeds. */
static bool try(enum attempt attempt)
{
    static const char *const program[] = {"/bin/true", NULL};
    switch (attempt) {
    case READ_HOST_FILE:
        return can_open("/etc/passwd", O_RDONLY);
    case LIST_HOST_FOLDER:
        return can_open("/etc", O_RDONLY | O_DIRECTORY);
    case READ_ALLOWED_FILE:
        return can_open("/proc/self/fd/90/k01_matmul_naive.cu", O_RDONLY);
    case CLIMB_OUT:
        return can_open("/proc/self/fd/90/../../../Makefile", O_RDONLY);
    case MAKE_FILE:
        return can_open("/tmp/warpwright-sandbox-test", O_RDWR | O_CREAT);
    case OPEN_SOCKET:
        return socket(AF_INET, SOCK_STREAM, 0) >= 0;
    case FORK_CHILD:
        return can_fork();
    case RUN_PROGRAM:
        execv(program[0], (char *const *)program);
        return false;
    case SIGNAL_PARENT:
        return kill(getppid(), 0) == 0;
    case WRITE_SCRATCH:
        return can_open("/proc/self/fd/91/file", O_RDWR | O_CREAT | O_TRUNC) &&
               unlink("/proc/self/fd/91/file") == 0;
    }
    return false;
}

static bool works_confined(const struct sandbox_info *have, int scratch_fd, enum attempt attempt)
{
    static const int folders[] = {FOLDER_FD};
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct err err;
        struct sandbox sandbox = {*have, folders, 1, scratch_fd};
        if (!sandbox_enter(&sandbox, &err))
            _exit(NOT_CONFINED);
        _exit(try(attempt) ? 1 : 0);
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_CONFINED)
        fail_msg("the sandbox could not be entered");
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static void open_folder(const char *path, int fixed)
{
    int fd = open(path, O_PATH | O_DIRECTORY);
    assert_true(fd >= 0 && dup2(fd, fixed) == fixed);
    close(fd);
}

static void check(const struct sandbox_info *have)
{
    static const enum attempt refused[] = {READ_HOST_FILE, LIST_HOST_FOLDER, CLIMB_OUT, MAKE_FILE};
    static const enum attempt calls[] = {OPEN_SOCKET, FORK_CHILD, RUN_PROGRAM, SIGNAL_PARENT};
    open_folder("tests/cases/cuda", FOLDER_FD);
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        if (works_confined(have, -1, refused[i]))
            fail_msg("attempt %d on files succeeds", refused[i]);
    for (size_t i = 0; have->seccomp && i < COUNT_OF(calls); i++)
        if (works_confined(have, -1, calls[i]))
            fail_msg("attempt %d succeeds", calls[i]);
    assert_true(works_confined(have, -1, READ_ALLOWED_FILE));
}

static void landlock_confines(void **state UNUSED)
{
    struct sandbox_info have;
    device_probe_sandbox(&have);
    have.user_namespaces = false;
    if (have.landlock_abi == 0) {
        print_message("no Landlock on this kernel\n");
        skip();
    }
    check(&have);
}

static void namespaces_confine(void **state UNUSED)
{
    struct sandbox_info have;
    device_probe_sandbox(&have);
    have.landlock_abi = 0;
    if (!have.user_namespaces) {
        print_message("no user namespaces for us on this machine\n");
        skip();
    }
    check(&have);
}

static void scratch_is_the_one_place_to_write(void **state UNUSED)
{
    struct sandbox_info have;
    struct arena arena;
    device_probe_sandbox(&have);
    if (have.landlock_abi == 0) {
        print_message("no Landlock on this kernel\n");
        skip();
    }
    arena_init(&arena, 1 << 20);
    open_folder("tests/cases/cuda", FOLDER_FD);
    open_folder(unit_folder(&arena, "sandbox"), FOLDER_FD + 1);
    assert_true(works_confined(&have, FOLDER_FD + 1, WRITE_SCRATCH));
    assert_false(works_confined(&have, FOLDER_FD + 1, MAKE_FILE));
    assert_false(works_confined(&have, FOLDER_FD + 1, READ_HOST_FILE));
    assert_false(works_confined(&have, -1, WRITE_SCRATCH));
    arena_release(&arena);
}

static bool works_outside(enum attempt attempt)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(try(attempt) ? 1 : 0);
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

/* The attempts do succeed without a sandbox: the tests above can fail. */
static void attempts_work_outside(void **state UNUSED)
{
    static const enum attempt attempts[] = {READ_HOST_FILE, LIST_HOST_FOLDER, READ_ALLOWED_FILE,
                                            CLIMB_OUT,      FORK_CHILD,       SIGNAL_PARENT};
    open_folder("tests/cases/cuda", FOLDER_FD);
    for (size_t i = 0; i < COUNT_OF(attempts); i++)
        if (!works_outside(attempts[i]))
            fail_msg("attempt %d fails anyway", attempts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_work_outside),
        cmocka_unit_test(landlock_confines),
        cmocka_unit_test(namespaces_confine),
        cmocka_unit_test(scratch_is_the_one_place_to_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
