/*
 * tidy: the house rules a machine can check.
 *
 *     tidy MODULE:ALLOWED,ALLOWED...          (run from the top of the tree)
 *
 * Walks the whole tree.  A .c or .h file of a module is held to all rules: sizes, leftovers,
 * includes only of ALLOWED modules and of their public headers, banned calls, memory and
 * environment only where they belong, no mutable variables outside functions.  Under tests/ sizes,
 * leftovers, names and banned calls count.  Every text file must be free of the names of machines
 * and their folders.
 *
 * Method: line by line; calls and variables are looked for in a copy whose comments and strings are
 * blanked out.  A function body is what stands between a line that is exactly "{" and the next that
 * is exactly "}": the house format puts a function's braces, and no other block's, in the first
 * column. Invariant: blanking keeps every length, so a place in the copy is the same place in the
 * file. Left out: what needs a parser, such as a variable behind a macro.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/map.h"

enum {
    FILE_BYTES_MAX = 8 << 20,
    FILE_LINES_MAX = 800,
    FUNCTION_LINES_MAX = 70,
    LINE_COLUMNS_MAX = 100,
    FOLDER_NAMES_MAX = 100000,
    FUNCTIONS_MAX = 100000,
    MODULES_MAX = 64,
    ARENA_BYTES = 256 << 20,
};

/* Split, so that this file does not complain about itself. */
static const char *const leftover_words[] = {"TO"
                                             "DO",
                                             "FIX"
                                             "ME",
                                             "XX"
                                             "X",
                                             "HA"
                                             "CK"};
static const char disabled_code[] = "#if"
                                    " 0";
static const char *const machine_names[] = {
    "/wo"
    "rk/",
    "/fa"
    "rm/",
    "/ho"
    "me/",
    "/ro"
    "ot/",
    "deb.deb"
    "ian",
    "pypi."
    "org",
    "pythonho"
    "sted",
};

static const char *const banned_calls[] = {"strcpy", "strcat", "sprintf", "vsprintf", "gets",
                                           "strtok", "system", "popen",   "alloca"};
static const char *const memory_calls[] = {"malloc", "calloc",  "realloc",  "free",
                                           "strdup", "strndup", "asprintf", "vasprintf"};
static const char *const environment_calls[] = {"getenv", "secure_getenv"};

struct module {
    struct str name;
    struct str allowed; /* comma-separated, itself included */
};

struct tidy {
    struct module modules[MODULES_MAX];
    size_t module_count;
    struct arena arena; /* lives to the end */
    struct map names;   /* of C files, by base name */
    int complaints;
    size_t files;
    size_t functions;
    int *function_lines;
};

struct place {
    struct tidy *tidy;
    const char *path;
    const struct module *module; /* NULL under tests/ */
    int line;
};

static void complain(const struct place *at, const char *what, struct str detail)
{
    fprintf(stderr, "%s:%d: %s%.*s\n", at->path, at->line, what, STR_ARG(detail));
    at->tidy->complaints++;
}

/* ---- text ---- */

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The first place at or after `from` where `word` stands alone, or NULL. */
static const char *find_word(struct str line, const char *word, const char *from)
{
    size_t len = strlen(word);
    const char *end = line.at + line.len;
    while ((from = memmem(from, (size_t)(end - from), word, len))) {
        bool starts = from == line.at || !is_word_char(from[-1]);
        bool ends = from + len == end || !is_word_char(from[len]);
        if (starts && ends)
            return from;
        from += len;
    }
    return NULL;
}

static bool has_word(struct str line, const char *word)
{
    return find_word(line, word, line.at) != NULL;
}

static bool calls(struct str line, const char *function)
{
    size_t len = strlen(function);
    const char *end = line.at + line.len;
    for (const char *at = line.at; (at = find_word(line, function, at)); at += len)
        if (at + len < end && at[len] == '(')
            return true;
    return false;
}

/* Where the comment, string or character that starts at text[i] ends. */
static size_t skip_quoted(struct str text, size_t i)
{
    const char *end = text.at + text.len;
    if (text.at[i] == '/') {
        bool block = text.at[i + 1] == '*';
        const char *stop = memmem(text.at + i + 2, (size_t)(end - text.at) - i - 2,
                                  block ? "*/" : "\n", block ? 2 : 1);
        return stop ? (size_t)(stop - text.at) + (block ? 2 : 0) : text.len;
    }
    char quote = text.at[i];
    for (i++; i < text.len && text.at[i] != quote && text.at[i] != '\n'; i++)
        if (text.at[i] == '\\')
            i++;
    return i < text.len ? i + 1 : text.len;
}

