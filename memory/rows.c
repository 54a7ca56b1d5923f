/*
 * Rows as data: what a column may hold, JSON form, and ids.  No database here.
 *
 * Method: the column lists of memory.h become tables of (name, kind, offset); every function walks
 * one of them.  The typed functions that memory.h declares are one line each, at the end.
 *
 * Invariant: parse(print(r)) = r for rows that row_check lets pass.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/panic.h"

#include "memory/memory_int.h"

#define COLUMN(R, kind, name) {#name, COLUMN_##kind, offsetof(struct R##_row, name)},
#define T(t, U)               static const struct column t##_columns[] = {U##_COLUMNS(COLUMN, t)};
BANK_TABLES(T)
#undef T
#undef COLUMN

const struct table *table_at(enum table_id id)
{
    static const struct table tables[] = {
#define T(name, NAME) {#name, name##_columns, COUNT_OF(name##_columns), sizeof(struct name##_row)},
        BANK_TABLES(T)
#undef T
    };
    ASSERT((size_t)id < COUNT_OF(tables));
    return &tables[id];
}

const void *row_at(const void *row, const struct column *column)
{
    return (const char *)row + column->offset;
}

void *row_place(void *row, const struct column *column)
{
    return (char *)row + column->offset;
}

/* ---- rules ---- */

static bool is_id(struct str s)
{
    struct hash hash;
    return hash_parse(s, &hash);
}

/* What is wrong with a column's value, NULL if nothing. */
static const char *complaint(const struct column *column, const void *at)
{
    switch (column->kind) {
    case COLUMN_ID:
    case COLUMN_REF:
        return is_id(*(const struct str *)at) ? NULL : "an id has 64 hexadecimal digits";
    case COLUMN_OPT: {
        struct str id = *(const struct str *)at;
        return id.len == 0 || is_id(id) ? NULL : "an id has 64 hexadecimal digits, or is empty";
    }
    case COLUMN_TEXT:
        return json_is_text(*(const struct str *)at) ? NULL : "a text is UTF-8 without NUL";
    case COLUMN_DOC:
        return json_is_canonical(*(const struct str *)at) ? NULL : "a document is canonical JSON";
    case COLUMN_REAL:
        return isnan(*(const double *)at) ? "NaN cannot be stored" : NULL;
    case COLUMN_BYTES:
    case COLUMN_INT:
    case COLUMN_FLAG:
    case COLUMN_U64:
    case COLUMN_CLOCK:
        return NULL;
    }
    panic("column kind %d", (int)column->kind);
}

bool row_check(const struct table *table, const void *row, struct err *err)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const char *why = complaint(&table->columns[i], row_at(row, &table->columns[i]));
        if (why)
            return err_raise(err, ERR_SEMANTIC, "%s.%s: %s", table->name, table->columns[i].name,
                             why);
    }
    return true;
}

/* ---- JSON ---- */

static void print_column(struct json_writer *w, const struct column *column, const void *at,
                         bool with_times)
{
    switch (column->kind) {
    case COLUMN_ID:
    case COLUMN_REF:
    case COLUMN_OPT:
    case COLUMN_TEXT:
        json_member_str(w, column->name, *(const struct str *)at);
        return;
    case COLUMN_DOC:
        json_member_document(w, column->name, *(const struct str *)at);
        return;
    case COLUMN_BYTES:
        json_member_bytes(w, column->name, *(const struct str *)at);
        return;
    case COLUMN_INT:
        json_member_int(w, column->name, *(const int64_t *)at);
        return;
    case COLUMN_FLAG:
        json_member_bool(w, column->name, *(const bool *)at);
        return;
    case COLUMN_REAL:
        json_member_real(w, column->name, *(const double *)at);
        return;
    case COLUMN_U64:
        json_member_u64(w, column->name, *(const uint64_t *)at);
        return;
    case COLUMN_CLOCK:
        if (with_times)
            json_member_int(w, column->name, *(const int64_t *)at);
        return;
    }
    panic("column kind %d", (int)column->kind);
}

void row_print(struct json_writer *w, const struct table *table, const void *row, bool with_times)
{
    json_open_object(w);
    json_member_int(w, "row", 1);
    json_member_text(w, "table", table->name);
    for (size_t i = 0; i < table->column_count; i++)
        print_column(w, &table->columns[i], row_at(row, &table->columns[i]), with_times);
    json_close_object(w);
}

static bool parse_flag(const struct json *json, const char *name, bool *out, struct err *err)
{
    const struct json *value;
    if (!json_need(json, name, JSON_BOOL, &value, err))
        return false;
    *out = value->boolean;
    return true;
}

