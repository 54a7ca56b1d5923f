/*
 * Counts against hand-computed values and against KernelBench problems, whose multiply-accumulates
 * and bytes were computed independently of this program (FlopCounterMode and declared shapes).
 */
#include <string.h>

#include "solver/ir/count.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES_MAX = 512 << 20, TEXT_BYTES_MAX = 1 << 16 };

/* Tensors as "x<4,5 k<4:i64 y>4": input x[4,5] in f32, input k[4] in i64, output y[4]. */
static void put_tensor(struct buf *out, const char **at)
{
    const char *dtype = "f32";
    size_t dtype_len = 3;
    size_t name_len = strcspn(*at, "<>");
    const char *name = *at;
    bool is_input = name[name_len] == '<';
    const char *shape = name + name_len + 1;
    size_t shape_len = strcspn(shape, " :");
    *at = shape + shape_len;
    if (**at == ':') {
        dtype = *at + 1;
        dtype_len = strcspn(dtype, " ");
        *at = dtype + dtype_len;
    }
    bool is_int = dtype[0] == 'i';
    buf_printf(out,
               "{\"name\":\"%.*s\",\"role\":\"%s\",\"dtype\":\"%.*s\",%s"
               "\"shape\":[%.*s]}",
               (int)name_len, name, is_input ? "input" : "output", (int)dtype_len, dtype,
               is_int && is_input ? "\"fill\":{\"kind\":\"ints\",\"low\":0,\"high\":3}," : "",
               (int)shape_len, shape);
    *at += strspn(*at, " ");
}

/* Lines separated by ';'. */
static struct str spec_of(struct arena *arena, const char *tensors, const char *lines)
{
    struct buf buf;
    buf_init(&buf, arena, TEXT_BYTES_MAX);
    buf_text(&buf, "{\"spec\":1,\"name\":\"t\",\"tracks\":{\"f32\":{}},"
                   "\"shapes\":{\"target\":[{}]},\"tensors\":[");
    for (const char *at = tensors; *at;) {
        buf_text(&buf, at == tensors ? "" : ",");
        put_tensor(&buf, &at);
    }
    buf_text(&buf, "],\"body\":[\"");
    for (const char *c = lines; *c; c++) {
        if (*c == ';')
            buf_text(&buf, "\",\"");
        else
            buf_char(&buf, *c);
    }
    buf_text(&buf, "\"]}");
    return buf_view(&buf);
}

static const struct bound_op *bind(struct arena *arena, const char *name, const char *tensors,
                                   const char *lines)
{
    struct err err;
    const struct op *op = NULL;
    const struct bound_op *bound = NULL;
    if (!op_parse(arena, spec_of(arena, tensors, lines), "t.json", NULL, &op, &err) ||
        !op_bind_shape(arena, op, &op->targets[0], &bound, &err))
        fail_msg("%s: %s", name, err.text);
    return bound;
}

#define ANY INT64_C(-1)

