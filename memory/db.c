/*
 * The bank's file: the only user of SQLite.
 *
 * Method: statements are made from the column tables of rows.c and prepared anew for each call;
 * what is stored was paid or measured, so rows are few and each is worth its sync (WAL, full).
 * Creating a bank is migrating it from schema 0, by the same steps in the same transaction.
 *
 * Invariant: rows are only added.  An id that is there already keeps its row, and bank_insert fails
 * unless the new row says the same, clock values aside.
 *
 * Not here: what rows mean, exports, merges.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/panic.h"

#include "memory/memory_int.h"

enum {
    BUSY_TIMEOUT_MS = 10000,
    BUSY_PAUSE_MS = 5,
    SQL_BYTES_MAX = 16384,
    APPLICATION_ID = 0x57505772, /* "WPwr" in the file's header */
    U64_DIGITS = 16,
    ROOM_FIRST = 16
};

struct bank {
    sqlite3 *handle;
    const char *path;
    struct str name;
    bool in_transaction;
};

/* A statement in use, with memory for its text. */
struct query {
    struct bank *bank;
    struct arena scratch;
    struct buf sql;
    sqlite3_stmt *stmt;
};

static bool fail(const struct bank *bank, struct err *err, const char *doing)
{
    const bool read_only = (sqlite3_errcode(bank->handle) & 0xff) == SQLITE_READONLY;

    return err_raise(err, ERR_DATABASE, "%s: %s: %s%s", bank->path, doing,
                     sqlite3_errmsg(bank->handle),
                     read_only ? "; even to be read, a bank must lie in a folder that can be "
                                 "written: copy it to one"
                               : "");
}

