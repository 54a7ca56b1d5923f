/* The bank on disk: creation, rows of every table, conflicts, and crashes. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/rng.h"

#include "memory/memory.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 64 << 20 };

static const struct bank_options new_bank = {.name = {"bank-a", 6}};

static struct bank *open_bank(struct arena *arena, const char *folder)
{
    struct bank *bank = NULL;
    struct err err = {0};
    assert_ok(bank_open(arena, path_join(arena, folder, "bank.db"), &new_bank, &bank, &err));
    return bank;
}

static struct str make_id(struct arena *arena, const char *kind, int64_t ordinal)
{
    struct row_key key = {.bank = STR_LIT("bank-a"), .kind = str_from(kind), .ordinal = ordinal};
    return row_id(arena, &key);
}

static struct campaign_row make_campaign(struct arena *arena, int64_t ordinal)
{
    return (struct campaign_row){
        .id = make_id(arena, "campaign", ordinal),
        .name = STR_LIT("nightly \"42\""),
        .options = STR_LIT("{\"attempts\":12}"),
        .secret = UINT64_C(0xfedcba9876543210),
        .machine = STR_LIT("h200"),
        .program = STR_LIT("warpwright 1"),
        .budget_usd = 2.5,
        .started_s = 1700000000 + ordinal,
        .origin = STR_LIT(""),
    };
}

static struct str print_campaign(struct arena *arena, const struct campaign_row *row)
{
    struct buf out;
    struct json_writer w;
    buf_init(&out, arena, 1 << 20);
    json_writer_init(&w, &out);
    campaign_row_print(&w, row, true);
    return buf_view(&out);
}

/* A row of any table: each column gets a value of its kind; ids of other rows are `other`. */
#define FILL_ID(field)    (field) = id
#define FILL_REF(field)   (field) = other
#define FILL_OPT(field)   (field) = optional
#define FILL_TEXT(field)  (field) = STR_LIT("a \"text\"\n\xc3\xa9 of " #field)
#define FILL_DOC(field)   (field) = STR_LIT("{\"a\":[1,2.5,null],\"b\":\"" #field "\"}")
#define FILL_BYTES(field) (field) = bytes
#define FILL_INT(field)   (field) = -__LINE__
#define FILL_FLAG(field)  (field) = true
#define FILL_REAL(field)  (field) = 1.0 / 3
#define FILL_U64(field)   (field) = UINT64_MAX
#define FILL_CLOCK(field) (field) = 1700000000

