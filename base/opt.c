/*
 * Command-line options from a table, and the help text from the same table.
 *
 * Options and positionals may be mixed; a repeated option's last value wins.  Not here: short
 * options, subcommands, configuration files; agent/ has those it needs.
 */
#include "base/opt.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"

enum { OPTIONS_MAX = 64, WORD_BYTES_MAX = 64, HELP_COLUMN = 26 };

static const struct opt *find(const struct opt_command *command, struct str name)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (str_equal(str_from(command->options[i].name), name))
            return &command->options[i];
    return NULL;
}

static bool unknown(const struct opt_command *command, struct str name, struct err *err)
{
    const char *known[OPTIONS_MAX];
    char word[WORD_BYTES_MAX];
    const char *near = NULL;

    ASSERT(command->option_count <= OPTIONS_MAX);
    for (size_t i = 0; i < command->option_count; i++)
        known[i] = command->options[i].name;
    if (name.len < sizeof(word)) {
        memcpy(word, name.at, name.len);
        word[name.len] = '\0';
        near = opt_nearest(word, known, command->option_count);
    }
    if (near)
        return err_raise(err, ERR_USAGE, "%s has no option --%.*s; did you mean --%s?",
                         command->name, STR_ARG(name), near);
    return err_raise(err, ERR_USAGE, "%s has no option --%.*s (see: help %s)", command->name,
                     STR_ARG(name), command->name);
}

static bool set_int(const struct opt *option, const char *text, struct err *err)
{
    char *end;
    errno = 0;
    const char *digits = text + (*text == '-' || *text == '+');
    bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    int64_t value = strtoll(text, &end, hex ? 16 : 10);
    bool bounded = option->max > option->min;
    bool fits = !bounded || (value >= option->min && value <= option->max);
    if (end != text && *end == '\0' && errno == 0 && fits) {
        *(int64_t *)option->target = value;
        return true;
    }
    if (bounded)
        return err_raise(err, ERR_USAGE,
                         "--%s wants an integer from %" PRId64 " to %" PRId64 ", not \"%s\"",
                         option->name, option->min, option->max, text);
    return err_raise(err, ERR_USAGE, "--%s wants an integer, not \"%s\"", option->name, text);
}

static bool set_real(const struct opt *option, const char *text, struct err *err)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value))
        return err_raise(err, ERR_USAGE, "--%s wants a number, not \"%s\"", option->name, text);
    *(double *)option->target = value;
    return true;
}

static bool set_value(const struct opt *option, const char *text, struct err *err)
{
    switch (option->kind) {
    case OPT_FLAG:
        *(bool *)option->target = true;
        return true;
    case OPT_TEXT:
        *(const char **)option->target = text;
        return true;
    case OPT_INT:
        return set_int(option, text, err);
    case OPT_REAL:
        return set_real(option, text, err);
    }
    panic("option kind %d", (int)option->kind);
}

/* argv[*i] is "--name", "--name=value" or "-x"; *i moves to the last argument consumed. */
static bool parse_option(const struct opt_command *command, int argc, char **argv, int *i,
                         struct err *err)
{
    const char *arg = argv[*i];
    if (arg[1] != '-')
        return err_raise(err, ERR_USAGE, "%s has no short option %s; options are spelled --name",
                         command->name, arg);
    const char *equals = strchr(arg, '=');
    struct str name = {arg + 2, equals ? (size_t)(equals - arg - 2) : strlen(arg + 2)};
    const struct opt *option = find(command, name);
    if (!option)
        return unknown(command, name, err);
    if (option->kind == OPT_FLAG && equals)
        return err_raise(err, ERR_USAGE, "--%s takes no value", option->name);
    if (option->kind == OPT_FLAG || equals)
        return set_value(option, equals ? equals + 1 : NULL, err);
    if (*i + 1 >= argc)
        return err_raise(err, ERR_USAGE, "--%s wants a value: --%s %s", option->name, option->name,
                         option->value ? option->value : "VALUE");
    *i += 1;
    return set_value(option, argv[*i], err);
}

bool opt_parse(const struct opt_command *command, int argc, char **argv, const char **positional,
               int *count, struct err *err)
{
    int found = 0;
    bool options_ended = false;
    for (int i = 1; i < argc; i++) {
        if (!options_ended && strcmp(argv[i], "--") == 0) {
            options_ended = true;
        } else if (!options_ended && argv[i][0] == '-' && argv[i][1] != '\0') {
            if (!parse_option(command, argc, argv, &i, err))
                return false;
        } else if (found == command->positional_max) {
            return err_raise(err, ERR_USAGE, "%s: \"%s\" is one argument too many; usage: %s %s",
                             command->name, argv[i], command->name, command->synopsis);
        } else {
            positional[found++] = argv[i];
        }
    }
    if (found < command->positional_min)
        return err_raise(err, ERR_USAGE, "%s: an argument is missing; usage: %s %s", command->name,
                         command->name, command->synopsis);
    *count = found;
    return true;
}

static void help_option(struct buf *out, const struct opt *option)
{
    size_t start = out->len;
    buf_printf(out, "  --%s", option->name);
    if (option->kind != OPT_FLAG)
        buf_printf(out, " %s", option->value ? option->value : "VALUE");
    size_t used = out->len - start;
    if (used + 2 > HELP_COLUMN) {
        buf_char(out, '\n');
        used = 0;
    }
    buf_printf(out, "%*s%s", (int)(HELP_COLUMN - used), "", option->help);
    if (option->kind == OPT_INT && option->max > option->min)
        buf_printf(out, " (%" PRId64 " to %" PRId64 ")", option->min, option->max);
    buf_char(out, '\n');
}

void opt_help(struct buf *out, const struct opt_command *command)
{
    buf_printf(out, "usage: warpwright %s%s%s\n\n%s.\n", command->name,
               *command->synopsis ? " " : "", command->synopsis, command->summary);
    if (command->text)
        buf_printf(out, "\n%s\n", command->text);
    if (command->option_count)
        buf_text(out, "\noptions:\n");
    for (size_t i = 0; i < command->option_count; i++)
        help_option(out, &command->options[i]);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance by rows; both words are shorter than WORD_BYTES_MAX. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[WORD_BYTES_MAX + 1];
    size_t len = strlen(b);
    for (size_t j = 0; j <= len; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 1; j <= len; j++) {
            size_t changed = diagonal + (a[i] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(changed, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[len];
}

const char *opt_nearest(const char *word, const char *const *known, size_t count)
{
    const char *best = NULL;
    size_t len = strlen(word);
    size_t best_distance = 1 + (len > 3 ? len / 3 : 0); /* TUNING: a third of the letters, by eye */
    if (len >= WORD_BYTES_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (strlen(known[i]) >= WORD_BYTES_MAX)
            continue;
        size_t distance = edit_distance(word, known[i]);
        if (distance <= best_distance && (!best || distance < best_distance)) {
            best = known[i];
            best_distance = distance;
        }
    }
    return best;
}