static bool execute(struct bank *bank, const char *sql, struct err *err)
{
    if (sqlite3_exec(bank->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        return fail(bank, err, sql);
    return true;
}

static void query_init(struct query *query, struct bank *bank)
{
    *query = (struct query){.bank = bank};
    arena_init(&query->scratch, (size_t)64 * JSON_BYTES_MAX);
    buf_init(&query->sql, &query->scratch, SQL_BYTES_MAX);
}

static void query_release(struct query *query)
{
    sqlite3_finalize(query->stmt);
    arena_release(&query->scratch);
}

static bool prepare(struct query *query, struct err *err)
{
    ASSERT(!query->sql.overflow);
    if (sqlite3_prepare_v2(query->bank->handle, query->sql.at, (int)query->sql.len, &query->stmt,
                           NULL) != SQLITE_OK)
        return fail(query->bank, err, query->sql.at);
    return true;
}

/* The next row; *more = false at the end. */
static bool step(struct query *query, bool *more, struct err *err)
{
    int rc = sqlite3_step(query->stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return fail(query->bank, err, query->sql.at);
    *more = rc == SQLITE_ROW;
    return true;
}

/* The first column of the first row; 0 when there is none. */
static bool get_int(struct bank *bank, const char *sql, int64_t *out, struct err *err)
{
    struct query query;
    bool more = false;
    query_init(&query, bank);
    buf_text(&query.sql, sql);
    bool ok = prepare(&query, err) && step(&query, &more, err);
    if (ok)
        *out = more ? sqlite3_column_int64(query.stmt, 0) : 0;
    query_release(&query);
    return ok;
}

static struct str column_str(sqlite3_stmt *stmt, int index, struct arena *arena)
{
    const void *at = sqlite3_column_blob(stmt, index);
    size_t len = (size_t)sqlite3_column_bytes(stmt, index);
    return (struct str){str_copy(arena, (struct str){at, len}), len};
}

/* ---- columns in and out ---- */

static int bind_str(sqlite3_stmt *stmt, int index, struct str s)
{
    return sqlite3_bind_text64(stmt, index, s.at ? s.at : "", s.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static int bind_column(sqlite3_stmt *stmt, int index, const struct column *column, const void *at)
{
    char digits[U64_DIGITS + 1];
    struct str s;
    switch (column->kind) {
    case COLUMN_OPT:
        s = *(const struct str *)at;
        return s.len ? bind_str(stmt, index, s) : sqlite3_bind_null(stmt, index);
    case COLUMN_ID:
    case COLUMN_REF:
    case COLUMN_TEXT:
    case COLUMN_DOC:
        return bind_str(stmt, index, *(const struct str *)at);
    case COLUMN_BYTES:
        s = *(const struct str *)at;
        return sqlite3_bind_blob64(stmt, index, s.at ? s.at : "", s.len, SQLITE_TRANSIENT);
    case COLUMN_INT:
    case COLUMN_CLOCK:
        return sqlite3_bind_int64(stmt, index, *(const int64_t *)at);
    case COLUMN_FLAG:
        return sqlite3_bind_int64(stmt, index, *(const bool *)at);
    case COLUMN_REAL:
        return sqlite3_bind_double(stmt, index, *(const double *)at);
    case COLUMN_U64:
        snprintf(digits, sizeof(digits), "%016" PRIx64, *(const uint64_t *)at);
        return bind_str(stmt, index, str_from(digits));
    }
    panic("column kind %d", (int)column->kind);
}

static void read_column(sqlite3_stmt *stmt, int index, struct arena *arena,
                        const struct column *column, void *at)
{
    switch (column->kind) {
    case COLUMN_ID:
    case COLUMN_REF:
    case COLUMN_OPT:
    case COLUMN_TEXT:
    case COLUMN_DOC:
    case COLUMN_BYTES:
        *(struct str *)at = column_str(stmt, index, arena);
        return;
    case COLUMN_INT:
    case COLUMN_CLOCK:
        *(int64_t *)at = sqlite3_column_int64(stmt, index);
        return;
    case COLUMN_FLAG:
        *(bool *)at = sqlite3_column_int64(stmt, index) != 0;
        return;
    case COLUMN_REAL:
        *(double *)at = sqlite3_column_double(stmt, index);
        return;
    case COLUMN_U64:
        if (sscanf(column_str(stmt, index, arena).at, "%16" SCNx64, (uint64_t *)at) != 1)
            *(uint64_t *)at = 0;
        return;
    }
    panic("column kind %d", (int)column->kind);
}

/* "a", "b", ... */
static void write_columns(struct buf *sql, const struct table *table)
{
    for (size_t i = 0; i < table->column_count; i++)
        buf_printf(sql, "%s\"%s\"", i ? ", " : "", table->columns[i].name);
}

static void read_row(struct query *query, struct arena *arena, const struct table *table, void *row)
{
    for (size_t i = 0; i < table->column_count; i++)
        read_column(query->stmt, (int)i, arena, &table->columns[i],
                    row_place(row, &table->columns[i]));
}

/* ---- rows ---- */

static struct str row_text(struct arena *arena, const struct table *table, const void *row)
{
    struct buf text;
    struct json_writer w;
    buf_init(&text, arena, (size_t)4 * JSON_BYTES_MAX);
    json_writer_init(&w, &text);
    row_print(&w, table, row, false);
    return buf_view(&text);
}

/* The row that is there must say what the new one says. */
static bool same_row(struct query *query, const struct table *table, const void *row,
                     struct err *err)
{
    struct arena *arena = &query->scratch;
    struct str id = *(const struct str *)row_at(row, &table->columns[0]);
    void *old = arena_alloc(arena, 1, table->row_bytes, alignof(max_align_t));
    bool found = false;
    if (!bank_read(query->bank, arena, table, id, old, &found, err))
        return false;
    if (!found || !str_equal(row_text(arena, table, old), row_text(arena, table, row)))
        return err_raise(err, ERR_SEMANTIC, "%s: another %s has the id %.*s", query->bank->path,
                         table->name, STR_ARG(id));
    return true;
}

static bool run_insert(struct query *query, const struct table *table, const void *row,
                       struct err *err)
{
    bool more;
    for (size_t i = 0; i < table->column_count; i++)
        if (bind_column(query->stmt, (int)i + 1, &table->columns[i],
                        row_at(row, &table->columns[i])) != SQLITE_OK)
            return fail(query->bank, err, table->columns[i].name);
    if (!step(query, &more, err))
        return err_context(err, "adding a %s", table->name);
    return sqlite3_changes(query->bank->handle) > 0 || same_row(query, table, row, err);
}

bool bank_insert(struct bank *bank, const struct table *table, const void *row, struct err *err)
{
    struct query query;
    if (!row_check(table, row, err))
        return false;
    query_init(&query, bank);
    buf_printf(&query.sql, "INSERT INTO %s (", table->name);
    write_columns(&query.sql, table);
    buf_text(&query.sql, ") VALUES (");
    for (size_t i = 0; i < table->column_count; i++)
        buf_text(&query.sql, i ? ", ?" : "?");
    buf_text(&query.sql, ") ON CONFLICT (id) DO NOTHING");
    bool ok = prepare(&query, err) && run_insert(&query, table, row, err);
    query_release(&query);
    return ok;
}

static bool select_rows(struct query *query, const struct table *table, const char *column,
                        struct str value, struct err *err)
{
    buf_text(&query->sql, "SELECT ");
    write_columns(&query->sql, table);
    buf_printf(&query->sql, " FROM %s", table->name);
    if (column)
        buf_printf(&query->sql, " WHERE \"%s\" = ?", column);
    buf_text(&query->sql, " ORDER BY id");
    if (!prepare(query, err))
        return false;
    if (column && bind_str(query->stmt, 1, value) != SQLITE_OK)
        return fail(query->bank, err, "a query");
    return true;
}

bool bank_read(struct bank *bank, struct arena *arena, const struct table *table, struct str id,
               void *row, bool *found, struct err *err)
{
    struct query query;
    bool more = false;
    query_init(&query, bank);
    bool ok = select_rows(&query, table, "id", id, err) && step(&query, &more, err);
    if (ok && more)
        read_row(&query, arena, table, row);
    if (ok)
        *found = more;
    query_release(&query);
    return ok;
}

/* A column by which rows can be asked for. */
static bool can_filter(const struct table *table, const char *column)
{
    for (size_t i = 0; i < table->column_count; i++) {
        enum column_kind kind = table->columns[i].kind;
        bool text =
            kind == COLUMN_ID || kind == COLUMN_REF || kind == COLUMN_OPT || kind == COLUMN_TEXT;
        if (text && strcmp(table->columns[i].name, column) == 0)
            return true;
    }
    return false;
}

static bool collect(struct query *query, struct arena *arena, const struct table *table,
                    void **rows, size_t *count, struct err *err)
{
    char *list = NULL;
    size_t used = 0, room = 0;
    bool more;
    while (step(query, &more, err)) {
        if (!more) {
            *rows = list;
            *count = used;
            return true;
        }
        if (used == room) {
            room = room ? 2 * room : ROOM_FIRST;
            char *grown = arena_alloc(arena, room, table->row_bytes, alignof(max_align_t));
            if (used)
                memcpy(grown, list, used * table->row_bytes);
            list = grown;
        }
        read_row(query, arena, table, list + used++ * table->row_bytes);
    }
    return false;
}

bool bank_list(struct bank *bank, struct arena *arena, const struct table *table,
               const struct row_filter *filter, void **rows, size_t *count, struct err *err)
{
    struct query query;
    ASSERT(!filter->column || can_filter(table, filter->column));
    query_init(&query, bank);
    bool ok = select_rows(&query, table, filter->column, filter->value, err) &&
              collect(&query, arena, table, rows, count, err);
    query_release(&query);
    return ok;
}

/* ---- transactions ---- */

bool bank_begin(struct bank *bank, struct err *err)
{
    ASSERT(!bank->in_transaction);
    if (!execute(bank, "BEGIN IMMEDIATE", err))
        return false;
    bank->in_transaction = true;
    return true;
}

bool bank_commit(struct bank *bank, struct err *err)
{
    ASSERT(bank->in_transaction);
    if (!execute(bank, "COMMIT", err))
        return false;
    bank->in_transaction = false;
    return true;
}

void bank_rollback(struct bank *bank)
{
    ASSERT(bank->in_transaction);
    sqlite3_exec(bank->handle, "ROLLBACK", NULL, NULL, NULL);
    bank->in_transaction = false;
}

/* ---- opening ---- */

struct migration {
    int version; /* that it leads to */
    const char *sql;
};
static const struct migration migrations[] = {
    {1, embed_memory_schema_sql},
};

static bool put_name(struct bank *bank, struct str name, struct err *err)
{
    struct query query;
    bool more;
    query_init(&query, bank);
    buf_text(&query.sql, "INSERT INTO meta (key, value) VALUES ('name', ?)");
    bool ok = prepare(&query, err) &&
              (bind_str(query.stmt, 1, name) == SQLITE_OK || fail(bank, err, "the bank's name")) &&
              step(&query, &more, err);
    query_release(&query);
    return ok;
}

static bool get_name(struct bank *bank, struct arena *arena, struct err *err)
{
    struct query query;
    bool more = false;
    query_init(&query, bank);
    buf_text(&query.sql, "SELECT value FROM meta WHERE key = 'name'");
    bool ok = prepare(&query, err) && step(&query, &more, err);
    if (ok && more)
        bank->name = column_str(query.stmt, 0, arena);
    query_release(&query);
    if (ok && bank->name.len == 0)
        return err_raise(err, ERR_DATABASE, "%s: the bank has no name", bank->path);
    return ok;
}

static bool upgrade(struct bank *bank, int64_t version, struct str name, struct err *err)
{
    char sql[64];
    for (size_t i = 0; i < COUNT_OF(migrations); i++) {
        if (migrations[i].version <= version)
            continue;
        snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", migrations[i].version);
        if (!execute(bank, migrations[i].sql, err) || !execute(bank, sql, err))
            return false;
    }
    if (version > 0)
        return true;
    snprintf(sql, sizeof(sql), "PRAGMA application_id = %d", APPLICATION_ID);
    return execute(bank, sql, err) && put_name(bank, name, err);
}

/* The three at one moment: another process may be making the bank. */
static bool read_marks(struct bank *bank, int64_t *objects, int64_t *application, int64_t *version,
                       struct err *err)
{
    if (!execute(bank, "SAVEPOINT marks", err))
        return false;
    bool ok = get_int(bank, "SELECT count(*) FROM sqlite_schema", objects, err) &&
              get_int(bank, "PRAGMA application_id", application, err) &&
              get_int(bank, "PRAGMA user_version", version, err);
    struct err ignored;
    return execute(bank, "RELEASE marks", ok ? err : &ignored) && ok;
}

/* What the file is: a bank of some version, empty (version 0), or something else (an error). */
static bool identify(struct bank *bank, int64_t *version, struct err *err)
{
    int64_t application, objects;
    if (!read_marks(bank, &objects, &application, version, err))
        return false;
    if (objects == 0 && application == 0 && *version == 0)
        return true;
    if (application != APPLICATION_ID || *version < 1)
        return err_raise(err, ERR_DATABASE, "%s: this SQLite file is no bank", bank->path);
    if (*version > BANK_SCHEMA_VERSION)
        return err_raise(err, ERR_DATABASE,
                         "%s: schema %lld is of a later program; this one knows up to %d",
                         bank->path, (long long)*version, BANK_SCHEMA_VERSION);
    return true;
}

/* The busy timeout does not hold here: a switch that would have to wait fails at once, so that two
 * who want it do not wait for each other. */
static bool switch_to_wal(struct bank *bank, struct err *err)
{
    static const char sql[] = "PRAGMA journal_mode = WAL";
    int waited_ms = 0;
    while (sqlite3_exec(bank->handle, sql, NULL, NULL, NULL) != SQLITE_OK) {
        const int code = sqlite3_errcode(bank->handle) & 0xff;
        if ((code != SQLITE_BUSY && code != SQLITE_LOCKED) || waited_ms >= BUSY_TIMEOUT_MS)
            return fail(bank, err, sql);
        sqlite3_sleep(BUSY_PAUSE_MS);
        waited_ms += BUSY_PAUSE_MS;
    }
    return true;
}

/* Identified again inside the transaction: another process may have been first. */
static bool migrate(struct bank *bank, const struct bank_options *options, struct err *err)
{
    int64_t version;
    if (!identify(bank, &version, err))
        return false;
    if (version == BANK_SCHEMA_VERSION)
        return true;
    if (options->read_only || (version == 0 && options->name.len == 0))
        return err_raise(err, ERR_DATABASE, "%s: %s", bank->path,
                         version == 0 ? "the file is empty; a new bank needs a name"
                                      : "the schema is old; open the bank for writing once");
    if (!switch_to_wal(bank, err) || !bank_begin(bank, err))
        return false;
    bool ok = identify(bank, &version, err) && upgrade(bank, version, options->name, err) &&
              bank_commit(bank, err);
    if (!ok)
        bank_rollback(bank);
    return ok;
}

/* The columns in the file are those of memory.h. */
static bool check_table(struct bank *bank, const struct table *table, struct err *err)
{
    struct query query;
    bool more = false, ok;
    size_t i = 0;
    query_init(&query, bank);
    buf_printf(&query.sql, "SELECT name FROM pragma_table_info('%s') ORDER BY cid", table->name);
    ok = prepare(&query, err);
    while (ok && (ok = step(&query, &more, err)) && more) {
        struct str name = column_str(query.stmt, 0, &query.scratch);
        if (i >= table->column_count || !str_equal(name, str_from(table->columns[i].name)))
            ok = err_raise(err, ERR_DATABASE, "%s: %s has an unknown column \"%.*s\"", bank->path,
                           table->name, STR_ARG(name));
        i++;
    }
    if (ok && i != table->column_count)
        ok = err_raise(err, ERR_DATABASE, "%s: %s has %zu columns, not %zu", bank->path,
                       table->name, i, table->column_count);
    query_release(&query);
    return ok;
}

static bool set_up(struct bank *bank, struct arena *arena, const struct bank_options *options,
                   struct err *err)
{
    sqlite3_limit(bank->handle, SQLITE_LIMIT_LENGTH, BANK_VALUE_BYTES_MAX);
    sqlite3_busy_timeout(bank->handle, BUSY_TIMEOUT_MS);
    if (!execute(bank, "PRAGMA trusted_schema = OFF", err) ||
        !execute(bank, "PRAGMA cell_size_check = ON", err) ||
        !execute(bank, "PRAGMA foreign_keys = ON", err) ||
        !execute(bank, "PRAGMA synchronous = FULL", err) || !migrate(bank, options, err))
        return false;
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (!check_table(bank, table_at((enum table_id)i), err))
            return false;
    return get_name(bank, arena, err);
}

bool bank_open(struct arena *arena, const char *path, const struct bank_options *options,
               struct bank **out, struct err *err)
{
    struct bank *bank = arena_new(arena, struct bank);
    int flags = options->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    if (options->name.len > BANK_NAME_BYTES_MAX || !json_is_text(options->name))
        return err_raise(err, ERR_USAGE, "a bank's name is UTF-8 of at most %d bytes",
                         BANK_NAME_BYTES_MAX);
    if (options->name.len > 0 && !options->read_only)
        flags |= SQLITE_OPEN_CREATE;
    else if (!file_exists(path))
        return err_raise(err, ERR_IO, "%s: there is no such bank", path);
    bank->path = str_copy(arena, str_from(path));
    bool ok = sqlite3_open_v2(path, &bank->handle, flags, NULL) == SQLITE_OK
                  ? set_up(bank, arena, options, err)
                  : fail(bank, err, "open");
    if (!ok)
        bank_close(bank);
    else
        *out = bank;
    return ok;
}

void bank_close(struct bank *bank)
{
    sqlite3_close(bank->handle);
    bank->handle = NULL;
}

struct str bank_name(const struct bank *bank)
{
    return bank->name;
}

/* ---- checking ---- */

/* A check that yields no row, or one "ok", when all is well. */
static bool run_check(struct bank *bank, const char *sql, struct err *err)
{
    struct query query;
    bool more = false;
    query_init(&query, bank);
    buf_text(&query.sql, sql);
    bool ok = prepare(&query, err) && step(&query, &more, err);
    if (ok && more) {
        struct str said = column_str(query.stmt, 0, &query.scratch);
        if (!str_equal(said, STR_LIT("ok")))
            ok = err_raise(err, ERR_DATABASE, "%s: %s: %.*s", bank->path, sql,
                           said.len > 400 ? 400 : (int)said.len, said.at);
    }
    query_release(&query);
    return ok;
}

/* What is stored keeps the rules by which it was added. */
static bool check_stored(struct query *query, const struct table *table, struct err *err)
{
    struct arena arena;
    struct err why;
    arena_init(&arena, (size_t)64 * JSON_BYTES_MAX);
    void *row = arena_alloc(&arena, 1, table->row_bytes, alignof(max_align_t));
    read_row(query, &arena, table, row);
    bool ok = row_check(table, row, &why);
    if (!ok) {
        struct str id = *(const struct str *)row_at(row, &table->columns[0]);
        err_raise(err, ERR_DATABASE, "%s: %s %.10s: %s", query->bank->path, table->name, id.at,
                  why.text);
    }
    arena_release(&arena);
    return ok;
}

static bool check_rows(struct bank *bank, const struct table *table, struct err *err)
{
    struct query query;
    bool more = true;
    query_init(&query, bank);
    bool ok = select_rows(&query, table, NULL, (struct str){NULL, 0}, err);
    while (ok && more)
        ok = step(&query, &more, err) && (!more || check_stored(&query, table, err));
    query_release(&query);
    return ok;
}

bool bank_check(struct bank *bank, struct err *err)
{
    if (!run_check(bank, "PRAGMA integrity_check(1)", err) ||
        !run_check(bank, "PRAGMA foreign_key_check", err))
        return false;
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (!check_rows(bank, table_at((enum table_id)i), err))
            return false;
    return true;
}
