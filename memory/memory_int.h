#ifndef MEMORY_MEMORY_INT_H
#define MEMORY_MEMORY_INT_H

#include "memory/memory.h"

/* Tables and columns as data, so that one piece of code serves all of them. */
enum table_id {
#define T(name, NAME) TABLE_##NAME,
    BANK_TABLES(T)
#undef T
        TABLE_COUNT
};

enum column_kind {
    COLUMN_ID,
    COLUMN_REF,
    COLUMN_OPT,
    COLUMN_TEXT,
    COLUMN_DOC,
    COLUMN_BYTES,
    COLUMN_INT,
    COLUMN_FLAG,
    COLUMN_REAL,
    COLUMN_U64,
    COLUMN_CLOCK
};

struct column {
    const char *name;
    enum column_kind kind;
    size_t offset; /* in the row's struct */
};

struct table {
    const char *name;
    const struct column *columns; /* the first is the id */
    size_t column_count;
    size_t row_bytes;
};
const struct table *table_at(enum table_id id);

/* A column's place in a row. */
const void *row_at(const void *row, const struct column *column);
void *row_place(void *row, const struct column *column);

/* ERR_SEMANTIC "attempt.plan: ..." when a column breaks the rules of its kind. */
bool row_check(const struct table *table, const void *row, struct err *err) MUST_USE;
void row_print(struct json_writer *w, const struct table *table, const void *row, bool with_times);
bool row_parse(struct arena *arena, const struct json *json, const struct table *table, void *row,
               struct err *err) MUST_USE;

bool bank_insert(struct bank *bank, const struct table *table, const void *row,
                 struct err *err) MUST_USE;
bool bank_read(struct bank *bank, struct arena *arena, const struct table *table, struct str id,
               void *row, bool *found, struct err *err) MUST_USE;
struct row_filter {
    const char *column; /* NULL = all rows */
    struct str value;
};
bool bank_list(struct bank *bank, struct arena *arena, const struct table *table,
               const struct row_filter *filter, void **rows, size_t *count,
               struct err *err) MUST_USE;

/* memory/schema.sql, linked in. */
extern const char embed_memory_schema_sql[];

#endif
