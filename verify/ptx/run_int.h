#ifndef VERIFY_PTX_RUN_INT_H
#define VERIFY_PTX_RUN_INT_H

#include <stdalign.h>

#include "verify/ptx/ptx.h"
#include "verify/ptx/seen_int.h"
#include "verify/ptx/space_int.h"

/*
 * What runs: decoded instructions, and the state of a launch, its blocks and warps.
 *
 * Registers.  A warp holds each register as 32 lanes side by side, 32-bit lanes for registers of up
 * to 32 bits (the upper bits of narrow ones are zero), 64-bit lanes for 64, two such for 128.  An
 * operand is a byte offset into the function's register window, or, with bit 0 set, into the
 * module's constants, which are stored broadcast, so that every operand is read alike.  Predicates
 * are 32-bit masks in an array of their own.
 *
 * Threads.  A warp is a set of groups: lanes with the same program counter and call frame.  The
 * group that runs is in the warp's fields; the others wait in groups[].
 */

/* In a taint instruction's list: this register always has a value. */
#define TAINT_DEFINED 0x80000000u

enum {
    LANES = 32,
    ALL_LANES = -1,
    LANE32_BYTES = 128,
    LANE64_BYTES = 256,
    SCRATCH_SLOTS = 8,
    SCRATCH_BYTES = SCRATCH_SLOTS * LANE64_BYTES, /* at the start of each window */
    WARPS_MAX = SEEN_WARPS,
    BARRIERS = 16,
    POISON_BYTES = 4096,
    RESIDENT_BYTES_MAX = 768 << 20,
    SHARED_BASE = 1024, /* shared addresses start here, as on sm_90 */
    LOCAL_BYTES_MAX = 512 * 1024,
    STACK_BYTES = 16 * 1024,    /* local memory a thread beyond its entry's, for recursion */
    CALL_DEPTH_MAX = 64,        /* when calls may recurse or are indirect */
    WINDOW_BYTES_MAX = 4 << 20, /* registers of one function */
    PREDICATES_MAX = 16000,
};

/* Address windows: the top bits of a generic address. */
enum {
    WINDOW_SHIFT = 36,
    WINDOW_SHARED = 1,
    WINDOW_LOCAL = 2,
    WINDOW_PARAM = 3,
    WINDOW_FUNC = 4,
    WINDOW_FIRST_REGION = 8, /* module variables, then the launch's buffers */
};
#define WINDOW_MIDDLE    (1ULL << (WINDOW_SHIFT - 1))
#define WINDOW_BASE(id)  (((uint64_t)(id) << WINDOW_SHIFT) + WINDOW_MIDDLE)
#define CLUSTER_SHIFT    24 /* shared addresses: 1 + rank of another block of the cluster */
#define SHARED_ADDR_MASK ((1U << CLUSTER_SHIFT) - 1)

struct warp;
struct insn;
/* Executes one instruction for the running group and returns the next. */
typedef const struct insn *exec_fn(struct warp *w, const struct insn *in);

enum { INSN_NEGATE = 1, INSN_BOOL_AND = 2, INSN_BOOL_OR = 4, INSN_BOOL_XOR = 6, INSN_BOOL = 6 };

struct insn {
    exec_fn *fn;
    exec_fn *inner; /* what a guard or taint trampoline calls */
    uint32_t d, a, b, c;
    int64_t imm;
    union {
        const struct insn *target;
        const uint32_t *list; /* further operands */
        const struct call_site *call;
        const struct insn *const *table;
        const struct matrix_op *matrix;
        const struct copy_op *copy;
    } u;
    uint16_t p, q, r; /* predicates: index * 2 + negated */
    uint16_t guard;
    uint8_t space;  /* enum space */
    uint8_t size;   /* bytes of an element in memory */
    uint8_t count;  /* elements of a vector; entries of list */
    uint8_t mode;   /* rounding and the like, by instruction */
    uint8_t flags;  /* INSN_* or by instruction */
    uint8_t strong; /* STRONG_* */
    uint8_t wide;   /* operand is of 64-bit lanes */
    uint8_t extra;
};

/* Volatile, relaxed, acquire, ...; one that releases to other blocks; one that releases at all. */
enum { STRONG_ACCESS = 1, STRONG_RELEASE = 2, STRONG_RELEASE_BLOCK = 4 };

