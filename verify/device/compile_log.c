/*
 * The compiler's log: cleaned of the machine, then read into diagnostics.
 *
 * A log is a sequence of blocks.  A block begins with "FILE(LINE): error: TEXT" or a like heading
 * and runs to the next heading or empty line; it may hold more text, the source line, and under it
 * a line with only a caret.  ptxas writes single lines of its own.
 *
 * Cleaning drops what differs from run to run or from machine to machine (times, precompiled
 * headers, folders) and warnings about headers, so the same source gives the same bytes.  Cleaning
 * a clean log changes nothing.  The text comes from a compiler that read hostile input: every line
 * is length-checked, the number of diagnostics is limited, and nothing in it is acted upon.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#include "verify/device/device_int.h"

enum {
    DIAGNOSTICS_MAX = 64,
    TEXT_BYTES_MAX = 1000,
    SOURCE_LINE_BYTES_MAX = 400,
    BLOCK_LINES_MAX = 200,
    INDENT = 2, /* of source lines */
};

static const char candidate[] = "kernel.cu";

/* ---- headings ---- */

enum severity { SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR };

static const struct {
    const char *word;
    enum severity severity;
} severities[] = {
    {"error", SEVERITY_ERROR},     {"catastrophic error", SEVERITY_ERROR},
    {"fatal", SEVERITY_ERROR},     {"internal error", SEVERITY_ERROR},
    {"warning", SEVERITY_WARNING}, {"remark", SEVERITY_NOTE},
    {"note", SEVERITY_NOTE},
};

struct heading {
    struct str file; /* empty: none was named */
    int line;
    enum severity severity;
    struct str text; /* from the severity on */
};

static struct str from(struct str s, size_t at)
{
    return (struct str){s.at + at, s.len - at};
}

static struct str trim(struct str s)
{
    while (s.len && (s.at[0] == ' ' || s.at[0] == '\t'))
        s = from(s, 1);
    while (s.len && strchr(" \t\r", s.at[s.len - 1]))
        s.len--;
    return s;
}

/* Where `needle` begins in `s`; s.len when it does not occur. */
static size_t find(struct str s, const char *needle)
{
    const char *at = s.len ? memmem(s.at, s.len, needle, strlen(needle)) : NULL;
    return at ? (size_t)(at - s.at) : s.len;
}

static bool contains(struct str s, const char *needle)
{
    return find(s, needle) < s.len;
}

/* A severity word, then a number such as "#177-D" or blanks, then a colon. */
static bool read_severity(struct str s, struct heading *heading)
{
    for (size_t i = 0; i < COUNT_OF(severities); i++) {
        struct str word = str_from(severities[i].word);
        if (!str_has_prefix(s, word))
            continue;
        struct str rest = from(s, word.len);
        size_t colon = find(rest, ":");
        struct str between = trim((struct str){rest.at, colon});
        if (colon == rest.len || (between.len && between.at[0] != '#') || between.len > 12)
            continue;
        heading->severity = severities[i].severity;
        heading->text = s;
        return true;
    }
    return false;
}

/* Digits at `at`; 0 when there are none or too many. */
static int read_number(struct str s, size_t at, size_t *end)
{
    int value = 0;
    *end = at;
    while (*end < s.len && s.at[*end] >= '0' && s.at[*end] <= '9' && value < 100000000)
        value = 10 * value + (s.at[(*end)++] - '0');
    return value;
}

/* "FILE(LINE): error: ..." */
static bool read_placed(struct str line, struct heading *heading)
{
    size_t end;
    size_t close = find(line, "): ");
    if (close == line.len)
        return false;
    size_t open = close;
    while (open > 0 && line.at[open] != '(')
        open--;
    if (open == 0 || line.at[open] != '(')
        return false;
    heading->line = read_number(line, open + 1, &end);
    heading->file = (struct str){line.at, open};
    return end == close && end > open + 1 && read_severity(from(line, close + 3), heading);
}

/* "ptxas error   : ...", "ptxas application ptx input, line 28; fatal   : ...", "nvrtc: error: ..."
 */
