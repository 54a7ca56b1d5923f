/*
 * A model's reply: the CUDA block and the manifest block out of whatever stands around them.
 *
 * Models mostly keep to one ```cuda and one ```json block, but not always: they think aloud first,
 * show drafts before the last version, label CUDA as C++ or not at all, forget to close a block,
 * put fences into comments, and are cut off by token limits.  So the reply is split into fenced
 * blocks as Markdown does it (a fence is three or more backticks or tildes; the closing one is of
 * the same kind, at least as long, alone on its line), and then the last block of each kind counts.
 * Two liberties: in code, a fence inside a comment does not close the block, unless nothing else
 * does; and a fence that names a language, where code is open, closes that and opens the next, for
 * neither CUDA nor JSON can hold such a line.
 *
 * What a block is comes from its label and contents: CUDA has __global__ in it, a manifest the
 * member "manifest".  A block labelled cuda goes before one labelled C++, and that before an
 * unlabelled one.
 *
 * Invariant: both results are whole blocks of the reply, unchanged but for CR before LF.  Every
 * error is written to be shown to the model.  Not here: whether the manifest means anything
 * (manifest_parse), whether the code compiles.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"

#include "synth/synth.h"

enum { BLOCKS_MAX = 256, LABEL_BYTES_MAX = 16, FENCE_MIN = 3, PROBE_BYTES_MAX = 256 << 10 };

enum label { LABEL_NONE, LABEL_CUDA, LABEL_C, LABEL_JSON, LABEL_OTHER };

struct block {
    enum label label;
    size_t line; /* of the opening fence, from 1 */
    struct str text;
};

struct fence {
    char kind; /* '`' or '~' */
    size_t length;
    struct str info; /* what stands behind it, trimmed */
};

struct reply {
    struct str rest;
    size_t line; /* of the one taken last */
    struct block *blocks;
    size_t count;
};

/* ---- text ---- */

static struct str trim(struct str s)
{
    while (s.len > 0 && (unsigned char)s.at[0] <= ' ')
        s = (struct str){s.at + 1, s.len - 1};
    while (s.len > 0 && (unsigned char)s.at[s.len - 1] <= ' ')
        s.len--;
    return s;
}

static const char *find(struct str s, const char *word)
{
    return s.len ? memmem(s.at, s.len, word, strlen(word)) : NULL;
}

/* The reply with CR LF as LF, owned by `arena`. */
static struct str without_cr(struct arena *arena, struct str s)
{
    char *copy = arena_array(arena, char, s.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] != '\r' || i + 1 == s.len || s.at[i + 1] != '\n')
            copy[len++] = s.at[i];
    return (struct str){copy, len};
}

/* ---- fences ---- */

static bool read_fence(struct str line, struct fence *out)
{
    struct str s = trim(line);
    size_t length = 0;
    if (s.len == 0 || (s.at[0] != '`' && s.at[0] != '~'))
        return false;
    while (length < s.len && s.at[length] == s.at[0])
        length++;
    struct str info = trim((struct str){s.at + length, s.len - length});
    if (length < FENCE_MIN || (s.at[0] == '`' && info.len && memchr(info.at, '`', info.len)))
        return false;
    *out = (struct fence){s.at[0], length, info};
    return true;
}

/* "CUDA", "{.cuda}", "cuda:kernel.cu", "cpp title=x": the first word counts. */
static enum label read_label(struct str info)
{
    static const struct {
        const char *word;
        enum label label;
    } words[] = {{"cuda", LABEL_CUDA},     {"cu", LABEL_CUDA},    {"cpp", LABEL_C},
                 {"c++", LABEL_C},         {"cxx", LABEL_C},      {"cc", LABEL_C},
                 {"c", LABEL_C},           {"json", LABEL_JSON},  {"jsonc", LABEL_JSON},
                 {"cuda-c++", LABEL_CUDA}, {"cuda_c", LABEL_CUDA}};
    char word[LABEL_BYTES_MAX];
    size_t len = 0;
    if (info.len == 0)
        return LABEL_NONE;
    for (size_t i = 0; i < info.len && len + 1 < sizeof(word); i++) {
        char c = info.at[i];
        if (strchr(" \t,;:=}", c))
            break;
        if (!strchr("{.", c))
            word[len++] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    word[len] = '\0';
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(word, words[i].word) == 0)
            return words[i].label;
    return LABEL_OTHER;
}

/* The first character behind a string or character literal that starts at `i`. */
static size_t skip_literal(struct str line, size_t i)
{
    char quote = line.at[i++];
    while (i < line.len && line.at[i] != quote)
        i += line.at[i] == '\\' ? 2 : 1;
    return i + 1;
}

