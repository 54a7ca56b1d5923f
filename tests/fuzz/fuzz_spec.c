/*
 * Any text at all: it is refused, or its canonical document reads back to an op that prints the
 * same.  A text that does not start with '{' is taken as the lines of a body over fixed tensors.
 * What is accepted is also bound to another shape and counted, brought to its normal form and
 * rewritten in every way.
 */
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/panic.h"

#include "solver/ir/count.h"
#include "solver/ir/op.h"
#include "solver/legal/legal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 1 << 30, TEXT_BYTES = 16 << 20, LINES_MAX = 200, REWRITTEN_MAX = 12 };

static void put_tensor(struct json_writer *w, const char *name, const char *role, const char *dtype,
                       const char *one, const char *two)
{
    json_open_object(w);
    json_key(w, "name");
    json_put_text(w, name);
    json_key(w, "role");
    json_put_text(w, role);
    json_key(w, "dtype");
    json_put_text(w, dtype);
    json_key(w, "shape");
    json_open_array(w);
    json_put_text(w, one);
    if (two)
        json_put_text(w, two);
    json_close_array(w);
    json_close_object(w);
}

static void put_lines(struct json_writer *w, struct str lines)
{
    struct str line;
    json_key(w, "body");
    json_open_array(w);
    /* so that no input is unread */
    json_put_text(w, "all_inputs[m,n] = x[m,n] + f32(k[m]) + h[0,0]");
    for (size_t i = 0; i < LINES_MAX && str_next_line(&lines, &line); i++)
        json_put_str(w, line);
    json_close_array(w);
}

static void put_size(struct json_writer *w, const char *name, int64_t low, int64_t high)
{
    json_key(w, name);
    if (high) {
        json_open_array(w);
        json_put_int(w, low);
        json_put_int(w, high);
        json_close_array(w);
    } else {
        json_put_int(w, low);
    }
}

static struct str around_body(struct arena *arena, struct str lines)
{
    struct buf out;
    struct json_writer w;
    buf_init(&out, arena, TEXT_BYTES);
    json_writer_init(&w, &out);
    json_open_object(&w);
    put_size(&w, "spec", 1, 0);
    json_key(&w, "name");
    json_put_text(&w, "fuzz");
    json_key(&w, "dims");
    json_open_object(&w);
    put_size(&w, "M", 1, 64);
    put_size(&w, "N", 1, 64);
    put_size(&w, "D", 3, 0);
    json_close_object(&w);
    json_key(&w, "tensors");
    json_open_array(&w);
    put_tensor(&w, "x", "input", "f32", "M", "N");
    put_tensor(&w, "k", "input", "i32", "M", NULL);
    put_tensor(&w, "h", "state", "f32", "D", "N");
    put_tensor(&w, "y", "output", "f32", "M", "N");
    json_close_array(&w);
    json_key(&w, "tracks");
    json_open_object(&w);
    json_key(&w, "f32");
    json_open_object(&w);
    json_close_object(&w);
    json_close_object(&w);
    json_key(&w, "shapes");
    json_open_object(&w);
    json_key(&w, "target");
    json_open_array(&w);
    json_open_object(&w);
    put_size(&w, "M", 5, 0);
    put_size(&w, "N", 8, 0);
    json_close_object(&w);
    json_close_array(&w);
    json_close_object(&w);
    put_lines(&w, lines);
    json_close_object(&w);
    return buf_view(&out);
}

static struct str document(struct arena *arena, const struct op *op)
{
    struct buf out;
    struct str text;
    struct err err;
    buf_init(&out, arena, TEXT_BYTES);
    op_print_json(&out, op);
    ASSERT(buf_finish(&out, "document", &text, &err));
    return text;
}

static void check_op(struct arena *arena, const struct op *op)
{
    struct err err;
    const struct op *again = NULL;
    const struct bound_op *bound = NULL;
    struct str once = document(arena, op);
    if (!op_parse(arena, once, "canonical", NULL, &again, &err))
        panic("%s\n%.*s", err.text, STR_ARG(once));
    struct str twice = document(arena, again);
    if (!str_equal(once, twice))
        panic("%.*s\n%.*s", STR_ARG(once), STR_ARG(twice));
    if (op_bind_shape(arena, op, &op->targets[0], &bound, &err)) {
        struct op_count count = op_count(bound);
        ASSERT(count.flops >= 0 && count.bytes_read >= 0);
    }
}

/* The results were parsed, so they are well-formed; a refusal has its reason. */
static void check_rewrites(struct arena *arena, const struct op *op)
{
    const struct op *normal;
    struct err err;
    size_t count;
    const struct rewrite *all = rewrite_list(arena, op, 4, &count);
    if (!op_normal(arena, op, &normal, &err))
        ASSERT(err.text[0] != '\0');
    for (size_t i = 0; i < count; i++) {
        struct rewritten out;
        preserve_apply(arena, op, &all[i], &out);
        ASSERT(out.text.len > 0 && (out.op == NULL || out.bound_scale >= 1));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    const struct op *op = NULL;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    struct str text = {(const char *)data, size};
    bool whole = size > 0 && data[0] == '{';
    if (!whole)
        text = around_body(&arena, text);
    if (op_parse(&arena, text, "fuzz", NULL, &op, &err))
        check_op(&arena, op);
    if (op != NULL && op->stmt_count <= REWRITTEN_MAX)
        check_rewrites(&arena, op);
    arena_release(&arena);
    return 0;
}
