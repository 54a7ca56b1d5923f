#ifndef SOLVER_LEGAL_LEGAL_H
#define SOLVER_LEGAL_LEGAL_H

/*
 * solver/legal: what statements are, what may be done to them, and which plans a machine can hold.
 *
 *   structure.h  structures, preservations, primitives, composition; from the statements alone
 *   rewrite.h    rewrites of an op into another that means the same
 *   primitives.h the catalogue of primitives: what each needs, gives and takes
 *   composing.h  which primitives of neighbouring statements combine, and why others do not
 *   limits.h     hard limits of a plan on a machine, with slack
 *   space.h      the plans that vary a skeleton inside the limits
 *   candidates.h which sets of statements may be a region
 */
#include "solver/legal/candidates.h"
#include "solver/legal/composing.h"
#include "solver/legal/limits.h"
#include "solver/legal/rewrite.h"
#include "solver/legal/space.h"
#include "solver/legal/structure.h"

#endif
