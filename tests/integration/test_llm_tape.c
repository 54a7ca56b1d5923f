/*
 * A conversation recorded through the relay's folder, as tests/tapes are made: whoever plays the
 * model reads NNN.request.json and writes NNN.reply.txt.  Replayed, it is the same.
 */
#include "base/rng.h"

#include "agent/llm/llm.h"
#include "synth/synth.h"
#include "tests/integration/relay_start.h"

enum { ARENA_BYTES = 256 << 20, REPLIES = 3, PLAYER_TICKS = 2000, LONG_BYTES = 20000 };

static struct str long_reply(struct arena *arena)
{
    struct buf out;
    struct rng rng;
    buf_init(&out, arena, LONG_BYTES + 100);
    rng_init(&rng, 7);
    buf_text(&out, "Here.\r\n```cuda\n__global__ void f() {} // \xe4\xbd\xa0\n");
    while (out.len < LONG_BYTES)
        buf_printf(&out, "// %u \xc3\xa9\"\\\t%c\n", rng_u32(&rng),
                   (int)(' ' + rng_below(&rng, 94)));
    buf_text(&out, "```\n```json\n{\"manifest\": 1}\n```\n");
    return buf_view(&out);
}

static struct str reply_text(struct arena *arena, int number)
{
    if (number == 1)
        return long_reply(arena);
    return number == 2 ? STR_LIT("a second reply") : STR_LIT("\n");
}

static char *file_of(struct arena *arena, const char *folder, int number, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof(name), "%03d.%s", number, suffix);
    return path_join(arena, folder, name);
}

/* Writes each reply once its request is there. */
static int play(struct arena *arena, const char *folder)
{
    for (int i = 1; i <= REPLIES; i++) {
        struct err err;
        const char *request = file_of(arena, folder, i, "request.json");
        int ticks = 0;
        while (!file_exists(request) && ticks++ < PLAYER_TICKS)
            usleep(5000);
        if (!file_write(file_of(arena, folder, i, "reply.txt"), reply_text(arena, i), &err))
            return 1;
    }
    return 0;
}

static const struct llm_message messages[] = {
    {LLM_SYSTEM, {"You write CUDA.", 15}},
    {LLM_USER, {"Write softmax.", 14}},
};

static struct llm_request request_of(int number)
{
    return (struct llm_request){
        .key = {STR_LIT("softmax"), 0, number, number == 1 ? STR_LIT("write") : STR_LIT("repair")},
        .messages = messages,
        .message_count = 2,
        .max_tokens = 1000 + number,
        .temperature = -1,
    };
}

static void record(struct arena *arena, const char *folder, const char *tape)
{
    const char *const words[] = {"--folder", folder, "--model", "player", "--requests", "3", NULL};
    struct err err;
    struct llm *llm;
    struct buf url;
    struct llm_options options = llm_defaults();
    struct relay_child relay = relay_start(arena, words);
    buf_init(&url, arena, 64);
    buf_printf(&url, "http://127.0.0.1:%d/v1", relay.port);
    options.base_url = buf_view(&url);
    options.model = STR_LIT("asked-for");
    options.record = tape;
    assert_ok(llm_open(arena, &options, &llm, &err));
    for (int i = 1; i <= REPLIES; i++) {
        struct llm_reply reply;
        struct llm_request request = request_of(i);
        assert_ok(llm_ask(arena, llm, &request, &reply, &err));
        assert_true(str_equal(reply.text, reply_text(arena, i)));
        assert_true(str_equal(reply.model, STR_LIT("player")));
        assert_int_equal(reply.tries, 1);
    }
    assert_int_equal(relay_wait(&relay), 0);
}

static void check_request_file(struct arena *arena, const char *folder, const struct tape *tape)
{
    struct err err;
    struct str written;
    assert_ok(file_read(arena, file_of(arena, folder, 2, "request.json"), 1 << 20, &written, &err));
    assert_true(str_equal(written, tape->lines[1].request));
    assert_non_null(strstr(written.at, "\"max_tokens\":1002"));
}

static void test_record_and_replay(void **state UNUSED)
{
    struct arena arena;
    struct err err;
    struct llm *llm;
    struct tape tape;
    arena_init(&arena, ARENA_BYTES);
    const char *folder = unit_folder(&arena, "llm-tape");
    const char *path = path_join(&arena, folder, "tape.jsonl");
    pid_t player = fork();
    if (player == 0)
        _exit(play(&arena, folder));
    record(&arena, folder, path);
    int status = -1;
    waitpid(player, &status, 0);
    assert_int_equal(status, 0);

    assert_ok(tape_read(&arena, path, &tape, &err));
    assert_int_equal(tape.count, REPLIES);
    check_request_file(&arena, folder, &tape);
    struct llm_options options = llm_defaults();
    options.replay = path;
    options.strict = true;
    assert_ok(llm_open(&arena, &options, &llm, &err));
    for (int i = 1; i <= REPLIES; i++) {
        struct llm_reply reply;
        struct llm_request request = request_of(i);
        assert_ok(llm_ask(&arena, llm, &request, &reply, &err));
        assert_true(reply.replayed);
        assert_true(str_equal(reply.text, reply_text(&arena, i)));
        struct extracted extracted;
        assert_int_equal(extract_reply(&arena, reply.text, &extracted, &err), i == 1);
    }
    assert_int_equal(llm_counts(llm).drifted, 0);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_record_and_replay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
