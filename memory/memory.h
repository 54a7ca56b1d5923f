#ifndef MEMORY_MEMORY_H
#define MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"

/*
 * memory: the bank, one SQLite file, and the rows in it.
 *
 * Rows are only ever added.  Adding a row that is there already, clock values aside, does nothing;
 * adding another row under the same id is an error (ERR_SEMANTIC).  So resumed runs and merges may
 * repeat what they did.  Plans, manifests and verdicts are documents here: stored, never
 * interpreted.
 */

/* ---- rows ---- */

/*
 * Kinds of column, with the type in the struct and in the bank:
 *   ID     struct str   64 hexadecimal digits, the key        REF   struct str  id of another row
 *   OPT    struct str   id of another row, or empty           TEXT  struct str  UTF-8 without NUL
 *   DOC    struct str   canonical JSON                        BYTES struct str  any bytes
 *   INT    int64_t                                            FLAG  bool
 *   REAL   double       not NaN                               U64   uint64_t    as 16 hex digits
 *   CLOCK  int64_t      seconds since 1970, UTC; exports may leave it out
 */
#define FIELD_ID    struct str
#define FIELD_REF   struct str
#define FIELD_OPT   struct str
#define FIELD_TEXT  struct str
#define FIELD_DOC   struct str
#define FIELD_BYTES struct str
#define FIELD_INT   int64_t
#define FIELD_FLAG  bool
#define FIELD_REAL  double
#define FIELD_U64   uint64_t
#define FIELD_CLOCK int64_t

/* One run of the state machine; the secret seeds all data and is revealed afterwards */
#define CAMPAIGN_COLUMNS(C, R)                                                                     \
    C(R, ID, id)                                                                                   \
    C(R, TEXT, name)                                                                               \
    C(R, DOC, options)                                                                             \
    C(R, U64, secret)                                                                              \
    C(R, TEXT, machine)                                                                            \
    C(R, TEXT, program)                                                                            \
    C(R, REAL, budget_usd)                                                                         \
    C(R, CLOCK, started_s)                                                                         \
    C(R, TEXT, origin)

/* (spec, track, shape, machine) of a campaign */
#define TASK_COLUMNS(C, R)                                                                         \
    C(R, ID, id)                                                                                   \
    C(R, REF, campaign)                                                                            \
    C(R, TEXT, op_name)                                                                            \
    C(R, TEXT, op)                                                                                 \
    C(R, TEXT, track)                                                                              \
    C(R, TEXT, machine)                                                                            \
    C(R, DOC, spec)                                                                                \
    C(R, DOC, document)                                                                            \
    C(R, TEXT, flags)                                                                              \
    C(R, TEXT, origin)

/* HTAM's global node: authored fields; what it is worth is derived from evidence */
#define DIRECTION_COLUMNS(C, R)                                                                    \
    C(R, ID, id)                                                                                   \
    C(R, TEXT, name)                                                                               \
    C(R, TEXT, goal)                                                                               \
    C(R, TEXT, trigger)                                                                            \
    C(R, TEXT, risk)                                                                               \
    C(R, TEXT, edit_pattern)                                                                       \
    C(R, TEXT, checks)                                                                             \
    C(R, REAL, prior)                                                                              \
    C(R, TEXT, origin)

/* HTAM's local node: a primitive with parameters, and the predicate over observed that earns it
 * credit */
#define STRATEGY_COLUMNS(C, R)                                                                     \
    C(R, ID, id)                                                                                   \
    C(R, REF, direction)                                                                           \
    C(R, TEXT, name)                                                                               \
    C(R, TEXT, primitive)                                                                          \
    C(R, DOC, parameters)                                                                          \
    C(R, TEXT, predicate)                                                                          \
    C(R, TEXT, goal)                                                                               \
    C(R, TEXT, trigger)                                                                            \
    C(R, TEXT, risk)                                                                               \
    C(R, TEXT, edit_pattern)                                                                       \
    C(R, TEXT, checks)                                                                             \
    C(R, REAL, prior)                                                                              \
    C(R, TEXT, origin)

/* HTAM's edge between directions */
#define TRANSITION_COLUMNS(C, R)                                                                   \
    C(R, ID, id)                                                                                   \
    C(R, REF, source)                                                                              \
    C(R, REF, target)                                                                              \
    C(R, TEXT, goal)                                                                               \
    C(R, TEXT, trigger)                                                                            \
    C(R, TEXT, risk)                                                                               \
    C(R, TEXT, edit_pattern)                                                                       \
    C(R, TEXT, checks)                                                                             \
    C(R, REAL, prior)                                                                              \
    C(R, TEXT, origin)

