#ifndef SYNTH_CANDIDATE_INT_H
#define SYNTH_CANDIDATE_INT_H

#include "synth/synth_int.h"

/*
 * Expressions of candidates as CUDA text.  Values live in registers as double (f64), float (all
 * narrower floats), i64 (integers) or bool; narrow formats are rounded where the spec casts and
 * where a tensor is stored.
 */
enum value_class { CLASS_F64, CLASS_F32, CLASS_INT, CLASS_BOOL };
enum value_class value_class_of(enum dtype dtype);
const char *value_class_c(enum value_class class); /* "double", "float", "i64", "bool" */
const char *storage_c(enum dtype dtype);           /* type of a tensor's elements in memory */

/* Device functions that a file prints only when something calls them. */
#define HELPERS(X)                                                                                 \
    X(FLOOR_DIV)                                                                                   \
    X(FLOOR_MOD)                                                                                   \
    X(SHIFT_LEFT)                                                                                  \
    X(SHIFT_RIGHT)                                                                                 \
    X(NAN_MIN)                                                                                     \
    X(NAN_MAX)                                                                                     \
    X(SIGN)                                                                                        \
    X(INT_ABS)                                                                                     \
    X(REAL_TO_INT)                                                                                 \
    X(ROUND_TF32)                                                                                  \
    X(BETTER_MAX)                                                                                  \
    X(BETTER_MIN)                                                                                  \
    X(TWO_SUM)                                                                                     \
    X(CEILDIV)                                                                                     \
    X(WIDEN)                                                                                       \
    X(WIDEN_F16)                                                                                   \
    X(WIDEN_BF16)                                                                                  \
    X(VECTORS)                                                                                     \
    X(COMBINE)                                                                                     \
    X(COMBINE_MAX)                                                                                 \
    X(COMBINE_MIN)                                                                                 \
    X(ARG)                                                                                         \
    X(ARG_MAX)                                                                                     \
    X(ARG_MIN)                                                                                     \
    X(SHUFFLE)                                                                                     \
    X(SHUFFLE_ARG)                                                                                 \
    X(WARP_ALL)                                                                                    \
    X(BLOCK_ALL)

enum helper {
#define X(id) HELPER_##id,
    HELPERS(X)
#undef X
        HELPER_COUNT
};

/* What a piece of text refers to. */
struct uses {
    bool *tensors; /* by tensor of the op */
    bool *dims;
    bool *file_dims; /* constants: declared once a file */
    bool helpers[HELPER_COUNT];
    bool f16, bf16, fp8;
};
void uses_init(struct uses *uses, struct arena *arena, const struct op *op);
void uses_begin_kernel(struct uses *uses, const struct op *op); /* forgets tensors and dims */

struct printer {
    struct arena *arena;
    const struct op *op;
    const struct stmt *stmt;
    const struct names *names;
    const char *const *loops; /* the C++ name of each loop of stmt */
    struct uses *uses;
    /* Where a read is served from something else than memory: fills *text, true. */
    bool (*served)(void *context, const struct printer *printer, const struct expr *read,
                   const char **text);
    void *context;
};

/* Text of an expression in the class of `as`; safe as an operand of any operator. */
const char *print_value(const struct printer *printer, const struct expr *expr, enum dtype as);
/* The same, as the right side of an assignment or an argument. */
const char *print_outer(const struct printer *printer, const struct expr *expr, enum dtype as);
/* An i64 that can stand beside + and comparisons. */
const char *print_subscript(const struct printer *printer, const struct expr *expr);
const char *print_formula(const struct printer *printer, const struct formula *formula);
/* Row-major position of subscripts given as text. */
const char *print_position(const struct printer *printer, size_t tensor, const char *const *subs);
/* "tensor[position] = value;" with the rounding of the tensor's dtype. */
const char *print_store(const struct printer *printer, size_t tensor, const char *position,
                        const char *value, enum value_class from);
/* value in memory form of dtype, and back to a register */
const char *print_narrow(struct arena *arena, struct uses *uses, enum dtype dtype,
                         const char *value, enum value_class from);
const char *print_widen(struct arena *arena, struct uses *uses, enum dtype dtype,
                        const char *element);
/* The identity of max (lowest) or min. */
const char *extreme_text(enum dtype dtype, bool lowest);
/* In parentheses where an operator shows. */
const char *print_operand(struct arena *arena, const char *text);

/* An output whose storage may be an input's: may it be written while the input is still read? */
bool alias_is_safe(const struct op *op, size_t tensor);
bool op_has_alias(const struct op *op);

/* ---- one kernel being written ---- */

struct kernel_text {
    struct arena *arena;
    const struct op *op;
    struct names names; /* the kernel's scope */
    struct uses *uses;
    struct cuda body;
};

/* A file being written. */
struct file_text {
    struct arena *arena;
    const struct op *op;
    struct names names;
    struct uses uses;
    struct launches launches;
    struct buf kernels;
    bool restrict_ok;         /* no tensor of the op may share storage */
    const bool *to_workspace; /* by tensor: outputs that live in a workspace until the end */
    size_t kernel_number;
    const struct formula *guard; /* what the kernels rely on; NULL = nothing */
};
void file_guard(struct file_text *file, const struct formula *condition);
void file_text_init(struct file_text *file, struct arena *arena, const struct op *op);
void kernel_begin(struct kernel_text *kernel, struct file_text *file);
/* Prints the kernel around its body and adds its launch.  Written tensors are not const. */
struct extra_arg {
    const char *parameter; /* "double *acc" */
    struct str workspace;
    const struct formula *bytes;
    bool zero;
};
struct kernel_launch {
    const char *label; /* of the entry's name */
    const char *comment;
    const struct formula *grid;
    int64_t threads;
    const bool *written; /* by tensor */
    const struct extra_arg *extra;
    size_t extra_count;
    bool launch_bounds;
};
bool kernel_end(struct kernel_text *kernel, struct file_text *file,
                const struct kernel_launch *launch, struct manifest_kernel **out,
                struct err *err) MUST_USE;
/* The tensor's home: its own argument, or workspace "t:NAME". */
bool tensor_in_workspace(const struct file_text *file, size_t tensor);

/* ---- the one-thread-an-element kernels (naive_kernels.c), also the realiser's last resort ---- */

/* `reverse`: threads take elements from the last on. */
bool naive_statement(struct file_text *file, size_t stmt, bool reverse, struct err *err) MUST_USE;
bool naive_seq(struct file_text *file, size_t seq, bool reverse, struct err *err) MUST_USE;
/* Copies outputs that lived in a workspace to their place. */
bool naive_final_copies(struct file_text *file, struct err *err) MUST_USE;
bool file_finish(struct file_text *file, const char *comment, const char *arch,
                 const struct formula *guard, const char *strategy, struct emitted *out,
                 struct err *err) MUST_USE;

#endif
