/* What the bank keeps of a campaign, and what comes back from it. */
#include <string.h>

#include "base/file.h"

#include "agent/campaign/campaign_int.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 256 << 20 };

static const char spec[] =
    "{\"spec\":1,\"name\":\"relu\",\"doc\":\"x\",\"dims\":{\"n\":[1,1024]},\"tensors\":["
    "{\"name\":\"x\",\"role\":\"input\",\"dtype\":\"f32\",\"shape\":[\"n\"],\"fill\":\"normal\"},"
    "{\"name\":\"y\",\"role\":\"output\",\"dtype\":\"f32\",\"shape\":[\"n\"]}],"
    "\"body\":[\"y[i] = max(x[i], 0)\"],\"tracks\":{\"f32\":{}},"
    "\"shapes\":{\"target\":[{\"n\":64}],\"verify\":[{\"n\":1}]}}";
static const char manifest_json[] =
    "{\"manifest\":1,\"arch\":\"sm_90a\",\"guard\":\"n <= 64\",\"kernels\":[{\"entry\":\"k\","
    "\"grid\":[1,1,1],\"block\":[64,1,1],\"args\":[{\"tensor\":\"x\"},{\"tensor\":\"y\"}]}]}";

struct scene {
    struct arena arena;
    struct machine machine;
    struct bundle_spec specs[1];
    struct campaign_options options;
    struct task task;
    struct ledger ledger;
    const struct manifest *manifest;
};

static void open_scene(struct scene *s, const char *path)
{
    const struct bank_options options = {.name = STR_LIT("bank")};
    const struct json *json;
    struct err err;

    assert_ok(bank_open(&s->arena, path, &options, &s->options.bank, &err));
    assert_ok(ledger_begin(&s->arena, &s->options, &s->task, &s->ledger, &err));
    assert_ok(json_parse(&s->arena, str_from(manifest_json), "m", &json, &err));
    assert_ok(manifest_parse(&s->arena, json, &s->manifest, &err));
}

static void set_scene(struct scene *s, const char *path)
{
    struct err err;

    *s = (struct scene){.machine = {.name = STR_LIT("m")}};
    arena_init(&s->arena, ARENA_BYTES);
    s->specs[0] = (struct bundle_spec){STR_LIT("relu"), str_from(spec)};
    s->options = (struct campaign_options){
        .specs = s->specs, .spec_count = 1, .machine = &s->machine, .arch = "sm_90a", .secret = 5};
    assert_ok(op_parse(&s->arena, str_from(spec), "relu", NULL, &s->options.op, &err));
    s->options.track = &s->options.op->tracks[0];
    assert_ok(op_bind_shape(&s->arena, s->options.op, &s->options.op->targets[0],
                            &s->options.target, &err));
    s->task = task_of(&s->arena, s->options.target, s->options.track, s->machine.name);
    open_scene(s, path);
}

static void end_scene(struct scene *s)
{
    bank_close(s->options.bank);
    arena_release(&s->arena);
}

static const char *bank_path(struct arena *arena, const char *name)
{
    return path_join(arena, unit_folder(arena, "ledger"), name);
}

static struct campaign_attempt attempt_of(const struct scene *s, int64_t number, const char *source)
{
    return (struct campaign_attempt){
        .number = number,
        .writer = WRITER_MODEL,
        .how = "model",
        .candidate = {CANDIDATE_CUDA, str_from(source), s->manifest},
        .verdict = {.validity = VALIDITY_WRONG,
                    .gate = GATE_COMPARE,
                    .reason = STR_LIT("y[0] is off"),
                    .executor = STR_LIT("emulator"),
                    .track = STR_LIT("f32"),
                    .arch = STR_LIT("sm_90a"),
                    .checks_executed = 3},
    };
}

