/*
 * How a command starts and how it fails.
 */
#include <string.h>

#include "base/escape.h"

#include "agent/agent.h"

enum { HELP_BYTES_MAX = 64 << 10, LINE_BYTES_MAX = 4 * ERR_TEXT_BYTES, ARENA_BYTES = 1 << 20 };

/* An error may quote a stranger's file, over several lines. */
static void print_error(const struct err *err)
{
    struct str rest = str_from(err->text), line;
    struct arena arena;

    arena_init(&arena, ARENA_BYTES);
    while (str_next_line(&rest, &line)) {
        struct buf text;

        buf_init(&text, &arena, LINE_BYTES_MAX);
        escape_print(&text, line, LINE_BYTES_MAX);
        fprintf(stderr, "%.*s\n", STR_ARG(buf_view(&text)));
    }
    arena_release(&arena);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

bool command_begin(const struct opt_command *command, int argc, char **argv,
                   const char **positional, int *count, int *status)
{
    struct err err;

    if (asks_for_help(argc, argv)) {
        struct arena arena;
        struct buf text;

        arena_init(&arena, 4 * HELP_BYTES_MAX);
        buf_init(&text, &arena, HELP_BYTES_MAX);
        opt_help(&text, command);
        fwrite(text.at, 1, text.len, stdout);
        arena_release(&arena);
        *status = EXIT_DONE;
        return false;
    }
    if (opt_parse(command, argc, argv, positional, count, &err))
        return true;
    fputs("warpwright: ", stderr);
    print_error(&err);
    *status = EXIT_USAGE;
    return false;
}

int command_failed(const char *name, const struct err *err)
{
    fflush(stdout);
    fprintf(stderr, "warpwright %s: ", name);
    print_error(err);
    switch (err->code) {
    case ERR_IO:
    case ERR_USAGE:
    case ERR_SYNTAX:
    case ERR_SEMANTIC:
    case ERR_LIMIT:
        return EXIT_USAGE;
    case ERR_NONE:
    case ERR_UNSUPPORTED:
    case ERR_CHILD:
    case ERR_NETWORK:
    case ERR_DATABASE:
    case ERR_DEVICE:
        return EXIT_FAILED;
    }
    return EXIT_FAILED;
}
