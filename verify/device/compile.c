/*
 * Compiling a candidate: screen, cache, child, and what came of it.
 *
 * A compile ends in one of the compile_ends and that is a result, however hostile the source was;
 * errors are left for the machine (no NVRTC, no fork, an architecture that NVRTC does not know).
 * A server that is lost is started again; a source that loses it twice has crashed it.
 *
 * Results that are functions of source, options, NVRTC and headers are cached under a hash of those
 * (COMPILE_OK, COMPILE_FAILED, COMPILE_OUTPUT); deadlines, memory and crashes depend on the day and
 * are not.  A cached log is cleaned already, so diagnostics are read from it again.
 *
 * Invariant: ptx, cubin and log of a result are the same bytes each time, whatever was compiled
 * before, and with and without server and cache; only, with libcu++ headers (cuda/, cub/,
 * cooperative_groups) NVRTC orders the constants of those headers in another way when they were
 * precompiled, so there a machine without Landlock, or a compiler without server, may differ.
 */
#include <ctype.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/panic.h"

#include "verify/device/device_int.h"

extern const char embed_verify_device_prelude_ww_prelude_h[];

enum {
    WALL_MS_DEFAULT = 60 * 1000,
    REASON_BYTES_MAX = 600,
    LOAD_MS = 30 * 1000, /* for a fresh child to load NVRTC */
    SERVER_ATTEMPTS = 4,
    LOAD_FACTOR = 5, /* a deadline is CPU time, and this much wall time on a busy machine */
    CACHE_MAGIC = 0x31636377,
    /* Changes whenever options, prelude handling or this payload do. */
    CACHE_VERSION = 1,
};
static const size_t memory_default = (size_t)4 << 30;
static const size_t scratch_bytes = (size_t)2 << 30;

struct compiler {
    struct compiler_options options;
    struct compile_server server;
    struct nvrtc_info nvrtc;
    struct sandbox_info have;
    struct hash identity; /* of NVRTC and its headers */
};

const char *compile_end_text(enum compile_end end)
{
    switch (end) {
    case COMPILE_OK:
        return "compiled";
    case COMPILE_REJECTED:
        return "source rejected";
    case COMPILE_FAILED:
        return "compile error";
    case COMPILE_DEADLINE:
        return "compile deadline";
    case COMPILE_MEMORY:
        return "compile out of memory";
    case COMPILE_OUTPUT:
        return "compile output over its limit";
    case COMPILE_CRASHED:
        return "the compiler crashed";
    }
    return "?";
}

/* ---- opening ---- */

static void hash_file_size(struct hash_stream *stream, const char *path)
{
    struct stat info;
    int64_t size = stat(path, &info) == 0 ? (int64_t)info.st_size : -1;
    hash_add(stream, &size, sizeof(size));
}

/* Versions and sizes tell NVRTCs and header sets apart without reading 100 MB. */
static struct hash identify(struct arena *arena, const struct nvrtc_info *nvrtc)
{
    static const char *const headers[] = {"cuda_fp16.hpp",
                                          "cuda_bf16.hpp",
                                          "cuda_fp8.hpp",
                                          "mma.h",
                                          "cooperative_groups.h",
                                          "cuda_runtime_api.h",
                                          "curand_kernel.h",
                                          "cccl/cuda/version",
                                          "cccl/cuda/std/__cccl/version.h",
                                          "cccl/cuda/pipeline",
                                          "cccl/cub/version.cuh"};
    struct hash_stream stream;
    int version[] = {CACHE_VERSION, nvrtc->major, nvrtc->minor};
    hash_begin(&stream);
    hash_add(&stream, version, sizeof(version));
    hash_field(&stream, str_from(embed_verify_device_prelude_ww_prelude_h));
    hash_file_size(&stream, nvrtc->path);
    for (size_t i = 0; nvrtc->include && i < COUNT_OF(headers); i++)
        hash_file_size(&stream, path_join(arena, nvrtc->include, headers[i]));
    return hash_end(&stream);
}

static const char *copy_or_null(struct arena *arena, const char *text)
{
    return text ? str_copy(arena, str_from(text)) : NULL;
}

