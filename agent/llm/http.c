/*
 * One HTTP request, in a process of its own.
 *
 * A request can hang where no library looks at the clock: in a name lookup, in a TLS handshake, in
 * a bug.  So curl runs in a forked child.  The child keeps the limits that can be explained (time
 * left, connection, first byte, stall, sizes) and writes what came as one frame to its pipe; the
 * parent kills it GRACE_MS after the deadline, whatever it is doing.  Bytes of strangers are parsed
 * outside the child only after their size is known.
 *
 * The key leaves this machine in one place, the Authorization header of a request to the host the
 * user named: certificates are checked, redirects are not followed, http is for this machine alone
 * unless asked for, and neither .netrc nor a URL may carry another password.
 *
 * Invariant: the result is a status and a whole body, or status 0 and "WORD: why"; a body is never
 * cut and called whole.  A body that ends with "[DONE]" is whole even if the connection then fails.
 * Left out: reuse of connections; a handshake is little beside the seconds that a model takes.
 */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/panic.h"
#include "base/proc.h"

#include "agent/llm/llm_int.h"

enum {
    NS_PER_MS = 1000000,
    NS_PER_S = 1000000000,
    TICK_MS = 50,
    GRACE_MS = 1000,
    DETAIL_BYTES = CURL_ERROR_SIZE + 128,
    CHILD_BYTES_MAX = 512 << 20,
};
#define CHILD_ARENA_BYTES ((size_t)256 << 20)

struct http {
    const struct llm_options *options;
    struct str url;
    const char *url_text;
    bool on_this_machine;
};

/* ---- URLs ---- */

static bool url_part(CURLU *url, CURLUPart part, char *out, size_t room)
{
    char *text = NULL;
    bool there = curl_url_get(url, part, &text, 0) == CURLUE_OK && text != NULL;
    if (there)
        snprintf(out, room, "%s", text);
    curl_free(text);
    return there;
}

/* By its number, not by how it begins: 127.0.0.1.example.org is elsewhere. */
static bool is_this_machine(const char *host)
{
    struct in_addr four;
    if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
        return true;
    return inet_pton(AF_INET, host, &four) == 1 && ntohl(four.s_addr) >> 24 == 127;
}

/* Nothing of the URL is quoted before it is known to hold no password. */
static bool check_parts(CURLU *url, bool plain_http, bool *on_this_machine, struct err *err)
{
    char scheme[16] = "", host[256] = "", part[8];
    if (url_part(url, CURLUPART_USER, part, sizeof(part)) ||
        url_part(url, CURLUPART_PASSWORD, part, sizeof(part)))
        return err_raise(err, ERR_USAGE,
                         "the URL of --llm holds a user or password; give the key as "
                         "WARPWRIGHT_API_KEY");
    if (url_part(url, CURLUPART_QUERY, part, sizeof(part)) ||
        url_part(url, CURLUPART_FRAGMENT, part, sizeof(part)))
        return err_raise(err, ERR_USAGE,
                         "the URL of --llm has a query or fragment; say only https://HOST/PATH");
    url_part(url, CURLUPART_SCHEME, scheme, sizeof(scheme));
    url_part(url, CURLUPART_HOST, host, sizeof(host));
    *on_this_machine = is_this_machine(host);
    if (strcmp(scheme, "https") == 0)
        return true;
    if (strcmp(scheme, "http") != 0)
        return err_raise(err, ERR_USAGE, "--llm needs a URL of https, not of %s", scheme);
    if (*on_this_machine || plain_http)
        return true;
    return err_raise(err, ERR_USAGE,
                     "--llm names http, where others can read the key and change the kernel; use "
                     "https (http is for this machine)");
}

bool http_open(struct arena *arena, const struct llm_options *options, struct str url,
               struct http **out, struct err *err)
{
    struct http *http = arena_new(arena, struct http);
    CURLU *parsed = curl_url();
    ASSERT(parsed);
    *http = (struct http){.options = options, .url = url, .url_text = str_copy(arena, url)};
    CURLUcode code = curl_url_set(parsed, CURLUPART_URL, http->url_text, 0);
    bool ok = code == CURLUE_OK
                  ? check_parts(parsed, options->plain_http, &http->on_this_machine, err)
                  : err_raise(err, ERR_USAGE,
                              "--llm is no URL (%s); it reads like "
                              "https://HOST/v1",
                              curl_url_strerror(code));
    curl_url_cleanup(parsed);
    if (ok)
        *out = http;
    return ok;
}

/* ---- the child: one request ---- */

/* What goes through the pipe, `detail_len` and `body_len` bytes behind it. */
struct frame {
    enum llm_fault fault;
    int64_t status, retry_after_ms;
    size_t detail_len, body_len;
};

