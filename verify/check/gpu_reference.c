/*
 * The process that knows what an output should be.
 *
 * Problem: a candidate that can read the expected values need not compute them.  So they are never
 * in its address space: a second process with a context of its own makes the same data, runs the
 * reference kernel and compares, each time after the candidate's launch.  Outputs travel through
 * memory that both host processes share and no GPU sees.
 *
 * The reference is ours but not beyond doubt: at the first question, elements of it are held
 * against the interpreter, on parts of the op that cost the interpreter little.
 *
 * Invariant: an answer is whole or the process is gone; a process that is gone is an error of the
 * machine, never evidence.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "base/proc.h"

#include "verify/check/on_gpu_int.h"

enum {
    REFERENCE_LAUNCH_MS = 120 * 1000,
    CONFIRM_ITERATIONS_MAX = 20000000, /* TUNING: about a second of the interpreter */
    CONFIRM_PARTS = 3,
    CONFIRM_ELEMENTS_MIN = 1000,
    OUTPUT_GRAIN = 4096,
};
static const size_t scratch_bytes_max = (size_t)24 << 30;

struct question {
    int32_t class;
    uint32_t call;
};

/* ---- the child ---- */

struct knower {
    const struct gpu_job *job;
    const struct reference *shared;
    struct arena *arena;
    struct gpu *gpu;
    struct gpu_tools tools;
    struct gpu_program program;
    uint64_t *tensors, *workspaces; /* device memory */
    struct rng rng;
    int64_t confirmed;
};

static bool allocate(struct knower *k, struct err *err)
{
    const struct bound_op *bound = k->job->target;
    const size_t workspaces = k->program.manifest->workspace_count;
    size_t *bytes = arena_array(k->arena, size_t, workspaces + 1);

    k->tensors = arena_array(k->arena, uint64_t, bound->op->tensor_count + 1);
    k->workspaces = arena_array(k->arena, uint64_t, workspaces + 1);
    if (!gpu_workspaces(&k->program, bound, bytes, err))
        return false;
    for (size_t t = 0; t < bound->op->declared_count; t++)
        if (!gpu_alloc(k->gpu, (size_t)bound->tensors[t].bytes, &k->tensors[t], err))
            return false;
    for (size_t w = 0; w < workspaces; w++)
        if (!gpu_alloc(k->gpu, bytes[w], &k->workspaces[w], err))
            return false;
    return true;
}

static bool get_ready(struct knower *k, struct err *err)
{
    rng_init(&k->rng, k->job->secret ^ 0x636f6e6669726dull);
    return gpu_open(k->arena, 0, &k->gpu, err) &&
           gpu_tools_open(k->arena, k->gpu, k->job->tools, &k->tools, err) &&
           gpu_program_load(k->arena, k->gpu, &k->job->reference, k->job->op, &k->program, err) &&
           allocate(k, err);
}

static bool workspace_named(const struct knower *k, const char *what, size_t tensor,
                            uint64_t *address)
{
    const struct manifest *m = k->program.manifest;
    char name[256];

    snprintf(name, sizeof(name), "%s:%.*s", what, STR_ARG(k->job->op->tensors[tensor].name));
    for (size_t w = 0; w < m->workspace_count; w++)
        if (str_equal(m->workspaces[w].name, str_from(name))) {
            *address = k->workspaces[w];
            return true;
        }
    return false;
}

static bool compute(struct knower *k, struct arena *scratch, const struct gpu_filling *data,
                    struct err *err)
{
    const struct gpu_addresses addresses = {k->tensors, k->workspaces};
    const struct op *op = k->job->op;

    for (size_t t = 0; t < op->declared_count; t++)
        if (tensor_is_fed(op, t) && !gpu_fill(&k->tools, scratch, data, t, k->tensors[t], err))
            return false;
    return gpu_program_queue(scratch, &k->program, data->bound, &addresses, GPU_STAGE_RUN, err) &&
           gpu_wait(k->gpu, REFERENCE_LAUNCH_MS, err);
}

static bool compare_tensor(struct knower *k, size_t tensor, bool finite,
                           struct reference_answer *answer, struct err *err)
{
    const struct bound_tensor *shape = &k->job->target->tensors[tensor];
    struct gpu_comparison what = {
        .got = k->tensors[tensor],
        .dtype = k->job->op->tensors[tensor].dtype,
        .count = shape->count,
        .skip_nonfinite = finite,
    };
    struct comparison found;

    if (!workspace_named(k, "value", tensor, &what.value) ||
        !workspace_named(k, "bound", tensor, &what.bounds))
        return err_raise(err, ERR_SEMANTIC, "the reference does not give %.*s",
                         STR_ARG(k->job->op->tensors[tensor].name));
    if (!gpu_upload(k->gpu, what.got, k->shared->shared + k->shared->offsets[tensor],
                    (size_t)shape->bytes, err) ||
        !gpu_compare(&k->tools, &what, &found, err))
        return false;
    answer->compared += found.compared;
    answer->wrong += found.wrong;
    answer->elements += shape->count;
    if (found.worst_element < 0 || (answer->element >= 0 && !(found.ratio > answer->ratio)))
        return true;
    answer->tensor = tensor;
    answer->element = found.worst_element;
    answer->got = found.got;
    answer->want = found.want;
    answer->bound = found.bound;
    answer->ratio = found.ratio;
    return true;
}

