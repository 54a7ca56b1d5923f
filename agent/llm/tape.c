/*
 * Tapes: recorded exchanges, one a line.
 *
 * A tape is appended to, synced line by line, so a killed run leaves whole lines and at most one
 * without its newline; that one is not believed.  Tapes are handed around, so reading treats them
 * as foreign: every member is checked, and a URL that could hold a secret is refused rather than
 * kept.
 *
 * Invariant: parse(print(l)) = l for stripped URLs.  Not here: making requests, and matching a
 * request against its recording (replay).
 */
#include <string.h>

#include "base/file.h"

#include "agent/llm/llm.h"

enum { STATUS_MAX = 999, ROOM_FIRST = 64 };

/* ---- URLs ---- */

static size_t find_char(struct str s, char c, size_t from)
{
    const char *at = from < s.len ? memchr(s.at + from, c, s.len - from) : NULL;
    return at ? (size_t)(at - s.at) : s.len;
}

struct str tape_url(struct arena *arena, struct str url)
{
    struct buf out;
    struct str rest = {url.at, find_char(url, '?', 0)};
    rest.len = find_char(rest, '#', 0);
    size_t host = 0;
    for (size_t i = 0; i + 3 <= rest.len && host == 0; i++)
        if (memcmp(rest.at + i, "://", 3) == 0)
            host = i + 3;
    size_t path = find_char(rest, '/', host);
    size_t at = host;
    for (size_t i = host; i < path; i++)
        if (rest.at[i] == '@')
            at = i + 1;
    buf_init(&out, arena, url.len + 1);
    buf_bytes(&out, rest.at, host);
    buf_bytes(&out, rest.at + at, rest.len - at);
    return buf_view(&out);
}

/* ---- lines ---- */

static bool need_word(const struct json *json, const char *key, struct str *out, struct err *err)
{
    if (!json_need_str(json, key, out, err))
        return false;
    if (out->len == 0 || out->len > TAPE_WORD_BYTES_MAX)
        return json_fail(json_get(json, key), err, "expected from 1 to %d bytes",
                         TAPE_WORD_BYTES_MAX);
    return true;
}

static bool read_key(const struct json *json, struct tape_key *key, struct err *err)
{
    return need_word(json, "task", &key->task, err) &&
           json_need_int(json, "branch", 0, INT32_MAX, &key->branch, err) &&
           json_need_int(json, "attempt", 0, INT32_MAX, &key->attempt, err) &&
           need_word(json, "purpose", &key->purpose, err);
}

static bool read_url(struct arena *arena, const struct json *json, struct str *out, struct err *err)
{
    struct str url;
    if (!json_need_str(json, "url", &url, err))
        return false;
    if (!str_equal(url, tape_url(arena, url)))
        return json_fail(json_get(json, "url"), err,
                         "userinfo, query and fragment do not belong on a tape; remove them");
    *out = url;
    return true;
}

static bool read_usage(const struct json *json, struct llm_usage *usage, struct err *err)
{
    static const char *const known[] = {"input_tokens", "cached_tokens", "output_tokens", "usd",
                                        NULL};
    const struct json *object;
    if (!json_need(json, "usage", JSON_OBJECT, &object, err) || !json_only(object, known, err) ||
        !json_need_int(object, "input_tokens", 0, INT64_MAX, &usage->input_tokens, err) ||
        !json_need_int(object, "cached_tokens", 0, INT64_MAX, &usage->cached_tokens, err) ||
        !json_need_int(object, "output_tokens", 0, INT64_MAX, &usage->output_tokens, err) ||
        !json_need_real(object, "usd", &usage->usd, err))
        return false;
    if (!(usage->usd >= 0 && usage->usd < 1e12))
        return json_fail(json_get(object, "usd"), err, "expected an amount, at least 0");
    return true;
}

bool tape_line_parse(struct arena *arena, const struct json *json, struct tape_line *out,
                     struct err *err)
{
    static const char *const known[] = {"tape",  "task",    "branch", "attempt", "purpose",
                                        "url",   "request", "status", "raw",     "raw_base64",
                                        "usage", "model",   "date_s", NULL};
    struct tape_line line = {0};
    int64_t version;
    if (!json_need_int(json, "tape", 1, 1, &version, err) || !json_only(json, known, err) ||
        !read_key(json, &line.key, err) || !read_url(arena, json, &line.url, err) ||
        !json_need_document(arena, json, "request", &line.request, err) ||
        !json_need_int(json, "status", 0, STATUS_MAX, &line.status, err) ||
        !json_need_bytes(arena, json, "raw", &line.raw, err) ||
        !read_usage(json, &line.usage, err) || !need_word(json, "model", &line.model, err) ||
        !json_need_int(json, "date_s", 0, INT64_MAX, &line.date_s, err))
        return false;
    *out = line;
    return true;
}

