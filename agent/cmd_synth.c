/*
 * synth SPEC: from an op spec to a verified kernel, without a model.
 *
 * Attempts in order: the realiser's kernel for its plan at the target shape, its kernels for plans
 * of other block sizes, and the naive one-thread-an-element kernel.  Each is verified; the first
 * accepted one is what stays.  Times come with a GPU, not here.
 */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"

#include "agent/agent.h"

enum { ATTEMPTS_MAX = 16, TEXT_BYTES_MAX = 4 << 20, SM_COUNT = 132 /* of an H100 or H200 */ };
static const size_t arena_bytes_max = (size_t)4 << 30;

struct synth_args {
    struct common common;
    const char *spec, *llm;
    int64_t attempts;
};

struct attempt {
    const char *how;
    const struct plan *plan; /* NULL: the naive kernel */
    struct emitted kernel;
    struct check_products products;
    struct verdict verdict;
};

struct synthesis {
    struct session *session;
    const struct synth_args *args;
    const struct op *op;
    const struct track *track;
    const struct bound_op *target;
    const char *arch;
    struct attempt attempts[ATTEMPTS_MAX];
    size_t count;
    size_t best; /* SIZE_MAX = none */
    struct progress progress;
};

/* Block sizes to plan for, the machine's own limit first. */
static const struct {
    int64_t threads_max;
    const char *how;
} variants[] = {
    {1024, "realised"},
    {128, "realised, blocks of at most 128"},
    {512, "realised, blocks of at most 512"},
    {64, "realised, blocks of at most 64"},
};

static bool plan_is_new(const struct synthesis *s, const struct plan *plan)
{
    const struct hash hash = plan_hash(plan);

    for (size_t i = 0; i < s->count; i++) {
        struct hash known;

        if (s->attempts[i].plan == NULL)
            continue;
        known = plan_hash(s->attempts[i].plan);
        if (memcmp(known.bytes, hash.bytes, sizeof(hash.bytes)) == 0)
            return false;
    }
    return true;
}

/* A realised kernel; *made false when this variant offers nothing new. */
static bool realised(struct synthesis *s, size_t variant, struct attempt *attempt, bool *made,
                     struct err *err)
{
    struct arena *arena = s->session->arena;
    const struct realise_limits limits = {
        .arch = s->arch,
        .smem_bytes_max = (int64_t)check_smem_bytes_max(s->arch),
        .threads_max = variants[variant].threads_max,
        .sm_count = SM_COUNT,
    };

    *made = false;
    *attempt = (struct attempt){.how = variants[variant].how};
    if (!realise_plan(arena, s->target, s->track, &limits, &attempt->plan, err))
        return false;
    if (!plan_is_new(s, attempt->plan))
        return true;
    if (!realise(arena, s->op, attempt->plan, &limits, &attempt->kernel, err))
        return err->code == ERR_UNSUPPORTED;
    *made = true;
    return true;
}

static bool verify(struct synthesis *s, struct attempt *attempt, struct err *err)
{
    const struct candidate candidate = {CANDIDATE_CUDA, attempt->kernel.cuda,
                                        attempt->kernel.manifest};
    const struct check_options options = {
        .track = s->track,
        .arch = s->arch,
        .secret = s->session->secret,
        .plan = attempt->plan,
        .cache = &s->session->cache,
    };

    return check_candidate(s->session->arena, s->op, &candidate, &options, s->session->compiler,
                           &attempt->products, &attempt->verdict, err);
}

static bool take(struct synthesis *s, struct attempt *attempt, struct err *err)
{
    progress_show(&s->progress, "%.*s: attempt %zu, %s", STR_ARG(s->op->name), s->count + 1,
                  attempt->how);
    if (!verify(s, attempt, err))
        return false;
    if (attempt->verdict.validity == VALIDITY_ACCEPTED && s->best == SIZE_MAX)
        s->best = s->count;
    s->attempts[s->count++] = *attempt;
    return true;
}

static bool attempt_all(struct synthesis *s, struct err *err)
{
    const size_t room = (size_t)s->args->attempts;
    struct attempt attempt;

    /* With room for one, the realised kernel; with more, the naive one comes last. */
    for (size_t v = 0; v < COUNT_OF(variants) && s->count + (room > 1) < room; v++) {
        bool made;

        if (!realised(s, v, &attempt, &made, err))
            return false;
        if (made && !take(s, &attempt, err))
            return false;
    }
    if (s->count >= room && s->best != SIZE_MAX)
        return true;
    attempt = (struct attempt){.how = "naive"};
    return emit_naive(s->session->arena, s->op, s->arch, &attempt.kernel, err) &&
           take(s, &attempt, err);
}

/* ---- results ---- */

static bool write_attempt(struct synthesis *s, const struct attempt *attempt, const char *folder,
                          struct err *err)
{
    const struct products products = {
        .source = attempt->kernel.cuda,
        .manifest = attempt->kernel.manifest,
        .plan = attempt->plan,
        .made = &attempt->products,
        .verdict = &attempt->verdict,
    };

    return products_write(s->session->arena, folder, &products, err);
}

static bool write_all(struct synthesis *s, struct err *err)
{
    struct arena *arena = s->session->arena;

    if (s->args->common.out == NULL)
        return true;
    for (size_t i = 0; i < s->count; i++) {
        char name[32];

        snprintf(name, sizeof(name), "attempt-%zu", i + 1);
        if (!write_attempt(s, &s->attempts[i], path_join(arena, s->args->common.out, name), err))
            return false;
    }
    return s->best == SIZE_MAX || write_attempt(s, &s->attempts[s->best], s->args->common.out, err);
}

