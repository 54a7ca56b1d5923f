/*
 * Verdicts, from and to JSON.
 *
 * A verdict crosses from the worker, which has handled hostile code, to the parent; so reading
 * checks every member, and that the parts agree: accepted means that enough checks were executed,
 * and samples exist only where something was timed.
 *
 * Invariant: parse(print(v, true)) = v for texts of valid UTF-8 within their limit; longer ones are
 * cut when printed, since they are texts for people (compiler logs, fault sentences).
 */
#include <inttypes.h>

#include "base/panic.h"

#include "verify/check/contracts.h"

enum {
    GATES_MAX = 64,
    FAILED_MAX = 1000,
    SAMPLES_MAX = 1000000,
    RANK_MAX = 8,
    UTF8_GROWTH = 3 /* an invalid byte is written as U+FFFD */
};

static const char *const validity_words[] = {
#define VALIDITY(id, name) name,
#include "base/vocab.def"
};
static const char *const timing_words[] = {
#define TIMING(id, name) name,
#include "base/vocab.def"
};
static const char *const gate_words[] = {
#define GATE(id, name) name,
#include "base/vocab.def"
};

/* ---- reading ---- */

static bool read_text(const struct json *json, const char *key, struct str *out, struct err *err)
{
    if (!json_need_str(json, key, out, err))
        return false;
    if (out->len > UTF8_GROWTH * VERDICT_REASON_BYTES_MAX)
        return json_fail(json_get(json, key), err, "%zu bytes; the limit is %d", out->len,
                         UTF8_GROWTH * VERDICT_REASON_BYTES_MAX);
    return true;
}

static bool read_bool(const struct json *json, const char *key, bool *out, struct err *err)
{
    const struct json *value;
    if (!json_need(json, key, JSON_BOOL, &value, err))
        return false;
    *out = value->boolean;
    return true;
}

static bool read_gate(const struct json *json, enum gate *out, struct err *err)
{
    size_t word;
    if (!json_need_word(json, "gate", gate_words, COUNT_OF(gate_words), &word, err))
        return false;
    *out = (enum gate)word;
    return true;
}

static bool read_outcome(const struct json *json, struct verdict *v, struct err *err)
{
    size_t validity, timing;
    if (!json_need_word(json, "validity", validity_words, COUNT_OF(validity_words), &validity,
                        err) ||
        !json_need_word(json, "timing", timing_words, COUNT_OF(timing_words), &timing, err))
        return false;
    v->validity = (enum validity)validity;
    v->timing = (enum timing)timing;
    return true;
}

static bool read_worst(const struct json *json, struct worst_element *worst, struct err *err)
{
    static const char *const known[] = {"tensor", "index", "got", "want", "bound", "ratio", NULL};
    const struct json *object = json_get(json, "worst"), *index;
    if (!object)
        return json_fail(json, err, "\"worst\" is missing; it must be an object or null");
    if (object->kind == JSON_NULL)
        return true;
    if (!json_only(object, known, err) || !read_text(object, "tensor", &worst->tensor, err) ||
        !json_need_array(object, "index", 0, RANK_MAX, &index, err) ||
        !json_need_real(object, "got", &worst->got, err) ||
        !json_need_real(object, "want", &worst->want, err) ||
        !json_need_real(object, "bound", &worst->bound, err) ||
        !json_need_real(object, "ratio", &worst->ratio, err))
        return false;
    for (size_t i = 0; i < index->count; i++) {
        if (index->items[i].kind != JSON_INT || index->items[i].integer < 0)
            return json_fail(&index->items[i], err, "expected an integer, at least 0");
        worst->index[i] = index->items[i].integer;
    }
    worst->rank = index->count;
    worst->present = true;
    return true;
}

static bool read_checks(const struct json *json, struct verdict *v, struct err *err)
{
    static const char *const known[] = {"executed", "minimum", NULL};
    const struct json *checks;
    return json_need(json, "checks", JSON_OBJECT, &checks, err) && json_only(checks, known, err) &&
           json_need_int(checks, "executed", 0, VERDICT_CHECKS_MAX, &v->checks_executed, err) &&
           json_need_int(checks, "minimum", 0, VERDICT_CHECKS_MAX, &v->checks_minimum, err);
}

