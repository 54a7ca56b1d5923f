/*
 * Other people's text in a prompt: source that a model wrote, logs about it, words of a spec or of
 * another's bank.
 *
 * Such text must stay what it is, data: it must not end the fence it stands in, look like a heading
 * of ours, or carry what a reader does not see.  So a fence is longer than any run of backticks in
 * the text; outside fences runs of three backticks or tildes become quotes, and later lines are
 * indented.  Control characters but tab and line feed, marks of writing direction, zero-width and
 * tag characters become '?'; bytes that are no UTF-8 do, too.  Servers of open models read "<|",
 * "<think>" and "</think>" as control tokens; they get a blank behind the '<', which means the same
 * in C++.
 *
 * Invariant: a fence that quote_fence opens is closed by its own last line and no earlier one.
 */
#include <string.h>

#include "base/json.h"
#include "base/panic.h"

#include "synth/prompt_int.h"

enum { FENCE_MIN = 3 };

/* Sequences of bytes, in valid UTF-8, whose characters are not shown; last byte from a range. */
static const struct {
    const char *start;
    unsigned char first, last;
    size_t more; /* bytes behind that one */
} unseen[] = {
    {"\xc2", 0x80, 0x9f, 0},     /* C1 controls */
    {"\xd8", 0x9c, 0x9c, 0},     /* U+061C */
    {"\xe2\x80", 0x8b, 0x8f, 0}, /* zero width, direction */
    {"\xe2\x80", 0xa8, 0xae, 0}, /* line separators, direction */
    {"\xe2\x81", 0xa0, 0xaf, 0}, /* joiners, direction */
    {"\xef\xbb", 0xbf, 0xbf, 0}, /* byte order mark */
    {"\xf3\xa0", 0x80, 0x81, 1}, /* tags */
};

static size_t unseen_bytes(struct str text)
{
    for (size_t i = 0; i < COUNT_OF(unseen); i++) {
        size_t len = strlen(unseen[i].start);
        if (text.len <= len + unseen[i].more || memcmp(text.at, unseen[i].start, len) != 0)
            continue;
        unsigned char c = (unsigned char)text.at[len];
        if (c >= unseen[i].first && c <= unseen[i].last)
            return len + 1 + unseen[i].more;
    }
    return 0;
}

static bool is_control_token(struct str text)
{
    static const char *const starts[] = {"<|", "<think>", "</think>"};
    for (size_t i = 0; i < COUNT_OF(starts); i++)
        if (str_has_prefix(text, str_from(starts[i])))
            return true;
    return false;
}

/* `text` without what a prompt may not hold, appended to `out`. */
static void put_clean(struct buf *out, struct str text)
{
    bool is_utf8 = json_is_text(text);
    for (size_t i = 0; i < text.len;) {
        unsigned char c = (unsigned char)text.at[i];
        size_t hidden =
            is_utf8 && c >= 0x80 ? unseen_bytes((struct str){text.at + i, text.len - i}) : 0;
        bool control = (c < ' ' && c != '\n' && c != '\t') || c == 0x7f;
        bool line_end = c == '\r' && i + 1 < text.len && text.at[i + 1] == '\n';
        bool refused = hidden || control || (c >= 0x80 && !is_utf8);
        if (!line_end)
            buf_char(out, refused ? '?' : (char)c);
        if (c == '<' && is_control_token((struct str){text.at + i, text.len - i}))
            buf_char(out, ' ');
        i += hidden ? hidden : 1;
    }
}

/* Text outside of fences; `line_break` stands for one line feed or several. */
static void put_words(struct buf *out, struct str text, const char *line_break)
{
    struct buf clean;
    buf_init(&clean, out->arena, PROMPT_BYTES_MAX);
    put_clean(&clean, text);
    for (size_t i = 0; i < clean.len; i++) {
        char c = clean.at[i];
        size_t run = i;
        while (run < clean.len && clean.at[run] == c)
            run++;
        if (c == '\n') {
            buf_text(out, run == clean.len ? "" : line_break);
            i = run - 1;
        } else if ((c == '`' || c == '~') && run - i >= FENCE_MIN) {
            for (; i < run; i++)
                buf_char(out, '\'');
            i--;
        } else {
            buf_char(out, c);
        }
    }
}

void quote_line(struct buf *out, struct str text)
{
    put_words(out, text, " ");
}

void quote_item(struct buf *out, struct str text)
{
    put_words(out, text, "\n  ");
}

static size_t longest_run(struct str text, char c)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < text.len; i++) {
        run = text.at[i] == c ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void put_fence(struct buf *out, size_t length, const char *label)
{
    for (size_t i = 0; i < length; i++)
        buf_char(out, '`');
    buf_printf(out, "%s\n", label);
}

void quote_fence(struct buf *out, const char *label, struct str text)
{
    size_t longest = longest_run(text, '`');
    size_t length = longest < FENCE_MIN ? FENCE_MIN : longest + 1;
    put_fence(out, length, label);
    put_clean(out, text);
    if (text.len > 0 && text.at[text.len - 1] != '\n')
        buf_char(out, '\n');
    put_fence(out, length, "");
}

bool text_has(struct str text, struct str part)
{
    return part.len == 0 || (text.len > 0 && memmem(text.at, text.len, part.at, part.len) != NULL);
}

/* ---- tokens ---- */

enum { LETTERS_A_TOKEN = 4 };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

int64_t prompt_tokens(struct str text)
{
    int64_t tokens = 0;
    for (size_t i = 0; i < text.len;) {
        size_t from = i;
        char c = text.at[i++];
        if (is_letter(c)) {
            while (i < text.len && is_letter(text.at[i]))
                i++;
            tokens += (int64_t)(i - from + LETTERS_A_TOKEN - 1) / LETTERS_A_TOKEN;
        } else if (c == ' ' || c == '\n') {
            while (i < text.len && text.at[i] == c)
                i++;
            tokens += c == '\n' || i - from > 1;
        } else {
            tokens++;
        }
    }
    return tokens;
}

/* ---- templates ---- */

void template_fill(struct buf *out, const char *text, const struct slot *slots, size_t count)
{
    const char *open;
    while ((open = strstr(text, "{{")) != NULL) {
        const char *name = open + 2, *close = strstr(name, "}}");
        size_t i = 0;
        ASSERT(close != NULL);
        while (i < count && (strlen(slots[i].name) != (size_t)(close - name) ||
                             memcmp(slots[i].name, name, (size_t)(close - name)) != 0))
            i++;
        ASSERT(i < count);
        buf_bytes(out, text, (size_t)(open - text));
        buf_text(out, slots[i].value);
        text = close + 2;
    }
    buf_text(out, text);
}