/* A copy with comments and the insides of strings blanked; newlines stay. */
static struct str blank_quoted(struct arena *arena, struct str text)
{
    char *copy = str_copy(arena, text);
    for (size_t i = 0; i < text.len;) {
        char c = text.at[i];
        bool comment = c == '/' && i + 1 < text.len && strchr("/*", text.at[i + 1]);
        bool digit_mark = c == '\'' && i > 0 && isdigit((unsigned char)text.at[i - 1]);
        if (!comment && c != '"' && (c != '\'' || digit_mark)) {
            i++;
            continue;
        }
        for (size_t end = skip_quoted(text, i); i < end; i++)
            if (copy[i] != '\n')
                copy[i] = ' ';
    }
    return (struct str){copy, text.len};
}

/* ---- includes ---- */

static bool list_has(struct str list, struct str item)
{
    while (list.len) {
        const char *comma = memchr(list.at, ',', list.len);
        size_t len = comma ? (size_t)(comma - list.at) : list.len;
        if (str_equal((struct str){list.at, len}, item))
            return true;
        size_t skip = comma ? len + 1 : len;
        list = (struct str){list.at + skip, list.len - skip};
    }
    return false;
}

/* "solver/ir/ir.h" is the public header of solver/ir. */
static bool is_public_header(struct str header, struct str module)
{
    const char *slash = memrchr(module.at, '/', module.len);
    const char *name = slash ? slash + 1 : module.at;
    size_t len = (size_t)(module.at + module.len - name);
    struct str file = {header.at + module.len + 1, header.len - module.len - 1};
    return file.len == len + 2 && str_has_prefix(file, (struct str){name, len});
}

static void check_include(const struct place *at, struct str line)
{
    struct str quote = STR_LIT("#include \"");
    if (!str_has_prefix(line, quote))
        return;
    const char *start = line.at + quote.len;
    const char *stop = memchr(start, '"', line.len - quote.len);
    struct str header = {start, stop ? (size_t)(stop - start) : 0};
    const char *slash = memrchr(header.at, '/', header.len);
    if (!slash) {
        complain(at, "include by full path: ", header);
        return;
    }
    struct str owner = {header.at, (size_t)(slash - header.at)};
    if (!at->module)
        return;
    if (!list_has(at->module->allowed, owner))
        complain(at, "this layer may not include ", header);
    else if (!str_equal(owner, at->module->name) && !str_equal(owner, STR_LIT("base")) &&
             !is_public_header(header, owner))
        complain(at, "private to its module: ", header);
}

/* ---- variables ---- */

/* Is what `line` declares unchanging: "const" stands behind the last '*' before the value. */
static bool declares_const(struct str line)
{
    const char *stop = memchr(line.at, '=', line.len);
    struct str head = {line.at, stop ? (size_t)(stop - line.at) : line.len};
    const char *star = memrchr(head.at, '*', head.len);
    return find_word(head, "const", star ? star : head.at) != NULL;
}

/* "struct x;", "enum { A, B };": a type and no variable. */
static bool is_type_only(struct str line)
{
    const char *brace = memchr(line.at, '{', line.len);
    const char *space = memchr(line.at, ' ', line.len);
    if (!str_has_prefix(line, STR_LIT("struct ")) && !str_has_prefix(line, STR_LIT("enum ")) &&
        !str_has_prefix(line, STR_LIT("union ")))
        return false;
    if (brace)
        return !memchr(line.at, '=', (size_t)(brace - line.at)) && line.len > 1 &&
               memcmp(line.at + line.len - 2, "};", 2) == 0;
    return space == memrchr(line.at, ' ', line.len) && line.at[line.len - 1] == ';';
}

