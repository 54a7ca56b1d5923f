/*
 * selftest: does this program do its job here?
 *
 * --ptx DIR: which of the kernels there can the emulator run?  --cheats DIR: are kernels that cheat
 * or are subtly wrong (h*.cu) refused, and honest ones (all others) accepted?
 */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"

#include "agent/agent.h"

enum { SOURCE_BYTES_MAX = 4 << 20, FILES_MAX = 4096, TEXT_BYTES_MAX = 4 << 20 };
static const size_t arena_bytes_max = (size_t)4 << 30;
static const size_t case_bytes_max = (size_t)2 << 30;

struct selftest_args {
    struct common common;
    const char *ptx, *cheats, *ops;
    int64_t require_tier;
};

/* ---- kernels for the emulator ---- */

struct ptx_tally {
    size_t files, run;
    bool required_fail; /* one of a required tier does not run */
};

/* What became of a file: its highest tier, and the first instruction that cannot run. */
struct decoded {
    int tier;
    const char *unsupported; /* NULL = can run */
    const char *reason;      /* does not compile or load; NULL = does */
};

static void decode(struct arena *arena, struct str ptx, struct decoded *out)
{
    const struct ptx_module *module;
    struct err err;

    if (!ptx_load(arena, ptx, &module, &err)) {
        out->reason = str_copy(arena, str_from(err.text));
        return;
    }
    for (size_t i = 0; i < ptx_entry_count(module); i++) {
        const struct ptx_entry *entry = ptx_entry_at(module, i);

        if (entry->tier > out->tier)
            out->tier = entry->tier;
        if (entry->unsupported != NULL && out->unsupported == NULL)
            out->unsupported = entry->unsupported;
    }
}

static bool try_file(struct session *session, struct arena *arena, const char *path,
                     const char *arch, struct decoded *out, struct err *err)
{
    struct compile_request request = {.arch = arch};
    struct compile_result result;

    *out = (struct decoded){.tier = 1};
    if (!file_read(arena, path, SOURCE_BYTES_MAX, &request.source, err) ||
        !compiler_compile(session->compiler, arena, &request, &result, err))
        return false;
    if (result.end != COMPILE_OK)
        out->reason = result.reason != NULL ? result.reason : compile_end_text(result.end);
    else
        decode(arena, result.ptx, out);
    return true;
}

/* A line of JSON from names and texts, NULL-ended pairs. */
static void print_json_line(struct arena *arena, const char *const *pairs)
{
    struct json_writer w;
    struct buf text;

    buf_init(&text, arena, TEXT_BYTES_MAX);
    json_writer_init(&w, &text);
    json_open_object(&w);
    for (size_t i = 0; pairs[i] != NULL; i += 2) {
        json_key(&w, pairs[i]);
        json_put_text(&w, pairs[i + 1]);
    }
    json_close_object(&w);
    buf_char(&text, '\n');
    fwrite(text.at, 1, text.len, stdout);
}

static void print_decoded(struct arena *arena, const char *name, const struct decoded *found,
                          bool json)
{
    const char *end = found->reason != NULL        ? "does not compile"
                      : found->unsupported != NULL ? "cannot run"
                                                   : "can run";
    const char *why = found->reason != NULL        ? found->reason
                      : found->unsupported != NULL ? found->unsupported
                                                   : "";
    const char tier[] = {(char)('0' + found->tier), '\0'};
    const char *const pairs[] = {"file", name, "end", end, "tier", tier, "why", why, NULL};

    if (json)
        print_json_line(arena, pairs);
    else
        printf("%-32s  tier %s  %s%s%s\n", name, tier, end, why[0] != '\0' ? ": " : "", why);
}

static bool run_ptx(struct session *session, const struct selftest_args *args, int *status,
                    struct err *err)
{
    const char *arch = args->common.arch != NULL ? args->common.arch : "sm_90a";
    struct ptx_tally tally = {0};
    struct progress progress;
    const char *const *names;

    if (!file_list(session->arena, args->ptx, ".cu", FILES_MAX, &names, &tally.files, err) ||
        !session_compiler(session, err))
        return false;
    progress_begin(&progress);
    for (size_t i = 0; i < tally.files; i++) {
        struct arena arena;
        struct decoded found;
        bool runs, ok;

        if (progress.terminal)
            progress_show(&progress, "%zu/%zu %s", i + 1, tally.files, names[i]);
        arena_init(&arena, case_bytes_max);
        ok = try_file(session, &arena, path_join(&arena, args->ptx, names[i]), arch, &found, err);
        progress_end(&progress);
        if (ok) {
            runs = found.reason == NULL && found.unsupported == NULL;
            print_decoded(&arena, names[i], &found, args->common.json);
            tally.run += runs;
            tally.required_fail =
                tally.required_fail || (!runs && found.tier <= args->require_tier);
        }
        arena_release(&arena);
        if (!ok)
            return false;
    }
    printf(args->common.json ? "{\"run\":%zu,\"of\":%zu}\n" : "%zu of %zu can run\n", tally.run,
           tally.files);
    *status = tally.required_fail || tally.files == 0 ? EXIT_FAILED : EXIT_DONE;
    return true;
}