bool compiler_open(struct arena *arena, const struct compiler_options *options,
                   struct compiler **out, struct err *err)
{
    struct compiler *compiler = arena_new(arena, struct compiler);
    compiler->options = *options;
    compiler->options.paths = (struct device_paths){
        copy_or_null(arena, options->paths.cuda_home),
        copy_or_null(arena, options->paths.build_folder),
    };
    compiler->server.fd = -1;
    device_probe_nvrtc(arena, &compiler->options.paths, &compiler->nvrtc);
    if (!compiler->nvrtc.found)
        return err_raise(err, ERR_DEVICE, "%s", compiler->nvrtc.why_not);
    device_probe_sandbox(&compiler->have);
    compiler->identity = identify(arena, &compiler->nvrtc);
    *out = compiler;
    return true;
}

void compiler_close(struct compiler *compiler)
{
    compile_server_stop(&compiler->server);
}

/* ---- the job ---- */

static bool check_arch(const char *arch, struct err *err)
{
    size_t prefix = strncmp(arch, "sm_", 3) == 0 ? 3 : strncmp(arch, "compute_", 8) == 0 ? 8 : 0;
    size_t digits = 0;
    while (prefix && isdigit((unsigned char)arch[prefix + digits]))
        digits++;
    const char *suffix = arch + prefix + digits;
    bool ok = prefix && digits >= 2 && digits <= 3 &&
              (*suffix == '\0' || ((*suffix == 'a' || *suffix == 'f') && suffix[1] == '\0'));
    return ok ||
           err_raise(err, ERR_USAGE, "\"%s\" is no architecture; write sm_90a or compute_90", arch);
}

static bool is_installed(const struct compiler *compiler, struct arena *arena, struct str name)
{
    const struct nvrtc_info *nvrtc = &compiler->nvrtc;
    const char *path = str_copy(arena, name);
    return nvrtc->include &&
           (file_exists(path_join(arena, nvrtc->include, path)) ||
            (nvrtc->include_cccl && file_exists(path_join(arena, nvrtc->include_cccl, path))));
}

static const char *headers_text(const struct compiler *compiler, struct arena *arena,
                                const struct screen_report *report)
{
    struct buf text;
    struct buf one;
    buf_init(&text, arena, COMPILE_HEADERS_BYTES_MAX);
    for (size_t i = 0; i < report->hoisted_count; i++) {
        buf_init(&one, arena, COMPILE_HEADERS_BYTES_MAX);
        buf_printf(&one, "#include <%.*s>\n", STR_ARG(report->hoisted[i]));
        if (is_installed(compiler, arena, report->hoisted[i]) &&
            text.len + one.len < COMPILE_HEADERS_BYTES_MAX)
            buf_str(&text, buf_view(&one));
    }
    return buf_view(&text).at;
}

static struct hash job_key(const struct compiler *compiler, const struct compile_job *job)
{
    struct hash_stream stream;
    uint8_t debug = job->debug;
    hash_begin(&stream);
    hash_field(&stream, STR_LIT("compile"));
    hash_add(&stream, compiler->identity.bytes, sizeof(compiler->identity.bytes));
    hash_field(&stream, str_from(job->arch));
    hash_add(&stream, &debug, sizeof(debug));
    hash_field(&stream, str_from(job->headers));
    hash_field(&stream, job->source);
    return hash_end(&stream);
}

/* ---- results ---- */

/* What the children and the cache both yield. */
struct outcome {
    enum compile_end end;
    struct str ptx, cubin, log;
    const char *why; /* NULL: the log says it */
    int64_t wall_ns;
};

static const char *first_error(struct arena *arena, const struct compile_result *result)
{
    char text[REASON_BYTES_MAX];
    for (size_t i = 0; i < result->diagnostic_count; i++) {
        const struct compile_diagnostic *found = &result->diagnostics[i];
        if (!found->is_error)
            continue;
        if (found->line == 0)
            snprintf(text, sizeof(text), "%s", found->text);
        else if (found->column == 0)
            snprintf(text, sizeof(text), "kernel.cu:%d: %s", found->line, found->text);
        else
            snprintf(text, sizeof(text), "kernel.cu:%d:%d: %s", found->line, found->column,
                     found->text);
        return str_copy(arena, str_from(text));
    }
    return "the compiler gave no reason";
}

static struct str copy_bytes(struct arena *arena, struct str s)
{
    return (struct str){str_copy(arena, s), s.len};
}

static void fill_result(struct arena *arena, const struct outcome *outcome,
                        struct compile_result *result)
{
    *result = (struct compile_result){
        .end = outcome->end,
        .ptx = copy_bytes(arena, outcome->ptx),
        .cubin = copy_bytes(arena, outcome->cubin),
        .log = copy_bytes(arena, outcome->log),
        .wall_ns = outcome->wall_ns,
    };
    compile_log_parse(arena, result->log, result);
    result->reason = outcome->why                 ? str_copy(arena, str_from(outcome->why))
                     : outcome->end == COMPILE_OK ? compile_end_text(COMPILE_OK)
                                                  : first_error(arena, result);
}

