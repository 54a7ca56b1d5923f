/* Whole files: atomic replacement, limits, folders, path parts. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/attr.h"
#include "base/proc.h"

#include "tests/unit/unit.h"

enum { ARENA_BYTES = 16 << 20 };

static void written_is_read(void **state UNUSED)
{
    struct arena arena;
    struct str got;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    const char *path = path_join(&arena, unit_folder(&arena, "file"), "a");
    assert_false(file_exists(path));
    assert_ok(file_write(path, STR_LIT("one\0two"), &err));
    assert_ok(file_read(&arena, path, 7, &got, &err));
    assert_true(str_equal(got, STR_LIT("one\0two")));
    assert_int_equal(got.at[7], '\0');
    assert_ok(file_append(path, STR_LIT("+"), &err));
    assert_false(file_read(&arena, path, 7, &got, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_ok(file_read(&arena, path, 8, &got, &err));
    assert_string_equal(got.at + 4, "two+");
    assert_ok(file_write(path, STR_LIT(""), &err));
    assert_ok(file_read(&arena, path, 0, &got, &err));
    assert_int_equal(got.len, 0);
    arena_release(&arena);
}

/* Files without a size: grown while read, still limited. */
static void pipes_are_read_to_their_end(void **state UNUSED)
{
    struct arena arena;
    struct str got;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    assert_ok(file_read(&arena, "/proc/self/status", 1 << 20, &got, &err));
    assert_true(got.len > 100 && strlen(got.at) == got.len);
    assert_false(file_read(&arena, "/dev/zero", 300000, &got, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    arena_release(&arena);
}

/* A write that fails leaves the old contents and no litter. */
static void a_failed_write_changes_nothing(void **state UNUSED)
{
    struct arena arena;
    struct err err;
    const char *const *names;
    size_t count;
    arena_init(&arena, ARENA_BYTES);
    const char *folder = unit_folder(&arena, "failed");
    const char *path = path_join(&arena, folder, "taken");
    assert_ok(file_make_dirs(path_join(&arena, path, "inner"), &err));
    assert_false(file_write(path, STR_LIT("x"), &err)); /* a full folder is no target of rename */
    assert_int_equal(err.code, ERR_IO);
    assert_ok(file_list(&arena, folder, "", 10, &names, &count, &err));
    assert_int_equal(count, 1);
    assert_false(file_write(path_join(&arena, folder, "none/x"), STR_LIT("x"), &err));
    assert_true(file_is_dir(path));
    arena_release(&arena);
}

static int write_for_ever(void *context, int out_fd)
{
    const char *path = context;
    struct arena arena;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    char *data = arena_array(&arena, char, 300000);
    for (char c = 'a';; c = c == 'z' ? 'a' : (char)(c + 1)) {
        memset(data, c, 300000);
        if (!file_write(path, (struct str){data, 300000}, &err))
            return 1;
        proc_write_all(out_fd, ".", 1);
    }
}

/* Killed at any moment: the name always holds one whole version. */
static void a_killed_writer_leaves_a_whole_file(void **state UNUSED)
{
    struct arena arena;
    struct err err;
    struct str got;
    struct proc_result result;
    arena_init(&arena, ARENA_BYTES);
    char *path = path_join(&arena, unit_folder(&arena, "killed"), "f");
    for (int i = 0; i < 20; i++) {
        struct proc_limits limits = {.wall_ms = 40 + 3 * i, .output_bytes_max = 4096};
        struct arena attempt;
        arena_init(&attempt, ARENA_BYTES);
        assert_ok(proc_fork(&attempt, write_for_ever, path, &limits, &result, &err));
        assert_int_equal(result.end, PROC_DEADLINE);
        if (result.out.len) {
            assert_ok(file_read(&attempt, path, 300000, &got, &err));
            assert_int_equal(got.len, 300000);
            for (size_t k = 1; k < got.len; k++)
                assert_int_equal(got.at[k], got.at[0]);
        }
        arena_release(&attempt);
    }
    assert_true(file_exists(path));
    assert_ok(file_remove(path, &err));
    assert_false(file_exists(path));
    assert_ok(file_remove(path, &err));
    arena_release(&arena);
}

static void folders_are_listed_in_order(void **state UNUSED)
{
    struct arena arena;
    struct err err;
    const char *const *names = NULL;
    size_t count = 0;
    arena_init(&arena, ARENA_BYTES);
    const char *folder = unit_folder(&arena, "list");
    for (int i = 149; i >= 0; i--) {
        char name[16];
        snprintf(name, sizeof(name), "%03d.%s", i, i % 3 ? "json" : "txt");
        assert_ok(file_write(path_join(&arena, folder, name), STR_LIT(""), &err));
    }
    assert_ok(file_write(path_join(&arena, folder, ".hidden.json"), STR_LIT(""), &err));
    assert_ok(file_list(&arena, folder, ".json", 100, &names, &count, &err));
    assert_int_equal(count, 100);
    assert_string_equal(names[0], "001.json");
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(names[i - 1], names[i]) < 0);
    assert_false(file_list(&arena, folder, ".json", 99, &names, &count, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_false(file_list(&arena, path_join(&arena, folder, "no"), "", 9, &names, &count, &err));
    assert_int_equal(err.code, ERR_IO);
    arena_release(&arena);
}

static void parents_are_created(void **state UNUSED)
{
    struct arena arena;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    const char *folder = unit_folder(&arena, "dirs");
    const char *deep = path_join(&arena, folder, "a/b//c/");
    assert_ok(file_make_dirs(deep, &err));
    assert_ok(file_make_dirs(deep, &err));
    assert_true(file_is_dir(deep));
    assert_ok(file_write(path_join(&arena, folder, "plain"), STR_LIT(""), &err));
    assert_false(file_make_dirs(path_join(&arena, folder, "plain/x"), &err));
    assert_int_equal(err.code, ERR_IO);
    arena_release(&arena);
}

static void path_parts(void **state UNUSED)
{
    static const struct {
        const char *path, *dir, *base;
    } cases[] = {
        {"a/b/c", "a/b", "c"}, {"c", ".", "c"}, {"/c", "/", "c"}, {"a/", "a", ""}, {"/", "/", ""},
    };
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_string_equal(path_dir(&arena, cases[i].path), cases[i].dir);
        assert_string_equal(path_base(cases[i].path), cases[i].base);
    }
    assert_string_equal(path_join(&arena, "a", "b"), "a/b");
    assert_string_equal(path_join(&arena, "a/", "b"), "a/b");
    assert_string_equal(path_join(&arena, "", "b"), "b");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_is_read),
        cmocka_unit_test(pipes_are_read_to_their_end),
        cmocka_unit_test(a_failed_write_changes_nothing),
        cmocka_unit_test(a_killed_writer_leaves_a_whole_file),
        cmocka_unit_test(folders_are_listed_in_order),
        cmocka_unit_test(parents_are_created),
        cmocka_unit_test(path_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
