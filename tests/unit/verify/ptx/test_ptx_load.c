/* Loading: what is refused and how it says so, what an entry and a module report, facts. */
#include "tests/unit/verify/ptx/emu_unit.h"

#define HEAD ".version 9.0\n.target sm_90a\n.address_size 64\n"
#define OPEN                                                                                       \
    HEAD ".visible .entry k(.param .u64 x)\n{\n.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred "      \
         "%p<4>;\n"
#define CLOSE        "\nret;\n}\n"
#define KERNEL(body) OPEN body CLOSE

/* ---- malformed text ---- */

struct refused {
    const char *text;
    const char *message; /* part of the error */
};

static void test_refused(void **state)
{
    static const struct refused rows[] = {
        {"hello", "expected a directive near 'hello'"},
        {HEAD ".visible .entry k(", "at the end of the text"},
        {HEAD ".visible .entry k() {", "at the end of the text"},
        {KERNEL("add.u32 %r1, %r2;") "}", "expected a directive"},
        {KERNEL("bra NOWHERE;"), "label 'NOWHERE' is not defined"},
        {KERNEL("L: ret; L: ret;"), "label 'L' defined twice"},
        {KERNEL("add.u32 %r1, %q2, 1;"), "unknown name near '%q2'"},
        {KERNEL("add.u32 %r1, %r99, 1;"), "unknown name near '%r99'"},
        {KERNEL("mov.u32 %r1, 0f123;"), "malformed number"},
        {KERNEL("mov.u32 %r1, 99999999999999999999;"), "malformed number"},
        {KERNEL("@%r1 bra L; L:"), "expected a predicate"},
        {KERNEL("ld.global.u32 %r1, [%d1;"), "expected ']'"},
        {KERNEL("mov.b64 %d1, {%r1, {%r2}};"), "nested list"},
        {KERNEL("{ .reg .b32 a; } mov.u32 %r1, a;"), "unknown name near 'a'"},
        {KERNEL(".reg .b33 q;"), "expected a register type"},
        {HEAD ".global .align 3 .b8 g[4];", "no power of two"},
        {HEAD ".global .align 4 .b8 g[4] = {1,2,3,4,5};", "longer than its variable"},
        {HEAD ".global .align 1 .b8 big[1099511627776];", "larger than"},
        {HEAD ".global .b8 g[4] /* no end", "comment without end"},
        {HEAD ".address_size 32\n", "only 64-bit"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena arena;
        struct err err;
        const struct ptx_module *module;
        arena_init(&arena, PTX_MODULE_BYTES_MAX);
        if (ptx_load(&arena, str_from(rows[i].text), &module, &err))
            fail_msg("accepted: %s", rows[i].text);
        if (!strstr(err.text, rows[i].message) ||
            (err.code == ERR_SYNTAX && !strstr(err.text, "line")))
            fail_msg("'%s' is not in '%s'", rows[i].message, err.text);
        arena_release(&arena);
    }
}

/* ---- instructions that cannot run ---- */

static void test_unsupported(void **state)
{
    static const char *const bodies[] = {
        "frobnicate.u32 %r1, %r2;",
        "add.u32.unheard %r1, %r2, 1;",
        "add.u32 %d1, %d2, %d3;", /* registers wider than the operation */
        "add.u64 %r1, %r2, %r3;",
        "st.global.v4.u32 [%d1], {%r1, %r2, %r3};",
        "wgmma.fence.sync.aligned;",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1,%r2}, {%r1,%r2,%r3,%r4}, "
        "{%r1,%r2}, "
        "{%r1,%r2,%r3,%r4};",
        "atom.global.add.pred %r1, [%d1], 1;",
        "tcgen05.fence::before_thread_sync;",
        "cp.async.ca.shared.global [%r1], [%d1], 7;",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct emu emu;
        char text[1024];
        snprintf(text, sizeof(text), "%smov.u32 %%r1, 1;\n%s%s", OPEN, bodies[i], CLOSE);
        emu_load(&emu, text);
        const struct ptx_entry *entry = ptx_entry_find(emu.module, "k");
        if (!entry->unsupported || strncmp(entry->unsupported, bodies[i], 8) != 0)
            fail_msg("%s: unsupported is '%s'", bodies[i],
                     entry->unsupported ? entry->unsupported : "NULL");
        assert_int_equal(entry->unsupported_line, 8);
        emu_entry(&emu, "k", 1, 1);
        assert_int_equal(emu_run(&emu), PTX_FAULT_UNSUPPORTED);
        emu_free(&emu);
    }
}

