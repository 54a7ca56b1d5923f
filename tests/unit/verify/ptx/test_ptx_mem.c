/* Loads, stores, state spaces and atomics against hand-made memory. */
#include "tests/unit/verify/ptx/emu_unit.h"

/* A body for one warp with %x at an input of 16 words 0x03020100 + 0x04040404 i, %y at the output.
 */
struct row {
    const char *body;
    uint64_t want[2]; /* the output's first 16 bytes */
};

static const char prologue[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 16 .b8 dyn[];\n"
    ".const .align 4 .u32 ck[3] = {10, 20, 30};\n.global .align 4 .u32 gv[2] = {77, 88};\n"
    ".global .align 8 .u64 gp[2] = {generic(gv), 5};\n"
    ".visible .entry k(.param .u64 x, .param .u64 y, .param .align 8 .b8 s[16])\n{\n"
    ".reg .b16 %h<8>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>; .reg .pred %p<4>;\n"
    ".reg .b64 %x, %y, %q<9>; .reg .b128 %w<3>; .shared .align 16 .b8 sh[64];\n"
    ".local .align 16 .b8 lo[64];\nld.param.u64 %x, [x]; ld.param.u64 %y, [y];\n";

static void run_row(const struct row *row, const char *isa)
{
    char text[4096];
    struct emu emu;
    unsigned char in[64];
    uint64_t out[8] = {0};
    static const uint32_t param[4] = {0x11111111, 0x22222222, 0x33333333, 0x44444444};
    for (int i = 0; i < 64; i++)
        in[i] = (unsigned char)i;
    snprintf(text, sizeof(text), "%s%s\nret;\n}\n", prologue, row->body);
    if (!emu_load_isa(&emu, text, isa))
        return;
    emu_entry(&emu, "k", 1, 1);
    emu.launch.dynamic_shared = 64;
    emu_in(&emu, in, sizeof(in));
    emu_inout(&emu, out, sizeof(out));
    emu_bytes(&emu, param, sizeof(param));
    if (emu_run(&emu) != PTX_FAULT_NONE)
        fail_msg("%s: %s", row->body, emu.report.fault.text);
    if (memcmp(out, row->want, sizeof(row->want)) != 0)
        fail_msg("%s (%s): got %#llx %#llx", row->body, isa, (unsigned long long)out[0],
                 (unsigned long long)out[1]);
    emu_free(&emu);
}

static void run_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < COUNT_OF(emu_isas); i++)
        for (size_t k = 0; k < count; k++)
            run_row(&rows[k], emu_isas[i]);
}

