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

/* Whether two keys name the same exchange; "task softmax, branch 0, attempt 3, purpose write". */
bool tape_key_equal(const struct tape_key *a, const struct tape_key *b);
void tape_key_print(struct buf *out, const struct tape_key *key);

/* Adds a synced line.  Before the first one of a run, tape_repair drops an incomplete last line. */
bool tape_append(const char *path, const struct tape_line *line, struct err *err) MUST_USE;
bool tape_repair(const char *path, struct err *err) MUST_USE;

/* ---- asking a model ---- */

/*
 * An API key.  It goes into the Authorization header of live requests and nowhere else: where a
 * server sends it back, it is replaced before the bytes are parsed, recorded or shown.  Never print
 * it.  Empty: no header (local servers).  Under LLM_SECRET_BYTES_MIN it is a placeholder such as
 * "EMPTY", and not replaced.
 */
enum { LLM_SECRET_BYTES_MIN = 8, LLM_SECRET_BYTES_MAX = 4096 };
struct llm_secret {
    struct str text;
};
/* The key in a file's first line; the file must be the user's own, with mode 0600 or less. */
bool llm_secret_read(struct arena *arena, const char *path, struct llm_secret *out,
                     struct err *err) MUST_USE;

struct llm_prices { /* USD for a million tokens */
    double input, cached, output;
};

struct llm_options {
    struct str base_url; /* "https://host/v1": "/chat/completions" is added */
    struct str model;    /* empty in a replay: the tape's */
    struct llm_secret key;
    bool plain_http;     /* http beyond this machine: the key is readable on the way */
    int64_t deadline_ms; /* of one llm_ask, its retries and waits included */
    int64_t connect_ms;  /* to a connection */
    int64_t first_ms;    /* from there to the first byte of the body */
    int64_t stall_ms;    /* between two reads */
    int64_t tries_max;   /* requests in one llm_ask */
    int64_t backoff_ms;  /* first wait; doubles each time */
    int64_t backoff_ms_max;
    int64_t response_bytes_max; /* of a body; headers: LLM_HEADER_BYTES_MAX */
    uint64_t seed;              /* of the waits' jitter */
    struct llm_prices prices;
    const char *record; /* tape to add to, NULL = none; must not exist, unless it is `replay` too */
    const char *replay; /* tape to answer from, NULL = none */
    bool strict;        /* a replay also demands equal request bytes */
};
enum { LLM_HEADER_BYTES_MAX = 64 << 10, LLM_REQUEST_BYTES_MAX = 8 << 20 };
/* All limits set, the rest empty. */
struct llm_options llm_defaults(void);

#define LLM_ROLES(X)                                                                               \
    X(SYSTEM, "system")                                                                            \
    X(USER, "user")                                                                                \
    X(ASSISTANT, "assistant")

enum llm_role {
#define X(name, word) LLM_##name,
    LLM_ROLES(X)
#undef X
};

struct llm_message {
    enum llm_role role;
    struct str text;
};

struct llm_request {
    struct tape_key key;
    const struct llm_message *messages;
    size_t message_count;
    int64_t max_tokens; /* 0 = the server's */
    double temperature; /* below 0 = the server's */
};

/* Why a reply ended.  UNKNOWN: the server did not say. */
#define LLM_FINISHES(X)                                                                            \
    X(UNKNOWN, "")                                                                                 \
    X(STOP, "stop")                                                                                \
    X(LENGTH, "length")                                                                            \
    X(FILTER, "content_filter")                                                                    \
    X(OTHER, "other")

enum llm_finish {
#define X(name, word) LLM_FINISH_##name,
    LLM_FINISHES(X)
#undef X
};

struct llm_reply {
    struct str text;
    struct str reasoning; /* what the model says it thought; never part of `text` */
    enum llm_finish finish;
    bool truncated;         /* finish is LENGTH: a token limit cut the text */
    struct llm_usage usage; /* zeros unless usage_known */
    bool usage_known;
    struct str model; /* that answered, by its own account */
    int64_t tries;
    int64_t tape_line; /* on the tape, from 1; 0 = on none */
    bool replayed;
    bool drifted; /* replayed, and the request was another when it was recorded */
};

struct llm_counts {
    int64_t asked, tries, replayed, drifted;
    struct llm_usage spent; /* replayed exchanges included, as recorded */
};

/*
 * A model behind a URL, or behind a tape:
 *   neither record nor replay  live
 *   record                     live; each exchange is on the tape, synced, before it is used
 *   replay                     from the tape; no network, no key, no waiting
 *   both, the same tape        what is on the tape from there, the rest live and added to it
 * Keeps what `options` points to.  ERR_USAGE names the option that is wrong.
 */
struct llm;
bool llm_open(struct arena *arena, const struct llm_options *options, struct llm **out,
              struct err *err) MUST_USE;
struct str llm_model(const struct llm *llm);
struct llm_counts llm_counts(const struct llm *llm);

/* Whether questions may go to a server: false when all answers come from a tape. */
bool llm_is_live(const struct llm *llm);
/* Whether a question of this key can be answered at all: always when live, else while the tape has
 * an unused exchange of it. */
bool llm_can_answer(const struct llm *llm, const struct tape_key *key);

/*
 * One answer.  Retries where another try may help; all within one deadline, which also ends a
 * request whose process hangs.  Fails with
 *   ERR_USAGE    the next request would fail alike: key, URL, model name, quota
 *   ERR_NETWORK  given up: tries or time are used up
 *   ERR_LIMIT    request or reply over a limit
 *   ERR_SEMANTIC the tape has no such exchange, or under `strict` another request
 *   ERR_IO       the tape can not be written
 * A text names what happened, what the server said (escaped, without the key) and a remedy.
 */
bool llm_ask(struct arena *arena, struct llm *llm, const struct llm_request *request,
             struct llm_reply *reply, struct err *err) MUST_USE;

#endif
