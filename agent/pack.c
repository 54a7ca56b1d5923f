/*
 * A bundle from a spec, a kernel and its manifest.  The specs that the spec uses travel with it.
 */
#include <string.h>

#include "base/file.h"

#include "agent/agent.h"
#include "verify/evaluate/evaluate.h"

static const size_t arena_bytes_max = (size_t)2 << 30;

struct packing {
    struct arena *arena;
    const struct pack_args *args;
    struct bundle bundle;
    struct task task;
};

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
    if (!session_spec(session, args->spec, &op, err) || !candidate_of(p, err) || !plan_of(p, err) ||
        !session_track(op, common->track, &track, err) ||
        !session_shape(session, op, common->shape, &target, err) ||
        (target == NULL && !op_bind_shape(p->arena, op, &op->targets[0], &target, err)))
        return false;
    p->bundle.specs = session->specs;
    p->bundle.spec_count = session->spec_count;
    p->task = task_of(p->arena, target, track, STR_LIT("any"));
    p->bundle.task = &p->task;
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
        if (!pack(p, &session, common, &err))
            status = command_failed(self->name, &err);
        session_end(&session);
    } else {
        status = command_failed(self->name, &err);
    }
    arena_release(&arena);
    return status;
}
