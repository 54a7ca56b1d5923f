#ifndef SOLVER_IR_IR_H
#define SOLVER_IR_IR_H

/*
 * solver/ir: what must be computed, and the documents that travel between modules.  Pure.
 *
 *   formula.h   integer expressions over dims: extents, guards, grids
 *   op.h        op spec and loop IR: parse, check, print, bind to a shape
 *   interp.h    the meaning of an op: real, as-typed and bound-carrying interpreter; fills
 *   count.h     exact MACs, flops, bytes; compulsory traffic
 *   manifest.h  how CUDA is launched
 *   machine.h   what a GPU offers: limits, bandwidth, rates
 *   plan.h      regions, tiles, guard; task
 *   region.h    what a group of statements is: rows, maps, a tile
 *   skeleton.h  a first plan, where a search begins
 *   footprint.h what the kernel of a planned region is at a shape
 */
#include "solver/ir/count.h"
#include "solver/ir/footprint.h"
#include "solver/ir/formula.h"
#include "solver/ir/interp.h"
#include "solver/ir/machine.h"
#include "solver/ir/manifest.h"
#include "solver/ir/op.h"
#include "solver/ir/plan.h"
#include "solver/ir/region.h"
#include "solver/ir/skeleton.h"

#endif