/* Whether a block comment is open behind `line`, given whether one was before it. */
static bool in_comment_after(struct str line, bool inside)
{
    size_t i = 0;
    while (i < line.len) {
        bool pair = i + 1 < line.len;
        if (inside) {
            inside = !(pair && line.at[i] == '*' && line.at[i + 1] == '/');
            i += inside ? 1 : 2;
        } else if (pair && line.at[i] == '/' && line.at[i + 1] == '/') {
            return false;
        } else if (pair && line.at[i] == '/' && line.at[i + 1] == '*') {
            inside = true;
            i += 2;
        } else if (line.at[i] == '"') {
            i = skip_literal(line, i);
        } else {
            i++;
        }
    }
    return inside;
}

/* ---- blocks ---- */

static bool is_code(enum label label)
{
    return label == LABEL_CUDA || label == LABEL_C;
}

enum ending { END_NONE, END_CLOSED, END_NEXT };

/* Whether `line` ends a block that `open` began. */
static enum ending ending_of(struct str line, const struct fence *open, enum label label)
{
    struct fence fence;
    if (!read_fence(line, &fence) || fence.kind != open->kind || fence.length < open->length)
        return END_NONE;
    if (fence.info.len == 0)
        return END_CLOSED;
    enum label next = read_label(fence.info);
    bool known = is_code(next) || next == LABEL_JSON;
    return known && (is_code(label) || label == LABEL_JSON) ? END_NEXT : END_NONE;
}

/* Takes the block's lines off the rest; END_NONE at the reply's end.  A line that opens the next
 * block stays. */
static enum ending take_block(struct reply *reply, const struct fence *open, struct block *block,
                              bool comments)
{
    bool inside = false;
    const char *start = reply->rest.at;
    struct str line;
    for (;;) {
        struct str before = reply->rest;
        if (!str_next_line(&reply->rest, &line)) {
            block->text = (struct str){start, (size_t)(before.at - start) + before.len};
            return END_NONE;
        }
        enum ending ending = inside ? END_NONE : ending_of(line, open, block->label);
        if (ending != END_NONE) {
            block->text = (struct str){start, (size_t)(line.at - start)};
            reply->rest = ending == END_NEXT ? before : reply->rest;
            reply->line += ending == END_CLOSED;
            return ending;
        }
        reply->line++;
        inside = comments && in_comment_after(line, inside);
    }
}

/* Splits the reply.  *open is the block that the end cuts off, with line 0 when there is none. */
static bool split(struct reply *reply, struct block *open, struct err *err)
{
    struct str line;
    struct fence fence;
    *open = (struct block){0};
    while (str_next_line(&reply->rest, &line)) {
        reply->line++;
        if (!read_fence(line, &fence))
            continue;
        struct block block = {.label = read_label(fence.info), .line = reply->line};
        struct reply before = *reply;
        enum ending ending = take_block(reply, &fence, &block, is_code(block.label));
        if (ending == END_NONE && is_code(block.label)) {
            *reply = before;
            ending = take_block(reply, &fence, &block, false);
        }
        if (ending == END_NONE) {
            *open = block;
            return true;
        }
        if (reply->count == BLOCKS_MAX)
            return err_raise(err, ERR_LIMIT, "your reply has over %d blocks; give two", BLOCKS_MAX);
        reply->blocks[reply->count++] = block;
    }
    return true;
}

/* ---- which block is what ---- */

/* 0 when the block is no CUDA; the higher, the surer. */
static int cuda_rank(const struct block *block)
{
    if (!find(block->text, "__global__"))
        return 0;
    switch (block->label) {
    case LABEL_CUDA:
        return 3;
    case LABEL_C:
        return 2;
    case LABEL_NONE:
        return 1;
    case LABEL_JSON:
    case LABEL_OTHER:
        return 0;
    }
    return 0;
}

static int manifest_rank(const struct block *block)
{
    struct str text = trim(block->text);
    if (!find(text, "\"manifest\""))
        return 0;
    if (block->label == LABEL_JSON)
        return 2;
    return block->label == LABEL_NONE && text.at[0] == '{' ? 1 : 0;
}

/* The last block of the highest rank, NULL when all are 0. */
static const struct block *choose(const struct reply *reply, int (*rank)(const struct block *))
{
    const struct block *best = NULL;
    int best_rank = 1;
    for (size_t i = 0; i < reply->count; i++) {
        int r = rank(&reply->blocks[i]);
        if (r >= best_rank) {
            best = &reply->blocks[i];
            best_rank = r;
        }
    }
    return best;
}

static bool any_label(const struct reply *reply, bool (*is)(enum label))
{
    for (size_t i = 0; i < reply->count; i++)
        if (is(reply->blocks[i].label))
            return true;
    return false;
}

static bool is_json(enum label label)
{
    return label == LABEL_JSON;
}

