/*
 * Documents of the catalogue of primitives, from and to JSON, and what they say of a statement or
 * of observed numbers.
 *
 * Invariant: a form is taken or refused by a primitive, never both; formulas know their names; so
 * nothing that was accepted fails later but by overflow, which counts as "does not fit".
 *
 * Not here: which primitives combine (composing.c), and files.
 */
#include "solver/legal/primitives.h"

#include <string.h>

#include "base/panic.h"
#include "base/vocab.h"

enum {
    TEXT_BYTES_LIMIT = 500,
    NAME_BYTES_LIMIT = 64,
    LIST_MAX = 32,
    CAPABILITY_LIMIT = 999,
    ALIGNMENT_LIMIT = 256
};
#define PARAMETER_LIMIT (INT64_C(1) << 40)

static const char *const form_words[] = {
#define X(id, word, why) word,
    VALUE_FORMS(X)
#undef X
};
static const char *const form_whys[] = {
#define X(id, word, why) why,
    VALUE_FORMS(X)
#undef X
};
static const char *const reading_words[] = {
#define X(id, word, why) word,
    READINGS(X)
#undef X
};
static const char *const reading_whys[] = {
#define X(id, word, why) why,
    READINGS(X)
#undef X
};
static const char *const kind_words[] = {
#define X(id, word) word,
    STMT_KINDS(X)
#undef X
};
static const char *const primitive_words[] = {
#define PRIMITIVE(id, name) name,
#include "base/vocab.def"
};
static const char *const structure_words[] = {
#define STRUCTURE(id, name) name,
#include "base/vocab.def"
};
static const struct str quantity_names[] = {
#define X(name) {#name, sizeof(#name) - 1},
    QUANTITIES(X)
#undef X
};

const char *form_word(enum value_form form)
{
    ASSERT((size_t)form < COUNT_OF(form_words));
    return form_words[form];
}

const char *form_why(enum value_form form)
{
    ASSERT((size_t)form < COUNT_OF(form_whys));
    return form_whys[form];
}

const char *reading_word(enum reading reading)
{
    ASSERT((size_t)reading < COUNT_OF(reading_words));
    return reading_words[reading];
}

const char *reading_why(enum reading reading)
{
    ASSERT((size_t)reading < COUNT_OF(reading_whys));
    return reading_whys[reading];
}

const char *stmt_kind_word(enum stmt_kind kind)
{
    ASSERT((size_t)kind < COUNT_OF(kind_words));
    return kind_words[kind];
}

/* ---- reading: pieces ---- */

static bool check_text(const struct json *value, size_t most, struct str *out, struct err *err)
{
    if (value->kind != JSON_STRING)
        return json_fail(value, err, "expected a string");
    if (value->string.len == 0 || value->string.len > most)
        return json_fail(value, err, "expected a text of 1 to %zu bytes", most);
    *out = value->string;
    return true;
}

static bool need_text(const struct json *object, const char *key, size_t most, struct str *out,
                      struct err *err)
{
    const struct json *value;
    return json_need(object, key, JSON_STRING, &value, err) && check_text(value, most, out, err);
}

static bool read_formula(struct arena *arena, const struct json *object, const char *key,
                         const struct str *names, size_t count, const struct formula **out,
                         struct err *err)
{
    struct str text;
    if (!need_text(object, key, TEXT_BYTES_LIMIT, &text, err))
        return false;
    const struct json *value = json_get(object, key);
    if (!formula_parse(arena, text, "", out, err))
        return json_fail(value, err, "%s", err->text);
    struct str unknown = formula_unknown_name(*out, names, count);
    if (unknown.len > 0)
        return json_fail(value, err, "the name %.*s means nothing here", STR_ARG(unknown));
    return true;
}

/* Words of a vocabulary, each at most once; `marks` has one flag a word. */
static bool read_words(const struct json *object, const char *key, const char *const *words,
                       size_t count, bool *marks, struct err *err)
{
    const struct json *array;
    if (!json_need_array(object, key, 1, count, &array, err))
        return false;
    for (size_t i = 0; i < array->count; i++) {
        size_t word;
        if (!json_word(&array->items[i], words, count, &word, err))
            return false;
        if (marks[word])
            return json_fail(&array->items[i], err, "%s is there twice", words[word]);
        marks[word] = true;
    }
    return true;
}

static bool read_texts(struct arena *arena, const struct json *object, const char *key,
                       size_t least, const struct str **out, size_t *count, struct err *err)
{
    const struct json *array;
    if (!json_need_array(object, key, least, LIST_MAX, &array, err))
        return false;
    struct str *texts = arena_array(arena, struct str, array->count + 1);
    for (size_t i = 0; i < array->count; i++)
        if (!check_text(&array->items[i], TEXT_BYTES_LIMIT, &texts[i], err))
            return false;
    *out = texts;
    *count = array->count;
    return true;
}