/* What was stored at each moment is what the next run finds. */
static void test_recall(void **state UNUSED)
{
    struct arena paths;
    struct scene s;
    struct err err;
    arena_init(&paths, 1 << 20);
    const char *path = bank_path(&paths, "recall.db");
    for (int stored = 0; stored <= 3; stored++) {
        struct campaign_attempt back = {.number = 2};
        struct recalled found;
        set_scene(&s, path);
        struct campaign_attempt a = attempt_of(&s, 2, "void k();");
        assert_ok(ledger_recall(&s.ledger, &back, &found, &err));
        assert_int_equal(found.kernel, stored > 1);
        assert_int_equal(found.verdict, stored > 2);
        if (found.kernel) {
            assert_true(str_equal(back.candidate.text, a.candidate.text));
            assert_non_null(back.candidate.manifest);
        }
        if (found.verdict) {
            assert_int_equal(back.verdict.validity, VALIDITY_WRONG);
            assert_true(str_equal(back.verdict.reason, a.verdict.reason));
            assert_int_equal(back.verdict.checks_executed, 3);
        }
        if (stored >= 0)
            assert_ok(ledger_attempt(&s.ledger, &a, 0, STR_LIT("m-1"), &err));
        if (stored >= 1)
            assert_ok(ledger_kernel(&s.ledger, &a, &err));
        if (stored >= 2)
            assert_ok(ledger_verdict(&s.ledger, &a, &err));
        assert_ok(bank_check(s.options.bank, &err));
        end_scene(&s);
    }
    arena_release(&paths);
}

/* An answer whose manifest means nothing comes back as it was written. */
static void test_bad_manifest(void **state UNUSED)
{
    struct scene s;
    struct err err;
    struct arena paths;
    struct recalled found;
    struct campaign_attempt back = {.number = 1};
    arena_init(&paths, 1 << 20);
    set_scene(&s, bank_path(&paths, "bad.db"));
    struct campaign_attempt a = attempt_of(&s, 1, "void k();");
    a.candidate.manifest = NULL;
    a.bad_manifest = STR_LIT("{ \"manifest\": 2 }\n");
    assert_ok(ledger_attempt(&s.ledger, &a, 0, STR_LIT("m-1"), &err));
    assert_ok(ledger_kernel(&s.ledger, &a, &err));
    assert_ok(ledger_recall(&s.ledger, &back, &found, &err));
    assert_true(found.kernel);
    assert_null(back.candidate.manifest);
    assert_true(str_equal(back.bad_manifest, a.bad_manifest));
    end_scene(&s);
    arena_release(&paths);
}

/* The same run again is no conflict; another answer under the same seed is one, with a remedy. */
static void test_conflict(void **state UNUSED)
{
    struct scene s;
    struct err err;
    struct arena paths;
    arena_init(&paths, 1 << 20);
    set_scene(&s, bank_path(&paths, "conflict.db"));
    struct campaign_attempt a = attempt_of(&s, 1, "void k();"), b = attempt_of(&s, 1, "void j();");
    assert_ok(ledger_attempt(&s.ledger, &a, 0, STR_LIT("m-1"), &err));
    assert_ok(ledger_kernel(&s.ledger, &a, &err));
    assert_ok(ledger_attempt(&s.ledger, &a, 0, STR_LIT("m-1"), &err));
    assert_ok(ledger_kernel(&s.ledger, &a, &err));
    assert_false(ledger_kernel(&s.ledger, &b, &err));
    assert_non_null(strstr(err.text, "--seed"));
    assert_false(ledger_attempt(&s.ledger, &a, 0, STR_LIT("m-2"), &err));
    assert_non_null(strstr(err.text, "--seed"));
    end_scene(&s);
    arena_release(&paths);
}

/* Another seed is another campaign, in the same bank. */
static void test_seeds(void **state UNUSED)
{
    struct scene s;
    struct err err;
    struct arena paths;
    const struct campaign_row *rows;
    size_t count;
    arena_init(&paths, 1 << 20);
    set_scene(&s, bank_path(&paths, "seeds.db"));
    struct str first = s.ledger.campaign;
    s.options.secret = 6;
    assert_ok(ledger_begin(&s.arena, &s.options, &s.task, &s.ledger, &err));
    assert_false(str_equal(first, s.ledger.campaign));
    assert_ok(campaign_row_list(s.options.bank, &s.arena, NULL, STR_LIT(""), &rows, &count, &err));
    assert_int_equal(count, 2);
    end_scene(&s);
    arena_release(&paths);
}