static bool read_gates(struct arena *arena, const struct json *json, struct verdict *v,
                       struct err *err)
{
    static const char *const known[] = {"gate", "passed", "wall_ns", "note", NULL};
    const struct json *array;
    if (!json_need_array(json, "gates", 0, GATES_MAX, &array, err))
        return false;
    struct gate_record *gates = arena_array(arena, struct gate_record, array->count);
    for (size_t i = 0; i < array->count; i++) {
        const struct json *item = &array->items[i];
        if (!json_only(item, known, err) || !read_gate(item, &gates[i].gate, err) ||
            !read_bool(item, "passed", &gates[i].passed, err) ||
            !json_opt_int(item, "wall_ns", 0, INT64_MAX, &gates[i].wall_ns, err) ||
            !read_text(item, "note", &gates[i].note, err))
            return false;
    }
    v->gates = gates;
    v->gate_count = array->count;
    return true;
}

static bool read_failed(struct arena *arena, const struct json *json, struct verdict *v,
                        struct err *err)
{
    static const char *const known[] = {"gate", "shape", "data", "what", "passed", NULL};
    const struct json *array;
    if (!json_need_array(json, "failed", 0, FAILED_MAX, &array, err))
        return false;
    struct check_record *failed = arena_array(arena, struct check_record, array->count);
    for (size_t i = 0; i < array->count; i++) {
        const struct json *item = &array->items[i];
        if (!json_only(item, known, err) || !read_gate(item, &failed[i].gate, err) ||
            !read_text(item, "shape", &failed[i].shape, err) ||
            !read_text(item, "data", &failed[i].data, err) ||
            !read_text(item, "what", &failed[i].what, err) ||
            !read_bool(item, "passed", &failed[i].passed, err))
            return false;
    }
    v->failed = failed;
    v->failed_count = array->count;
    return true;
}

static bool read_times(struct arena *arena, const struct json *json, struct verdict *v,
                       struct err *err)
{
    const struct json *array;
    if (!json_get(json, "time_ns"))
        return true;
    if (!json_need_array(json, "time_ns", 0, SAMPLES_MAX, &array, err))
        return false;
    int64_t *times = arena_array(arena, int64_t, array->count);
    for (size_t i = 0; i < array->count; i++) {
        if (array->items[i].kind != JSON_INT || array->items[i].integer < 0)
            return json_fail(&array->items[i], err, "expected nanoseconds, at least 0");
        times[i] = array->items[i].integer;
    }
    v->time_ns = times;
    v->time_count = array->count;
    return true;
}

static bool agree(const struct json *json, const struct verdict *v, struct err *err)
{
    if (v->validity == VALIDITY_ACCEPTED && v->checks_executed < v->checks_minimum)
        return json_fail(json, err,
                         "accepted after %" PRId64 " checks, but the minimum is %" PRId64,
                         v->checks_executed, v->checks_minimum);
    if (v->timing == TIMING_NONE && v->time_count > 0)
        return json_fail(json, err, "timing is \"none\", but there are samples in \"time_ns\"");
    return true;
}

bool verdict_parse(struct arena *arena, const struct json *json, struct verdict *out,
                   struct err *err)
{
    static const char *const known[] = {
        "verdict",     "validity", "timing",   "gate",    "reason", "detail", "source_line",
        "instruction", "worst",    "checks",   "gates",   "failed", "track",  "arch",
        "executor",    "seed",     "observed", "time_ns", "flags",  NULL};
    int64_t version, line;
    const struct json *observed;
    struct verdict v = {0};
    if (!json_need_int(json, "verdict", 1, 1, &version, err) || !json_only(json, known, err) ||
        !read_outcome(json, &v, err) || !read_gate(json, &v.gate, err) ||
        !read_text(json, "reason", &v.reason, err) || !read_text(json, "detail", &v.detail, err) ||
        !json_need_int(json, "source_line", 0, INT32_MAX, &line, err) ||
        !read_text(json, "instruction", &v.instruction, err) || !read_worst(json, &v.worst, err) ||
        !read_checks(json, &v, err) || !read_gates(arena, json, &v, err) ||
        !read_failed(arena, json, &v, err) || !read_text(json, "track", &v.track, err) ||
        !read_text(json, "arch", &v.arch, err) || !read_text(json, "executor", &v.executor, err) ||
        !json_need_u64(json, "seed", &v.seed, err) ||
        !json_need(json, "observed", JSON_OBJECT, &observed, err) ||
        !observed_parse(arena, observed, &v.observed, err) || !read_times(arena, json, &v, err) ||
        !read_text(json, "flags", &v.flags, err) || !agree(json, &v, err))
        return false;
    v.source_line = (int)line;
    *out = v;
    return true;
}

