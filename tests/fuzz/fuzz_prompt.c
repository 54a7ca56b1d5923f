/*
 * Any bytes as source, verdict and items of a prompt: headings outside of fences are ours and in
 * order, nothing that is not shown is in it, and the last blocks are the form of this op.
 *
 * The input is cut at NUL bytes into source, reason, detail, an item's head and its text.
 */
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/panic.h"

#include "synth/synth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 1 << 30, FENCE_MIN = 3 };

static const char spec[] =
    "{\"spec\":1,\"name\":\"relu\",\"dims\":{\"n\":[1,4096]},\"tensors\":[{\"name\":\"x\",\"role\":"
    "\"input\",\"dtype\":\"f32\",\"shape\":[\"n\"]},{\"name\":\"y\",\"role\":\"output\",\"dtype\":"
    "\"f32\",\"shape\":[\"n\"]}],\"body\":[\"y[i] = max(x[i], 0.0)\"],\"policy\":{\"finite_inputs\""
    ":true},\"tracks\":{\"f32\":{}},\"shapes\":{\"target\":[{\"n\":1024}],\"verify\":[]}}";

static struct str take(struct str *rest)
{
    size_t len = rest->len > 0 ? strnlen(rest->at, rest->len) : 0;
    struct str part = {rest->at, len};
    size_t used = len < rest->len ? len + 1 : len;
    *rest = (struct str){rest->at + used, rest->len - used};
    return part;
}

static size_t backticks(struct str line)
{
    size_t n = 0;
    while (n < line.len && line.at[n] == '`')
        n++;
    return n;
}

/* Walks the text as Markdown does; each heading must be a later part than the one before. */
static void check_structure(struct str text)
{
    struct str line;
    size_t open = 0, next = 0;
    while (str_next_line(&text, &line)) {
        size_t run = backticks(line);
        if (open > 0) {
            open = run >= open && run == line.len ? 0 : open;
        } else if (run >= FENCE_MIN) {
            open = run;
        } else if (str_has_prefix(line, STR_LIT("#"))) {
            struct str title = {line.at + 2, line.len - 2};
            while (next < PROMPT_PART_COUNT &&
                   !str_equal(title, str_from(prompt_part_title((enum prompt_part)next))))
                next++;
            ASSERT(next < PROMPT_PART_COUNT);
            next++;
        }
    }
    ASSERT(open == 0 && next == PROMPT_PART_COUNT);
}

static void check(struct arena *arena, const struct prompt *prompt)
{
    const struct json *json;
    const struct manifest *manifest;
    struct extracted reply;
    struct err err;
    ASSERT(json_is_text(prompt->user));
    for (size_t i = 0; i < prompt->user.len; i++) {
        unsigned char c = (unsigned char)prompt->user.at[i];
        ASSERT((c >= ' ' && c != 0x7f) || c == '\n' || c == '\t');
    }
    ASSERT(memmem(prompt->user.at, prompt->user.len, "<|", 2) == NULL);
    check_structure(prompt->user);
    ASSERT(extract_reply(arena, prompt->user, &reply, &err));
    ASSERT(str_has_prefix(reply.cuda, STR_LIT("extern \"C\" __global__ void __launch_bounds__")));
    ASSERT(json_parse(arena, reply.manifest, "manifest", &json, &err));
    ASSERT(manifest_parse(arena, json, &manifest, &err));
}

static void write(struct arena *arena, const struct bound_op *target, struct str input)
{
    struct str source = take(&input), reason = take(&input), detail = take(&input);
    struct prompt_item item = {.head = take(&input)};
    item.text = input;
    const struct prompt_list list = {&item, 1};
    const struct prompt_kernel last = {source.len > 0 ? source : STR_LIT("x"), detail, 1};
    const struct prompt_kernel incumbent = {detail, source, 1};
    const struct prompt_verdict verdict = {.validity = VALIDITY_WRONG,
                                           .gate = GATE_COMPARE,
                                           .reason = reason,
                                           .detail = detail,
                                           .shape = item.head,
                                           .worst = {.present = true, .tensor = item.head}};
    const struct prompt_input in = {
        .target = target,
        .arch = "sm_90a",
        .smem_bytes_max = 1024,
        .structure = list,
        .preservation = list,
        .primitives = list,
        .composition = list,
        .evidence = list,
        .plan_notes = list,
        .constraints = list,
        .directions = list,
        .history = list,
        .incumbent = &incumbent,
        .last = &last,
        .verdict = &verdict,
    };
    struct prompt prompt;
    struct err err;
    ASSERT(prompt_write(arena, &in, &prompt, &err));
    check(arena, &prompt);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    const struct op *op;
    const struct bound_op *target;
    struct err err;
    arena_init(&arena, ARENA_BYTES);
    ASSERT(op_parse(&arena, STR_LIT(spec), "relu", NULL, &op, &err));
    ASSERT(op_bind_shape(&arena, op, &op->targets[0], &target, &err));
    write(&arena, target, (struct str){(const char *)data, size});
    arena_release(&arena);
    return 0;
}