/* What a callee cannot do, its caller cannot. */
static void test_unsupported_callee(void **state)
{
    struct emu emu;
    (void)state;
    emu_load(&emu, HEAD ".func f() { wgmma.fence.sync.aligned; ret; }\n"
                        ".visible .entry bad() { call f; ret; }\n"
                        ".visible .entry good() { ret; }\n");
    assert_non_null(ptx_entry_find(emu.module, "bad")->unsupported);
    assert_null(ptx_entry_find(emu.module, "good")->unsupported);
    assert_int_equal(ptx_entry_find(emu.module, "bad")->tier, 3);
    assert_int_equal(ptx_entry_count(emu.module), 2);
    assert_null(ptx_entry_find(emu.module, "f"));
    emu_free(&emu);
}

/* ---- entries ---- */

static void test_entry(void **state)
{
    struct emu emu;
    (void)state;
    emu_load(&emu, HEAD
             ".extern .shared .align 16 .b8 dyn[];\n.shared .align 4 .b8 common[20];\n"
             ".visible .entry k(.param .u8 a, .param .u64 .ptr .global .align 8 b, .param .u16 c,\n"
             ".param .align 16 .b8 d[20])\n.maxntid 128, 2, 1\n.reqnctapercluster 2, 1, 1\n{\n"
             ".reg .b32 %r<3>; .reg .b64 %d<3>; .shared .align 8 .b8 own[12];\n"
             ".local .align 4 .b8 q[36];\nst.shared.u32 [common], 1; st.shared.u32 [own+4], 2;\n"
             "st.shared.u32 [dyn], 3; st.local.u32 [q], 4; ret;\n}\n");
    const struct ptx_entry *e = ptx_entry_at(emu.module, 0);
    assert_int_equal(e->param_count, 4);
    assert_int_equal(e->params[1].offset, 8);
    assert_int_equal(e->params[2].offset, 16);
    assert_int_equal(e->params[3].offset, 32);
    assert_int_equal(e->param_bytes, 52);
    assert_int_equal(e->shared_bytes, 24 + 12);
    assert_int_equal(e->local_bytes, 48);
    assert_int_equal(e->max_threads[0], 128);
    assert_int_equal(e->max_threads[1], 2);
    assert_int_equal(e->cluster[0], 2);
    assert_true(e->uses_dynamic_shared);
    assert_null(e->unsupported);
    emu_free(&emu);
}

/* ---- facts ---- */

static void facts_of(const char *body, struct ptx_facts *out)
{
    char text[2048];
    struct emu emu;
    snprintf(text, sizeof(text),
             HEAD ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
                  ".global .align 4 .u32 counter; .global .align 4 .b8 table[16] = {1, 2};\n"
                  ".visible .entry k(.param .u64 x)\n{\n.reg .b32 %%r<9>; .reg .b64 %%d<9>;\n"
                  "ld.param.u64 %%d1, [x];\n.loc 1 7 0\n%s\nret;\n}\n.file 1 \"k.cu\"\n",
             body);
    emu_load(&emu, text);
    ptx_module_facts(emu.module, "k", out);
    if (out->global_name)
        assert_string_equal(out->global_name, "counter");
    if (out->external_name)
        assert_string_equal(out->external_name, "malloc");
    emu_free(&emu);
}

