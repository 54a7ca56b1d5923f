/*
 * Contractions on CUDA cores: a block computes BM x BN elements of one batch, a thread TM x TN of
 * them, BK steps of k at a time through shared memory.
 *
 * The loops of each group (batch, m, n, k) are one flat number, taken apart where a factor is read;
 * so a factor may be any expression over its loops: transposed, cast, padded, a window of an image.
 * Positions outside the op read as zero and are not written, so every extent is served.  Sums run
 * in float (double for f64); each stage of BK terms is summed apart and then added, which keeps the
 * error of long sums near the square root of the number of stages.
 *
 * A thread's rows lie in groups of four, so that it reads shared memory four words at a time.
 *
 * Invariant: both barriers are reached by all threads, because k advances alike in all of them.
 */
#include "synth/realise_int.h"

enum { TILE_LANES = 4, TILE_PAD = 4 };

struct tile_text {
    const struct tile *tile;
    struct kernel_text kernel;
    struct cuda *out;
    int64_t block[TILE_GROUPS]; /* BM, BN, BK at their group */
    int64_t thread[TILE_GROUPS];
    int64_t threads;
    bool reverse;     /* the last tile first */
    const char *type; /* of sums and shared memory */
    enum value_class class;
    const char **loops;
    const char **cell; /* by tensor: the element of this position, in a register */
};

static bool serve_cell(void *context, const struct printer *printer, const struct expr *read,
                       const char **text)
{
    struct tile_text *t = context;
    (void)printer;
    *text = t->cell[read->tensor];
    return *text != NULL;
}

static struct printer tile_printer(struct tile_text *t, const struct stmt *stmt)
{
    return (struct printer){.arena = t->kernel.arena,
                            .op = t->tile->op,
                            .stmt = stmt,
                            .names = &t->kernel.names,
                            .loops = t->loops,
                            .uses = t->kernel.uses,
                            .served = serve_cell,
                            .context = t};
}

static const char *count_text(struct tile_text *t, enum tile_group group)
{
    struct printer p = tile_printer(t, t->tile->contraction);
    return print_formula(&p, tile_extent(t->kernel.arena, t->tile, group));
}

static void print_group(struct tile_text *t, enum tile_group group, const char *flat)
{
    struct printer p = tile_printer(t, t->tile->contraction);
    print_indices(t->out, &p, flat, t->tile->loops[group], t->loops, t->tile->contraction->loops,
                  t->tile->loop_count[group]);
}

static void print_head(struct tile_text *t)
{
    long long bm = (long long)t->block[TILE_M], bn = (long long)t->block[TILE_N];
    long long bk = (long long)t->block[TILE_K], tn = (long long)t->thread[TILE_N];
    struct cuda *out = t->out;
    cuda_line(out, "__shared__ __align__(16) %s a_tile[%lld][%lld], b_tile[%lld][%lld];", t->type,
              bk, bm + TILE_PAD, bk, bn + TILE_PAD);
    cuda_line(out, "const i64 m_count = %s, n_count = %s, k_count = %s;", count_text(t, TILE_M),
              count_text(t, TILE_N), count_text(t, TILE_K));
    cuda_line(out, "const i64 across = (n_count + %lld) / %lld, down = (m_count + %lld) / %lld;",
              bn - 1, bn, bm - 1, bm);
    if (t->reverse)
        cuda_line(out, "const i64 id = gridDim.x - 1 - blockIdx.x;");
    const char *place = t->reverse ? "id" : "blockIdx.x";
    cuda_line(out, "const i64 first_n = %s %% across * %lld;", place, bn);
    cuda_line(out, "const i64 first_m = %s / across %% down * %lld;", place, bm);
    if (t->tile->loop_count[TILE_BATCH] > 0) {
        cuda_line(out, "const i64 batch = %s / across / down;", place);
        print_group(t, TILE_BATCH, "batch");
    }
    cuda_line(out, "const int tid = threadIdx.x, tx = tid %% %lld, ty = tid / %lld;", bn / tn,
              bn / tn);
    cuda_line(out, "%s sum[%lld][%lld] = {};", t->type, (long long)t->thread[TILE_M], tn);
}

