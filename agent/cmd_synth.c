/*
 * synth SPEC: from an op spec to a verified kernel.  Options in, agent/campaign, results out.
 *
 * Results do not hold wall times, and what was recalled from a bank looks like what was run: the
 * same tape, seed and bank print the same bytes.
 */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"

#include "agent/agent.h"
#include "agent/campaign/campaign.h"
#include "agent/synth_text.h"

enum { ATTEMPTS_WITHOUT_MODEL = 2, ATTEMPTS_WITH_MODEL = 5, PROMPT_TOKENS = 24000, DAY_S = 86400 };
static const size_t arena_bytes_max = (size_t)8 << 30;

struct synth_args {
    struct common common;
    struct model_args model;
    const char *spec, *machine, *bank;
    int64_t attempts; /* 0 = default */
    int64_t tokens_max, reply_tokens_max;
    bool show_prompt;
};

struct synthesis {
    struct session session;
    const struct synth_args *args;
    struct campaign_options options;
    struct campaign_result result;
    struct driver_info driver;
    struct progress progress;
};

/* ---- progress ---- */

static void show_done(struct synthesis *s, const struct campaign_attempt *a)
{
    const struct campaign_stages *t = &a->stages;

    progress_show(
        &s->progress,
        "%.*s: attempt %" PRId64 ", %s: %s (model %.1f s, verification %.1f s, rest %.2f s)%s",
        STR_ARG(s->options.op->name), a->number, a->how, validity_name(a->verdict.validity),
        (double)t->model_ns / 1e9, (double)t->verify_ns / 1e9,
        (double)(t->write_ns + t->bank_ns) / 1e9, a->recalled ? ", from the bank" : "");
}

static void show(void *context, enum campaign_phase phase, const struct campaign_attempt *a)
{
    static const char *const doing[] = {
        [PHASE_PLAN] = "begins", [PHASE_ASK] = "asking the model", [PHASE_VERIFY] = "verifying"};
    struct synthesis *s = context;

    if (phase == PHASE_DONE)
        show_done(s, a);
    else if (phase != PHASE_PLAN || s->progress.terminal)
        progress_show(&s->progress, "%.*s: attempt %" PRId64 ", %s, %s",
                      STR_ARG(s->options.op->name), a->number, a->how, doing[phase]);
}

/* ---- preparation ---- */

static bool find_gpu(struct synthesis *s)
{
    device_probe_driver(s->session.arena, &s->driver);
    return s->driver.gpu_count > 0;
}

/* A new bank is named after its file; of a long name the beginning. */
static struct str bank_name_of(struct arena *arena, const char *path)
{
    struct str name = json_text_clean(arena, str_from(path_base(path)));

    if (name.len > BANK_NAME_BYTES_MAX) {
        name.len = BANK_NAME_BYTES_MAX;
        while (name.len > 0 && ((unsigned char)name.at[name.len] & 0xc0) == 0x80)
            name.len--;
    }
    return name;
}

static bool open_bank(struct synthesis *s, struct err *err)
{
    const char *path = s->args->bank;
    struct bank_options options = {0};

    if (path == NULL)
        return true;
    /* A file that is there may still be empty: its maker was killed, or is at it. */
    options.name = bank_name_of(s->session.arena, path);
    return bank_open(s->session.arena, path, &options, &s->options.bank, err);
}

static bool find_task(struct synthesis *s, struct err *err)
{
    const struct common *common = &s->args->common;
    struct campaign_options *o = &s->options;
    struct session *session = &s->session;

    if (!session_spec(session, s->args->spec, &o->op, err) ||
        !session_track(o->op, common->track, &o->track, err) ||
        !session_shape(session, o->op, common->shape, &o->target, err) ||
        !session_machine(session, s->args->machine, &o->machine, err))
        return false;
    o->arch = common->arch != NULL ? common->arch : str_copy(session->arena, o->machine->arch);
    o->specs = session->specs;
    o->spec_count = session->spec_count;
    return o->target != NULL ||
           op_bind_shape(session->arena, o->op, &o->op->targets[0], &o->target, err);
}