struct counted {
    const char *name, *tensors, *lines;
    struct op_count want; /* ANY: not looked at */
};
static const struct counted counts[] = {
    /* by hand: macs, flops, specials, bytes read, written, unfused */
    {"matmul 2MNK",
     "a<3,5 b<5,7 c>3,7",
     "c[m,n] = sum(k) a[m,k] * b[k,n]",
     {105, 210, 0, 200, 84, 284}},
    {"casts are free",
     "a<3,5:bf16 b<5,7:bf16 c>3,7",
     "c[m,n] = sum(k) f32(a[m,k]) * f32(b[k,n])",
     {105, 210, 0, 100, 84, 184}},
    {"a square is a product",
     "x<4,6 y>4",
     "y[m] = sum(n) (x[m,n] - 1) * (x[m,n] - 1)",
     {24, 96, 0, 96, 16, 112}},
    {"a plain sum", "x<4,6 y>4", "y[m] = sum(n) x[m,n]", {0, 24, 0, 96, 16, 112}},
    {"a sum of exp", "x<4,6 y>4", "y[m] = sum(n) exp(x[m,n])", {0, 48, 24, 96, 16, 112}},
    {"padding counts as written",
     "x<8 w<3 y>8",
     "y[p] = sum(r) pad(x[p + r - 1]) * w[r]",
     {24, 48, 0, 44, 32, 76}},
    {"constants are folded",
     "x<8 y>8",
     "y[i] = x[i] * (1 / sqrt(8.0)) + f32(8 - 3)",
     {0, 16, 0, 32, 32, 64}},
    {"selects and tests are free",
     "x<8 y>8",
     "y[i] = i < 4 && x[i] > 0 ? -x[i] : 0",
     {0, 8, 0, 32, 32, 64}},
    {"fma is two", "x<8 y>8", "y[i] = fma(x[i], x[i], 1)", {0, 16, 0, 32, 32, 64}},
    {"integers are free", "k<8:i32 y>1:i32", "y[i:1] = sum(j:8) k[j] * k[j]", {0, 0, 0, 32, 4, 36}},
    {"scan", "x<6 y>6", "y[n] = sum(j <= n) x[j]", {0, 21, 0, 24, 24, 48}},
    {"exclusive scan", "x<6 y>6", "y[n] = sum(j < n) x[j]", {0, 15, 0, 20, 24, 44}},
    {"reverse scan", "x<6 y>6", "y[n] = sum(j >= n) x[j]", {0, 21, 0, 24, 24, 48}},
    {"exclusive reverse scan", "x<6 y>6", "y[n] = sum(j > n) x[j]", {0, 15, 0, 20, 24, 44}},
    {"softmax",
     "x<4,6 y>4,6",
     "m[r] = max(c) x[r,c];e[r,c] = exp(x[r,c] - m[r]);s[r] = sum(c) e[r,c];"
     "y[r,c] = e[r,c] / s[r]",
     {0, 24 * 5, 48, 96, 96, 4 * (28 + 52 + 28 + 52)}},
    {"scatter-add", "k<5:i64 x<5,3 y>4,3", "y[k[i],j] += (i,j) x[i,j]", {0, 15, 0, 100, 48, 148}},
    {"gather: one row at least",
     "k<5:i64 x<4,3 y>5,3",
     "y[i,j] = x[k[i],j]",
     {0, 0, 0, 52, 60, 112}},
    {"an output read back is not compulsory",
     "x<4 y>4 z>4",
     "y[i] = 2 * x[i];z[i] = y[i] + 1",
     {0, 8, 0, 16, 32, 64}},

    /* KernelBench level 1: problem, multiply-accumulates, bytes */
    {"1 square matmul",
     "a<4096,4096 b<4096,4096 c>4096,4096",
     "c[m,n] = sum(k) a[m,k] * b[k,n]",
     {68719476736, 137438953472, 0, 134217728, 67108864, 201326592}},
    {"2 matmul",
     "a<2048,8192 b<8192,4096 c>2048,4096",
     "c[m,n] = sum(k) a[m,k] * b[k,n]",
     {68719476736, 137438953472, 0, 234881024 - 33554432, 33554432, 234881024}},
    {"3 batched matmul",
     "a<128,512,1024 b<128,1024,2048 c>128,512,2048",
     "c[s,m,n] = sum(k) a[s,m,k] * b[s,k,n]",
     {137438953472, 274877906944, 0, 1879048192 - 536870912, 536870912, 1879048192}},
    {"4 matrix times vector",
     "a<2048,1048576 b<1048576,1 c>2048,1",
     "c[m,n] = sum(k) a[m,k] * b[k,n]",
     {2147483648, 4294967296, 0, 8594137088 - 8192, 8192, 8594137088}},
    {"16 matmul, A transposed",
     "a<8192,2048 b<8192,4096 c>2048,4096",
     "c[m,n] = sum(k) a[k,m] * b[k,n]",
     {68719476736, 137438953472, 0, 234881024 - 33554432, 33554432, 234881024}},
    {"19 relu",
     "x<4096,393216 y>4096,393216",
     "y[m,n] = max(x[m,n], 0)",
     {0, 1610612736, 0, 6442450944, 6442450944, 12884901888}},
    {"23 softmax",
     "x<4096,393216 y>4096,393216",
     "m[r] = max(c) x[r,c];e[r,c] = exp(x[r,c] - m[r]);s[r] = sum(c) e[r,c];"
     "y[r,c] = e[r,c] / s[r]",
     {0, 8053063680, 3221225472, 6442450944, 6442450944, ANY}},
    {"41 max pooling, dilated",
     "x<64,192,65536 y>64,192,65523",
     "y[b,c,p] = max(r:8) pad(x[b,c,p + 3 * r - 4], -inf)",
     {0, 6441172992, 0, 6441811968 - 3220586496, 3220586496, 6441811968}},
    {"42 max pooling",
     "x<32,64,512,512 y>32,64,511,511",
     "y[b,c,p,q] = max(r:4,s:4) pad(x[b,c,p + r - 1,q + s - 1], -inf)",
     {0, 8556412928, 0, 2147483648, 4286586880 - 2147483648, 4286586880}},
    {"47 sum over a dimension",
     "x<128,4096,4095 y>128,1,4095",
     "y[b,o,n] = sum(m) x[b,m,n]",
     {0, 2146959360, 0, 8589934080 - 2096640, 2096640, 8589934080}},
    {"50 conv2d stride 4",
     "x<256,3,224,224 w<96,3,11,11 c<96 y>256,96,55,55",
     "t[b:256,k,p:55,q:55] = sum(c,r,s) pad(x[b,c,4 * p + r - 2,4 * q + s - 2]) * w[k,c,r,s];"
     "y[b,k,p,q] = t[b,k,p,q] + c[k]",
     {26986291200, 53972582400 + 74342400, 0, 451650048 - 297369600, 297369600, ANY}},
    {"62 conv2d 5x9",
     "x<8,32,512,512 w<64,32,5,9 y>8,64,508,504",
     "y[b,k,p,q] = sum(c,r,s) x[b,c,p + r,q + s] * w[k,c,r,s]",
     {188767272960, 377534545920, 0, ANY, ANY, 793157632}},
    {"82 depthwise",
     "x<16,64,512,512 w<64,3,3 y>16,64,510,510",
     "y[b,c,p,q] = sum(r,s) x[b,c,p + r,q + s] * w[c,r,s]",
     {2397081600, 4794163200, 0, ANY, ANY, 2139113728}},
    {"89 cumsum: bytes",
     "x<32768,32768 y>32768,32768",
     "y[m,n] = sum(j <= n) x[m,j]",
     {0, ANY, 0, 4294967296, 4294967296, 8589934592}},
    {"94 mean squared error",
     "p<32768,32768 t<32768,32768 y>1",
     "y[o:1] = sum(i,j) (p[i,j] - t[i,j]) * (p[i,j] - t[i,j])",
     {1073741824, ANY, 0, 8589934592, 4, 8589934596}},
    {"95 cross entropy",
     "x<32768,4096 t<32768:i64 y>1",
     "m[n] = max(c) x[n,c];s[n] = sum(c) exp(x[n,c] - m[n]);l[n] = m[n] + log(s[n]) - x[n,t[n]];"
     "y[o:1] = sum(n) l[n]",
     {0, ANY, ANY, 537133060 - 4, 4, ANY}},
    {"97 attention",
     "q<32,32,512,1024 k<32,32,512,1024 v<32,32,512,1024 y>32,32,512,1024",
     "a[b,h,i,j] = sum(d) q[b,h,i,d] * k[b,h,j,d];y[b,h,i,d] = sum(j) a[b,h,i,j] * v[b,h,j,d]",
     {549755813888, 1099511627776, 0, 8589934592 - 2147483648, 2147483648, ANY}},
};

