/*
 * The fork server's life: killed in the middle of a compile it is started again, killed for ever it
 * is reported, and it never outlives the process that uses it.
 */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/attr.h"

#include "tests/unit/unit.h"
#include "verify/device/device.h"

static const size_t arena_bytes = (size_t)1 << 30;
enum {
    WALL_MS = 60 * 1000,
    WAIT_STEPS = 1200,
    SEEN_STEPS = 6,
    STEP_US = 25 * 1000,
    EXIT_SKIP = 77
};

/* About a second in the front end, whatever the machine. */
static const char slow[] =
    "constexpr long f() { long s = 0; for (long i = 0; i < 1600000000; ++i) s += i; return s; }\n"
    "extern \"C\" __global__ void k(long *x) { constexpr long v = f(); x[0] = v; }\n";
static const char quick[] = "extern \"C\" __global__ void k(int *x) { x[0] = 1; }\n";

/* State and parent of a process, from /proc; 0 when it is gone. */
static int parent_of(long pid, char *state)
{
    char path[64];
    char text[512];
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    size_t len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    const char *after = strrchr(text, ')');
    if (!after || sscanf(after, ") %c %d", state, &parent) != 2)
        return 0;
    return parent;
}

/* The first living child of `pid` other than `but`; 0 when there is none. */
static long child_of(long pid, long but)
{
    long found = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (struct dirent *entry = readdir(proc); entry && !found; entry = readdir(proc)) {
        char state = 0;
        long candidate = strtol(entry->d_name, NULL, 10);
        if (candidate > 0 && candidate != but && parent_of(candidate, &state) == pid &&
            state != 'Z')
            found = candidate;
    }
    closedir(proc);
    return found;
}

static bool is_alive(long pid)
{
    char state = 'Z';
    return parent_of(pid, &state) != 0 && state != 'Z';
}

static bool open_compiler(struct arena *arena, struct compiler **compiler)
{
    struct err err;
    struct compiler_options options = {.paths = {.build_folder = "build/nvrtc"}};
    arena_init(arena, arena_bytes);
    if (compiler_open(arena, &options, compiler, &err))
        return true;
    print_message("skipped: %s\n", err.text);
    arena_release(arena);
    return false;
}

static enum compile_end compile(struct compiler *compiler, struct arena *arena, const char *source)
{
    struct compile_result result;
    struct err err;
    struct compile_request request = {
        .source = str_from(source), .arch = "sm_90a", .wall_ms = WALL_MS};
    assert_ok(compiler_compile(compiler, arena, &request, &result, &err));
    return result.end;
}

/* A process that kills the test's server, `times` times, when it has seen the same compile in it
 * for a while: a server that starts has short-lived children, too. */
static pid_t start_killer(int times)
{
    long victim = getpid();
    long last = 0;
    int seen = 0;
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    for (int killed = 0, step = 0; killed < times && step < WAIT_STEPS * times; step++) {
        long server = child_of(victim, getpid());
        long worker = server ? child_of(server, 0) : 0;
        seen = worker && worker == last ? seen + 1 : 0;
        last = worker;
        if (seen >= SEEN_STEPS) {
            kill((pid_t)server, SIGKILL);
            killed++;
            seen = 0;
        }
        usleep(STEP_US);
    }
    _exit(0);
}

static void end_killer(pid_t killer)
{
    kill(killer, SIGKILL);
    assert_int_equal(waitpid(killer, NULL, 0), killer);
}

static void a_killed_server_is_replaced(void **state UNUSED)
{
    struct arena arena;
    struct compiler *compiler;
    if (!open_compiler(&arena, &compiler))
        skip();
    assert_int_equal(compile(compiler, &arena, quick), COMPILE_OK);
    pid_t killer = start_killer(1);
    assert_int_equal(compile(compiler, &arena, slow), COMPILE_FAILED);
    end_killer(killer);
    assert_int_equal(compile(compiler, &arena, quick), COMPILE_OK);
    compiler_close(compiler);
    arena_release(&arena);
}

static void a_server_killed_while_idle_is_replaced(void **state UNUSED)
{
    struct arena arena;
    struct compiler *compiler;
    if (!open_compiler(&arena, &compiler))
        skip();
    assert_int_equal(compile(compiler, &arena, quick), COMPILE_OK);
    long server = child_of(getpid(), 0);
    assert_true(server > 0);
    kill((pid_t)server, SIGKILL);
    assert_int_equal(compile(compiler, &arena, quick), COMPILE_OK);
    compiler_close(compiler);
    arena_release(&arena);
}

static void a_source_that_kills_twice_has_crashed_it(void **state UNUSED)
{
    struct arena arena;
    struct compiler *compiler;
    if (!open_compiler(&arena, &compiler))
        skip();
    pid_t killer = start_killer(2);
    assert_int_equal(compile(compiler, &arena, slow), COMPILE_CRASHED);
    end_killer(killer);
    assert_int_equal(compile(compiler, &arena, quick), COMPILE_OK);
    compiler_close(compiler);
    arena_release(&arena);
}

static void closing_ends_the_server(void **state UNUSED)
{
    struct arena arena;
    struct compiler *compiler;
    if (!open_compiler(&arena, &compiler))
        skip();
    assert_int_equal(compile(compiler, &arena, quick), COMPILE_OK);
    long server = child_of(getpid(), 0);
    assert_true(is_alive(server));
    compiler_close(compiler);
    assert_false(is_alive(server));
    compiler_close(compiler); /* closing twice is harmless */
    arena_release(&arena);
}

/* The user: says which server it has, then compiles on until it is killed. */
static void use_compiler(int fd)
{
    struct arena arena;
    struct compiler *compiler;
    if (!open_compiler(&arena, &compiler))
        _exit(EXIT_SKIP);
    if (compile(compiler, &arena, quick) != COMPILE_OK)
        _exit(1);
    long server = child_of(getpid(), 0);
    if (write(fd, &server, sizeof(server)) != sizeof(server))
        _exit(1);
    while (compile(compiler, &arena, slow) == COMPILE_FAILED)
        continue;
    _exit(1);
}

static void it_dies_with_its_user(void **state UNUSED)
{
    int fds[2];
    int status = 0;
    long server = 0;
    long worker = 0;
    assert_int_equal(pipe(fds), 0);
    pid_t user = fork();
    if (user == 0)
        use_compiler(fds[1]);
    close(fds[1]);
    bool told = read(fds[0], &server, sizeof(server)) == sizeof(server);
    for (int i = 0; told && i < WAIT_STEPS && !worker; i++) {
        worker = child_of(server, 0);
        usleep(STEP_US);
    }
    kill(user, SIGKILL);
    waitpid(user, &status, 0);
    close(fds[0]);
    if (!told && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP)
        skip();
    assert_true(told && worker > 0);
    for (int i = 0; i < WAIT_STEPS && (is_alive(server) || is_alive(worker)); i++)
        usleep(STEP_US);
    assert_false(is_alive(server));
    assert_false(is_alive(worker));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closing_ends_the_server),
        cmocka_unit_test(a_killed_server_is_replaced),
        cmocka_unit_test(a_server_killed_while_idle_is_replaced),
        cmocka_unit_test(a_source_that_kills_twice_has_crashed_it),
        cmocka_unit_test(it_dies_with_its_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