/* One factor's part of the stage, from memory to shared memory. */
static void print_stage(struct tile_text *t, const struct expr *factor, enum tile_group group,
                        bool along_k)
{
    struct cuda *out = t->out;
    const char *letter = group == TILE_M ? "m" : "n";
    long long wide = (long long)t->block[group], deep = (long long)t->block[TILE_K];
    struct printer p = tile_printer(t, t->tile->contraction);
    cuda_line(out, "#pragma unroll 4");
    cuda_open(out, "for (int cell = tid; cell < %lld; cell += %lld)", wide * deep,
              (long long)t->threads);
    if (along_k)
        cuda_line(out, "const int tile_k = cell %% %lld, tile_%s = cell / %lld;", deep, letter,
                  deep);
    else
        cuda_line(out, "const int tile_%s = cell %% %lld, tile_k = cell / %lld;", letter, wide,
                  wide);
    cuda_line(out, "const i64 flat_%s = first_%s + tile_%s, flat_k = k_start + tile_k;", letter,
              letter, letter);
    cuda_line(out, "%s term = 0;", t->type);
    cuda_open(out, "if (flat_%s < %s_count && flat_k < k_count)", letter, letter);
    print_group(t, group, text_fmt(t->kernel.arena, "flat_%s", letter));
    print_group(t, TILE_K, "flat_k");
    cuda_line(out, "term = %s;",
              print_outer(&p, factor, t->class == CLASS_F64 ? DTYPE_F64 : DTYPE_F32));
    cuda_close(out);
    cuda_line(out, "%c_tile[tile_k][tile_%s] = term;", group == TILE_M ? 'a' : 'b', letter);
    cuda_close(out);
}

/* The column of a thread's i-th row inside the tile: groups of four rows, a stride apart. */
static const char *own_place(struct tile_text *t, enum tile_group group, const char *i)
{
    long long lanes = t->thread[group] < TILE_LANES ? (long long)t->thread[group] : TILE_LANES;
    long long stride = (long long)(t->block[group] / t->thread[group]) * lanes;
    const char *who = group == TILE_M ? "ty" : "tx";
    if (t->thread[group] <= TILE_LANES)
        return text_fmt(t->kernel.arena, "%s * %lld + %s", who, lanes, i);
    return text_fmt(t->kernel.arena, "%s / %lld * %lld + %s * %lld + %s %% %lld", i, lanes, stride,
                    who, lanes, i, lanes);
}

static void print_unrolled(struct tile_text *t, const char *name, int64_t count)
{
    cuda_line(t->out, "#pragma unroll");
    cuda_open(t->out, "for (int %s = 0; %s < %lld; ++%s)", name, name, (long long)count, name);
}

static void print_products(struct tile_text *t)
{
    long long tm = (long long)t->thread[TILE_M], tn = (long long)t->thread[TILE_N];
    struct cuda *out = t->out;
    cuda_line(out, "%s fresh[%lld][%lld] = {};", t->type, tm, tn);
    print_unrolled(t, "step", t->block[TILE_K]);
    cuda_line(out, "%s a_reg[%lld], b_reg[%lld];", t->type, tm, tn);
    print_unrolled(t, "i_", tm);
    cuda_line(out, "a_reg[i_] = a_tile[step][%s];", own_place(t, TILE_M, "i_"));
    cuda_close(out);
    print_unrolled(t, "j_", tn);
    cuda_line(out, "b_reg[j_] = b_tile[step][%s];", own_place(t, TILE_N, "j_"));
    cuda_close(out);
    print_unrolled(t, "i_", tm);
    print_unrolled(t, "j_", tn);
    cuda_line(out, "fresh[i_][j_] += a_reg[i_] * b_reg[j_];");
    cuda_close(out);
    cuda_close(out);
    cuda_close(out);
    print_unrolled(t, "i_", tm);
    print_unrolled(t, "j_", tn);
    cuda_line(out, "sum[i_][j_] += fresh[i_][j_];");
    cuda_close(out);
    cuda_close(out);
}

static void print_epilogue_stmt(struct tile_text *t, const struct stmt *stmt, const char *value,
                                enum value_class class)
{
    struct printer p = tile_printer(t, stmt);
    const struct tensor *target = &t->tile->op->tensors[stmt->target];
    const char *name = names_take(
        &t->kernel.names,
        str_from(text_fmt(t->kernel.arena, "%s_cell", t->kernel.names.tensors[stmt->target])));
    const char *type = value_class_c(class);
    cuda_line(t->out, "const %s %s = %s;", type, name, value);
    t->cell[stmt->target] = name;
    if (t->tile->stored[stmt->target])
        cuda_line(t->out, "%s",
                  print_store(&p, stmt->target, print_position(&p, stmt->target, t->loops), name,
                              value_class_of(target->dtype)));
}

static void print_epilogue(struct tile_text *t)
{
    struct cuda *out = t->out;
    const struct op *op = t->tile->op;
    print_unrolled(t, "i_", t->thread[TILE_M]);
    print_unrolled(t, "j_", t->thread[TILE_N]);
    cuda_line(out, "const i64 flat_m = first_m + %s;", own_place(t, TILE_M, "i_"));
    cuda_line(out, "const i64 flat_n = first_n + %s;", own_place(t, TILE_N, "j_"));
    cuda_open(out, "if (flat_m < m_count && flat_n < n_count)");
    print_group(t, TILE_M, "flat_m");
    print_group(t, TILE_N, "flat_n");
    for (size_t i = 0; i < t->tile->count; i++) {
        const struct stmt *stmt = &op->stmts[t->tile->stmts[i]];
        enum dtype dtype = op->tensors[stmt->target].dtype;
        struct printer p = tile_printer(t, stmt);
        print_epilogue_stmt(t, stmt, i == 0 ? "sum[i_][j_]" : print_outer(&p, stmt->value, dtype),
                            value_class_of(dtype));
    }
    cuda_close(out);
    cuda_close(out);
    cuda_close(out);
}

