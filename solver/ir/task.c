/*
 * Task documents: which spec, track, target shape and machine.  Dims are kept sorted by name, as
 * they are printed, so that parse(print(t)) = t.
 */
#include <stdio.h>
#include <string.h>

#include "base/panic.h"

#include "solver/ir/doc_int.h"
#include "solver/ir/plan.h"

#define DIM_VALUE_MAX (INT64_C(1) << 40)

static bool read_dims(struct arena *arena, const struct json *json, struct task *task,
                      struct err *err)
{
    const struct json *object;
    if (!json_need(json, "dims", JSON_OBJECT, &object, err))
        return false;
    if (object->count > OP_DIMS_MAX)
        return json_fail(object, err, "%zu dims; the limit is %d", object->count, OP_DIMS_MAX);

    struct str *names = arena_array(arena, struct str, object->count);
    int64_t *values = arena_array(arena, int64_t, object->count);
    for (size_t i = 0; i < object->count; i++) {
        const struct json *item = &object->items[i];
        if (!doc_is_identifier(object->keys[i]) || object->keys[i].len > DOC_NAME_BYTES_MAX)
            return json_fail(object, err, "the dim \"%.*s\" is no identifier",
                             doc_shown(object->keys[i]), object->keys[i].at);
        if (item->kind != JSON_INT || item->integer < 0 || item->integer > DIM_VALUE_MAX)
            return json_fail(item, err, "expected an integer from 0 to 2^40");
        size_t at = i;
        for (; at > 0 && strcmp(names[at - 1].at, object->keys[i].at) > 0; at--) {
            names[at] = names[at - 1];
            values[at] = values[at - 1];
        }
        names[at] = object->keys[i];
        values[at] = item->integer;
    }
    task->dim_names = names;
    task->dim_values = values;
    task->dim_count = object->count;
    return true;
}

bool task_parse(struct arena *arena, const struct json *json, const struct task **out,
                struct err *err)
{
    static const char *const known[] = {"task", "op", "op_name", "track", "dims", "machine", NULL};
    int64_t version;
    struct task *task = arena_new(arena, struct task);
    if (!json_need_int(json, "task", 1, 1, &version, err) || !json_only(json, known, err) ||
        !doc_need_hash(json, "op", &task->op, err) ||
        !doc_need_name(json, "op_name", &task->op_name, err) ||
        !doc_need_name(json, "track", &task->track, err) ||
        !doc_need_name(json, "machine", &task->machine, err) || !read_dims(arena, json, task, err))
        return false;
    *out = task;
    return true;
}

void task_print(struct json_writer *w, const struct task *task)
{
    json_open_object(w);
    json_member_int(w, "task", 1);
    json_key(w, "op");
    doc_put_hash(w, &task->op);
    json_member_str(w, "op_name", task->op_name);
    json_member_str(w, "track", task->track);
    json_member_str(w, "machine", task->machine);
    json_key(w, "dims");
    json_open_object(w);
    for (size_t i = 0; i < task->dim_count; i++) {
        char name[DOC_NAME_BYTES_MAX + 1];
        ASSERT(task->dim_names[i].len < sizeof(name));
        snprintf(name, sizeof(name), "%.*s", STR_ARG(task->dim_names[i]));
        json_key(w, name);
        json_put_int(w, task->dim_values[i]);
    }
    json_close_object(w);
    json_close_object(w);
}

static bool name_after(struct str a, struct str b)
{
    const int order = memcmp(a.at, b.at, a.len < b.len ? a.len : b.len);
    return order > 0 || (order == 0 && a.len > b.len);
}

struct task task_of(struct arena *arena, const struct bound_op *target, const struct track *track,
                    struct str machine)
{
    const struct op *op = target->op;
    struct str *names = arena_array(arena, struct str, op->dim_count + 1);
    int64_t *values = arena_array(arena, int64_t, op->dim_count + 1);
    size_t count = 0;
    for (size_t d = 0; d < op->dim_count; d++) {
        size_t at = count;
        if (op->dims[d].kind != DIM_VAR)
            continue;
        for (; at > 0 && name_after(names[at - 1], op->dims[d].name); at--) {
            names[at] = names[at - 1];
            values[at] = values[at - 1];
        }
        names[at] = op->dims[d].name;
        values[at] = target->dims[d];
        count++;
    }
    return (struct task){.op = op->hash,
                         .op_name = op->name,
                         .track = track->name,
                         .dim_names = names,
                         .dim_values = values,
                         .dim_count = count,
                         .machine = machine};
}

struct hash task_hash(const struct task *task)
{
    struct doc_hasher hasher;
    doc_hash_begin(&hasher);
    task_print(&hasher.writer, task);
    return doc_hash_end(&hasher);
}
