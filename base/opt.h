#ifndef BASE_OPT_H
#define BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

/*
 * Option tables: one line gives parsing and help.  `--name value`, `--name=value`; flags take no
 * value;
 * `--` ends options; an unknown option's error names the nearest known one.
 */
enum opt_kind { OPT_FLAG, OPT_TEXT, OPT_INT, OPT_REAL };

struct opt {
    const char *name; /* without dashes */
    enum opt_kind kind;
    void *target;      /* bool *, const char **, int64_t *, double * */
    const char *value; /* placeholder in help: "FILE"; NULL for flags */
    const char *help;
    int64_t min, max; /* of OPT_INT, when max > min */
};

struct opt_command {
    const char *name;
    const char *synopsis; /* "SPEC [--attempts N]" */
    const char *summary;  /* one line */
    const char *text;     /* what it does, exit codes, an example */
    const struct opt *options;
    size_t option_count;
    int positional_min, positional_max;
};

/* Parses argv[1..]; positionals are moved to positional[0..*count-1] (room for positional_max). */
bool opt_parse(const struct opt_command *command, int argc, char **argv, const char **positional,
               int *count, struct err *err) MUST_USE;
void opt_help(struct buf *out, const struct opt_command *command);

/* The entry of `known` with the least edit distance to `word`, NULL when none is near. */
const char *opt_nearest(const char *word, const char *const *known, size_t count);

#endif
