/*
 * Bundles on disk: one JSON file, or a folder with a file for each part.
 *
 * Folders are carried by hand and by batch systems, and edited.  The only file names that come from
 * a bundle are those of specs, which were checked to be plain words; extensions follow from the
 * candidate's form.  bundle.json is written last, so a folder without it is unfinished.
 */
#include <stdio.h>

#include "base/file.h"
#include "base/panic.h"

#include "verify/evaluate/evaluate_int.h"

enum { PART_BYTES_MAX = BUNDLE_BYTES_MAX };

static const char *const kernel_files[] = {
    [CANDIDATE_CUDA] = "kernel.cu",
    [CANDIDATE_PTX] = "kernel.ptx",
    [CANDIDATE_CUBIN] = "kernel.cubin",
};

/* ---- reading ---- */

static bool read_json(struct arena *arena, const char *path, const struct json **out,
                      struct err *err)
{
    struct str text;
    return file_read(arena, path, PART_BYTES_MAX, &text, err) &&
           json_parse(arena, text, path, out, err);
}

static bool read_candidate(struct arena *arena, const char *folder, struct candidate *out,
                           struct err *err)
{
    const struct json *manifest;
    const char *kernel = NULL;
    struct candidate candidate = {0};
    for (size_t i = 0; i < COUNT_OF(kernel_files); i++) {
        const char *path = path_join(arena, folder, kernel_files[i]);
        if (!file_exists(path))
            continue;
        if (kernel)
            return err_raise(err, ERR_SEMANTIC, "%s: %s and %s are both there; remove one", folder,
                             path_base(kernel), kernel_files[i]);
        kernel = path;
        candidate.form = (enum candidate_form)i;
    }
    if (!kernel)
        return err_raise(err, ERR_IO, "%s: there is no kernel.cu, kernel.ptx or kernel.cubin",
                         folder);
    if (!file_read(arena, kernel, CANDIDATE_BYTES_MAX, &candidate.text, err) ||
        !read_json(arena, path_join(arena, folder, "manifest.json"), &manifest, err) ||
        !manifest_parse(arena, manifest, &candidate.manifest, err))
        return false;
    if (candidate.text.len == 0)
        return err_raise(err, ERR_SEMANTIC, "%s: the file is empty", kernel);
    *out = candidate;
    return true;
}

static bool read_spec_names(struct arena *arena, const struct json *json, struct bundle *bundle,
                            struct err *err)
{
    const struct json *array;
    if (!json_need_array(json, "specs", 1, BUNDLE_SPECS_MAX, &array, err))
        return false;
    struct bundle_spec *specs = arena_array(arena, struct bundle_spec, array->count);
    for (size_t i = 0; i < array->count; i++) {
        if (array->items[i].kind != JSON_STRING)
            return json_fail(&array->items[i], err, "expected a spec's name");
        specs[i].name = array->items[i].string;
    }
    bundle->specs = specs;
    bundle->spec_count = array->count;
    if (!bundle_check(bundle, err))
        return json_fail(json, err, "%s", err->text);
    return true;
}

static const char *spec_path(struct arena *arena, const char *folder, struct str name)
{
    struct buf file;
    buf_init(&file, arena, 256);
    buf_printf(&file, "specs/%.*s.json", STR_ARG(name));
    ASSERT(!file.overflow);
    return path_join(arena, folder, file.at);
}

static bool read_specs(struct arena *arena, const char *folder, struct bundle *bundle,
                       struct err *err)
{
    struct bundle_spec *specs = arena_array(arena, struct bundle_spec, bundle->spec_count);
    for (size_t i = 0; i < bundle->spec_count; i++) {
        specs[i].name = bundle->specs[i].name;
        if (!file_read(arena, spec_path(arena, folder, specs[i].name), OP_SPEC_BYTES_MAX,
                       &specs[i].text, err))
            return false;
    }
    bundle->specs = specs;
    return true;
}

static bool read_head(struct arena *arena, const char *folder, struct bundle *bundle,
                      struct err *err)
{
    static const char *const known[] = {"bundle", "specs", "options", "secret", NULL};
    const struct json *json, *options;
    int64_t version;
    return read_json(arena, path_join(arena, folder, "bundle.json"), &json, err) &&
           json_need_int(json, "bundle", 1, 1, &version, err) && json_only(json, known, err) &&
           read_spec_names(arena, json, bundle, err) &&
           json_need(json, "options", JSON_OBJECT, &options, err) &&
           bundle_options_parse(options, &bundle->options, err) &&
           json_need_u64(json, "secret", &bundle->secret, err);
}

