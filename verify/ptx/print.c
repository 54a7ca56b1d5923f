/*
 * printf and assert of device code: formatting from the kernel's memory into the report.
 *
 * The format and its arguments come from the kernel, so each conversion is parsed here and handed
 * to snprintf one at a time with its type made sure; %n and * are not known.
 */
#include <stdio.h>
#include <string.h>

#include "verify/ptx/exec_int.h"
#include "verify/ptx/fault_int.h"
#include "verify/ptx/mem_int.h"

enum { FORMAT_BYTES_MAX = 1024, STRING_BYTES_MAX = 256, PRINTS_MAX = 4096 };

static bool read_bytes(struct warp *w, const struct insn *in, int lane, uint64_t address,
                       uint32_t bytes, void *out)
{
    for (uint32_t i = 0; i < bytes; i++) {
        const unsigned char *from =
            mem_lane(w, in, lane, SPACE_GENERIC, address + i, 1, MEM_PLAIN_READ);
        if (!from)
            return false;
        ((unsigned char *)out)[i] = *from;
    }
    return true;
}

static bool read_string(struct warp *w, const struct insn *in, int lane, uint64_t address,
                        char *out, size_t room)
{
    for (size_t i = 0; i + 1 < room; i++) {
        if (!read_bytes(w, in, lane, address + i, 1, &out[i]))
            return false;
        if (out[i] == '\0')
            return true;
    }
    out[room - 1] = '\0';
    return true;
}

static uint64_t argument(struct warp *w, const struct insn *in, int lane, uint32_t index)
{
    const struct call_site *site = in->u.call;
    uint64_t value = 0;
    uint32_t bytes = site->sizes[index] < 8 ? site->sizes[index] : 8;
    memcpy(&value, w->local + (size_t)lane * w->local_stride + w->cur.frame + site->args[index],
           bytes);
    return value;
}

/* Text that goes to logs: what does not print is shown as an escape. */
static void append(struct buf *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '\n' || (c >= ' ' && c < 127))
            buf_char(out, (char)c);
        else
            buf_printf(out, "\\x%02x", c);
    }
}

struct print {
    struct warp *w;
    const struct insn *in;
    int lane;
    uint64_t args;
    uint64_t at; /* offset of the next argument */
    struct buf *out;
};

static bool next_argument(struct print *p, uint32_t bytes, uint64_t *value)
{
    p->at = (p->at + bytes - 1) / bytes * bytes;
    *value = 0;
    if (!read_bytes(p->w, p->in, p->lane, p->args + p->at, bytes, value))
        return false;
    p->at += bytes;
    return true;
}

static bool print_one(struct print *p, const char *flags, int longs, char conversion)
{
    char format[32], text[STRING_BYTES_MAX];
    uint64_t value;
    bool is_float = strchr("fFeEgGaA", conversion) != NULL;
    bool is_wide = is_float || longs > 0 || conversion == 'p' || conversion == 's';
    if (!next_argument(p, is_wide ? 8 : 4, &value))
        return false;
    double real;
    memcpy(&real, &value, sizeof(real));
    snprintf(format, sizeof(format), "%%%.20s%s%c", flags,
             is_float || conversion == 'c' ? "" : "ll", conversion == 'p' ? 'x' : conversion);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (conversion == 's') {
        if (!read_string(p->w, p->in, p->lane, value, text, sizeof(text)))
            return false;
    } else if (is_float) {
        snprintf(text, sizeof(text), format, real);
    } else if (conversion == 'c') {
        text[0] = (char)value;
        text[1] = '\0';
    } else if (strchr("di", conversion)) {
        long long n = is_wide ? (long long)value : (int32_t)value;
        snprintf(text, sizeof(text), format, n);
    } else {
        snprintf(text, sizeof(text), format, (unsigned long long)value);
    }
#pragma GCC diagnostic pop
    append(p->out, text);
    return true;
}

/* One conversion behind its %; the bytes it takes, 0 = a fault. */
static size_t print_conversion(struct print *p, const char *at)
{
    char flags[24];
    size_t n = 0, i = 0;
    while (at[i] && strchr("-+ #0123456789.", at[i]) && n + 1 < sizeof(flags) - 4)
        flags[n++] = at[i++];
    flags[n] = '\0';
    int longs = 0;
    for (; at[i] == 'l' || at[i] == 'h' || at[i] == 'z'; i++)
        longs += at[i] != 'h';
    if (at[i] == '%') {
        buf_char(p->out, '%');
        return i + 1;
    }
    if (at[i] == '\0' || !strchr("diouxXcspfFeEgGaA", at[i])) {
        buf_char(p->out, '%');
        return i ? i : 1;
    }
    /* A width or precision that would print for long is dropped. */
    if (n > 6)
        flags[0] = '\0';
    return print_one(p, flags, longs, at[i]) ? i + 1 : 0;
}

static bool print_lane(struct warp *w, const struct insn *in, int lane)
{
    char format[FORMAT_BYTES_MAX];
    struct print p = {w, in, lane, argument(w, in, lane, 1), 0, w->run->printed};
    if (!read_string(w, in, lane, argument(w, in, lane, 0), format, sizeof(format)))
        return false;
    for (const char *at = format; *at;) {
        if (*at != '%') {
            char one[2] = {*at++, '\0'};
            append(p.out, one);
            continue;
        }
        size_t taken = print_conversion(&p, at + 1);
        if (taken == 0)
            return false;
        at += 1 + taken;
    }
    return true;
}

const struct insn *exec_printf(struct warp *w, const struct insn *in)
{
    const struct call_site *site = in->u.call;
    for (uint32_t m = w->mask; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        bool more = !w->run->printed->overflow && w->run->prints++ < PRINTS_MAX;
        if (more && !print_lane(w, in, lane))
            return w->limit;
        uint32_t zero = 0;
        size_t row = (size_t)lane * w->local_stride + w->cur.frame;
        if (site->return_count && site->return_sizes[0] == sizeof(zero)) {
            memcpy(w->local + row + site->returns[0], &zero, sizeof(zero));
            if (w->local_init)
                memset(w->local_init + row + site->returns[0], 1, sizeof(zero));
        }
    }
    return in + 1;
}

const struct insn *exec_assertfail(struct warp *w, const struct insn *in)
{
    char message[STRING_BYTES_MAX], file[STRING_BYTES_MAX];
    int lane = __builtin_ctz(w->mask);
    if (!read_string(w, in, lane, argument(w, in, lane, 0), message, sizeof(message)) ||
        !read_string(w, in, lane, argument(w, in, lane, 1), file, sizeof(file)))
        return w->limit;
    for (char *c = message; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return fault_at(w, in, lane, PTX_FAULT_ASSERT, NULL, "assertion '%.160s' failed (line %u)",
                    message, (unsigned)argument(w, in, lane, 2));
}