static void print_tile_body(struct tile_text *t)
{
    struct cuda *out = t->out;
    print_head(t);
    cuda_open(out, "for (i64 k_start = 0; k_start < k_count; k_start += %lld)",
              (long long)t->block[TILE_K]);
    print_stage(t, t->tile->a, TILE_M, t->tile->a_along_k);
    print_stage(t, t->tile->b, TILE_N, t->tile->b_along_k);
    cuda_line(out, "__syncthreads();");
    print_products(t);
    cuda_line(out, "__syncthreads();");
    cuda_close(out);
    print_epilogue(t);
}

static const struct plan_tile *group_tile(const struct tile_text *t,
                                          const struct plan_region *region, enum tile_group group)
{
    size_t last = t->tile->loops[group][t->tile->loop_count[group] - 1];
    return region_tile(region, t->tile->contraction->loops[last].name);
}

static bool tile_numbers(struct tile_text *t, const struct plan_region *region, struct err *err)
{
    for (enum tile_group group = TILE_M; group <= TILE_K; group++) {
        const struct plan_tile *tile = group_tile(t, region, group);
        if (tile == NULL)
            return err_raise(err, ERR_UNSUPPORTED, "the plan tiles no loop of the %s side",
                             group == TILE_M   ? "first factor's"
                             : group == TILE_N ? "second factor's"
                                               : "summed");
        t->block[group] = group == TILE_K ? tile->step : tile->block;
        t->thread[group] = group == TILE_K ? 1 : tile->thread;
        bool lanes = t->thread[group] <= TILE_LANES || t->thread[group] % TILE_LANES == 0;
        if (t->block[group] < 1 || t->block[group] > 256 || t->thread[group] < 1 ||
            t->thread[group] > 16 || t->block[group] % t->thread[group] != 0 || !lanes)
            return err_raise(err, ERR_UNSUPPORTED, "tile %lld by thread %lld does not divide up",
                             (long long)t->block[group], (long long)t->thread[group]);
    }
    t->threads = t->block[TILE_M] / t->thread[TILE_M] * (t->block[TILE_N] / t->thread[TILE_N]);
    if (t->threads != region->threads[0] || t->threads > 1024)
        return err_raise(err, ERR_UNSUPPORTED, "the tile needs %lld threads, the plan says %lld",
                         (long long)t->threads, (long long)region->threads[0]);
    return true;
}

static const struct formula *tile_blocks(const struct tile_text *t, struct arena *arena)
{
    const struct formula *blocks = tile_extent(arena, t->tile, TILE_BATCH);
    for (enum tile_group group = TILE_M; group <= TILE_N; group++)
        blocks =
            formula_mul(arena, blocks,
                        formula_binary(arena, FORMULA_CEILDIV, tile_extent(arena, t->tile, group),
                                       formula_int(arena, t->block[group])));
    if (t->tile->op->policy.zero_dims)
        blocks = formula_binary(arena, FORMULA_MAX, formula_int(arena, 1), blocks);
    return blocks;
}

bool realise_tile(struct file_text *file, const struct tile *tile, const struct plan_region *region,
                  const char *comment, struct err *err)
{
    struct arena *arena = file->arena;
    size_t tensors = tile->op->tensor_count + 1;
    const struct stmt *stmt = tile->contraction;
    struct tile_text t = {.tile = tile,
                          .reverse = region->reverse,
                          .class = value_class_of(stmt->value->dtype),
                          .loops = arena_array(arena, const char *, stmt->loop_count + 1),
                          .cell = arena_array(arena, const char *, tensors)};
    t.type = value_class_c(t.class);
    if (!tile_numbers(&t, region, err))
        return false;
    kernel_begin(&t.kernel, file);
    t.out = &t.kernel.body;
    for (size_t i = 0; i < stmt->loop_count; i++)
        t.loops[i] = names_take(&t.kernel.names, stmt->loops[i].name);
    print_tile_body(&t);
    bool *written = arena_array(arena, bool, tensors);
    for (size_t i = 0; i < tile->count; i++)
        written[tile->op->stmts[tile->stmts[i]].target] = true;
    struct kernel_launch launch = {
        .label = file->names.tensors[tile->op->stmts[tile->stmts[tile->count - 1]].target],
        .comment = comment,
        .grid = tile_blocks(&t, arena),
        .threads = t.threads,
        .written = written,
        .launch_bounds = true};
    return kernel_end(&t.kernel, file, &launch, NULL, err);
}
