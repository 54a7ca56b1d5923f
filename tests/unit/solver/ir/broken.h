#ifndef TESTS_UNIT_SOLVER_IR_BROKEN_H
#define TESTS_UNIT_SOLVER_IR_BROKEN_H

/* Broken specs and the exact text each gets.  Specs are written with ' for ". */
#include <string.h>

#include "solver/ir/op.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES_MAX = 64 << 20 };

/* The specs that the cases `use`. */
static const char *const library_texts[][2] = {
    {"double", "{'spec':1,'name':'double','dims':{'A':[1,64],'B':[1,64]},'tensors':["
               "{'name':'x','role':'input','dtype':'f32','shape':['A','B']},"
               "{'name':'y','role':'output','dtype':'f32','shape':['A','B']}],"
               "'body':['y[a,b] = 2 * x[a,b]'],'tracks':{'f32':{}},"
               "'shapes':{'target':[{'A':4,'B':6}]}}"},
    {"small", "{'spec':1,'name':'small','dims':{'A':[1,2],'B':[1,64]},'tensors':["
              "{'name':'x','role':'input','dtype':'f32','shape':['A','B']},"
              "{'name':'y','role':'output','dtype':'f32','shape':['A','B']}],"
              "'body':['y[a,b] = 2 * x[a,b]'],'tracks':{'f32':{}},"
              "'shapes':{'target':[{'A':2,'B':6}]}}"},
    {"window", "{'spec':1,'name':'window','dims':{'A':[1,64],'B':[1,64],'D':[1,64]},'tensors':["
               "{'name':'x','role':'input','dtype':'f32','shape':['A','B']},"
               "{'name':'y','role':'output','dtype':'f32','shape':['A']}],"
               "'body':['y[a] = sum(d:D) x[a,d % B]'],'tracks':{'f32':{}},"
               "'shapes':{'target':[{'A':4,'B':6,'D':3}]}}"},
    {"broken", "{'spec':1,'name':'broken','dims':{'A':[1,64],'B':[1,64]},'tensors':["
               "{'name':'x','role':'input','dtype':'f32','shape':['A','B']},"
               "{'name':'y','role':'output','dtype':'f32','shape':['A','B']}],"
               "'body':['y[a,b] = 2 * z[a,b]'],'tracks':{'f32':{}},"
               "'shapes':{'target':[{'A':4,'B':6}]}}"},
    {"loop", "{'spec':1,'name':'loop','dims':{'A':[1,64],'B':[1,64]},'tensors':["
             "{'name':'x','role':'input','dtype':'f32','shape':['A','B']},"
             "{'name':'y','role':'output','dtype':'f32','shape':['A','B']}],"
             "'body':['use loop(x = x, y = y)'],'tracks':{'f32':{}},"
             "'shapes':{'target':[{'A':4,'B':6}]}}"},
};

struct broken {
    const char *name, *spec, *want;
};

static inline struct str quoted(struct arena *arena, const char *text)
{
    char *copy = str_copy(arena, str_from(text));
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return str_from(copy);
}

static inline bool broken_find(void *context, struct arena *arena, struct str name,
                               struct str *text)
{
    (void)context;
    for (size_t i = 0; i < COUNT_OF(library_texts); i++)
        if (str_equal(name, str_from(library_texts[i][0]))) {
            *text = quoted(arena, library_texts[i][1]);
            return true;
        }
    return false;
}

static inline void broken_check(const struct broken *cases, size_t count)
{
    const struct op_library library = {broken_find, NULL};
    for (size_t i = 0; i < count; i++) {
        struct arena arena;
        struct err err = {0};
        const struct op *op = NULL;
        arena_init(&arena, ARENA_BYTES_MAX);
        struct str text = quoted(&arena, cases[i].spec);
        if (op_parse(&arena, text, "t.json", &library, &op, &err))
            fail_msg("%s: accepted", cases[i].name);
        assert_null(op);
        if (strcmp(err.text, cases[i].want) != 0)
            fail_msg("%s:\ngot  %s\nwant %s", cases[i].name, err.text, cases[i].want);
        arena_release(&arena);
    }
}

#endif
