/*
 * Candidates and bundles, from and to one JSON document.
 *
 * A bundle travels to other machines and comes back from folders that people edit, so it is foreign
 * bytes: names of specs are restricted to what may be a file name, and nothing else in it is ever
 * used as one.
 *
 * Invariant: parse(print(b)) = b, and equal bundles have equal bytes.
 */
#include "base/panic.h"

#include "verify/evaluate/evaluate_int.h"

enum { SPEC_NAME_BYTES_MAX = 64, SEEDS_MAX = 1000, SAMPLES_MAX = 100000, ARCH_BYTES_MAX = 16 };
#define WALL_MS_MAX INT64_C(86400000) /* a day */

static const char *const form_words[] = {
    [CANDIDATE_CUDA] = "cuda",
    [CANDIDATE_PTX] = "ptx",
    [CANDIDATE_CUBIN] = "cubin",
};
static const char *const gate_words[] = {
#define GATE(id, name) name,
#include "base/vocab.def"
};

/* ---- candidate ---- */

const char *candidate_form_name(enum candidate_form form)
{
    ASSERT((size_t)form < COUNT_OF(form_words));
    return form_words[form];
}

bool candidate_form_find(struct str name, enum candidate_form *out)
{
    for (size_t i = 0; i < COUNT_OF(form_words); i++)
        if (str_equal(name, str_from(form_words[i]))) {
            *out = (enum candidate_form)i;
            return true;
        }
    return false;
}

bool candidate_parse(struct arena *arena, const struct json *json, struct candidate *out,
                     struct err *err)
{
    static const char *const known[] = {"candidate",     "form",     "source",
                                        "source_base64", "manifest", NULL};
    int64_t version;
    size_t form;
    struct candidate candidate = {0};
    const struct json *manifest;
    if (!json_need_int(json, "candidate", 1, 1, &version, err) || !json_only(json, known, err) ||
        !json_need_word(json, "form", form_words, COUNT_OF(form_words), &form, err) ||
        !json_need_bytes(arena, json, "source", &candidate.text, err) ||
        !json_need(json, "manifest", JSON_OBJECT, &manifest, err) ||
        !manifest_parse(arena, manifest, &candidate.manifest, err))
        return false;
    if (candidate.text.len == 0 || candidate.text.len > CANDIDATE_BYTES_MAX)
        return json_fail(json, err, "the source has %zu bytes; it must have from 1 to %d",
                         candidate.text.len, CANDIDATE_BYTES_MAX);
    candidate.form = (enum candidate_form)form;
    *out = candidate;
    return true;
}

void candidate_print(struct json_writer *w, const struct candidate *candidate)
{
    json_open_object(w);
    json_member_int(w, "candidate", 1);
    json_member_text(w, "form", candidate_form_name(candidate->form));
    json_member_bytes(w, "source", candidate->text);
    json_key(w, "manifest");
    manifest_print(w, candidate->manifest);
    json_close_object(w);
}

/* Over the parts rather than the document: sources can be long. */
struct hash candidate_hash(const struct candidate *candidate)
{
    struct hash_stream stream;
    struct hash manifest = manifest_hash(candidate->manifest);
    hash_begin(&stream);
    hash_field(&stream, STR_LIT("candidate 1"));
    hash_field(&stream, str_from(candidate_form_name(candidate->form)));
    hash_field(&stream, candidate->text);
    hash_add(&stream, manifest.bytes, sizeof(manifest.bytes));
    return hash_end(&stream);
}

/* ---- options ---- */

bool bundle_options_parse(const struct json *json, struct bundle_options *out, struct err *err)
{
    static const char *const known[] = {"last_gate",      "seeds",        "budget_warp_insns",
                                        "wall_ms",        "memory_bytes", "samples",
                                        "smem_bytes_max", "arch",         NULL};
    struct bundle_options options = {.arch = {"", 0}};
    size_t gate;
    if (!json_only(json, known, err) ||
        !json_need_word(json, "last_gate", gate_words, COUNT_OF(gate_words), &gate, err) ||
        !json_opt_int(json, "seeds", 0, SEEDS_MAX, &options.seeds, err) ||
        !json_opt_int(json, "budget_warp_insns", 0, INT64_MAX, &options.budget_warp_insns, err) ||
        !json_opt_int(json, "wall_ms", 0, WALL_MS_MAX, &options.wall_ms, err) ||
        !json_opt_int(json, "memory_bytes", 0, INT64_MAX, &options.memory_bytes, err) ||
        !json_opt_int(json, "samples", 0, SAMPLES_MAX, &options.samples, err) ||
        !json_opt_int(json, "smem_bytes_max", 0, INT32_MAX, &options.smem_bytes_max, err) ||
        !json_opt_str(json, "arch", &options.arch, err))
        return false;
    if (options.arch.len > ARCH_BYTES_MAX)
        return json_fail(json, err, "\"arch\" has %zu bytes; the limit is %d", options.arch.len,
                         ARCH_BYTES_MAX);
    options.last_gate = (enum gate)gate;
    *out = options;
    return true;
}

