/*
 * Kernels that are wrong or cheat must be refused, each by the check that is meant for it, and
 * honest ones accepted.
 *
 * tests/cases/kernels holds planted kernels with what each must end as: MANIFEST.tsv those for the
 * ops of tests/cases/ops, LIBRARY.tsv those for kernels/ops, of which all run where FULL_CASES is 1
 * and otherwise the ones marked "always".  tests/cases/cheats is the shared set, whose expected
 * ends are in the table below.  Needs NVRTC.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"

#include "tests/unit/unit.h"
#include "verify/check/check.h"

#define KERNELS "tests/cases/kernels"
#define CHEATS  "tests/cases/cheats"
#define OPS     "tests/cases/ops"
#define LIBRARY "kernels/ops"

enum { CASES_MAX = 512, FILE_BYTES_MAX = 4 << 20 };

struct verify_case {
    const char *name, *folder, *ops;
    enum validity expected;
};

static const struct verify_case shared[] = {
    {"h01_noop_stale", CHEATS, OPS, VALIDITY_WRONG},
    {"h02_zeros", CHEATS, OPS, VALIDITY_WRONG},
    {"h03_expected_value_gemm", CHEATS, OPS, VALIDITY_WRONG},
    {"h04_identity_relu", CHEATS, OPS, VALIDITY_WRONG},
    {"h06_wrong_axis_iid", CHEATS, OPS, VALIDITY_OUT_OF_BOUNDS},
    {"h07_skip_one_percent", CHEATS, OPS, VALIDITY_WRONG},
    {"h09_structure", CHEATS, OPS, VALIDITY_WRONG},
    {"h10_hardcoded_shape", CHEATS, OPS, VALIDITY_OUT_OF_BOUNDS},
    {"h11_seed_fingerprint", CHEATS, OPS, VALIDITY_WRONG},
    {"h12_call_counter", CHEATS, OPS, VALIDITY_SOURCE_REJECTED},
    {"h14_value_memo", CHEATS, OPS, VALIDITY_SOURCE_REJECTED},
    {"h17_phase_by_latency", CHEATS, OPS, VALIDITY_SOURCE_REJECTED},
    {"h17c_clock_gate", CHEATS, OPS, VALIDITY_SOURCE_REJECTED},
    {"h18_copy_reference", CHEATS, OPS, VALIDITY_OUT_OF_BOUNDS},
    {"h19_zero_input", CHEATS, OPS, VALIDITY_MUTATED_INPUT},
    {"h20_oob_read_lucky", CHEATS, OPS, VALIDITY_OUT_OF_BOUNDS},
    {"h21_oob_write", CHEATS, OPS, VALIDITY_OUT_OF_BOUNDS},
    {"h23_missing_sync", CHEATS, OPS, VALIDITY_RACE},
    {"h25_accumulate_unzeroed", CHEATS, OPS, VALIDITY_WRONG},
    {"h26_launch_fails", CHEATS, OPS, VALIDITY_RESOURCES},
    {"h27_misaligned_vec", CHEATS, OPS, VALIDITY_LAUNCH_ERROR},
    {"h28_alias_assumption", CHEATS, OPS, VALIDITY_RACE},
    {"h30_bf16_inputs", CHEATS, OPS, VALIDITY_WRONG},
    {"h30b_tf32_inputs", CHEATS, OPS, VALIDITY_WRONG},
    {"h32_unsafe_softmax", CHEATS, OPS, VALIDITY_WRONG},
    {"h34_nan_flood", CHEATS, OPS, VALIDITY_WRONG},
    {"h35_kahan_skipped", CHEATS, OPS, VALIDITY_WRONG},
    {"h42_hang", CHEATS, OPS, VALIDITY_TIMEOUT},
    {"h42b_trap", CHEATS, OPS, VALIDITY_LAUNCH_ERROR},
    {"h44_device_heap", CHEATS, OPS, VALIDITY_SOURCE_REJECTED},
    {"ok_gemm", CHEATS, OPS, VALIDITY_ACCEPTED},
    {"ok_relu", CHEATS, OPS, VALIDITY_ACCEPTED},
    {"ok_rowsum", CHEATS, OPS, VALIDITY_ACCEPTED},
    {"ok_softmax", CHEATS, OPS, VALIDITY_ACCEPTED},
};

/* ---- running a case ---- */

static bool read_case(struct arena *arena, const struct verify_case *c, const char *suffix,
                      struct str *out, struct err *err)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s%s", c->folder, c->name, suffix);
    return file_read(arena, path, FILE_BYTES_MAX, out, err);
}

/* The spec behind `use NAME`: only those of the library have any. */
static bool find_spec(void *context, struct arena *arena, struct str name, struct str *text)
{
    char path[512];
    struct err err;

    (void)context;
    snprintf(path, sizeof(path), LIBRARY "/%.*s.json", STR_ARG(name));
    return file_read(arena, path, FILE_BYTES_MAX, text, &err);
}

static bool load(struct arena *arena, const struct verify_case *c, const struct op **op,
                 struct candidate *candidate, struct err *err)
{
    const struct op_library library = {find_spec, NULL};
    const struct json *json;
    struct str text;
    char path[512];

