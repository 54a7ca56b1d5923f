#ifndef TESTS_RELAY_RELAY_H
#define TESTS_RELAY_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* relay: a model server on 127.0.0.1, for recording tapes and for testing the client. */

struct relay {
    int listener;
    int port;
    int64_t end_ns;     /* clock_mono_ns when everything stops */
    const char *folder; /* of requests and replies, NULL = none */
    const char *heads;  /* file that gets each request's head, NULL = none */
    const char *model;
    int64_t number; /* of the request, from 1 */
};

/* One request and its connection. */
struct visit {
    struct relay *relay;
    struct arena *arena;
    int fd;
    struct str head, body;
    const char *argument; /* behind ':' in the script's word, "" = none */
    bool sent_head;
};

/* ---- relay_http.c: sockets and HTTP ---- */

bool relay_listen(struct relay *relay, struct err *err) MUST_USE;
/* False when the time is over. */
bool relay_accept(struct relay *relay, int *fd);
/* False when the client went away or sent no request. */
bool visit_read(struct visit *visit);
/* Sending to a client that went away does nothing. */
void visit_send(struct visit *visit, struct str data);
void visit_printf(struct visit *visit, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The status line and headers of a whole answer with this body, and the body. */
void visit_answer(struct visit *visit, int status, const char *headers, struct str body);
/* A stream: chunks of events; the first sends the head. */
void visit_chunk(struct visit *visit, struct str data);
void visit_chunks_end(struct visit *visit);
/* Waits, at most until the relay's end; false once the client went away or time is over. */
bool visit_pause(struct visit *visit, int64_t ms);
void visit_close(struct visit *visit, bool reset);

/* ---- relay_serve.c: what is answered ---- */

/* Whether `word` (without its argument) is one of the script's; the list, for help. */
bool serve_known(struct str word);
void serve_words(struct buf *out);
void serve_word(struct visit *visit, struct str word);
/* Writes NNN.request.json, waits for NNN.reply.txt, streams that. */
bool serve_folder(struct visit *visit, struct err *err) MUST_USE;

#endif
