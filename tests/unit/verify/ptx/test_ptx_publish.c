/*
 * Fences on the writer's side: the last block to come reads what all have written.  Each body is a
 * way to write, to publish and to read, honest or with the fence missing, too early, too narrow or
 * of the wrong thread.
 */
#include "tests/unit/verify/ptx/emu_unit.h"

enum { BLOCKS = 4, THREADS = 64, WORDS = BLOCKS * THREADS };

/* a: words that blocks talk through, zero at first; b: a word a thread.  %d4 is the thread's word,
 * %d5 that of the same thread of block 0; %p1 is set in all threads but the first. */
static const char prologue[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 a, .param .u64 b)\n{\n"
    ".reg .b32 %r<20>; .reg .b64 %d<20>; .reg .pred %p<9>; .shared .align 4 .b8 s[4];\n"
    "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x;\n"
    "mov.u32 %r4, %nctaid.x; setp.ne.u32 %p1, %r2, 0; mad.lo.u32 %r5, %r3, 64, %r2;\n"
    "mul.wide.u32 %d4, %r5, 4; add.u64 %d4, %d2, %d4; mul.wide.u32 %d5, %r2, 4;\n"
    "add.u64 %d5, %d2, %d5; mov.u32 %r6, 1;\n";

#define WRITE ".loc 1 3 0\nst.global.u32 [%d4], %r6;\n"
#define COUNT(how)                                                                                 \
    "@%p1 bra N;\n" how "st.shared.u32 [s], %r8;\n"                                                \
    "N: bar.sync 0; ld.shared.u32 %r8, [s]; setp.ne.u32 %p2, %r8, 3; @%p2 bra E;\n"
#define ATOM "atom.global.add.u32 %r8, [%d1], 1;\n"
#define READ ".loc 1 5 0\nld.global.u32 %r9, [%d5]; ld.global.u32 %r9, [%d5+256];\nE:"
#define READ_STRONG                                                                                \
    ".loc 1 5 0\nld.volatile.global.u32 %r9, [%d5]; ld.volatile.global.u32 %r9, [%d5+256];\nE:"
#define WRITE_STRONG "st.volatile.global.u32 [%d4], %r6;\n"
/* Flags are plain stores behind a fence; an unfenced atomic comes before they are asked for. */
#define FLAGS                                                                                      \
    "@%p1 bra E; setp.eq.u32 %p2, %r3, 0; @%p2 bra F;\n"                                           \
    "L: ld.volatile.global.u32 %r9, [%d4+-256]; setp.ne.u32 %p3, %r9, 1; @%p3 bra L;\n"            \
    "F: membar.gl; st.global.u32 [%d4], %r6; atom.global.add.u32 %r8, [%d1], 1;\nE:"
#define CLUSTER                                                                                    \
    WRITE "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ld.global.u32 %r9, "      \
          "[%d5];"

/* The last block writes over what another one has read. */
#define LOOK ".loc 1 3 0\nld.global.u32 %r9, [%d4];\n"
#define OVERWRITE                                                                                  \
    "xor.b32 %r10, %r3, 1; mad.lo.u32 %r10, %r10, 64, %r2; mul.wide.u32 %d6, %r10, 4;"             \
    "add.u64 %d6, %d2, %d6;\n.loc 1 5 0\nst.global.u32 [%d6], %r6;\nE:"

struct way {
    const char *name, *body;
    enum ptx_fault_kind kind;
    uint32_t cluster;
};

static void run_way(const struct way *way, int order)
{
    static uint32_t a[4], b[WORDS];
    struct emu emu;
    char text[4096];
    int n = snprintf(text, sizeof(text), "%s%s\nret;\n}\n.file 1 \"k.cu\"\n", prologue, way->body);

    assert_in_range(n, 0, sizeof(text) - 1);
    memset(a, 0, sizeof(a));
    memset(b, 0, sizeof(b));
    emu_load(&emu, text);
    emu_entry(&emu, "k", BLOCKS, THREADS);
    emu_inout(&emu, a, sizeof(a));
    emu_inout(&emu, b, sizeof(b));
    emu.launch.cluster[0] = way->cluster;
    emu.launch.reverse_order = order == 1;
    emu.launch.interleave_seed = order == 2 ? 5 : 0;
    if (emu_run(&emu) != way->kind)
        fail_msg("%s, order %d: got '%s' (%s)", way->name, order,
                 ptx_fault_text(emu.report.fault.kind), emu.report.fault.text);
    if (way->kind != PTX_FAULT_NONE) {
        assert_int_equal(emu.report.fault.source_line, 5);
        assert_int_equal(emu.report.fault.other_line, 3);
        assert_non_null(strstr(emu.report.fault.text, "__threadfence()"));
    }
    emu_free(&emu);
}

static void run_ways(const struct way *ways, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int order = 0; order < 3; order++)
            run_way(&ways[i], order);
}

