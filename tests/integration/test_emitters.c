/*
 * Every spec, by every writer of CUDA: emitted, compiled by NVRTC, run on the emulator with all
 * checks on at each of the spec's verify shapes that the guard admits (the last one with large and
 * special values too), and compared with the interpreter's values and bounds.  Realised plans run
 * in both directions.  The reference must give the same values (to fp64 rounding) and the same
 * bounds (to 1 %), on every track.
 *
 * Skips without NVRTC.
 */
#include <math.h>
#include <stdlib.h>

#include "base/num.h"

#include "tests/integration/emulate.h"
#include "verify/device/device.h"

enum { SPECS_MAX = 256, SPEC_BYTES_MAX = 1 << 20, NAME_BYTES_MAX = 256 };

static const struct device_paths paths = {.build_folder = "build/nvrtc"};
static const char arch[] = "sm_90a";
static const struct skeleton_limits limits = {.arch = arch, .threads_max = 1024};

enum writer { NAIVE, REALISED, REVERSED, ELEMENTS, REFERENCE };
static const char *const writer_names[] = {"naive", "realised", "reversed", "reversed elements",
                                           "reference"};

/* One folder of specs by one writer. */
struct suite {
    struct compiler *compiler;
    const char *folder;
    enum writer writer;
    size_t runs, failures;
};

/* A spec on its way through. */
struct subject {
    struct suite *suite;
    struct arena *arena;
    const struct op *op;
    const struct track *track;
    struct emitted emitted;
    const struct ptx_module *module;
};

static bool find_spec(void *context, struct arena *arena, struct str name, struct str *text)
{
    struct err err;
    char path[NAME_BYTES_MAX];
    snprintf(path, sizeof(path), "%s/%.*s.json", (const char *)context, STR_ARG(name));
    return file_exists(path) && file_read(arena, path, SPEC_BYTES_MAX, text, &err);
}

static void report(struct subject *s, const struct bound_op *bound, const char *what)
{
    struct buf dims;
    buf_init(&dims, s->arena, NAME_BYTES_MAX);
    if (bound != NULL)
        op_print_dims(&dims, bound);
    s->suite->failures++;
    print_error("%s %.*s %.*s: %s\n", writer_names[s->suite->writer], STR_ARG(s->op->name),
                STR_ARG(buf_view(&dims)), what);
}

/* ---- comparison ---- */

static const char *describe(struct arena *arena, const struct tensor *tensor, int64_t element,
                            const double numbers[3])
{
    char text[NAME_BYTES_MAX];
    snprintf(text, sizeof(text), "%.*s[%lld]: got %.17g, want %.17g, bound %.3g",
             STR_ARG(tensor->name), (long long)element, numbers[0], numbers[1], numbers[2]);
    return str_copy(arena, str_from(text));
}

static bool close_to(double got, double want, double bound)
{
    if (got == want || (isnan(got) && isnan(want)))
        return true;
    return fabs(got - want) <= bound;
}

static const char *compare_candidate(struct subject *s, const struct bound_op *bound,
                                     const struct interp_inputs *inputs, size_t tensor,
                                     const struct values *all, const void *got)
{
    const struct tensor *t = &s->op->tensors[tensor];
    const struct values *values = &all[tensor];
    for (int64_t i = 0; i < values->count; i++) {
        bool open = values->open != NULL && values->open[i];
        if (values->reals == NULL) {
            int64_t value = elem_to_int(t->dtype, got, (size_t)i);
            const double numbers[3] = {(double)value, (double)values->ints[i], 0};
            if (!interp_accepts(bound, inputs, all, tensor, i, value))
                return describe(s->arena, t, i, numbers);
            continue;
        }
        double value = elem_to_double(t->dtype, got, (size_t)i);
        const double numbers[3] = {value, values->reals[i], values->bounds[i]};
        if (!open && !close_to(value, values->reals[i], values->bounds[i]))
            return describe(s->arena, t, i, numbers);
    }
    return NULL;
}

static const void *workspace_of(const struct subject *s, const struct emulated *run,
                                const char *what, size_t tensor)
{
    char name[NAME_BYTES_MAX];
    const struct manifest *manifest = s->emitted.manifest;
    snprintf(name, sizeof(name), "%s:%.*s", what, STR_ARG(s->op->tensors[tensor].name));
    for (size_t i = 0; i < manifest->workspace_count; i++)
        if (str_equal(manifest->workspaces[i].name, str_from(name)))
            return run->workspaces[i];
    fail_msg("no workspace %s", name);
    return NULL;
}

static bool same_bound(double got, double want)
{
    if (got == want || fabs(got - want) <= 0.01 * want)
        return true;
    return !(got < INFINITY) && !(want < INFINITY);
}

