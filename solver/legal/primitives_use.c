/*
 * What an entry of the catalogue says of a statement, and of observed numbers; and the entry of a
 * statement that has no primitive: one thread an element, values where they are read.
 */
#include "base/vocab.h"

#include "solver/legal/primitives.h"

enum { WHY_BYTES_MAX = 1024, FORMULA_TEXT_BYTES = 8192 };

/* ---- one thread an element ---- */

#define READS(r) [READING_##r] = true
static const struct primitive_take none_takes[] = {
    {FORM_THREAD,
     {READS(ELEMENT), READS(ROW), READS(REDUCED)},
     {"each thread computes what it reads", 34}},
    {FORM_RECOMPUTED, {READS(ELEMENT), READS(ROW), READS(REDUCED)}, {NULL, 0}},
    {FORM_OWN, {READS(ELEMENT)}, {NULL, 0}},
    {FORM_LANES, {READS(ELEMENT), READS(ROW)}, {NULL, 0}},
    {FORM_BLOCK, {READS(ELEMENT), READS(ROW)}, {NULL, 0}},
    {FORM_SHARED_TILE,
     {READS(ELEMENT), READS(ROW), READS(REDUCED)},
     {"the block owns all that is read", 31}},
    {FORM_FRAGMENTS, {READS(ELEMENT)}, {NULL, 0}},
    {FORM_STEPS, {READS(STEP)}, {NULL, 0}},
};
#undef READS

const struct primitive_entry *primitive_none(void)
{
    static const struct formula always = {.op = FORMULA_INT, .value = 1};
    static const struct primitive_entry none = {
        .word = PRIMITIVE_COUNT,
        .name = {"thread-an-element", 17},
        .alignment = 1,
        .condition = &always,
        .gives = {true, true, true, true, true, true},
        .forms = {[KIND_MAP] = FORM_THREAD,
                  [KIND_REDUCTION] = FORM_OWN,
                  [KIND_CONTRACTION] = FORM_OWN,
                  [KIND_SCAN] = FORM_OWN,
                  [KIND_SCATTER] = FORM_PARTIALS,
                  [KIND_STEP] = FORM_STEPS},
        .takes = none_takes,
        .take_count = COUNT_OF(none_takes),
    };
    return &none;
}

/* ---- statements ---- */

static bool any_structure(const struct primitive_entry *entry, const bool *structures)
{
    for (size_t i = 0; i < STRUCTURE_COUNT; i++)
        if (entry->structures[i] && structures[i])
            return true;
    return entry->word == PRIMITIVE_COUNT;
}

static bool condition_holds(const struct primitive_entry *entry, const struct quantities *q)
{
    static const struct str names[] = {
#define X(name) {#name, sizeof(#name) - 1},
        QUANTITIES(X)
#undef X
    };
    const int64_t values[] = {
#define X(name) q->name,
        QUANTITIES(X)
#undef X
    };
    const struct formula_env env = {names, values, COUNT_OF(values)};
    int64_t value = 0;
    struct err err;
    return formula_eval(entry->condition, &env, &value, &err) && value != 0;
}

bool primitive_fits(struct arena *arena, const struct primitive_entry *entry,
                    const bool structures[STRUCTURE_COUNT], const struct quantities *quantities,
                    int64_t capability, struct str *why)
{
    struct buf text;
    buf_init(&text, arena, WHY_BYTES_MAX + FORMULA_TEXT_BYTES);
    if (!any_structure(entry, structures)) {
        buf_printf(&text, "the statement has none of the structures that %.*s needs",
                   STR_ARG(entry->name));
    } else if (capability < entry->capability) {
        buf_printf(&text, "%.*s needs compute capability %lld, the machine has %lld",
                   STR_ARG(entry->name), (long long)entry->capability, (long long)capability);
    } else if (!condition_holds(entry, quantities)) {
        buf_printf(&text, "%.*s needs ", STR_ARG(entry->name));
        formula_print(&text, entry->condition);
    } else {
        return true;
    }
    *why = buf_view(&text);
    return false;
}

/* ---- observed numbers ---- */

/* One '*' stands for any run of bytes. */
static bool name_matches(struct str pattern, struct str name)
{
    size_t star = 0;
    while (star < pattern.len && pattern.at[star] != '*')
        star++;
    if (star == pattern.len)
        return str_equal(pattern, name);
    struct str head = {pattern.at, star};
    struct str tail = {pattern.at + star + 1, pattern.len - star - 1};
    return name.len >= head.len + tail.len && str_has_prefix(name, head) &&
           str_equal((struct str){name.at + name.len - tail.len, tail.len}, tail);
}

static double sum_of(const struct str *patterns, size_t count,
                     const struct observed_numbers *numbers)
{
    double sum = 0;
    for (size_t i = 0; i < numbers->count; i++)
        for (size_t k = 0; k < count; k++)
            if (name_matches(patterns[k], numbers->names[i])) {
                sum += numbers->values[i];
                break;
            }
    return sum;
}

bool primitive_shown(const struct primitive_entry *entry, const struct observed_numbers *numbers)
{
    for (size_t i = 0; i < entry->sign_count; i++) {
        const struct primitive_sign *sign = &entry->signs[i];
        double value = sum_of(sign->names, sign->name_count, numbers);
        double per = sign->per_count == 0 ? 1 : sum_of(sign->per, sign->per_count, numbers);
        if (!(per > 0) || !(value / per >= sign->least))
            return false;
    }
    return entry->sign_count > 0;
}