void tape_line_print(struct json_writer *w, const struct tape_line *line)
{
    json_open_object(w);
    json_member_int(w, "tape", 1);
    json_member_str(w, "task", line->key.task);
    json_member_int(w, "branch", line->key.branch);
    json_member_int(w, "attempt", line->key.attempt);
    json_member_str(w, "purpose", line->key.purpose);
    json_member_str(w, "url", tape_url(w->out->arena, line->url));
    json_member_document(w, "request", line->request);
    json_member_int(w, "status", line->status);
    json_member_bytes(w, "raw", line->raw);
    json_key(w, "usage");
    json_open_object(w);
    json_member_int(w, "input_tokens", line->usage.input_tokens);
    json_member_int(w, "cached_tokens", line->usage.cached_tokens);
    json_member_int(w, "output_tokens", line->usage.output_tokens);
    json_member_real(w, "usd", line->usage.usd);
    json_close_object(w);
    json_member_str(w, "model", line->model);
    json_member_int(w, "date_s", line->date_s);
    json_close_object(w);
}

/* ---- whole tapes ---- */

static bool add_line(struct arena *arena, struct str text, const char *source,
                     struct tape_line *out, struct err *err)
{
    const struct json *json;
    if (text.len > TAPE_LINE_BYTES_MAX)
        return err_raise(err, ERR_LIMIT, "%s: a line of %zu bytes; the limit is %d", source,
                         text.len, TAPE_LINE_BYTES_MAX);
    return json_parse(arena, text, source, &json, err) && tape_line_parse(arena, json, out, err);
}

static struct tape_line *grow(struct arena *arena, struct tape_line *lines, size_t count,
                              size_t *room)
{
    if (count < *room)
        return lines;
    *room = *room ? 2 * *room : ROOM_FIRST;
    struct tape_line *grown = arena_array(arena, struct tape_line, *room);
    if (count)
        memcpy(grown, lines, count * sizeof(*lines));
    return grown;
}

bool tape_parse(struct arena *arena, struct str text, const char *source, struct tape *out,
                struct err *err)
{
    struct tape_line *lines = NULL;
    size_t count = 0, room = 0;
    struct str rest = text, line;
    while (str_next_line(&rest, &line)) {
        struct buf where;
        bool whole = rest.at != line.at + line.len; /* a newline was passed */
        if (count == TAPE_LINES_MAX)
            return err_raise(err, ERR_LIMIT, "%s: over %d lines", source, TAPE_LINES_MAX);
        buf_init(&where, arena, strlen(source) + 32);
        buf_printf(&where, "%s, line %zu", source, count + 1);
        lines = grow(arena, lines, count, &room);
        if (!whole) {
            *out = (struct tape){lines, count, true};
            return true;
        }
        if (!add_line(arena, line, where.at, &lines[count], err))
            return false;
        count++;
    }
    *out = (struct tape){lines, count, false};
    return true;
}

bool tape_read(struct arena *arena, const char *path, struct tape *out, struct err *err)
{
    struct str text;
    return file_read(arena, path, TAPE_BYTES_MAX, &text, err) &&
           tape_parse(arena, text, path, out, err);
}

bool tape_key_equal(const struct tape_key *a, const struct tape_key *b)
{
    return a->branch == b->branch && a->attempt == b->attempt && str_equal(a->task, b->task) &&
           str_equal(a->purpose, b->purpose);
}

void tape_key_print(struct buf *out, const struct tape_key *key)
{
    buf_printf(out, "task %.*s, branch %lld, attempt %lld, purpose %.*s", STR_ARG(key->task),
               (long long)key->branch, (long long)key->attempt, STR_ARG(key->purpose));
}

const struct tape_line *tape_find(const struct tape *tape, const struct tape_key *key,
                                  size_t ordinal)
{
    for (size_t i = 0; i < tape->count; i++)
        if (tape_key_equal(&tape->lines[i].key, key) && ordinal-- == 0)
            return &tape->lines[i];
    return NULL;
}

/* ---- writing ---- */

bool tape_append(const char *path, const struct tape_line *line, struct err *err)
{
    struct arena scratch;
    struct buf out;
    struct json_writer w;
    struct str text;
    arena_init(&scratch, (size_t)64 * TAPE_LINE_BYTES_MAX);
    buf_init(&out, &scratch, TAPE_LINE_BYTES_MAX + 1);
    json_writer_init(&w, &out);
    tape_line_print(&w, line);
    buf_char(&out, '\n');
    bool ok = buf_finish(&out, "a tape's line", &text, err) && file_append(path, text, err);
    arena_release(&scratch);
    return ok;
}

bool tape_repair(const char *path, struct err *err)
{
    struct arena scratch;
    struct str text;
    if (!file_exists(path))
        return true;
    arena_init(&scratch, (size_t)2 * TAPE_BYTES_MAX);
    bool ok = file_read(&scratch, path, TAPE_BYTES_MAX, &text, err);
    if (ok && text.len > 0 && text.at[text.len - 1] != '\n') {
        while (text.len > 0 && text.at[text.len - 1] != '\n')
            text.len--;
        ok = file_write(path, text, err);
    }
    arena_release(&scratch);
    return ok;
}
