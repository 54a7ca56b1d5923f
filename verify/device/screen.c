/*
 * The screen: what a candidate's text must not contain, before a compiler sees it.
 *
 * One pass over the tokens.  Directives are held to a list; a header must be named literally and
 * be on the allow-list, wherever it stands, skipped regions included.  Outside directives and
 * outside conditional regions, constructs that only make sense on the host are answered with what
 * to do instead, since the compiler's own message would mislead.
 *
 * This is the first of two layers.  Text that a macro assembles only later is not seen here (pasted
 * tokens, escapes in strings); the sandbox around the compiler is what stops those, and where there
 * is no sandbox `strict` refuses the means: __has_include, pasting of include-like words, and
 * directives spelled with splices or digraphs.
 */
#include <stdlib.h>
#include <string.h>

#include "verify/device/screen_int.h"

enum { SCREEN_ARENA_BYTES = 64 << 20, RECENT = 3, CONDITION_DEPTH_MAX = 1000 };

struct screen {
    struct screen_text text;
    struct screen_lexer lexer;
    const struct screen_options *options;
    struct screen_report *report;
    int depth;                 /* of #if */
    bool settled;              /* a macro or conditional was seen: nothing is hoisted any more */
    bool in_directive;         /* the rest of the line belongs to one */
    struct token last[RECENT]; /* newest first */
};

/* ---- directives ---- */

enum directive {
    DIRECTIVE_INCLUDE,
    DIRECTIVE_IF,
    DIRECTIVE_ELSE,
    DIRECTIVE_ENDIF,
    DIRECTIVE_MACRO,
    DIRECTIVE_MESSAGE,
    DIRECTIVE_PRAGMA,
    DIRECTIVE_LINE,
    DIRECTIVE_FILE,
};

static const struct {
    const char *name;
    enum directive directive;
} directives[] = {
    {"include", DIRECTIVE_INCLUDE},   {"if", DIRECTIVE_IF},
    {"ifdef", DIRECTIVE_IF},          {"ifndef", DIRECTIVE_IF},
    {"elif", DIRECTIVE_ELSE},         {"elifdef", DIRECTIVE_ELSE},
    {"elifndef", DIRECTIVE_ELSE},     {"else", DIRECTIVE_ELSE},
    {"endif", DIRECTIVE_ENDIF},       {"define", DIRECTIVE_MACRO},
    {"undef", DIRECTIVE_MACRO},       {"error", DIRECTIVE_MESSAGE},
    {"warning", DIRECTIVE_MESSAGE},   {"pragma", DIRECTIVE_PRAGMA},
    {"line", DIRECTIVE_LINE},         {"import", DIRECTIVE_FILE},
    {"include_next", DIRECTIVE_FILE}, {"embed", DIRECTIVE_FILE},
    {"using", DIRECTIVE_FILE},
};

static bool refuse_header(struct screen *screen, size_t at, struct str name, struct err *err)
{
    const char *remedy = header_remedy(name);
    return screen_refuse(&screen->text, at,
                         remedy ? remedy
                                : "only CUDA's device headers and the C and C++ basics are there; "
                                  "most things need no include",
                         err, "the header \"%.*s\" may not be included", STR_ARG(name));
}

/* A literal header name, <...> or "...", is next on this line. */
static bool read_header(struct screen *screen, struct str *name, size_t *at, struct err *err)
{
    struct screen_lexer *lexer = &screen->lexer;
    struct str text = screen->text.text;
    screen_skip_blank(lexer);
    *at = lexer->at;
    char open = lexer->at < text.len ? text.at[lexer->at] : '\0';
    char close = open == '<' ? '>' : '"';
    if (open != '<' && open != '"')
        return screen_refuse(&screen->text, lexer->at, "name the header literally: <cuda_fp16.h>",
                             err, "an include whose header is not written out");
    size_t end = lexer->at + 1;
    while (end < text.len && text.at[end] != close && text.at[end] != '\n')
        end++;
    if (end >= text.len || text.at[end] != close)
        return screen_refuse(&screen->text, *at, "close it on the same line", err,
                             "a header name that does not end");
    *name = (struct str){text.at + lexer->at + 1, end - lexer->at - 1};
    lexer->at = end + 1;
    return true;
}

