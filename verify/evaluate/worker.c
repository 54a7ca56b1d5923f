/*
 * A folder of bundles in, a folder of verdicts out: what a batch system calls.
 *
 * Bundles are foreign bytes and their candidates hostile; here they are only read, everything else
 * happens in children.  Each bundle has its own memory, and its verdict is on disk before the next
 * one starts, so a run that is cut off has lost one verdict at most.
 */
#include <string.h>

#include "base/file.h"

#include "verify/evaluate/evaluate_int.h"

enum { VERDICT_BYTES_MAX = 16 << 20, NAME_BYTES_MAX = 4096 };
static const size_t bundle_arena_bytes = (size_t)8 << 30;
static const size_t list_arena_bytes = 256 << 20;

static bool ends_with(const char *name, const char *suffix)
{
    const size_t len = strlen(name), tail = strlen(suffix);

    return len > tail && strcmp(name + len - tail, suffix) == 0;
}

/* "softmax.json" and "softmax/" both give "softmax". */
static const char *stem_of(struct arena *arena, const char *name)
{
    size_t len = strlen(name);

    if (ends_with(name, ".json"))
        len -= strlen(".json");
    return str_copy(arena, (struct str){name, len});
}

static bool write_verdict(struct arena *arena, const char *folder, const char *stem,
                          const struct verdict *verdict, struct err *err)
{
    struct json_writer w;
    struct buf text, name;

    buf_init(&text, arena, VERDICT_BYTES_MAX);
    buf_init(&name, arena, NAME_BYTES_MAX);
    json_writer_init(&w, &text);
    verdict_print(&w, verdict, true);
    buf_char(&text, '\n');
    buf_printf(&name, "%s.verdict.json", stem);
    return file_write(path_join(arena, folder, str_copy(arena, buf_view(&name))), buf_view(&text),
                      err);
}

static bool judge(struct arena *arena, const char *path, const struct evaluate_options *options,
                  struct verdict *verdict, struct err *err)
{
    const struct bundle *bundle;
    struct check_products products;

    return bundle_read(arena, path, &bundle, err) &&
           evaluate_bundle(arena, bundle, options, &products, verdict, err);
}

static bool evaluate_one(const char *in, const char *out, const char *name,
                         const struct evaluate_options *options, struct verdict *verdict,
                         struct arena *arena, struct err *err)
{
    struct err why;

    if (!judge(arena, path_join(arena, in, name), options, verdict, &why))
        *verdict = (struct verdict){
            .validity = VALIDITY_INFRASTRUCTURE,
            .reason = str_from(str_copy(arena, str_from(why.text))),
            .executor = STR_LIT("none"),
        };
    return write_verdict(arena, out, stem_of(arena, name), verdict, err);
}

static bool is_bundle(struct arena *arena, const char *in, const char *name)
{
    return ends_with(name, ".json") ||
           (file_is_dir(path_join(arena, in, name)) &&
            file_exists(path_join(arena, path_join(arena, in, name), "bundle.json")));
}

static bool find_bundles(struct arena *arena, const char *in, const char ***out, size_t *count,
                         struct err *err)
{
    const char *const *names;
    size_t all;

    if (!file_list(arena, in, "", EVALUATE_BUNDLES_MAX, &names, &all, err))
        return false;
    *out = arena_array(arena, const char *, all + 1);
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (is_bundle(arena, in, names[i]))
            (*out)[(*count)++] = names[i];
    if (*count == 0)
        return err_raise(err, ERR_USAGE, "%s holds no bundle: NAME.json, or NAME/bundle.json", in);
    return true;
}

bool evaluate_folder(const char *in, const char *out, const struct evaluate_options *options,
                     const struct evaluate_report *report, struct evaluate_tally *tally,
                     struct err *err)
{
    struct evaluate_tally seen = {0};
    struct arena list;
    const char **names;
    size_t count;
    bool ok;

    arena_init(&list, list_arena_bytes);
    ok = find_bundles(&list, in, &names, &count, err) && file_make_dirs(out, err);
    for (size_t i = 0; ok && i < count; i++) {
        struct verdict verdict;
        struct arena arena;

        arena_init(&arena, bundle_arena_bytes);
        ok = evaluate_one(in, out, names[i], options, &verdict, &arena, err);
        if (ok) {
            seen.bundles++;
            seen.judged += verdict.validity != VALIDITY_INFRASTRUCTURE;
            seen.accepted += verdict.validity == VALIDITY_ACCEPTED;
            report->show(report->context, i + 1, count, stem_of(&arena, names[i]), &verdict);
        }
        arena_release(&arena);
    }
    arena_release(&list);
    *tally = seen;
    return ok;
}