/* ---- printing ---- */

static void print_text(struct json_writer *w, const char *key, struct str text)
{
    json_key(w, key);
    if (text.len > VERDICT_REASON_BYTES_MAX) {
        text.len = VERDICT_REASON_BYTES_MAX;
        while (text.len > 0 && ((unsigned char)text.at[text.len] & 0xc0) == 0x80)
            text.len--;
    }
    json_put_str(w, text);
}

static void print_worst(struct json_writer *w, const struct worst_element *worst)
{
    json_key(w, "worst");
    if (!worst->present) {
        json_put_null(w);
        return;
    }
    ASSERT(worst->rank <= RANK_MAX);
    json_open_object(w);
    print_text(w, "tensor", worst->tensor);
    json_key(w, "index");
    json_open_array(w);
    for (size_t i = 0; i < worst->rank; i++)
        json_put_int(w, worst->index[i]);
    json_close_array(w);
    json_member_real(w, "got", worst->got);
    json_member_real(w, "want", worst->want);
    json_member_real(w, "bound", worst->bound);
    json_member_real(w, "ratio", worst->ratio);
    json_close_object(w);
}

static void print_gates(struct json_writer *w, const struct verdict *v, bool with_times)
{
    ASSERT(v->gate_count <= GATES_MAX);
    json_key(w, "gates");
    json_open_array(w);
    for (size_t i = 0; i < v->gate_count; i++) {
        json_open_object(w);
        json_member_text(w, "gate", gate_name(v->gates[i].gate));
        json_member_bool(w, "passed", v->gates[i].passed);
        if (with_times)
            json_member_int(w, "wall_ns", v->gates[i].wall_ns);
        print_text(w, "note", v->gates[i].note);
        json_close_object(w);
    }
    json_close_array(w);
}

static void print_failed(struct json_writer *w, const struct verdict *v)
{
    ASSERT(v->failed_count <= FAILED_MAX);
    json_key(w, "failed");
    json_open_array(w);
    for (size_t i = 0; i < v->failed_count; i++) {
        json_open_object(w);
        json_member_text(w, "gate", gate_name(v->failed[i].gate));
        print_text(w, "shape", v->failed[i].shape);
        print_text(w, "data", v->failed[i].data);
        print_text(w, "what", v->failed[i].what);
        json_member_bool(w, "passed", v->failed[i].passed);
        json_close_object(w);
    }
    json_close_array(w);
}

static void print_times(struct json_writer *w, const struct verdict *v)
{
    json_key(w, "time_ns");
    json_open_array(w);
    for (size_t i = 0; i < v->time_count; i++)
        json_put_int(w, v->time_ns[i]);
    json_close_array(w);
}

static void print_checks(struct json_writer *w, const struct verdict *v)
{
    json_key(w, "checks");
    json_open_object(w);
    json_member_int(w, "executed", v->checks_executed);
    json_member_int(w, "minimum", v->checks_minimum);
    json_close_object(w);
}

void verdict_print(struct json_writer *w, const struct verdict *v, bool with_times)
{
    json_open_object(w);
    json_member_int(w, "verdict", 1);
    json_member_text(w, "validity", validity_name(v->validity));
    json_member_text(w, "timing", timing_name(v->timing));
    json_member_text(w, "gate", gate_name(v->gate));
    print_text(w, "reason", v->reason);
    print_text(w, "detail", v->detail);
    json_member_int(w, "source_line", v->source_line);
    print_text(w, "instruction", v->instruction);
    print_worst(w, &v->worst);
    print_checks(w, v);
    print_gates(w, v, with_times);
    print_failed(w, v);
    print_text(w, "track", v->track);
    print_text(w, "arch", v->arch);
    print_text(w, "executor", v->executor);
    json_member_u64(w, "seed", v->seed);
    json_key(w, "observed");
    observed_print(w, &v->observed);
    if (with_times)
        print_times(w, v);
    print_text(w, "flags", v->flags);
    json_close_object(w);
}
