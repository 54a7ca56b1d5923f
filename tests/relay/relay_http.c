/*
 * The least of HTTP/1.1 that a client needs: one request a connection, its head and its body by
 * Content-Length, answers whole or chunked.
 *
 * Invariant: nothing waits past relay->end_ns.  Left out: keep-alive, chunked requests, TLS.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#include "tests/relay/relay.h"

enum {
    NS_PER_MS = 1000000,
    HEAD_BYTES_MAX = 64 << 10,
    BODY_BYTES_MAX = 32 << 20,
    READ_BYTES = 64 << 10,
    SEND_BYTES_MAX = 64 << 20,
    BACKLOG = 16,
};

bool relay_listen(struct relay *relay, struct err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);
    relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (relay->listener < 0 ||
        bind(relay->listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(relay->listener, BACKLOG) != 0 ||
        getsockname(relay->listener, (struct sockaddr *)&address, &len) != 0)
        return err_raise(err, ERR_NETWORK, "no socket on 127.0.0.1");
    relay->port = ntohs(address.sin_port);
    return true;
}

/* Whether something can be read before the end and within `ms` (-1 = no other limit). */
static bool wait_readable(const struct relay *relay, int fd, int64_t ms)
{
    int64_t left = (relay->end_ns - clock_mono_ns()) / NS_PER_MS;
    if (ms < 0 || left < ms)
        ms = left;
    struct pollfd entry = {fd, POLLIN, 0};
    return poll(&entry, 1, ms > 0 ? (int)ms : 0) > 0;
}

bool relay_accept(struct relay *relay, int *fd)
{
    if (!wait_readable(relay, relay->listener, -1))
        return false;
    *fd = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
    return *fd >= 0;
}

static bool read_some(struct visit *visit, struct buf *in)
{
    char data[READ_BYTES];
    if (in->overflow || !wait_readable(visit->relay, visit->fd, -1))
        return false;
    ssize_t len = recv(visit->fd, data, sizeof(data), 0);
    if (len > 0)
        buf_bytes(in, data, (size_t)len);
    return len > 0;
}

static size_t content_length(struct str head)
{
    static const char name[] = "content-length:";
    struct str line;
    while (str_next_line(&head, &line))
        if (line.len > sizeof(name) && strncasecmp(line.at, name, sizeof(name) - 1) == 0) {
            size_t bytes = 0;
            for (size_t i = sizeof(name) - 1; i < line.len; i++)
                if (line.at[i] >= '0' && line.at[i] <= '9' && bytes < BODY_BYTES_MAX)
                    bytes = 10 * bytes + (size_t)(line.at[i] - '0');
            return bytes;
        }
    return 0;
}

bool visit_read(struct visit *visit)
{
    struct buf in;
    const char *end = NULL;
    buf_init(&in, visit->arena, HEAD_BYTES_MAX + BODY_BYTES_MAX);
    while (!end) {
        if (!read_some(visit, &in))
            return false;
        if (in.at[0] < 'A' || in.at[0] > 'Z') { /* such as TLS */
            visit_answer(visit, 400, "", STR_LIT("no HTTP"));
            return false;
        }
        end = memmem(in.at, in.len, "\r\n\r\n", 4);
    }
    size_t head = (size_t)(end - in.at) + 4;
    size_t body = content_length((struct str){in.at, head});
    while (in.len < head + body)
        if (!read_some(visit, &in))
            return false;
    visit->head = (struct str){in.at, head};
    visit->body = (struct str){in.at + head, body};
    return true;
}

void visit_send(struct visit *visit, struct str data)
{
    while (data.len > 0 && clock_mono_ns() < visit->relay->end_ns) {
        struct pollfd entry = {visit->fd, POLLOUT, 0};
        if (poll(&entry, 1, 100) == 0)
            continue;
        ssize_t len = send(visit->fd, data.at, data.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (len <= 0)
            return;
        data = (struct str){data.at + len, data.len - (size_t)len};
    }
}

void visit_printf(struct visit *visit, const char *fmt, ...)
{
    struct buf text;
    va_list args;
    buf_init(&text, visit->arena, SEND_BYTES_MAX);
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    visit_send(visit, buf_view(&text));
}

void visit_answer(struct visit *visit, int status, const char *headers, struct str body)
{
    visit_printf(visit, "HTTP/1.1 %d Status\r\n%sContent-Length: %zu\r\nConnection: close\r\n\r\n",
                 status, headers, body.len);
    visit_send(visit, body);
}

void visit_chunk(struct visit *visit, struct str data)
{
    if (!visit->sent_head)
        visit_printf(visit, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
    visit->sent_head = true;
    visit_printf(visit, "%zx\r\n%.*s\r\n", data.len, STR_ARG(data));
}

void visit_chunks_end(struct visit *visit)
{
    visit_printf(visit, "0\r\n\r\n");
}

bool visit_pause(struct visit *visit, int64_t ms)
{
    char data[READ_BYTES];
    if (wait_readable(visit->relay, visit->fd, ms) && recv(visit->fd, data, sizeof(data), 0) <= 0)
        return false;
    return clock_mono_ns() < visit->relay->end_ns;
}

void visit_close(struct visit *visit, bool reset)
{
    struct linger now = {1, 0};
    if (reset)
        setsockopt(visit->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(visit->fd);
    visit->fd = -1;
}