static void same(const char *name, const char *what, int64_t got, int64_t want)
{
    if (want != ANY && got != want)
        fail_msg("%s: %s is %lld, not %lld", name, what, (long long)got, (long long)want);
}

static void counts_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        struct arena arena;
        const struct counted *c = &counts[i];
        arena_init(&arena, ARENA_BYTES_MAX);
        struct op_count got = op_count(bind(&arena, c->name, c->tensors, c->lines));
        same(c->name, "macs", got.macs, c->want.macs);
        same(c->name, "flops", got.flops, c->want.flops);
        same(c->name, "specials", got.specials, c->want.specials);
        same(c->name, "bytes_read", got.bytes_read, c->want.bytes_read);
        same(c->name, "bytes_written", got.bytes_written, c->want.bytes_written);
        same(c->name, "bytes_unfused", got.bytes_unfused, c->want.bytes_unfused);
        arena_release(&arena);
    }
}

/* Distinct elements of x. */
struct read {
    const char *name, *tensors, *lines;
    int64_t want;
};
static const struct read reads[] = {
    {"every second", "x<10 y>5", "y[i] = x[2 * i]", 5},
    {"two of three", "x<12 y>4", "y[i] = sum(r:2) x[3 * i + r]", 8},
    {"overlapping windows", "x<12 y>4", "y[i] = sum(r:5) x[2 * i + r]", 11},
    {"dilated and padded", "x<12 y>4", "y[i] = sum(r:3) pad(x[i + 5 * r - 2])", 10},
    {"a strided window in clipped steps", "x<9 y>6", "y[i] = pad(x[4 * i - 3])", 2},
    {"diagonal", "x<6,6 y>6", "y[i] = x[i,i]", 6},
    {"band", "x<6,8 y>6", "y[i] = sum(j:3) x[i,i + j]", 18},
    {"triangle", "x<6,6 y>6", "y[n:6] = sum(j:6 <= n) x[n,j]", 21},
    {"part of a scan", "x<9 y>6", "y[n] = sum(j:9 <= n) x[j]", 6},
    {"union of two runs", "x<6 y>4", "y[i] = x[i + 0] + x[i + 2]", 6},
    {"union with a gap", "x<9 y>3", "y[i] = x[i + 0] + x[i + 6]", 6},
    {"evens and odds", "x<8 y>4", "y[i] = x[2 * i] + x[2 * i + 1]", 8},
    {"row and column", "x<5,5 y>5", "y[i] = x[i,0] + x[0,i]", 9},
    {"row, column and diagonal", "x<5,5 y>5", "y[i] = x[i,2] + x[2,i] + x[i,i]", 13},
    {"two boxes", "x<9,9 y>3,3", "y[i,j] = x[i + 0,j + 0] + x[i + 2,j + 2]", 17},
    {"one box inside another", "x<9,9 y>3,3", "y[i,j] = x[i + 0,j + 0] + x[i / 2,j / 2]", 9},
    {"quotient", "x<9 y>8", "y[i] = x[i / 3]", 3},
    {"remainder", "x<9 y>8", "y[i] = x[i % 3 * 4]", 3},
    {"rotation", "x<8 y>8", "y[i] = x[(i + 4) % 8]", 8},
    {"flattened", "x<24 y>4,6", "y[i,j] = x[i * 6 + j]", 24},
    {"unflattened", "x<4,6 y>24", "y[i] = x[i / 6,i % 6]", 24},
    {"half of it", "x<4,6 y>12", "y[i] = x[i / 6,i % 6]", 12},
    {"chosen by a condition", "x<9 y>8", "y[i] = x[i < 4 ? 0 : i]", 5},
    {"outside only", "x<9 y>8", "y[i] = pad(x[i + 9])", 0},
    {"by another statement", "x<9 y>8 z>4", "y[i] = x[i + 0];z[i] = x[2 * i + 2]", 9},
    {"at a data-dependent place", "x<4,5 k<5:i64 y>5", "y[i] = x[k[i],i]", 5},
};