static bool parse_column(struct arena *arena, const struct json *json, const struct column *column,
                         void *at, struct err *err)
{
    const char *name = column->name;
    switch (column->kind) {
    case COLUMN_ID:
    case COLUMN_REF:
    case COLUMN_OPT:
    case COLUMN_TEXT:
        return json_need_str(json, name, at, err);
    case COLUMN_DOC:
        return json_need_document(arena, json, name, at, err);
    case COLUMN_BYTES:
        return json_need_bytes(arena, json, name, at, err);
    case COLUMN_INT:
        return json_need_int(json, name, INT64_MIN, INT64_MAX, at, err);
    case COLUMN_FLAG:
        return parse_flag(json, name, at, err);
    case COLUMN_REAL:
        return json_need_real(json, name, at, err);
    case COLUMN_U64:
        return json_need_u64(json, name, at, err);
    case COLUMN_CLOCK:
        return json_opt_int(json, name, INT64_MIN, INT64_MAX, at, err);
    }
    panic("column kind %d", (int)column->kind);
}

/* Every member must be a column of the table. */
static bool known_members(const struct json *json, const struct table *table, struct err *err)
{
    enum { KEYS_MAX = 40 };
    const char *known[KEYS_MAX];
    char encoded[64];
    size_t count = 0;
    known[count++] = "row";
    known[count++] = "table";
    ASSERT(table->column_count + 4 < KEYS_MAX);
    for (size_t i = 0; i < table->column_count; i++) {
        known[count++] = table->columns[i].name;
        if (table->columns[i].kind == COLUMN_BYTES) {
            snprintf(encoded, sizeof(encoded), "%s_base64", table->columns[i].name);
            known[count++] = encoded;
        }
    }
    known[count] = NULL;
    return json_only(json, known, err);
}

bool row_parse(struct arena *arena, const struct json *json, const struct table *table, void *row,
               struct err *err)
{
    int64_t version;
    size_t word;
    char *parsed = arena_alloc(arena, 1, table->row_bytes, alignof(max_align_t));
    if (!json_need_int(json, "row", 1, 1, &version, err) ||
        !json_need_word(json, "table", &table->name, 1, &word, err) ||
        !known_members(json, table, err))
        return false;
    for (size_t i = 0; i < table->column_count; i++)
        if (!parse_column(arena, json, &table->columns[i], row_place(parsed, &table->columns[i]),
                          err))
            return false;
    if (!row_check(table, parsed, err))
        return json_fail(json, err, "%s", err->text);
    memcpy(row, parsed, table->row_bytes);
    return true;
}

/* ---- ids ---- */

static void hash_int(struct hash_stream *stream, int64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)value >> (8 * i));
    hash_add(stream, bytes, sizeof(bytes));
}

struct str row_id(struct arena *arena, const struct row_key *key)
{
    struct hash_stream stream;
    hash_begin(&stream);
    hash_field(&stream, STR_LIT("row 1"));
    hash_field(&stream, key->bank);
    hash_field(&stream, key->campaign);
    hash_field(&stream, key->task);
    hash_int(&stream, key->branch);
    hash_int(&stream, key->number);
    hash_field(&stream, key->kind);
    hash_int(&stream, key->ordinal);
    struct hash hash = hash_end(&stream);
    return hash_text(arena, &hash);
}

/* ---- typed ---- */

#define T(name, NAME)                                                                              \
    bool name##_row_insert(struct bank *bank, const struct name##_row *row, struct err *err)       \
    {                                                                                              \
        return bank_insert(bank, table_at(TABLE_##NAME), row, err);                                \
    }                                                                                              \
    bool name##_row_read(struct bank *bank, struct arena *arena, struct str id,                    \
                         struct name##_row *row, bool *found, struct err *err)                     \
    {                                                                                              \
        return bank_read(bank, arena, table_at(TABLE_##NAME), id, row, found, err);                \
    }                                                                                              \
    bool name##_row_list(struct bank *bank, struct arena *arena, const char *column,               \
                         struct str value, const struct name##_row **rows, size_t *count,          \
                         struct err *err)                                                          \
    {                                                                                              \
        struct row_filter filter = {column, value};                                                \
        void *list;                                                                                \
        if (!bank_list(bank, arena, table_at(TABLE_##NAME), &filter, &list, count, err))           \
            return false;                                                                          \
        *rows = list;                                                                              \
        return true;                                                                               \
    }                                                                                              \
    void name##_row_print(struct json_writer *w, const struct name##_row *row, bool with_times)    \
    {                                                                                              \
        row_print(w, table_at(TABLE_##NAME), row, with_times);                                     \
    }                                                                                              \
    bool name##_row_parse(struct arena *arena, const struct json *json, struct name##_row *row,    \
                          struct err *err)                                                         \
    {                                                                                              \
        return row_parse(arena, json, table_at(TABLE_##NAME), row, err);                           \
    }
BANK_TABLES(T)
#undef T
