/*
 * Warp primitives where lanes part: which lanes may be absent, and what is said of those that may
 * not.  The bodies are PTX; lines are those of .loc; 64 threads unless said otherwise.
 */
#include "tests/unit/verify/ptx/emu_unit.h"

struct parting {
    const char *name;
    const char *body; /* %tid in %t, the address of an int a thread in %y, t < 8 in %p1 */
    enum ptx_fault_kind kind;
    int line;
    const char *text; /* in the fault's text; NULL = anything */
};

static const char prologue[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 y)\n{\n"
    ".reg .b32 %r<20>; .reg .b64 %d<20>; .reg .pred %p<20>; .reg .b32 %t; .reg .b64 %y, %o;\n"
    "ld.param.u64 %y, [y]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %y, %y, %o;\n"
    "and.b32 %r10, %t, 31; setp.lt.u32 %p1, %r10, 8;\n";

static void load(struct emu *emu, const struct parting *c, int *out, uint32_t block)
{
    char text[4096];
    int n = snprintf(text, sizeof(text), "%s%s\nret;\n}\n.file 1 \"k.cu\"\n", prologue, c->body);
    assert_in_range(n, 0, sizeof(text) - 1);
    emu_load(emu, text);
    emu_entry(emu, "k", 1, block);
    emu_out(emu, out, 64 * sizeof(*out));
    emu->launch.budget_warp_insns = 20000;
}

static void run(const struct parting *c, uint32_t block)
{
    for (int reverse = 0; reverse < 2; reverse++) {
        struct emu emu;
        int out[64];
        load(&emu, c, out, block);
        emu.launch.reverse_order = reverse;
        enum ptx_fault_kind kind = emu_run(&emu);
        const struct ptx_fault *fault = &emu.report.fault;
        if (kind != c->kind)
            fail_msg("%s: got '%s' (%s), want '%s'", c->name, ptx_fault_text(kind), fault->text,
                     ptx_fault_text(c->kind));
        if (c->line && fault->source_line != c->line)
            fail_msg("%s: line %d, want %d: %s", c->name, fault->source_line, c->line, fault->text);
        if (c->text && !strstr(fault->text, c->text))
            fail_msg("%s: '%s' is not in '%s'", c->name, c->text, fault->text);
        emu_free(&emu);
    }
}

static void run_all(const struct parting *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        run(&cases[i], 64);
}

#define STORE      "st.global.u32 [%y], %t;\n"
#define DOWN(mask) "shfl.sync.down.b32 %r1, %t, 4, 31, " mask ";\n"

/* Lanes that left the kernel, or are not named, are not waited for. */
static void test_allowed(void **state)
{
    static const struct parting cases[] = {
        {"all lanes", DOWN("-1") STORE, PTX_FAULT_NONE, 0, NULL},
        {"the last statement, in a branch", "@!%p1 bra E; " DOWN("-1") "E:", PTX_FAULT_NONE, 0,
         NULL},
        {"behind an early return", "@!%p1 ret; " DOWN("-1") STORE, PTX_FAULT_NONE, 0, NULL},
        {"a branch, with its mask", "@!%p1 bra E; " DOWN("0xff") "E: " STORE, PTX_FAULT_NONE, 0,
         NULL},
        {"two branches, each with its mask",
         "@!%p1 bra A; " DOWN("0xff") "bra E; A: " DOWN("0xffffff00") "E: " STORE, PTX_FAULT_NONE,
         0, NULL},
        {"two branches that meet at it",
         "@!%p1 bra A; add.u32 %r2, %t, 1; bra B; A: sub.u32 %r2, %t, 1; B: " DOWN("-1") STORE,
         PTX_FAULT_NONE, 0, NULL},
        {"reached after loops of different length",
         "mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; setp.le.u32 %p2, %r2, %t; @%p2 bra L;\n" DOWN(
             "-1") STORE,
         PTX_FAULT_NONE, 0, NULL},
        {"in a loop that all leave together",
         "mov.u32 %r2, 0; L: " DOWN("-1") "add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 5;\n"
                                          "@%p2 bra L;\n" STORE,
         PTX_FAULT_NONE, 0, NULL},
        {"a warp of its own", "setp.lt.u32 %p2, %t, 32; @!%p2 bra E; " DOWN("-1") "E: " STORE,
         PTX_FAULT_NONE, 0, NULL},
        {"masks of two halves at one place",
         "setp.lt.u32 %p2, %r10, 16; selp.b32 %r3, 0xffff, 0xffff0000, %p2;\n" DOWN("%r3") STORE,
         PTX_FAULT_NONE, 0, NULL},
    };
    (void)state;
    run_all(cases, COUNT_OF(cases));
    static const struct parting part = {"a warp of eight lanes", DOWN("-1") STORE, PTX_FAULT_NONE,
                                        0, NULL};
    run(&part, 40);
}

/* Named, alive, and somewhere else for good. */
static void test_refused(void **state)
{
    static const struct parting cases[] = {
        {"a branch, then all go on", "@!%p1 bra E;\n.loc 1 3 0\n" DOWN("-1") "E: " STORE,
         PTX_FAULT_SHUFFLE_INACTIVE, 3,
         "mask 0xffffffff in a branch that lanes 0xffffff00 did not take"},
        {"a branch with too wide a mask", "@!%p1 bra E;\n.loc 1 3 0\n" DOWN("0xffff") "E: " STORE,
         PTX_FAULT_SHUFFLE_INACTIVE, 3,
         "mask 0x0000ffff in a branch that lanes 0x0000ff00 did not take"},
        {"a loop left at different times",
         "mov.u32 %r2, %r10; L:\n.loc 1 4 0\n" DOWN(
             "-1") "add.u32 %r2, %r2, 5; setp.lt.u32 %p2, %r2, 90; @%p2 bra L;\n" STORE,
         PTX_FAULT_SHUFFLE_INACTIVE, 4, "mask 0xffffffff"},
        {"vote", "@!%p1 bra E;\n.loc 1 5 0\nvote.sync.any.pred %p2, %p1, -1; E: " STORE,
         PTX_FAULT_SHUFFLE_INACTIVE, 5, "0xffffff00"},
        {"match", "@!%p1 bra E;\n.loc 1 5 0\nmatch.any.sync.b32 %r1, %t, -1; E: " STORE,
         PTX_FAULT_SHUFFLE_INACTIVE, 5, "0xffffff00"},
        {"redux", "@!%p1 bra E;\n.loc 1 5 0\nredux.sync.add.u32 %r1, %t, -1; E: " STORE,
         PTX_FAULT_SHUFFLE_INACTIVE, 5, "0xffffff00"},
        {"elect", "@!%p1 bra E;\n.loc 1 5 0\nelect.sync %r1|%p2, -1; E: " STORE,
         PTX_FAULT_SHUFFLE_INACTIVE, 5, "0xffffff00"},
        {"guarded", ".loc 1 6 0\n@%p1 " DOWN("-1") STORE, PTX_FAULT_SHUFFLE_INACTIVE, 6,
         "0xffffff00"},
        {"both sides of a branch", "@!%p1 bra A; " DOWN("-1") "bra E; A: " DOWN("-1") "E: " STORE,
         PTX_FAULT_SHUFFLE_INACTIVE, 0, NULL},
        {"a branch, then bar.warp.sync", "@!%p1 bra E; " DOWN("-1") "E: bar.warp.sync -1;\n" STORE,
         PTX_FAULT_SHUFFLE_INACTIVE, 0, NULL},
        {"a branch, then a barrier", "@!%p1 bra E; " DOWN("-1") "E: bar.sync 0;\n" STORE,
         PTX_FAULT_BARRIER_DIVERGENT, 0, NULL},
        {"masks that disagree",
         "setp.lt.u32 %p2, %r10, 16; selp.b32 %r3, -1, 0xffff0000, %p2;\n.loc 1 7 0\n" DOWN("%r3")
             STORE,
         PTX_FAULT_SHUFFLE_INACTIVE, 7, "others whose masks name it with another"},
    };
    (void)state;
    run_all(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