static const char *compare_reference(struct subject *s, size_t tensor, const struct values *values,
                                     const struct emulated *run)
{
    const struct tensor *t = &s->op->tensors[tensor];
    const void *value_at = workspace_of(s, run, "value", tensor);
    const double *bound_at = workspace_of(s, run, "bound", tensor);
    for (int64_t i = 0; i < values->count; i++) {
        bool open = values->open != NULL && values->open[i];
        double want_bound = open ? INFINITY : values->bounds[i], got, want;
        bool bound_agrees = same_bound(bound_at[i], want_bound);
        if (values->reals == NULL) {
            got = (double)((const int64_t *)value_at)[i];
            want = (double)values->ints[i];
            bound_agrees |= (bound_at[i] > 0) == (want_bound > 0);
        } else {
            got = ((const double *)value_at)[i];
            want = values->reals[i];
        }
        double scale = want_bound < INFINITY ? fmax(fabs(want), 1e3 * want_bound) : fabs(want);
        const double numbers[3] = {got, want, want_bound};
        const double bounds[3] = {bound_at[i], want_bound, 0};
        if (!close_to(got, want, 1e-9 * scale))
            return describe(s->arena, t, i, numbers);
        if (!bound_agrees)
            return describe(s->arena, t, i, bounds);
    }
    return NULL;
}

/* ---- runs ---- */

static const void **fill_inputs(struct subject *s, const struct bound_op *bound,
                                enum data_class class)
{
    const void **inputs = arena_array(s->arena, const void *, s->op->tensor_count + 1);
    struct err err;
    for (size_t i = 0; i < s->op->declared_count; i++) {
        if (s->op->tensors[i].role == ROLE_OUTPUT)
            continue;
        void *data = arena_alloc(s->arena, (size_t)bound->tensors[i].bytes + 1, 1, 64);
        assert_ok(fill_tensor(bound, i, class, 0x5eed, 1, data, &err));
        inputs[i] = data;
    }
    return inputs;
}

static void run_shape(struct subject *s, const struct bound_op *bound, enum data_class class)
{
    const void **data = fill_inputs(s, bound, class);
    struct interp_inputs inputs = {data};
    struct interp_options options = {.mode = INTERP_BOUND, .track = s->track};
    struct values *values = arena_array(s->arena, struct values, s->op->tensor_count + 1);
    struct emulated run;
    struct err err;
    assert_ok(interp_run(s->arena, bound, &inputs, &options, values, &err));
    s->suite->runs++;
    if (!emulate(s->arena, bound, s->emitted.manifest, s->module, data, &run)) {
        report(s, bound, run.why);
        return;
    }
    for (size_t i = 0; i < s->op->declared_count; i++) {
        if (s->op->tensors[i].role != ROLE_OUTPUT)
            continue;
        const char *wrong = s->suite->writer == REFERENCE
                                ? compare_reference(s, i, &values[i], &run)
                                : compare_candidate(s, bound, &inputs, i, values, run.tensors[i]);
        if (wrong != NULL)
            report(s, bound, wrong);
    }
}

static void run_shapes(struct subject *s)
{
    static const enum data_class classes[] = {DATA_SPEC, DATA_LARGE, DATA_SPECIAL};
    struct err err;
    for (size_t i = 0; i < s->op->verify_count; i++) {
        const struct bound_op *bound;
        int64_t admitted;
        assert_ok(op_bind_shape(s->arena, s->op, &s->op->verify[i], &bound, &err));
        assert_ok(formula_eval(s->emitted.manifest->guard, &bound->env, &admitted, &err));
        bool probes = s->suite->writer != REFERENCE && i + 1 == s->op->verify_count;
        size_t count = probes ? COUNT_OF(classes) : 1;
        for (size_t k = 0; admitted && k < count; k++)
            run_shape(s, bound, classes[k]);
    }
}

/* All regions from the end; each realised as planned, or one thread an element. */
static const struct plan *reversed(struct arena *arena, const struct plan *plan, bool elements)
{
    struct plan *out = arena_new(arena, struct plan);
    struct plan_region *regions = arena_array(arena, struct plan_region, plan->region_count);
    *out = *plan;
    for (size_t r = 0; r < plan->region_count; r++) {
        regions[r] = plan->regions[r];
        regions[r].reverse = true;
        if (elements)
            regions[r].primitive_count = regions[r].tile_count = 0;
    }
    out->regions = regions;
    return out;
}

static bool emit(struct subject *s, struct err *err)
{
    const struct bound_op *target;
    const struct plan *plan;
    switch (s->suite->writer) {
    case NAIVE:
        return emit_naive(s->arena, s->op, arch, &s->emitted, err);
    case REFERENCE:
        return emit_reference(s->arena, s->op, s->track, arch, &s->emitted, err);
    case REALISED:
    case REVERSED:
    case ELEMENTS:
        break;
    }
    if (!op_bind_shape(s->arena, s->op, &s->op->targets[0], &target, err) ||
        !plan_skeleton(s->arena, target, s->track, &limits, &plan, err))
        return false;
    if (s->suite->writer != REALISED)
        plan = reversed(s->arena, plan, s->suite->writer == ELEMENTS);
    return plan_check(plan, s->op, err) && realise(s->arena, s->op, plan, arch, &s->emitted, err);
}