/* ---- the interpreter's word ---- */

/* The slice's inputs, out of the data that the GPU made. */
static bool cut_inputs(struct knower *k, struct arena *scratch, const struct slice *slice,
                       void **data, struct err *err)
{
    const struct bound_op *whole = k->job->target;
    const struct op *op = whole->op;

    for (size_t t = 0; t < op->declared_count; t++) {
        const size_t size = dtype_bytes(op->tensors[t].dtype);
        const size_t bytes = (size_t)whole->tensors[t].bytes;
        uint8_t *all, *part;

        if (!tensor_is_fed(op, t))
            continue;
        all = arena_alloc(scratch, bytes + 16, 1, 16);
        part = arena_alloc(scratch, (size_t)slice->part->tensors[t].bytes + 16, 1, 16);
        if (!gpu_download(k->gpu, all, k->tensors[t], bytes, err))
            return false;
        for (int64_t i = 0; i < slice->part->tensors[t].count; i++)
            memcpy(part + (size_t)i * size, all + (size_t)slice_element(slice, whole, t, i) * size,
                   size);
        data[t] = part;
    }
    return true;
}

static bool near(double a, double b, double relative)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= relative;
}

/* Values to rounding of doubles, bounds to 1 %. */
static bool agree(const struct values *values, int64_t i, double value, double bound)
{
    const bool open = (values->open != NULL && values->open[i]) || !isfinite(values->bounds[i]);
    const double want = values->reals != NULL ? values->reals[i] : (double)values->ints[i];

    if (open || !(bound >= 0) || isinf(bound))
        return open || values->reals == NULL || values->bounds[i] > 0;
    return near(value, want, 1e-9 * fabs(want) + 1e-3 * values->bounds[i]) &&
           (near(bound, values->bounds[i], 0.01 * values->bounds[i]) || values->reals == NULL);
}

static bool confirm_tensor(struct knower *k, struct arena *scratch, const struct slice *slice,
                           size_t tensor, const struct values *values, struct err *err)
{
    const size_t count = (size_t)k->job->target->tensors[tensor].count;
    double *value = arena_array(scratch, double, count + 1);
    double *bound = arena_array(scratch, double, count + 1);
    uint64_t value_at, bound_at;

    if (!workspace_named(k, "value", tensor, &value_at) ||
        !workspace_named(k, "bound", tensor, &bound_at) ||
        !gpu_download(k->gpu, value, value_at, count * 8, err) ||
        !gpu_download(k->gpu, bound, bound_at, count * 8, err))
        return false;
    for (int64_t i = 0; i < values->count; i++) {
        const size_t at = (size_t)slice_element(slice, k->job->target, tensor, i);
        double got = value[at];
        int64_t whole;

        memcpy(&whole, &value[at], sizeof(whole));
        if (values->reals == NULL)
            got = (double)whole;
        if (!agree(values, i, got, bound[at]))
            return err_raise(
                err, ERR_SEMANTIC,
                "reference and interpreter disagree about %.*s[%zu]: %.17g within %.3g, "
                "%.17g within %.3g",
                STR_ARG(k->job->op->tensors[tensor].name), at, got, bound[at],
                values->reals != NULL ? values->reals[i] : (double)values->ints[i],
                values->bounds[i]);
    }
    k->confirmed += values->count;
    return true;
}

static bool confirm_part(struct knower *k, struct arena *scratch, bool *sliced, struct err *err)
{
    const struct op *op = k->job->op;
    void **data = arena_array(scratch, void *, op->tensor_count + 1);
    struct values *values = arena_array(scratch, struct values, op->tensor_count + 1);
    const struct interp_options options = {.mode = INTERP_BOUND, .track = k->job->track};
    const struct interp_inputs inputs = {(const void *const *)data};
    struct slice slice;

    if (!slice_choose(scratch, k->job->target, CONFIRM_ITERATIONS_MAX, &k->rng, &slice, err))
        return false;
    *sliced = slice.part != NULL;
    if (!*sliced)
        return true;
    if (!cut_inputs(k, scratch, &slice, data, err) ||
        !interp_run(scratch, slice.part, &inputs, &options, values, err))
        return false;
    for (size_t t = 0; t < op->declared_count; t++)
        if (tensor_is_output(op, t) && !confirm_tensor(k, scratch, &slice, t, &values[t], err))
            return false;
    return true;
}

