#ifndef SOLVER_IR_SPEC_INT_H
#define SOLVER_IR_SPEC_INT_H

#include "solver/ir/op_int.h"

/* Shared by spec.c and spec_tensor.c. */

/* An integer or the text of a formula over the given dims. */
bool spec_formula(struct arena *arena, const struct json *at, const struct dim *dims, size_t count,
                  const struct formula **out, struct err *err) MUST_USE;
bool spec_load_tensors(struct arena *arena, const struct json *root, struct spec_doc *doc,
                       struct err *err) MUST_USE;

#endif
