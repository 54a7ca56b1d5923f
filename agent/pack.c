/*
 * A bundle from a spec, a kernel and its manifest.  The specs that the spec uses travel with it:
 * they are noted as the parser asks for them.
 */
#include <string.h>

#include "base/file.h"

#include "agent/agent.h"
#include "verify/evaluate/evaluate.h"

static const size_t arena_bytes_max = (size_t)2 << 30;

struct packing {
    struct arena *arena;
    const struct pack_args *args;
    const char *folders[2];
    struct bundle_spec specs[BUNDLE_SPECS_MAX];
    struct bundle bundle;
    struct task task;
};

static bool is_noted(const struct packing *p, struct str name)
{
    for (size_t i = 1; i < p->bundle.spec_count; i++)
        if (str_equal(p->specs[i].name, name))
            return true;
    return false;
}

static bool find_used(void *context, struct arena *arena, struct str name, struct str *text)
{
    struct packing *p = context;
    char file[128];
    struct err err;

    if (name.len > 100 || memchr(name.at, '/', name.len) != NULL || name.at[0] == '.')
        return false;
    snprintf(file, sizeof(file), "%.*s.json", STR_ARG(name));
    for (size_t i = 0; i < COUNT_OF(p->folders); i++) {
        if (p->folders[i] == NULL ||
            !file_read(arena, path_join(arena, p->folders[i], file), OP_SPEC_BYTES_MAX, text, &err))
            continue;
        if (!is_noted(p, name) && p->bundle.spec_count < BUNDLE_SPECS_MAX)
            p->specs[p->bundle.spec_count++] =
                (struct bundle_spec){str_from(str_copy(arena, name)), *text};
        return true;
    }
    return false;
}

static bool read_json(struct packing *p, const char *path, size_t bytes_max,
                      const struct json **out, struct err *err)
{
    struct str text;

    return file_read(p->arena, path, bytes_max, &text, err) &&
           json_parse(p->arena, text, path, out, err);
}

static bool candidate_of(struct packing *p, struct err *err)
{
    const char *dot = strrchr(path_base(p->args->kernel), '.');
    const char *manifest =
        p->args->manifest != NULL
            ? p->args->manifest
            : path_join(p->arena, path_dir(p->arena, p->args->kernel), "manifest.json");
    struct candidate *candidate = &p->bundle.candidate;
    const struct json *json;

    if (dot != NULL && strcmp(dot, ".cu") == 0)
        candidate->form = CANDIDATE_CUDA;
    else if (dot != NULL && strcmp(dot, ".ptx") == 0)
        candidate->form = CANDIDATE_PTX;
    else if (dot != NULL && strcmp(dot, ".cubin") == 0)
        candidate->form = CANDIDATE_CUBIN;
    else
        return err_raise(err, ERR_USAGE, "%s: a kernel is a .cu, .ptx or .cubin file",
                         p->args->kernel);
    return file_read(p->arena, p->args->kernel, CANDIDATE_BYTES_MAX, &candidate->text, err) &&
           read_json(p, manifest, MANIFEST_BYTES_MAX, &json, err) &&
           manifest_parse(p->arena, json, &candidate->manifest, err);
}

static bool plan_of(struct packing *p, struct err *err)
{
    const struct json *json;

    return p->args->plan == NULL || (read_json(p, p->args->plan, PLAN_BYTES_MAX, &json, err) &&
                                     plan_parse(p->arena, json, &p->bundle.plan, err));
}

static bool spec_of(struct packing *p, const struct op **op, struct err *err)
{
    const struct op_library library = {find_used, p};
    struct str text;

    p->bundle.spec_count = 1;
    if (!file_read(p->arena, p->args->spec, OP_SPEC_BYTES_MAX, &text, err) ||
        !op_parse(p->arena, text, p->args->spec, &library, op, err))
        return false;
    p->specs[0] = (struct bundle_spec){(*op)->name, text};
    p->bundle.specs = p->specs;
    return true;
}

/* Variables of the target shape, in order of names as task documents have them. */
static void task_of(struct packing *p, const struct op *op, const struct track *track,
                    const struct bound_op *target)
{
    struct str *names = arena_array(p->arena, struct str, op->dim_count + 1);
    int64_t *values = arena_array(p->arena, int64_t, op->dim_count + 1);
    size_t count = 0;

    for (size_t d = 0; d < op->dim_count; d++) {
        size_t at = count;

        if (op->dims[d].kind != DIM_VAR)
            continue;
        for (; at > 0 &&
               strcmp(str_copy(p->arena, names[at - 1]), str_copy(p->arena, op->dims[d].name)) > 0;
             at--) {
            names[at] = names[at - 1];
            values[at] = values[at - 1];
        }
        names[at] = op->dims[d].name;
        values[at] = target->dims[d];
        count++;
    }
    p->task = (struct task){.op = op->hash,
                            .op_name = op->name,
                            .track = track->name,
                            .dim_names = names,
                            .dim_values = values,
                            .dim_count = count,
                            .machine = STR_LIT("any")};
    p->bundle.task = &p->task;
}

static bool pack(struct packing *p, struct session *session, const struct common *common,
                 struct err *err)
{
    const struct pack_args *args = p->args;
    const struct track *track;
    const struct bound_op *target;
    const struct shape *shape;
    const struct op *op;

    p->bundle.options = (struct bundle_options){
        .last_gate = GATE_TIME, .samples = args->samples, .arch = STR_LIT("")};
    p->bundle.secret = session->secret;
    if (args->gate != NULL && !gate_parse(str_from(args->gate), &p->bundle.options.last_gate))
        return err_raise(err, ERR_USAGE, "--gate: there is no gate \"%s\"", args->gate);
    if (!spec_of(p, &op, err) || !candidate_of(p, err) || !plan_of(p, err) ||
        !session_track(op, common->track, &track, err) ||
        !session_shape(session, op, common->shape, &target, err) ||
        (target == NULL && !op_bind_shape(p->arena, op, &op->targets[0], &target, err)))
        return false;
    task_of(p, op, track, target);
    return bundle_op(p->arena, &p->bundle, &op, &shape, err) &&
           file_make_dirs(path_dir(p->arena, args->file), err) &&
           bundle_write_file(args->file, &p->bundle, err);
}

int pack_bundle(const struct command *self, const struct pack_args *args,
                const struct common *common)
{
    struct session session;
    struct arena arena;
    struct packing *p;
    struct err err;
    int status = EXIT_DONE;

    arena_init(&arena, arena_bytes_max);
    p = arena_new(&arena, struct packing);
    p->arena = &arena;
    p->args = args;
    if (session_begin(&session, &arena, common, &err)) {
        p->folders[0] = path_dir(&arena, args->spec);
        p->folders[1] = session.env.ops_folder;
        if (!pack(p, &session, common, &err))
            status = command_failed(self->name, &err);
        session_end(&session);
    } else {
        status = command_failed(self->name, &err);
    }
    arena_release(&arena);
    return status;
}