enum { PRED_TRUE = 0, PRED_SINK = 1, PRED_SCRATCH = 2, PRED_FIRST = 4 };

struct insn_info {
    int ptx_line;
    uint32_t loc; /* 1 + index into module locs, 0 = none */
};

struct loc_info {
    uint32_t file;
    int line;
    uint32_t inlined_at; /* 1 + index, 0 = none */
};

struct arg_copy {
    uint32_t from, to, bytes; /* frame offsets */
};

struct call_site {
    uint32_t func;        /* index; UINT32_MAX = indirect, through operand a */
    const uint32_t *args; /* frame offsets of the caller's variables */
    const uint32_t *sizes;
    uint32_t arg_count;
    const uint32_t *returns;
    const uint32_t *return_sizes;
    uint32_t return_count;
};

struct func {
    const char *name;
    bool is_entry, has_body;
    const struct insn *start;
    uint32_t first_insn, insn_count;
    uint32_t window_bytes; /* registers */
    uint32_t predicates;
    uint32_t frame_bytes; /* local memory: own variables, parameters */
    const uint32_t *formals, *formal_sizes;
    uint32_t formal_count;
    const uint32_t *returns, *return_sizes;
    uint32_t return_count;
    const uint32_t *tainted; /* operands undefined on entry: register offsets */
    uint32_t tainted_count;
    const uint16_t *tainted_preds;
    uint32_t tainted_pred_count;
    const char *unsupported;
    int unsupported_line;
    int tier;
    bool calls, indirect, recursive;
    const uint32_t *callees;
    uint32_t callee_count;
    bool uses_common_shared, uses_dynamic_shared;
};

/* A .global or .const variable that some code refers to. */
struct module_var {
    const char *name;
    uint8_t *init; /* NULL = zero */
    uint64_t bytes, align;
    bool writable;
};

struct ptx_module {
    const struct isa *isa;
    struct func *funcs;
    size_t func_count;
    struct ptx_entry *entries;
    const uint32_t *entry_funcs;
    struct ptx_facts *facts; /* of each entry */
    size_t entry_count;
    const struct insn *code;
    const struct insn_info *infos;
    size_t code_count;
    const unsigned char *constants;
    const struct module_var *vars;
    size_t var_count;
    const struct loc_info *locs;
    const char *const *files;
    size_t file_count;
    uint8_t shared_grain; /* log2 of the smallest access to shared memory: 0 to 2 */
    uint8_t global_grain;
};

/* ---- memory ---- */

/*
 * The race shadow: for each cell of 1 << grain bytes the last write and the reads since.
 * Times are of the launch's clock, which moves at each synchronisation; 0 = never.  An access
 * happens before what warp v does next if its time is at most what v has `seen` of that thread.
 */
struct shadow {
    uint32_t *write_time;
    uint32_t *write_who;   /* thread in the block, instruction << 10 */
    uint32_t *read_time;   /* of the oldest read that is kept */
    uint32_t *read_who;    /* of the latest read; SHADOW_MANY: several threads have read,
                              SHADOW_LANES: at least two of one warp */
    uint32_t *readers;     /* shared: warps as bits; global: 1 + block, or SHADOW_BLOCKS */
    uint32_t *write_block; /* global: 1 + block */
};
#define SHADOW_IN_FLIGHT UINT32_MAX /* of write_time, read_time: an asynchronous copy's */
#define SHADOW_BLOCKS    UINT32_MAX /* readers: several blocks */
#define SHADOW_MANY      0x80000000U
#define SHADOW_LANES     0x40000000U
#define SHADOW_BULK      0x80000000U /* write_who: a bulk copy, through another proxy */
#define SHADOW_STRONG    0x40000000U /* write_who: an atomic or volatile access */
#define SHADOW_THREAD(w) ((w)&1023)
#define SHADOW_INSN(w)   ((w) >> 10 & SHADOW_INSN_MAX) /* larger ones only name a wrong line */
#define SHADOW_INSN_MAX  0xfffff
#define SHADOW_TIME_MAX  0xfffffff0U
enum { SHADOW_PAGE_BYTES = 4096 };

