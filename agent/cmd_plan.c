/*
 * plan SPEC: the legal plans of a spec at a shape on a machine, and the best of them.  No GPU, no
 * compiler: solver/legal says what is legal, solver/cost what it takes.
 */
#include <string.h>

#include "base/clock.h"
#include "base/file.h"

#include "agent/agent.h"
#include "agent/plan_preset.h"
#include "agent/plan_view.h"

enum { BEST_DEFAULT = 5, SHAPES_BYTES_MAX = 1 << 20, SPECS_MAX = 1000 };
static const size_t arena_bytes_max = (size_t)8 << 30;

struct plan_args {
    struct common common;
    const char *spec, *machine, *sm_share, *why_not, *shapes, *vary, *rewrite, *spec_out, *preset;
    int64_t best, smem_limit; /* 0 = the machine's */
    bool explain, table;
};

/* ---- the task ---- */

static bool is_list(const char *shape)
{
    return shape != NULL && strchr(shape, ';') != NULL;
}

/* One shape, or several: then the first is the one that is explained. */
static bool shapes_text(struct arena *arena, const struct plan_args *args, struct str *out,
                        struct err *err)
{
    *out = STR_LIT("");
    if (args->shapes != NULL && args->common.shape != NULL)
        return err_raise(err, ERR_USAGE, "--shape and --shapes exclude each other");
    if (args->shapes != NULL)
        return file_read(arena, args->shapes, SHAPES_BYTES_MAX, out, err);
    if (is_list(args->common.shape))
        *out = str_from(args->common.shape);
    return true;
}

static bool take_share(struct plan_task *task, const char *text, struct err *err)
{
    const char *at = text;
    int64_t share;

    if (!machine_share_read(&at, &share) || *at != '\0')
        return err_raise(
            err, ERR_USAGE,
            "--sm-share wants a part of the SMs, above 0 and at most 1, to a hundredth "
            "of a percent, such as 0.5 or 50%%, not \"%s\"",
            text);
    task->sms_of = task->machine->sm_count;
    if (!machine_with_share(task->arena, task->machine, share, &task->machine, err))
        return err_context(err, "--sm-share");
    return true;
}

static bool find_task(struct session *session, const struct plan_args *args, struct plan_task *out,
                      struct err *err)
{
    struct plan_task task = {.arena = session->arena};
    const char *shape = is_list(args->common.shape) ? NULL : args->common.shape;

    if (!session_spec(session, args->spec, &task.op, err) ||
        !session_track(task.op, args->common.track, &task.track, err) ||
        !session_shape(session, task.op, shape, &task.bound, err) ||
        !session_machine(session, args->machine, &task.machine, err) ||
        !session_primitives(session, &task.catalogue, err))
        return false;
    task.arch = str_copy(task.arena, task.machine->arch);
    if (args->smem_limit > 0)
        task.machine = machine_with_smem_limit(task.arena, task.machine, args->smem_limit);
    if (args->sm_share != NULL && !take_share(&task, args->sm_share, err))
        return false;
    if (task.bound == NULL &&
        !op_bind_shape(task.arena, task.op, &task.op->targets[0], &task.bound, err))
        return false;
    *out = task;
    return true;
}

/* ---- the report ---- */

static void print_text(struct str text)
{
    fwrite(text.at, 1, text.len, stdout);
    fflush(stdout);
}

static bool print_report(struct arena *arena, const struct plan_report *report, bool json,
                         struct err *err)
{
    struct json_writer w;
    struct buf text;
    struct str whole;

    buf_init(&text, arena, PLAN_REPORT_BYTES_MAX);
    if (json) {
        json_writer_init(&w, &text);
        plan_report_json(&w, report);
        buf_char(&text, '\n');
    } else {
        plan_report_text(&text, report);
    }
    if (!buf_finish(&text, "the report", &whole, err))
        return false;
    print_text(whole);
    return true;
}