/* The screen's complaint as a result with one diagnostic. */
static void fill_rejected(struct arena *arena, const struct err *why, struct compile_result *result)
{
    struct compile_diagnostic *found = arena_new(arena, struct compile_diagnostic);
    struct str rest = str_from(str_copy(arena, str_from(why->text)));
    struct str line = {0};
    int consumed = 0;
    *result = (struct compile_result){.end = COMPILE_REJECTED, .log = rest};
    str_next_line(&rest, &line);
    result->reason = str_copy(arena, line);
    found->is_error = true;
    found->text = result->reason;
    if (sscanf(result->reason, "kernel.cu:%d:%d: %n", &found->line, &found->column, &consumed) ==
            2 &&
        consumed > 0) {
        found->text = result->reason + consumed;
        if (str_next_line(&rest, &line) && line.len >= 2)
            found->source_line = str_copy(arena, (struct str){line.at + 2, line.len - 2});
    }
    result->diagnostics = found;
    result->diagnostic_count = 1;
}

/* ---- the cache ---- */

struct cache_head {
    uint32_t magic;
    uint32_t end;
    int64_t wall_ns;
    uint64_t ptx_len, cubin_len, log_len, why_len;
};

static bool take(struct str *rest, uint64_t len, struct str *out)
{
    if (len > rest->len)
        return false;
    *out = (struct str){rest->at, (size_t)len};
    rest->at += len;
    rest->len -= (size_t)len;
    return true;
}

static bool cache_load(const struct compiler *compiler, struct arena *arena, const struct hash *key,
                       struct outcome *out)
{
    struct str rest;
    struct str why;
    struct cache_head head;
    if (!compiler->options.cache || !cache_get(compiler->options.cache, arena, key, &rest) ||
        rest.len < sizeof(head))
        return false;
    memcpy(&head, rest.at, sizeof(head));
    rest.at += sizeof(head);
    rest.len -= sizeof(head);
    if (head.magic != CACHE_MAGIC || !take(&rest, head.ptx_len, &out->ptx) ||
        !take(&rest, head.cubin_len, &out->cubin) || !take(&rest, head.log_len, &out->log) ||
        !take(&rest, head.why_len, &why))
        return false;
    out->end = (enum compile_end)head.end;
    out->wall_ns = head.wall_ns;
    out->why = why.len ? str_copy(arena, why) : NULL;
    return out->end == COMPILE_OK || out->end == COMPILE_FAILED || out->end == COMPILE_OUTPUT;
}

/* A cache that cannot be written costs time, not results. */
static void cache_store(const struct compiler *compiler, struct arena *arena,
                        const struct hash *key, const struct outcome *outcome)
{
    struct buf payload;
    struct err ignored;
    struct cache_head head = {
        .magic = CACHE_MAGIC,
        .end = (uint32_t)outcome->end,
        .wall_ns = outcome->wall_ns,
        .ptx_len = outcome->ptx.len,
        .cubin_len = outcome->cubin.len,
        .log_len = outcome->log.len,
        .why_len = outcome->why ? strlen(outcome->why) : 0,
    };
    if (!compiler->options.cache || (outcome->end != COMPILE_OK && outcome->end != COMPILE_FAILED &&
                                     outcome->end != COMPILE_OUTPUT))
        return;
    buf_init(&payload, arena, 2 * (size_t)COMPILE_FRAME_BYTES_MAX);
    buf_bytes(&payload, &head, sizeof(head));
    buf_str(&payload, outcome->ptx);
    buf_str(&payload, outcome->cubin);
    buf_str(&payload, outcome->log);
    if (outcome->why)
        buf_text(&payload, outcome->why);
    if (!cache_put(compiler->options.cache, key, buf_view(&payload), &ignored))
        return;
}

/* ---- what came back from a child ---- */

static const char *format(struct arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);
static const char *format(struct arena *arena, const char *fmt, ...)
{
    struct buf text;
    va_list args;
    buf_init(&text, arena, REASON_BYTES_MAX);
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    return buf_view(&text).at;
}

