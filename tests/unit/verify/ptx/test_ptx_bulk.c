/*
 * Bulk copies and mbarriers: what a wait orders, and what may not be relied on without one.  Each
 * body is honest or leaves out a wait, a fence or an order.
 */
#include "tests/unit/verify/ptx/emu_unit.h"

enum { THREADS = 64, WORDS = 64 };

/* x: words that bulk copies bring into s; y: words that they bring out.  %p1 is set in all threads
 * but the first; %d4 is the thread's word of s, %d5 that of the thread of the other warp. */
static const char prologue[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 x, .param .u64 y)\n{\n"
    ".reg .b32 %r<20>; .reg .b64 %d<20>; .reg .pred %p<9>;\n"
    ".shared .align 16 .b8 s[256]; .shared .align 8 .b8 full[8]; .shared .align 8 .b8 empty[8];\n"
    "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; mov.u32 %r2, %tid.x;\n"
    "setp.ne.u32 %p1, %r2, 0; setp.lt.u32 %p4, %r2, 32; mov.u64 %d3, s;\n"
    "mul.wide.u32 %d4, %r2, 4; add.u64 %d4, %d3, %d4; xor.b32 %r3, %r2, 32;\n"
    "mul.wide.u32 %d5, %r3, 4; add.u64 %d5, %d3, %d5;\n"
    "@!%p1 mbarrier.init.shared.b64 [full], 1; @!%p1 mbarrier.init.shared.b64 [empty], 32;\n"
    "bar.sync 0;\n";

#define FETCH                                                                                      \
    "@%p1 bra F; mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;\n"                           \
    ".loc 1 3 0\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d1], "   \
    "256, [full];\nF:\n"
#define WAIT_FULL "L: mbarrier.try_wait.parity.shared.b64 %p2, [full], 0; @!%p2 bra L;\n"
#define READ      ".loc 1 5 0\nld.shared.u32 %r5, [%d5];\n"
#define PUT       "st.shared.u32 [%d4], %r2;\n"
#define STORE                                                                                      \
    "@%p1 bra S;\n.loc 1 7 0\n"                                                                    \
    "cp.async.bulk.global.shared::cta.bulk_group [%d2], [s], 256; cp.async.bulk.commit_group;\n"
#define DRAIN    "cp.async.bulk.wait_group.read 0;\n"
#define AGAIN    "S: bar.sync 0;\n.loc 1 9 0\nst.shared.u32 [%d4], 7;\n"
#define FENCE    "fence.proxy.async.shared::cta;\n"
#define ARRIVE   "mbarrier.arrive.shared.b64 _, [empty];\n"
#define SYNCWARP "bar.warp.sync 0xffffffff;\n"
/* One lane arrives for the whole second warp. */
#define ARRIVE_ALL                                                                                 \
    "setp.ne.u32 %p3, %r2, 32; @%p3 bra E; mbarrier.arrive.shared.b64 _, [empty], 32; bra.uni "    \
    "E;\n"
/* Its lower half reads, and each of those lanes arrives for two. */
#define HALF         "setp.ge.u32 %p3, %r2, 48; @%p3 bra E;\n"
#define ARRIVE_TWICE "mbarrier.arrive.shared.b64 _, [empty], 2; bra.uni E;\n"
#define LOOK         ".loc 1 5 0\nld.shared.u32 %r5, [%d4];\n"
#define LOOK_SAME    ".loc 1 5 0\nld.shared.u32 %r5, [s+128];\n"
/* The first warp writes when the second has given the words back. */
#define OVERWRITE                                                                                  \
    "O: mbarrier.try_wait.parity.shared.b64 %p2, [empty], 0; @!%p2 bra O;\n"                       \
    ".loc 1 11 0\nst.shared.u32 [%d5], 9;\nbra.uni E;\n"

struct way {
    const char *name, *body;
    enum ptx_fault_kind kind;
    int line;
};

static void run_way(const struct way *way, bool reverse)
{
    static uint32_t x[WORDS], y[WORDS];
    struct emu emu;
    char text[4096];
    int n = snprintf(text, sizeof(text), "%s%s\nret;\n}\n.file 1 \"k.cu\"\n", prologue, way->body);

    assert_in_range(n, 0, sizeof(text) - 1);
    emu_load(&emu, text);
    emu_entry(&emu, "k", 1, THREADS);
    emu_in(&emu, x, sizeof(x));
    emu_inout(&emu, y, sizeof(y));
    emu.launch.reverse_order = reverse;
    enum ptx_fault_kind kind = emu_run(&emu);
    if (kind != way->kind)
        fail_msg("%s: got '%s' (%s), want '%s'", way->name, ptx_fault_text(kind),
                 emu.report.fault.text, ptx_fault_text(way->kind));
    if (way->line && emu.report.fault.source_line != way->line)
        fail_msg("%s: line %d, want %d: %s", way->name, emu.report.fault.source_line, way->line,
                 emu.report.fault.text);
    emu_free(&emu);
}

static void run_ways(const struct way *ways, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int reverse = 0; reverse < 2; reverse++)
            run_way(&ways[i], reverse);
}

static void test_copies_in(void **state)
{
    static const struct way ways[] = {
        {"all wait", FETCH WAIT_FULL READ, PTX_FAULT_NONE, 0},
        {"one waits, a barrier", FETCH "@%p1 bra B;\n" WAIT_FULL "B: bar.sync 0;\n" READ,
         PTX_FAULT_NONE, 0},
        {"no wait", FETCH "bar.sync 0;\n" READ, PTX_FAULT_LEAKED_WAIT, 5},
        {"written over", FETCH "bar.sync 0;\n.loc 1 6 0\n" PUT, PTX_FAULT_LEAKED_WAIT, 6},
        {"over what is read", PUT "bar.sync 0;\n" READ FETCH WAIT_FULL, PTX_FAULT_RACE, 3},
        {"over what was read", PUT "bar.sync 0;\n" READ "bar.sync 0;\n" FETCH WAIT_FULL,
         PTX_FAULT_NONE, 0},
    };
    (void)state;
    run_ways(ways, COUNT_OF(ways));
}