static bool sweep(const struct plan_task *task, const struct plan_args *args, struct str shapes,
                  struct plan_report *report, struct plan_points *points, struct err *err)
{
    if (args->vary != NULL && shapes.len > 0)
        return err_raise(err, ERR_USAGE, "--vary goes with one shape, not with several");
    if (args->vary != NULL && args->sm_share != NULL && strncmp(args->vary, "sm", 2) == 0 &&
        strncmp(args->vary, "smem", 4) != 0)
        return err_raise(err, ERR_USAGE, "--sm-share and --vary %s set one number; leave one out",
                         args->vary);
    if (args->vary != NULL) {
        report->varied = str_copy(task->arena, (struct str){args->vary, strcspn(args->vary, "=")});
        report->points = points;
        return plan_vary(task, args->vary, points, err);
    }
    if (shapes.len == 0 && args->shapes == NULL)
        return true;
    report->varied = "shape";
    report->points = points;
    return plan_shapes(task, shapes, args->shapes, points, err);
}

static bool plan(struct session *session, const struct plan_args *args, int *status,
                 struct err *err)
{
    struct plan_task task;
    struct plan_view view;
    struct plan_why why;
    struct plan_points points;
    struct plan_rewrites rewrites;
    struct plan_report report = {.view = &view, .rewrites = &rewrites, .explain = args->explain};
    struct str shapes;

    if (!shapes_text(session->arena, args, &shapes, err) || !find_task(session, args, &task, err) ||
        !sweep(&task, args, shapes, &report, &points, err))
        return false;
    if (report.points != NULL && points.first != NULL)
        task.bound = points.first;
    if (!plan_explore(&task, (size_t)args->best, &view, err) ||
        !plan_find_rewrites(&task, &rewrites, err))
        return false;
    if (args->why_not != NULL) {
        report.why = &why;
        if (!plan_why_not(&view, args->why_not, &why, err))
            return false;
    }
    *status = view.best_count > 0 ? EXIT_DONE : EXIT_FAILED;
    return print_report(session->arena, &report, args->common.json, err);
}

/* ---- several specs ---- */

static bool table_row(struct session *session, const struct plan_args *args, struct buf *out,
                      struct err *err)
{
    const int64_t start_ns = clock_mono_ns();
    const size_t start_bytes = session->arena->bytes_total;
    struct plan_task task;
    struct plan_view view;
    struct plan_rewrites rewrites;
    const struct plan_report report = {.view = &view, .rewrites = &rewrites};

    if (!find_task(session, args, &task, err) || !plan_explore(&task, 1, &view, err) ||
        !plan_find_rewrites(&task, &rewrites, err))
        return err_context(err, "%s", args->spec);
    plan_table_row(out, &report);
    fprintf(stderr, "%.*s: %.1f ms, %.1f MB\n", STR_ARG(task.op->name),
            (double)(clock_mono_ns() - start_ns) / 1e6,
            (double)(session->arena->bytes_total - start_bytes) / 1e6);
    return true;
}

static bool table(struct session *session, const struct plan_args *args, const char *const *specs,
                  size_t count, struct err *err)
{
    struct plan_args own = *args;
    struct buf out;

    if (args->why_not != NULL || args->vary != NULL || args->shapes != NULL ||
        args->common.shape != NULL || args->common.json || args->explain ||
        args->best != BEST_DEFAULT)
        return err_raise(err, ERR_USAGE,
                         "--table takes --machine, --track, --smem-limit and --sm-share only; ask "
                         "the rest of one spec");
    buf_init(&out, session->arena, PLAN_REPORT_BYTES_MAX);
    plan_table_head(&out);
    for (size_t i = 0; i < count; i++) {
        own.spec = specs[i];
        if (!table_row(session, &own, &out, err))
            return false;
    }
    fwrite(out.at, 1, out.len, stdout);
    return true;
}

static bool rewrite(struct session *session, const struct plan_args *args, size_t count,
                    int *status, struct err *err)
{
    const struct plan_derive_args derive = {args->rewrite, args->spec_out, args->common.json};
    struct plan_task task;

    if (args->rewrite == NULL)
        return err_raise(err, ERR_USAGE, "--spec-out goes with --rewrite");
    if (args->table || count > 1)
        return err_raise(err, ERR_USAGE, "--rewrite takes one spec, and no --table");
    if (args->why_not != NULL || args->vary != NULL || args->shapes != NULL ||
        is_list(args->common.shape) || args->explain || args->best != BEST_DEFAULT)
        return err_raise(err, ERR_USAGE,
                         "--rewrite prints no plans: write the spec with --spec-out, and ask the "
                         "rest of that");
    return find_task(session, args, &task, err) && plan_derive(&task, &derive, status, err);
}