/* A line outside functions, blanked; `aggregate_const` remembers the head of an open struct. */
static void check_file_scope(const struct place *at, struct str line, bool *aggregate_const)
{
    if (line.len == 0 || strchr(" #{/", line.at[0]))
        return;
    bool has_value = memchr(line.at, '=', line.len) != NULL;
    char last = line.at[line.len - 1];
    if (line.at[0] == '}') { /* "} name = {" or "} name;" ends a struct that declares something */
        if (line.len > 2 && line.at[1] == ' ' && !*aggregate_const)
            complain(at, "mutable variable outside functions: ", line);
        return;
    }
    bool exempt = has_word(line, "extern") || has_word(line, "typedef") ||
                  (memchr(line.at, '(', line.len) && !memmem(line.at, line.len, "(*", 2));
    if (last == '{' && !has_value) {
        *aggregate_const = has_word(line, "const") || has_word(line, "typedef");
        return;
    }
    bool function_pointer = memmem(line.at, line.len, "(*", 2) != NULL;
    if (exempt || (!has_value && last != ';') || is_type_only(line) || isupper(line.at[0]))
        return;
    if (function_pointer && memchr(line.at, '(', line.len) != memmem(line.at, line.len, "(*", 2))
        return; /* a prototype with a function pointer among its parameters */
    if (!declares_const(line))
        complain(at, "mutable variable outside functions: ", line);
}

static void check_static_local(const struct place *at, struct str line)
{
    while (line.len && line.at[0] == ' ')
        line = (struct str){line.at + 1, line.len - 1};
    if (str_has_prefix(line, STR_LIT("static ")) && !declares_const(line))
        complain(at, "mutable static variable: ", line);
}

/* ---- files ---- */

static void check_calls(const struct place *at, struct str line)
{
    bool in_base = at->module && str_equal(at->module->name, STR_LIT("base"));
    bool in_agent = at->module && str_has_prefix(at->module->name, STR_LIT("agent"));
    for (size_t i = 0; i < COUNT_OF(banned_calls); i++)
        if (calls(line, banned_calls[i]))
            complain(at, "banned call: ", str_from(banned_calls[i]));
    for (size_t i = 0; at->module && !in_base && i < COUNT_OF(memory_calls); i++)
        if (calls(line, memory_calls[i]))
            complain(at, "memory comes from arenas (base/arena.h), not from ",
                     str_from(memory_calls[i]));
    for (size_t i = 0; at->module && !in_agent && i < COUNT_OF(environment_calls); i++)
        if (calls(line, environment_calls[i]))
            complain(at,
                     "the environment is read in agent/ only: ", str_from(environment_calls[i]));
}

static size_t columns(struct str line)
{
    size_t count = 0;
    for (size_t i = 0; i < line.len; i++)
        count += ((unsigned char)line.at[i] & 0xc0) != 0x80;
    return count;
}

static void check_line(const struct place *at, struct str line)
{
    if (columns(line) > LINE_COLUMNS_MAX)
        complain(at, "line too long", STR_LIT(""));
    for (size_t i = 0; i < COUNT_OF(leftover_words); i++)
        if (has_word(line, leftover_words[i]))
            complain(at, "leftover: ", str_from(leftover_words[i]));
    if (str_has_prefix(line, STR_LIT(disabled_code)))
        complain(at, "leftover: ", line);
    check_include(at, line);
}

static void end_function(const struct place *at, int body_start)
{
    struct tidy *tidy = at->tidy;
    int lines = at->line - body_start;
    struct place start = *at;
    start.line = body_start;
    if (lines > FUNCTION_LINES_MAX)
        complain(&start, "function too long", STR_LIT(""));
    if (at->module && tidy->functions < FUNCTIONS_MAX)
        tidy->function_lines[tidy->functions++] = lines;
}

static void check_c_text(struct place *at, struct str text, struct str code)
{
    struct str line, blanked;
    int body_start = 0;
    bool continued = false; /* a macro's next line */
    bool aggregate_const = true;
    while (str_next_line(&text, &line) && str_next_line(&code, &blanked)) {
        at->line++;
        check_line(at, line);
        check_calls(at, blanked);
        while (blanked.len && blanked.at[blanked.len - 1] == ' ')
            blanked.len--;
        if (str_equal(line, STR_LIT("{")))
            body_start = at->line;
        else if (at->module && body_start)
            check_static_local(at, blanked);
        else if (at->module && !continued)
            check_file_scope(at, blanked, &aggregate_const);
        if (str_equal(line, STR_LIT("}")) && body_start) {
            end_function(at, body_start);
            body_start = 0;
        }
        continued = line.len && line.at[line.len - 1] == '\\';
    }
    if (at->line > FILE_LINES_MAX)
        complain(at, "file too long", STR_LIT(""));
}