static bool prepare(struct synthesis *s, struct err *err)
{
    const struct synth_args *args = s->args;
    struct campaign_options *o = &s->options;

    if (args->show_prompt && args->common.json)
        return err_raise(err, ERR_USAGE, "--show-prompt prints no JSON");
    if (!find_task(s, err))
        return false;
    o->secret = s->session.secret;
    o->tokens_max = args->tokens_max;
    o->reply_tokens_max = args->reply_tokens_max;
    if (args->show_prompt)
        return true;
    if (args->common.out != NULL && !file_make_dirs(args->common.out, err))
        return false;
    if (!session_model(&s->session, &args->model, &o->llm, err) ||
        !session_compiler(&s->session, err) || !open_bank(s, err))
        return false;
    o->compiler = s->session.compiler;
    o->cache = &s->session.cache;
    o->driver = find_gpu(s) ? &s->driver : NULL;
    o->tape = str_from(model_tape(&args->model));
    o->attempts_given = args->attempts > 0;
    o->attempts = args->attempts > 0 ? args->attempts
                  : o->llm != NULL   ? ATTEMPTS_WITH_MODEL
                                     : ATTEMPTS_WITHOUT_MODEL;
    o->report = (struct campaign_report){show, s};
    progress_begin(&s->progress);
    return true;
}

/* ---- results ---- */

/* The bank keeps no PTX and no cubin; of a kernel from there they are made anew, mostly from the
 * cache. */
static bool compile_again(struct synthesis *s, struct campaign_attempt *a, struct err *err)
{
    const struct compile_request request = {a->candidate.text, .arch = s->options.arch};
    struct compile_result result;

    if (!a->recalled || a->verdict.gate <= GATE_COMPILE)
        return true;
    if (!compiler_compile(s->session.compiler, s->session.arena, &request, &result, err))
        return err_context(err, "compile attempt %" PRId64, a->number);
    a->products = (struct check_products){result.ptx, result.cubin, result.log};
    return true;
}

static bool write_attempt(struct synthesis *s, const struct campaign_attempt *a, const char *folder,
                          struct err *err)
{
    const struct products products = {
        .source = a->candidate.text,
        .manifest = a->candidate.manifest,
        .plan = a->plan,
        .made = &a->products,
        .verdict = &a->verdict,
    };

    return products_write(s->session.arena, folder, &products, err);
}

static bool write_all(struct synthesis *s, struct err *err)
{
    struct campaign_result *result = &s->result;
    const char *out = s->args->common.out;

    if (out == NULL)
        return true;
    for (size_t i = 0; i < result->count; i++) {
        char name[32];

        snprintf(name, sizeof(name), "attempt-%zu", i + 1);
        if (!compile_again(s, &result->attempts[i], err) ||
            !write_attempt(s, &result->attempts[i], path_join(s->session.arena, out, name), err))
            return false;
    }
    return result->best == SIZE_MAX || write_attempt(s, &result->attempts[result->best], out, err);
}

static void print_results(struct synthesis *s, bool written)
{
    const char *out = written ? s->args->common.out : NULL;
    struct str text = s->args->common.json
                          ? synth_json(s->session.arena, &s->options, &s->result)
                          : synth_table(s->session.arena, &s->options, &s->result, out);

    fwrite(text.at, 1, text.len, stdout);
    fflush(stdout);
}

/* Whatever kept it from trying is told apart from a kernel that was not accepted. */
static int failed(const struct command *self, const struct err *err)
{
    (void)command_failed(self->name, err);
    return EXIT_USAGE;
}

static int print_prompt(struct synthesis *s, const struct command *self, struct err *err)
{
    struct prompt prompt;

    if (!campaign_first_prompt(s->session.arena, &s->options, &prompt, err))
        return failed(self, err);
    printf("==== system ====\n%.*s\n==== user ====\n%.*s\n", STR_ARG(prompt.system),
           STR_ARG(prompt.user));
    fprintf(stderr, "at most %" PRId64 " tokens, %zu parts shortened or left out\n", prompt.tokens,
            prompt.cut_count);
    return EXIT_DONE;
}

/* ---- the command ---- */

/* What was reached before a failure is shown too. */
static int run_campaign(struct synthesis *s, const struct command *self, struct err *err)
{
    const bool ok = campaign_run(s->session.arena, &s->options, &s->result, err);
    int status = EXIT_DONE;
    struct err write_err;

    progress_end(&s->progress);
    if (ok || s->result.count > 0) {
        const bool written = write_all(s, &write_err);

        print_results(s, written);
        if (!written)
            status = failed(self, &write_err);
    }
    if (!ok)
        return failed(self, err);
    if (status != EXIT_DONE)
        return status;
    return s->result.best == SIZE_MAX ? EXIT_FAILED : EXIT_DONE;
}

static int synth(const struct command *self, const struct synth_args *args)
{
    struct synthesis *s;
    struct arena arena;
    struct err err;
    int status;

    arena_init(&arena, arena_bytes_max);
    s = arena_new(&arena, struct synthesis);
    s->args = args;
    if (!session_begin(&s->session, &arena, &args->common, &err) || !prepare(s, &err))
        status = failed(self, &err);
    else if (args->show_prompt)
        status = print_prompt(s, self, &err);
    else
        status = run_campaign(s, self, &err);
    if (s->options.bank != NULL)
        bank_close(s->options.bank);
    session_end(&s->session);
    arena_release(&arena);
    return status;
}

