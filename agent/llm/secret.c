/*
 * The API key: read from a private file, checked, and kept out of what others see.
 *
 * Servers do send keys back, most often in the text of an error.  So every byte a server sends is
 * scrubbed before it is parsed.  The match follows JSON's escapes, for "\/" and "\u002d" are the
 * same key to whoever parses the text, and it takes a cut-off key from its 12th byte on, since
 * servers and our own limits shorten texts.  Shorter beginnings are common to all keys of a
 * provider and say nothing.
 *
 * Invariant: secret_occurs(scrub(t)) is false.  Not here: a key spread over several events of a
 * stream, which only the reader of the whole reply can see (retry.c asks secret_occurs again).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#include "agent/llm/llm_int.h"

enum { CUT_BYTES_MIN = 12, KEY_FILE_BYTES_MAX = 8192, OTHERS_MODE = 077 };

bool secret_check(const struct llm_secret *secret, struct err *err)
{
    if (secret->text.len > LLM_SECRET_BYTES_MAX)
        return err_raise(err, ERR_USAGE, "the API key has %zu bytes; the limit is %d",
                         secret->text.len, LLM_SECRET_BYTES_MAX);
    for (size_t i = 0; i < secret->text.len; i++)
        if (secret->text.at[i] <= ' ' || secret->text.at[i] > '~')
            return err_raise(err, ERR_USAGE,
                             "byte %zu of the API key is a space or no printable ASCII; was more "
                             "than the key copied?",
                             i + 1);
    return true;
}

bool llm_secret_read(struct arena *arena, const char *path, struct llm_secret *out, struct err *err)
{
    struct stat info;
    struct str text, line = {NULL, 0};
    if (stat(path, &info) != 0)
        return err_raise(err, ERR_IO, "key file %s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & OTHERS_MODE))
        return err_raise(err, ERR_USAGE,
                         "key file %s can be read or changed by others; say: chmod 600 %s", path,
                         path);
    if (!file_read(arena, path, KEY_FILE_BYTES_MAX, &text, err))
        return false;
    if (!str_next_line(&text, &line) || line.len == 0)
        return err_raise(err, ERR_USAGE, "key file %s: the first line is empty", path);
    if (line.at[line.len - 1] == '\r')
        line.len--;
    struct llm_secret secret = {line};
    if (!secret_check(&secret, err))
        return err_context(err, "key file %s", path);
    *out = secret;
    return true;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c | 0x20) : NULL;
    return at && c > ' ' ? (int)(at - digits) : -1;
}

/* The character at `i` and how many bytes spell it, JSON's escapes followed. */
static size_t spelled(struct str text, size_t i, char *c)
{
    *c = text.at[i];
    if (*c != '\\' || i + 1 >= text.len)
        return 1;
    if (text.at[i + 1] != 'u') {
        *c = text.at[i + 1];
        return 2;
    }
    int code = 0;
    for (size_t k = i + 2; k < i + 6; k++) {
        int digit = k < text.len ? hex_digit(text.at[k]) : -1;
        if (digit < 0)
            return 1;
        code = code * 16 + digit;
    }
    *c = code < 0x80 ? (char)code : '\0';
    return 6;
}

/* How many bytes from `i` on spell the key, or enough of its beginning; 0 = they do not. */
static size_t match(const struct llm_secret *secret, struct str text, size_t i)
{
    size_t at = i, k = 0;
    while (k < secret->text.len && at < text.len) {
        char c = text.at[at];
        size_t len = 1;
        if (c != secret->text.at[k]) /* a key may hold a backslash */
            len = spelled(text, at, &c);
        if (c != secret->text.at[k])
            break;
        at += len;
        k++;
    }
    return k == secret->text.len || k >= CUT_BYTES_MIN ? at - i : 0;
}

static size_t find(const struct llm_secret *secret, struct str text, size_t from, size_t *len)
{
    for (size_t i = from; i < text.len; i++) {
        if (text.at[i] != secret->text.at[0] && text.at[i] != '\\')
            continue;
        *len = match(secret, text, i);
        if (*len)
            return i;
    }
    return text.len;
}

bool secret_occurs(const struct llm_secret *secret, struct str text)
{
    size_t len;
    return secret->text.len >= LLM_SECRET_BYTES_MIN && find(secret, text, 0, &len) < text.len;
}

struct str secret_scrub(struct arena *arena, const struct llm_secret *secret, struct str text)
{
    static const char mask[] = "[API key]"; /* the space keeps it from becoming part of a key */
    struct buf out;
    size_t from = 0, at, len = 0;
    if (!secret_occurs(secret, text))
        return text;
    buf_init(&out, arena, 2 * text.len + sizeof(mask));
    while ((at = find(secret, text, from, &len)) < text.len) {
        buf_bytes(&out, text.at + from, at - from);
        buf_text(&out, mask);
        from = at + len;
    }
    buf_bytes(&out, text.at + from, text.len - from);
    return buf_view(&out);
}
