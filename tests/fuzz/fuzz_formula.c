/* A formula is refused, or its canonical text reads back as the same tree; evaluation never traps.
 */
#include <stdint.h>

#include "base/panic.h"

#include "solver/ir/formula.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 1 << 30, TEXT_BYTES = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct str names[] = {{"M", 1}, {"N", 1}};
    static const int64_t values[] = {INT64_MIN, 3};
    static const struct formula_env env = {names, values, 2};
    struct arena arena;
    struct buf text;
    const struct formula *formula, *again;
    struct err err;
    int64_t a = 0, b = 0;
    arena_init(&arena, ARENA_BYTES);
    if (formula_parse(&arena, (struct str){(const char *)data, size}, "input", &formula, &err)) {
        buf_init(&text, &arena, TEXT_BYTES);
        formula_print(&text, formula);
        if (text.len <= FORMULA_BYTES_MAX) {
            ASSERT(formula_parse(&arena, buf_view(&text), "canonical", &again, &err));
            ASSERT(formula_equal(formula, again));
            bool first = formula_eval(formula, &env, &a, &err);
            ASSERT(first == formula_eval(again, &env, &b, &err) && a == b);
        }
    }
    arena_release(&arena);
    return 0;
}
