/* The table of one vector build's lane operations. */
#include "verify/ptx/lanes_int.h"

static exec_fn *const functions[LANE_COUNT] = {
#define X(id) [LANE_##id] = ISA(lane_##id),
#include "verify/ptx/lane_all.def"
#undef X
};

#define NAME_OF(isa) #isa
#define TEXT_OF(isa) NAME_OF(isa)
const struct isa ISA(isa_table) = {.name = TEXT_OF(PTX_ISA), .fn = functions};
