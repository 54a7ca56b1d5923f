/* Every arithmetic opcode family against hand-made values, on each vector build this machine runs.
 */
#include "tests/unit/verify/ptx/emu_unit.h"

struct row {
    const char *insn; /* reads a b c (r d h f x) and writes the register named by `result` */
    const char *result;
    uint64_t a, b, c, want;
};

#define F(x)                                                                                       \
    ((union {                                                                                      \
         float f;                                                                                  \
         uint32_t u;                                                                               \
     }){.f = (x)}                                                                                  \
         .u)
#define D(x)                                                                                       \
    ((union {                                                                                      \
         double f;                                                                                 \
         uint64_t u;                                                                               \
     }){.f = (x)}                                                                                  \
         .u)
#define NAN32    0x7fffffffULL
#define NAN64    0x7fffffffffffffffULL
#define INF32    0x7f800000ULL
#define MINUS(x) ((uint32_t) - (int32_t)(x))

/* Registers: %h, %r, %d are the low 16, 32 and all 64 bits of a, b, c as 1, 2, 3; 0 takes results.
 */
static const char template[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
    ".reg .b16 %%h<8>; .reg .b32 %%r<8>; .reg .b64 %%d<8>; .reg .pred %%p<8>; .reg .b64 %%x<4>;\n"
    "ld.param.u64 %%x0, [in]; ld.param.u64 %%x1, [out];\n"
    "ld.global.u64 %%d1, [%%x0]; ld.global.u64 %%d2, [%%x0+8]; ld.global.u64 %%d3, [%%x0+16];\n"
    "cvt.u32.u64 %%r1, %%d1; cvt.u32.u64 %%r2, %%d2; cvt.u32.u64 %%r3, %%d3;\n"
    "cvt.u16.u64 %%h1, %%d1; cvt.u16.u64 %%h2, %%d2; cvt.u16.u64 %%h3, %%d3;\n"
    "setp.ne.u64 %%p3, %%d3, 0;\n"
    "%s\n%s\nst.global.u64 [%%x1], %%d0;\nret;\n}\n";

/* How the result named h, r, d or p becomes 64 bits. */
static const char *to_result(const char *result)
{
    switch (result[0]) {
    case 'h':
        return "cvt.u64.u16 %d0, %h0;";
    case 'r':
        return "cvt.u64.u32 %d0, %r0;";
    case 'p':
        return "selp.u64 %d0, 1, 0, %p0;";
    default:
        return "";
    }
}

static void run_row(const struct row *row, const char *isa)
{
    char text[2048];
    struct emu emu;
    uint64_t in[3] = {row->a, row->b, row->c}, out = 0;
    snprintf(text, sizeof(text), template, row->insn, to_result(row->result));
    if (!emu_load_isa(&emu, text, isa))
        return;
    emu_entry(&emu, "k", 1, 1);
    emu_in(&emu, in, sizeof(in));
    emu_out(&emu, &out, sizeof(out));
    if (emu_run(&emu) != PTX_FAULT_NONE)
        fail_msg("%s: %s", row->insn, emu.report.fault.text);
    if (out != row->want)
        fail_msg("%s (%s): got %#llx, want %#llx", row->insn, isa, (unsigned long long)out,
                 (unsigned long long)row->want);
    emu_free(&emu);
}

static void run_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < COUNT_OF(emu_isas); i++)
        for (size_t k = 0; k < count; k++)
            run_row(&rows[k], emu_isas[i]);
}

