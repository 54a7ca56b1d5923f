/* Child processes: what they say, how they end, and that nothing of them stays. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/proc.h"

#include "tests/unit/unit.h"

enum { ARENA_BYTES = 64 << 20, MEGABYTE = 1 << 20 };

static const struct proc_limits roomy = {.wall_ms = 20000, .output_bytes_max = MEGABYTE};

static void shell(struct arena *arena, const char *script, const struct proc_limits *limits,
                  struct proc_result *result)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct err err;
    assert_ok(proc_run(arena, argv, NULL, limits, result, &err));
}

static void ends_are_told_apart(void **state UNUSED)
{
    static const struct {
        const char *script;
        struct proc_limits limits;
        enum proc_end end;
        int status;
        const char *out, *err; /* NULL = not looked at */
    } cases[] = {
        {"echo out; echo err >&2",
         {.wall_ms = 20000, .output_bytes_max = 99},
         PROC_EXITED,
         0,
         "out\n",
         "err\n"},
        {"exit 3", {.wall_ms = 20000, .output_bytes_max = 99}, PROC_EXITED, 3, "", ""},
        {"kill -SEGV $$", {.output_bytes_max = 99}, PROC_SIGNALLED, SIGSEGV, "", ""},
        {"echo a; sleep 30",
         {.wall_ms = 100, .output_bytes_max = 99},
         PROC_DEADLINE,
         SIGKILL,
         "a\n",
         ""},
        {"yes >&2", {.wall_ms = 300, .output_bytes_max = 99}, PROC_DEADLINE, SIGKILL, "", NULL},
        {"exec >&- 2>&-; sleep 30",
         {.wall_ms = 100, .output_bytes_max = 99},
         PROC_DEADLINE,
         SIGKILL,
         "",
         ""},
        {"yes", {.wall_ms = 20000, .output_bytes_max = 1000}, PROC_OUTPUT, SIGKILL, NULL, ""},
        {"yes x | head -c 100000 >&2; echo end >&2",
         {.wall_ms = 20000, .output_bytes_max = 10},
         PROC_EXITED,
         0,
         "",
         "x\nx\nx\nend\n"},
        {"while :; do :; done",
         {.wall_ms = 20000, .cpu_s = 1, .output_bytes_max = 9},
         PROC_DEADLINE,
         SIGXCPU,
         "",
         ""},
        {"cat", {.wall_ms = 20000, .output_bytes_max = 9}, PROC_EXITED, 0, "", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct proc_result result;
        arena_init(&arena, ARENA_BYTES);
        shell(&arena, cases[i].script, &cases[i].limits, &result);
        if (result.end != cases[i].end || result.status != cases[i].status)
            fail_msg("%s: end %d, status %d", cases[i].script, result.end, result.status);
        if (cases[i].out)
            assert_string_equal(result.out.at, cases[i].out);
        if (cases[i].err)
            assert_string_equal(result.err.at, cases[i].err);
        arena_release(&arena);
    }
}

static void what_can_not_start_is_an_error(void **state UNUSED)
{
    const char *const argv[] = {"no-such-program-here", NULL};
    struct arena arena;
    struct proc_result result;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    assert_false(proc_run(&arena, argv, NULL, &roomy, &result, &err));
    assert_int_equal(err.code, ERR_CHILD);
    assert_string_equal(err.text, "run no-such-program-here: No such file or directory");
    arena_release(&arena);
}

static void environment_is_what_was_given(void **state UNUSED)
{
    const char *const argv[] = {"/bin/sh", "-c", "echo $A-$HOME", NULL};
    const char *const env[] = {"A=b", NULL};
    struct arena arena;
    struct proc_result result;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    assert_ok(proc_run(&arena, argv, env, &roomy, &result, &err));
    assert_string_equal(result.out.at, "b-\n");
    arena_release(&arena);
}