struct region {
    unsigned char *data;
    uint64_t base;
    uint64_t bytes;
    uint8_t *init;         /* a byte a byte, 0 = never written; NULL = all is */
    struct shadow **pages; /* global race shadow by page of data, NULL = not watched */
    struct ptx_buffer *buffer;
    const char *name;
    uint32_t misalign; /* low bits of base */
    bool writable;
};

struct ptx_memory {
    struct arena *arena;
    const struct ptx_module *module;
    struct region *regions;
    size_t region_count;
};

/* ---- warps and blocks ---- */

enum group_state {
    GROUP_READY,
    GROUP_WARP_SYNC, /* at bar.warp.sync, behind it */
    GROUP_CONVERGE,  /* at an instruction that needs lanes of its mask: shfl, vote, ... */
    GROUP_ALIGN,     /* at an aligned barrier that needs the whole warp */
    GROUP_BARRIER,   /* arrived at a block barrier, behind it */
    GROUP_CLUSTER,   /* waits for a cluster barrier, behind it */
};

struct group {
    const struct insn *pc;
    uint32_t mask;
    uint32_t window, pred_window, frame; /* bytes, predicates, bytes */
    uint16_t depth;
    uint8_t state;
    uint8_t barrier;
    uint64_t last_run;
};

struct call_record {
    const struct insn *site;
    uint32_t window, pred_window, frame;
    uint32_t func;
};

enum event {
    EVENT_NONE,    /* limit reached or slice over */
    EVENT_MOVED,   /* groups changed; look again */
    EVENT_YIELD,   /* let another warp or block run */
    EVENT_BLOCKED, /* the running group waits at `next` */
    EVENT_EXITED,
    EVENT_FAULT,
};

/* An access through which threads talk, and a digest of what it saw last. */
struct poll {
    const struct insn *in;
    uint64_t saw;
};
enum { POLLS = 4 }; /* of a warp, by place */

struct warp {
    unsigned char *base[2]; /* register window, constants */
    uint32_t *pred;
    uint32_t mask;            /* lanes of the running group */
    uint32_t lanes;           /* how many */
    const struct insn *limit; /* where another group waits, or the end of all code */
    const struct insn *next;  /* set with an event */
    enum event event;
    struct run *run;
    struct block *block;
    uint64_t flops;
    uint32_t carry; /* of add.cc, by lane */
    unsigned char *local;
    uint32_t local_stride;
    uint32_t seen_min; /* at most the least of seen.all[] over the block's warps */
    struct seen seen;
    uint32_t fences_seen; /* the block's `fences`, when the warp last acquired what they cover */
    uint32_t flags_seen;  /* and its `flags` */
    uint32_t index;       /* in the block */

    struct group cur;
    struct group groups[2 * LANES]; /* disjoint, so at most 32 that are not empty */
    int group_count;
    uint32_t live; /* lanes that exist and have not exited */
    uint32_t exists;
    uint32_t member[LANES]; /* of lanes waiting at bar.warp.sync */
    uint64_t streak;        /* instructions since another ready group ran */
    bool fair;              /* the running group is not the lowest one */
    struct poll polls[POLLS];
    const struct insn *waits_at; /* the last poll that saw nothing new; NULL = none */
    uint32_t waits_lane;
    int idle_groups;        /* polls in vain since the warp's turn began */
    uint32_t cluster_phase; /* of the cluster barrier, when this warp arrived */
    uint32_t red_lanes;     /* lanes whose bar.red is complete, with its result */
    uint32_t red_and, red_or, red_count;

    unsigned char *registers;
    uint32_t *predicates;
    uint32_t *taints; /* one mask a 128-byte unit of registers; NULL = no taint */
    uint32_t *pred_taints;
    struct call_record *calls; /* [lane][depth], NULL = the entry calls nothing */
    uint8_t *local_init;
    uint32_t tid[3][LANES];

    struct async_queue *async; /* cp.async on their way, NULL = none yet */
};

struct barrier {
    uint32_t arrived[WARPS_MAX];  /* lanes */
    uint32_t waiting[WARPS_MAX];  /* of those, lanes that wait */
    uint32_t released[WARPS_MAX]; /* time of arrival */
    uint32_t expected;            /* threads, 0 = the whole block */
    bool active;
    bool red;                            /* bar.red: */
    uint32_t red_and, red_or, red_count; /* so far */
};