static void check_unique(const struct place *at)
{
    bool is_new;
    const char *name = str_copy(&at->tidy->arena, str_from(path_base(at->path)));
    map_put(&at->tidy->names, str_from(name), &is_new);
    if (!is_new)
        complain(at, "another file has this name: ", str_from(name));
}

static void check_machine_names(struct place at, struct str text)
{
    struct str line;
    for (at.line = 1; str_next_line(&text, &line); at.line++)
        for (size_t i = 0; i < COUNT_OF(machine_names); i++)
            if (memmem(line.at, line.len, machine_names[i], strlen(machine_names[i])))
                complain(&at, "names a machine or its folders: ", str_from(machine_names[i]));
}

static const struct module *module_of(const struct tidy *tidy, struct arena *arena,
                                      const char *path)
{
    struct str folder = str_from(path_dir(arena, path));
    for (size_t i = 0; i < tidy->module_count; i++)
        if (str_equal(tidy->modules[i].name, folder))
            return &tidy->modules[i];
    return NULL;
}

static bool has_suffix(const char *path, const char *suffix)
{
    size_t len = strlen(path);
    size_t tail = strlen(suffix);
    return len > tail && strcmp(path + len - tail, suffix) == 0;
}

static bool check_file(struct tidy *tidy, const char *path, struct err *err)
{
    struct arena arena;
    struct str text;
    arena_init(&arena, ARENA_BYTES);
    bool ok = file_read(&arena, path, FILE_BYTES_MAX, &text, err);
    if (ok && !memchr(text.at, '\0', text.len)) {
        struct place at = {.tidy = tidy, .path = path, .module = module_of(tidy, &arena, path)};
        check_machine_names(at, text);
        bool is_test = str_has_prefix(str_from(path), STR_LIT("tests/"));
        bool is_case = str_has_prefix(str_from(path), STR_LIT("tests/cases/"));
        if ((has_suffix(path, ".c") || has_suffix(path, ".h")) && (at.module || is_test) &&
            !is_case) {
            tidy->files++;
            check_unique(&at);
            check_c_text(&at, text, blank_quoted(&arena, text));
        }
    }
    arena_release(&arena);
    return ok;
}

static bool is_built(const char *path)
{
    return strcmp(path, "build") == 0 || strcmp(path, "tests/fuzz/corpus") == 0;
}

static bool walk(struct tidy *tidy, const char *folder, struct err *err)
{
    const char *const *names;
    size_t count;
    if (!file_list(&tidy->arena, *folder ? folder : ".", "", FOLDER_NAMES_MAX, &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *path = path_join(&tidy->arena, folder, names[i]);
        if (is_built(path))
            continue;
        if (!(file_is_dir(path) ? walk(tidy, path, err) : check_file(tidy, path, err)))
            return false;
    }
    return true;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void report(struct tidy *tidy)
{
    size_t count = tidy->functions;
    int *lines = tidy->function_lines;
    qsort(lines, count, sizeof(*lines), compare_ints);
    if (count)
        printf("tidy: %zu files; %zu functions, lines: median %d, p90 %d, max %d; %d complaints\n",
               tidy->files, count, lines[count / 2], lines[count * 9 / 10], lines[count - 1],
               tidy->complaints);
}

static bool add_module(struct tidy *tidy, const char *arg)
{
    const char *colon = strchr(arg, ':');
    if (!colon || tidy->module_count == MODULES_MAX)
        return false;
    tidy->modules[tidy->module_count++] = (struct module){
        .name = {arg, (size_t)(colon - arg)},
        .allowed = str_from(colon + 1),
    };
    return true;
}

int main(int argc, char **argv)
{
    struct tidy tidy = {0};
    struct err err;
    int status = 2;
    arena_init(&tidy.arena, ARENA_BYTES);
    map_init(&tidy.names, &tidy.arena);
    tidy.function_lines = arena_array(&tidy.arena, int, FUNCTIONS_MAX);
    for (int i = 1; i < argc; i++)
        if (!add_module(&tidy, argv[i])) {
            fprintf(stderr, "usage: tidy MODULE:ALLOWED,ALLOWED...\n");
            goto out;
        }
    if (!walk(&tidy, "", &err)) {
        fprintf(stderr, "tidy: %s\n", err.text);
        goto out;
    }
    report(&tidy);
    status = tidy.complaints ? 1 : 0;
out:
    arena_release(&tidy.arena);
    return status;
}