void bundle_options_print(struct json_writer *w, const struct bundle_options *options)
{
    json_open_object(w);
    json_member_text(w, "last_gate", gate_name(options->last_gate));
    json_member_int(w, "seeds", options->seeds);
    json_member_int(w, "budget_warp_insns", options->budget_warp_insns);
    json_member_int(w, "wall_ms", options->wall_ms);
    json_member_int(w, "memory_bytes", options->memory_bytes);
    json_member_int(w, "samples", options->samples);
    json_member_int(w, "smem_bytes_max", options->smem_bytes_max);
    json_member_str(w, "arch", options->arch);
    json_close_object(w);
}

/* ---- bundle ---- */

bool bundle_spec_name_ok(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!word && c != '_' && (c != '-' || i == 0))
            return false;
    }
    return name.len > 0 && name.len <= SPEC_NAME_BYTES_MAX;
}

bool bundle_check(const struct bundle *bundle, struct err *err)
{
    if (bundle->spec_count < 1 || bundle->spec_count > BUNDLE_SPECS_MAX)
        return err_raise(err, ERR_SEMANTIC, "specs: %zu of them; a bundle has from 1 to %d",
                         bundle->spec_count, BUNDLE_SPECS_MAX);
    for (size_t i = 0; i < bundle->spec_count; i++) {
        struct str name = bundle->specs[i].name;
        if (!bundle_spec_name_ok(name))
            return err_raise(err, ERR_SEMANTIC,
                             "specs[%zu].name: 1 to %d letters, digits, _ or - are allowed", i,
                             SPEC_NAME_BYTES_MAX);
        for (size_t j = 0; j < i; j++)
            if (str_equal(bundle->specs[j].name, name))
                return err_raise(err, ERR_SEMANTIC, "specs[%zu].name: \"%.*s\" is taken", i,
                                 STR_ARG(name));
    }
    return true;
}

static bool read_specs(struct arena *arena, const struct json *json, struct bundle *bundle,
                       struct err *err)
{
    static const char *const known[] = {"name", "text", NULL};
    const struct json *array;
    if (!json_need_array(json, "specs", 1, BUNDLE_SPECS_MAX, &array, err))
        return false;
    struct bundle_spec *specs = arena_array(arena, struct bundle_spec, array->count);
    for (size_t i = 0; i < array->count; i++) {
        const struct json *item = &array->items[i];
        if (!json_only(item, known, err) || !json_need_str(item, "name", &specs[i].name, err) ||
            !json_need_str(item, "text", &specs[i].text, err))
            return false;
        if (specs[i].text.len > OP_SPEC_BYTES_MAX)
            return json_fail(item, err, "a spec of %zu bytes; the limit is %d", specs[i].text.len,
                             OP_SPEC_BYTES_MAX);
    }
    bundle->specs = specs;
    bundle->spec_count = array->count;
    return true;
}

/* A member that must be there and may be null. */
static bool need_nullable(const struct json *json, const char *key, const struct json **out,
                          struct err *err)
{
    const struct json *value = json_get(json, key);
    if (!value)
        return json_fail(json, err, "\"%s\" is missing; it must be an object or null", key);
    *out = value->kind == JSON_NULL ? NULL : value;
    return true;
}

static bool read_incumbent(struct arena *arena, const struct json *json, struct bundle *bundle,
                           struct err *err)
{
    const struct json *value;
    if (!need_nullable(json, "incumbent", &value, err))
        return false;
    if (!value)
        return true;
    struct candidate *incumbent = arena_new(arena, struct candidate);
    bundle->incumbent = incumbent;
    return candidate_parse(arena, value, incumbent, err);
}

static bool read_plan(struct arena *arena, const struct json *json, struct bundle *bundle,
                      struct err *err)
{
    const struct json *value;
    if (!need_nullable(json, "plan", &value, err))
        return false;
    return !value || plan_parse(arena, value, &bundle->plan, err);
}