static void print_json(struct synthesis *s)
{
    struct json_writer w;
    struct buf text;

    buf_init(&text, s->session->arena, TEXT_BYTES_MAX * 8);
    json_writer_init(&w, &text);
    json_open_object(&w);
    json_key(&w, "op");
    json_put_str(&w, s->op->name);
    json_key(&w, "best");
    if (s->best == SIZE_MAX)
        json_put_null(&w);
    else
        json_put_int(&w, (int64_t)s->best + 1);
    json_key(&w, "attempts");
    json_open_array(&w);
    for (size_t i = 0; i < s->count; i++) {
        json_open_object(&w);
        json_key(&w, "how");
        json_put_text(&w, s->attempts[i].how);
        json_key(&w, "verdict");
        verdict_print(&w, &s->attempts[i].verdict, false);
        json_close_object(&w);
    }
    json_close_array(&w);
    json_close_object(&w);
    buf_char(&text, '\n');
    fwrite(text.at, 1, text.len, stdout);
}

static void row_text(struct buf *out, size_t number, const struct attempt *attempt)
{
    const struct verdict *verdict = &attempt->verdict;

    buf_printf(out, "  %zu  %-34s %-16s %5" PRId64 " checks", number, attempt->how,
               validity_name(verdict->validity), verdict->checks_executed);
    if (verdict->worst.present)
        buf_printf(out, "  worst %.2g of bound", verdict->worst.ratio);
    buf_text(out, "  ");
    resources_text(out, &verdict->observed);
    buf_char(out, '\n');
    if (verdict->validity != VALIDITY_ACCEPTED)
        buf_printf(out, "     %.*s\n", STR_ARG(verdict->reason));
}

static void print_table(struct synthesis *s)
{
    struct buf text;

    buf_init(&text, s->session->arena, TEXT_BYTES_MAX);
    buf_printf(&text, "%.*s, track %.*s, %s, planned for ", STR_ARG(s->op->name),
               STR_ARG(s->track->name), s->arch);
    op_print_dims(&text, s->target);
    buf_char(&text, '\n');
    for (size_t i = 0; i < s->count; i++)
        row_text(&text, i + 1, &s->attempts[i]);
    if (s->best == SIZE_MAX)
        buf_text(&text, "no attempt was accepted\n");
    else
        buf_printf(&text,
                   "attempt %zu is accepted on the emulator; not timed, that takes a GPU%s%s\n",
                   s->best + 1, s->args->common.out == NULL ? "" : "; written to ",
                   s->args->common.out == NULL ? "" : s->args->common.out);
    fwrite(text.at, 1, text.len, stdout);
}

/* ---- the command ---- */

static bool prepare(struct synthesis *s, struct err *err)
{
    const struct common *common = &s->args->common;

    if (s->args->llm == NULL || strcmp(s->args->llm, "none") != 0)
        return err_raise(err, ERR_USAGE,
                         "say --llm none: kernels come from the realiser; models are not "
                         "connected yet");
    if (!session_spec(s->session, s->args->spec, &s->op, err) ||
        !session_track(s->op, common->track, &s->track, err) ||
        !session_shape(s->session, s->op, common->shape, &s->target, err) ||
        !session_compiler(s->session, err))
        return false;
    s->arch = common->arch != NULL ? common->arch : "sm_90a";
    s->best = SIZE_MAX;
    progress_begin(&s->progress);
    return s->target != NULL ||
           op_bind_shape(s->session->arena, s->op, &s->op->targets[0], &s->target, err);
}

static int synth(const struct command *self, const struct synth_args *args)
{
    struct session session;
    struct arena arena;
    struct synthesis *s;
    struct err err;
    int status;

    arena_init(&arena, arena_bytes_max);
    s = arena_new(&arena, struct synthesis);
    s->session = &session;
    s->args = args;
    if (session_begin(&session, &arena, &args->common, &err) && prepare(s, &err) &&
        attempt_all(s, &err) && write_all(s, &err)) {
        progress_end(&s->progress);
        if (args->common.json)
            print_json(s);
        else
            print_table(s);
        status = s->best == SIZE_MAX ? EXIT_FAILED : EXIT_DONE;
    } else {
        progress_end(&s->progress);
        status = command_failed(self->name, &err);
    }
    session_end(&session);
    arena_release(&arena);
    return status;
}

int cmd_synth(const struct command *self, int argc, char **argv)
{
    struct synth_args args = {.attempts = 2};
    const struct opt options[] = {
        {"llm", OPT_TEXT, &args.llm, "none", "who writes CUDA; none: the realiser", 0, 0},
        {"attempts", OPT_INT, &args.attempts, "N", "kernels to make", 1, ATTEMPTS_MAX},
        COMMON_TRACK(&args.common),
        COMMON_SHAPE(&args.common, "shape to plan for; default: the spec's first target"),
        COMMON_ARCH(&args.common, "architecture; default: sm_90a"),
        COMMON_SEED(&args.common),
        COMMON_OUT(&args.common, "write the accepted kernel and all attempts there"),
        COMMON_CACHE(&args.common),
        COMMON_JSON(&args.common),
    };
    const struct opt_command command = {
        .name = self->name,
        .synopsis = "SPEC --llm none [--attempts N] [--out DIR]",
        .summary = self->summary,
        .text =
            "Plans the spec for its target shape, writes CUDA for the plan from primitives, and\n"
            "verifies each kernel on the emulator.  DIR then holds kernel.cu, manifest.json,\n"
            "plan.json, kernel.ptx, kernel.cubin, observed.json and verdict.json of the first\n"
            "accepted attempt, and the same of each in attempt-N/.\n\n"
            "Exit status: 0 a kernel was accepted, 1 none was, 2 usage or malformed input.\n\n"
            "    warpwright synth kernels/ops/softmax.json --llm none --out out/softmax",
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