/* ---- kernels that cheat ---- */

struct cheat_tally {
    size_t cheats, caught, need_gpu, honest, accepted;
};

static bool is_cheat(const char *name)
{
    return name[0] == 'h' && name[1] >= '0' && name[1] <= '9';
}

static bool cannot_judge(struct arena *arena, struct verdict *verdict, enum validity validity,
                         const struct err *err)
{
    *verdict = (struct verdict){
        .validity = validity,
        .gate = GATE_SCREEN,
        .reason = str_from(str_copy(arena, str_from(err->text))),
    };
    return true;
}

/* NAME.cu and NAME.json against OPS/OP.json.  A manifest that breaks the contract is the
 * candidate's fault; one that is not there is not. */
static bool try_case(struct session *outer, struct arena *arena, const struct selftest_args *args,
                     const char *name, struct verdict *verdict, struct err *err)
{
    const size_t stem = strlen(name) - strlen(".cu");
    struct session session = *outer;
    struct candidate candidate = {.form = CANDIDATE_CUDA};
    const struct check_options options = {
        .arch = args->common.arch, .secret = outer->secret, .cache = &outer->cache};
    struct check_products products;
    const struct op *op;
    struct buf path;

    session.arena = arena;
    buf_init(&path, arena, 1 << 16);
    buf_printf(&path, "%s/%.*s.json", args->cheats, (int)stem, name);
    if (!session_manifest(&session, str_copy(arena, buf_view(&path)), &candidate.manifest, err))
        return err->code != ERR_IO && cannot_judge(arena, verdict, VALIDITY_SOURCE_REJECTED, err);
    if (!file_read(arena, path_join(arena, args->cheats, name), SOURCE_BYTES_MAX, &candidate.text,
                   err))
        return false;
    path.len = 0;
    buf_printf(&path, "%s/%.*s.json", args->ops, STR_ARG(candidate.manifest->op));
    return session_spec(&session, str_copy(arena, buf_view(&path)), &op, err) &&
           check_candidate(arena, op, &candidate, &options, session.compiler, &products, verdict,
                           err);
}

/* Whatever goes wrong with one case, the others are judged. */
static void judge(struct session *session, struct arena *arena, const struct selftest_args *args,
                  const char *name, struct verdict *verdict)
{
    struct err err;

    if (!try_case(session, arena, args, name, verdict, &err))
        (void)cannot_judge(arena, verdict, VALIDITY_INFRASTRUCTURE, &err);
}

static const char *count_case(struct cheat_tally *tally, bool cheat, const struct verdict *verdict)
{
    const bool accepted = verdict->validity == VALIDITY_ACCEPTED;
    const bool undecided = verdict->validity == VALIDITY_UNSUPPORTED ||
                           verdict->validity == VALIDITY_PARTIAL ||
                           verdict->validity == VALIDITY_INFRASTRUCTURE;

    if (!cheat) {
        tally->honest++;
        tally->accepted += accepted;
        return accepted ? "accepted" : "REFUSED";
    }
    tally->cheats++;
    tally->need_gpu +=
        verdict->validity == VALIDITY_UNSUPPORTED || verdict->validity == VALIDITY_PARTIAL;
    tally->caught += !accepted && !undecided;
    return accepted                                       ? "MISSED"
           : verdict->validity == VALIDITY_INFRASTRUCTURE ? "FAILED"
           : undecided                                    ? "needs a GPU"
                                                          : "caught";
}

static void print_case(struct arena *arena, const char *name, const char *outcome,
                       const struct verdict *verdict, bool json)
{
    const char *const pairs[] = {
        "case",     name,
        "outcome",  outcome,
        "validity", validity_name(verdict->validity),
        "gate",     gate_name(verdict->gate),
        "reason",   str_copy(arena, verdict->reason),
        NULL,
    };

    if (json)
        print_json_line(arena, pairs);
    else
        printf("%-12s %-32s %-17s %-8s %.*s\n", outcome, name, validity_name(verdict->validity),
               gate_name(verdict->gate), STR_ARG(verdict->reason));
    fflush(stdout);
}

