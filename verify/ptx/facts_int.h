#ifndef VERIFY_PTX_FACTS_INT_H
#define VERIFY_PTX_FACTS_INT_H

#include "verify/ptx/ast_int.h"

/* What a lint sees in `count` functions, an entry first and what it may call behind. */
void facts_gather(struct arena *arena, const struct ast_module *ast, const uint32_t *funcs,
                  uint32_t count, struct ptx_facts *out);

#endif
