/* Launches: chosen blocks, determinism, state across launches, the order of blocks. */
#include "tests/unit/verify/ptx/emu_unit.h"

/* y[block * 32 + thread] = order in which the blocks came, from a counter in x. */
static const char kernel[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 x, .param .u64 y)\n{\n.reg .b32 %r<9>; .reg .b64 %d<9>;\n"
    ".reg .pred %p<3>; .shared .align 4 .b8 s[4];\n"
    "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
    "setp.ne.u32 %p1, %r1, 0; @%p1 bra W; atom.global.add.u32 %r3, [%d1], 1;\n"
    "st.shared.u32 [s], %r3; W: bar.sync 0; ld.shared.u32 %r4, [s];\n"
    "mad.lo.u32 %r5, %r2, 32, %r1; mul.wide.u32 %d3, %r5, 4; add.u64 %d3, %d2, %d3;\n"
    "st.global.u32 [%d3], %r4; ret;\n}\n";

enum { BLOCKS = 6 };

struct result {
    uint32_t counter, order[BLOCKS * 32];
    struct ptx_counts counts;
};

static void run(struct result *out, bool reverse, const uint64_t *only, size_t count)
{
    struct emu emu;
    memset(out, 0, sizeof(*out));
    memset(out->order, 0xff, sizeof(out->order));
    emu_load(&emu, kernel);
    emu_entry(&emu, "k", BLOCKS, 32);
    emu_inout(&emu, &out->counter, sizeof(out->counter));
    emu_out(&emu, out->order, sizeof(out->order));
    emu.launch.reverse_order = reverse;
    emu.launch.only_blocks = only;
    emu.launch.only_count = count;
    emu_run_ok(&emu);
    out->counts = emu.report.counts;
    emu_free(&emu);
}

static void test_order(void **state)
{
    static struct result forward, backward, again;
    (void)state;
    run(&forward, false, NULL, 0);
    run(&backward, true, NULL, 0);
    run(&again, false, NULL, 0);
    assert_memory_equal(&forward, &again, sizeof(forward));
    for (uint32_t b = 0; b < BLOCKS; b++) {
        assert_int_equal(forward.order[b * 32 + 7], b);
        assert_int_equal(backward.order[b * 32 + 7], BLOCKS - 1 - b);
    }
    assert_int_equal(forward.counts.atomics, BLOCKS);
    assert_int_equal(forward.counts.barriers, BLOCKS);
    assert_int_equal(forward.counts.warp_insns, backward.counts.warp_insns);
}

static void test_chosen_blocks(void **state)
{
    static struct result out;
    static const uint64_t only[] = {4, 1, 4, 99};
    (void)state;
    run(&out, false, only, COUNT_OF(only));
    assert_int_equal(out.counter, 2);
    assert_int_equal(out.order[1 * 32], 0);
    assert_int_equal(out.order[4 * 32], 1);
    assert_int_equal(out.order[0], UINT32_MAX);
    run(&out, false, only, 0);
    assert_int_equal(out.counter, 0);
}

/* What one launch wrote is initialised in the next; a module's variables keep their values. */
static void test_two_launches(void **state)
{
    struct emu emu;
    struct ptx_report report;
    struct err err;
    uint32_t word = 0;
    (void)state;
    emu_load(&emu, ".version 9.0\n.target sm_90a\n.address_size 64\n.global .align 4 .u32 g = 3;\n"
                   ".visible .entry put(.param .u64 y)\n{ .reg .b32 %r<3>; .reg .b64 %d<3>;\n"
                   "ld.param.u64 %d1, [y]; ld.global.u32 %r1, [g]; add.u32 %r1, %r1, 1;\n"
                   "st.global.u32 [g], %r1; st.global.u32 [%d1], %r1; ret; }\n"
                   ".visible .entry get(.param .u64 y)\n{ .reg .b32 %r<3>; .reg .b64 %d<3>;\n"
                   "ld.param.u64 %d1, [y]; ld.global.u32 %r1, [%d1]; ret; }\n");
    struct ptx_buffer buffer = {
        .name = "y", .data = &word, .bytes = sizeof(word), .writable = true};
    struct ptx_memory *memory = ptx_memory_new(&emu.arena, emu.module, &buffer, 1);
    struct ptx_launch launch = emu.launch;
    launch.params = &buffer.address;
    launch.param_bytes = sizeof(buffer.address);
    static const struct {
        const char *entry;
        enum ptx_fault_kind kind;
    } steps[] = {{"get", PTX_FAULT_UNINITIALISED},
                 {"put", PTX_FAULT_NONE},
                 {"put", PTX_FAULT_NONE},
                 {"get", PTX_FAULT_NONE}};
    launch.block[0] = 1;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        launch.entry = steps[i].entry;
        assert_true(ptx_launch(&emu.arena, emu.module, memory, &launch, &report, &err));
        assert_int_equal(report.fault.kind, steps[i].kind);
    }
    assert_int_equal(word, 5);
    launch.entry = "none";
    assert_false(ptx_launch(&emu.arena, emu.module, memory, &launch, &report, &err));
    launch.entry = "get";
    launch.param_bytes = 4;
    assert_false(ptx_launch(&emu.arena, emu.module, memory, &launch, &report, &err));
    emu_free(&emu);
}

/* The promise of a buffer's alignment is what an access is held to. */
static void test_alignment(void **state)
{
    static float x[68];
    (void)state;
    for (int offset = 0; offset <= 16; offset += 4) {
        struct emu emu;
        float y[4] = {0};
        emu_load(&emu, ".version 9.0\n.target sm_90a\n.address_size 64\n"
                       ".visible .entry k(.param .u64 x, .param .u64 y)\n{ .reg .f32 %f<5>;\n"
                       ".reg .b64 %d<3>; ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];\n"
                       "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d1]; st.global.f32 [%d2], %f1;\n"
                       "ret; }\n");
        emu_entry(&emu, "k", 1, 1);
        emu_in(&emu, x, sizeof(x));
        emu_out(&emu, y, sizeof(y));
        emu.buffers[0].address_offset = (size_t)offset;
        assert_int_equal(emu_run(&emu), offset % 16 ? PTX_FAULT_MISALIGNED : PTX_FAULT_NONE);
        emu_free(&emu);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_chosen_blocks),
        cmocka_unit_test(test_two_launches),
        cmocka_unit_test(test_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