    *candidate = (struct candidate){.form = CANDIDATE_CUDA};
    if (!read_case(arena, c, ".cu", &candidate->text, err) ||
        !read_case(arena, c, ".json", &text, err) ||
        !json_parse(arena, text, c->name, &json, err) ||
        !manifest_parse(arena, json, &candidate->manifest, err))
        return false;
    snprintf(path, sizeof(path), "%s/%.*s.json", c->ops, STR_ARG(candidate->manifest->op));
    return file_read(arena, path, FILE_BYTES_MAX, &text, err) &&
           op_parse(arena, text, path, &library, op, err);
}

struct world {
    struct arena arena;
    struct compiler *compiler;
    bool found;
};

/* The compiler is shared; each case's verdict is its own. */
static struct world *the_world(void)
{
    static struct world world;
    struct nvrtc_info nvrtc;
    const struct compiler_options options = {.paths = {getenv("CUDA_HOME"), "build/nvrtc"}};
    struct err err;

    if (world.compiler != NULL)
        return &world;
    arena_init(&world.arena, (size_t)1 << 30);
    device_probe_nvrtc(&world.arena, &options.paths, &nvrtc);
    world.found = nvrtc.found;
    if (world.found)
        assert_ok(compiler_open(&world.arena, &options, &world.compiler, &err));
    return &world;
}

static bool shows_while_running(enum validity validity)
{
    return validity == VALIDITY_WRONG || validity == VALIDITY_RACE ||
           validity == VALIDITY_OUT_OF_BOUNDS || validity == VALIDITY_LAUNCH_ERROR ||
           validity == VALIDITY_TIMEOUT;
}

/* Which of a kernel's faults is met first is a matter of shapes, which the library's cases leave
 * open: a missing barrier is a race or a read of what is not yet written. */
static bool as_expected(const struct verify_case *c, enum validity got)
{
    return got == c->expected || (strcmp(c->ops, LIBRARY) == 0 && shows_while_running(got) &&
                                  shows_while_running(c->expected));
}

static void judge(void **state)
{
    const struct verify_case *c = *state;
    const struct check_options options = {.secret = 20240229};
    struct world *world = the_world();
    struct check_products products;
    struct candidate candidate;
    struct verdict verdict;
    const struct op *op;
    struct arena arena;
    struct err err;

    if (!world->found)
        skip();
    arena_init(&arena, (size_t)2 << 30);
    assert_ok(load(&arena, c, &op, &candidate, &err));
    assert_ok(check_candidate(&arena, op, &candidate, &options, world->compiler, &products,
                              &verdict, &err));
    if (!as_expected(c, verdict.validity))
        fail_msg("%s: %s, expected %s: %.*s", c->name, validity_name(verdict.validity),
                 validity_name(c->expected), STR_ARG(verdict.reason));
    arena_release(&arena);
}

/*
 * "file op expected what" of MANIFEST.tsv, "file op expected when what" of LIBRARY.tsv; tab
 * separated, with a heading.
 */
static size_t read_list(struct arena *arena, const char *path, const char *ops,
                        struct verify_case *out, size_t room)
{
    const char *full = getenv("FULL_CASES");
    const bool all = strcmp(ops, OPS) == 0 || (full != NULL && strcmp(full, "1") == 0);
    struct str text, line;
    struct err err;
    size_t count = 0;

    assert_ok(file_read(arena, path, FILE_BYTES_MAX, &text, &err));
    assert_true(str_next_line(&text, &line));
    while (str_next_line(&text, &line)) {
        char *rest = str_copy(arena, line);
        const char *name = strsep(&rest, "\t");
        const char *op = strsep(&rest, "\t");
        const char *expected = strsep(&rest, "\t");
        const char *when = strsep(&rest, "\t");

        assert_non_null(op);
        assert_non_null(expected);
        assert_non_null(when);
        if (!all && strcmp(when, "always") != 0)
            continue;
        assert_true(count < room);
        out[count] = (struct verify_case){name, KERNELS, ops, VALIDITY_ACCEPTED};
        if (!validity_parse(str_from(expected), &out[count].expected))
            fail_msg("%s: no validity is called %s", name, expected);
        count++;
    }
    return count;
}

int main(void)
{
    static struct verify_case cases[CASES_MAX];
    static struct CMUnitTest tests[CASES_MAX];
    struct arena arena;
    size_t count = COUNT_OF(shared);
    int status;

    arena_init(&arena, 64 << 20);
    memcpy(cases, shared, sizeof(shared));
    count += read_list(&arena, KERNELS "/MANIFEST.tsv", OPS, cases + count, CASES_MAX - count);
    count += read_list(&arena, KERNELS "/LIBRARY.tsv", LIBRARY, cases + count, CASES_MAX - count);
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, judge, NULL, NULL, &cases[i]};
    status = _cmocka_run_group_tests("verify", tests, count, NULL, NULL);
    if (the_world()->compiler != NULL)
        compiler_close(the_world()->compiler);
    arena_release(&arena);
    return status;
}
