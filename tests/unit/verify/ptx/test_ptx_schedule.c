/*
 * Blocks that wait for each other: grid barriers, tickets, look-back, in the three orders that
 * blocks are run in; what waiting costs, and how a wait that never ends is reported.
 */
#include "tests/unit/verify/ptx/emu_unit.h"

/* a: words that blocks talk through, zero at first; b: one word a block. */
static const char prologue[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n"
    ".reg .b32 %r<20>; .reg .b64 %d<20>; .reg .pred %p<9>; .shared .align 4 .b8 s[4];\n"
    "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;\n"
    "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %nctaid.x; setp.ne.u32 %p1, %r2, 0;\n"
    "mul.wide.u32 %d3, %r3, 4; add.u64 %d4, %d2, %d3; add.u64 %d3, %d1, %d3;\n";

#define WAIT(address)                                                                              \
    ".loc 1 7 0\nL: ld.volatile.global.u32 %r9, [" address "];"                                    \
    "setp.lt.u32 %p3, %r9, %r6; @%p3 bra L;\n"
/* One thread of each block counts itself, and waits for all, n times. */
#define GRID_BARRIERS                                                                              \
    "mov.u32 %r5, 0; mov.u32 %r6, %r4;\n"                                                          \
    "S: bar.sync 0; @%p1 bra W; membar.gl; atom.global.add.u32 %r8, [%d1], 1;\n" WAIT(             \
        "%d1") "membar.gl; W: bar.sync 0; add.u32 %r5, %r5, 1; add.u32 %r6, %r6, %r4;\n"           \
               "setp.lt.u32 %p2, %r5, %r1; @%p2 bra S; st.global.u32 [%d4], %r5;\n"
/* Word 0 gives tickets; word 1 + t is the flag of ticket t. */
#define TICKETS                                                                                    \
    "@%p1 bra E; atom.global.add.u32 %r5, [%d1], 1; mul.wide.u32 %d5, %r5, 4;\n"                   \
    "add.u64 %d5, %d1, %d5; mov.u32 %r6, 1; setp.eq.u32 %p2, %r5, 0; @%p2 bra F;\n" WAIT(          \
        "%d5") "F: st.volatile.global.u32 [%d5+4], %r6; st.global.u32 [%d4], %r6; E:\n"
#define FLAG "F: mov.u32 %r6, 1; st.volatile.global.u32 [%d3], %r6; st.global.u32 [%d4], %r6; E:\n"
/* The flag of the block before; of the block so many further on. */
#define LOOK_BACK                                                                                  \
    "@%p1 bra E; mov.u32 %r6, 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra F;\n" WAIT("%d3-4") FLAG
#define LOOK_AHEAD(many, bytes)                                                                    \
    "@%p1 bra E; mov.u32 %r6, 1; add.u32 %r5, %r3, " many "; setp.ge.u32 %p2, %r5, %r4;\n"         \
    "@%p2 bra F;\n" WAIT("%d3+" bytes) FLAG

enum { WORDS = 80, FORWARD = 0, REVERSE = 1, INTERLEAVED = 2 };

struct wait {
    const char *name, *body;
    uint32_t grid, block, n;
    bool cooperative;
    enum ptx_fault_kind kind[3]; /* by order */
};

static void run_wait(const struct wait *wait, int order, struct ptx_report *out)
{
    static uint32_t a[WORDS], b[WORDS];
    struct emu emu;
    char text[4096];
    int n = snprintf(text, sizeof(text), "%s%s\nret;\n}\n.file 1 \"k.cu\"\n", prologue, wait->body);

    assert_in_range(n, 0, sizeof(text) - 1);
    memset(a, 0, sizeof(a));
    memset(b, 0, sizeof(b));
    emu_load(&emu, text);
    emu_entry(&emu, "k", wait->grid, wait->block);
    emu_inout(&emu, a, sizeof(a));
    emu_out(&emu, b, sizeof(b));
    emu_int(&emu, wait->n);
    emu.launch.reverse_order = order == REVERSE;
    emu.launch.interleave_seed = order == INTERLEAVED ? 77 : 0;
    emu.launch.cooperative = wait->cooperative;
    if (emu_run(&emu) != wait->kind[order])
        fail_msg("%s, order %d: got '%s' (%s)", wait->name, order,
                 ptx_fault_text(emu.report.fault.kind), emu.report.fault.text);
    for (uint32_t i = 0; i < wait->grid && emu.report.fault.kind == PTX_FAULT_NONE; i++)
        assert_int_not_equal(b[i], 0);
    *out = emu.report;
    emu_free(&emu);
}

static void test_orders(void **state)
{
    static const struct wait waits[] = {
        {"grid barrier", GRID_BARRIERS, 24, 64, 3, true, {0, 0, 0}},
        {"grid barrier of few blocks", GRID_BARRIERS, 8, 64, 3, false, {0, 0, 0}},
        {"grid barrier of blocks that need not be resident",
         GRID_BARRIERS,
         24,
         64,
         3,
         false,
         {0, 0, PTX_FAULT_BARRIER_STUCK}},
        {"tickets", TICKETS, 64, 64, 0, false, {0, 0, 0}},
        {"look-back in the order of blocks", LOOK_BACK, 64, 32, 0, false, {0, 0, 0}},
        {"waits for a near block", LOOK_AHEAD("1", "4"), 8, 32, 0, false, {0, 0, 0}},
        {"waits for a far block",
         LOOK_AHEAD("16", "64"),
         64,
         32,
         0,
         false,
         {0, 0, PTX_FAULT_BARRIER_STUCK}},
        {"waits for a flag that none sets",
         "mov.u32 %r6, 1;" WAIT("%d1"),
         4,
         64,
         0,
         true,
         {PTX_FAULT_BARRIER_STUCK, PTX_FAULT_BARRIER_STUCK, PTX_FAULT_BARRIER_STUCK}},
        {"asks at two places and sleeps",
         ".loc 1 7 0\nL: ld.volatile.global.u32 %r9, [%d1]; ld.volatile.global.u32 %r8, [%d1+4];"
         "nanosleep.u32 40; add.u32 %r9, %r9, %r8; setp.eq.u32 %p3, %r9, 0; @%p3 bra L;",
         4,
         64,
         0,
         true,
         {PTX_FAULT_BARRIER_STUCK, PTX_FAULT_BARRIER_STUCK, PTX_FAULT_BARRIER_STUCK}},
    };
    struct ptx_report report;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(waits); i++)
        for (int order = FORWARD; order <= INTERLEAVED; order++) {
            run_wait(&waits[i], order, &report);
            assert_true(report.communicates);
            if (report.fault.kind != PTX_FAULT_NONE)
                assert_int_equal(report.fault.source_line, 7);
        }
}

