/*
 * warpwright: the command table, help and version.
 */
#include <string.h>

#include "base/version.h"

#include "agent/agent.h"

static int cmd_help(const struct command *self, int argc, char **argv);
static int cmd_version(const struct command *self, int argc, char **argv);

static const struct command commands[] = {
    {"synth", cmd_synth, "Make kernels for a spec and verify them"},
    {"plan", cmd_plan, "Show the legal plans of a spec, and the best of them"},
    {"verify", cmd_verify, "Verify a kernel against a spec"},
    {"selftest", cmd_selftest, "Try the emulator, or the checks on kernels that cheat"},
    {"memory", cmd_memory, "Show what a bank remembers"},
    {"evaluate", cmd_evaluate, "Judge bundles, on a GPU where there is one"},
    {"bench-solver", cmd_bench_solver, "Measure the solvers, or compare with HW-WFC"},
    {"doctor", cmd_doctor, "Say what this machine has and what is missing"},
    {"help", cmd_help, "Explain a command"},
    {"version", cmd_version, "Print the version"},
};

static const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void print_usage(FILE *to)
{
    fputs("usage: warpwright COMMAND [ARGUMENT...]\n\n"
          "Takes an op spec, makes CUDA kernels for it, and proves them right.\n\n",
          to);
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        fprintf(to, "  %-12s %s\n", commands[i].name, commands[i].summary);
    fputs("\nwarpwright help COMMAND explains one of them.\n", to);
}

static int unknown_command(const char *name)
{
    const char *known[COUNT_OF(commands)];
    const char *near;

    for (size_t i = 0; i < COUNT_OF(commands); i++)
        known[i] = commands[i].name;
    near = opt_nearest(name, known, COUNT_OF(commands));
    if (near != NULL)
        fprintf(stderr, "warpwright: there is no command \"%s\"; did you mean %s?\n", name, near);
    else
        fprintf(stderr, "warpwright: there is no command \"%s\"; warpwright help lists them\n",
                name);
    return EXIT_USAGE;
}

static int cmd_help(const struct command *self, int argc, char **argv)
{
    const struct opt_command command = {
        .name = self->name,
        .synopsis = "[COMMAND]",
        .summary = self->summary,
        .positional_max = 1,
    };
    const char *positional[1];
    char *help_of[] = {NULL, (char[]){"--help"}, NULL};
    const struct command *asked;
    int count, status;

    if (!command_begin(&command, argc, argv, positional, &count, &status))
        return status;
    if (count == 0) {
        print_usage(stdout);
        return EXIT_DONE;
    }
    asked = command_find(positional[0]);
    if (asked == NULL)
        return unknown_command(positional[0]);
    help_of[0] = argv[0];
    return asked->run(asked, 2, help_of);
}

static int cmd_version(const struct command *self, int argc, char **argv)
{
    const struct opt_command command = {
        .name = self->name, .synopsis = "", .summary = self->summary};
    const char *positional[1];
    int count, status;

    if (!command_begin(&command, argc, argv, positional, &count, &status))
        return status;
    puts("warpwright " WARPWRIGHT_VERSION);
    return EXIT_DONE;
}

/* Results that reached nobody, as on a full disk, are no results. */
static int flushed(const struct command *command, int status)
{
    struct err err;

    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    err_failed(err_raise(&err, ERR_IO, "what was printed could not be written"));
    return command_failed(command->name, &err);
}

int main(int argc, char **argv)
{
    const struct command *command;

    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_usage(stdout);
        return EXIT_DONE;
    }
    command = command_find(strcmp(argv[1], "--version") == 0 ? "version" : argv[1]);
    if (command == NULL)
        return unknown_command(argv[1]);
    return flushed(command, command->run(command, argc - 1, argv + 1));
}
