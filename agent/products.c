/*
 * What a verified candidate leaves in a folder.  Each file is replaced as a whole, so an
 * interrupted run leaves old or new files, never halves; what this candidate has not got, an
 * earlier one does not leave either.
 */
#include "base/file.h"
#include "base/json.h"

#include "agent/agent.h"

enum { DOCUMENT_BYTES_MAX = 16 << 20 };

struct str verdict_json(struct arena *arena, const struct verdict *verdict)
{
    struct json_writer w;
    struct buf text;

    buf_init(&text, arena, DOCUMENT_BYTES_MAX);
    json_writer_init(&w, &text);
    verdict_print(&w, verdict, false);
    buf_char(&text, '\n');
    return buf_view(&text);
}

static struct str observed_json(struct arena *arena, const struct observed *observed)
{
    struct json_writer w;
    struct buf text;

    buf_init(&text, arena, DOCUMENT_BYTES_MAX);
    json_writer_init(&w, &text);
    observed_print(&w, observed);
    buf_char(&text, '\n');
    return buf_view(&text);
}

static struct str manifest_json(struct arena *arena, const struct manifest *manifest)
{
    struct json_writer w;
    struct buf text;

    buf_init(&text, arena, DOCUMENT_BYTES_MAX);
    if (manifest == NULL)
        return buf_view(&text);
    json_writer_init(&w, &text);
    manifest_print(&w, manifest);
    buf_char(&text, '\n');
    return buf_view(&text);
}

static struct str plan_json(struct arena *arena, const struct plan *plan)
{
    struct json_writer w;
    struct buf text;

    buf_init(&text, arena, DOCUMENT_BYTES_MAX);
    if (plan == NULL)
        return buf_view(&text);
    json_writer_init(&w, &text);
    plan_print(&w, plan);
    buf_char(&text, '\n');
    return buf_view(&text);
}

bool products_write(struct arena *arena, const char *folder, const struct products *products,
                    struct err *err)
{
    const struct {
        const char *name;
        struct str data;
    } files[] = {
        {"kernel.cu", products->source},
        {"manifest.json", manifest_json(arena, products->manifest)},
        {"plan.json", plan_json(arena, products->plan)},
        {"kernel.ptx", products->made->ptx},
        {"kernel.cubin", products->made->cubin},
        {"observed.json", observed_json(arena, &products->verdict->observed)},
        {"verdict.json", verdict_json(arena, products->verdict)},
    };

    if (!file_make_dirs(folder, err))
        return false;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const char *path = path_join(arena, folder, files[i].name);

        if (files[i].data.len > 0 ? !file_write(path, files[i].data, err) : !file_remove(path, err))
            return false;
    }
    return true;
}