static bool raise_no_cuda(const struct reply *reply, struct err *err)
{
    if (reply->count == 0)
        return err_raise(
            err, ERR_SYNTAX,
            "your reply has no code block. Give one ```cuda block with the device code "
            "and one ```json block with the manifest.");
    if (any_label(reply, is_code))
        return err_raise(err, ERR_SYNTAX,
                         "no block of your reply has a __global__ function. Give one ```cuda block "
                         "with the complete device code.");
    return err_raise(err, ERR_SYNTAX,
                     "your reply has no ```cuda block. Give the complete device code in one.");
}

static bool raise_no_manifest(const struct reply *reply, const struct block *cuda, struct err *err)
{
    if (find(cuda->text, "\"manifest\""))
        return err_raise(err, ERR_SYNTAX,
                         "the manifest stands inside the ```cuda block. Give it in a ```json block "
                         "of its own, behind that.");
    if (any_label(reply, is_json))
        return err_raise(err, ERR_SYNTAX,
                         "no ```json block of your reply has the member \"manifest\": 1. Give the "
                         "manifest in one.");
    return err_raise(err, ERR_SYNTAX,
                     "your reply has no ```json block. Give the manifest, with \"manifest\": 1, in "
                     "one.");
}

/* The manifest must at least be an object with that member, or a later complaint makes no sense. */
static bool check_manifest(const struct block *block, struct err *err)
{
    struct arena scratch;
    const struct json *json;
    if (block->text.len > PROBE_BYTES_MAX)
        return err_raise(err, ERR_LIMIT, "the ```json block in line %zu has %zu bytes; at most %d",
                         block->line, block->text.len, PROBE_BYTES_MAX);
    arena_init(&scratch, (size_t)1 << 30);
    bool ok = json_parse(&scratch, block->text, "manifest", &json, err);
    if (!ok)
        err_context(err, "the ```json block that begins in line %zu of your reply is not JSON",
                    block->line);
    else if (!json_get(json, "manifest"))
        ok = err_raise(err, ERR_SYNTAX,
                       "the ```json block that begins in line %zu of your reply is no object with "
                       "the member \"manifest\": 1",
                       block->line);
    arena_release(&scratch);
    return ok;
}

/* ---- the reply ---- */

/* Some servers leave a model's thoughts in the text, drafts of code among them; some of these drop
 * the mark that opens them. */
static bool skip_thoughts(struct str *text, struct err *err)
{
    static const char open[] = "<think>", close[] = "</think>";
    bool any = false;
    const char *end;
    while ((end = find(*text, close)) != NULL) {
        const char *from = end + sizeof(close) - 1;
        *text = (struct str){from, (size_t)(text->at + text->len - from)};
        any = true;
    }
    if (!any && str_has_prefix(trim(*text), str_from(open)))
        return err_raise(err, ERR_SYNTAX,
                         "your reply was cut off while you were thinking. Think less, and give the "
                         "two blocks.");
    return true;
}

/* A fence at the very end with nothing behind it is a slip, if all else is there. */
static bool is_stray(const struct block *open)
{
    return open->label == LABEL_NONE && trim(open->text).len == 0;
}

static bool choose_blocks(struct arena *arena, const struct reply *reply, const struct block *open,
                          struct extracted *out, struct err *err)
{
    const struct block *cuda = choose(reply, cuda_rank);
    const struct block *manifest = choose(reply, manifest_rank);
    if (open->line > 0 && !(is_stray(open) && cuda && manifest))
        return err_raise(err, ERR_SYNTAX,
                         "your reply was cut off: the block that begins in line %zu is not closed. "
                         "Give both blocks whole, with fewer words around them.",
                         open->line);
    if (!cuda)
        return raise_no_cuda(reply, err);
    if (!manifest)
        return raise_no_manifest(reply, cuda, err);
    if (memchr(cuda->text.at, '\0', cuda->text.len))
        return err_raise(err, ERR_SYNTAX, "the ```cuda block of your reply has a NUL byte in it");
    if (!check_manifest(manifest, err))
        return false;
    *out = (struct extracted){
        .cuda = {str_copy(arena, cuda->text), cuda->text.len},
        .manifest = {str_copy(arena, manifest->text), manifest->text.len},
    };
    return true;
}

bool extract_reply(struct arena *arena, struct str text, struct extracted *out, struct err *err)
{
    struct arena scratch;
    struct block open;
    if (text.len > EXTRACT_BYTES_MAX)
        return err_raise(err, ERR_LIMIT, "your reply has %zu bytes; at most %d are read", text.len,
                         EXTRACT_BYTES_MAX);
    arena_init(&scratch, (size_t)4 * EXTRACT_BYTES_MAX);
    struct reply reply = {.blocks = arena_array(&scratch, struct block, BLOCKS_MAX)};
    reply.rest = without_cr(&scratch, text);
    bool ok = skip_thoughts(&reply.rest, err) && split(&reply, &open, err) &&
              choose_blocks(arena, &reply, &open, out, err);
    arena_release(&scratch);
    return ok;
}