static bool confirm(struct knower *k, struct err *err)
{
    bool sliced = true, ok = true;

    for (int i = 0; i < CONFIRM_PARTS && ok && sliced && k->confirmed < CONFIRM_ELEMENTS_MIN; i++) {
        struct arena scratch;

        arena_init(&scratch, scratch_bytes_max);
        ok = confirm_part(k, &scratch, &sliced, err);
        arena_release(&scratch);
    }
    return ok;
}

/* ---- answering ---- */

static bool answer_one(struct knower *k, const struct question *question,
                       struct reference_answer *answer, struct err *err)
{
    const struct gpu_filling data = {k->job->target, (enum data_class)question->class,
                                     k->job->secret, question->call};
    const struct op *op = k->job->op;
    struct arena scratch;
    bool ok;

    arena_init(&scratch, scratch_bytes_max);
    ok = compute(k, &scratch, &data, err);
    for (size_t t = 0; t < op->declared_count && ok; t++)
        if (tensor_is_output(op, t))
            ok = compare_tensor(k, t, data.class != DATA_SPECIAL, answer, err);
    arena_release(&scratch);
    return ok && (k->confirmed > 0 || confirm(k, err));
}

static bool read_whole(int fd, void *out, size_t bytes)
{
    uint8_t *at = out;

    while (bytes > 0) {
        const ssize_t len = read(fd, at, bytes);

        if (len < 0 && errno == EINTR)
            continue;
        if (len <= 0)
            return false;
        at += len;
        bytes -= (size_t)len;
    }
    return true;
}

static NORETURN void know(struct arena *arena, const struct gpu_job *job,
                          const struct reference *shared)
{
    struct knower k = {.job = job, .shared = shared, .arena = arena};
    struct question question;
    struct err err;
    const bool ready = get_ready(&k, &err);

    while (read_whole(shared->fd, &question, sizeof(question))) {
        const int64_t start = clock_mono_ns();
        struct reference_answer answer = {.element = -1};

        if (!ready || !answer_one(&k, &question, &answer, &err)) {
            answer.code = (int32_t)err.code;
            memcpy(answer.text, err.text, sizeof(answer.text));
        }
        answer.confirmed = k.confirmed;
        answer.wall_ns = clock_mono_ns() - start;
        if (!proc_write_all(shared->fd, &answer, sizeof(answer)))
            break;
    }
    _exit(0);
}

/* ---- the side that asks ---- */

static bool share(struct arena *arena, const struct gpu_job *job, struct reference *out,
                  struct err *err)
{
    const struct bound_op *bound = job->target;
    void *at;

    out->offsets = arena_array(arena, size_t, bound->op->tensor_count + 1);
    for (size_t t = 0; t < bound->op->declared_count; t++)
        if (tensor_is_output(bound->op, t)) {
            out->offsets[t] = out->shared_bytes;
            out->shared_bytes +=
                ((size_t)bound->tensors[t].bytes + OUTPUT_GRAIN) / OUTPUT_GRAIN * OUTPUT_GRAIN;
        }
    at = mmap(NULL, out->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return err_raise(err, ERR_CHILD, "%zu bytes of shared memory: %s", out->shared_bytes,
                         strerror(errno));
    out->shared = at;
    return true;
}

bool reference_start(struct arena *arena, const struct gpu_job *job, struct reference *out,
                     struct err *err)
{
    struct reference reference = {.fd = -1};
    const pid_t parent = getpid();
    int fds[2];
    pid_t pid;

    if (!share(arena, job, &reference, err))
        return false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return err_raise(err, ERR_CHILD, "socketpair: %s", strerror(errno));
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(fds[0]);
        reference.fd = fds[1];
        if (getppid() != parent)
            _exit(1);
        know(arena, job, &reference);
    }
    close(fds[1]);
    reference.fd = fds[0];
    reference.pid = pid;
    if (pid < 0) {
        close(fds[0]);
        return err_raise(err, ERR_CHILD, "fork: %s", strerror(errno));
    }
    *out = reference;
    return true;
}

bool reference_ask(struct reference *reference, enum data_class class, uint32_t call,
                   struct reference_answer *out, struct err *err)
{
    const struct question question = {(int32_t) class, call};
    struct reference_answer answer;

    if (!proc_write_all(reference->fd, &question, sizeof(question)) ||
        !read_whole(reference->fd, &answer, sizeof(answer)))
        return err_raise(err, ERR_CHILD, "the process of the reference is gone");
    answer.text[sizeof(answer.text) - 1] = '\0';
    if (answer.code != ERR_NONE)
        return err_raise(err, (enum err_code)answer.code, "reference: %s", answer.text);
    *out = answer;
    return true;
}

void reference_stop(struct reference *reference)
{
    if (reference->pid <= 0)
        return;
    close(reference->fd);
    kill(reference->pid, SIGKILL);
    while (waitpid(reference->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    munmap(reference->shared, reference->shared_bytes);
    *reference = (struct reference){.fd = -1};
}