static int compare_names(const void *a, const void *b)
{
    const struct str *x = a;
    const struct str *y = b;
    size_t len = x->len < y->len ? x->len : y->len;
    int order = memcmp(x->at, y->at, len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* The names point into the arena of the text, so the list is rebased by the caller. */
static void hoist(struct screen *screen, struct str name)
{
    struct screen_report *report = screen->report;
    if (screen->settled || report->hoisted_count == SCREEN_HOISTED_MAX)
        return;
    for (size_t i = 0; i < report->hoisted_count; i++)
        if (str_equal(report->hoisted[i], name))
            return;
    report->hoisted[report->hoisted_count++] = name;
}

static bool screen_include(struct screen *screen, struct err *err)
{
    struct str name;
    size_t at;
    if (!read_header(screen, &name, &at, err))
        return false;
    switch (header_kind(name)) {
    case HEADER_REFUSED:
        return refuse_header(screen, at, name, err);
    case HEADER_TOOLKIT:
        hoist(screen, name);
        break;
    case HEADER_MEMORY:
    case HEADER_LATE:
        break;
    }
    return true;
}

static bool screen_pragma(struct screen *screen, struct err *err)
{
    static const char *const refused[] = {"include_alias", "hdrstop", "nv_hdrstop", "no_pch",
                                          "dependency"};
    struct token token;
    struct screen_lexer ahead = screen->lexer;
    for (int words = 0; words < RECENT; words++) {
        if (!screen_lex(&ahead, &token, err))
            return false;
        for (size_t i = 0; token.kind == TOKEN_WORD && i < COUNT_OF(refused); i++)
            if (str_equal(token.text, str_from(refused[i])))
                return screen_refuse(&screen->text, token.at, "remove it", err,
                                     "#pragma %s is not allowed", refused[i]);
        if (token.kind != TOKEN_WORD)
            break;
    }
    return true;
}

static void skip_line(struct screen_lexer *lexer)
{
    while (lexer->at < lexer->text->text.len && lexer->text->text.at[lexer->at] != '\n')
        lexer->at++;
}

static bool apply_directive(struct screen *screen, enum directive directive, size_t at,
                            struct err *err)
{
    switch (directive) {
    case DIRECTIVE_INCLUDE:
        return screen_include(screen, err);
    case DIRECTIVE_IF:
        screen->settled = true;
        if (++screen->depth > CONDITION_DEPTH_MAX)
            return screen_refuse(&screen->text, at, NULL, err, "conditionals nest too deep");
        return true;
    case DIRECTIVE_ENDIF:
        screen->depth -= screen->depth > 0;
        return true;
    case DIRECTIVE_ELSE:
        return true;
    case DIRECTIVE_MACRO:
        screen->settled = true;
        return true;
    case DIRECTIVE_MESSAGE:
        skip_line(&screen->lexer);
        return true;
    case DIRECTIVE_PRAGMA:
        return screen_pragma(screen, err);
    case DIRECTIVE_LINE:
        return screen_refuse(&screen->text, at, "remove it", err,
                             "#line would move the places in every message");
    case DIRECTIVE_FILE:
        return screen_refuse(&screen->text, at, "use #include with an allowed header", err,
                             "a directive that reads a file in an unusual way");
    }
    return true;
}

/* The '#' was just read. */
static bool screen_directive(struct screen *screen, const struct token *hash, struct err *err)
{
    const struct screen_text *text = &screen->text;
    struct screen_lexer ahead = screen->lexer;
    struct token word;
    if (!screen_lex(&ahead, &word, err))
        return false;
    screen->in_directive = true;
    if (word.kind == TOKEN_NEWLINE || word.kind == TOKEN_END)
        return true;
    screen->lexer = ahead;
    if (word.kind == TOKEN_NUMBER)
        return screen_refuse(text, hash->at, "remove it", err,
                             "a line marker would move the places in every message");
    size_t end = word.at + word.text.len;
    bool plain =
        hash->text.len == 1 && text->origin[end - 1] - text->origin[word.at] == word.text.len - 1;
    if (screen->options->strict && !plain)
        return screen_refuse(text, hash->at, "write it plainly", err,
                             "a directive spelled with a digraph or split over lines");
    for (size_t i = 0; word.kind == TOKEN_WORD && i < COUNT_OF(directives); i++)
        if (str_equal(word.text, str_from(directives[i].name)))
            return apply_directive(screen, directives[i].directive, hash->at, err);
    return screen_refuse(text, hash->at, "remove it", err, "an unknown directive #%.*s",
                         word.text.len < 40 ? (int)word.text.len : 40, word.text.at);
}

/* ---- words ---- */

static const struct {
    const char *word;
    const char *remedy;
} host_words[] = {
    {"cudaMalloc", "the harness allocates: take pointers as kernel arguments"},
    {"cudaMallocManaged", "the harness allocates: take pointers as kernel arguments"},
    {"cudaFree", "the harness allocates: take pointers as kernel arguments"},
    {"cudaMemcpy", "the harness copies: write device code only"},
    {"cudaMemcpyAsync", "the harness copies: write device code only"},
    {"cudaMemset", "ask for a zeroed workspace in the manifest"},
    {"cudaMemsetAsync", "ask for a zeroed workspace in the manifest"},
    {"cudaDeviceSynchronize", "the harness launches and waits: write device code only"},
    {"cudaStreamSynchronize", "the harness launches and waits: write device code only"},
    {"cudaGetLastError", "the harness launches and checks: write device code only"},
    {"cudaLaunchKernel", "the manifest says what is launched: write device code only"},
    {"cudaLaunchCooperativeKernel", "say \"cooperative\": true in the manifest"},
    {"cudaFuncSetAttribute", "say \"smem\" in the manifest; the harness raises the limit"},
    {"PYBIND11_MODULE", "give device code only: no torch extension, no binding"},
    {"TORCH_LIBRARY", "give device code only: no torch extension, no binding"},
    {"AT_DISPATCH_FLOATING_TYPES", "give device code only: no torch extension, no binding"},
    {"TORCH_CHECK", "give device code only: no torch extension, no binding"},
};

static const char *const host_spaces[] = {"torch", "at", "c10", "pybind11"};
static const char *const host_std[] = {"vector", "cout",       "cerr",       "string",
                                       "map",    "unique_ptr", "shared_ptr", "thread"};

static bool is_punct(const struct token *token, char c)
{
    return token->kind == TOKEN_PUNCT && token->text.len == 1 && token->text.at[0] == c;
}

static bool is_word(const struct token *token, const char *word)
{
    return token->kind == TOKEN_WORD && str_equal(token->text, str_from(word));
}

static bool followed_by(const struct screen *screen, const char *text)
{
    struct str rest = screen->text.text;
    rest.at += screen->lexer.at;
    rest.len -= screen->lexer.at;
    while (rest.len && (rest.at[0] == ' ' || rest.at[0] == '\t')) {
        rest.at++;
        rest.len--;
    }
    return str_has_prefix(rest, str_from(text));
}

static bool screen_host_word(struct screen *screen, const struct token *token, struct err *err)
{
    const struct screen_text *text = &screen->text;
    const struct token *last = screen->last;
    for (size_t i = 0; i < COUNT_OF(host_words); i++)
        if (is_word(token, host_words[i].word) && followed_by(screen, "("))
            return screen_refuse(text, token->at, host_words[i].remedy, err, "%s is host code",
                                 host_words[i].word);
    for (size_t i = 0; i < COUNT_OF(host_spaces); i++)
        if (is_word(token, host_spaces[i]) && followed_by(screen, "::") && !is_punct(&last[0], ':'))
            return screen_refuse(text, token->at,
                                 "give device code only: no torch extension, no binding", err,
                                 "%s:: is host code", host_spaces[i]);
    bool in_std = is_punct(&last[0], ':') && is_punct(&last[1], ':') && is_word(&last[2], "std");
    for (size_t i = 0; in_std && i < COUNT_OF(host_std); i++)
        if (is_word(token, host_std[i]))
            return screen_refuse(text, token->at, "use arrays, shared memory and printf", err,
                                 "std::%s is host code", host_std[i]);
    if (is_word(token, "main") && is_word(&last[0], "int") && followed_by(screen, "("))
        return screen_refuse(text, token->at, "give the kernels only; the harness launches them",
                             err, "main is host code");
    if (is_word(token, "__device__") && is_punct(&last[0], ']') && followed_by(screen, "("))
        return screen_refuse(text, token->at, "drop it: every lambda is device code here", err,
                             "__device__ on a lambda needs an option that NVRTC does not have");
    return true;
}

/* The last two tokens are "##". */
static bool after_paste(const struct screen *screen)
{
    const struct token *last = screen->last;
    return is_punct(&last[0], '#') && is_punct(&last[1], '#') && last[0].at == last[1].at + 1;
}

/* "defined __has_include", "#ifdef __has_include": whether it exists, not what it says. */
static bool only_named(const struct screen *screen)
{
    const struct token *last = screen->last;
    return followed_by(screen, ")") || is_word(&last[0], "defined") ||
           (screen->in_directive && is_punct(&last[0], '#') && !after_paste(screen) &&
            !followed_by(screen, "("));
}

/* __has_include and its kin, where they stand. */
static bool screen_probe(struct screen *screen, const struct token *token, struct err *err)
{
    static const char *const probes[] = {"__has_include", "__has_include_next", "__has_embed"};
    struct str name;
    size_t at;
    bool probe = false;
    for (size_t i = 0; i < COUNT_OF(probes); i++)
        probe = probe || is_word(token, probes[i]);
    if (!probe || only_named(screen))
        return true;
    if (screen->options->strict || !is_word(token, "__has_include"))
        return screen_refuse(&screen->text, token->at, "include the header, or do not", err,
                             "%.*s is not allowed", STR_ARG(token->text));
    if (!followed_by(screen, "("))
        return screen_refuse(&screen->text, token->at, "test for the header literally", err,
                             "__has_include may only test a header written out");
    screen_skip_blank(&screen->lexer);
    screen->lexer.at++;
    if (!read_header(screen, &name, &at, err))
        return false;
    return header_kind(name) != HEADER_REFUSED || refuse_header(screen, at, name, err);
}

static bool screen_word(struct screen *screen, const struct token *token, struct err *err)
{
    if (!screen_probe(screen, token, err))
        return false;
    if (screen->options->strict && screen->in_directive && after_paste(screen) &&
        str_has_prefix(token->text, STR_LIT("include")))
        return screen_refuse(&screen->text, token->at, "write it out", err,
                             "a macro that pastes %.*s", STR_ARG(token->text));
    if (screen->depth > 0 || screen->in_directive)
        return true;
    return screen_host_word(screen, token, err);
}

/* ---- inline PTX ---- */

/* A PTX directive that a kernel's body has no use for begins at `at`. */
static const char *ptx_directive(struct str text, size_t at)
{
    static const char *const refused[] = {".include", ".file",   ".loc",  ".section",
                                          ".version", ".target", ".entry"};
    struct str rest = {text.at + at, text.len - at};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct str name = str_from(refused[i]);
        if (str_has_prefix(rest, name) && rest.len > name.len &&
            strchr(" \t\\\n", rest.at[name.len]))
            return refused[i];
    }
    return NULL;
}

/* Whether an instruction can begin here: after a quote, blank, separator, or an escaped one. */
static bool ptx_begins(struct str text, size_t at)
{
    char before = text.at[at - 1];
    if (strchr("\"( \t\n;{}", before))
        return true;
    return at >= 2 && text.at[at - 2] == '\\' && (before == 'n' || before == 't');
}

static bool screen_string(struct screen *screen, const struct token *token, struct err *err)
{
    for (size_t i = 1; i < token->text.len; i++) {
        if (token->text.at[i] != '.' || !ptx_begins(token->text, i))
            continue;
        const char *name = ptx_directive(token->text, i);
        if (name)
            return screen_refuse(&screen->text, token->at + i, "inline PTX holds instructions", err,
                                 "the PTX directive %s is not allowed", name);
    }
    return true;
}

/* ---- the pass ---- */

static bool screen_token(struct screen *screen, const struct token *token, struct err *err)
{
    switch (token->kind) {
    case TOKEN_NEWLINE:
        screen->in_directive = false;
        return true;
    case TOKEN_WORD:
        return screen_word(screen, token, err);
    case TOKEN_STRING:
    case TOKEN_RAW:
        return screen_string(screen, token, err);
    case TOKEN_PUNCT:
        if (token->first && (token->text.at[0] == '#' || token->text.len == 2))
            return screen_directive(screen, token, err);
        if (token->text.at[0] == '<' && followed_by(screen, "<<") && screen->depth == 0 &&
            !screen->in_directive)
            return screen_refuse(&screen->text, token->at,
                                 "the manifest says what is launched: write device code only", err,
                                 "a kernel launch is host code");
        return true;
    case TOKEN_NUMBER:
    case TOKEN_CHAR:
    case TOKEN_END:
        return true;
    }
    return true;
}

static bool screen_pass(struct screen *screen, struct err *err)
{
    struct token token;
    do {
        if (!screen_lex(&screen->lexer, &token, err) || !screen_token(screen, &token, err))
            return false;
        if (token.kind != TOKEN_NEWLINE) {
            screen->last[2] = screen->last[1];
            screen->last[1] = screen->last[0];
            screen->last[0] = token;
        }
    } while (token.kind != TOKEN_END);
    return true;
}

/* A hoisted name lies in the spliced text; where the source spells it plainly it is the source's
 * own bytes, which outlive the call, else it is left where it stands. */
static void rebase_hoisted(const struct screen_text *text, struct screen_report *report)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->hoisted_count; i++) {
        struct str name = report->hoisted[i];
        const char *at = text->source.at + text->origin[name.at - text->text.at];
        if (str_equal((struct str){at, name.len}, name))
            report->hoisted[kept++] = (struct str){at, name.len};
    }
    report->hoisted_count = kept;
    if (kept)
        qsort(report->hoisted, kept, sizeof(report->hoisted[0]), compare_names);
}

bool screen_source(struct str source, const struct screen_options *options,
                   struct screen_report *report, struct err *err)
{
    struct arena arena;
    struct screen screen = {.options = options, .report = report};
    bool ok = false;
    *report = (struct screen_report){0};
    arena_init(&arena, SCREEN_ARENA_BYTES);
    if (!screen_text_prepare(&arena, source, &screen.text, err))
        goto out;
    screen.lexer = (struct screen_lexer){.text = &screen.text, .line_start = true};
    if (!screen_pass(&screen, err))
        goto out;
    rebase_hoisted(&screen.text, report);
    ok = true;
out:
    arena_release(&arena);
    return ok;
}

bool device_screen_source(struct str source, struct err *err)
{
    struct screen_options options = {0};
    struct screen_report report;
    return screen_source(source, &options, &report, err);
}