#define FILL(R, kind, name) FILL_##kind(row->name);
#define T(name, NAME)                                                                              \
    static void fill_##name(struct name##_row *row, struct str id, struct str other,               \
                            struct str optional, struct str bytes)                                 \
    {                                                                                              \
        (void)other;                                                                               \
        (void)optional;                                                                            \
        (void)bytes;                                                                               \
        NAME##_COLUMNS(FILL, name)                                                                 \
    }                                                                                              \
    static struct str text_of_##name(struct arena *arena, const struct name##_row *row,            \
                                     bool with_times)                                              \
    {                                                                                              \
        struct buf out;                                                                            \
        struct json_writer w;                                                                      \
        buf_init(&out, arena, 1 << 20);                                                            \
        json_writer_init(&w, &out);                                                                \
        name##_row_print(&w, row, with_times);                                                     \
        return buf_view(&out);                                                                     \
    }                                                                                              \
    static void json_of_##name(struct arena *arena, struct str bytes)                              \
    {                                                                                              \
        struct err err = {0};                                                                      \
        const struct json *json;                                                                   \
        struct name##_row row = {0}, again;                                                        \
        fill_##name(&row, make_id(arena, "x", 1), make_id(arena, "x", 2), (struct str){"", 0},     \
                    bytes);                                                                        \
        struct str text = text_of_##name(arena, &row, true);                                       \
        assert_ok(json_parse(arena, text, #name, &json, &err));                                    \
        assert_ok(name##_row_parse(arena, json, &again, &err));                                    \
        assert_string_equal(text.at, text_of_##name(arena, &again, true).at);                      \
        assert_null(strstr(text_of_##name(arena, &row, false).at, "1700000000"));                  \
        assert_ok(json_parse(arena, text_of_##name(arena, &row, false), #name, &json, &err));      \
        assert_ok(name##_row_parse(arena, json, &again, &err));                                    \
    }
BANK_TABLES(T)
#undef T

static void test_json_of_every_table(void **state UNUSED)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
#define T(name, NAME)                                                                              \
    json_of_##name(&arena, STR_LIT("text"));                                                       \
    json_of_##name(&arena, (struct str){"\x7f"                                                     \
                                        "ELF\0\xff",                                               \
                                        6});
    BANK_TABLES(T)
#undef T
    arena_release(&arena);
}

/* Every table's row refers to rows whose id is the table's ordinal; each table gets two rows, the
 * second with its optional references set. */
static void insert_all(struct arena *arena, struct bank *bank)
{
    struct err err = {0};
    struct str one = make_id(arena, "x", 1), two = make_id(arena, "x", 2);
    struct str bytes = {"a\0b", 3};
#define T(name, NAME)                                                                              \
    do {                                                                                           \
        struct name##_row row = {0}, again;                                                        \
        bool found = false;                                                                        \
        fill_##name(&row, one, one, (struct str){"", 0}, bytes);                                   \
        assert_ok(name##_row_insert(bank, &row, &err));                                            \
        fill_##name(&row, two, one, one, bytes);                                                   \
        assert_ok(name##_row_insert(bank, &row, &err));                                            \
        assert_ok(name##_row_read(bank, arena, two, &again, &found, &err));                        \
        assert_true(found);                                                                        \
        assert_string_equal(text_of_##name(arena, &row, true).at,                                  \
                            text_of_##name(arena, &again, true).at);                               \
        assert_ok(name##_row_insert(bank, &again, &err));                                          \
    } while (0);
    BANK_TABLES(T)
#undef T
}

static void list_all(struct arena *arena, struct bank *bank)
{
    struct err err = {0};
#define T(name, NAME)                                                                              \
    do {                                                                                           \
        const struct name##_row *rows;                                                             \
        size_t count = 0;                                                                          \
        assert_ok(name##_row_list(bank, arena, NULL, (struct str){0}, &rows, &count, &err));       \
        assert_int_equal(count, 2);                                                                \
        assert_true(memcmp(rows[0].id.at, rows[1].id.at, 64) < 0);                                 \
        assert_ok(                                                                                 \
            name##_row_list(bank, arena, "id", make_id(arena, "x", 2), &rows, &count, &err));      \
        assert_int_equal(count, 1);                                                                \
    } while (0);
    BANK_TABLES(T)
#undef T
}

static void test_every_table(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    arena_init(&arena, ARENA_BYTES);
    const char *folder = unit_folder(&arena, "bank-tables");
    struct bank *bank = open_bank(&arena, folder);
    insert_all(&arena, bank);
    assert_ok(bank_check(bank, &err));
    bank_close(bank);
    bank = open_bank(&arena, folder);
    list_all(&arena, bank);
    bank_close(bank);
    arena_release(&arena);
}

static void test_conflicts(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    struct campaign_row row, again;
    bool found = true;
    arena_init(&arena, ARENA_BYTES);
    struct bank *bank = open_bank(&arena, unit_folder(&arena, "bank-conflicts"));
    row = make_campaign(&arena, 1);
    assert_ok(campaign_row_insert(bank, &row, &err));
    row.started_s += 60; /* a resumed run has another clock */
    assert_ok(campaign_row_insert(bank, &row, &err));
    assert_ok(campaign_row_read(bank, &arena, row.id, &again, &found, &err));
    assert_true(found);
    assert_int_equal(again.started_s, row.started_s - 60);
    row.budget_usd = 3;
    assert_false(campaign_row_insert(bank, &row, &err));
    assert_int_equal(err.code, ERR_SEMANTIC); /* unlike a bank that fails */
    assert_non_null(strstr(err.text, "bank.db: another campaign has the id "));
    assert_ok(
        campaign_row_read(bank, &arena, make_id(&arena, "campaign", 2), &again, &found, &err));
    assert_false(found);
    bank_close(bank);
    arena_release(&arena);
}

static void test_refused_rows(void **state UNUSED)
{
    static const char nul[] = "a\0b";
    struct arena arena;
    struct err err = {0};
    arena_init(&arena, ARENA_BYTES);
    struct bank *bank = open_bank(&arena, unit_folder(&arena, "bank-refused"));
#define REFUSED(change, said)                                                                      \
    do {                                                                                           \
        struct campaign_row row = make_campaign(&arena, 1);                                        \
        change;                                                                                    \
        assert_false(campaign_row_insert(bank, &row, &err));                                       \
        assert_string_equal(err.text, said);                                                       \
    } while (0)
    REFUSED(row.id = STR_LIT("abc"), "campaign.id: an id has 64 hexadecimal digits");
    REFUSED(row.name.at = nul; row.name.len = 3, "campaign.name: a text is UTF-8 without NUL");
    REFUSED(row.name = STR_LIT("\xff"), "campaign.name: a text is UTF-8 without NUL");
    REFUSED(row.options = STR_LIT("{"), "campaign.options: a document is canonical JSON");
    REFUSED(row.options = STR_LIT("{ }"), "campaign.options: a document is canonical JSON");
    REFUSED(row.budget_usd = 0.0 / 0.0, "campaign.budget_usd: NaN cannot be stored");
#undef REFUSED
    struct task_row task = {0};
    fill_task(&task, make_id(&arena, "x", 1), make_id(&arena, "x", 9), (struct str){"", 0},
              (struct str){"", 0});
    assert_false(task_row_insert(bank, &task, &err));
    assert_non_null(strstr(err.text, "FOREIGN KEY constraint failed"));
    assert_non_null(strstr(err.text, "adding a task"));
    bank_close(bank);
    arena_release(&arena);
}

static void test_transactions(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    struct campaign_row row;
    bool found = true;
    arena_init(&arena, ARENA_BYTES);
    struct bank *bank = open_bank(&arena, unit_folder(&arena, "bank-transactions"));
    row = make_campaign(&arena, 1);
    assert_ok(bank_begin(bank, &err));
    assert_ok(campaign_row_insert(bank, &row, &err));
    bank_rollback(bank);
    assert_ok(campaign_row_read(bank, &arena, row.id, &row, &found, &err));
    assert_false(found);
    assert_ok(bank_begin(bank, &err));
    assert_ok(campaign_row_insert(bank, &row, &err));
    assert_ok(bank_commit(bank, &err));
    assert_ok(campaign_row_read(bank, &arena, row.id, &row, &found, &err));
    assert_true(found);
    bank_close(bank);
    arena_release(&arena);
}

static void test_opening(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    struct bank *bank = NULL;
    const struct bank_options existing = {0}, read_only = {.read_only = true};
    arena_init(&arena, ARENA_BYTES);
    const char *folder = unit_folder(&arena, "bank-opening");
    const char *absent = path_join(&arena, folder, "absent.db");
    const char *text = path_join(&arena, folder, "text.db");
    const char *path = path_join(&arena, folder, "bank.db");

    assert_false(bank_open(&arena, absent, &existing, &bank, &err));
    assert_non_null(strstr(err.text, "absent.db: there is no such bank"));
    assert_false(file_exists(absent));
    assert_ok(file_write(text, STR_LIT("this is a text and no database at all"), &err));
    assert_false(bank_open(&arena, text, &new_bank, &bank, &err));
    assert_non_null(strstr(err.text, "not a database"));
    assert_ok(file_write(text, STR_LIT(""), &err));
    assert_false(bank_open(&arena, text, &existing, &bank, &err));
    assert_non_null(strstr(err.text, "text.db: the file is empty; a new bank needs a name"));

    struct campaign_row row = make_campaign(&arena, 1);
    bank = open_bank(&arena, folder);
    assert_true(str_equal(bank_name(bank), STR_LIT("bank-a")));
    assert_ok(campaign_row_insert(bank, &row, &err));
    bank_close(bank);
    assert_ok(bank_open(&arena, path, &read_only, &bank, &err));
    assert_true(str_equal(bank_name(bank), STR_LIT("bank-a")));
    row = make_campaign(&arena, 2);
    assert_false(campaign_row_insert(bank, &row, &err));
    assert_non_null(strstr(err.text, "readonly"));
    bank_close(bank);
    arena_release(&arena);
}

/* Overwrite bytes of the bank's header. */
static void patch(struct arena *arena, const char *path, size_t at, const char bytes[4])
{
    struct str file;
    struct err err = {0};
    assert_ok(file_read(arena, path, 16 << 20, &file, &err));
    char *copy = str_copy(arena, file);
    memcpy(copy + at, bytes, 4);
    assert_ok(file_write(path, (struct str){copy, file.len}, &err));
}

static void test_other_schemas(void **state UNUSED)
{
    enum { USER_VERSION_AT = 60, APPLICATION_ID_AT = 68 };
    struct arena arena;
    struct err err = {0};
    struct bank *bank = NULL;
    arena_init(&arena, ARENA_BYTES);
    const char *folder = unit_folder(&arena, "bank-schemas");
    const char *path = path_join(&arena, folder, "bank.db");
    bank_close(open_bank(&arena, folder));
    patch(&arena, path, USER_VERSION_AT, "\0\0\0\2");
    assert_false(bank_open(&arena, path, &new_bank, &bank, &err));
    assert_non_null(strstr(err.text, "schema 2 is of a later program; this one knows up to 1"));
    patch(&arena, path, USER_VERSION_AT, "\0\0\0\1");
    patch(&arena, path, APPLICATION_ID_AT, "\0\0\0\7");
    assert_false(bank_open(&arena, path, &new_bank, &bank, &err));
    assert_non_null(strstr(err.text, "this SQLite file is no bank"));
    arena_release(&arena);
}

static void test_damage_is_found(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    arena_init(&arena, ARENA_BYTES);
    const char *folder = unit_folder(&arena, "bank-damage");
    const char *path = path_join(&arena, folder, "bank.db");
    struct bank *bank = open_bank(&arena, folder);
    for (int64_t i = 0; i < 200; i++) {
        struct campaign_row row = make_campaign(&arena, i);
        assert_ok(campaign_row_insert(bank, &row, &err));
    }
    assert_ok(bank_check(bank, &err));
    bank_close(bank);
    struct str file;
    assert_ok(file_read(&arena, path, 16 << 20, &file, &err));
    patch(&arena, path, (file.len / 4096 - 2) * 4096, "\xff\xff\xff\xff");
    bank = open_bank(&arena, folder);
    assert_false(bank_check(bank, &err));
    bank_close(bank);
    arena_release(&arena);
}

/* SQLite finds nothing wrong with a text that is another one. */
static void test_false_documents_are_found(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    arena_init(&arena, ARENA_BYTES);
    const char *folder = unit_folder(&arena, "bank-documents");
    const char *path = path_join(&arena, folder, "bank.db");
    struct bank *bank = open_bank(&arena, folder);
    struct campaign_row row = make_campaign(&arena, 1);
    assert_ok(campaign_row_insert(bank, &row, &err));
    assert_ok(bank_check(bank, &err));
    bank_close(bank);
    struct str file;
    assert_ok(file_read(&arena, path, 16 << 20, &file, &err));
    const char *at = memmem(file.at, file.len, row.options.at, row.options.len);
    assert_non_null(at);
    patch(&arena, path, (size_t)(at - file.at), "[[[[");
    bank = open_bank(&arena, folder);
    assert_false(bank_check(bank, &err));
    assert_int_equal(err.code, ERR_DATABASE);
    assert_non_null(strstr(err.text, "campaign.options: a document is canonical JSON"));
    bank_close(bank);
    arena_release(&arena);
}

/* ---- kill -9 ---- */

static void write_until_killed(const char *folder, int fd)
{
    struct arena arena;
    struct err err = {0};
    arena_init(&arena, (size_t)1 << 30);
    struct bank *bank = open_bank(&arena, folder);
    for (int64_t i = 0;; i++) {
        struct campaign_row a = make_campaign(&arena, 2 * i), b = make_campaign(&arena, 2 * i + 1);
        if (!bank_begin(bank, &err) || !campaign_row_insert(bank, &a, &err) ||
            !campaign_row_insert(bank, &b, &err) || !bank_commit(bank, &err))
            _exit(1);
        char byte = 1;
        if (write(fd, &byte, 1) != 1)
            _exit(1);
    }
}

/* Kills a writer after `commits` were reported; how many it had reported when it died. */
static int64_t kill_writer(const char *folder, int64_t commits)
{
    int ends[2];
    int64_t seen = 0;
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        write_until_killed(folder, ends[1]);
    }
    close(ends[1]);
    while (seen < commits && read(ends[0], &byte, 1) == 1)
        seen++;
    kill(child, SIGKILL);
    while (read(ends[0], &byte, 1) == 1)
        seen++;
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return seen;
}

static void test_kill_loses_nothing(void **state UNUSED)
{
    struct rng rng;
    rng_init(&rng, 3);
    for (size_t i = 0; i < 12; i++) {
        struct arena arena;
        struct err err = {0};
        const struct campaign_row *rows;
        size_t count = 0;
        char name[32];
        arena_init(&arena, ARENA_BYTES);
        snprintf(name, sizeof(name), "bank-kill-%zu", i);
        const char *folder = unit_folder(&arena, name);
        int64_t commits = kill_writer(folder, rng_below(&rng, 40));
        struct bank *bank = open_bank(&arena, folder);
        assert_ok(bank_check(bank, &err));
        assert_ok(campaign_row_list(bank, &arena, NULL, (struct str){0}, &rows, &count, &err));
        assert_int_equal(count % 2, 0);
        assert_true((int64_t)count >= 2 * commits);
        for (int64_t j = 0; j < (int64_t)count; j++) {
            struct campaign_row want = make_campaign(&arena, j), got;
            bool found = false;
            assert_ok(campaign_row_read(bank, &arena, want.id, &got, &found, &err));
            assert_true(found);
            assert_string_equal(print_campaign(&arena, &want).at, print_campaign(&arena, &got).at);
        }
        bank_close(bank);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_of_every_table),
        cmocka_unit_test(test_every_table),
        cmocka_unit_test(test_conflicts),
        cmocka_unit_test(test_refused_rows),
        cmocka_unit_test(test_transactions),
        cmocka_unit_test(test_opening),
        cmocka_unit_test(test_other_schemas),
        cmocka_unit_test(test_damage_is_found),
        cmocka_unit_test(test_kill_loses_nothing),
        cmocka_unit_test(test_false_documents_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