static void test_access(void **state)
{
    static const struct row rows[] = {
        {"ld.global.u8 %r1, [%x+5]; st.global.u32 [%y], %r1;", {5, 0}},
        {"ld.global.s8 %h1, [%x+5]; cvt.s64.s16 %d1, %h1; st.global.u64 [%y], %d1;", {5, 0}},
        {"ld.global.u16 %d1, [%x+2]; st.global.u64 [%y], %d1;", {0x0302, 0}},
        {"ld.global.s32 %d1, [%x+60]; st.global.u64 [%y], %d1;", {0x3f3e3d3c, 0}},
        {"ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%x+16]; st.global.v2.u32 [%y], {%r4, %r1};",
         {0x131211101f1e1d1c, 0}},
        {"ld.global.nc.L1::no_allocate.L2::128B.v2.b64 {%d1, %d2}, [%x]; "
         "st.global.v2.b64 [%y], {%d2, %d1};",
         {0x0f0e0d0c0b0a0908, 0x0706050403020100}},
        {"ld.global.v4.u16 {%h1, %h2, %h3, _}, [%x]; st.global.v2.u16 [%y], {%h3, %h1};",
         {0x01000504, 0}},
        {"ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [%x+8]; st.global.v4.u8 [%y+4], {%h4,%h3,%h2,%h1};",
         {0x08090a0b00000000, 0}},
        {"ld.global.b128 %w1, [%x+16]; st.global.b128 [%y], %w1;",
         {0x1716151413121110, 0x1f1e1d1c1b1a1918}},
        {"ld.volatile.global.u32 %r1, [%x]; st.volatile.global.u32 [%y], %r1;", {0x03020100, 0}},
        {"ld.relaxed.gpu.global.u32 %r1, [%x]; st.release.sys.global.u32 [%y+4], %r1;",
         {0x0302010000000000, 0}},
        {"ld.u32 %r1, [%x]; st.u32 [%y], %r1;", {0x03020100, 0}},
        {"ld.global.ca.u32 %r1, [%x]; st.global.wt.u32 [%y], %r1;", {0x03020100, 0}},
        {"ldu.global.u32 %r1, [%x]; st.global.cs.u8 [%y+3], %r1;", {0, 0}},
        {"st.shared.u32 [sh+8], 9; ld.shared.u32 %r1, [sh+8]; st.global.u32 [%y], %r1;", {9, 0}},
        {"mov.u32 %r2, sh; st.shared.v2.u32 [%r2+8], {1, 2}; ld.shared.u64 %d1, [%r2+8];"
         "st.global.u64 [%y], %d1;",
         {0x200000001, 0}},
        {"mov.u64 %d1, sh; cvta.shared.u64 %d2, %d1; st.u32 [%d2+4], 3; cvta.to.shared.u64 %d3, "
         "%d2;"
         "ld.shared.u32 %r1, [%d3+4]; st.global.u32 [%y], %r1;",
         {3, 0}},
        {"st.shared.u32 [dyn+60], 4; mov.u64 %d1, dyn; ld.shared.u32 %r1, [%d1+60];"
         "st.global.u32 [%y], %r1;",
         {4, 0}},
        {"st.local.v2.u32 [lo+16], {7, 8}; mov.u64 %d1, lo; cvta.local.u64 %d1, %d1;"
         "ld.u32 %r1, [%d1+20]; st.global.u32 [%y], %r1;",
         {8, 0}},
        {"ld.const.u32 %r1, [ck+4]; mov.u64 %d1, ck; ld.const.u32 %r2, [%d1+8]; "
         "st.global.v2.u32 [%y], {%r1, %r2};",
         {0x1e00000014, 0}},
        {"ld.global.u64 %d1, [gp]; ld.u32 %r1, [%d1+4]; st.global.u32 [%y], %r1;", {88, 0}},
        {"st.global.u32 [gv], 6; ld.global.u32 %r1, [gv]; st.global.u32 [%y], %r1;", {6, 0}},
        {"ld.param.u32 %r1, [s+8]; mov.b64 %d1, s; ld.param.u32 %r2, [%d1+12];"
         "st.global.v2.u32 [%y], {%r1, %r2};",
         {0x4444444433333333, 0}},
        {"mov.b64 %d1, s; cvta.param.u64 %d1, %d1; ld.u64 %d2, [%d1]; st.global.u64 [%y], %d2;",
         {0x2222222211111111, 0}},
        {"mov.u64 %d1, sh; cvta.shared.u64 %d1, %d1; isspacep.shared %p1, %d1;"
         "isspacep.global %p2, %x; and.pred %p1, %p1, %p2; isspacep.local %p2, %x;"
         "selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, 0, %p2; st.global.v2.u32 [%y], {%r1, %r2};",
         {1, 0}},
        {"prefetch.global.L2 [%x]; discard.global.L2 [%y], 128; st.global.u32 [%y], 2;", {2, 0}},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

/* Each leaves memory in the output's first 8 bytes and what it returned behind. */
#define ATOM32(start, insn)                                                                        \
    "mov.u32 %r8, " start "; st.global.u32 [%y], %r8; " insn "; st.global.u32 [%y+8], %r1;"
#define ATOM64(start, insn)                                                                        \
    "mov.u64 %d8, " start "; st.global.u64 [%y], %d8; " insn "; st.global.u64 [%y+8], %d1;"

static void test_atomics(void **state)
{
    static const struct row rows[] = {
        {ATOM32("5", "atom.global.add.u32 %r1, [%y], 3"), {8, 5}},
        {ATOM32("5", "atom.add.s32 %r1, [%y], -7"), {0xfffffffe, 5}},
        {ATOM32("5", "atom.global.exch.b32 %r1, [%y], 9"), {9, 5}},
        {ATOM32("5", "atom.global.cas.b32 %r1, [%y], 5, 6"), {6, 5}},
        {ATOM32("5", "atom.acq_rel.gpu.global.cas.b32 %r1, [%y], 4, 6"), {5, 5}},
        {ATOM32("12", "atom.global.and.b32 %r1, [%y], 10"), {8, 12}},
        {ATOM32("12", "atom.global.or.b32 %r1, [%y], 3"), {15, 12}},
        {ATOM32("12", "atom.global.xor.b32 %r1, [%y], 10"), {6, 12}},
        {ATOM32("-1", "atom.global.min.s32 %r1, [%y], 1"), {0xffffffff, 0xffffffff}},
        {ATOM32("-1", "atom.global.min.u32 %r1, [%y], 1"), {1, 0xffffffff}},
        {ATOM32("-1", "atom.global.max.s32 %r1, [%y], 1"), {1, 0xffffffff}},
        {ATOM32("4", "atom.global.inc.u32 %r1, [%y], 5"), {5, 4}},
        {ATOM32("5", "atom.global.inc.u32 %r1, [%y], 5"), {0, 5}},
        {ATOM32("0", "atom.global.dec.u32 %r1, [%y], 5"), {5, 0}},
        {ATOM32("3", "atom.global.dec.u32 %r1, [%y], 5"), {2, 3}},
        {ATOM32("9", "atom.global.dec.u32 %r1, [%y], 5"), {5, 9}},
        {ATOM32("0x3fc00000", "atom.global.add.f32 %r1, [%y], 0f40000000"),
         {0x40600000, 0x3fc00000}},
        {ATOM32("0x3c004000", "atom.global.add.noftz.f16x2 %r1, [%y], 0x3c003c00"),
         {0x40004200, 0x3c004000}},
        {ATOM32("0x3f803f80", "atom.global.add.noftz.bf16x2 %r1, [%y], 0x3f804000"),
         {0x40004040, 0x3f803f80}},
        {ATOM32("0x3c00",
                "mov.u32 %r1, 0; mov.u16 %h1, 0x3c00; atom.global.add.noftz.f16 %h2, [%y], "
                "%h1; cvt.u32.u16 %r1, %h2"),
         {0x4000, 0x3c00}},
        {ATOM32("0x12345",
                "mov.u16 %h1, 0x2345; mov.u16 %h2, 7; atom.global.cas.b16 %h3, [%y], %h1, "
                "%h2; cvt.u32.u16 %r1, %h3"),
         {0x10007, 0x2345}},
        {ATOM64("5", "atom.global.add.u64 %d1, [%y], -6"), {UINT64_MAX, 5}},
        {ATOM64("5", "atom.global.max.s64 %d1, [%y], -6"), {5, 5}},
        {ATOM64("5", "atom.global.cas.b64 %d1, [%y], 5, 0x123456789abc"), {0x123456789abc, 5}},
        {ATOM64("0x3ff0000000000000", "atom.global.add.f64 %d1, [%y], 0d4000000000000000"),
         {0x4008000000000000, 0x3ff0000000000000}},
        {"st.global.u32 [%y], 5; red.global.add.u32 [%y], 6;", {11, 0}},
        {"st.shared.u32 [sh], 5; red.shared.max.u32 [sh], 6; ld.shared.u32 %r1, [sh];"
         "st.global.u32 [%y], %r1;",
         {6, 0}},
        {"st.global.v2.u64 [%y], {1, 2}; mov.b128 %w1, {%x, %x}; mov.u64 %d1, 1; mov.u64 %d2, 2;"
         "mov.u64 %d3, 3; mov.b128 %w1, {%d1, %d2}; mov.b128 %w2, {%d3, %d3};"
         "atom.global.cas.b128 %w0, [%y], %w1, %w2;",
         {3, 3}},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

/* What a launch leaves uninitialised is poison that depends on the seed, and is finite. */
static void test_poison(void **state)
{
    uint32_t words[2][64];
    (void)state;
    for (int seed = 0; seed < 2; seed++) {
        struct emu emu;
        emu_load(&emu, ".version 9.0\n.target sm_90a\n.address_size 64\n"
                       ".visible .entry k(.param .u64 y)\n{\n.shared .align 4 .b8 s[128];\n"
                       ".reg .b32 %r<4>; .reg .b64 %d<4>;\nld.param.u64 %d1, [y];\n"
                       "mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
                       "mov.u64 %d3, s; add.u64 %d3, %d3, %d2; ld.shared.u32 %r2, [%d3];\n"
                       "st.global.u32 [%d1], %r2; ret;\n}\n");
        emu_entry(&emu, "k", 1, 32);
        emu_out(&emu, words[seed], sizeof(words[seed]));
        emu.launch.poison_seed = (uint64_t)seed;
        emu.launch.check = false;
        emu_run_ok(&emu);
        for (int i = 0; i < 32; i++)
            assert_true((words[seed][i] >> 23 & 255) != 255);
        emu_free(&emu);
    }
    assert_memory_not_equal(words[0], words[1], 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_access),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_poison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