/* Without a model the number of attempts says which of them is the naive one. */
static void test_more_attempts(void **state UNUSED)
{
    struct scene s;
    struct err err;
    struct arena paths;
    arena_init(&paths, 1 << 20);
    set_scene(&s, bank_path(&paths, "more.db"));
    struct str first = s.ledger.campaign;
    s.options.attempts = 3;
    assert_ok(ledger_begin(&s.arena, &s.options, &s.task, &s.ledger, &err));
    assert_false(str_equal(first, s.ledger.campaign));
    end_scene(&s);
    arena_release(&paths);
}

/* What came of an answer is there as soon as the exchange is: killed in between, a run would ask
 * again, and the next answer is another exchange. */
static void test_answer(void **state UNUSED)
{
    struct scene s;
    struct err err;
    struct arena paths;
    struct recalled found;
    const struct llm_reply reply = {.tape_line = 1, .drifted = true};
    const struct str tape = STR_LIT("t"), request = STR_LIT("r");
    arena_init(&paths, 1 << 20);
    set_scene(&s, bank_path(&paths, "answer.db"));
    for (int64_t number = 1; number <= 2; number++) {
        struct campaign_attempt a = attempt_of(&s, number, "void k();"), back = {.number = number};
        if (number == 1)
            a.verdict = (struct verdict){0};
        else
            a.candidate = (struct candidate){0};
        assert_ok(ledger_attempt(&s.ledger, &a, 0, STR_LIT("m-1"), &err));
        assert_ok(ledger_exchange(&s.ledger, &a, &reply, tape, request, &err));
        assert_ok(ledger_recall(&s.ledger, &back, &found, &err));
        assert_int_equal(found.kernel, number == 1);
        assert_int_equal(found.verdict, number == 2);
        assert_true(back.drifted);
    }
    struct campaign_attempt other = attempt_of(&s, 1, "void j();");
    assert_false(ledger_exchange(&s.ledger, &other, &(struct llm_reply){.tape_line = 2}, tape,
                                 request, &err));
    assert_non_null(strstr(err.text, "attempt 1 of this campaign got another answer; give"));
    assert_ok(bank_begin(s.options.bank, &err)); /* it was rolled back */
    bank_rollback(s.options.bank);
    end_scene(&s);
    arena_release(&paths);
}

/* A source that rotted in the bank is not handed out as the one that was accepted. */
static void test_rotten_source(void **state UNUSED)
{
    struct scene s;
    struct err err;
    struct arena paths;
    struct str file;
    struct recalled found;
    struct campaign_attempt back = {.number = 1};
    arena_init(&paths, 16 << 20);
    const char *path = bank_path(&paths, "rotten.db");
    set_scene(&s, path);
    struct campaign_attempt a = attempt_of(&s, 1, "void kernel_that_was_stored();");
    assert_ok(ledger_attempt(&s.ledger, &a, 0, STR_LIT("m-1"), &err));
    assert_ok(ledger_kernel(&s.ledger, &a, &err));
    end_scene(&s);
    assert_ok(file_read(&paths, path, 8 << 20, &file, &err));
    char *copy = str_copy(&paths, file);
    char *at = memmem(copy, file.len, "kernel_that_was_stored", 22);
    assert_non_null(at);
    at[0] = 'K';
    assert_ok(file_write(path, (struct str){copy, file.len}, &err));
    set_scene(&s, path);
    assert_false(ledger_recall(&s.ledger, &back, &found, &err));
    assert_non_null(strstr(err.text, "is not the one that was stored"));
    end_scene(&s);
    arena_release(&paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recall),        cmocka_unit_test(test_bad_manifest),
        cmocka_unit_test(test_conflict),      cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_more_attempts), cmocka_unit_test(test_answer),
        cmocka_unit_test(test_rotten_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