bool bundle_parse(struct arena *arena, const struct json *json, const struct bundle **out,
                  struct err *err)
{
    static const char *const known[] = {"bundle",    "specs",   "task",   "candidate", "plan",
                                        "incumbent", "options", "secret", NULL};
    int64_t version;
    const struct json *task, *candidate, *options;
    struct bundle *bundle = arena_new(arena, struct bundle);
    if (!json_need_int(json, "bundle", 1, 1, &version, err) || !json_only(json, known, err) ||
        !read_specs(arena, json, bundle, err) ||
        !json_need(json, "task", JSON_OBJECT, &task, err) ||
        !task_parse(arena, task, &bundle->task, err) ||
        !json_need(json, "candidate", JSON_OBJECT, &candidate, err) ||
        !candidate_parse(arena, candidate, &bundle->candidate, err) ||
        !read_plan(arena, json, bundle, err) || !read_incumbent(arena, json, bundle, err) ||
        !json_need(json, "options", JSON_OBJECT, &options, err) ||
        !bundle_options_parse(options, &bundle->options, err) ||
        !json_need_u64(json, "secret", &bundle->secret, err))
        return false;
    if (!bundle_check(bundle, err))
        return json_fail(json, err, "%s", err->text);
    *out = bundle;
    return true;
}

static void print_specs(struct json_writer *w, const struct bundle *bundle)
{
    json_key(w, "specs");
    json_open_array(w);
    for (size_t i = 0; i < bundle->spec_count; i++) {
        json_open_object(w);
        json_member_str(w, "name", bundle->specs[i].name);
        json_member_str(w, "text", bundle->specs[i].text);
        json_close_object(w);
    }
    json_close_array(w);
}

void bundle_print(struct json_writer *w, const struct bundle *bundle)
{
    json_open_object(w);
    json_member_int(w, "bundle", 1);
    print_specs(w, bundle);
    json_key(w, "task");
    task_print(w, bundle->task);
    json_key(w, "candidate");
    candidate_print(w, &bundle->candidate);
    json_key(w, "plan");
    if (bundle->plan)
        plan_print(w, bundle->plan);
    else
        json_put_null(w);
    json_key(w, "incumbent");
    if (bundle->incumbent)
        candidate_print(w, bundle->incumbent);
    else
        json_put_null(w);
    json_key(w, "options");
    bundle_options_print(w, &bundle->options);
    json_member_u64(w, "secret", bundle->secret);
    json_close_object(w);
}

bool bundle_hash(const struct bundle *bundle, struct hash *out, struct err *err)
{
    struct arena scratch;
    struct buf text;
    struct json_writer w;
    struct str bytes;
    arena_init(&scratch, (size_t)16 * BUNDLE_BYTES_MAX);
    buf_init(&text, &scratch, BUNDLE_BYTES_MAX);
    json_writer_init(&w, &text);
    bundle_print(&w, bundle);
    bool ok = buf_finish(&text, "the bundle", &bytes, err);
    if (ok)
        *out = hash_bytes(bytes.at, bytes.len);
    arena_release(&scratch);
    return ok;
}

/* ---- the op ---- */

static bool find_spec(void *context, struct arena *arena, struct str name, struct str *text)
{
    const struct bundle *bundle = context;
    (void)arena;
    for (size_t i = 0; i < bundle->spec_count; i++)
        if (str_equal(bundle->specs[i].name, name)) {
            *text = bundle->specs[i].text;
            return true;
        }
    return false;
}

static bool agree(const struct bundle *bundle, const struct op *op, struct err *err)
{
    const struct task *task = bundle->task;
    const struct track *track;
    if (!hash_equal(&task->op, &op->hash))
        return err_raise(err, ERR_SEMANTIC, "the task is for another version of the spec \"%.*s\"",
                         STR_ARG(op->name));
    if (!str_equal(task->op_name, op->name))
        return err_raise(err, ERR_SEMANTIC, "the task is for \"%.*s\", the spec is \"%.*s\"",
                         STR_ARG(task->op_name), STR_ARG(op->name));
    if (!op_track_find(op, task->track, &track))
        return err_raise(err, ERR_SEMANTIC, "the spec has no track \"%.*s\"", STR_ARG(task->track));
    if (!manifest_check(bundle->candidate.manifest, op, err))
        return err_context(err, "the candidate's manifest");
    if (bundle->incumbent && !manifest_check(bundle->incumbent->manifest, op, err))
        return err_context(err, "the incumbent's manifest");
    if (bundle->plan && !plan_check(bundle->plan, op, err))
        return err_context(err, "the plan");
    return true;
}

bool bundle_op(struct arena *arena, const struct bundle *bundle, const struct op **op,
               const struct shape **target, struct err *err)
{
    const struct op *parsed;
    const struct bound_op *bound;
    struct bundle_spec spec = bundle->specs[0];
    struct op_library library = {find_spec, (void *)bundle};
    const struct task *task = bundle->task;
    struct formula_env dims = {task->dim_names, task->dim_values, task->dim_count};
    if (!op_parse(arena, spec.text, str_copy(arena, spec.name), &library, &parsed, err) ||
        !agree(bundle, parsed, err))
        return false;
    if (!op_bind(arena, parsed, &dims, &bound, err))
        return err_context(err, "the task's shape");
    struct shape *shape = arena_new(arena, struct shape);
    shape->values = bound->dims;
    *op = parsed;
    *target = shape;
    return true;
}
