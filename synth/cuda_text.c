/*
 * Text of CUDA files: indented lines, and identifiers.
 *
 * Names of a spec may be words of C++ or CUDA, may meet each other (an index called like a tensor)
 * and may hold characters that C++ does not allow (instances of other specs).  So each name passes
 * names_take(), which keeps it when it can and else appends underscores.
 *
 * Invariant: two names of one scope, or of a scope and the one around it, are never equal.
 */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "synth/synth_int.h"

enum { INDENT = 4, LINE_BYTES_MAX = 1 << 20 };

const char *text_fmt(struct arena *arena, const char *fmt, ...)
{
    struct buf buf;
    va_list args;
    buf_init(&buf, arena, LINE_BYTES_MAX);
    va_start(args, fmt);
    buf_vprintf(&buf, fmt, args);
    va_end(args);
    return buf.len == 0 ? "" : buf.at;
}

const char *text_stmt(struct arena *arena, const struct op *op, const struct stmt *stmt)
{
    struct buf buf;
    buf_init(&buf, arena, LINE_BYTES_MAX);
    op_print_stmt(&buf, op, stmt);
    for (size_t i = 0; i < buf.len; i++)
        if (buf.at[i] == '\n')
            buf.at[i] = ' ';
    return buf.len == 0 ? "" : buf.at;
}

void cuda_init(struct cuda *cuda, struct arena *arena)
{
    *cuda = (struct cuda){0};
    buf_init(&cuda->out, arena, CUDA_TEXT_BYTES_MAX);
}

static void PRINTF_LIKE(2, 0)
    print_line(struct cuda *cuda, const char *fmt, va_list args, const char *end)
{
    if (fmt[0] != '\0')
        for (int i = 0; i < cuda->depth * INDENT; i++)
            buf_char(&cuda->out, ' ');
    buf_vprintf(&cuda->out, fmt, args);
    buf_text(&cuda->out, end);
}

void cuda_line(struct cuda *cuda, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    print_line(cuda, fmt, args, "\n");
    va_end(args);
}

void cuda_open(struct cuda *cuda, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    print_line(cuda, fmt, args, " {\n");
    va_end(args);
    cuda->depth++;
}

void cuda_close(struct cuda *cuda)
{
    cuda->depth--;
    cuda_line(cuda, "}");
}

/* Keywords, CUDA's built-in names, and the words that the emitters use themselves. */
static const char *const RESERVED[] = {
    "alignas",  "alignof",   "and",       "asm",      "assert",    "auto",      "bitand",
    "bitor",    "bool",      "break",     "case",     "catch",     "char",      "class",
    "compl",    "const",     "constexpr", "continue", "decltype",  "default",   "delete",
    "do",       "double",    "else",      "enum",     "explicit",  "export",    "extern",
    "false",    "float",     "for",       "friend",   "goto",      "if",        "inline",
    "int",      "long",      "main",      "mutable",  "namespace", "new",       "noexcept",
    "not",      "nullptr",   "operator",  "or",       "private",   "protected", "public",
    "register", "requires",  "return",    "short",    "signed",    "sizeof",    "static",
    "struct",   "switch",    "template",  "this",     "throw",     "true",      "try",
    "typedef",  "typeid",    "typename",  "union",    "unsigned",  "using",     "virtual",
    "void",     "volatile",  "while",     "xor",      "blockIdx",  "blockDim",  "threadIdx",
    "gridDim",  "warpSize",  "half",      "uint",     "ushort",    "uchar",     "ulong",
    "dim3",     "int2",      "int4",      "float2",   "float4",    "double2",   "i64",
    "u64",      "u32",       "u8",        "id",       "total",     "rest",      "acc",
    "carry",    "best",      "at",        "seen",     "lane",      "warp",      "tid",
    "row",      "group",     "value",     "bound",    "pair",      "work",      "step",
    "part",     "shared",    "NULL",      "NAN",      "INFINITY",  "abs",       "exp",
    "exp2",     "expm1",     "log",       "log2",     "log1p",     "log10",     "sqrt",
    "rsqrt",    "sin",       "cos",       "tan",      "asin",      "acos",      "atan",
    "sinh",     "cosh",      "tanh",      "erf",      "erfc",      "floor",     "ceil",
    "trunc",    "rint",      "isnan",     "isinf",    "min",       "max",       "pow",
    "atan2",    "fmod",      "fma",       "fmin",     "fmax",      "fabs",      "clock",
    "printf",   "malloc",    "free",      "memcpy",   "memset",    "j0",        "j1",
    "jn",       "y0",        "y1",        "yn",       "gamma",     "round",     "hypot",
    "cbrt",     "ldexp",     "frexp",     "modf",     "signbit",   "remainder", "M_PI",
    "M_LOG2E",  "M_SQRT1_2", "INT_MAX",   "INT_MIN",  "FLT_MAX",   "FLT_MIN",   "DBL_MAX",
    "linux",    "unix",      "a_tile",    "b_tile",   "a_reg",     "b_reg",     "across",
    "down",     "batch",     "cell",      "term",     "fresh",     "sum",       "first_m",
    "first_n",  "flat_m",    "flat_n",    "flat_k",   "tile_m",    "tile_n",    "tile_k",
    "k_start",  "m_count",   "n_count",   "k_count",  "tx",        "ty",        "rows",
    "slot",     "base",      "pos"};

static bool reserved(const char *name)
{
    if (name[0] == '_')
        return true;
    for (size_t i = 0; i < COUNT_OF(RESERVED); i++)
        if (strcmp(RESERVED[i], name) == 0)
            return true;
    return false;
}

static bool taken(const struct names *names, struct str name)
{
    for (; names != NULL; names = names->outer)
        if (map_get(&names->taken, name) != NULL)
            return true;
    return false;
}

static const char *identifier(struct arena *arena, struct str wanted)
{
    bool digit_first = wanted.len == 0 || isdigit((unsigned char)wanted.at[0]);
    bool score_first = wanted.len > 0 && wanted.at[0] == '_';
    char *name = arena_array(arena, char, wanted.len + 2);
    size_t len = 0;
    if (digit_first || score_first)
        name[len++] = 'v';
    for (size_t i = 0; i < wanted.len; i++)
        name[len++] = isalnum((unsigned char)wanted.at[i]) ? wanted.at[i] : '_';
    return name;
}

const char *names_take(struct names *names, struct str wanted)
{
    const char *name = identifier(names->arena, wanted);
    while (reserved(name) || taken(names, str_from(name)))
        name = text_fmt(names->arena, "%s_", name);
    bool is_new;
    map_put(&names->taken, str_from(name), &is_new);
    return name;
}

void names_init(struct names *names, struct arena *arena, const struct op *op)
{
    *names = (struct names){.arena = arena};
    map_init(&names->taken, arena);
    const char **dims = arena_array(arena, const char *, op->dim_count + 1);
    const char **tensors = arena_array(arena, const char *, op->tensor_count + 1);
    for (size_t i = 0; i < op->dim_count; i++)
        dims[i] = names_take(names, op->dims[i].name);
    for (size_t i = 0; i < op->tensor_count; i++)
        tensors[i] = names_take(names, op->tensors[i].name);
    names->dims = dims;
    names->tensors = tensors;
}

void names_scope(struct names *names, const struct names *outer)
{
    *names = (struct names){
        .arena = outer->arena, .outer = outer, .tensors = outer->tensors, .dims = outer->dims};
    map_init(&names->taken, outer->arena);
}