static void test_copies_out(void **state)
{
    static const struct way ways[] = {
        {"fence, barrier, copy, wait", PUT FENCE "bar.sync 0;\n" STORE DRAIN AGAIN, PTX_FAULT_NONE,
         0},
        {"barrier, fence, copy, wait", PUT "bar.sync 0;\n" FENCE STORE DRAIN AGAIN, PTX_FAULT_NONE,
         0},
        {"no fence", PUT "bar.sync 0;\n" STORE DRAIN AGAIN, PTX_FAULT_RACE, 7},
        {"fence before the write", FENCE PUT "bar.sync 0;\n" STORE DRAIN AGAIN, PTX_FAULT_RACE, 7},
        {"no wait", PUT FENCE "bar.sync 0;\n" STORE AGAIN, PTX_FAULT_RACE, 9},
        {"waits for all but one",
         PUT FENCE "bar.sync 0;\n" STORE "cp.async.bulk.wait_group.read 1;\n" AGAIN, PTX_FAULT_RACE,
         9},
        {"what a copy brought in needs no fence", FETCH WAIT_FULL STORE DRAIN "S:\n",
         PTX_FAULT_NONE, 0},
    };
    (void)state;
    run_ways(ways, COUNT_OF(ways));
}

static void test_ends(void **state)
{
    static const struct way ways[] = {
        {"one waits for what comes in", FETCH "@%p1 bra E;\n" WAIT_FULL "E:\n", PTX_FAULT_NONE, 0},
        {"another waits for what comes in",
         FETCH "setp.ne.u32 %p3, %r2, 40; @%p3 bra E;\n" WAIT_FULL "E:\n", PTX_FAULT_NONE, 0},
        {"nobody waits for what comes in", FETCH, PTX_FAULT_LEAKED_WAIT, 3},
        {"waits for what goes out", PUT FENCE "bar.sync 0;\n" STORE DRAIN "S:\n", PTX_FAULT_NONE,
         0},
        {"nobody waits for what goes out", PUT FENCE "bar.sync 0;\n" STORE "S:\n",
         PTX_FAULT_LEAKED_WAIT, 7},
        {"another waits for what goes out",
         PUT FENCE "bar.sync 0;\n" STORE "bra.uni E; S:" DRAIN "E:\n", PTX_FAULT_LEAKED_WAIT, 7},
        {"waits for all but one that goes out",
         PUT FENCE "bar.sync 0;\n" STORE "cp.async.bulk.wait_group.read 1;\nS:\n",
         PTX_FAULT_LEAKED_WAIT, 7},
    };
    (void)state;
    run_ways(ways, COUNT_OF(ways));
}

static void test_lanes(void **state)
{
    static const struct way ways[] = {
        {"__syncwarp, one arrives",
         PUT "bar.sync 0;\n@%p4 bra O;\n" LOOK SYNCWARP ARRIVE_ALL OVERWRITE "E:\n", PTX_FAULT_NONE,
         0},
        {"one arrives", PUT "bar.sync 0;\n@%p4 bra O;\n" LOOK ARRIVE_ALL OVERWRITE "E:\n",
         PTX_FAULT_RACE, 11},
        {"the same word, __syncwarp, one arrives",
         PUT "bar.sync 0;\n@%p4 bra O;\n" LOOK_SAME SYNCWARP ARRIVE_ALL OVERWRITE "E:\n",
         PTX_FAULT_NONE, 0},
        {"the same word, one arrives",
         PUT "bar.sync 0;\n@%p4 bra O;\n" LOOK_SAME ARRIVE_ALL OVERWRITE "E:\n", PTX_FAULT_RACE,
         11},
        {"each of half a warp arrives",
         PUT "bar.sync 0;\n@%p4 bra O;\n" HALF LOOK ARRIVE_TWICE OVERWRITE "E:\n", PTX_FAULT_NONE,
         0},
        {"the same word, each of half a warp arrives",
         PUT "bar.sync 0;\n@%p4 bra O;\n" HALF LOOK_SAME ARRIVE_TWICE OVERWRITE "E:\n",
         PTX_FAULT_NONE, 0},
        {"who arrives has read alone",
         PUT "bar.sync 0;\n@%p4 bra O; setp.ne.u32 %p3, %r2, 32; @%p3 bra E;\n" LOOK
             "mbarrier.arrive.shared.b64 _, [empty], 32; bra.uni E;\n" OVERWRITE "E:\n",
         PTX_FAULT_NONE, 0},
    };
    (void)state;
    run_ways(ways, COUNT_OF(ways));
}

static void test_phases(void **state)
{
    static const struct way ways[] = {
        {"read, then arrive",
         PUT "bar.sync 0;\n@%p4 bra O;\n.loc 1 5 0\n"
             "ld.shared.u32 %r5, [%d4];\n" ARRIVE "bra.uni E;\n" OVERWRITE "E:\n",
         PTX_FAULT_NONE, 0},
        {"arrive, then read",
         PUT "bar.sync 0;\n@%p4 bra O;\n" ARRIVE ".loc 1 5 0\n"
             "ld.shared.u32 %r5, [%d4];\nbra.uni E;\n" OVERWRITE "E:\n",
         PTX_FAULT_RACE, 0},
    };
    (void)state;
    run_ways(ways, COUNT_OF(ways));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_in), cmocka_unit_test(test_copies_out),
        cmocka_unit_test(test_phases),    cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