static void reads_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(reads); i++) {
        struct arena arena;
        arena_init(&arena, ARENA_BYTES_MAX);
        const struct bound_op *bound =
            bind(&arena, reads[i].name, reads[i].tensors, reads[i].lines);
        same(reads[i].name, "elements read",
             op_elements_read(bound, op_tensor_find(bound->op, STR_LIT("x"))), reads[i].want);
        arena_release(&arena);
    }
}

/* Iterations of scans of all kinds and sizes, by enumeration. */
static void scans_are_counted(void **state)
{
    static const char *const bounds[] = {"<", "<=", ">", ">="};
    (void)state;
    for (int64_t steps = 1; steps < 6; steps++)
        for (int64_t extent = 1; extent < 6; extent++)
            for (int first = 0; first < 4; first++)
                for (int second = 0; second < 5; second++) {
                    struct arena arena;
                    char tensors[64];
                    char line[96];
                    int64_t want = 0;
                    arena_init(&arena, ARENA_BYTES_MAX);
                    snprintf(tensors, sizeof(tensors), "x<9 y>%d", (int)steps);
                    snprintf(line, sizeof(line), "y[n] = sum(i:%d %s n, j:3%s) x[0]", (int)extent,
                             bounds[first], second < 4 ? " < n" : "");
                    if (second < 4)
                        memcpy(strstr(line, "3 < n") + 2, bounds[second], 1);
                    for (int64_t n = 0; n < steps; n++)
                        for (int64_t i = 0; i < extent; i++)
                            for (int64_t j = 0; j < 3; j++) {
                                bool in = first == 0   ? i < n
                                          : first == 1 ? i <= n
                                          : first == 2 ? i > n
                                                       : i >= n;
                                bool also = second == 4 || (second < 2 ? j < n : j > n);
                                want += in && also;
                            }
                    const struct bound_op *bound = bind(&arena, line, tensors, line);
                    same(line, "iterations", op_iterations(bound, 0), want);
                    arena_release(&arena);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(reads_are_exact),
        cmocka_unit_test(scans_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
