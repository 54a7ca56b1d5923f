#ifndef VERIFY_PTX_PTX_H
#define VERIFY_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/*
 * verify/ptx: PTX text is parsed, decoded and interpreted on the CPU with every access checked.
 *
 * Pure: no files, clock, network, device or environment.  A module is immutable once loaded and may
 * be launched many times.  PTX is hostile input: any text ends in a module or in an error, any
 * launch ends within its instruction budget and memory limits, and no access reaches host memory
 * outside the declared buffers.
 *
 * A pass here is necessary, not sufficient: approximate functions differ from hardware in their
 * last bits, tensor-core accumulation order is undocumented, and scheduling differs.
 */

/* ---- modules ---- */

struct ptx_module;

enum {
    PTX_TEXT_BYTES_MAX = 64 << 20,
    PTX_GLOBAL_BYTES_MAX = 256 << 20,
    PTX_MODULE_BYTES_MAX = 512 << 20, /* what a module may take of the arena it is loaded into */
};

/* ERR_SYNTAX with the PTX line for malformed text.  Unknown instructions are not an error here: the
 * entry that holds one reports it (ptx_entry.unsupported). */
bool ptx_load(struct arena *arena, struct str text, const struct ptx_module **out,
              struct err *err) MUST_USE;

/* The same with the vector build named ("generic", "avx2", "avx512"; NULL = the best): results are
 * the same bits, so this is for tests.  ERR_UNSUPPORTED when this machine cannot run it. */
bool ptx_load_isa(struct arena *arena, struct str text, const char *isa,
                  const struct ptx_module **out, struct err *err) MUST_USE;

struct ptx_param {
    size_t offset, bytes, align;
};

struct ptx_entry {
    const char *name;
    const struct ptx_param *params;
    size_t param_count;
    size_t param_bytes;
    size_t shared_bytes;     /* static */
    size_t local_bytes;      /* a thread */
    uint32_t max_threads[3]; /* .maxntid, 0 = not given */
    uint32_t cluster[3];     /* .reqnctapercluster / explicit, 0 = not given */
    bool uses_dynamic_shared;
    int tier;                /* highest tier of any instruction, 1 to 3 */
    const char *unsupported; /* the first instruction that cannot run, in full; NULL = can run */
    int unsupported_line;    /* its line in the PTX */
};

size_t ptx_entry_count(const struct ptx_module *module);
const struct ptx_entry *ptx_entry_at(const struct ptx_module *module, size_t index);
const struct ptx_entry *ptx_entry_find(const struct ptx_module *module, const char *name);

/* What a lint over the final PTX finds, whatever the source looked like. */
struct ptx_facts {
    bool writable_global; /* a .global that some instruction may write (non-const, or address taken)
                           */
    const char *global_name; /* the first such */
    size_t global_bytes;     /* of all .global and .const */
    bool reads_clock;        /* %clock*, %globaltimer* */
    bool device_heap;        /* calls malloc, free */
    bool griddep;            /* griddepcontrol */
    bool evict_last;         /* createpolicy or .L2::evict_last */
    bool traps;
    bool calls_external; /* an external function other than vprintf, __assertfail */
    const char *external_name;
    bool stores_global; /* some st/atom/red/cp to global or generic */
    bool loads_global;
    uint32_t mma_f16, mma_bf16, mma_tf32, mma_f64, mma_int, mma_fp8; /* static counts */
    uint32_t cvt_tf32;
    uint32_t cp_async, bulk_copies, wgmma, ldmatrix, barriers, atomics, f64_ops, f16_arithmetic;
    uint32_t shuffles;
    uint32_t vector_accesses; /* loads and stores of two or four elements in global memory */
    uint32_t instructions;    /* static */
    int line_clock, line_global, line_heap; /* source lines through .loc, 0 = unknown */
};
void ptx_module_facts(const struct ptx_module *module, const char *entry, struct ptx_facts *out);

/* ---- memory ---- */

/*
 * Device memory is a set of buffers; a kernel sees 64-bit addresses whose top bits name the buffer,
 * so out-of-bounds is decided exactly.  `data` is lent by the caller, who may place it anywhere.
 */
struct ptx_buffer {
    const char *name;
    void *data;
    size_t bytes;
    size_t address_offset; /* low bits of the device address, < 4096: weakest promised alignment */
    bool initialised;      /* false: reading a byte that no thread wrote is reported */
    bool writable;         /* false: a store is reported */
    uint64_t address;      /* out: what to pass to the kernel */
    uint64_t bytes_read, bytes_written;     /* out, summed over launches: lane bytes */
    uint64_t sectors_read, sectors_written; /* out: 32-byte sectors a warp access touches */
};