static bool split_frame(struct str bytes, struct compile_frame *frame, struct outcome *out)
{
    if (bytes.len < sizeof(*frame))
        return false;
    memcpy(frame, bytes.at, sizeof(*frame));
    bytes.at += sizeof(*frame);
    bytes.len -= sizeof(*frame);
    return frame->magic == COMPILE_FRAME_MAGIC && take(&bytes, frame->ptx_len, &out->ptx) &&
           take(&bytes, frame->cubin_len, &out->cubin) && take(&bytes, frame->log_len, &out->log);
}

/* A child that did not answer. */
static void judge_dead(struct arena *arena, const struct proc_result *child,
                       const struct proc_limits *limits, struct outcome *out)
{
    bool near_limit = child->rss_bytes_max > limits->memory_bytes / 4 * 3;
    switch (child->end) {
    case PROC_DEADLINE:
        out->end = COMPILE_DEADLINE;
        out->why = format(arena,
                          "still compiling after %.1f s: templates, macros or unrolling "
                          "without end",
                          (double)limits->wall_ms / 1000 / LOAD_FACTOR);
        return;
    case PROC_OUTPUT:
        out->end = COMPILE_OUTPUT;
        out->why = "the compiler's output is over its limit";
        return;
    case PROC_MEMORY:
        out->end = COMPILE_MEMORY;
        break;
    case PROC_SIGNALLED:
        out->end = near_limit || child->status == SIGKILL ? COMPILE_MEMORY : COMPILE_CRASHED;
        break;
    case PROC_EXITED:
        out->end = near_limit ? COMPILE_MEMORY : COMPILE_CRASHED;
        break;
    }
    if (out->end == COMPILE_MEMORY)
        out->why =
            format(arena, "the compiler needed more than %zu MiB", limits->memory_bytes >> 20);
    else
        out->why = format(arena, "the compiler died (%s %d); source nested too deep or too long?",
                          child->end == PROC_SIGNALLED ? "signal" : "exit status", child->status);
}

static bool says_no_memory(struct str log)
{
    static const char text[] = "out of memory";
    return log.len && memmem(log.at, log.len, text, sizeof(text) - 1);
}

static bool judge_frame(struct arena *arena, const struct compile_frame *frame,
                        const struct proc_limits *limits, struct outcome *out, struct err *err)
{
    if (frame->rc == -1)
        return err_raise(err, ERR_CHILD, "%.*s", STR_ARG(out->log));
    if (frame->rc == NVRTC_INVALID_OPTION)
        return err_raise(err, ERR_UNSUPPORTED, "NVRTC refuses: %.*s", STR_ARG(out->log));
    if (frame->over_limit) {
        out->end = COMPILE_OUTPUT;
        out->why = format(arena, "PTX, cubin or log is over its limit (%d, %d MiB, %d KiB)",
                          COMPILE_PTX_BYTES_MAX >> 20, COMPILE_CUBIN_BYTES_MAX >> 20,
                          COMPILE_LOG_BYTES_MAX >> 10);
        out->ptx = out->cubin = (struct str){0};
    } else if (frame->rc == NVRTC_OK) {
        out->end = COMPILE_OK;
    } else if (frame->rc == NVRTC_OUT_OF_MEMORY || says_no_memory(out->log)) {
        out->end = COMPILE_MEMORY;
        out->why =
            format(arena, "the compiler needed more than %zu MiB", limits->memory_bytes >> 20);
    } else if (frame->rc == NVRTC_COMPILATION) {
        out->end = COMPILE_FAILED;
    } else {
        out->end = COMPILE_CRASHED;
        out->why = format(arena, "NVRTC failed inside (result %d)", frame->rc);
    }
    return compile_log_clean(arena, out->log, &out->log, err);
}

static bool judge(struct arena *arena, const struct proc_result *child,
                  const struct proc_limits *limits, struct outcome *out, struct err *err)
{
    struct compile_frame frame;
    *out = (struct outcome){.end = COMPILE_CRASHED, .wall_ns = child->wall_ns};
    if (child->end != PROC_EXITED || !split_frame(child->out, &frame, out)) {
        *out = (struct outcome){.end = COMPILE_CRASHED, .wall_ns = child->wall_ns};
        judge_dead(arena, child, limits, out);
        return true;
    }
    if (!judge_frame(arena, &frame, limits, out, err))
        return false;
    out->ptx = compile_ptx_clean(arena, out->ptx);
    return true;
}

/* ---- running it ---- */

struct fresh_work {
    const struct compiler *compiler;
    const struct compile_job *job;
};