/* One walk from plan to verdict, stored before anything runs */
#define ATTEMPT_COLUMNS(C, R)                                                                      \
    C(R, ID, id)                                                                                   \
    C(R, REF, task)                                                                                \
    C(R, INT, branch)                                                                              \
    C(R, INT, number)                                                                              \
    C(R, OPT, parent)                                                                              \
    C(R, DOC, plan)                                                                                \
    C(R, TEXT, plan_hash)                                                                          \
    C(R, OPT, direction)                                                                           \
    C(R, OPT, strategy)                                                                            \
    C(R, FLAG, with_memory)                                                                        \
    C(R, TEXT, writer)                                                                             \
    C(R, CLOCK, started_s)                                                                         \
    C(R, TEXT, origin)

/* What an attempt wrote: source or binary, and its manifest */
#define KERNEL_COLUMNS(C, R)                                                                       \
    C(R, ID, id)                                                                                   \
    C(R, REF, attempt)                                                                             \
    C(R, INT, ordinal)                                                                             \
    C(R, TEXT, hash)                                                                               \
    C(R, TEXT, form)                                                                               \
    C(R, BYTES, source)                                                                            \
    C(R, DOC, manifest)                                                                            \
    C(R, TEXT, guard)                                                                              \
    C(R, TEXT, origin)

/* What verification said */
#define VERDICT_COLUMNS(C, R)                                                                      \
    C(R, ID, id)                                                                                   \
    C(R, REF, attempt)                                                                             \
    C(R, OPT, kernel)                                                                              \
    C(R, INT, ordinal)                                                                             \
    C(R, TEXT, validity)                                                                           \
    C(R, TEXT, timing)                                                                             \
    C(R, TEXT, gate)                                                                               \
    C(R, TEXT, executor)                                                                           \
    C(R, INT, checks)                                                                              \
    C(R, TEXT, reason)                                                                             \
    C(R, DOC, observed)                                                                            \
    C(R, DOC, document)                                                                            \
    C(R, CLOCK, ended_s)                                                                           \
    C(R, TEXT, origin)

/* A paired timing of a kernel against an opponent */
#define MEASUREMENT_COLUMNS(C, R)                                                                  \
    C(R, ID, id)                                                                                   \
    C(R, REF, verdict)                                                                             \
    C(R, REF, kernel)                                                                              \
    C(R, INT, ordinal)                                                                             \
    C(R, TEXT, opponent)                                                                           \
    C(R, TEXT, protocol)                                                                           \
    C(R, TEXT, device)                                                                             \
    C(R, TEXT, track)                                                                              \
    C(R, TEXT, guard)                                                                              \
    C(R, FLAG, cold)                                                                               \
    C(R, REAL, median_ns)                                                                          \
    C(R, REAL, ratio)                                                                              \
    C(R, REAL, ratio_low)                                                                          \
    C(R, REAL, ratio_high)                                                                         \
    C(R, DOC, samples)                                                                             \
    C(R, CLOCK, measured_s)                                                                        \
    C(R, TEXT, origin)

/* What a verdict says about a strategy; no predicate held, no credit */
#define EVIDENCE_COLUMNS(C, R)                                                                     \
    C(R, ID, id)                                                                                   \
    C(R, REF, verdict)                                                                             \
    C(R, OPT, strategy)                                                                            \
    C(R, INT, ordinal)                                                                             \
    C(R, TEXT, structure)                                                                          \
    C(R, TEXT, shape_class)                                                                        \
    C(R, TEXT, device)                                                                             \
    C(R, TEXT, track)                                                                              \
    C(R, TEXT, guard)                                                                              \
    C(R, FLAG, predicate_held)                                                                     \
    C(R, REAL, log_speedup)                                                                        \
    C(R, TEXT, origin)

/* What the campaign chose, and among what */
#define DECISION_COLUMNS(C, R)                                                                     \
    C(R, ID, id)                                                                                   \
    C(R, REF, campaign)                                                                            \
    C(R, OPT, task)                                                                                \
    C(R, INT, branch)                                                                              \
    C(R, INT, number)                                                                              \
    C(R, INT, ordinal)                                                                             \
    C(R, TEXT, kind)                                                                               \
    C(R, TEXT, choice)                                                                             \
    C(R, DOC, reasons)                                                                             \
    C(R, CLOCK, decided_s)                                                                         \
    C(R, TEXT, origin)

/* Money set aside before a request, then settled or released by a later row */
#define RESERVATION_COLUMNS(C, R)                                                                  \
    C(R, ID, id)                                                                                   \
    C(R, REF, campaign)                                                                            \
    C(R, OPT, attempt)                                                                             \
    C(R, INT, ordinal)                                                                             \
    C(R, TEXT, kind)                                                                               \
    C(R, OPT, reserves)                                                                            \
    C(R, TEXT, purpose)                                                                            \
    C(R, REAL, usd)                                                                                \
    C(R, INT, tokens)                                                                              \
    C(R, CLOCK, made_s)                                                                            \
    C(R, TEXT, origin)

/* What was measured of a machine */
#define CALIBRATION_COLUMNS(C, R)                                                                  \
    C(R, ID, id)                                                                                   \
    C(R, TEXT, machine)                                                                            \
    C(R, TEXT, kind)                                                                               \
    C(R, INT, ordinal)                                                                             \
    C(R, TEXT, protocol)                                                                           \
    C(R, DOC, document)                                                                            \
    C(R, CLOCK, measured_s)                                                                        \
    C(R, TEXT, origin)