static void test_integer(void **state)
{
    const struct row rows[] = {
        {"add.s32 %r0, %r1, %r2;", "r", 0xffffffff, 2, 0, 1},
        {"add.s16 %h0, %h1, %h2;", "h", 0xffff, 2, 0, 1},
        {"add.s64 %d0, %d1, %d2;", "d", 0xffffffffffffffff, 2, 0, 1},
        {"sub.s32 %r0, %r1, %r2;", "r", 1, 2, 0, 0xffffffff},
        {"sub.u16 %h0, %h1, %h2;", "h", 1, 2, 0, 0xffff},
        {"add.sat.s32 %r0, %r1, %r2;", "r", 0x7fffffff, 1, 0, 0x7fffffff},
        {"sub.sat.s32 %r0, %r1, %r2;", "r", 0x80000000, 1, 0, 0x80000000},
        {"mul.lo.s32 %r0, %r1, %r2;", "r", 0x10001, 0x10001, 0, 0x20001},
        {"mul.lo.u16 %h0, %h1, %h2;", "h", 0xffff, 0xffff, 0, 1},
        {"mul.lo.s64 %d0, %d1, %d2;", "d", 1ULL << 40, 1 << 25, 0, 0},
        {"mul.hi.u32 %r0, %r1, %r2;", "r", 0xffffffff, 0xffffffff, 0, 0xfffffffe},
        {"mul.hi.s32 %r0, %r1, %r2;", "r", 0xffffffff, 0xffffffff, 0, 0},
        {"mul.hi.u16 %h0, %h1, %h2;", "h", 0xffff, 0xffff, 0, 0xfffe},
        {"mul.hi.s16 %h0, %h1, %h2;", "h", 0x8000, 0x8000, 0, 0x4000},
        {"mul.hi.u64 %d0, %d1, %d2;", "d", UINT64_MAX, UINT64_MAX, 0, UINT64_MAX - 1},
        {"mul.hi.s64 %d0, %d1, %d2;", "d", UINT64_MAX, 5, 0, UINT64_MAX},
        {"mul.wide.s32 %d0, %r1, %r2;", "d", 0xffffffff, 3, 0, (uint64_t)-3},
        {"mul.wide.u32 %d0, %r1, %r2;", "d", 0xffffffff, 3, 0, 0x2fffffffdULL},
        {"mul.wide.u16 %r0, %h1, %h2;", "r", 0xffff, 0xffff, 0, 0xfffe0001},
        {"mul.wide.s16 %r0, %h1, %h2;", "r", 0xffff, 2, 0, 0xfffffffe},
        {"mul24.lo.u32 %r0, %r1, %r2;", "r", 0xff000003, 5, 0, 15},
        {"mul24.hi.u32 %r0, %r1, %r2;", "r", 0xffffff, 0xffffff, 0, 0xfffffe00},
        {"mul24.lo.s32 %r0, %r1, %r2;", "r", 0xffffff, 5, 0, 0xfffffffb},
        {"mad.lo.s32 %r0, %r1, %r2, %r3;", "r", 7, 6, 5, 47},
        {"mad.hi.u32 %r0, %r1, %r2, %r3;", "r", 0x80000000, 4, 5, 7},
        {"mad.hi.sat.s32 %r0, %r1, %r2, %r3;", "r", 0x40000000, 0x40000000, 0x7fffffff, 0x7fffffff},
        {"mad.wide.s32 %d0, %r1, %r2, %d3;", "d", 0xffffffff, 4, 10, 6},
        {"mad.wide.u16 %r0, %h1, %h2, %r3;", "r", 0xffff, 2, 1, 0x1ffff},
        {"mad24.lo.s32 %r0, %r1, %r2, %r3;", "r", 3, 4, 5, 17},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

static void test_divide_compare(void **state)
{
    const struct row rows[] = {
        {"div.s32 %r0, %r1, %r2;", "r", MINUS(7), 2, 0, MINUS(3)},
        {"div.s32 %r0, %r1, %r2;", "r", 0x80000000, 0xffffffff, 0, 0x80000000},
        {"div.s32 %r0, %r1, %r2;", "r", 5, 0, 0, 0xffffffff},
        {"div.u32 %r0, %r1, %r2;", "r", 0xfffffffe, 3, 0, 0x55555554},
        {"div.u32 %r0, %r1, %r2;", "r", 0xffffffff, 1, 0, 0xffffffff},
        {"rem.s32 %r0, %r1, %r2;", "r", MINUS(7), 2, 0, MINUS(1)},
        {"rem.u32 %r0, %r1, %r2;", "r", 0xffffffff, 10, 0, 5},
        {"rem.u32 %r0, %r1, %r2;", "r", 9, 0, 0, 9},
        {"div.u64 %d0, %d1, %d2;", "d", UINT64_MAX, 10, 0, 1844674407370955161ULL},
        {"rem.s64 %d0, %d1, %d2;", "d", (uint64_t)-13, 5, 0, (uint64_t)-3},
        {"div.s64 %d0, %d1, %d2;", "d", 1ULL << 63, UINT64_MAX, 0, 1ULL << 63},
        {"div.u16 %h0, %h1, %h2;", "h", 1000, 7, 0, 142},
        {"min.s32 %r0, %r1, %r2;", "r", 0xffffffff, 1, 0, 0xffffffff},
        {"min.u32 %r0, %r1, %r2;", "r", 0xffffffff, 1, 0, 1},
        {"max.s64 %d0, %d1, %d2;", "d", UINT64_MAX, 1, 0, 1},
        {"max.u16 %h0, %h1, %h2;", "h", 0xffff, 1, 0, 0xffff},
        {"min.u16x2 %r0, %r1, %r2;", "r", 0x0005ffff, 0xfff00001, 0, 0x00050001},
        {"max.s16x2 %r0, %r1, %r2;", "r", 0x0005ffff, 0xfff00001, 0, 0x00050001},
        {"max.s32.relu %r0, %r1, %r2;", "r", MINUS(5), MINUS(9), 0, 0},
        {"abs.s32 %r0, %r1;", "r", MINUS(5), 0, 0, 5},
        {"abs.s16 %h0, %h1;", "h", 0xfffb, 0, 0, 5},
        {"neg.s64 %d0, %d1;", "d", 5, 0, 0, (uint64_t)-5},
        {"sad.s32 %r0, %r1, %r2, %r3;", "r", MINUS(2), 3, 10, 15},
        {"sad.u32 %r0, %r1, %r2, %r3;", "r", 2, 7, 10, 15},
        {"dp4a.s32.s32 %r0, %r1, %r2, %r3;", "r", 0x01ff0201, 0x01010101, 10, 13},
        {"dp4a.u32.u32 %r0, %r1, %r2, %r3;", "r", 0x00ff0001, 0x01010101, 0, 256},
        {"dp2a.lo.s32.s32 %r0, %r1, %r2, %r3;", "r", 0xfffe0003, 0x00000201, 100, 99},
        {"dp2a.hi.u32.u32 %r0, %r1, %r2, %r3;", "r", 0x00020003, 0x02010000, 0, 7},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

static void test_carry(void **state)
{
    const struct row rows[] = {
        {"add.cc.u32 %r0, %r1, %r2; addc.u32 %r0, %r3, 0;", "r", 0xffffffff, 1, 7, 8},
        {"add.cc.u32 %r0, %r1, %r2; addc.cc.u32 %r0, %r3, %r3; addc.u32 %r0, 0, 0;", "r",
         0xffffffff, 1, 0xffffffff, 1},
        {"sub.cc.u32 %r0, %r1, %r2; subc.u32 %r0, %r3, 0;", "r", 0, 1, 7, 6},
        {"mad.lo.cc.u32 %r0, %r1, %r2, %r3; madc.hi.u32 %r0, %r1, %r2, 0;", "r", 0xffffffff, 2, 2,
         2},
        {"add.cc.u64 %d0, %d1, %d2; addc.u64 %d0, %d3, 0;", "d", UINT64_MAX, 1, 1, 2},
        {"mad.hi.cc.u32 %r0, %r1, %r2, %r3; addc.u32 %r0, 0, 0;", "r", 0x80000000, 4, 0xffffffff,
         1},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

static void test_bits(void **state)
{
    const struct row rows[] = {
        {"and.b32 %r0, %r1, %r2;", "r", 0xff0f, 0x0ff0, 0, 0x0f00},
        {"or.b64 %d0, %d1, %d2;", "d", 1ULL << 63, 1, 0, 0x8000000000000001},
        {"xor.b16 %h0, %h1, %h2;", "h", 0xff00, 0x0ff0, 0, 0xf0f0},
        {"not.b32 %r0, %r1;", "r", 0xff, 0, 0, 0xffffff00},
        {"not.b16 %h0, %h1;", "h", 0xff, 0, 0, 0xff00},
        {"cnot.b32 %r0, %r1;", "r", 0, 0, 0, 1},
        {"cnot.b64 %d0, %d1;", "d", 3, 0, 0, 0},
        {"shl.b32 %r0, %r1, %r2;", "r", 1, 31, 0, 0x80000000},
        {"shl.b32 %r0, %r1, %r2;", "r", 1, 32, 0, 0},
        {"shl.b64 %d0, %d1, %r2;", "d", 1, 64, 0, 0},
        {"shl.b16 %h0, %h1, %r2;", "h", 3, 15, 0, 0x8000},
        {"shr.u32 %r0, %r1, %r2;", "r", 0x80000000, 40, 0, 0},
        {"shr.s32 %r0, %r1, %r2;", "r", 0x80000000, 40, 0, 0xffffffff},
        {"shr.s64 %d0, %d1, %r2;", "d", 1ULL << 63, 62, 0, (uint64_t)-2},
        {"shr.s16 %h0, %h1, %r2;", "h", 0x8000, 3, 0, 0xf000},
        {"shr.u16 %h0, %h1, %r2;", "h", 0x8000, 15, 0, 1},
        {"shf.l.wrap.b32 %r0, %r1, %r2, %r3;", "r", 0x80000000, 1, 33, 3},
        {"shf.l.clamp.b32 %r0, %r1, %r2, %r3;", "r", 0x12345678, 1, 40, 0x12345678},
        {"shf.r.wrap.b32 %r0, %r1, %r2, %r3;", "r", 0x10, 0x3, 4, 0x30000001},
        {"shf.r.clamp.b32 %r0, %r1, %r2, %r3;", "r", 0x10, 0x3, 99, 3},
        {"popc.b32 %r0, %r1;", "r", 0xf0f0f0f1, 0, 0, 17},
        {"popc.b64 %r0, %d1;", "r", UINT64_MAX, 0, 0, 64},
        {"clz.b32 %r0, %r1;", "r", 0, 0, 0, 32},
        {"clz.b64 %r0, %d1;", "r", 1, 0, 0, 63},
        {"brev.b32 %r0, %r1;", "r", 0x1, 0, 0, 0x80000000},
        {"brev.b64 %d0, %d1;", "d", 0x3, 0, 0, 0xc000000000000000},
        {"bfind.u32 %r0, %r1;", "r", 0x00010000, 0, 0, 16},
        {"bfind.s32 %r0, %r1;", "r", 0xffffff00, 0, 0, 7},
        {"bfind.shiftamt.u32 %r0, %r1;", "r", 0x00010000, 0, 0, 15},
        {"bfind.u64 %r0, %d1;", "r", 0, 0, 0, 0xffffffff},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

static void test_bit_fields(void **state)
{
    const struct row rows[] = {
        {"fns.b32 %r0, %r1, %r2, %r3;", "r", 0xaaaaaaaa, 3, 1, 3},
        {"fns.b32 %r0, %r1, %r2, %r3;", "r", 0xaaaaaaaa, 4, MINUS(1), 3},
        {"fns.b32 %r0, %r1, %r2, %r3;", "r", 0xaaaaaaaa, 3, 0, 3},
        {"fns.b32 %r0, %r1, %r2, %r3;", "r", 0x1, 3, 1, 0xffffffff},
        {"bfe.u32 %r0, %r1, %r2, %r3;", "r", 0x12345678, 8, 12, 0x456},
        {"bfe.s32 %r0, %r1, %r2, %r3;", "r", 0x00000f00, 8, 4, 0xffffffff},
        {"bfe.s32 %r0, %r1, %r2, %r3;", "r", 0x80000000, 28, 8, 0xfffffff8},
        {"bfe.u64 %d0, %d1, %r2, %r3;", "d", 0xff00000000000000, 56, 99, 0xff},
        {"bfe.s64 %d0, %d1, %r2, 0;", "d", UINT64_MAX, 3, 0, 0},
        {"bfi.b32 %r0, %r1, %r2, %r3, 8;", "r", 0xabcd, 0xffffffff, 4, 0xfffffcdf},
        {"bfi.b64 %d0, %d1, %d2, %r3, 60;", "d", 1, 0, 62, 1ULL << 62},
        {"bmsk.clamp.b32 %r0, %r1, %r2;", "r", 4, 8, 0, 0xff0},
        {"bmsk.clamp.b32 %r0, %r1, %r2;", "r", 28, 99, 0, 0xf0000000},
        {"bmsk.wrap.b32 %r0, %r1, %r2;", "r", 33, 34, 0, 6},
        {"szext.clamp.s32 %r0, %r1, %r2;", "r", 0xff, 8, 0, 0xffffffff},
        {"szext.wrap.u32 %r0, %r1, %r2;", "r", 0xffff, 36, 0, 0xf},
        {"lop3.b32 %r0, %r1, %r2, %r3, 0x96;", "r", 0xff00ff00, 0xf0f0f0f0, 0xcccccccc, 0xc33cc33c},
        {"lop3.b32 %r0, %r1, %r2, %r3, 0xe8;", "r", 0xc, 0xa, 0x9, 0x8},
        {"prmt.b32 %r0, %r1, %r2, %r3;", "r", 0x44332211, 0x88776655, 0x7540, 0x88665511},
        {"prmt.b32 %r0, %r1, %r2, %r3;", "r", 0x80, 0, 0x8888, 0xffffffff},
        {"prmt.b32.f4e %r0, %r1, %r2, %r3;", "r", 0x44332211, 0x88776655, 1, 0x55443322},
        {"prmt.b32.b4e %r0, %r1, %r2, %r3;", "r", 0x44332211, 0x88776655, 0, 0x66778811},
        {"prmt.b32.rc8 %r0, %r1, %r2, %r3;", "r", 0x44332211, 0, 2, 0x33333333},
        {"prmt.b32.ecl %r0, %r1, %r2, %r3;", "r", 0x44332211, 0, 1, 0x44332222},
        {"prmt.b32.ecr %r0, %r1, %r2, %r3;", "r", 0x44332211, 0, 2, 0x33332211},
        {"prmt.b32.rc16 %r0, %r1, %r2, %r3;", "r", 0x44332211, 0, 1, 0x44334433},
        {"mov.b64 %d0, {%r1, %r2};", "d", 1, 2, 0, 0x200000001},
        {"mov.b64 {%r0, %r4}, %d1; add.u32 %r0, %r0, %r4;", "r", 0x300000004, 0, 0, 7},
        {"mov.b32 %r0, {%h1, %h2};", "r", 0x1111, 0x2222, 0, 0x22221111},
        {"mov.b64 %d0, {%h1, %h2, %h3, %h1};", "d", 1, 2, 3, 0x0001000300020001},
        {"mov.b32 {%h0, %h4}, %r1; sub.u16 %h0, %h4, %h0;", "h", 0x00050003, 0, 0, 2},
        {".reg .b128 q; mov.b128 q, {%d1, %d2}; mov.b128 {%d0, %d4}, q; xor.b64 %d0, %d0, %d4;",
         "d", 5, 6, 0, 3},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

static void test_float(void **state)
{
    const struct row rows[] = {
        {"add.f32 %r0, %r1, %r2;", "r", F(1.5f), F(2.25f), 0, F(3.75f)},
        {"add.f32 %r0, %r1, %r2;", "r", INF32, 0xff800000, 0, NAN32},
        {"add.rz.f32 %r0, %r1, %r2;", "r", F(1.0f), F(0x1p-24f), 0, F(1.0f)},
        {"add.rp.f32 %r0, %r1, %r2;", "r", F(1.0f), F(0x1p-30f), 0, F(0x1.000002p0f)},
        {"add.rm.f32 %r0, %r1, %r2;", "r", F(1.0f), F(-0x1p-40f), 0, F(0x1.fffffep-1f)},
        {"add.rm.f32 %r0, %r1, %r2;", "r", F(1.0f), F(-1.0f), 0, 0x80000000},
        {"add.rn.f32 %r0, %r1, %r2;", "r", F(1.0f), F(-1.0f), 0, 0},
        {"sub.ftz.f32 %r0, %r1, %r2;", "r", 0x00000005, 0x80000003, 0, 0},
        {"mul.f32 %r0, %r1, %r2;", "r", F(3.0f), F(0x1p-149f), 0, 3},
        {"mul.ftz.f32 %r0, %r1, %r2;", "r", F(0x1p-100f), F(-0x1p-40f), 0, 0x80000000},
        {"mul.rp.f32 %r0, %r1, %r2;", "r", F(0x1p-100f), F(0x1p-100f), 0, 1},
        {"mul.sat.f32 %r0, %r1, %r2;", "r", F(3.0f), F(2.0f), 0, F(1.0f)},
        {"mul.sat.f32 %r0, %r1, %r2;", "r", NAN32, F(2.0f), 0, 0},
        {"fma.rn.f32 %r0, %r1, %r2, %r3;", "r", F(0x1.000002p0f), F(0x1.000002p0f),
         F(-0x1.000004p0f), F(0x1p-46f)},
        {"fma.rn.f32 %r0, %r1, %r2, %r3;", "r", F(0x1.8p0f), F(0x1.000002p-24f), F(0x1p0f),
         F(0x1.000004p0f) - 1},
        {"fma.rm.f32 %r0, %r1, %r2, %r3;", "r", F(1.0f), F(-0x1p-60f), F(1.0f), F(0x1.fffffep-1f)},
        {"fma.rz.f32 %r0, %r1, %r2, %r3;", "r", F(0x1.fffffep127f), F(2.0f), 0, 0x7f7fffff},
        {"fma.rp.ftz.f32 %r0, %r1, %r2, %r3;", "r", 1, F(1.0f), F(1.0f), F(1.0f)},
        {"mad.rn.f32 %r0, %r1, %r2, %r3;", "r", F(2.0f), F(3.0f), F(4.0f), F(10.0f)},
        {"div.rn.f32 %r0, %r1, %r2;", "r", F(1.0f), F(3.0f), 0, 0x3eaaaaab},
        {"div.rz.f32 %r0, %r1, %r2;", "r", F(1.0f), F(3.0f), 0, 0x3eaaaaaa},
        {"div.approx.f32 %r0, %r1, %r2;", "r", F(1.0f), 0, 0, INF32},
        {"div.full.f32 %r0, %r1, %r2;", "r", F(9.0f), F(3.0f), 0, F(3.0f)},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

static void test_approx(void **state)
{
    const struct row rows[] = {
        {"rcp.rn.f32 %r0, %r1;", "r", F(3.0f), 0, 0, 0x3eaaaaab},
        {"rcp.rm.f32 %r0, %r1;", "r", F(3.0f), 0, 0, 0x3eaaaaaa},
        {"rcp.approx.ftz.f32 %r0, %r1;", "r", 1, 0, 0, INF32},
        {"sqrt.rn.f32 %r0, %r1;", "r", F(2.0f), 0, 0, 0x3fb504f3},
        {"sqrt.rp.f32 %r0, %r1;", "r", F(2.0f), 0, 0, 0x3fb504f4},
        {"sqrt.approx.f32 %r0, %r1;", "r", F(-1.0f), 0, 0, NAN32},
        {"rsqrt.approx.f32 %r0, %r1;", "r", F(4.0f), 0, 0, F(0.5f)},
        {"ex2.approx.f32 %r0, %r1;", "r", F(-3.0f), 0, 0, F(0.125f)},
        {"ex2.approx.ftz.f32 %r0, %r1;", "r", F(-140.0f), 0, 0, 0},
        {"ex2.approx.f32 %r0, %r1;", "r", F(-149.0f), 0, 0, 1},
        {"ex2.approx.f32 %r0, %r1;", "r", 0xff800000, 0, 0, 0},
        {"ex2.approx.f32 %r0, %r1;", "r", F(128.0f), 0, 0, INF32},
        {"lg2.approx.f32 %r0, %r1;", "r", F(0x1p-149f), 0, 0, F(-149.0f)},
        {"lg2.approx.f32 %r0, %r1;", "r", 0, 0, 0, 0xff800000},
        {"lg2.approx.f32 %r0, %r1;", "r", F(-1.0f), 0, 0, NAN32},
        {"sin.approx.f32 %r0, %r1;", "r", 0, 0, 0, 0},
        {"cos.approx.f32 %r0, %r1;", "r", 0, 0, 0, F(1.0f)},
        {"sin.approx.f32 %r0, %r1;", "r", INF32, 0, 0, NAN32},
        {"tanh.approx.f32 %r0, %r1;", "r", INF32, 0, 0, F(1.0f)},
        {"tanh.approx.f32 %r0, %r1;", "r", F(-20.0f), 0, 0, F(-1.0f)},
        {"tanh.approx.f32 %r0, %r1;", "r", 0x80000000, 0, 0, 0x80000000},
        {"tanh.approx.f32 %r0, %r1;", "r", 0x80000123, 0, 0, 0x80000123},
        {"tanh.approx.f32 %r0, %r1;", "r", NAN32, 0, 0, NAN32},
        {"sin.approx.f32 %r0, %r1;", "r", 0x80000000, 0, 0, 0x80000000},
        {"sin.approx.f32 %r0, %r1;", "r", F(-0x1p-30f), 0, 0, 0x80000000},
        {"cos.approx.f32 %r0, %r1;", "r", 0xff800000, 0, 0, NAN32},
        {"ex2.approx.f32 %r0, %r1;", "r", NAN32, 0, 0, NAN32},
        {"lg2.approx.f32 %r0, %r1;", "r", INF32, 0, 0, INF32},
        {"lg2.approx.f32 %r0, %r1;", "r", F(0x1.000002p0f), 0, 0, 0},
        {"rcp.approx.f32 %r0, %r1;", "r", 0x80000000, 0, 0, 0xff800000},
        {"rcp.approx.f32 %r0, %r1;", "r", 0xff800000, 0, 0, 0x80000000},
        {"rsqrt.approx.f32 %r0, %r1;", "r", 0x80000000, 0, 0, 0xff800000},
        {"sqrt.approx.f32 %r0, %r1;", "r", 0x80000000, 0, 0, 0x80000000},
        {"div.approx.f32 %r0, %r1, %r2;", "r", F(-8.0f), F(0x1.8p126f), 0, 0x80000000},
        {"div.approx.f32 %r0, %r1, %r2;", "r", INF32, F(0x1.8p126f), 0, NAN32},
        {"div.approx.f32 %r0, %r1, %r2;", "r", F(0x1p126f), F(0x1p126f), 0, F(1.0f)},
        {"div.full.f32 %r0, %r1, %r2;", "r", F(0x1p127f), F(0x1p127f), 0, F(1.0f)},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

static void test_float_more(void **state)
{
    const struct row rows[] = {
        {"min.f32 %r0, %r1, %r2;", "r", NAN32, F(1.0f), 0, F(1.0f)},
        {"min.NaN.f32 %r0, %r1, %r2;", "r", NAN32, F(1.0f), 0, NAN32},
        {"min.f32 %r0, %r1, %r2;", "r", 0, 0x80000000, 0, 0x80000000},
        {"max.f32 %r0, %r1, %r2;", "r", 0x80000000, 0, 0, 0},
        {"max.f32 %r0, %r1, %r2, %r3;", "r", F(1.0f), F(5.0f), F(3.0f), F(5.0f)},
        {"max.xorsign.abs.f32 %r0, %r1, %r2;", "r", F(-3.0f), F(2.0f), 0, F(-3.0f)},
        {"min.f64 %d0, %d1, %d2;", "d", D(1.0), NAN64, 0, D(1.0)},
        {"abs.f32 %r0, %r1;", "r", F(-2.0f), 0, 0, F(2.0f)},
        {"neg.f64 %d0, %d1;", "d", D(2.0), 0, 0, D(-2.0)},
        {"copysign.f32 %r0, %r1, %r2;", "r", F(-1.0f), F(2.0f), 0, F(-2.0f)},
        {"add.f64 %d0, %d1, %d2;", "d", D(0.1), D(0.2), 0, 0x3fd3333333333334},
        {"add.rz.f64 %d0, %d1, %d2;", "d", D(0.1), D(0.2), 0, 0x3fd3333333333333},
        {"mul.rp.f64 %d0, %d1, %d2;", "d", D(0x1p-600), D(0x1p-600), 0, 1},
        {"mul.rm.f64 %d0, %d1, %d2;", "d", D(0x1.8p1023), D(2.0), 0, D(0x1.fffffffffffffp1023)},
        {"fma.rn.f64 %d0, %d1, %d2, %d3;", "d", D(0x1.0000000000001p0), D(0x1.0000000000001p0),
         D(-0x1.0000000000002p0), D(0x1p-104)},
        {"fma.rm.f64 %d0, %d1, %d2, %d3;", "d", D(1.0), D(1.0), D(-1.0), 1ULL << 63},
        {"fma.rp.f64 %d0, %d1, %d2, %d3;", "d", D(1.0), D(1.0), D(0x1p-200),
         D(0x1.0000000000001p0)},
        {"div.rn.f64 %d0, %d1, %d2;", "d", D(1.0), D(3.0), 0, 0x3fd5555555555555},
        {"div.rp.f64 %d0, %d1, %d2;", "d", D(1.0), D(3.0), 0, 0x3fd5555555555556},
        {"sqrt.rm.f64 %d0, %d1;", "d", D(2.0), 0, 0, 0x3ff6a09e667f3bcc},
        {"sqrt.rp.f64 %d0, %d1;", "d", D(2.0), 0, 0, 0x3ff6a09e667f3bcd},
        {"rcp.rn.f64 %d0, %d1;", "d", D(4.0), 0, 0, D(0.25)},
        {"rcp.approx.ftz.f64 %d0, %d1;", "d", D(3.0), 0, 0, 0x3fd5555500000000},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

static void test_half(void **state)
{
    const struct row rows[] = {
        {"add.f16 %h0, %h1, %h2;", "h", 0x3c00, 0x1000, 0, 0x3c00}, /* 1 + 2^-11: tie */
        {"add.f16 %h0, %h1, %h2;", "h", 0x3c01, 0x1000, 0, 0x3c02}, /* tie to even */
        {"mul.f16 %h0, %h1, %h2;", "h", 0x0001, 0x3800, 0, 0x0000}, /* half the least */
        {"mul.f16 %h0, %h1, %h2;", "h", 0x7bff, 0x4000, 0, 0x7c00},
        {"sub.f16 %h0, %h1, %h2;", "h", 0x7c00, 0x7c00, 0, 0x7fff},
        {"fma.rn.f16 %h0, %h1, %h2, %h3;", "h", 0x3c01, 0x3c01, 0xbc02, 0x0010},
        {"fma.rn.relu.f16 %h0, %h1, %h2, %h3;", "h", 0xbc00, 0x3c00, 0, 0},
        {"add.ftz.f16 %h0, %h1, %h2;", "h", 0x0001, 0x0001, 0, 0},
        {"mul.sat.f16 %h0, %h1, %h2;", "h", 0x4000, 0x4000, 0, 0x3c00},
        {"add.f16x2 %r0, %r1, %r2;", "r", 0x3c004000, 0x3c003c00, 0, 0x40004200},
        {"fma.rn.f16x2 %r0, %r1, %r2, %r3;", "r", 0x40004000, 0x42003c00, 0x3c003c00, 0x47004200},
        {"max.f16x2 %r0, %r1, %r2;", "r", 0x7fff3c00, 0x3c004000, 0, 0x3c004000},
        {"max.NaN.f16 %h0, %h1, %h2;", "h", 0x7fff, 0x3c00, 0, 0x7fff},
        {"neg.f16x2 %r0, %r1;", "r", 0x3c00bc00, 0, 0, 0xbc003c00},
        {"abs.f16 %h0, %h1;", "h", 0xbc00, 0, 0, 0x3c00},
        {"ex2.approx.f16 %h0, %h1;", "h", 0x4000, 0, 0, 0x4400},
        {"tanh.approx.f16x2 %r0, %r1;", "r", 0x7c00fc00, 0, 0, 0x3c00bc00},
        {"add.bf16 %h0, %h1, %h2;", "h", 0x3f80, 0x3b80, 0, 0x3f80}, /* 1 + 2^-8: tie */
        {"fma.rn.bf16 %h0, %h1, %h2, %h3;", "h", 0x3f81, 0x3f81, 0xbf82, 0x3880},
        {"fma.rn.bf16x2 %r0, %r1, %r2, %r3;", "r", 0x40003f80, 0x40404000, 0x3f803f80, 0x40e04040},
        {"setp.lt.f16 %p0, %h1, %h2;", "p", 0xbc00, 0x3c00, 0, 1},
        {"setp.equ.f16 %p0, %h1, %h2;", "p", 0x7fff, 0x3c00, 0, 1},
        {"setp.gt.bf16 %p0, %h1, %h2;", "p", 0x4000, 0x3f80, 0, 1},
        {"setp.eq.f16x2 %p0|%p4, %r1, %r2; xor.pred %p0, %p0, %p4;", "p", 0x3c003c00, 0x3c004000, 0,
         1},
        {"set.gt.f16.f16 %h0, %h1, %h2;", "h", 0x4000, 0x3c00, 0, 0x3c00},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

static void test_compare(void **state)
{
    const struct row rows[] = {
        {"setp.lt.s32 %p0, %r1, %r2;", "p", 0xffffffff, 0, 0, 1},
        {"setp.lt.u32 %p0, %r1, %r2;", "p", 0xffffffff, 0, 0, 0},
        {"setp.hs.u32 %p0, %r1, %r2;", "p", 5, 5, 0, 1},
        {"setp.le.s64 %p0, %d1, %d2;", "p", UINT64_MAX, 0, 0, 1},
        {"setp.gt.u16 %p0, %h1, %h2;", "p", 0xffff, 0, 0, 1},
        {"setp.ge.s16 %p0, %h1, %h2;", "p", 0xffff, 0, 0, 0},
        {"setp.ne.b64 %p0, %d1, %d2;", "p", 1ULL << 40, 0, 0, 1},
        {"setp.lt.f32 %p0, %r1, %r2;", "p", NAN32, 0, 0, 0},
        {"setp.geu.f32 %p0, %r1, %r2;", "p", NAN32, 0, 0, 1},
        {"setp.ne.f32 %p0, %r1, %r2;", "p", NAN32, 0, 0, 0},
        {"setp.neu.f32 %p0, %r1, %r2;", "p", NAN32, 0, 0, 1},
        {"setp.num.f32 %p0, %r1, %r2;", "p", F(1.0f), NAN32, 0, 0},
        {"setp.nan.f64 %p0, %d1, %d2;", "p", D(1.0), NAN64, 0, 1},
        {"setp.eq.ftz.f32 %p0, %r1, %r2;", "p", 5, 0x80000007, 0, 1},
        {"setp.gtu.f64 %p0, %d1, %d2;", "p", D(1.0), D(2.0), 0, 0},
        {"setp.lt.and.s32 %p0, %r1, %r2, %p3;", "p", 1, 2, 0, 0},
        {"setp.lt.or.s32 %p0, %r1, %r2, !%p3;", "p", 3, 2, 0, 1},
        {"setp.lt.xor.s32 %p0|%p4, %r1, %r2, %p3; mov.pred %p0, %p4;", "p", 1, 2, 1, 1},
        {"setp.lt.s32 %p4|%p0, %r1, %r2;", "p", 1, 2, 0, 0},
        {"set.lt.s32.s32 %r0, %r1, %r2;", "r", 1, 2, 0, 0xffffffff},
        {"set.gt.f32.u32 %r0, %r1, %r2;", "r", 3, 2, 0, F(1.0f)},
        {"set.eq.u32.f32 %r0, %r1, %r2;", "r", F(1.0f), NAN32, 0, 0},
        {"selp.b32 %r0, %r1, %r2, %p3;", "r", 1, 2, 1, 1},
        {"selp.f64 %d0, %d1, %d2, !%p3;", "d", 1, 2, 1, 2},
        {"slct.s32.s32 %r0, %r1, %r2, %r3;", "r", 1, 2, 0xffffffff, 2},
        {"slct.u64.f32 %d0, %d1, %d2, %r3;", "d", 1, 2, 0x80000000, 1},
        {"testp.finite.f32 %p0, %r1;", "p", INF32, 0, 0, 0},
        {"testp.subnormal.f32 %p0, %r1;", "p", 3, 0, 0, 1},
        {"testp.normal.f64 %p0, %d1;", "p", D(1.0), 0, 0, 1},
        {"testp.notanumber.f64 %p0, %d1;", "p", NAN64, 0, 0, 1},
        {"testp.infinite.f64 %p0, %d1;", "p", 0x7ff0000000000000, 0, 0, 1},
        {"and.pred %p0, %p3, !%p3;", "p", 0, 0, 1, 0},
        {"or.pred %p0, %p3, 0;", "p", 0, 0, 1, 1},
        {"not.pred %p0, %p3;", "p", 0, 0, 1, 0},
        {"mov.pred %p0, 1;", "p", 0, 0, 0, 1},
        {"mov.u32 %r0, 5; @!%p3 mov.u32 %r0, 6;", "r", 0, 0, 1, 5},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

static void test_convert(void **state)
{
    const struct row rows[] = {
        {"cvt.s64.s32 %d0, %r1;", "d", 0x80000000, 0, 0, 0xffffffff80000000},
        {"cvt.u64.u32 %d0, %r1;", "d", 0x80000000, 0, 0, 0x80000000},
        {"cvt.s32.s8 %r0, %r1;", "r", 0x1ff, 0, 0, 0xffffffff},
        {"cvt.u32.u8 %r0, %r1;", "r", 0x1ff, 0, 0, 0xff},
        {"cvt.s8.s32 %r0, %r1;", "r", 0x180, 0, 0, 0xffffff80},
        {"cvt.u8.u32 %r0, %r1;", "r", 0x180, 0, 0, 0x80},
        {"cvt.s64.s16 %d0, %h1;", "d", 0x8000, 0, 0, 0xffffffffffff8000},
        {"cvt.u32.u64 %r0, %d1;", "r", 0x123456789, 0, 0, 0x23456789},
        {"cvt.sat.s8.s32 %r0, %r1;", "r", 1000, 0, 0, 127},
        {"cvt.sat.u8.s32 %r0, %r1;", "r", MINUS(5), 0, 0, 0},
        {"cvt.sat.s32.u32 %r0, %r1;", "r", 0xffffffff, 0, 0, 0x7fffffff},
        {"cvt.rn.f32.s32 %r0, %r1;", "r", 0x7fffffff, 0, 0, F(0x1p31f)},
        {"cvt.rz.f32.s32 %r0, %r1;", "r", 0x7fffffff, 0, 0, F(0x1.fffffep30f)},
        {"cvt.rn.f32.u64 %r0, %d1;", "r", UINT64_MAX, 0, 0, F(0x1p64f)},
        {"cvt.rm.f32.u64 %r0, %d1;", "r", UINT64_MAX, 0, 0, F(0x1.fffffep63f)},
        {"cvt.rn.f64.s64 %d0, %d1;", "d", 0x7fffffffffffffff, 0, 0, D(0x1p63)},
        {"cvt.rz.f64.s64 %d0, %d1;", "d", 0x7fffffffffffffff, 0, 0, D(0x1.fffffffffffffp62)},
        {"cvt.rn.f16.s32 %h0, %r1;", "h", 2049, 0, 0, 0x6800},
        {"cvt.rn.f16.u64 %h0, %d1;", "h", 70000, 0, 0, 0x7c00},
        {"cvt.rn.bf16.s32 %h0, %r1;", "h", 257, 0, 0, 0x4380},
        {"cvt.rzi.s32.f32 %r0, %r1;", "r", F(-2.9f), 0, 0, MINUS(2)},
        {"cvt.rni.s32.f32 %r0, %r1;", "r", F(2.5f), 0, 0, 2},
        {"cvt.rpi.s32.f32 %r0, %r1;", "r", F(2.1f), 0, 0, 3},
        {"cvt.rmi.s32.f32 %r0, %r1;", "r", F(-2.1f), 0, 0, MINUS(3)},
        {"cvt.rzi.s32.f32 %r0, %r1;", "r", F(3e9f), 0, 0, 0x7fffffff},
        {"cvt.rzi.u32.f32 %r0, %r1;", "r", F(-1.0f), 0, 0, 0},
        {"cvt.rzi.s32.f32 %r0, %r1;", "r", NAN32, 0, 0, 0},
        {"cvt.rzi.s64.f32 %d0, %r1;", "d", NAN32, 0, 0, 1ULL << 63},
        {"cvt.rzi.s32.f64 %r0, %d1;", "r", NAN64, 0, 0, 0x80000000},
        {"cvt.rzi.u64.f64 %d0, %d1;", "d", D(1e30), 0, 0, UINT64_MAX},
        {"cvt.rzi.s64.f64 %d0, %d1;", "d", D(-1e30), 0, 0, 1ULL << 63},
        {"cvt.rni.s64.f64 %d0, %d1;", "d", D(0x1p52 + 1), 0, 0, (1ULL << 52) + 1},
        {"cvt.rzi.s8.f32 %r0, %r1;", "r", F(300.0f), 0, 0, 127},
        {"cvt.rzi.u16.f32 %h0, %r1;", "h", F(70000.0f), 0, 0, 0xffff},
        {"cvt.rni.s32.f16 %r0, %h1;", "r", 0x4100, 0, 0, 2},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

static void test_convert_float(void **state)
{
    const struct row rows[] = {
        {"cvt.f32.f16 %r0, %h1;", "r", 0x0001, 0, 0, F(0x1p-24f)},
        {"cvt.f32.f16 %r0, %h1;", "r", 0x7c01, 0, 0, NAN32},
        {"cvt.f32.bf16 %r0, %h1;", "r", 0x3f80, 0, 0, F(1.0f)},
        {"cvt.f64.f16 %d0, %h1;", "d", 0xfbff, 0, 0, D(-65504.0)},
        {"cvt.rn.f16.f32 %h0, %r1;", "h", F(65520.0f), 0, 0, 0x7c00},
        {"cvt.rz.f16.f32 %h0, %r1;", "h", F(65520.0f), 0, 0, 0x7bff},
        {"cvt.rm.f16.f32 %h0, %r1;", "h", F(-0x1p-30f), 0, 0, 0x8001},
        {"cvt.rp.f16.f32 %h0, %r1;", "h", F(0x1p-30f), 0, 0, 0x0001},
        {"cvt.rn.satfinite.f16.f32 %h0, %r1;", "h", F(1e9f), 0, 0, 0x7bff},
        {"cvt.rn.relu.f16.f32 %h0, %r1;", "h", F(-1.0f), 0, 0, 0},
        {"cvt.rn.f16.f64 %h0, %d1;", "h", D(1.0 + 0x1p-11 + 0x1p-40), 0, 0, 0x3c01},
        {"cvt.rn.bf16.f32 %h0, %r1;", "h", 0x3f808000, 0, 0, 0x3f80},
        {"cvt.rz.bf16.f32 %h0, %r1;", "h", 0x3f80ffff, 0, 0, 0x3f80},
        {"cvt.rn.f16x2.f32 %r0, %r1, %r2;", "r", F(1.0f), F(2.0f), 0, 0x3c004000},
        {"cvt.rn.bf16x2.f32 %r0, %r1, %r2;", "r", F(1.0f), F(2.0f), 0, 0x3f804000},
        {"cvt.rn.relu.f16x2.f32 %r0, %r1, %r2;", "r", F(-1.0f), F(2.0f), 0, 0x00004000},
        {"cvt.rna.tf32.f32 %r0, %r1;", "r", 0x3f801000, 0, 0, 0x3f802000},
        {"cvt.rn.tf32.f32 %r0, %r1;", "r", 0x3f801000, 0, 0, 0x3f800000},
        {"cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;", "h", F(1000.0f), F(-1.0f), 0, 0x7eb8},
        {"cvt.rn.satfinite.e5m2x2.f32 %h0, %r1, %r2;", "h", F(1.0f), NAN32, 0, 0x3c7f},
        {"cvt.rn.f16x2.e4m3x2 %r0, %h1;", "r", 0x387e, 0, 0, 0x3c005f00},
        {"cvt.rn.f16x2.e5m2x2 %r0, %h1;", "r", 0x3c7c, 0, 0, 0x3c007c00},
        {"cvt.rn.satfinite.e4m3x2.f16x2 %h0, %r1;", "h", 0x3c007bff, 0, 0, 0x387e},
        {"cvt.f64.f32 %d0, %r1;", "d", F(1.5f), 0, 0, D(1.5)},
        {"cvt.rn.f32.f64 %r0, %d1;", "r", D(1.0 + 0x1p-24 + 0x1p-50), 0, 0, F(0x1.000002p0f)},
        {"cvt.rz.f32.f64 %r0, %d1;", "r", D(1e300), 0, 0, 0x7f7fffff},
        {"cvt.rn.ftz.f32.f64 %r0, %d1;", "r", D(1e-40), 0, 0, 0},
        {"cvt.sat.f32.f32 %r0, %r1;", "r", F(-3.0f), 0, 0, 0},
        {"cvt.rni.f32.f32 %r0, %r1;", "r", F(-0.4f), 0, 0, 0x80000000},
        {"cvt.rzi.f32.f32 %r0, %r1;", "r", F(1e20f), 0, 0, F(1e20f)},
        {"cvt.rmi.f64.f64 %d0, %d1;", "d", D(-1.5), 0, 0, D(-2.0)},
        {"cvt.rpi.ftz.f32.f32 %r0, %r1;", "r", 5, 0, 0, 0},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

/* A declaration inside braces hides what has its name outside, until the brace closes. */
static void test_scopes(void **state)
{
    const struct row rows[] = {
        {"mov.u32 %r0, 5; { .reg .u32 %r0; mov.u32 %r0, 9; }", "r", 0, 0, 0, 5},
        {"{ .reg .u32 %r1, %r2; mov.u32 %r1, 9; mov.u32 %r2, %r1; } add.u32 %r0, %r1, %r2;", "r", 5,
         6, 0, 11},
        {"{ .reg .u32 %r<3>; mov.u32 %r1, 9; add.u32 %r3, %r3, %r1; } add.u32 %r0, %r1, %r3;", "r",
         5, 6, 7, 21},
        {"{ .reg .u32 %r1; mov.u32 %r1, 9; { .reg .u32 %r<2>; mov.u32 %r1, 8; }"
         " mov.u32 %r0, %r1; }",
         "r", 5, 0, 0, 9},
        {"{ .reg .u32 %r<2>; mov.u32 %r1, 9; { .reg .u32 %r1; mov.u32 %r1, 8; }"
         " mov.u32 %r7, %r1; } mov.u32 %r0, %r7;",
         "r", 5, 0, 0, 9},
        {"{ .reg .u32 %r; mov.u32 %r, 9; add.u32 %r0, %r1, %r; }", "r", 5, 0, 0, 14},
        {"{ .reg .pred %p1; setp.eq.u32 %p1, %r1, 5; } setp.eq.u32 %p1, %r1, 6;"
         " { .reg .pred %p1; setp.eq.u32 %p1, %r1, 5; @%p1 mov.u32 %r4, 1; }"
         " selp.u32 %r0, 1, 2, %p1;",
         "r", 5, 0, 0, 2},
        {"{ .reg .b64 %r1; mov.b64 %r1, %d1; mov.b64 %d0, %r1; }", "d", 1ULL << 40, 0, 0,
         1ULL << 40},
        {"bra L; M: mov.u32 %r0, %r1; { bra L; add.u32 %r0, %r0, 8; L: add.u32 %r0, %r0, 1; }"
         " bra N; L: mov.u32 %r0, 0; bra M; N:",
         "r", 5, 0, 0, 6},
        {".local .b32 v; st.local.u32 [v], %r1; { .local .b32 v; st.local.u32 [v], %r2; }"
         " ld.local.u32 %r0, [v];",
         "r", 5, 6, 0, 5},
        {".shared .b32 v; st.shared.u32 [v], %r1; { .shared .b32 v; st.shared.u32 [v], %r2;"
         " ld.shared.u32 %r4, [v]; } ld.shared.u32 %r0, [v]; sub.u32 %r0, %r4, %r0;",
         "r", 5, 16, 0, 11},
        {".shared .b32 v; st.shared.u32 [v], %r1; { .reg .u32 v; mov.u32 v, 9; }"
         " ld.shared.u32 %r0, [v];",
         "r", 5, 0, 0, 5},
    };
    (void)state;
    run_rows(rows, COUNT_OF(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integer),    cmocka_unit_test(test_divide_compare),
        cmocka_unit_test(test_carry),      cmocka_unit_test(test_bits),
        cmocka_unit_test(test_bit_fields), cmocka_unit_test(test_float),
        cmocka_unit_test(test_float_more), cmocka_unit_test(test_approx),
        cmocka_unit_test(test_half),       cmocka_unit_test(test_compare),
        cmocka_unit_test(test_convert),    cmocka_unit_test(test_convert_float),
        cmocka_unit_test(test_scopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
