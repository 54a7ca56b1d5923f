/*
 * bench-solver: HW-WFC's recorded results against the preset.
 */
#include <inttypes.h>

#include "base/file.h"
#include "base/json.h"

#include "agent/agent.h"
#include "solver/sched/sched.h"

static const size_t arena_bytes_max = (size_t)4 << 30;

struct bench_args {
    const char *check;
};

static int run_check(const struct command *self, struct arena *arena, const char *path)
{
    struct hwwfc_check check;
    const struct json *document;
    struct str text;
    struct err err;
    if (!file_read(arena, path, HWWFC_FILE_BYTES_MAX, &text, &err) ||
        !json_parse(arena, text, path, &document, &err) ||
        !hwwfc_check(arena, document, &check, &err))
        return command_failed(self->name, &err);
    for (size_t i = 0; i < check.complaint_count; i++)
        printf("%s\n", check.complaints[i]);
    printf("%" PRId64 " comparisons, %" PRId64 " mismatches\n", check.comparisons,
           check.mismatches);
    return check.mismatches == 0 ? EXIT_DONE : EXIT_FAILED;
}

int cmd_bench_solver(const struct command *self, int argc, char **argv)
{
    struct bench_args args = {0};
    const struct opt options[] = {
        {"check", OPT_TEXT, &args.check, "FILE", "compare recorded results of HW-WFC", 0, 0},
    };
    const struct opt_command command = {
        .name = self->name,
        .synopsis = "--check FILE",
        .summary = self->summary,
        .text = "With --check, every number that HW-WFC recorded in FILE is computed anew by the\n"
                "preset and compared to the bit; the last line counts. Exit 0: no mismatch.\n",
        .options = options,
        .option_count = COUNT_OF(options),
    };
    const char *positional[1];
    struct arena arena;
    int count, status;

    if (!command_begin(&command, argc, argv, positional, &count, &status))
        return status;
    arena_init(&arena, arena_bytes_max);
    status = run_check(self, &arena, args.check);
    arena_release(&arena);
    return status;
}