static bool read_tool(struct str line, struct heading *heading)
{
    static const char *const tools[] = {"ptxas ", "nvrtc: ", "At end of source: ", "nvlink "};
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        struct str tool = str_from(tools[i]);
        if (!str_has_prefix(line, tool))
            continue;
        struct str rest = from(line, tool.len);
        size_t after = find(rest, "; ");
        if (!read_severity(rest, heading) &&
            (after == rest.len || !read_severity(from(rest, after + 2), heading)))
            return false;
        heading->text = line;
        return true;
    }
    return false;
}

static bool read_heading(struct str line, struct heading *heading)
{
    *heading = (struct heading){0};
    if (line.len == 0 || line.at[0] == ' ')
        return false;
    return read_placed(line, heading) || read_tool(line, heading) || read_severity(line, heading);
}

static bool is_candidate(struct str file)
{
    return str_equal(file, str_from(candidate));
}

/* ---- cleaning ---- */

struct renaming {
    const char *machine, *neutral;
};

/* In logs.  No neutral text can become part of a machine's when they meet, so once is enough. */
static const struct renaming log_names[] = {
    {"/proc/self/fd/101", "cuda"},
    {"/proc/self/fd/102", "cuda"},
};

/* In the .file lines of PTX, where names stand in quotes. */
static const struct renaming ptx_names[] = {
    {"\"/proc/self/fd/101", "\"cuda"},         {"\"/proc/self/fd/102", "\"cuda"},
    {"\"/kernel.cu\"", "\"kernel.cu\""},       {"\"/ww_prelude.h\"", "\"ww_prelude.h\""},
    {"\"/ww_headers.h\"", "\"ww_headers.h\""},
};

static bool is_noise(struct str line)
{
    static const char *const noise[] = {
        "precompiled header",
        "Compile time = ",
        "The warnings can be suppressed with",
    };
    if (line.len == 0 || line.at[0] == ' ')
        return false;
    for (size_t i = 0; i < COUNT_OF(noise); i++)
        if (contains(line, noise[i]))
            return true;
    return false;
}

static void rename_line(struct buf *out, struct str line, const struct renaming *names,
                        size_t count)
{
    while (line.len) {
        size_t first = line.len;
        size_t which = 0;
        for (size_t i = 0; i < count; i++) {
            size_t at = find(line, names[i].machine);
            if (at < first) {
                first = at;
                which = i;
            }
        }
        buf_str(out, (struct str){line.at, first});
        if (first == line.len)
            break;
        buf_text(out, names[which].neutral);
        line = from(line, first + strlen(names[which].machine));
    }
    buf_char(out, '\n');
}

/* Lines are renamed first, so that both a raw log and a clean one are judged by the same text. */
bool compile_log_clean(struct arena *arena, struct str raw, struct str *clean, struct err *err)
{
    struct buf renamed;
    struct buf out;
    struct str line;
    bool dropping = false; /* in a block that is left out */
    bool gap = true;       /* the last line kept was empty, or there was none */
    buf_init(&renamed, arena, 2 * COMPILE_LOG_BYTES_MAX + 1);
    buf_init(&out, arena, 2 * COMPILE_LOG_BYTES_MAX + 1);
    while (str_next_line(&raw, &line))
        rename_line(&renamed, line, log_names, COUNT_OF(log_names));
    struct str rest = buf_view(&renamed);
    while (str_next_line(&rest, &line)) {
        struct heading heading;
        if (read_heading(line, &heading))
            dropping = heading.severity != SEVERITY_ERROR && heading.file.len &&
                       !is_candidate(heading.file);
        if (trim(line).len == 0) {
            dropping = false;
            if (!gap)
                buf_char(&out, '\n');
            gap = true;
        } else if (!dropping && !is_noise(line)) {
            buf_str(&out, line);
            buf_char(&out, '\n');
            gap = false;
        }
    }
    return buf_finish(&out, "compile log", clean, err);
}

