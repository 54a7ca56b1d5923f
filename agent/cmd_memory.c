/*
 * memory: what a bank holds.  Reads only.
 *
 *   log         campaigns, their tasks and attempts, oldest campaign first
 *   show ID     a row, by the first digits of its id, and the rows about it
 *   check       the file's structure, references, and what each row's documents say
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"

#include "agent/agent.h"
#include "memory/memory.h"

enum { TEXT_BYTES_MAX = 256 << 20, ID_DIGITS_MIN = 4, ID_DIGITS_SHOWN = 10, REASON_BYTES = 100 };
static const size_t arena_bytes_max = (size_t)4 << 30;

struct memory_args {
    struct common common;
    const char *bank;
};

struct look {
    struct arena *arena;
    struct bank *bank;
    const struct memory_args *args;
    struct buf text;
    int status;
};

/* ---- log ---- */

static int campaign_order(const void *a, const void *b)
{
    const struct campaign_row *x = a, *y = b;

    if (x->started_s != y->started_s)
        return x->started_s < y->started_s ? -1 : 1;
    return memcmp(x->id.at, y->id.at, x->id.len);
}

static int attempt_order(const void *a, const void *b)
{
    const struct attempt_row *x = a, *y = b;

    if (x->branch != y->branch)
        return x->branch < y->branch ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* A sorted copy. */
static void *sorted(struct arena *arena, const void *rows, size_t count, size_t bytes,
                    int (*order)(const void *, const void *))
{
    char *copy = arena_array(arena, char, count *bytes + 1);

    if (count > 0) {
        memcpy(copy, rows, count * bytes);
        qsort(copy, count, bytes, order);
    }
    return copy;
}

static void put_id(struct buf *out, struct str id)
{
    buf_printf(out, "%.*s", id.len < ID_DIGITS_SHOWN ? (int)id.len : ID_DIGITS_SHOWN, id.at);
}

static bool log_attempt(struct look *l, const struct attempt_row *attempt, struct err *err)
{
    const struct verdict_row *verdicts;
    size_t count;

    if (!verdict_row_list(l->bank, l->arena, "attempt", attempt->id, &verdicts, &count, err))
        return false;
    buf_text(&l->text, "  ");
    put_id(&l->text, attempt->id);
    buf_printf(&l->text, "  %3" PRId64 "  ", attempt->number);
    escape_print(&l->text, attempt->writer, REASON_BYTES);
    for (size_t i = 0; i < count; i++) {
        buf_text(&l->text, "  ");
        escape_print(&l->text, verdicts[i].validity, REASON_BYTES);
        if (!str_equal(verdicts[i].timing, STR_LIT("none"))) {
            buf_text(&l->text, ", ");
            escape_print(&l->text, verdicts[i].timing, REASON_BYTES);
        }
        buf_printf(&l->text, "  %" PRId64 " checks on ", verdicts[i].checks);
        escape_print(&l->text, verdicts[i].executor, REASON_BYTES);
        if (!str_equal(verdicts[i].validity, STR_LIT("accepted"))) {
            buf_text(&l->text, ": ");
            escape_print(&l->text, verdicts[i].reason, REASON_BYTES);
        }
    }
    buf_text(&l->text, count == 0 ? "  no verdict: it was interrupted\n" : "\n");
    return true;
}

static bool log_task(struct look *l, const struct task_row *task, struct err *err)
{
    const struct attempt_row *attempts, *order;
    size_t count;

    if (!attempt_row_list(l->bank, l->arena, "task", task->id, &attempts, &count, err))
        return false;
    order = sorted(l->arena, attempts, count, sizeof(attempts[0]), attempt_order);
    for (size_t i = 0; i < count; i++)
        if (!log_attempt(l, &order[i], err))
            return false;
    return true;
}

static bool log_campaign(struct look *l, const struct campaign_row *campaign, struct err *err)
{
    const struct task_row *tasks;
    size_t count;

    put_id(&l->text, campaign->id);
    buf_text(&l->text, "  ");
    escape_print(&l->text, campaign->name, TEXT_BYTES_MAX);
    buf_char(&l->text, '\n');
    if (!task_row_list(l->bank, l->arena, "campaign", campaign->id, &tasks, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!log_task(l, &tasks[i], err))
            return false;
    return true;
}

static bool show_log(struct look *l, const char *unused, struct err *err)
{
    const struct campaign_row *rows, *order;
    size_t count;

    (void)unused;
    if (!campaign_row_list(l->bank, l->arena, NULL, STR_LIT(""), &rows, &count, err))
        return false;
    order = sorted(l->arena, rows, count, sizeof(rows[0]), campaign_order);
    for (size_t i = 0; i < count; i++)
        if (!log_campaign(l, &order[i], err))
            return false;
    if (count == 0)
        buf_text(&l->text, "the bank is empty\n");
    return true;
}

/* ---- rows as JSON: log --json, show ---- */

/* Rows that `wanted` matches, a line each; *count goes up. */
struct match {
    struct str prefix; /* of the id; empty = all */
    struct str about;  /* or: a document that names this id */
};

static bool matches(const struct match *match, struct str id, struct str printed)
{
    if (match->about.len > 0)
        return !str_equal(id, match->about) &&
               memmem(printed.at, printed.len, match->about.at, match->about.len) != NULL;
    return str_has_prefix(id, match->prefix);
}

static void put_match(struct look *l, const struct match *match, struct str id, struct str printed,
                      struct str *first, size_t *count)
{
    if (!matches(match, id, printed))
        return;
    if ((*count)++ == 0)
        *first = id;
    buf_str(&l->text, printed);
    buf_char(&l->text, '\n');
}

#define T(name, NAME)                                                                              \
    static bool list_##name(struct look *l, const struct match *match, struct str *first,          \
                            size_t *count, struct err *err)                                        \
    {                                                                                              \
        const struct name##_row *rows;                                                             \
        size_t n;                                                                                  \
                                                                                                   \
        if (!name##_row_list(l->bank, l->arena, NULL, STR_LIT(""), &rows, &n, err))                \
            return false;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            struct json_writer w;                                                                  \
            struct buf line;                                                                       \
                                                                                                   \
            buf_init(&line, l->arena, TEXT_BYTES_MAX);                                             \
            json_writer_init(&w, &line);                                                           \
            name##_row_print(&w, &rows[i], true);                                                  \
            put_match(l, match, rows[i].id, buf_view(&line), first, count);                        \
        }                                                                                          \
        return true;                                                                               \
    }
BANK_TABLES(T)
#undef T

static bool list_all(struct look *l, const struct match *match, struct str *first, size_t *count,
                     struct err *err)
{
    *count = 0;
#define T(name, NAME)                                                                              \
    if (!list_##name(l, match, first, count, err))                                                 \
        return false;
    BANK_TABLES(T)
#undef T
    return true;
}

static bool show_rows(struct look *l, const char *unused, struct err *err)
{
    const struct match all = {0};
    struct str first;
    size_t count;

    (void)unused;
    return list_all(l, &all, &first, &count, err);
}

static bool show_row(struct look *l, const char *id, struct err *err)
{
    const struct match named = {.prefix = str_from(id)};
    struct match about = {0};
    struct str first;
    size_t count;

    if (named.prefix.len < ID_DIGITS_MIN)
        return err_raise(err, ERR_USAGE, "give at least %d digits of the id; memory log lists them",
                         ID_DIGITS_MIN);
    if (!list_all(l, &named, &about.about, &count, err))
        return false;
    if (count == 0)
        return err_raise(err, ERR_USAGE, "no row's id begins with \"%s\"; memory log lists them",
                         id);
    if (count > 1)
        return err_raise(err, ERR_USAGE, "%zu rows' ids begin with \"%s\"; give more digits", count,
                         id);
    return list_all(l, &about, &first, &count, err);
}

/* ---- check ---- */

/* What the documents say, besides what the bank's own check looks at. */
static void complain(struct look *l, const char *table, struct str id, const char *what)
{
    buf_printf(&l->text, "%s ", table);
    put_id(&l->text, id);
    buf_text(&l->text, ": ");
    escape_print(&l->text, str_from(what), TEXT_BYTES_MAX);
    buf_char(&l->text, '\n');
    l->status = EXIT_FAILED;
}

/* One that never meant anything was stored as a string. */
static void check_manifest(struct look *l, const struct kernel_row *row)
{
    const struct json *json;
    const struct manifest *manifest;
    struct err why;

    if (!json_parse(l->arena, row->manifest, "manifest", &json, &why) ||
        (json->kind != JSON_STRING && !manifest_parse(l->arena, json, &manifest, &why)))
        complain(l, "kernel", row->id, why.text);
}

static bool check_kernels(struct look *l, size_t *count, struct err *err)
{
    const struct kernel_row *rows;

    if (!kernel_row_list(l->bank, l->arena, NULL, STR_LIT(""), &rows, count, err))
        return false;
    for (size_t i = 0; i < *count; i++) {
        const struct hash hash = hash_bytes(rows[i].source.at, rows[i].source.len);
        char hex[HASH_HEX_BYTES];

        hash_hex(&hash, hex);
        if (!str_equal(rows[i].hash, str_from(hex)))
            complain(l, "kernel", rows[i].id, "the source is not the one that was stored");
        check_manifest(l, &rows[i]);
    }
    return true;
}

static bool check_verdicts(struct look *l, size_t *count, struct err *err)
{
    const struct verdict_row *rows;

    if (!verdict_row_list(l->bank, l->arena, NULL, STR_LIT(""), &rows, count, err))
        return false;
    for (size_t i = 0; i < *count; i++) {
        const struct json *json;
        struct verdict verdict;
        struct err why;

        if (!json_parse(l->arena, rows[i].document, "verdict", &json, &why) ||
            !verdict_parse(l->arena, json, &verdict, &why))
            complain(l, "verdict", rows[i].id, why.text);
        else if (!str_equal(rows[i].validity, str_from(validity_name(verdict.validity))))
            complain(l, "verdict", rows[i].id, "the row and its document disagree");
    }
    return true;
}

static bool check_attempts(struct look *l, size_t *count, struct err *err)
{
    const struct attempt_row *rows;

    if (!attempt_row_list(l->bank, l->arena, NULL, STR_LIT(""), &rows, count, err))
        return false;
    for (size_t i = 0; i < *count; i++) {
        const struct json *json;
        const struct plan *plan;
        struct err why;

        if (str_equal(rows[i].plan, STR_LIT("null")))
            continue;
        if (!json_parse(l->arena, rows[i].plan, "plan", &json, &why) ||
            !plan_parse(l->arena, json, &plan, &why))
            complain(l, "attempt", rows[i].id, why.text);
    }
    return true;
}

static bool show_check(struct look *l, const char *unused, struct err *err)
{
    size_t attempts, kernels, verdicts;

    (void)unused;
    if (!bank_check(l->bank, err) || !check_attempts(l, &attempts, err) ||
        !check_kernels(l, &kernels, err) || !check_verdicts(l, &verdicts, err))
        return false;
    buf_printf(&l->text, "%zu attempts, %zu kernels, %zu verdicts: %s\n", attempts, kernels,
               verdicts, l->status == EXIT_DONE ? "all sound" : "not sound");
    return true;
}

/* ---- the command ---- */

typedef bool look_fn(struct look *l, const char *id, struct err *err);

static look_fn *look_of(const struct memory_args *args, const char *const *positional, int count,
                        struct err *err)
{
    static const struct {
        const char *name;
        look_fn *plain, *json;
        int count;
    } verbs[] = {
        {"log", show_log, show_rows, 1},
        {"show", show_row, show_row, 2},
        {"check", show_check, NULL, 1},
    };

    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (strcmp(positional[0], verbs[i].name) == 0 && count == verbs[i].count) {
            look_fn *show = args->common.json ? verbs[i].json : verbs[i].plain;

            if (show == NULL)
                err_failed(err_raise(err, ERR_USAGE, "memory %s prints no JSON", verbs[i].name));
            return show;
        }
    err_failed(err_raise(err, ERR_USAGE, "say memory log, memory show ID or memory check"));
    return NULL;
}

static bool look(struct look *l, look_fn *show, const char *id, struct err *err)
{
    const struct bank_options options = {.read_only = true};

    if (l->args->bank == NULL)
        return err_raise(err, ERR_USAGE, "which bank?  Say --bank FILE");
    if (!bank_open(l->arena, l->args->bank, &options, &l->bank, err))
        return false;
    buf_init(&l->text, l->arena, TEXT_BYTES_MAX);
    const bool ok = show(l, id, err);
    bank_close(l->bank);
    return ok;
}

static const char memory_help[] =
    "log lists campaigns and their attempts; with --json every row, a line each.  show prints the\n"
    "row whose id begins with ID, then the rows about it, each as JSON on a line.  check looks at\n"
    "the file's structure and at what is in it.\n\n"
    "Exit status: 0 done, 1 the bank is damaged, 2 usage.\n\n"
    "    warpwright memory log --bank bank.db\n"
    "    warpwright memory show 1f0c2a --bank bank.db";

int cmd_memory(const struct command *self, int argc, char **argv)
{
    struct memory_args args = {0};
    const struct opt options[] = {
        {"bank", OPT_TEXT, &args.bank, "FILE", "the bank", 0, 0},
        COMMON_JSON(&args.common),
    };
    const struct opt_command command = {
        .name = self->name,
        .synopsis = "log|show ID|check --bank FILE",
        .summary = self->summary,
        .text = memory_help,
        .options = options,
        .option_count = COUNT_OF(options),
        .positional_min = 1,
        .positional_max = 2,
    };
    const char *positional[2] = {NULL, NULL};
    struct arena arena;
    struct look l = {.arena = &arena, .args = &args, .status = EXIT_DONE};
    look_fn *show;
    struct err err;
    int count, status;

    if (!command_begin(&command, argc, argv, positional, &count, &status))
        return status;
    arena_init(&arena, arena_bytes_max);
    show = look_of(&args, positional, count, &err);
    if (show != NULL && look(&l, show, positional[1], &err)) {
        fwrite(l.text.at, 1, l.text.len, stdout);
        status = l.status;
    } else {
        status = command_failed(self->name, &err);
    }
    arena_release(&arena);
    return status;
}