static bool alive(pid_t pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

/* A grandchild that outlives the child, once past its deadline and once after a normal exit. */
static void the_group_dies_with_the_child(void **state UNUSED)
{
    static const char *const scripts[] = {"sleep 60 & echo $!; wait", "sleep 60 & echo $!"};
    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        struct proc_limits limits = {.wall_ms = 300, .output_bytes_max = 99};
        struct arena arena;
        struct proc_result result;
        arena_init(&arena, ARENA_BYTES);
        shell(&arena, scripts[i], &limits, &result);
        pid_t grandchild = (pid_t)atoi(result.out.at);
        assert_true(grandchild > 1);
        int64_t start = clock_mono_ns();
        while (alive(grandchild) && clock_mono_ns() - start < 5000000000)
            usleep(1000);
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)grandchild);
        struct str stat;
        struct err err;
        bool gone = !alive(grandchild) || !file_read(&arena, path, 4096, &stat, &err) ||
                    strstr(stat.at, ") Z "); /* dead, with nobody there to reap it */
        assert_true(gone);
        arena_release(&arena);
    }
}

static int say_context(void *context, int out_fd)
{
    const char *text = context;
    printf("stray");
    return proc_write_all(out_fd, text, strlen(text)) ? 5 : 6;
}

static int touch_memory(void *context, int out_fd UNUSED)
{
    struct arena arena;
    size_t bytes = *(size_t *)context;
    arena_init(&arena, bytes + MEGABYTE);
    for (size_t done = 0; done < bytes; done += MEGABYTE) {
        memset(arena_array(&arena, char, MEGABYTE), 1, MEGABYTE);
        usleep(200);
    }
    return 0;
}

static int crash(void *context UNUSED, int out_fd UNUSED)
{
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void a_fork_returns_what_it_wrote(void **state UNUSED)
{
    char text[] = "from the child";
    struct arena arena;
    struct proc_result result;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    assert_ok(proc_fork(&arena, say_context, text, &roomy, &result, &err));
    assert_int_equal(result.end, PROC_EXITED);
    assert_int_equal(result.status, 5);
    assert_string_equal(result.out.at, text);
    assert_string_equal(result.err.at, "stray");
    assert_true(result.wall_ns > 0 && result.rss_bytes_max > 0);
    assert_ok(proc_fork(&arena, crash, NULL, &roomy, &result, &err));
    assert_int_equal(result.end, PROC_SIGNALLED);
    assert_int_equal(result.status, SIGABRT);
    arena_release(&arena);
}

static void memory_is_limited(void **state UNUSED)
{
    static const struct {
        size_t touches;
        enum proc_end end;
    } cases[] = {{400 * (size_t)MEGABYTE, PROC_MEMORY}, {20 * (size_t)MEGABYTE, PROC_EXITED}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct proc_limits limits = {
            .wall_ms = 20000, .memory_bytes = 100 * (size_t)MEGABYTE, .output_bytes_max = 4096};
        size_t touches = cases[i].touches;
        struct arena arena;
        struct proc_result result;
        struct err err;
        arena_init(&arena, ARENA_BYTES);
        assert_ok(proc_fork(&arena, touch_memory, &touches, &limits, &result, &err));
        assert_int_equal(result.end, cases[i].end);
        arena_release(&arena);
    }
}

/* The limit is on what the child adds: a parent of any size may fork. */
static void the_parents_memory_does_not_count(void **state UNUSED)
{
    struct proc_limits limits = {
        .wall_ms = 20000, .memory_bytes = 50 * (size_t)MEGABYTE, .output_bytes_max = 4096};
    size_t touches = 10 * (size_t)MEGABYTE;
    struct arena arena;
    struct proc_result result;
    struct err err;
    arena_init(&arena, 300 * (size_t)MEGABYTE);
    memset(arena_array(&arena, char, 200 * (size_t)MEGABYTE), 1, 200 * (size_t)MEGABYTE);
    assert_ok(proc_fork(&arena, touch_memory, &touches, &limits, &result, &err));
    assert_int_equal(result.end, PROC_EXITED);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_told_apart),
        cmocka_unit_test(what_can_not_start_is_an_error),
        cmocka_unit_test(environment_is_what_was_given),
        cmocka_unit_test(the_group_dies_with_the_child),
        cmocka_unit_test(a_fork_returns_what_it_wrote),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(the_parents_memory_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