static void test_facts(void **state)
{
    struct ptx_facts f;
    (void)state;
    facts_of("st.global.u32 [counter], 1;", &f);
    assert_true(f.writable_global && f.stores_global && !f.loads_global);
    assert_int_equal(f.line_global, 7);
    facts_of("mov.u64 %d2, counter; cvta.global.u64 %d3, %d2; add.u64 %d4, %d3, 0; "
             "atom.add.u32 %r1, [%d4], 1;",
             &f);
    assert_true(f.writable_global);
    assert_int_equal(f.atomics, 1);
    facts_of("mov.u64 %d2, table; add.u64 %d3, %d2, 4; ld.global.u32 %r1, [%d3]; "
             "st.global.u32 [%d1], %r1;",
             &f);
    assert_true(!f.writable_global && f.loads_global);
    assert_int_equal(f.global_bytes, 16);
    facts_of("mov.u64 %d2, %clock64; mov.u64 %d3, %globaltimer;", &f);
    assert_true(f.reads_clock);
    assert_int_equal(f.line_clock, 7);
    /* libcu++ asks how long it has waited; a kernel that asks has its own file in between. */
    facts_of(".file 2 \"cuda/std/__thread/threading_support.h\"\n"
             ".file 3 \"cuda/std/__cuda/chrono.h\"\n"
             ".loc 2 65 0, function_name $a, inlined_at 1 7 0\n"
             ".loc 3 41 0, function_name $b, inlined_at 2 65 0\nmov.u64 %d3, %globaltimer;",
             &f);
    assert_false(f.reads_clock);
    facts_of(".file 3 \"cuda/std/__cuda/chrono.h\"\n"
             ".loc 3 41 0, function_name $b, inlined_at 1 7 0\nmov.u64 %d3, %globaltimer;",
             &f);
    assert_true(f.reads_clock);
    facts_of("{ .param .b64 a; st.param.b64 [a], 8; .param .b64 b; call (b), malloc, (a); }", &f);
    assert_true(f.device_heap && f.calls_external);
    facts_of("griddepcontrol.launch_dependents; trap;", &f);
    assert_true(f.griddep && f.traps && !f.reads_clock && !f.device_heap);
    facts_of("cvt.rna.tf32.f32 %r1, %r2; bar.sync 0; add.f16x2 %r1, %r2, %r3;", &f);
    assert_int_equal(f.cvt_tf32, 1);
    assert_int_equal(f.barriers, 1);
    assert_int_equal(f.f16_arithmetic, 1);
    assert_int_equal(f.instructions, 5);
    facts_of("shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1; ld.global.v2.u32 {%r1, %r2}, [%d1]; "
             "st.shared.v2.u32 [%d1], {%r1, %r2}; st.global.u32 [%d1], %r1;",
             &f);
    assert_int_equal(f.shuffles, 1);
    assert_int_equal(f.vector_accesses, 1);
}

/* ---- things the parser must know ---- */

static void test_accepted(void **state)
{
    static const char *const texts[] = {
        KERNEL("{ .reg .pred p; L: setp.eq.u32 p, %r1, 1; @!p bra L; } { .reg .pred p; L: @p bra "
               "L; }"),
        KERNEL(".pragma \"nounroll\";"),
        KERNEL("{.reg.b16 lo,hi; mov.b32 {lo,hi}, %r1; mov.b32 %r2, {hi,lo};}"),
        KERNEL("ts: .branchtargets A, B; brx.idx %r1, ts; A: B:"),
        KERNEL("ld.global.u32 %r1, [%d1+-4]; ld.global.u32 %r2, [%d1+4];"),
        KERNEL("mov.u32 %r1, WARP_SZ; mov.u32 %r2, 017; mov.u32 %r3, 0b101; mov.u32 %r4, -5;"),
        KERNEL(".loc 1 3 4, function_name $L__info_string0, inlined_at 1 9 2"),
        HEAD ".global .align 8 .u64 p[2] = {generic(a), a+4};\n.global .align 4 .b8 a[8];\n"
             "/* the other order */",
        HEAD ".section .debug_str\n{\n$L__info_string0:\n.b8 95,90\n}\n",
        HEAD ".weak .func (.param .b32 r) f(.param .b32 a)\n;\n",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct arena arena;
        struct err err;
        const struct ptx_module *module;
        arena_init(&arena, PTX_MODULE_BYTES_MAX);
        bool ok = ptx_load(&arena, str_from(texts[i]), &module, &err);
        if (!ok && i != 7)
            fail_msg("refused: %s: %s", texts[i], err.text);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_unsupported_callee),
        cmocka_unit_test(test_entry),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
