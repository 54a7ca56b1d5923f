/*
 * The gates in order: screen, compile, and the worker's observe, emulate, compare.
 *
 * Here, in the parent, the candidate is text and nothing else: the compiler runs in a child of its
 * own, and everything that reads its output runs in the worker.  A candidate that cannot be judged
 * for reasons of ours ends as `infrastructure`, which is never evidence.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"

#include "verify/check/check_int.h"

enum { DIAGNOSTICS_SHOWN = 3 };

struct passage {
    struct arena *arena;
    struct verdict *verdict;
    struct gate_record *gates;
    size_t count;
};

static void passed(struct passage *passage, enum gate gate, bool ok, int64_t start_ns)
{
    passage->gates[passage->count++] =
        (struct gate_record){.gate = gate, .passed = ok, .wall_ns = clock_mono_ns() - start_ns};
}

static bool stop(struct passage *passage, enum gate gate, enum validity validity,
                 const char *reason, int line)
{
    passage->verdict->gate = gate;
    passage->verdict->validity = validity;
    passage->verdict->reason = str_from(str_copy(passage->arena, str_from(reason)));
    passage->verdict->source_line = line;
    return false;
}

static bool screen(struct passage *passage, const struct op *op, const struct candidate *candidate)
{
    const int64_t start = clock_mono_ns();
    struct err why;
    bool ok = manifest_check(candidate->manifest, op, &why);

    if (ok && candidate->form == CANDIDATE_CUDA)
        ok = device_screen_source(candidate->text, &why);
    passed(passage, GATE_SCREEN, ok, start);
    return ok || stop(passage, GATE_SCREEN, VALIDITY_SOURCE_REJECTED, why.text, 0);
}

/* The first errors of the compiler, one a line, for the reader or the next prompt. */
static struct str errors_text(struct arena *arena, const struct compile_result *result, int *line)
{
    struct buf text;
    int shown = 0;

    *line = 0;
    buf_init(&text, arena, VERDICT_REASON_BYTES_MAX);
    for (size_t i = 0; i < result->diagnostic_count && shown < DIAGNOSTICS_SHOWN; i++) {
        const struct compile_diagnostic *diagnostic = &result->diagnostics[i];

        if (!diagnostic->is_error)
            continue;
        if (*line == 0)
            *line = diagnostic->line;
        shown++;
        buf_printf(&text, "line %d: %s\n", diagnostic->line, diagnostic->text);
        if (diagnostic->source_line != NULL)
            buf_printf(&text, "    %s\n", diagnostic->source_line);
    }
    return str_from(str_copy(arena, buf_view(&text)));
}

static enum validity compile_validity(enum compile_end end)
{
    switch (end) {
    case COMPILE_OK:
        return VALIDITY_ACCEPTED;
    case COMPILE_REJECTED:
        return VALIDITY_SOURCE_REJECTED;
    case COMPILE_FAILED:
    case COMPILE_DEADLINE:
    case COMPILE_MEMORY:
    case COMPILE_OUTPUT:
    case COMPILE_CRASHED:
        return VALIDITY_COMPILE_ERROR;
    }
    return VALIDITY_INFRASTRUCTURE;
}

/* *go_on false when the candidate ends here. */
static bool compile(struct passage *passage, const struct candidate *candidate, const char *arch,
                    struct compiler *compiler, struct check_products *products, bool *go_on,
                    struct err *err)
{
    const int64_t start = clock_mono_ns();
    const struct compile_request request = {.source = candidate->text, .arch = arch};
    struct compile_result result;
    int line;

