/*
 * The examination in a process of its own.
 *
 * PTX is hostile input, and a candidate may make the emulator spin or grow.  So a forked child
 * parses, observes, emulates and compares; it has a deadline and a memory limit, and hands one JSON
 * verdict through a pipe, which is parsed as defensively as a file from elsewhere.  A child that
 * dies is a verdict (`crash`), a child that is late as well (`timeout`).
 *
 * Verdicts of the same question are cached by content: program, spec, candidate, manifest, plan,
 * options and secret.  What depended on the machine's mood (timeout, crash, infrastructure) is not.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/file.h"
#include "base/proc.h"

#include "verify/check/check_int.h"

enum {
    WALL_MS_DEFAULT = 300000,
    RESULT_BYTES_MAX = 16 << 20,
    PROGRAM_BYTES_MAX = 256 << 20,
    CHILD_FAILED = 3, /* exit status: the pipe holds an error's text */
};
static const size_t worker_memory_bytes = (size_t)8 << 30;

static struct str verdict_text(struct arena *arena, const struct verdict *verdict)
{
    struct json_writer w;
    struct buf text;

    buf_init(&text, arena, RESULT_BYTES_MAX);
    json_writer_init(&w, &text);
    verdict_print(&w, verdict, true);
    return buf_view(&text);
}

struct job {
    struct subject *subject;
    const struct verdict *begun;
};

static int work(void *context, int out_fd)
{
    struct job *job = context;
    struct verdict verdict = *job->begun;
    struct arena arena;
    struct str text;
    struct err err;
    int status = 0;

    arena_init(&arena, worker_memory_bytes);
    if (examine(&arena, job->subject, &verdict, &err)) {
        text = verdict_text(&arena, &verdict);
    } else {
        text = str_from(err.text);
        status = CHILD_FAILED;
    }
    if (!proc_write_all(out_fd, text.at, text.len))
        status = 1;
    return status;
}

static void ended_badly(struct arena *arena, struct verdict *verdict, enum validity validity,
                        const char *fmt, ...) PRINTF_LIKE(4, 5);
static void ended_badly(struct arena *arena, struct verdict *verdict, enum validity validity,
                        const char *fmt, ...)
{
    struct buf text;
    va_list args;

    buf_init(&text, arena, VERDICT_REASON_BYTES_MAX);
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    verdict->validity = validity;
    verdict->gate = GATE_EMULATE;
    verdict->reason = str_from(str_copy(arena, buf_view(&text)));
}

static void read_result(struct arena *arena, const struct proc_result *result, int64_t wall_ms,
                        struct verdict *verdict)
{
    const struct json *json;
    struct verdict parsed;
    struct err err;

    switch (result->end) {
    case PROC_DEADLINE:
        ended_badly(arena, verdict, VALIDITY_TIMEOUT,
                    "the emulation took longer than %" PRId64 " s", wall_ms / 1000);
        return;
    case PROC_MEMORY:
        ended_badly(arena, verdict, VALIDITY_CRASH, "the emulation needed more than %zu MiB",
                    worker_memory_bytes >> 20);
        return;
    case PROC_OUTPUT:
        ended_badly(arena, verdict, VALIDITY_CRASH, "the worker's verdict is too long");
        return;
    case PROC_SIGNALLED:
        ended_badly(arena, verdict, VALIDITY_CRASH, "the worker died of signal %d (%s)",
                    result->status, strsignal(result->status));
        return;
    case PROC_EXITED:
        break;
    }
    if (result->status != 0) {
        ended_badly(arena, verdict, VALIDITY_INFRASTRUCTURE, "the check itself failed: %.*s",
                    STR_ARG(result->out));
        return;
    }
    if (!json_parse(arena, result->out, "worker", &json, &err) ||
        !verdict_parse(arena, json, &parsed, &err)) {
        ended_badly(arena, verdict, VALIDITY_CRASH, "the worker's verdict is damaged: %s",
                    err.text);
        return;
    }
    *verdict = parsed;
}

/* ---- the cache ---- */

static void hash_doc(struct hash_stream *stream, const struct hash *hash)
{
    hash_add(stream, hash->bytes, sizeof(hash->bytes));
}

static bool cache_key(struct arena *arena, const struct subject *subject, struct hash *key)
{
    const struct check_options *o = subject->options;
    const struct hash manifest = manifest_hash(subject->manifest);
    const struct hash plan = o->plan != NULL ? plan_hash(o->plan) : (struct hash){{0}};
    const int64_t numbers[] = {(int64_t)o->secret, o->seeds, (int64_t)o->budget_warp_insns,
                               (int64_t)subject->smem_bytes_max, (int64_t)o->shape_count};
    struct hash_stream stream;
    struct str program;
    struct err err;

    if (!file_read(arena, "/proc/self/exe", PROGRAM_BYTES_MAX, &program, &err))
        return false;
    hash_begin(&stream);
    hash_field(&stream, STR_LIT("examination 1"));
    hash_field(&stream, program);
    hash_doc(&stream, &subject->op->hash);
    hash_doc(&stream, &manifest);
    hash_doc(&stream, &plan);
    hash_field(&stream, subject->ptx);
    hash_field(&stream, subject->cubin);
    hash_field(&stream, subject->track->name);
    hash_field(&stream, str_from(subject->arch));
    hash_add(&stream, numbers, sizeof(numbers));
    for (size_t i = 0; i < o->shape_count; i++)
        hash_add(&stream, o->shapes[i].values,
                 subject->op->dim_count * sizeof(o->shapes[i].values[0]));
    *key = hash_end(&stream);
    return true;
}

static bool from_cache(struct arena *arena, const struct cache *cache, const struct hash *key,
                       struct verdict *verdict)
{
    const struct json *json;
    struct str payload;
    struct err err;

    return cache_get(cache, arena, key, &payload) &&
           json_parse(arena, payload, "cache", &json, &err) &&
           verdict_parse(arena, json, verdict, &err);
}

static bool depends_on_machine(const struct verdict *verdict)
{
    return verdict->validity == VALIDITY_TIMEOUT || verdict->validity == VALIDITY_CRASH ||
           verdict->validity == VALIDITY_INFRASTRUCTURE;
}

bool examine_in_worker(struct arena *arena, struct subject *subject, struct verdict *verdict,
                       struct err *err)
{
    const struct check_options *options = subject->options;
    const int64_t wall_ms = options->wall_ms > 0 ? options->wall_ms : WALL_MS_DEFAULT;
    const struct proc_limits limits = {.wall_ms = wall_ms,
                                       .memory_bytes = worker_memory_bytes,
                                       .output_bytes_max = RESULT_BYTES_MAX};
    struct job job = {subject, verdict};
    struct proc_result result;
    struct hash key;
    struct err ignored;
    const bool cached =
        options->cache != NULL && options->cache->folder != NULL && cache_key(arena, subject, &key);

    if (cached && from_cache(arena, options->cache, &key, verdict))
        return true;
    if (!proc_fork(arena, work, &job, &limits, &result, err))
        return err_context(err, "worker");
    read_result(arena, &result, wall_ms, verdict);
    if (cached && !depends_on_machine(verdict) &&
        !cache_put(options->cache, &key, verdict_text(arena, verdict), &ignored))
        return true; /* a full disk costs time, not verdicts */
    return true;
}
