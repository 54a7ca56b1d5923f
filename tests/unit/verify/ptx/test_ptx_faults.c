/*
 * Planted bugs, each with the fault, source line and thread it must be found at, and honest twins
 * that must pass.  The bodies are PTX; lines are those of .loc.
 */
#include "tests/unit/verify/ptx/emu_unit.h"

struct bug {
    const char *name;
    const char
        *body; /* x: 64 floats read-only, y: 64 floats written; %tid in %t, addresses in %x, %y */
    uint32_t grid, block;
    enum ptx_fault_kind kind;
    int line;
    int thread; /* -1 = any */
};

static const char prologue[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n)\n{\n"
    ".reg .b32 %r<20>; .reg .f32 %f<20>; .reg .b64 %d<20>; .reg .pred %p<20>; .reg .b16 %h<4>;\n"
    ".reg .b32 %t; .reg .b64 %x, %y, %o;\n"
    ".shared .align 16 .b8 s[256]; .shared .align 8 .b8 bar[8];\n"
    "ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; ld.param.u32 %r19, [n]; mov.u32 %t, %tid.x;\n"
    "mul.wide.u32 %o, %t, 4; add.u64 %d18, %x, %o; add.u64 %d19, %y, %o;\n"
    "mov.u64 %d17, s; add.u64 %d17, %d17, %o;\n";

static void load_bug(struct emu *emu, const struct bug *bug, bool reverse)
{
    static float x[64], y[64];
    char text[4096];
    int n = snprintf(text, sizeof(text), "%s%s\nret;\n}\n.file 1 \"k.cu\"\n", prologue, bug->body);
    assert_in_range(n, 0, sizeof(text) - 1);
    for (int i = 0; i < 64; i++)
        x[i] = (float)i;
    emu_load(emu, text);
    emu_entry(emu, "k", bug->grid, bug->block);
    emu_in(emu, x, sizeof(x));
    emu_out(emu, y, sizeof(y));
    emu_int(emu, 64);
    emu->launch.reverse_order = reverse;
    emu->launch.budget_warp_insns = 20000;
    emu->launch.cluster[0] = 1;
}

static void run_bug(const struct bug *bug)
{
    for (int reverse = 0; reverse < 2; reverse++) {
        struct emu emu;
        load_bug(&emu, bug, reverse);
        enum ptx_fault_kind kind = emu_run(&emu);
        const struct ptx_fault *fault = &emu.report.fault;
        if (kind != bug->kind)
            fail_msg("%s: got '%s' (%s), want '%s'", bug->name, ptx_fault_text(kind), fault->text,
                     ptx_fault_text(bug->kind));
        if (bug->line && fault->source_line != bug->line)
            fail_msg("%s: line %d, want %d: %s", bug->name, fault->source_line, bug->line,
                     fault->text);
        if (bug->thread >= 0 && !reverse && fault->thread[0] != (uint32_t)bug->thread)
            fail_msg("%s: thread %u, want %d: %s", bug->name, fault->thread[0], bug->thread,
                     fault->text);
        if (kind != PTX_FAULT_NONE && kind != PTX_FAULT_LAUNCH && !strstr(fault->text, "k.cu:"))
            fail_msg("%s: no source line in '%s'", bug->name, fault->text);
        emu_free(&emu);
    }
}

#define LOAD  "ld.global.f32 %f1, [%d18];\n"
#define STORE "st.global.f32 [%d19], %f1;\n"

static void run_bugs(const struct bug *bugs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        run_bug(&bugs[i]);
}

static void test_bounds(void **state)
{
    static const struct bug bugs[] = {
        {"in bounds", ".loc 1 3 0\n" LOAD STORE, 1, 64, PTX_FAULT_NONE, 0, -1},
        {"read past the end", ".loc 1 3 0\nld.global.f32 %f1, [%d18+4];" STORE, 1, 64,
         PTX_FAULT_OUT_OF_BOUNDS, 3, 63},
        {"read before the start", ".loc 1 4 0\nld.global.f32 %f1, [%d18+-4];" STORE, 1, 64,
         PTX_FAULT_OUT_OF_BOUNDS, 4, 0},
        {"write past the end", LOAD ".loc 1 5 0\nst.global.f32 [%d19+128], %f1;", 1, 64,
         PTX_FAULT_OUT_OF_BOUNDS, 5, 32},
        {"null pointer", ".loc 1 6 0\nmov.u64 %d1, 0; ld.global.f32 %f1, [%d1];", 1, 32,
         PTX_FAULT_OUT_OF_BOUNDS, 6, 0},
        {"host address", ".loc 1 6 0\nmov.u64 %d1, 0x7fff12345678; ld.f32 %f1, [%d1];", 1, 32,
         PTX_FAULT_OUT_OF_BOUNDS, 6, 0},
        {"shared past the end", ".loc 1 7 0\nst.shared.u32 [%d17+136], %t;", 1, 64,
         PTX_FAULT_OUT_OF_BOUNDS, 7, 32},
        {"shared before the start", ".loc 1 7 0\nst.shared.u32 [%d17+-4], %t;", 1, 64,
         PTX_FAULT_OUT_OF_BOUNDS, 7, 0},
        {"generic shared", ".loc 1 8 0\ncvta.shared.u64 %d1, %d17; st.u32 [%d1+200], %t;", 1, 32,
         PTX_FAULT_OUT_OF_BOUNDS, 8, 16},
        {"misaligned vector", ".loc 1 9 0\nld.global.v2.f32 {%f1, %f2}, [%d18];", 1, 32,
         PTX_FAULT_MISALIGNED, 9, 1},
        {"misaligned word", ".loc 1 9 0\nadd.u64 %d1, %d18, 2; ld.global.f32 %f1, [%d1];", 1, 1,
         PTX_FAULT_MISALIGNED, 9, 0},
        {"store to an input", ".loc 1 10 0\nst.global.u32 [%d18], %t;", 1, 32, PTX_FAULT_READ_ONLY,
         10, 0},
        {"store to a constant pointer", ".loc 1 10 0\nst.u32 [%d18], %t;", 1, 32,
         PTX_FAULT_READ_ONLY, 10, 0},
        {"atomic past the end", ".loc 1 11 0\natom.global.add.u32 %r1, [%d19+256], 1;", 1, 32,
         PTX_FAULT_OUT_OF_BOUNDS, 11, 0},
        {"local past the end",
         ".local .align 4 .b8 q[16]; mov.u64 %d1, q; add.u64 %d1, %d1, %o;\n.loc 1 12 0\n"
         "st.local.u32 [%d1], %t;",
         1, 32, PTX_FAULT_OUT_OF_BOUNDS, 12, 4},
    };
    (void)state;
    run_bugs(bugs, COUNT_OF(bugs));
}

static void test_uninitialised(void **state)
{
    static const struct bug bugs[] = {
        {"output read back", ".loc 1 3 0\nld.global.f32 %f1, [%d19];", 1, 32,
         PTX_FAULT_UNINITIALISED, 3, 0},
        {"own output read back", LOAD STORE "ld.global.f32 %f2, [%d19];", 1, 32, PTX_FAULT_NONE, 0,
         -1},
        {"shared never written", ".loc 1 3 0\nld.shared.u32 %r1, [%d17];", 1, 32,
         PTX_FAULT_UNINITIALISED, 3, 0},
        {"shared written in part",
         "setp.ne.u32 %p1, %t, 5; @%p1 st.shared.u32 [%d17], %t; bar.sync 0;\n.loc 1 4 0\n"
         "ld.shared.u32 %r1, [%d17];",
         1, 32, PTX_FAULT_UNINITIALISED, 4, 5},
        {"atomic on unwritten shared", ".loc 1 4 0\natom.shared.add.u32 %r1, [s], 1;", 1, 32,
         PTX_FAULT_UNINITIALISED, 4, 0},
        {"local never written",
         ".local .align 4 .b8 q[16]; .loc 1 5 0\nld.local.u32 %r1, [q+4]; "
         "st.global.u32 [%d19], %r1;",
         1, 32, PTX_FAULT_UNINITIALISED, 5, 0},
        {"register stored", ".loc 1 6 0\nst.global.u32 [%d19], %r1;", 1, 32,
         PTX_FAULT_UNINITIALISED_REGISTER, 6, 0},
        {"register through arithmetic",
         "add.u32 %r2, %r1, 1; mul.lo.u32 %r3, %r2, %t;\n.loc 1 6 0\nst.global.u32 [%d19], %r3;", 1,
         32, PTX_FAULT_UNINITIALISED_REGISTER, 6, 0},
        {"register as an address", "add.u64 %d2, %d1, 4;\n.loc 1 7 0\nld.global.u32 %r1, [%d2];", 1,
         32, PTX_FAULT_UNINITIALISED_REGISTER, 7, 0},
        {"branch on it", "setp.eq.u32 %p1, %r1, 0;\n.loc 1 8 0\n@%p1 bra L; add.u32 %r2, %t, 1; L:",
         1, 32, PTX_FAULT_UNINITIALISED_REGISTER, 8, 0},
        {"one lane only",
         "setp.ne.u32 %p1, %t, 9; @%p1 mov.u32 %r1, 3;\n.loc 1 9 0\nst.global.u32 [%d19], %r1;", 1,
         32, PTX_FAULT_UNINITIALISED_REGISTER, 9, 9},
        {"loaded under one guard and set under the other",
         "setp.ne.u32 %p1, %t, 9; @%p1 mov.u32 %r1, 3; @!%p1 mov.u32 %r1, 4;\n"
         "st.global.u32 [%d19], %r1;",
         1, 32, PTX_FAULT_NONE, 0, -1},
        {"moved but not used", "add.u32 %r2, %r1, 1; mov.u32 %r3, %r2;" LOAD STORE, 1, 32,
         PTX_FAULT_NONE, 0, -1},
        {"not the one selected",
         "setp.lt.u32 %p1, %t, 64; selp.b32 %r2, %t, %r1, %p1; st.global.u32 [%d19], %r2;", 1, 32,
         PTX_FAULT_NONE, 0, -1},
        {"half of a pair",
         "mov.b32 %r2, {%h1, %h2}; cvt.u16.u32 %h3, %t; mov.b32 %r2, {%h3, %h3};"
         "st.global.u32 [%d19], %r2;",
         1, 32, PTX_FAULT_NONE, 0, -1},
    };
    (void)state;
    run_bugs(bugs, COUNT_OF(bugs));
}

/* s[63 - t] of 64 threads: the other warp's. */
#define MIRROR "mov.u64 %d1, s; sub.u64 %d1, %d1, %o; "
#define FLIP   "mov.u64 %d1, s; mov.u64 %d2, 124; sub.u64 %d2, %d2, %o; add.u64 %d1, %d1, %d2; "

/* Everything is written and ordered once; then one warp's second write meets the other's read. */
#define TWICE                                                                                      \
    "st.shared.u32 [%d17], %t; bar.sync 0; add.u32 %r1, %t, 9;" MIRROR                             \
    "\n.loc 1 3 0\nld.shared.u32 %r2, [%d1+252];\n.loc 1 4 0\nst.shared.u32 [%d17], %r1;"

static void test_races(void **state)
{
    static const struct bug bugs[] = {
        {"across warps, no barrier", TWICE, 1, 64, PTX_FAULT_RACE, 0, -1},
        {"across warps, barrier",
         "st.shared.u32 [%d17], %t; bar.sync 0;" MIRROR "ld.shared.u32 %r1, [%d1+252];", 1, 64,
         PTX_FAULT_NONE, 0, -1},
        {"within a warp",
         "st.shared.u32 [%d17], %t;" FLIP "\n.loc 1 4 0\nld.shared.u32 %r1, [%d1];", 1, 32,
         PTX_FAULT_RACE, 4, 0},
        {"within a warp, bar.warp.sync",
         "st.shared.u32 [%d17], %t; bar.warp.sync -1;" FLIP "ld.shared.u32 %r1, [%d1];", 1, 32,
         PTX_FAULT_NONE, 0, -1},
        {"within a warp, shfl between",
         "st.shared.u32 [%d17], %t; shfl.sync.bfly.b32 %r2, %t, 1, 31, -1;" FLIP
         "ld.shared.u32 %r1, [%d1];",
         1, 32, PTX_FAULT_NONE, 0, -1},
        {"write over a read in one warp",
         "st.shared.u32 [%d17], %t; bar.warp.sync -1;" FLIP
         "ld.shared.u32 %r1, [%d1];\n.loc 1 5 0\nst.shared.u32 [%d17], %r1;",
         1, 32, PTX_FAULT_RACE, 5, 0},
        {"one instruction, one place", ".loc 1 6 0\nst.shared.u32 [s], %t;", 1, 32, PTX_FAULT_RACE,
         6, 1},
        {"one place, one value", "mov.u32 %r1, 7; st.shared.u32 [s], %r1;", 1, 64, PTX_FAULT_NONE,
         0, -1},
        {"bytes of one word",
         "mov.u64 %d1, s; cvt.u64.u32 %d2, %t; add.u64 %d1, %d1, %d2;"
         "st.shared.u8 [%d1], %t;",
         1, 64, PTX_FAULT_NONE, 0, -1},
        {"atomics",
         "mov.u32 %r1, 0; st.shared.u32 [s], %r1; bar.sync 0;"
         "atom.shared.add.u32 %r2, [s], 1; bar.sync 0; ld.shared.u32 %r3, [s];",
         1, 64, PTX_FAULT_NONE, 0, -1},
        {"plain read beside atomics",
         "mov.u32 %r1, 0; st.shared.u32 [s], %r1; bar.sync 0; atom.shared.add.u32 %r2, [s], 1;\n"
         ".loc 1 7 0\nld.shared.u32 %r3, [s];",
         1, 64, PTX_FAULT_RACE, 7, -1},
        {"blocks, one place", "mov.u32 %r1, %ctaid.x;\n.loc 1 8 0\nst.global.u32 [%d19], %r1;", 2,
         32, PTX_FAULT_RACE_GLOBAL, 8, 0},
        {"blocks, one value", "st.global.u32 [%d19], %t;", 3, 32, PTX_FAULT_NONE, 0, -1},
        {"blocks, in order of a counter",
         "mov.u32 %r1, %ctaid.x; atom.global.exch.b32 %r2, [%y], 0; st.global.u32 [%d19+4], %r1;",
         2, 1, PTX_FAULT_NONE, 0, -1},
        {"warps through global memory",
         "st.global.u32 [%d19], %t; mov.u64 %d1, %y; sub.u64 %d1, %d1, %o;\n.loc 1 9 0\n"
         "ld.global.u32 %r1, [%d1+252];",
         1, 64, PTX_FAULT_UNINITIALISED, 9, -1},
        {"warps through global memory, barrier",
         "st.global.u32 [%d19], %t; bar.sync 0; mov.u64 %d1, %y; sub.u64 %d1, %d1, %o;"
         "ld.global.u32 %r1, [%d1+252];",
         1, 64, PTX_FAULT_NONE, 0, -1},
        {"named barrier of one warp orders that warp",
         "st.shared.u32 [%d17], %t; bar.sync 1, 32;" FLIP "ld.shared.u32 %r1, [%d1];", 1, 32,
         PTX_FAULT_NONE, 0, -1},
    };
    (void)state;
    run_bugs(bugs, COUNT_OF(bugs));
}

static void test_barriers(void **state)
{
    static const struct bug bugs[] = {
        {"two barriers in one warp",
         "setp.lt.u32 %p1, %t, 7; @%p1 bra A;\n.loc 1 3 0\nbar.sync 0; bra B; A:\n.loc 1 4 0\n"
         "bar.sync 0; B:",
         1, 32, PTX_FAULT_BARRIER_DIVERGENT, 0, -1},
        {"half a warp waits, half exits",
         "setp.lt.u32 %p1, %t, 16; @%p1 bra A; ret; A: bar.sync 0;", 1, 32, PTX_FAULT_NONE, 0, -1},
        {"a warp exits early", "setp.lt.u32 %p1, %t, 32; @%p1 ret; bar.sync 0;", 1, 64,
         PTX_FAULT_NONE, 0, -1},
        {"barriers that never fill",
         "setp.lt.u32 %p1, %t, 32; mov.u32 %r1, 1; @%p1 mov.u32 %r1, 2;\n.loc 1 5 0\n"
         "bar.sync %r1, 64;",
         1, 64, PTX_FAULT_BARRIER_STUCK, 5, -1},
        {"no such barrier", ".loc 1 6 0\nmov.u32 %r1, 16; bar.sync %r1;", 1, 32, PTX_FAULT_TRAP, 6,
         0},
        {"count that is no multiple of 32", ".loc 1 6 0\nbar.sync 1, 48;", 1, 64, PTX_FAULT_TRAP, 6,
         -1},
        {"arrive and sync",
         "setp.lt.u32 %p1, %t, 32; @%p1 bra A; bar.sync 1, 64; bra B;"
         "A: bar.arrive 1, 64; B:",
         1, 64, PTX_FAULT_NONE, 0, -1},
        {"a lane not in its mask", ".loc 1 7 0\nshfl.sync.idx.b32 %r1, %t, 0, 31, 0xffff;", 1, 32,
         PTX_FAULT_SHUFFLE_INACTIVE, 7, 16},
        {"a lane that never comes",
         "setp.lt.u32 %p1, %t, 16; @%p1 bra A; bar.warp.sync 0xffff0000; bar.sync 0; bra B; A:\n"
         ".loc 1 8 0\nvote.sync.ballot.b32 %r1, %p1, -1; B:",
         1, 32, PTX_FAULT_SHUFFLE_INACTIVE, 8, -1},
        {"two masks in one warp",
         "setp.lt.u32 %p1, %t, 16; mov.u32 %r1, 0xffff; @!%p1 mov.u32 %r1, 0xffff0000;"
         "shfl.sync.idx.b32 %r2, %t, 0, 31, %r1;",
         1, 32, PTX_FAULT_NONE, 0, -1},
    };
    (void)state;
    run_bugs(bugs, COUNT_OF(bugs));
}

static void test_leaks(void **state)
{
    static const struct bug bugs[] = {
        {"never waited for",
         "mov.u64 %d1, s;\n.loc 1 8 0\ncp.async.ca.shared.global [%d1], [%x], 4;\n.loc 1 9 0\n"
         "cp.async.commit_group;",
         1, 1, PTX_FAULT_LEAKED_WAIT, 8, 0},
        {"never committed",
         "mov.u64 %d1, s;\n.loc 1 8 0\ncp.async.ca.shared.global [%d1], [%x], 4;\n.loc 1 9 0\n"
         "cp.async.wait_group 0;",
         1, 1, PTX_FAULT_LEAKED_WAIT, 8, 0},
        {"all but the newest group are waited for",
         "mov.u64 %d1, s; cp.async.ca.shared.global [%d1], [%x], 4; cp.async.commit_group;\n"
         ".loc 1 8 0\ncp.async.ca.shared.global [%d1+4], [%x+4], 4;\n.loc 1 9 0\n"
         "cp.async.commit_group; cp.async.wait_group 1;",
         1, 1, PTX_FAULT_LEAKED_WAIT, 8, 0},
        {"waited for by another thread",
         "mov.u64 %d1, s; mul.wide.u32 %d2, %t, 4; add.u64 %d3, %x, %d2; add.u64 %d1, %d1, %d2;\n"
         ".loc 1 8 0\ncp.async.ca.shared.global [%d1], [%d3], 4; cp.async.commit_group;\n"
         "setp.ne.u32 %p1, %t, 0; @%p1 bra E; cp.async.wait_all;\nE:",
         1, 2, PTX_FAULT_LEAKED_WAIT, 8, 1},
        {"empty groups behind the last one",
         "mov.u64 %d1, s; cp.async.ca.shared.global [%d1], [%x], 4; cp.async.commit_group;"
         "cp.async.commit_group; cp.async.wait_group 1;",
         1, 1, PTX_FAULT_NONE, 0, -1},
        {"none of the source is copied past the end",
         "mov.u64 %d1, s; mov.u32 %r1, 0; cp.async.ca.shared.global [%d1], [%x], 4, %r1;"
         "cp.async.commit_group;",
         1, 1, PTX_FAULT_NONE, 0, -1},
    };
    (void)state;
    run_bugs(bugs, COUNT_OF(bugs));
}

static void test_waits(void **state)
{
    static const struct bug bugs[] = {
        {"read before the copy's wait",
         "mov.u64 %d1, s; mul.wide.u32 %d2, %t, 16; add.u64 %d3, %x, %d2; add.u64 %d1, %d1, %d2;"
         "cp.async.cg.shared.global [%d1], [%d3], 16; cp.async.commit_group; bar.sync 0;\n"
         ".loc 1 9 0\nld.shared.u32 %r1, [s];",
         1, 16, PTX_FAULT_LEAKED_WAIT, 9, 0},
        {"read behind the copy's wait",
         "mov.u64 %d1, s; mul.wide.u32 %d2, %t, 16; add.u64 %d3, %x, %d2; add.u64 %d1, %d1, %d2;"
         "cp.async.cg.shared.global [%d1], [%d3], 16; cp.async.commit_group;"
         "cp.async.wait_group 0; bar.sync 0; ld.shared.u32 %r1, [s+128];",
         1, 16, PTX_FAULT_NONE, 0, -1},
        {"zero-filled end of a copy",
         "mov.u64 %d1, s; mov.u32 %r1, 12; mov.u32 %r2, 0; mov.u64 %d2, 64;"
         "cp.async.cg.shared.global [%d1], [%x+240], 16, %r1;"
         "cp.async.cg.shared.global [%d1+16], [%d2], 16, %r2; cp.async.wait_all;"
         "ld.shared.v2.u32 {%r3, %r4}, [s+8]; st.global.u32 [%y], %r4; ld.shared.u32 %r5, [s+16];",
         1, 1, PTX_FAULT_NONE, 0, -1},
        {"newest group still in flight",
         "mov.u64 %d1, s; cp.async.ca.shared.global [%d1], [%x], 4; cp.async.commit_group;"
         "cp.async.ca.shared.global [%d1+4], [%x+4], 4; cp.async.commit_group;"
         "cp.async.wait_group 1; ld.shared.u32 %r1, [s];\n.loc 1 10 0\nld.shared.u32 %r1, [s+4];",
         1, 1, PTX_FAULT_LEAKED_WAIT, 10, 0},
        {"trap", "setp.eq.u32 %p1, %t, 5;\n.loc 1 11 0\n@%p1 trap;", 1, 32, PTX_FAULT_TRAP, 11, 5},
        {"endless loop", ".loc 1 12 0\nL: bra L;", 1, 32, PTX_FAULT_BUDGET, 12, 0},
        {"endless poll",
         ".loc 1 12 0\nL: ld.volatile.global.u32 %r1, [%x+4];"
         "setp.ne.u32 %p1, %r1, 0; @%p1 bra L;",
         2, 32, PTX_FAULT_BARRIER_STUCK, 12, -1},
        {"endless poll that counts",
         ".loc 1 12 0\nL: ld.volatile.global.u32 %r1, [%x+4]; add.u32 %r2, %r2, 1;"
         "setp.ne.u32 %p1, %r1, 0; @%p1 bra L;",
         2, 32, PTX_FAULT_BUDGET, 12, -1},
        {"mbarrier without arrivals",
         "setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [bar], 33; bar.sync 0;\n"
         ".loc 1 13 0\nmbarrier.arrive.shared.b64 %d1, [bar];"
         "L: mbarrier.test_wait.shared.b64 %p2, [bar], %d1; @!%p2 bra L;",
         1, 32, PTX_FAULT_BARRIER_STUCK, 13, -1},
        {"mbarrier",
         "setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [bar], 64;"
         "st.shared.u32 [%d17], %t; bar.sync 0;"
         "mbarrier.arrive.shared.b64 %d1, [bar];"
         "L: mbarrier.test_wait.shared.b64 %p2, [bar], %d1; @!%p2 bra L;" MIRROR
         "ld.shared.u32 %r1, [%d1+252];",
         1, 64, PTX_FAULT_NONE, 0, -1},
    };
    (void)state;
    run_bugs(bugs, COUNT_OF(bugs));
}

static void test_launches(void **state)
{
    const struct bug honest = {"launch", LOAD STORE, 1, 64, PTX_FAULT_NONE, 0, -1};
    struct emu emu;
    (void)state;
    load_bug(&emu, &honest, false);
    emu.launch.dynamic_shared = 400000;
    assert_int_equal(emu_run(&emu), PTX_FAULT_LAUNCH);
    emu_free(&emu);
    load_bug(&emu, &honest, false);
    emu.launch.block[0] = 1025;
    assert_int_equal(emu_run(&emu), PTX_FAULT_LAUNCH);
    emu_free(&emu);
    load_bug(&emu, &honest, false);
    emu.launch.grid[0] = 0;
    assert_int_equal(emu_run(&emu), PTX_FAULT_LAUNCH);
    emu_free(&emu);
    load_bug(&emu, &honest, false);
    emu.buffers[0].address_offset = 4;
    emu_run_ok(&emu);
    emu_free(&emu);
}

/* Where a race's other side was. */
static void test_race_text(void **state)
{
    const struct bug bug = {"race", TWICE, 1, 64, PTX_FAULT_RACE, 4, -1};
    struct emu emu;
    (void)state;
    load_bug(&emu, &bug, false);
    assert_int_equal(emu_run(&emu), PTX_FAULT_RACE);
    assert_int_equal(emu.report.fault.source_line, 3);
    assert_int_equal(emu.report.fault.other_line, 4);
    assert_int_equal(emu.report.fault.thread[0] + emu.report.fault.other_thread[0], 63);
    assert_string_equal(emu.report.fault.space, "shared");
    assert_non_null(strstr(emu.report.fault.text, "k.cu:4"));
    emu_free(&emu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),   cmocka_unit_test(test_uninitialised),
        cmocka_unit_test(test_races),    cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_waits),    cmocka_unit_test(test_leaks),
        cmocka_unit_test(test_launches), cmocka_unit_test(test_race_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
