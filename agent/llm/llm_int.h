#ifndef AGENT_LLM_LLM_INT_H
#define AGENT_LLM_LLM_INT_H

#include "base/buf.h"
#include "base/escape.h"

#include "agent/llm/llm.h"

/*
 * What can become of one try: name, word on the tape, whether another try may help, code of the
 * error, remedy.  A try without an answer is recorded with status 0 and "WORD: what happened".
 */
#define LLM_FAULTS(X)                                                                              \
    X(NONE, "none", false, NONE, "")                                                               \
    X(RESOLVE, "resolve", true, NETWORK, "check the host name in --llm, and the network")          \
    X(CONNECT, "connect", true, NETWORK, "is the server running, and its port right in --llm?")    \
    X(TLS, "tls", false, USAGE,                                                                    \
      "no safe connection, so no key was sent; check https and host in --llm, and the machine's "  \
      "certificates")                                                                              \
    X(RESET, "reset", true, NETWORK, "the server, a proxy or the network; try later")              \
    X(STALL, "stall", true, NETWORK, "the server is stuck or overloaded; try later")               \
    X(DEADLINE, "deadline", false, NETWORK, "allow more time, or ask for fewer tokens")            \
    X(SIZE, "size", false, LIMIT, "ask for fewer tokens, or check that --llm is a model server")   \
    X(HEADERS, "headers", false, LIMIT, "that is no model server; check --llm")                    \
    X(PROTOCOL, "protocol", true, NETWORK, "check that --llm is a model server")                   \
    X(CUT, "cut", true, NETWORK, "the server or a proxy ends replies early; try later")            \
    X(GARBAGE, "garbage", true, NETWORK,                                                           \
      "check that --llm is an OpenAI-compatible server (its URL mostly ends in /v1)")              \
    X(PAGE, "page", false, USAGE, "--llm names a web page; an API's URL mostly ends in /v1")       \
    X(LEAK, "leak", false, USAGE, "do not use this server; make the key void")                     \
    X(BUSY, "busy", true, NETWORK, "run fewer at a time, or allow more time")                      \
    X(SERVER, "server", true, NETWORK, "the server's fault; try later")                            \
    X(QUOTA, "quota", false, USAGE, "add credit with the provider, or use another key")            \
    X(KEY, "key", false, USAGE, "set WARPWRIGHT_API_KEY to a key of this server")                  \
    X(FORBIDDEN, "forbidden", false, USAGE, "the key may not use this model; check --model")       \
    X(NOT_FOUND, "not_found", false, USAGE, "check --llm (it mostly ends in /v1) and --model")     \
    X(TOO_LARGE, "too_large", false, USAGE, "the prompt is too long: lower its token budget")      \
    X(REQUEST, "request", false, USAGE, "the server refuses the request; check --model")           \
    X(REDIRECT, "redirect", false, USAGE,                                                          \
      "redirects are not followed, so that the key goes nowhere else; give the final URL as "      \
      "--llm")

enum llm_fault {
#define X(name, word, retry, code, remedy) LLM_FAULT_##name,
    LLM_FAULTS(X)
#undef X
};
const char *fault_word(enum llm_fault fault);
bool fault_retries(enum llm_fault fault);
/* "WHAT; REMEDY"; false. */
bool fault_raise(enum llm_fault fault, const char *what, struct err *err);

/* ---- tries ---- */

enum { LLM_TRY_NONE = -1 };

/* What came of one request, as it is recorded. */
struct llm_try {
    int64_t status; /* HTTP; 0: no answer; LLM_TRY_NONE: the tape has no more of this key */
    struct str raw; /* the body, or "WORD: why" */
    struct str url;
    int64_t retry_after_ms; /* what the server asks for, -1 = nothing; not recorded */
    int64_t date_s;
    int64_t tape_line; /* from 1; 0 = on no tape */
    bool replayed, drifted;
    double usd; /* recorded, when replayed */
};

struct llm_call {
    const struct tape_key *key;
    struct str request;
    int64_t left_ms; /* of the deadline */
};