struct ptx_memory;
/* Borrows `buffers`, which must outlive it, and fills their addresses.  Takes as many bytes of the
 * arena as the module's variables and the buffers that are not initialised have. */
struct ptx_memory *ptx_memory_new(struct arena *arena, const struct ptx_module *module,
                                  struct ptx_buffer *buffers, size_t count);

/* ---- launches ---- */

struct ptx_launch {
    const char *entry;
    uint32_t grid[3], block[3], cluster[3]; /* cluster 0 = from the module, else 1 */
    size_t dynamic_shared;
    const void *params; /* the parameter block, laid out by ptx_entry.params */
    size_t param_bytes;
    bool cooperative;           /* grid barriers are legal: all blocks resident */
    uint64_t budget_warp_insns; /* over all warps of the launch; exceeding it is PTX_FAULT_BUDGET */
    size_t shared_bytes_max;    /* the machine's opt-in limit a block */
    bool reverse_order;         /* run blocks and warps in the opposite order */
    /* Not 0: blocks take short turns in an order drawn from this, few at a time (all where the
     * launch is cooperative), so that who waits for a block that finds no room is found out. */
    uint64_t interleave_seed;
    bool check;           /* uninitialised reads and races; bounds and alignment always are */
    uint64_t poison_seed; /* contents of uninitialised shared, local and register memory */
    const uint64_t *only_blocks; /* linear block ids to run, NULL = all */
    size_t only_count;
};

#define PTX_FAULTS(X)                                                                              \
    X(NONE, "no fault")                                                                            \
    X(OUT_OF_BOUNDS, "out of bounds")                                                              \
    X(MISALIGNED, "misaligned access")                                                             \
    X(READ_ONLY, "write to read-only memory")                                                      \
    X(UNINITIALISED, "read of uninitialised memory")                                               \
    X(UNINITIALISED_REGISTER, "use of an uninitialised register")                                  \
    X(RACE, "data race on shared memory")                                                          \
    X(RACE_GLOBAL, "data race on global memory")                                                   \
    X(BARRIER_DIVERGENT, "divergent barrier")                                                      \
    X(BARRIER_STUCK, "deadlock")                                                                   \
    X(LEAKED_WAIT, "asynchronous copy never waited for")                                           \
    X(SHUFFLE_INACTIVE, "warp primitive names an inactive lane")                                   \
    X(TRAP, "trap")                                                                                \
    X(ASSERT, "device assertion failed")                                                           \
    X(BUDGET, "instruction budget exceeded")                                                       \
    X(STACK, "call stack too deep")                                                                \
    X(LAUNCH, "launch impossible")                                                                 \
    X(UNSUPPORTED, "unsupported instruction")

enum ptx_fault_kind {
#define X(name, text) PTX_FAULT_##name,
    PTX_FAULTS(X)
#undef X
};
const char *ptx_fault_text(enum ptx_fault_kind kind);

enum { PTX_FAULT_TEXT_BYTES = 512 };

struct ptx_fault {
    enum ptx_fault_kind kind;
    const char *source_file; /* from .file/.loc; NULL = no line information */
    int source_line;         /* innermost; inlined_at lines follow in text */
    int ptx_line;
    uint32_t block[3], thread[3];
    uint64_t address;   /* offset in the buffer or in shared memory */
    const char *space;  /* "global", "shared", "local", "const", "param" */
    const char *buffer; /* name, for global */
    int other_line;     /* of a race: source line of the earlier access, and its thread */
    uint32_t other_thread[3];
    char text[PTX_FAULT_TEXT_BYTES]; /* one sentence with all of the above */
};

struct ptx_counts {
    uint64_t warp_insns, lane_insns;
    uint64_t flops;          /* f16/bf16/f32/f64 add, mul 1; fma 2; mma 2mnk */
    uint64_t bank_conflicts; /* extra shared-memory wavefronts */
    uint64_t shared_bytes_read, shared_bytes_written;
    uint64_t barriers; /* block barriers passed */
    uint64_t divergent_branches;
    uint64_t atomics;
};

struct ptx_report {
    struct ptx_fault fault; /* kind NONE = ran to its end */
    struct ptx_counts counts;
    bool communicates;   /* an atomic or volatile access could see what another block did */
    const char *printed; /* vprintf output, escaped, at most a few KB; NULL = none */
};

/* Runs one launch to its end or first fault.  A fault is data, not an error: false only for misuse
 * of this interface (unknown entry, wrong param_bytes). */
bool ptx_launch(struct arena *arena, const struct ptx_module *module, struct ptx_memory *memory,
                const struct ptx_launch *launch, struct ptx_report *report,
                struct err *err) MUST_USE;

/* Which vector build this machine runs: "avx512", "avx2" or "generic". */
const char *ptx_isa_name(void);

#endif
