/*
 * The constants that a candidate holds, as bit patterns of f32.
 *
 * Problem: a kernel may recognise known data by a few of its values and then answer from a table.
 * Secret seeds make such a kernel useless, but it would still be accepted, for its table is never
 * asked.  So the candidate is asked with its own constants: whatever value it compares its input
 * with is in its PTX, as an immediate or in .const memory, and one of the data sets holds it.
 *
 * The same holds for sizes: what a kernel compares integers with may be where it begins to cheat,
 * or where its second code path begins, so these limits become shapes.
 *
 * Method: a scan of the PTX text, not a parse: floats written 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX,
 * integers of more than 16 bits, words of .b8 arrays.  Anything found is legal data, so taking too
 * much does no harm.  Debug sections and line information are left out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify/check/check_int.h"

enum { TOKEN_BYTES_MAX = 32, SMALL_INTEGER_MAX = 65535, LIMIT_MIN = 64 };

struct collector {
    struct literals *literals;
    uint32_t word; /* bytes of a .b8 array so far */
    int bytes;
};

static void add_float(struct literals *literals, float value)
{
    if (!isfinite(value) || value == 0 || literals->count == LITERALS_MAX)
        return;
    for (size_t i = 0; i < literals->count; i++)
        if (literals->values[i] == value)
            return;
    literals->values[literals->count++] = value;
}

static void add_word(struct literals *literals, uint32_t word)
{
    float value;

    memcpy(&value, &word, sizeof(value));
    add_float(literals, value);
}

static void add_token(struct collector *collector, const char *token, bool bytes)
{
    char *end;
    double real;
    uint64_t bits;

    if (token[0] == '0' && (token[1] == 'f' || token[1] == 'F')) {
        add_word(collector->literals, (uint32_t)strtoul(token + 2, NULL, 16));
        return;
    }
    if (token[0] == '0' && (token[1] == 'd' || token[1] == 'D')) {
        bits = strtoull(token + 2, NULL, 16);
        memcpy(&real, &bits, sizeof(real));
        add_float(collector->literals, (float)real);
        return;
    }
    bits = strtoull(token, &end, 0);
    if (bytes) {
        collector->word |= (uint32_t)(bits & 255) << (8 * collector->bytes);
        if (++collector->bytes == 4) {
            add_word(collector->literals, collector->word);
            collector->word = 0;
            collector->bytes = 0;
        }
    } else if (bits > SMALL_INTEGER_MAX) {
        add_word(collector->literals, (uint32_t)bits);
    }
}

/* "setp.gt.s64 %p1, %rd1, 100000;": the limit is the last operand. */
static void add_limit(struct literals *literals, struct str line)
{
    size_t start = line.len;
    char token[TOKEN_BYTES_MAX];
    int64_t value;
    char *end;

    while (start > 0 && line.at[start - 1] != ',')
        start--;
    if (start == 0 || line.len - start >= sizeof(token) || literals->limit_count == LIMITS_MAX)
        return;
    memcpy(token, line.at + start, line.len - start);
    token[line.len - start] = '\0';
    value = strtoll(token, &end, 0);
    if (*end != ';' || value < LIMIT_MIN)
        return;
    for (size_t i = 0; i < literals->limit_count; i++)
        if (literals->limits[i] == value)
            return;
    literals->limits[literals->limit_count++] = value;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '%' || c == '$' || c == '.';
}

static void scan_line(struct collector *collector, struct str line)
{
    const bool bytes =
        memmem(line.at, line.len, ".b8 ", 4) != NULL && memchr(line.at, '{', line.len) != NULL;
    size_t i = 0;

    /* The size of the array, before the brace, is no datum. */
    if (bytes)
        while (line.at[i] != '{')
            i++;
    while (i < line.len) {
        char token[TOKEN_BYTES_MAX];
        size_t start = i;

        while (i < line.len && is_word(line.at[i]))
            i++;
        if (i == start) {
            i++;
            continue;
        }
        if (line.at[start] < '0' || line.at[start] > '9' || i - start >= sizeof(token))
            continue;
        memcpy(token, line.at + start, i - start);
        token[i - start] = '\0';
        add_token(collector, token, bytes);
    }
}

void literals_of(struct str ptx, struct literals *out)
{
    struct collector collector = {.literals = out};
    struct str line;

    out->count = 0;
    out->limit_count = 0;
    while (str_next_line(&ptx, &line)) {
        while (line.len > 0 && (*line.at == ' ' || *line.at == '\t')) {
            line.at++;
            line.len--;
        }
        if (str_has_prefix(line, STR_LIT(".section")))
            return;
        if (str_has_prefix(line, STR_LIT(".loc")) || str_has_prefix(line, STR_LIT(".file")) ||
            str_has_prefix(line, STR_LIT("//")) || str_has_prefix(line, STR_LIT(".version")))
            continue;
        if (memmem(line.at, line.len, "setp.", 5) != NULL)
            add_limit(out, line);
        collector.word = 0;
        collector.bytes = 0;
        scan_line(&collector, line);
    }
}