static void test_honest(void **state)
{
    static const struct way ways[] = {
        {"every thread fences", WRITE "membar.gl; bar.sync 0;" COUNT(ATOM) READ, 0, 1},
        {"one thread fences", WRITE "bar.sync 0;" COUNT("membar.gl;" ATOM) READ, 0, 1},
        {"for the system", WRITE "bar.sync 0;" COUNT("membar.sys;" ATOM) READ, 0, 1},
        {"fence.acq_rel", WRITE "bar.sync 0;" COUNT("fence.acq_rel.gpu;" ATOM) READ, 0, 1},
        {"fence.sc", WRITE "bar.sync 0;" COUNT("fence.sc.sys;" ATOM) READ, 0, 1},
        {"atomic that releases",
         WRITE "bar.sync 0;" COUNT("atom.acq_rel.gpu.global.add.u32 %r8, [%d1], 1;") READ, 0, 1},
        {"reduction that releases",
         WRITE "bar.sync 0;" COUNT("red.release.gpu.global.add.u32 [%d1+4], 1;" ATOM) READ, 0, 1},
        {"store that releases",
         WRITE "bar.sync 0;" COUNT("st.release.gpu.global.u32 [%d1+4], %r6;" ATOM) READ, 0, 1},
        {"volatile reads", WRITE "bar.sync 0;" COUNT("membar.gl;" ATOM) READ_STRONG, 0, 1},
        {"atomics carry the data",
         "red.global.add.u32 [%d4], 1; bar.sync 0;" COUNT(ATOM) READ_STRONG, 0, 1},
        {"volatile both ways", WRITE_STRONG "bar.sync 0;" COUNT(ATOM) READ_STRONG, 0, 1},
        {"flags are asked for again and again", FLAGS, 0, 1},
        {"a cluster's barrier", CLUSTER, 0, BLOCKS},
        {"reads behind which a fence comes", LOOK "bar.sync 0;" COUNT("membar.gl;" ATOM) OVERWRITE,
         0, 1},
        {"reads behind which a release comes",
         LOOK "bar.sync 0;" COUNT("atom.acq_rel.gpu.global.add.u32 %r8, [%d1], 1;") OVERWRITE, 0,
         1},
    };

    (void)state;
    run_ways(ways, COUNT_OF(ways));
}

static void test_missing(void **state)
{
    static const struct way ways[] = {
        {"no fence", WRITE "bar.sync 0;" COUNT(ATOM) READ, PTX_FAULT_RACE_GLOBAL, 1},
        {"no fence, volatile reads", WRITE "bar.sync 0;" COUNT(ATOM) READ_STRONG,
         PTX_FAULT_RACE_GLOBAL, 1},
        {"within the block only", WRITE "bar.sync 0;" COUNT("membar.cta;" ATOM) READ,
         PTX_FAULT_RACE_GLOBAL, 1},
        {"releases to the block only",
         WRITE "bar.sync 0;" COUNT("atom.acq_rel.cta.global.add.u32 %r8, [%d1], 1;") READ,
         PTX_FAULT_RACE_GLOBAL, 1},
        {"no fence behind reads", LOOK "bar.sync 0;" COUNT(ATOM) OVERWRITE, PTX_FAULT_RACE_GLOBAL,
         1},
        {"too early", "membar.gl;" WRITE "bar.sync 0;" COUNT(ATOM) READ, PTX_FAULT_RACE_GLOBAL, 1},
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