struct str compile_ptx_clean(struct arena *arena, struct str ptx)
{
    struct buf out;
    struct str line;
    buf_init(&out, arena, ptx.len + ptx.len / 2 + 1024);
    while (str_next_line(&ptx, &line)) {
        if (str_has_prefix(trim(line), STR_LIT(".file"))) {
            rename_line(&out, line, ptx_names, COUNT_OF(ptx_names));
        } else {
            buf_str(&out, line);
            buf_char(&out, '\n');
        }
    }
    return buf_view(&out);
}

/* ---- reading ---- */

/* The column of the caret, from 1; 0 when this is no caret line. */
static int caret_column(struct str line)
{
    struct str rest = line;
    while (rest.len && rest.at[0] == ' ')
        rest = from(rest, 1);
    if (rest.len != 1 || rest.at[0] != '^' || line.len <= INDENT)
        return 0;
    return (int)(line.len - INDENT);
}

/* "... at line 12" of an instantiation, in the candidate; the outermost comes last. */
static int instantiation_line(struct str line, bool in_candidate)
{
    size_t end;
    size_t at = find(line, " at line ");
    if (at == line.len)
        return 0;
    int number = read_number(line, at + strlen(" at line "), &end);
    struct str rest = trim(from(line, end));
    if (rest.len == 0)
        return in_candidate ? number : 0;
    return contains(rest, candidate) ? number : 0;
}

static const char *clipped(struct arena *arena, struct str s, size_t bytes_max)
{
    if (s.len > bytes_max)
        s.len = bytes_max;
    return str_copy(arena, s);
}

struct block {
    struct heading heading;
    struct str lines[BLOCK_LINES_MAX];
    size_t count;
};

static void read_block(struct arena *arena, const struct block *block,
                       struct compile_diagnostic *out)
{
    const struct heading *heading = &block->heading;
    bool ours = is_candidate(heading->file);
    size_t caret = block->count;
    struct buf text;
    *out = (struct compile_diagnostic){
        .line = ours ? heading->line : 0,
        .is_error = heading->severity == SEVERITY_ERROR,
    };
    for (size_t i = 0; i < block->count; i++) {
        int line = ours ? 0 : instantiation_line(block->lines[i], ours);
        if (caret == block->count && i > 0 && caret_column(block->lines[i]))
            caret = i;
        if (line)
            out->line = line;
    }
    if (caret < block->count && ours) {
        struct str source = block->lines[caret - 1];
        out->column = caret_column(block->lines[caret]);
        out->source_line = clipped(arena, source.len > INDENT ? from(source, INDENT) : source,
                                   SOURCE_LINE_BYTES_MAX);
    }
    buf_init(&text, arena, 2 * TEXT_BYTES_MAX);
    if (!ours && heading->file.len) {
        buf_str(&text, heading->file);
        buf_printf(&text, "(%d): ", heading->line);
    }
    buf_str(&text, heading->text);
    for (size_t i = 0; caret < block->count && i + 1 < caret; i++) {
        buf_text(&text, "; ");
        buf_str(&text, trim(block->lines[i]));
    }
    out->text = clipped(arena, buf_view(&text), TEXT_BYTES_MAX);
}

void compile_log_parse(struct arena *arena, struct str log, struct compile_result *result)
{
    struct compile_diagnostic *found =
        arena_array(arena, struct compile_diagnostic, DIAGNOSTICS_MAX);
    struct block *block = arena_new(arena, struct block);
    struct str line;
    size_t count = 0;
    bool open = false;
    bool more = true;
    while (more) {
        struct heading heading;
        more = str_next_line(&log, &line);
        bool begins = more && read_heading(line, &heading);
        bool ends = !more || begins || trim(line).len == 0;
        if (open && ends && count < DIAGNOSTICS_MAX) {
            read_block(arena, block, &found[count++]);
            open = false;
        }
        if (begins) {
            block->heading = heading;
            block->count = 0;
            open = true;
        } else if (open && block->count < BLOCK_LINES_MAX) {
            block->lines[block->count++] = line;
        }
    }
    result->diagnostics = found;
    result->diagnostic_count = count;
}