/* The two sources of answers: live (http.c) and tape (tape_replay.c).  Both also keep the time. */
struct llm_transport {
    bool (*exchange)(struct arena *arena, void *self, const struct llm_call *call,
                     struct llm_try *out, struct err *err);
    int64_t (*now_ns)(void *self);
    void (*wait_ns)(void *self, int64_t ns);
};

struct llm_source {
    const struct llm_transport *transport; /* NULL = not in use */
    void *self;
};

struct llm {
    struct llm_options options;
    struct str url;
    struct llm_source live, tape;
    struct llm_counts counts;
    int64_t tape_lines; /* on the tape that is recorded */
};

/* ---- chat_request.c, chat_reply.c ---- */

/* The canonical request. */
bool chat_request_print(struct arena *arena, struct str model, const struct llm_request *request,
                        struct str *out, struct err *err) MUST_USE;

struct chat_answer {
    enum llm_fault fault;
    const char *what; /* of a fault: escaped, a line */
    struct llm_reply reply;
};
/* Reads a try: a stream of events, or the JSON of a server that does not stream.  A pure function
 * of status and body, so that a replay comes to the same. */
void chat_answer_read(struct arena *arena, int64_t status, struct str raw, struct chat_answer *out);

/* ---- http.c ---- */

struct http;
/* Checks the URL.  Keeps `options`. */
bool http_open(struct arena *arena, const struct llm_options *options, struct str url,
               struct http **out, struct err *err) MUST_USE;
extern const struct llm_transport http_transport;

/* ---- tape_replay.c ---- */

struct replay;
/* With `may_start`, a tape that does not exist is empty. */
bool replay_open(struct arena *arena, const char *path, bool strict, bool may_start,
                 struct replay **out, struct err *err) MUST_USE;
extern const struct llm_transport replay_transport;
/* The model's name in the first request of the tape; empty when there is none. */
struct str replay_model(struct arena *arena, const struct replay *replay);
size_t replay_count(const struct replay *replay);
/* Whether an exchange of this key is left on the tape. */
bool replay_has(const struct replay *replay, const struct tape_key *key);
/* Why the tape has no further exchange of this key.  False. */
bool replay_missing(const struct replay *replay, const struct tape_key *key, struct err *err);
/* Adds a live try to the tape that options.record names, if any; synced on return. */
bool record_try(struct llm *llm, const struct llm_call *call, struct llm_try *try,
                const struct chat_answer *answer, struct err *err) MUST_USE;

/* ---- sse.c: server-sent events (WHATWG HTML, section 9.2.6) ---- */

/* Takes the next event's data off *rest; false at the end.  Data left without a blank line at the
 * end counts as an event too. */
bool sse_next(struct arena *arena, struct str *rest, struct str *data);
/* Whether a body ends with the event "[DONE]": nothing more will come. */
bool sse_done(struct str body);

/* ---- retry.c ---- */

/* Waits before try number `next` (from 2): doubling, half of it random; at least what was asked. */
int64_t retry_wait_ms(const struct llm_options *options, const struct tape_key *key, int64_t next,
                      int64_t retry_after_ms);
/* The value of a Retry-After header (RFC 9110, section 10.2.3): seconds or an HTTP date; -1 when it
 * is neither. */
int64_t retry_after_parse(struct str value, int64_t now_s);
/* llm_ask with the request printed. */
bool retry_ask(struct arena *arena, struct llm *llm, const struct tape_key *key, struct str request,
               struct llm_reply *out, struct err *err) MUST_USE;

/* ---- secret.c ---- */

bool secret_check(const struct llm_secret *secret, struct err *err) MUST_USE;
/* `text` with each occurrence of the key, JSON-escaped or cut off behind its 12th byte too,
 * replaced by "[API key]"; `text` itself where there is none. */
struct str secret_scrub(struct arena *arena, const struct llm_secret *secret, struct str text);
bool secret_occurs(const struct llm_secret *secret, struct str text);

#endif
