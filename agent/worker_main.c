/*
 * warpwright-worker: what a machine with a GPU needs to judge bundles, and nothing else.  It links
 * neither the network client nor the database.
 */
#include <string.h>

#include "agent/agent.h"

static const struct command commands[] = {
    {"evaluate", cmd_evaluate, "Judge bundles, on a GPU where there is one"},
    {"doctor", cmd_doctor, "Say what this machine has and what is missing"},
};

static void print_usage(FILE *to)
{
    fputs("usage: warpwright-worker COMMAND [ARGUMENT...]\n\n", to);
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\nwarpwright-worker COMMAND --help explains one of them.\n", to);
}

int main(int argc, char **argv)
{
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        print_usage(stdout);
        return EXIT_DONE;
    }
    for (size_t i = 0; argc >= 2 && i < COUNT_OF(commands); i++)
        if (strcmp(commands[i].name, argv[1]) == 0)
            return commands[i].run(&commands[i], argc - 1, argv + 1);
    print_usage(stderr);
    return EXIT_USAGE;
}