static bool check_object(const struct json *item, struct err *err)
{
    return item->kind == JSON_OBJECT || json_fail(item, err, "expected an object");
}

/* ---- reading: members ---- */

static bool read_needs(struct arena *arena, const struct json *json, struct primitive_entry *entry,
                       struct err *err)
{
    static const char *const known[] = {"structures", "capability", "alignment", "condition", NULL};
    const struct json *needs;
    return json_need(json, "needs", JSON_OBJECT, &needs, err) && json_only(needs, known, err) &&
           read_words(needs, "structures", structure_words, COUNT_OF(structure_words),
                      entry->structures, err) &&
           json_need_int(needs, "capability", 0, CAPABILITY_LIMIT, &entry->capability, err) &&
           json_need_int(needs, "alignment", 1, ALIGNMENT_LIMIT, &entry->alignment, err) &&
           read_formula(arena, needs, "condition", quantity_names, COUNT_OF(quantity_names),
                        &entry->condition, err);
}

static bool read_gives(const struct json *json, struct primitive_entry *entry, struct err *err)
{
    static const char *const known[] = {"of", "form", NULL};
    const struct json *array;
    if (!json_need_array(json, "gives", 0, KIND_COUNT, &array, err))
        return false;
    for (size_t i = 0; i < array->count; i++) {
        const struct json *item = &array->items[i];
        size_t kind, form;
        if (!check_object(item, err) || !json_only(item, known, err) ||
            !json_need_word(item, "of", kind_words, COUNT_OF(kind_words), &kind, err) ||
            !json_need_word(item, "form", form_words, COUNT_OF(form_words), &form, err))
            return false;
        if (entry->gives[kind])
            return json_fail(item, err, "the form of a %s is said twice", kind_words[kind]);
        entry->gives[kind] = true;
        entry->forms[kind] = (enum value_form)form;
    }
    return true;
}

static bool read_takes(struct arena *arena, const struct json *json, struct primitive_entry *entry,
                       bool *said, struct err *err)
{
    static const char *const known[] = {"form", "readings", "if", NULL};
    const struct json *array;
    if (!json_need_array(json, "takes", 0, LIST_MAX, &array, err))
        return false;
    struct primitive_take *takes = arena_array(arena, struct primitive_take, array->count + 1);
    for (size_t i = 0; i < array->count; i++) {
        const struct json *item = &array->items[i];
        size_t form;
        if (!check_object(item, err) || !json_only(item, known, err) ||
            !json_need_word(item, "form", form_words, COUNT_OF(form_words), &form, err) ||
            !read_words(item, "readings", reading_words, COUNT_OF(reading_words), takes[i].readings,
                        err) ||
            (json_get(item, "if") != NULL &&
             !need_text(item, "if", TEXT_BYTES_LIMIT, &takes[i].condition, err)))
            return false;
        takes[i].form = (enum value_form)form;
        said[form] = true;
        for (size_t k = 0; k < i; k++)
            for (size_t r = 0; r < READING_COUNT; r++)
                if (takes[k].form == takes[i].form && takes[k].readings[r] && takes[i].readings[r])
                    return json_fail(item, err, "%s read as %s is taken twice", form_words[form],
                                     reading_words[r]);
    }
    entry->takes = takes;
    entry->take_count = array->count;
    return true;
}

static bool read_refusals(struct arena *arena, const struct json *json,
                          struct primitive_entry *entry, bool *said, struct err *err)
{
    static const char *const known[] = {"form", "because", NULL};
    const struct json *array;
    if (!json_need_array(json, "refuses", 0, FORM_COUNT, &array, err))
        return false;
    struct primitive_refusal *list = arena_array(arena, struct primitive_refusal, array->count + 1);
    for (size_t i = 0; i < array->count; i++) {
        const struct json *item = &array->items[i];
        size_t form;
        if (!check_object(item, err) || !json_only(item, known, err) ||
            !json_need_word(item, "form", form_words, COUNT_OF(form_words), &form, err) ||
            !need_text(item, "because", TEXT_BYTES_LIMIT, &list[i].because, err))
            return false;
        if (said[form])
            return json_fail(item, err, "%s is taken or refused already", form_words[form]);
        list[i].form = (enum value_form)form;
        said[form] = true;
    }
    entry->refusals = list;
    entry->refusal_count = array->count;
    return true;
}