    *go_on = true;
    switch (candidate->form) {
    case CANDIDATE_PTX:
        products->ptx = candidate->text;
        return true;
    case CANDIDATE_CUBIN:
        products->cubin = candidate->text;
        return true;
    case CANDIDATE_CUDA:
        break;
    }
    if (compiler == NULL)
        return err_raise(err, ERR_DEVICE, "CUDA source needs the compiler, NVRTC; run `doctor`");
    if (!compiler_compile(compiler, passage->arena, &request, &result, err))
        return err_context(err, "compile");
    *go_on = result.end == COMPILE_OK;
    passed(passage, GATE_COMPILE, *go_on, start);
    products->ptx = result.ptx;
    products->cubin = result.cubin;
    products->log = result.log;
    if (*go_on)
        return true;
    passage->verdict->detail = errors_text(passage->arena, &result, &line);
    (void)stop(passage, result.end == COMPILE_REJECTED ? GATE_SCREEN : GATE_COMPILE,
               compile_validity(result.end),
               result.reason != NULL ? result.reason : compile_end_text(result.end), line);
    return true;
}

static void merge_gates(struct passage *passage)
{
    struct verdict *verdict = passage->verdict;
    struct gate_record *all =
        arena_array(passage->arena, struct gate_record, passage->count + verdict->gate_count + 1);

    memcpy(all, passage->gates, passage->count * sizeof(all[0]));
    if (verdict->gate_count > 0)
        memcpy(all + passage->count, verdict->gates, verdict->gate_count * sizeof(all[0]));
    verdict->gates = all;
    verdict->gate_count += passage->count;
}

bool check_candidate(struct arena *arena, const struct op *op, const struct candidate *candidate,
                     const struct check_options *options, struct compiler *compiler,
                     struct check_products *products, struct verdict *verdict, struct err *err)
{
    const struct track *track = options->track != NULL ? options->track : &op->tracks[0];
    const char *arch =
        options->arch != NULL ? options->arch : str_copy(arena, candidate->manifest->arch);
    struct check_products made = {0};
    struct verdict found = {
        .validity = VALIDITY_INFRASTRUCTURE,
        .timing = TIMING_NONE,
        .track = track->name,
        .arch = str_from(arch),
        .executor = STR_LIT("emulator"),
        .seed = options->secret,
    };
    struct passage passage = {arena, &found, arena_array(arena, struct gate_record, GATE_COUNT), 0};
    struct subject subject = {
        .op = op,
        .manifest = candidate->manifest,
        .options = options,
        .track = track,
        .arch = arch,
    };
    bool go_on = screen(&passage, op, candidate);

    if (go_on && !compile(&passage, candidate, arch, compiler, &made, &go_on, err))
        return false;
    subject.smem_bytes_max =
        options->smem_bytes_max > 0 ? options->smem_bytes_max : check_smem_bytes_max(arch);
    subject.ptx = made.ptx;
    subject.cubin = made.cubin;
    subject.log = made.log;
    if (go_on && !examine_in_worker(arena, &subject, &found, err))
        return false;
    merge_gates(&passage);
    *products = made;
    *verdict = found;
    return true;
}

bool check_admission(struct arena *arena, const struct op *op, const struct check_options *options,
                     struct str *flags, struct err *err)
{
    static const enum data_class classes[] = {DATA_SPEC, DATA_ZERO_MEAN, DATA_INDEXED, DATA_HEAVY};
    const struct track *track = options->track != NULL ? options->track : &op->tracks[0];
    const struct shape *shapes;
    struct admission admission;
    size_t count;
    uint32_t call = 0;

    if (!check_shapes(arena, op, options->plan, NULL, &shapes, &count, err))
        return false;
    admission_begin(&admission, op, shapes, count);
    for (size_t i = 0; i < count && !admission_settled(&admission); i++)
        for (size_t c = 0; c < COUNT_OF(classes); c++) {
            const struct bound_op *bound;
            struct dataset set;

            if (!class_applies(op, classes[c]))
                continue;
            if (!op_bind_shape(arena, op, &shapes[i], &bound, err) ||
                !dataset_make(arena, bound, track, classes[c], options->secret, call++, &set,
                              err) ||
                !admission_add(arena, &set, &admission, err))
                return false;
        }
    *flags = admission_flags(arena, &admission);
    return true;
}