static bool preset(struct session *session, const struct plan_args *args, size_t count, int *status,
                   struct err *err)
{
    const struct preset_args own = {.preset = args->preset,
                                    .file = args->spec,
                                    .machine = args->machine,
                                    .shape = args->common.shape,
                                    .explain = args->explain,
                                    .json = args->common.json};
    struct str text;
    if (count > 1 || args->table || args->rewrite != NULL || args->spec_out != NULL ||
        args->why_not != NULL || args->vary != NULL || args->shapes != NULL ||
        is_list(args->common.shape) || args->smem_limit > 0 || args->sm_share != NULL ||
        args->common.track != NULL || args->best != BEST_DEFAULT)
        return err_raise(err, ERR_USAGE,
                         "--preset takes one file, and --machine, --shape, --explain and --json "
                         "only");
    if (!plan_preset(session, &own, &text, status, err))
        return false;
    print_text(text);
    return true;
}

static bool run(struct session *session, const struct plan_args *args, const char *const *specs,
                size_t count, int *status, struct err *err)
{
    *status = EXIT_DONE;
    if (args->preset != NULL)
        return preset(session, args, count, status, err);
    if (args->rewrite != NULL || args->spec_out != NULL)
        return rewrite(session, args, count, status, err);
    if (args->table)
        return table(session, args, specs, count, err);
    if (count > 1)
        return err_raise(err, ERR_USAGE, "several specs go with --table");
    return plan(session, args, status, err);
}

/* ---- the command ---- */

static const char plan_help[] =
    "Finds what the spec's statements are, what may be done to them, and the legal plans for a\n"
    "shape on a machine; prints the best by predicted time.  Times are predictions of the cost\n"
    "model, not measurements.\n\n"
    "--explain adds structures, what may and what may not be rewritten and why, rewrites of the\n"
    "statements, primitives, compositions, the size of each region's domain behind each limit, "
    "the\n"
    "terms of the cost, and what is left of each limit.  --json has all of it in one document.\n\n"
    "--why-not takes numbers of a region: tile (a side for each index, or its block, thread and\n"
    "step), threads, vector, depth, split, mma (such as [16, 8, 16]), staging, precision, layout,\n"
    "reverse, primitives, and region where several have the same indices; a region of a plan\n"
    "document is taken as it is.  It says which limit refuses such plans, or the time and rank of\n"
    "the best of them.\n\n"
    "With several shapes, parted by ';', or with --vary, which sets a number of the machine, it\n"
    "shows where the best plan changes.  The numbers: smem, bytes of a block and of an SM alike;\n"
    "sm_count; sm-share, as below; dram, bytes/s, as in 2T..8T; registers, of an SM.  K, M, G and\n"
    "T are powers of 1024, for dram of 1000.\n\n"
    "On a machine that others use too, --smem-limit holds blocks to so much shared memory, and\n"
    "--sm-share plans for a part of the SMs, 0.5 or 50%, rounded down to whole ones, as MPS and\n"
    "green contexts give out.  These part neither L2 nor DRAM: capacity and bandwidth stay whole,\n"
    "and what the others draw of them meanwhile is not counted.  A MIG slice has its own memory:\n"
    "that is another machine.\n\n"
    "--table prints a row for each of several specs.\n\n"
    "--rewrite applies rewrites to the normal form, one after the other, and prints what comes "
    "out\n"
    "with each step's condition and error term, and nothing else; --spec-out writes it as a spec.\n"
    "A step is RULE:STATEMENT[:INDEX][:NUMBER], the statement being the name of what it writes:\n"
    "inline:e  split:y:n:64  gather:y:0 (the factor's number)  polynomial:e:8  parts:C:3.  --json\n"
    "without --rewrite lists what may be tried.\n\n"
    "--preset hwwfc prints instead what HW-WFC 2.9 chooses, its defects included: layer by layer\n"
    "a tile, a layout, a memory and a score, which is no time.  The file is a spec whose\n"
    "statements are products, convolutions, normalisations or maps, or a document of HW-WFC's\n"
    "layers, workloads or fuzz cases.  --machine is then of the document or of\n"
    "kernels/machines/hwwfc, default toy_gpu or all of the document's.  Of the original's\n"
    "options, hwwfc,threshold=auto (or a number, default 1.5), weight=W and backtracks=N (default\n"
    "10); --explain adds what is left of each limit.  --shape and --json work as ever, the other\n"
    "options not at all.\n\n"
    "Exit status: 0 done, 1 no plan or a rewrite is not legal, 2 usage or malformed input.\n\n"
    "    warpwright plan kernels/ops/softmax.json --explain\n"
    "    warpwright plan kernels/ops/matmul.json --why-not '{\"tile\": {\"m\": 256, \"n\": 256}}'\n"
    "    warpwright plan kernels/ops/matmul.json --vary smem=8K..256K\n"
    "    warpwright plan kernels/ops/matmul.json --vary sm-share=10%..100%\n"
    "    warpwright plan kernels/ops/softmax.json --shape 'M=1,N=4096; M=4096,N=4096'\n"
    "    warpwright plan kernels/ops/softmax.json --rewrite online:mx:n:64 --spec-out online.json\n"
    "    warpwright plan kernels/ops/transformer_mlp.json --preset hwwfc --machine a100\n"
    "    warpwright plan kernels/ops/*.json --table";

