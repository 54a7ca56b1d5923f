/*
 * Flags and counters in shared memory between two warps of a block: the first writes, the second
 * waits and reads.  Each body is a way to say so, honest or with the fence or the __syncwarp
 * missing, too early or of the wrong lane.
 */
#include "tests/unit/verify/ptx/emu_unit.h"

enum { THREADS = 64 };

/* %d4 is the thread's word of s, %d5 that of the thread of the other warp.  %p4 is set in the first
 * warp, %p1 in all lanes but the first of each.  The words of c are flags and counters, 0 at first.
 */
static const char prologue[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 y)\n{\n"
    ".reg .b32 %r<20>; .reg .b64 %d<20>; .reg .pred %p<9>;\n"
    ".shared .align 16 .b8 s[256]; .shared .align 8 .b8 c[16]; .shared .align 8 .b8 m[8];\n"
    "ld.param.u64 %d1, [y]; mov.u32 %r2, %tid.x; and.b32 %r4, %r2, 31; setp.ne.u32 %p1, %r4, 0;\n"
    "setp.lt.u32 %p4, %r2, 32; setp.eq.u32 %p5, %r2, 0; mov.u64 %d3, s; mul.wide.u32 %d4, %r2, 4;\n"
    "add.u64 %d4, %d3, %d4; xor.b32 %r3, %r2, 32; mul.wide.u32 %d5, %r3, 4;\n"
    "add.u64 %d5, %d3, %d5; mov.u32 %r6, 1; mov.u32 %r7, 0;\n"
    "@%p5 st.shared.u32 [c], %r7; @%p5 st.shared.u32 [c+4], %r7;\n"
    "@%p5 mbarrier.init.shared.b64 [m], 1; bar.sync 0; @!%p4 bra C;\n";

#define WRITE        ".loc 1 3 0\nst.shared.u32 [%d4], %r2;\n"
#define WRITE_STRONG ".loc 1 3 0\nst.volatile.shared.u32 [%d4], %r2;\n"
#define FENCE        "membar.cta;\n"
#define SYNCWARP     "bar.warp.sync 0xffffffff;\n"
#define LEADER       "@%p1 bra E;\n"
#define FLAG         "st.volatile.shared.u32 [c], %r6;\n"
#define WAIT                                                                                       \
    "bra.uni E;\nC: ld.volatile.shared.u32 %r8, [c]; setp.eq.u32 %p2, %r8, 0; @%p2 bra C;\n"
#define WAIT_ACQUIRE                                                                               \
    "bra.uni E;\nC: ld.acquire.cta.shared.u32 %r8, [c]; setp.eq.u32 %p2, %r8, 0; @%p2 bra C;\n"
#define COUNT "atom.shared.add.u32 %r9, [c], 1;\n"
#define WAIT_COUNT                                                                                 \
    "bra.uni E;\nC: atom.shared.add.u32 %r8, [c], 0; setp.ne.u32 %p2, %r8, 32; @%p2 bra C;\n"
#define READ        ".loc 1 5 0\nld.shared.u32 %r5, [%d5];\nE:"
#define READ_STRONG ".loc 1 5 0\nld.volatile.shared.u32 %r5, [%d5];\nE:"
/* The second warp has read; the first one writes over it. */
#define GIVE_BACK(how)                                                                             \
    "C: ld.volatile.shared.u32 %r8, [c]; setp.eq.u32 %p2, %r8, 0; @%p2 bra C; membar.cta;\n"       \
    ".loc 1 3 0\nld.shared.u32 %r5, [%d5];\n" how "@%p1 bra E; st.volatile.shared.u32 [c+4], "     \
    "%r6; bra.uni E;\n"
#define TAKE_BACK                                                                                  \
    FENCE SYNCWARP "@!%p1 st.volatile.shared.u32 [c], %r6;\n"                                      \
                   "B: ld.volatile.shared.u32 %r8, [c+4]; setp.eq.u32 %p2, %r8, 0; @%p2 bra B; "   \
                   "membar.cta;\n.loc 1 5 0\nst.shared.u32 [%d4], %r6; bra.uni E;\n"
#define TAKEN(how)  WRITE TAKE_BACK GIVE_BACK(how) "E:"
#define GLOBAL_FLAG "st.volatile.global.u32 [%d1], %r6;\n"
#define GLOBAL_WAIT                                                                                \
    "bra.uni E;\nC: ld.volatile.global.u32 %r8, [%d1]; setp.eq.u32 %p2, %r8, 0; @%p2 bra C;\n"
#define ARRIVE "mbarrier.arrive.shared.b64 _, [m];\n"
#define AWAIT  "bra.uni E;\nC: mbarrier.try_wait.parity.shared.b64 %p2, [m], 0; @!%p2 bra C;\n"

struct way {
    const char *name, *body;
    enum ptx_fault_kind kind;
};

static void run_way(const struct way *way, bool reverse)
{
    static uint32_t y[4];
    struct emu emu;
    char text[4096];
    int n = snprintf(text, sizeof(text), "%s%s\nret;\n}\n.file 1 \"k.cu\"\n", prologue, way->body);

    assert_in_range(n, 0, sizeof(text) - 1);
    memset(y, 0, sizeof(y));
    emu_load(&emu, text);
    emu_entry(&emu, "k", 1, THREADS);
    emu_inout(&emu, y, sizeof(y));
    emu.launch.reverse_order = reverse;
    if (emu_run(&emu) != way->kind)
        fail_msg("%s: got '%s' (%s)", way->name, ptx_fault_text(emu.report.fault.kind),
                 emu.report.fault.text);
    if (way->kind != PTX_FAULT_NONE) {
        assert_int_equal(emu.report.fault.source_line, 5);
        assert_int_equal(emu.report.fault.other_line, 3);
    }
    emu_free(&emu);
}

static void run_ways(const struct way *ways, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int reverse = 0; reverse < 2; reverse++)
            run_way(&ways[i], reverse);
}