static bool read_parameters(struct arena *arena, const struct json *json,
                            struct primitive_entry *entry, struct err *err)
{
    static const char *const known[] = {"name", "least", "most", NULL};
    const struct json *array;
    if (!json_need_array(json, "parameters", 0, LIST_MAX, &array, err))
        return false;
    struct primitive_parameter *list =
        arena_array(arena, struct primitive_parameter, array->count + 1);
    for (size_t i = 0; i < array->count; i++) {
        const struct json *item = &array->items[i];
        if (!check_object(item, err) || !json_only(item, known, err) ||
            !need_text(item, "name", NAME_BYTES_LIMIT, &list[i].name, err) ||
            !json_need_int(item, "least", 0, PARAMETER_LIMIT, &list[i].least, err) ||
            !json_need_int(item, "most", 0, PARAMETER_LIMIT, &list[i].most, err))
            return false;
        if (list[i].least > list[i].most)
            return json_fail(item, err, "least is %lld, more than most, %lld",
                             (long long)list[i].least, (long long)list[i].most);
    }
    entry->parameters = list;
    entry->parameter_count = array->count;
    return true;
}

static bool read_resources(struct arena *arena, const struct json *json,
                           struct primitive_entry *entry, struct err *err)
{
    static const char *const known[] = {"barriers", "registers", "shared_bytes", NULL};
    const struct json *group;
    struct str names[LIST_MAX];
    size_t count = entry->parameter_count;
    for (size_t i = 0; i < count; i++)
        names[i] = entry->parameters[i].name;
    return json_need(json, "resources", JSON_OBJECT, &group, err) && json_only(group, known, err) &&
           read_formula(arena, group, "barriers", names, count, &entry->barriers, err) &&
           read_formula(arena, group, "registers", names, count, &entry->registers, err) &&
           read_formula(arena, group, "shared_bytes", names, count, &entry->shared_bytes, err);
}

static bool read_signs(struct arena *arena, const struct json *json, struct primitive_entry *entry,
                       struct err *err)
{
    static const char *const known[] = {"names", "per", "least", NULL};
    const struct json *array;
    if (!json_need_array(json, "observed", 0, LIST_MAX, &array, err))
        return false;
    struct primitive_sign *signs = arena_array(arena, struct primitive_sign, array->count + 1);
    for (size_t i = 0; i < array->count; i++) {
        const struct json *item = &array->items[i];
        struct primitive_sign *sign = &signs[i];
        if (!check_object(item, err) || !json_only(item, known, err) ||
            !read_texts(arena, item, "names", 1, &sign->names, &sign->name_count, err) ||
            (json_get(item, "per") != NULL &&
             !read_texts(arena, item, "per", 1, &sign->per, &sign->per_count, err)) ||
            !json_need_real(item, "least", &sign->least, err))
            return false;
        if (!(sign->least > 0 && sign->least < 1e18))
            return json_fail(json_get(item, "least"), err,
                             "%g is out of range; it must be over 0 and under 1e18", sign->least);
    }
    entry->signs = signs;
    entry->sign_count = array->count;
    return true;
}

/* Names of functions, so that a prompt can quote the fragment and call it. */
static bool read_fragment(const struct json *json, struct primitive_entry *entry, struct err *err)
{
    if (!need_text(json, "fragment", NAME_BYTES_LIMIT, &entry->fragment, err))
        return false;
    for (size_t i = 0; i < entry->fragment.len; i++) {
        char c = entry->fragment.at[i];
        if (c != '_' && !(c >= 'a' && c <= 'z') && !(i > 0 && c >= '0' && c <= '9'))
            return json_fail(json_get(json, "fragment"), err,
                             "expected the name of a function: a-z, 0-9 and _");
    }
    return true;
}

bool primitive_entry_parse(struct arena *arena, const struct json *json,
                           const struct primitive_entry **out, struct err *err)
{
    static const char *const known[] = {
        "primitive", "name",    "title",    "needs",     "gives",      "takes", "refuses",
        "observed",  "sources", "fragment", "resources", "parameters", NULL};
    int64_t version;
    size_t word;
    bool said[FORM_COUNT] = {false};
    struct primitive_entry *entry = arena_new(arena, struct primitive_entry);
    if (!json_need_int(json, "primitive", 1, 1, &version, err) || !json_only(json, known, err) ||
        !json_need_word(json, "name", primitive_words, COUNT_OF(primitive_words), &word, err) ||
        !json_need_str(json, "name", &entry->name, err) ||
        !need_text(json, "title", TEXT_BYTES_LIMIT, &entry->title, err) ||
        !read_needs(arena, json, entry, err) || !read_gives(json, entry, err) ||
        !read_takes(arena, json, entry, said, err) ||
        !read_refusals(arena, json, entry, said, err) ||
        !read_parameters(arena, json, entry, err) || !read_resources(arena, json, entry, err) ||
        !read_signs(arena, json, entry, err) ||
        !read_texts(arena, json, "sources", 1, &entry->sources, &entry->source_count, err) ||
        !read_fragment(json, entry, err))
        return false;
    entry->word = (enum primitive)word;
    *out = entry;
    return true;
}
