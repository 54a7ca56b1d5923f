#ifndef AGENT_LLM_LLM_H
#define AGENT_LLM_LLM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

/*
 * agent/llm: exchanges with a model, and the tapes that record them.
 *
 * Tape, version 1: one exchange a line of canonical JSON,
 *   { "tape": 1, "task": ID, "branch": 0, "attempt": 3, "purpose": "write",
 *     "url": "https://host/path", "request": {...}, "status": 200, "raw": TEXT,
 *     "usage": {"input_tokens", "cached_tokens", "output_tokens", "usd"}, "model": ..., "date_s": N
 * } raw is the body as it came (a stream of events stays one); bytes that are no text are in
 * "raw_base64".  There is no member for headers, and a URL has no userinfo, query or fragment, so
 * no key can get onto a tape.  status 0: no answer came, and raw says why.
 */
enum {
    TAPE_LINE_BYTES_MAX = 32 << 20,
    TAPE_BYTES_MAX = 1 << 30,
    TAPE_LINES_MAX = 1 << 20,
    TAPE_WORD_BYTES_MAX = 128
};

/* Which exchange: what a replay asks for.  Retries of one request have equal keys. */
struct tape_key {
    struct str task; /* id, or a word */
    int64_t branch, attempt;
    struct str purpose; /* "write", "repair", "import", ... */
};

struct llm_usage {
    int64_t input_tokens, cached_tokens, output_tokens;
    double usd;
};

struct tape_line {
    struct tape_key key;
    struct str url;
    struct str request; /* canonical JSON */
    int64_t status;
    struct str raw;
    struct llm_usage usage;
    struct str model;
    int64_t date_s; /* seconds since 1970, UTC */
};

bool tape_line_parse(struct arena *arena, const struct json *json, struct tape_line *out,
                     struct err *err) MUST_USE;
/* The URL is stripped when printed. */
void tape_line_print(struct json_writer *w, const struct tape_line *line);

/* scheme://host[:port]/path of a URL: what may be recorded. */
struct str tape_url(struct arena *arena, struct str url);

/* A whole tape in memory. */
struct tape {
    const struct tape_line *lines;
    size_t count;
    bool cut; /* the last line was incomplete and is left out: the writer was killed */
};
bool tape_read(struct arena *arena, const char *path, struct tape *out, struct err *err) MUST_USE;
/* `source` names the tape in errors: "campaign.tape, line 3: ...". */
bool tape_parse(struct arena *arena, struct str text, const char *source, struct tape *out,
                struct err *err) MUST_USE;

/* The line number `ordinal` (from 0) among those with this key; NULL when there are fewer. */
const struct tape_line *tape_find(const struct tape *tape, const struct tape_key *key,
                                  size_t ordinal);

/* Adds a synced line.  Before the first one of a run, tape_repair drops an incomplete last line. */
bool tape_append(const char *path, const struct tape_line *line, struct err *err) MUST_USE;
bool tape_repair(const char *path, struct err *err) MUST_USE;

#endif