static void test_honest(void **state)
{
    static const struct way ways[] = {
        {"all fence, __syncwarp, flag", WRITE FENCE SYNCWARP LEADER FLAG WAIT FENCE READ, 0},
        {"__syncwarp, one fences", WRITE SYNCWARP LEADER FENCE FLAG WAIT FENCE READ, 0},
        {"for the device", WRITE SYNCWARP LEADER "membar.gl;\n" FLAG WAIT READ, 0},
        {"fence.acq_rel", WRITE SYNCWARP LEADER "fence.acq_rel.cta;\n" FLAG WAIT READ, 0},
        {"release and acquire",
         WRITE SYNCWARP LEADER "st.release.cta.shared.u32 [c], %r6;\n" WAIT_ACQUIRE READ, 0},
        {"a counter behind fences", WRITE FENCE COUNT WAIT_COUNT FENCE READ, 0},
        {"a counter that releases",
         WRITE "atom.acq_rel.cta.shared.add.u32 %r9, [c], 1;\n" WAIT_COUNT READ, 0},
        {"a plain flag, asked for again and again",
         WRITE FENCE SYNCWARP LEADER "st.shared.u32 [c], %r6;\n" WAIT READ, 0},
        {"volatile data", WRITE_STRONG FENCE SYNCWARP LEADER FLAG WAIT READ_STRONG, 0},
        {"plain data, volatile reads", WRITE FENCE SYNCWARP LEADER FLAG WAIT READ_STRONG, 0},
        {"read, fence, __syncwarp, give back", TAKEN(FENCE SYNCWARP), 0},
        {"read, __syncwarp, one fences", TAKEN(SYNCWARP FENCE), 0},
        {"a flag in global memory", WRITE SYNCWARP LEADER FENCE GLOBAL_FLAG GLOBAL_WAIT READ, 0},
        {"handed on by a third thread's barrier",
         WRITE "bar.sync 1, 32;\n" LEADER FENCE FLAG WAIT READ, 0},
        {"__syncwarp, then one arrives", WRITE SYNCWARP LEADER ARRIVE AWAIT READ, 0},
        {"only the one who arrives has written",
         LEADER WRITE ARRIVE "bra.uni E;\nC: @%p1 bra E;\nD: mbarrier.try_wait.parity.shared.b64 "
                             "%p2, [m], 0; @!%p2 bra D;\n" READ,
         0},
    };

    (void)state;
    run_ways(ways, COUNT_OF(ways));
}

static void test_missing(void **state)
{
    static const struct way ways[] = {
        {"no fence", WRITE SYNCWARP LEADER FLAG WAIT READ, PTX_FAULT_RACE},
        {"a fence at the reader only", WRITE SYNCWARP LEADER FLAG WAIT FENCE READ, PTX_FAULT_RACE},
        {"too early", FENCE WRITE SYNCWARP LEADER FLAG WAIT READ, PTX_FAULT_RACE},
        {"too late", WRITE SYNCWARP LEADER FLAG FENCE WAIT READ, PTX_FAULT_RACE},
        {"one too early, one too late", FENCE WRITE SYNCWARP LEADER FLAG FENCE WAIT READ,
         PTX_FAULT_RACE},
        {"no __syncwarp", WRITE LEADER FENCE FLAG WAIT READ, PTX_FAULT_RACE},
        {"a relaxed store",
         WRITE SYNCWARP LEADER "st.relaxed.cta.shared.u32 [c], %r6;\n" WAIT_ACQUIRE READ,
         PTX_FAULT_RACE},
        {"a relaxed counter", WRITE COUNT WAIT_COUNT FENCE READ, PTX_FAULT_RACE},
        {"plain data, volatile reads", WRITE SYNCWARP LEADER FLAG WAIT READ_STRONG, PTX_FAULT_RACE},
        {"given back without a fence", TAKEN(SYNCWARP), PTX_FAULT_RACE},
        {"given back for the others", TAKEN("@!%p1 membar.cta;\n"), PTX_FAULT_RACE},
        {"a flag in global memory", WRITE SYNCWARP LEADER GLOBAL_FLAG GLOBAL_WAIT READ,
         PTX_FAULT_RACE},
        {"one arrives for all", WRITE LEADER ARRIVE AWAIT READ, PTX_FAULT_RACE},
    };

    (void)state;
    run_ways(ways, COUNT_OF(ways));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_honest),
        cmocka_unit_test(test_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