/* Where a request and its answer lie on a tape */
#define EXCHANGE_COLUMNS(C, R)                                                                     \
    C(R, ID, id)                                                                                   \
    C(R, REF, campaign)                                                                            \
    C(R, OPT, attempt)                                                                             \
    C(R, INT, ordinal)                                                                             \
    C(R, TEXT, purpose)                                                                            \
    C(R, TEXT, request)                                                                            \
    C(R, TEXT, tape)                                                                               \
    C(R, INT, tape_line)                                                                           \
    C(R, TEXT, status)                                                                             \
    C(R, TEXT, model)                                                                              \
    C(R, INT, tokens_in)                                                                           \
    C(R, INT, tokens_out)                                                                          \
    C(R, REAL, usd)                                                                                \
    C(R, CLOCK, sent_s)                                                                            \
    C(R, TEXT, origin)

/* In an order in which each refers only to earlier ones and itself. */
#define BANK_TABLES(T)                                                                             \
    T(campaign, CAMPAIGN)                                                                          \
    T(task, TASK)                                                                                  \
    T(direction, DIRECTION)                                                                        \
    T(strategy, STRATEGY)                                                                          \
    T(transition, TRANSITION)                                                                      \
    T(attempt, ATTEMPT)                                                                            \
    T(kernel, KERNEL)                                                                              \
    T(verdict, VERDICT)                                                                            \
    T(measurement, MEASUREMENT)                                                                    \
    T(evidence, EVIDENCE)                                                                          \
    T(decision, DECISION)                                                                          \
    T(reservation, RESERVATION)                                                                    \
    T(calibration, CALIBRATION)                                                                    \
    T(exchange, EXCHANGE)

struct bank;

/*
 * For each table NAME: struct NAME_row and
 *   NAME_row_insert   adds the row; false when another row has its id, or a column is malformed
 *   NAME_row_read     *found = false when no row has the id
 *   NAME_row_list     rows whose `column` (of kind ID, REF, OPT or TEXT; NULL = all rows) equals
 *                     `value`, in the order of their ids
 *   NAME_row_print    {"row": 1, "table": NAME, column: value, ...}; documents are nested
 *   NAME_row_parse    the inverse; absent clock values are 0
 */
#define FIELD(R, kind, name) FIELD_##kind name;
#define T(name, NAME)                                                                              \
    struct name##_row {                                                                            \
        NAME##_COLUMNS(FIELD, name)                                                                \
    };                                                                                             \
    bool name##_row_insert(struct bank *bank, const struct name##_row *row, struct err *err)       \
        MUST_USE;                                                                                  \
    bool name##_row_read(struct bank *bank, struct arena *arena, struct str id,                    \
                         struct name##_row *row, bool *found, struct err *err) MUST_USE;           \
    bool name##_row_list(struct bank *bank, struct arena *arena, const char *column,               \
                         struct str value, const struct name##_row **rows, size_t *count,          \
                         struct err *err) MUST_USE;                                                \
    void name##_row_print(struct json_writer *w, const struct name##_row *row, bool with_times);   \
    bool name##_row_parse(struct arena *arena, const struct json *json, struct name##_row *row,    \
                          struct err *err) MUST_USE;
BANK_TABLES(T)
#undef T
#undef FIELD

/* What a row's id is the hash of.  Parts that do not apply are empty or 0. */
struct row_key {
    struct str bank, campaign, task; /* campaign and task: ids */
    int64_t branch, number;
    struct str kind; /* the table, or what tells rows of it apart: "reservation/settle" */
    int64_t ordinal;
};
struct str row_id(struct arena *arena, const struct row_key *key);

/* ---- the bank ---- */

enum { BANK_SCHEMA_VERSION = 1, BANK_VALUE_BYTES_MAX = 64 << 20, BANK_NAME_BYTES_MAX = 128 };

struct bank_options {
    struct str name; /* of a new bank: a part of all its ids; empty = the bank must exist */
    bool read_only;
};

/* Opens or creates, in WAL mode with full sync; a bank of an earlier schema is migrated.  Refused:
 * files that are no bank, and banks of a later schema.  Closed by bank_close. */
bool bank_open(struct arena *arena, const char *path, const struct bank_options *options,
               struct bank **out, struct err *err) MUST_USE;
void bank_close(struct bank *bank);
struct str bank_name(const struct bank *bank);

/* Several rows at once: after a crash all or none of them are there.  No nesting. */
bool bank_begin(struct bank *bank, struct err *err) MUST_USE;
bool bank_commit(struct bank *bank, struct err *err) MUST_USE;
void bank_rollback(struct bank *bank);

/* Structure of the file, that every reference has its row, and that columns hold what their kinds
 * say. */
bool bank_check(struct bank *bank, struct err *err) MUST_USE;

#endif