static void test_stuck_text(void **state)
{
    const struct wait far = {"far", LOOK_AHEAD("16", "64"),         64, 32, 0,
                             false, {0, 0, PTX_FAULT_BARRIER_STUCK}};
    struct ptx_report report;

    (void)state;
    run_wait(&far, INTERLEAVED, &report);
    assert_non_null(strstr(report.fault.text, "56 blocks that have not started"));
    assert_non_null(strstr(report.fault.text, "cooperative"));
    assert_non_null(strstr(report.fault.text, "of block 0 at k.cu:7"));
}

/* Hundreds of grid barriers: who waits takes few instructions, and always as many. */
static void test_cheap_waits(void **state)
{
    const struct wait barriers = {"barriers", GRID_BARRIERS, 64, 128, 300, true, {0, 0, 0}};
    const uint64_t warps = 64 * 4, a_step = 12;

    (void)state;
    for (int order = FORWARD; order <= INTERLEAVED; order++) {
        struct ptx_report first, again;

        run_wait(&barriers, order, &first);
        run_wait(&barriers, order, &again);
        assert_int_equal(first.counts.warp_insns, again.counts.warp_insns);
        assert_in_range(first.counts.warp_insns, 0, warps * barriers.n * a_step * 2);
    }
}

/* Nobody sees what an atomic without a result adds to. */
static void test_silent(void **state)
{
    const struct wait adds = {
        "adds",   "red.global.add.u32 [%d1], 1; st.global.u32 [%d4], %r4;", 4, 32, 0, false,
        {0, 0, 0}};
    struct ptx_report report;

    (void)state;
    run_wait(&adds, FORWARD, &report);
    assert_false(report.communicates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_stuck_text),
        cmocka_unit_test(test_cheap_waits),
        cmocka_unit_test(test_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