int cmd_plan(const struct command *self, int argc, char **argv)
{
    struct plan_args args = {.best = BEST_DEFAULT};
    const struct opt options[] = {
        {"explain", OPT_FLAG, &args.explain, NULL, "structures, boundary, space, costs, slack", 0,
         0},
        {"machine", OPT_TEXT, &args.machine, "M", "machine to plan for; default: h200-sxm", 0, 0},
        {"best", OPT_INT, &args.best, "K", "plans to show; default: 5", 1, PLAN_BEST_MAX},
        {"why-not", OPT_TEXT, &args.why_not, "SKETCH", "what stops such a plan", 0, 0},
        {"shapes", OPT_TEXT, &args.shapes, "FILE", "several shapes, one a line", 0, 0},
        {"vary", OPT_TEXT, &args.vary, "NAME=LOW..HIGH", "machines that differ in one number", 0,
         0},
        {"table", OPT_FLAG, &args.table, NULL, "a row for each of several specs", 0, 0},
        {"rewrite", OPT_TEXT, &args.rewrite, "LIST", "rewrites, parted by commas", 0, 0},
        {"spec-out", OPT_TEXT, &args.spec_out, "FILE", "where the rewritten spec goes", 0, 0},
        {"preset", OPT_TEXT, &args.preset, "hwwfc", "plan as HW-WFC does", 0, 0},
        {"smem-limit", OPT_INT, &args.smem_limit, "BYTES", "of shared memory a block at most", 1,
         INT32_MAX},
        {"sm-share", OPT_TEXT, &args.sm_share, "PART", "of the SMs, such as 0.5 or 50%", 0, 0},
        COMMON_TRACK(&args.common),
        COMMON_SHAPE(&args.common, "shape to plan for, or several; default: the first target"),
        COMMON_JSON(&args.common),
    };
    const struct opt_command command = {
        .name = self->name,
        .synopsis = "SPEC... [--explain] [--machine M] [--why-not SKETCH] [--vary NAME=LOW..HIGH]",
        .summary = self->summary,
        .text = plan_help,
        .options = options,
        .option_count = COUNT_OF(options),
        .positional_min = 1,
        .positional_max = SPECS_MAX,
    };
    const char *positional[SPECS_MAX];
    struct session session;
    struct arena arena;
    struct err err;
    int count, status;

    if (!command_begin(&command, argc, argv, positional, &count, &status))
        return status;
    args.spec = positional[0];
    args.common.no_cache = true;
    arena_init(&arena, arena_bytes_max);
    if (!session_begin(&session, &arena, &args.common, &err) ||
        !run(&session, &args, positional, (size_t)count, &status, &err))
        status = command_failed(self->name, &err);
    session_end(&session);
    arena_release(&arena);
    return status;
}