struct request {
    const struct http *http;
    const struct llm_call *call;
    struct arena arena;
    struct buf body;
    size_t header_bytes;
    int64_t retry_after_ms;
    int64_t start_ns, byte_ns; /* of the newest byte; 0 before the first */
    bool done;
    enum llm_fault fault;
    char detail[DETAIL_BYTES];
};

static void end_request(struct request *r, enum llm_fault fault, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

static void end_request(struct request *r, enum llm_fault fault, const char *fmt, ...)
{
    va_list args;
    if (r->fault != LLM_FAULT_NONE)
        return;
    r->fault = fault;
    va_start(args, fmt);
    vsnprintf(r->detail, sizeof(r->detail), fmt, args);
    va_end(args);
}

static size_t on_body(char *data, size_t size, size_t count, void *self)
{
    struct request *r = self;
    size_t len = size * count;
    r->byte_ns = clock_mono_ns();
    buf_bytes(&r->body, data, len);
    if (r->body.overflow) {
        end_request(r, LLM_FAULT_SIZE, "the reply is over %lld bytes",
                    (long long)r->http->options->response_bytes_max);
        return 0;
    }
    r->done = sse_done(buf_view(&r->body));
    return len;
}

static size_t on_header(char *data, size_t size, size_t count, void *self)
{
    static const char name[] = "retry-after:";
    struct request *r = self;
    size_t len = size * count, skip = sizeof(name) - 1;
    r->header_bytes += len;
    if (r->header_bytes > LLM_HEADER_BYTES_MAX) {
        end_request(r, LLM_FAULT_HEADERS, "the reply's headers are over %d bytes",
                    LLM_HEADER_BYTES_MAX);
        return 0;
    }
    if (len > skip && strncasecmp(data, name, skip) == 0)
        r->retry_after_ms =
            retry_after_parse((struct str){data + skip, len - skip}, clock_wall_s());
    return len;
}

/* A stop of the clocks that run here; looked at every TICK_MS. */
static void check_clocks(struct request *r)
{
    const struct llm_options *o = r->http->options;
    int64_t now = clock_mono_ns();
    int64_t silent_ms = (now - (r->byte_ns ? r->byte_ns : r->start_ns)) / NS_PER_MS;
    if ((now - r->start_ns) / NS_PER_MS >= r->call->left_ms)
        end_request(r, LLM_FAULT_DEADLINE, "the deadline of %.6g s is over, after %zu bytes",
                    (double)o->deadline_ms / 1000, r->body.len);
    else if (r->byte_ns && silent_ms >= o->stall_ms)
        end_request(r, LLM_FAULT_STALL, "no byte for %.6g s, after %zu bytes",
                    (double)o->stall_ms / 1000, r->body.len);
    else if (!r->byte_ns && silent_ms >= o->first_ms)
        end_request(r, LLM_FAULT_STALL, "no answer for %.6g s", (double)o->first_ms / 1000);
}

/* NULL: curl's own words, which name host and cause. */
struct failure {
    CURLcode code;
    enum llm_fault fault;
    const char *text;
};

static struct failure failure_of(CURLcode code)
{
    static const struct failure rows[] = {
        {CURLE_COULDNT_RESOLVE_HOST, LLM_FAULT_RESOLVE, NULL},
        {CURLE_COULDNT_RESOLVE_PROXY, LLM_FAULT_RESOLVE, NULL},
        {CURLE_COULDNT_CONNECT, LLM_FAULT_CONNECT, NULL},
        {CURLE_OPERATION_TIMEDOUT, LLM_FAULT_CONNECT,
         NULL}, /* only connecting has curl's timeout */
        {CURLE_SSL_CONNECT_ERROR, LLM_FAULT_TLS, NULL},
        {CURLE_PEER_FAILED_VERIFICATION, LLM_FAULT_TLS, NULL},
        {CURLE_SSL_CACERT_BADFILE, LLM_FAULT_TLS, NULL},
        {CURLE_SSL_CERTPROBLEM, LLM_FAULT_TLS, NULL},
        {CURLE_SSL_CIPHER, LLM_FAULT_TLS, NULL},
        {CURLE_SSL_ISSUER_ERROR, LLM_FAULT_TLS, NULL},
        {CURLE_USE_SSL_FAILED, LLM_FAULT_TLS, NULL},
        {CURLE_RECV_ERROR, LLM_FAULT_RESET, "the connection broke"},
        {CURLE_SEND_ERROR, LLM_FAULT_RESET, "the connection broke while sending"},
        {CURLE_GOT_NOTHING, LLM_FAULT_RESET, "the connection was closed without an answer"},
        {CURLE_PARTIAL_FILE, LLM_FAULT_RESET, "the connection was closed early"},
        {CURLE_OUT_OF_MEMORY, LLM_FAULT_HEADERS, "the reply has a header line without end"},
        {CURLE_UNSUPPORTED_PROTOCOL, LLM_FAULT_PROTOCOL, "the answer is no HTTP"},
        {CURLE_WEIRD_SERVER_REPLY, LLM_FAULT_PROTOCOL, "the answer is no HTTP"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].code == code)
            return rows[i];
    return (struct failure){code, LLM_FAULT_PROTOCOL, NULL};
}

/* All failures are a bug or out of memory; curl's setters are macros over varargs. */
#define SET(easy, option, value) ASSERT(curl_easy_setopt((easy), (option), (value)) == CURLE_OK)

static struct curl_slist *make_headers(struct request *r)
{
    const struct str key = r->http->options->key.text;
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");
    list = curl_slist_append(list, "Accept: text/event-stream, application/json");
    list = curl_slist_append(list, "Expect:"); /* no round trip before a long prompt */
    if (key.len > 0) {
        struct buf line;
        buf_init(&line, &r->arena, key.len + 64);
        buf_text(&line, "Authorization: Bearer ");
        buf_str(&line, key);
        list = curl_slist_append(list, line.at);
    }
    ASSERT(list);
    return list;
}

static void set_options(struct request *r, CURL *easy, char *error)
{
    const struct llm_options *o = r->http->options;
    SET(easy, CURLOPT_URL, r->http->url_text);
    SET(easy, CURLOPT_HTTPHEADER, make_headers(r));
    SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->call->request.len);
    SET(easy, CURLOPT_POSTFIELDS, r->call->request.at);
    SET(easy, CURLOPT_USERAGENT, "warpwright");
    SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
    SET(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    SET(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    SET(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(easy, CURLOPT_HTTP09_ALLOWED, 0L);
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)o->connect_ms);
    SET(easy, CURLOPT_WRITEFUNCTION, on_body);
    SET(easy, CURLOPT_WRITEDATA, r);
    SET(easy, CURLOPT_HEADERFUNCTION, on_header);
    SET(easy, CURLOPT_HEADERDATA, r);
    SET(easy, CURLOPT_ERRORBUFFER, error);
    if (r->http->on_this_machine)
        SET(easy, CURLOPT_PROXY, "");
}

/* Runs the transfer to its end or to that of a clock. */
static CURLcode transfer(struct request *r, CURLM *multi)
{
    int running = 1, left;
    while (running > 0 && !r->done && r->fault == LLM_FAULT_NONE) {
        ASSERT(curl_multi_perform(multi, &running) == CURLM_OK);
        if (running > 0 && !r->done) {
            ASSERT(curl_multi_poll(multi, NULL, 0, TICK_MS, NULL) == CURLM_OK);
            check_clocks(r);
        }
    }
    const CURLMsg *message = curl_multi_info_read(multi, &left);
    return message && message->msg == CURLMSG_DONE ? message->data.result : CURLE_OK;
}

/* What failed, and how far the body had come. */
static void describe(struct request *r, CURLcode code, const char *error)
{
    struct failure failure = failure_of(code);
    const char *text = failure.text;
    if (!text)
        text = error[0] ? error : curl_easy_strerror(code);
    if (r->body.len > 0)
        end_request(r, failure.fault, "%s, after %zu bytes", text, r->body.len);
    else
        end_request(r, failure.fault, "%s", text);
}

static bool write_frame(const struct request *r, int64_t status, int fd)
{
    struct frame frame = {
        .fault = r->fault,
        .status = status,
        .retry_after_ms = r->retry_after_ms,
        .detail_len = strlen(r->detail),
        .body_len = r->body.len,
    };
    return proc_write_all(fd, &frame, sizeof(frame)) &&
           proc_write_all(fd, r->detail, frame.detail_len) &&
           proc_write_all(fd, r->body.at, frame.body_len);
}

/* Nothing is closed: cleaning up could wait for a name lookup, and the process ends here. */
static int request_work(void *self, int out_fd)
{
    struct request *r = self;
    char error[CURL_ERROR_SIZE] = "";
    long status = 0;
    prctl(PR_SET_DUMPABLE, 0); /* the key stays out of core dumps and debuggers */
    arena_init(&r->arena, CHILD_ARENA_BYTES);
    buf_init(&r->body, &r->arena, (size_t)r->http->options->response_bytes_max);
    ASSERT(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    CURLM *multi = curl_multi_init();
    CURL *easy = curl_easy_init();
    ASSERT(multi && easy);
    set_options(r, easy, error);
    r->start_ns = clock_mono_ns();
    ASSERT(curl_multi_add_handle(multi, easy) == CURLM_OK);
    CURLcode code = transfer(r, multi);
    if (code != CURLE_OK && !r->done)
        describe(r, code, error);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return write_frame(r, status, out_fd) ? 0 : 1;
}

/* ---- the parent ---- */

static bool read_frame(struct str out, struct frame *frame, struct str *detail, struct str *body)
{
    if (out.len < sizeof(*frame))
        return false;
    memcpy(frame, out.at, sizeof(*frame));
    size_t rest = out.len - sizeof(*frame);
    if (frame->detail_len > rest || frame->body_len != rest - frame->detail_len)
        return false;
    *detail = (struct str){out.at + sizeof(*frame), frame->detail_len};
    *body = (struct str){detail->at + detail->len, frame->body_len};
    return true;
}

static void set_reason(struct arena *arena, struct llm_try *out, enum llm_fault fault,
                       struct str detail)
{
    struct buf raw;
    buf_init(&raw, arena, detail.len + 64);
    buf_printf(&raw, "%s: ", fault_word(fault));
    buf_str(&raw, detail);
    out->status = 0;
    out->raw = buf_view(&raw);
}

/* A child that did not end well: killed at a limit, or crashed. */
static void set_death(struct arena *arena, const struct http *http,
                      const struct proc_result *result, struct llm_try *out)
{
    struct buf text;
    enum llm_fault fault = LLM_FAULT_PROTOCOL;
    buf_init(&text, arena, DETAIL_BYTES);
    switch (result->end) {
    case PROC_DEADLINE:
        fault = LLM_FAULT_DEADLINE;
        buf_printf(&text, "the deadline of %.6g s is over, and the request had to be killed",
                   (double)http->options->deadline_ms / 1000);
        break;
    case PROC_MEMORY:
    case PROC_OUTPUT:
        fault = LLM_FAULT_SIZE;
        buf_text(&text, "the request took more memory than it may");
        break;
    case PROC_SIGNALLED:
        buf_printf(&text, "the request's process died of signal %d", result->status);
        break;
    case PROC_EXITED:
        buf_printf(&text, "the request's process ended with status %d", result->status);
        break;
    }
    set_reason(arena, out, fault, buf_view(&text));
}

/* A refusal counts even if its body was cut off, and a fault behind a whole reply does not. */
static bool status_counts(struct arena *arena, const struct frame *frame, struct str body)
{
    struct chat_answer answer;
    if (frame->fault == LLM_FAULT_NONE)
        return true;
    if (frame->status < 200 || frame->fault == LLM_FAULT_SIZE || frame->fault == LLM_FAULT_HEADERS)
        return false;
    if (frame->status >= 300)
        return true;
    chat_answer_read(arena, frame->status, body, &answer);
    return answer.fault == LLM_FAULT_NONE;
}

static bool http_exchange(struct arena *arena, void *self, const struct llm_call *call,
                          struct llm_try *out, struct err *err)
{
    struct http *http = self;
    struct request request = {.http = http, .call = call, .retry_after_ms = -1};
    struct proc_limits limits = {
        .wall_ms = call->left_ms + GRACE_MS,
        .memory_bytes = CHILD_BYTES_MAX,
        .output_bytes_max =
            (size_t)http->options->response_bytes_max + sizeof(struct frame) + DETAIL_BYTES,
    };
    struct proc_result result;
    struct frame frame;
    struct str detail, body;
    if (!proc_fork(arena, request_work, &request, &limits, &result, err))
        return err_context(err, "ask the model");
    *out = (struct llm_try){.url = http->url, .retry_after_ms = -1, .date_s = clock_wall_s()};
    if (result.end != PROC_EXITED || result.status != 0 ||
        !read_frame(result.out, &frame, &detail, &body)) {
        set_death(arena, http, &result, out);
        return true;
    }
    out->retry_after_ms = frame.retry_after_ms;
    out->status = frame.status;
    out->raw = body;
    if (!status_counts(arena, &frame, body))
        set_reason(arena, out, frame.fault, detail);
    return true;
}

static int64_t http_now_ns(void *self UNUSED)
{
    return clock_mono_ns();
}

static void http_wait_ns(void *self UNUSED, int64_t ns)
{
    struct timespec left = {ns / NS_PER_S, ns % NS_PER_S};
    while (nanosleep(&left, &left) != 0)
        ;
}

const struct llm_transport http_transport = {
    .exchange = http_exchange,
    .now_ns = http_now_ns,
    .wait_ns = http_wait_ns,
};