static void run_track(struct subject *s)
{
    struct compile_result result;
    struct err err;
    bool is_candidate = s->suite->writer != REFERENCE;
    if (!emit(s, &err) || (is_candidate && !manifest_check(s->emitted.manifest, s->op, &err))) {
        report(s, NULL, err.text);
        return;
    }
    struct compile_request request = {.source = s->emitted.cuda, .arch = arch};
    assert_ok(compiler_compile(s->suite->compiler, s->arena, &request, &result, &err));
    if (result.end != COMPILE_OK) {
        report(s, NULL, result.reason);
        return;
    }
    assert_ok(ptx_load(s->arena, result.ptx, &s->module, &err));
    run_shapes(s);
}

static void run_spec(struct suite *suite, const char *path)
{
    struct arena arena;
    struct str text;
    struct err err;
    char folder[NAME_BYTES_MAX];
    snprintf(folder, sizeof(folder), "%s", suite->folder);
    arena_init(&arena, (size_t)4 << 30);
    struct subject s = {.suite = suite, .arena = &arena};
    struct op_library library = {find_spec, folder};
    assert_ok(file_read(&arena, path, SPEC_BYTES_MAX, &text, &err));
    assert_ok(op_parse(&arena, text, path, &library, &s.op, &err));
    size_t tracks = suite->writer == REFERENCE ? s.op->track_count : 1;
    for (size_t i = 0; i < tracks; i++) {
        s.track = &s.op->tracks[i];
        run_track(&s);
    }
    arena_release(&arena);
}

/* Walks from the end take the text of walks from the front but for one index, so `make check` tries
 * a sample of large folders; FULL_CASES=1 tries all. */
static size_t stride_of(enum writer writer, size_t count)
{
    enum { SAMPLE_OF_MIN = 12, SAMPLE_STRIDE = 4 };
    bool walks = writer == REVERSED || writer == ELEMENTS;
    return walks && count > SAMPLE_OF_MIN && getenv("FULL_CASES") == NULL ? SAMPLE_STRIDE : 1;
}

static void run_suite(const char *folder, enum writer writer)
{
    struct arena arena;
    struct nvrtc_info info;
    struct err err;
    struct suite suite = {.folder = folder, .writer = writer};
    struct compiler_options options = {.paths = paths};
    const char *const *names;
    size_t count, tried = 0;
    arena_init(&arena, (size_t)1 << 30);
    device_probe_nvrtc(&arena, &paths, &info);
    if (!info.found || info.include == NULL) {
        print_message("skipped: %s\n", info.why_not);
        arena_release(&arena);
        skip();
    }
    assert_ok(compiler_open(&arena, &options, &suite.compiler, &err));
    assert_ok(file_list(&arena, folder, ".json", SPECS_MAX, &names, &count, &err));
    assert_true(count > 0);
    for (size_t i = 0; i < count; i += stride_of(writer, count), tried++)
        run_spec(&suite, path_join(&arena, folder, names[i]));
    compiler_close(suite.compiler);
    arena_release(&arena);
    print_message("%s: %s: %zu specs, %zu runs\n", folder, writer_names[writer], tried, suite.runs);
    assert_int_equal(suite.failures, 0);
    assert_true(suite.runs >= tried);
}

#define SUITE(name, folder, writer)                                                                \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        run_suite(folder, writer);                                                                 \
    }
SUITE(ops_naive, "kernels/ops", NAIVE)
SUITE(ops_realised, "kernels/ops", REALISED)
SUITE(ops_reversed, "kernels/ops", REVERSED)
SUITE(ops_reference, "kernels/ops", REFERENCE)
SUITE(cases_naive, "tests/cases/ops", NAIVE)
SUITE(cases_realised, "tests/cases/ops", REALISED)
SUITE(cases_reversed, "tests/cases/ops", REVERSED)
SUITE(cases_elements, "tests/cases/ops", ELEMENTS)
SUITE(cases_reference, "tests/cases/ops", REFERENCE)
SUITE(features_naive, "tests/cases/features", NAIVE)
SUITE(features_realised, "tests/cases/features", REALISED)
SUITE(features_reversed, "tests/cases/features", REVERSED)
SUITE(features_reference, "tests/cases/features", REFERENCE)

SUITE(joint_reversed, "tests/cases/joint", REVERSED)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ops_naive),          cmocka_unit_test(test_ops_realised),
        cmocka_unit_test(test_ops_reference),      cmocka_unit_test(test_cases_naive),
        cmocka_unit_test(test_cases_realised),     cmocka_unit_test(test_cases_reference),
        cmocka_unit_test(test_features_naive),     cmocka_unit_test(test_features_realised),
        cmocka_unit_test(test_features_reference), cmocka_unit_test(test_ops_reversed),
        cmocka_unit_test(test_cases_reversed),     cmocka_unit_test(test_cases_elements),
        cmocka_unit_test(test_features_reversed),  cmocka_unit_test(test_joint_reversed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