static const char synth_help[] =
    "Plans the spec for its target shape on a machine, gets CUDA for the plan, and verifies each\n"
    "kernel; on a GPU where there is one, else on the emulator.  The first kernel is the\n"
    "realiser's own, made of primitives.  With a model, each next one is the model's: it is told\n"
    "the structure, the plan, the limits and what its last answer came to.\n\n"
    "With --bank, attempts, kernels and verdicts are kept as they come; the same command with the\n"
    "same --seed then goes on where an earlier run ended, and without --seed begins anew; memory\n"
    "log shows a run's seed.  DIR gets kernel.cu, manifest.json, plan.json, kernel.ptx,\n"
    "kernel.cubin, observed.json and verdict.json of the best attempt, and the same of each in\n"
    "attempt-N/.\n\n"
    "The key of the model's server is read from WARPWRIGHT_API_KEY, for api.openai.com also from\n"
    "OPENAI_API_KEY, or from --key-file.\n\n"
    "Exit status: 0 a kernel was accepted, 1 none was, 2 usage, malformed input, a bank that\n"
    "cannot be used or a server that gives no answer.\n\n"
    "    warpwright synth kernels/ops/softmax.json --llm none --out out/softmax\n"
    "    warpwright synth kernels/ops/softmax.json --replay tests/tapes/softmax.jsonl\n"
    "    warpwright synth kernels/ops/softmax.json --llm http://127.0.0.1:8000/v1 --model M \\\n"
    "        --record softmax.jsonl --bank bank.db --seed 1";

int cmd_synth(const struct command *self, int argc, char **argv)
{
    struct synth_args args = {.tokens_max = PROMPT_TOKENS};
    struct model_args *model = &args.model;
    const struct opt options[] = {
        {"llm", OPT_TEXT, &model->llm, "URL", "a model's server, or none: the realiser alone", 0,
         0},
        {"model", OPT_TEXT, &model->model, "NAME", "which of the server's models", 0, 0},
        {"key-file", OPT_TEXT, &model->key_file, "FILE", "holds the API key; mode 0600", 0, 0},
        {"record", OPT_TEXT, &model->record, "TAPE", "write down what is asked and answered", 0, 0},
        {"replay", OPT_TEXT, &model->replay, "TAPE", "take answers from there", 0, 0},
        {"strict", OPT_FLAG, &model->strict, NULL, "replay answers to the same prompts only", 0, 0},
        {"plain-http", OPT_FLAG, &model->plain_http, NULL, "http to another machine, key and all",
         0, 0},
        {"deadline", OPT_INT, &model->deadline_s, "S", "for one answer; default: 600", 1, DAY_S},
        {"attempts", OPT_INT, &args.attempts, "N",
         "kernels to make; default: 2, with a model up to 5", 1, CAMPAIGN_ATTEMPTS_MAX},
        {"machine", OPT_TEXT, &args.machine, "M", "machine to plan for; default: h200-sxm", 0, 0},
        {"bank", OPT_TEXT, &args.bank, "FILE", "remember attempts there, and go on from it", 0, 0},
        {"prompt-tokens", OPT_INT, &args.tokens_max, "N", "of a prompt at most; default: 24000",
         1000, 1000000},
        {"reply-tokens", OPT_INT, &args.reply_tokens_max, "N",
         "of an answer; default: the server's", 1, 1000000},
        {"show-prompt", OPT_FLAG, &args.show_prompt, NULL, "print the prompt for a first kernel", 0,
         0},
        COMMON_TRACK(&args.common),
        COMMON_SHAPE(&args.common, "shape to plan for; default: the spec's first target"),
        COMMON_ARCH(&args.common, "architecture; default: the machine's"),
        COMMON_SEED(&args.common),
        COMMON_OUT(&args.common, "write the best kernel and all attempts there"),
        COMMON_CACHE(&args.common),
        COMMON_JSON(&args.common),
    };
    const struct opt_command command = {
        .name = self->name,
        .synopsis = "SPEC --llm none|URL | --replay TAPE [--bank FILE] [--out DIR]",
        .summary = self->summary,
        .text = synth_help,
        .options = options,
        .option_count = COUNT_OF(options),
        .positional_min = 1,
        .positional_max = 1,
    };
    const char *positional[1];
    int count, status;

    if (!command_begin(&command, argc, argv, positional, &count, &status))
        return status;
    args.spec = positional[0];
    return synth(self, &args);
}
