/*
 * The naive candidate: kernels of naive_kernels.c in the order of the statements.
 *
 * One text and one manifest serve all shapes: every extent is a kernel argument or a constant of
 * the spec.  It is the first candidate of every task and the yardstick of the others.
 */
#include "synth/candidate_int.h"

bool emit_naive(struct arena *arena, const struct op *op, const char *arch, struct emitted *out,
                struct err *err)
{
    struct file_text file;
    file_text_init(&file, arena, op);
    for (size_t i = 0; i < op->stmt_count; i++) {
        size_t seq = op->stmts[i].seq;
        if (seq == OP_NONE && !naive_statement(&file, i, false, err))
            return err_context(err, "%.*s", STR_ARG(op->name));
        if (seq != OP_NONE && op->seqs[seq].first == i && !naive_seq(&file, seq, false, err))
            return err_context(err, "%.*s", STR_ARG(op->name));
    }
    if (!naive_final_copies(&file, err))
        return err_context(err, "%.*s", STR_ARG(op->name));
    const char *comment = text_fmt(arena, " * %.*s, one thread an element, a kernel a statement.\n",
                                   STR_ARG(op->name));
    return file_finish(&file, comment, arch, formula_int(arena, 1), "naive", out, err);
}