struct block {
    struct run *run;
    uint64_t ordinal; /* linear id in the grid */
    uint32_t id[3];
    struct warp *warps;
    uint32_t warp_count, live_warps, threads;
    unsigned char *shared;
    struct region shared_region;
    struct shadow shadow; /* of shared memory; write_time NULL = unchecked */
    uint64_t cells;
    struct barrier barriers[BARRIERS];
    uint32_t seen_others;      /* time up to which other blocks' global accesses are ordered */
    uint64_t polls;            /* accesses in this slice that could see another block's progress */
    bool strong_global;        /* the access at hand is such a one */
    struct seen fenced;        /* what fences and releases of the block's threads cover */
    struct seen announced;     /* what atomic or volatile writes to shared memory came behind */
    struct seen flagged;       /* what `fenced` was at the last such write, or global one */
    uint32_t fences, flags;    /* how many fences; how many when `flagged` was set */
    struct phase_list *phases; /* clocks of mbarriers, NULL = none yet */
    struct bulk_list *bulk;    /* bulk copies not waited for, NULL = none yet */
    uint32_t proxy_fenced;     /* time of the last fence.proxy.async */
    struct cluster *cluster;
    uint32_t rank;
};

struct cluster {
    struct block **blocks;
    uint32_t count;
    uint32_t arrived; /* threads, at barrier.cluster */
    uint32_t live;    /* threads */
    uint32_t phase;
    uint64_t index;
    struct cluster *next; /* of the resident or the free ones */
    bool quiet;           /* in its last turn it only asked for what was not there */
};

struct run {
    const struct ptx_module *module;
    const struct func *entry;
    const struct ptx_launch *launch;
    struct ptx_memory *memory;
    struct region *regions;
    uint64_t region_count;
    struct region params;
    struct ptx_report *report;
    struct ptx_counts counts;
    struct ptx_fault *fault;
    bool faulted;
    bool check;
    uint8_t shared_grain, global_grain;
    uint32_t time;     /* of the shadow's clock */
    bool time_over;    /* the clock ran out: races are no longer looked for */
    uint64_t executed; /* warp instructions */
    uint64_t idle;     /* of those, in turns that only asked for what was not there */
    uint64_t stores;   /* instructions that changed, or may have changed, memory */
    uint32_t quantum;  /* instructions of a warp's turn */
    bool communicates; /* some access could see what another block did */
    uint32_t shared_bytes;
    uint32_t cluster_dims[3], cluster_size;
    uint32_t grid_clusters[3];
    uint64_t shadow_bytes;
    uint32_t **published; /* publish.c: by block, NULL = nothing */
    uint64_t async_bytes; /* of queues of copies */
    uint32_t prints;      /* calls of printf, by lane */
    struct arena *arena;  /* of the launch */
    struct buf *printed;
    unsigned char *poison;    /* a page of it */
    uint32_t window_bytes;    /* registers of a warp */
    uint32_t predicate_count; /* of a warp */
    uint32_t local_bytes;     /* of a thread */
    uint32_t dynamic_shared;  /* where unsized shared variables start */
    bool calls;               /* the entry may call functions */
    bool taints;              /* some register may be read unwritten */
    uint64_t grid_blocks;
    uint64_t grid_workspace; /* cooperative: address that %envreg1 and 2 hold */
    uint32_t warps;          /* of a block */
    uint32_t threads;        /* of a block */
};

/* ---- shared helpers ---- */

static inline void *operand(struct warp *w, uint32_t op)
{
    return w->base[op & 1] + (op & ~1U);
}

static inline uint32_t pred_get(const struct warp *w, uint16_t p)
{
    return w->pred[p >> 1] ^ (uint32_t) - (int32_t)(p & 1);
}

static inline void pred_set(struct warp *w, uint16_t p, uint32_t value)
{
    uint32_t *at = &w->pred[p >> 1];
    *at = (*at & ~w->mask) | (value & w->mask);
}

struct isa {
    const char *name;
    exec_fn *const *fn; /* by enum lane_op */
};

#endif