static bool read_folder(struct arena *arena, const char *folder, const struct bundle **out,
                        struct err *err)
{
    struct bundle *bundle = arena_new(arena, struct bundle);
    const struct json *task, *plan;
    const char *plan_path = path_join(arena, folder, "plan.json");
    const char *incumbent_path = path_join(arena, folder, "incumbent");
    if (!read_head(arena, folder, bundle, err) || !read_specs(arena, folder, bundle, err) ||
        !read_json(arena, path_join(arena, folder, "task.json"), &task, err) ||
        !task_parse(arena, task, &bundle->task, err) ||
        !read_candidate(arena, path_join(arena, folder, "candidate"), &bundle->candidate, err))
        return false;
    if (file_exists(plan_path) &&
        (!read_json(arena, plan_path, &plan, err) || !plan_parse(arena, plan, &bundle->plan, err)))
        return false;
    if (file_is_dir(incumbent_path)) {
        struct candidate *incumbent = arena_new(arena, struct candidate);
        if (!read_candidate(arena, incumbent_path, incumbent, err))
            return false;
        bundle->incumbent = incumbent;
    }
    *out = bundle;
    return true;
}

bool bundle_read(struct arena *arena, const char *path, const struct bundle **out, struct err *err)
{
    const struct json *json;
    if (file_is_dir(path))
        return read_folder(arena, path, out, err);
    return read_json(arena, path, &json, err) && bundle_parse(arena, json, out, err);
}

/* ---- writing ---- */

/* A document being printed into its own arena. */
struct page {
    struct arena arena;
    struct buf text;
    struct json_writer writer;
};

static struct json_writer *page_begin(struct page *page)
{
    arena_init(&page->arena, (size_t)16 * BUNDLE_BYTES_MAX);
    buf_init(&page->text, &page->arena, BUNDLE_BYTES_MAX);
    json_writer_init(&page->writer, &page->text);
    return &page->writer;
}

static bool page_end(struct page *page, const char *path, struct err *err)
{
    struct str text;
    buf_char(&page->text, '\n');
    bool ok = buf_finish(&page->text, path, &text, err) && file_write(path, text, err);
    arena_release(&page->arena);
    return ok;
}

bool bundle_write_file(const char *path, const struct bundle *bundle, struct err *err)
{
    struct page page;
    bundle_print(page_begin(&page), bundle);
    return page_end(&page, path, err);
}

static bool write_candidate(struct arena *arena, const char *folder,
                            const struct candidate *candidate, struct err *err)
{
    struct page page;
    if (!file_make_dirs(folder, err) ||
        !file_write(path_join(arena, folder, kernel_files[candidate->form]), candidate->text, err))
        return false;
    manifest_print(page_begin(&page), candidate->manifest);
    return page_end(&page, path_join(arena, folder, "manifest.json"), err);
}

static bool write_specs(struct arena *arena, const char *folder, const struct bundle *bundle,
                        struct err *err)
{
    if (!bundle_check(bundle, err) || !file_make_dirs(path_join(arena, folder, "specs"), err))
        return false;
    for (size_t i = 0; i < bundle->spec_count; i++)
        if (!file_write(spec_path(arena, folder, bundle->specs[i].name), bundle->specs[i].text,
                        err))
            return false;
    return true;
}

static bool write_head(struct arena *arena, const char *folder, const struct bundle *bundle,
                       struct err *err)
{
    struct page page;
    struct json_writer *w = page_begin(&page);
    json_open_object(w);
    json_member_int(w, "bundle", 1);
    json_key(w, "specs");
    json_open_array(w);
    for (size_t i = 0; i < bundle->spec_count; i++)
        json_put_str(w, bundle->specs[i].name);
    json_close_array(w);
    json_key(w, "options");
    bundle_options_print(w, &bundle->options);
    json_member_u64(w, "secret", bundle->secret);
    json_close_object(w);
    return page_end(&page, path_join(arena, folder, "bundle.json"), err);
}

static bool write_parts(struct arena *arena, const char *folder, const struct bundle *bundle,
                        struct err *err)
{
    struct page page;
    if (!write_specs(arena, folder, bundle, err) ||
        !write_candidate(arena, path_join(arena, folder, "candidate"), &bundle->candidate, err))
        return false;
    if (bundle->incumbent &&
        !write_candidate(arena, path_join(arena, folder, "incumbent"), bundle->incumbent, err))
        return false;
    if (bundle->plan) {
        plan_print(page_begin(&page), bundle->plan);
        if (!page_end(&page, path_join(arena, folder, "plan.json"), err))
            return false;
    }
    task_print(page_begin(&page), bundle->task);
    return page_end(&page, path_join(arena, folder, "task.json"), err);
}

bool bundle_write_folder(const char *folder, const struct bundle *bundle, struct err *err)
{
    struct arena arena;
    if (file_exists(folder))
        return err_raise(err, ERR_IO, "%s is there already; a bundle is written to a new folder",
                         folder);
    arena_init(&arena, 1 << 20);
    bool ok = write_parts(&arena, folder, bundle, err) && write_head(&arena, folder, bundle, err);
    arena_release(&arena);
    return ok;
}