static bool run_cheats(struct session *session, const struct selftest_args *args, int *status,
                       struct err *err)
{
    struct cheat_tally tally = {0};
    struct progress progress;
    const char *const *names;
    size_t count;

    if (!file_list(session->arena, args->cheats, ".cu", FILES_MAX, &names, &count, err) ||
        !session_compiler(session, err))
        return false;
    progress_begin(&progress);
    for (size_t i = 0; i < count; i++) {
        struct arena arena;
        struct verdict verdict;

        if (progress.terminal)
            progress_show(&progress, "%zu/%zu %s", i + 1, count, names[i]);
        arena_init(&arena, case_bytes_max);
        judge(session, &arena, args, names[i], &verdict);
        progress_end(&progress);
        print_case(&arena, names[i], count_case(&tally, is_cheat(names[i]), &verdict), &verdict,
                   args->common.json);
        arena_release(&arena);
    }
    if (tally.need_gpu > 0 && !args->common.json)
        printf("%zu more cheats cannot be judged without a GPU\n", tally.need_gpu);
    printf(args->common.json ? "{\"caught\":%zu,\"cheats\":%zu,\"accepted\":%zu,\"honest\":%zu}\n"
                             : "%zu of %zu cheats caught, %zu of %zu honest accepted\n",
           tally.caught, tally.cheats, tally.accepted, tally.honest);
    *status =
        count > 0 && tally.caught + tally.need_gpu == tally.cheats && tally.accepted == tally.honest
            ? EXIT_DONE
            : EXIT_FAILED;
    return true;
}

/* ---- the command ---- */

/* The specs beside the cases, unless said otherwise. */
static const char *ops_folder(struct session *session, const struct selftest_args *args)
{
    const char *beside = path_join(session->arena, args->cheats, "../ops");

    return file_is_dir(beside) ? beside : session->env.ops_folder;
}

static bool selftest(struct session *session, struct selftest_args *args, int *status,
                     struct err *err)
{
    if ((args->ptx == NULL) == (args->cheats == NULL))
        return err_raise(err, ERR_USAGE, "say --ptx DIR or --cheats DIR");
    if (args->cheats != NULL && args->ops == NULL)
        args->ops = ops_folder(session, args);
    if (args->cheats != NULL && args->ops == NULL)
        return err_raise(err, ERR_USAGE,
                         "--cheats wants --ops DIR, the folder of the cases' specs");
    return args->ptx != NULL ? run_ptx(session, args, status, err)
                             : run_cheats(session, args, status, err);
}

int cmd_selftest(const struct command *self, int argc, char **argv)
{
    struct selftest_args args = {.require_tier = 1};
    const struct opt options[] = {
        {"ptx", OPT_TEXT, &args.ptx, "DIR", "say for each .cu whether the emulator can run it", 0,
         0},
        {"require-tier", OPT_INT, &args.require_tier, "N", "fail unless all files up to tier N run",
         0, 3},
        {"cheats", OPT_TEXT, &args.cheats, "DIR", "judge each NAME.cu with NAME.json there", 0, 0},
        {"ops", OPT_TEXT, &args.ops, "DIR",
         "the specs that those manifests name; default: DIR/../ops", 0, 0},
        COMMON_ARCH(&args.common, "architecture; default: sm_90a, or the manifest's"),
        COMMON_SEED(&args.common),
        COMMON_CACHE(&args.common),
        COMMON_JSON(&args.common),
    };
    const struct opt_command command = {
        .name = self->name,
        .synopsis = "--ptx DIR [--require-tier N] | --cheats DIR --ops DIR",
        .summary = self->summary,
        .text =
            "--ptx compiles every .cu in DIR and names the first instruction that the emulator\n"
            "cannot run; tier 1 is scalar code, 2 tensor cores and cp.async, 3 Hopper's TMA and\n"
            "wgmma.  --cheats expects every h*.cu to be refused and all others to be accepted.\n\n"
            "Exit status: 0 as expected, 1 not, 2 usage or malformed input.",
        .options = options,
        .option_count = COUNT_OF(options),
    };
    const char *positional[1];
    struct session session = {0};
    struct arena arena;
    struct err err;
    int count, status;

    if (!command_begin(&command, argc, argv, positional, &count, &status))
        return status;
    arena_init(&arena, arena_bytes_max);
    if (!session_begin(&session, &arena, &args.common, &err) ||
        !selftest(&session, &args, &status, &err))
        status = command_failed(self->name, &err);
    session_end(&session);
    arena_release(&arena);
    return status;
}