/* A child without a server: load NVRTC, then as the server's forks do. */
static int fresh_child(void *context, int out_fd)
{
    const struct fresh_work *work = context;
    struct arena arena;
    struct nvrtc nvrtc;
    struct compile_tool tool;
    struct err err = {0};
    close_range(3, (unsigned)out_fd - 1, 0);
    close_range((unsigned)out_fd + 1, ~0U, 0);
    clearenv();
    arena_init(&arena, 16 << 20);
    if (!nvrtc_load(&arena, &work->compiler->options.paths, &nvrtc, &err) ||
        !compile_tool_prepare(&tool, &arena, &nvrtc, &work->compiler->have, &err)) {
        struct compile_frame frame = {
            .magic = COMPILE_FRAME_MAGIC, .rc = -1, .log_len = strlen(err.text)};
        return proc_write_all(out_fd, &frame, sizeof(frame)) &&
                       proc_write_all(out_fd, err.text, frame.log_len)
                   ? 0
                   : 1;
    }
    return compile_child_run(&tool, work->job, out_fd);
}

static bool run_fresh(struct compiler *compiler, struct arena *scratch,
                      const struct compile_job *job, struct proc_limits limits,
                      struct proc_result *child, struct err *err)
{
    struct fresh_work work = {compiler, job};
    limits.wall_ms += LOAD_MS;
    limits.cpu_s += LOAD_MS / 1000;
    return proc_fork(scratch, fresh_child, &work, &limits, child, err);
}

/* A server that was killed from outside is no fault of the source, so it gets a second one; a
 * source in which two servers are lost has crashed them. */
static bool run_served(struct compiler *compiler, struct arena *scratch,
                       const struct compile_job *job, const struct proc_limits *limits,
                       struct proc_result *child, struct err *err)
{
    struct compile_server *server = &compiler->server;
    int lost_compiling = 0;
    for (int attempt = 0; attempt < SERVER_ATTEMPTS; attempt++) {
        enum compile_relay relay = RELAY_OK;
        if (server->pid == 0)
            relay = compile_server_start(&compiler->options.paths, server, err);
        if (relay == RELAY_FAILED)
            return false;
        if (relay == RELAY_LOST)
            continue;
        relay = compile_server_run(server, scratch, job, limits, child, err);
        if (relay != RELAY_LOST)
            return relay == RELAY_OK;
        if (++lost_compiling == 2) {
            *child = (struct proc_result){.end = PROC_SIGNALLED, .status = SIGABRT};
            return true;
        }
    }
    return false;
}

static bool run_job(struct compiler *compiler, struct arena *scratch, const struct compile_job *job,
                    const struct compile_request *request, struct outcome *out, struct err *err)
{
    struct proc_result child;
    int64_t wall_ms = request->wall_ms ? request->wall_ms : WALL_MS_DEFAULT;
    struct proc_limits limits = {
        .wall_ms = LOAD_FACTOR * wall_ms,
        .cpu_s = (wall_ms + 999) / 1000,
        .memory_bytes = request->memory_bytes ? request->memory_bytes : memory_default,
        .output_bytes_max = COMPILE_FRAME_BYTES_MAX,
    };
    bool ran = compiler->options.no_server
                   ? run_fresh(compiler, scratch, job, limits, &child, err)
                   : run_served(compiler, scratch, job, &limits, &child, err);
    return ran && judge(scratch, &child, &limits, out, err);
}

bool compiler_compile(struct compiler *compiler, struct arena *arena,
                      const struct compile_request *request, struct compile_result *result,
                      struct err *err)
{
    struct arena scratch;
    struct screen_report report;
    struct outcome outcome = {0};
    struct err why;
    struct screen_options strictness = {.strict = !sandbox_confines_files(&compiler->have)};
    bool ok = false;
    if (!check_arch(request->arch, err))
        return false;
    if (!screen_source(request->source, &strictness, &report, &why)) {
        fill_rejected(arena, &why, result);
        return true;
    }
    arena_init(&scratch, scratch_bytes);
    struct compile_job job = {
        .source = request->source,
        .arch = request->arch,
        .headers = headers_text(compiler, &scratch, &report),
        .debug = request->debug,
    };
    struct hash key = job_key(compiler, &job);
    bool cached = cache_load(compiler, &scratch, &key, &outcome);
    if (!cached && !run_job(compiler, &scratch, &job, request, &outcome, err))
        goto out;
    if (!cached)
        cache_store(compiler, &scratch, &key, &outcome);
    fill_result(arena, &outcome, result);
    result->cached = cached;
    ok = true;
out:
    arena_release(&scratch);
    return ok;
}
