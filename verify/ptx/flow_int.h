#ifndef VERIFY_PTX_FLOW_INT_H
#define VERIFY_PTX_FLOW_INT_H

#include "verify/ptx/ast_int.h"

/* The basic blocks of a function, in order of the text. */
struct flow_block {
    uint32_t first, end;     /* instructions */
    const uint32_t *targets; /* labels */
    uint32_t target_count;
    bool falls;
};

struct flow_graph {
    const struct ast_func *func;
    struct flow_block *blocks;
    uint32_t block_count;
    uint32_t *block_of; /* by instruction; a label at the end has block_count */
};

/* `func` has a body with an instruction. */
void flow_graph_build(struct arena *arena, const struct ast_module *ast,
                      const struct ast_func *func, struct flow_graph *out);

/* By block.  What every thread executes, whichever way it goes, before it leaves: */
struct flow_joint {
    struct flow_graph graph;
    const bool *always; /* this block */
    const bool *behind; /* something in another block behind this one */
};

void flow_joint_find(struct arena *arena, const struct flow_graph *graph, struct flow_joint *out);
/* Has a thread that left without executing `insn` gone on past it, to something that those who
 * execute it come to as well? */
bool flow_goes_on(const struct flow_joint *joint, uint32_t insn);

#endif
