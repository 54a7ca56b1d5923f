/*
 * The JSON Schema files beside the code say what the parsers say.
 *
 * Every document of tests/golden/contracts is taken apart: each member is dropped, each object gets
 * an unknown one, each value becomes one of another kind and each word of base/vocab.def.  What a
 * schema refuses its parser must refuse; what a parser refuses for its structure, its schema must
 * refuse too.  What needs more than structure (names that must exist, say) is the parser's alone.
 *
 * The validator knows the keywords that our schemas use, and fails on any other.
 */
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "agent/llm/llm.h"
#include "memory/memory.h"
#include "solver/ir/ir.h"
#include "solver/legal/legal.h"
#include "tests/unit/unit.h"
#include "verify/check/contracts.h"
#include "verify/evaluate/evaluate.h"

enum { ARENA_BYTES = 1 << 30, TEXT_BYTES = 8 << 20, SCHEMAS_MAX = 32, PATTERNS_MAX = 128 };

/* ---- a small JSON Schema validator ---- */

struct schemas {
    struct arena *arena;
    struct {
        char path[160];
        const struct json *root;
    } loaded[SCHEMAS_MAX];
    size_t count;
    struct {
        const struct json *pattern;
        regex_t regex;
    } compiled[PATTERNS_MAX];
    size_t compiled_count;
};

static void release_schemas(struct schemas *schemas)
{
    for (size_t i = 0; i < schemas->compiled_count; i++)
        regfree(&schemas->compiled[i].regex);
}

static const struct json *load_schema(struct schemas *schemas, const char *path)
{
    struct err err = {0};
    struct str text;
    for (size_t i = 0; i < schemas->count; i++)
        if (strcmp(schemas->loaded[i].path, path) == 0)
            return schemas->loaded[i].root;
    assert_true(schemas->count < SCHEMAS_MAX);
    assert_ok(file_read(schemas->arena, path, TEXT_BYTES, &text, &err));
    size_t i = schemas->count++;
    snprintf(schemas->loaded[i].path, sizeof(schemas->loaded[i].path), "%s", path);
    assert_ok(json_parse(schemas->arena, text, path, &schemas->loaded[i].root, &err));
    return schemas->loaded[i].root;
}

static const struct json *root_of(const struct json *node)
{
    while (node->parent)
        node = node->parent;
    return node;
}

/* "FILE#/$defs/NAME", either part may be absent; FILE is relative to the schema's folder. */
static const struct json *follow(struct schemas *schemas, const struct json *ref)
{
    const char *hash = strchr(ref->string.at, '#');
    size_t len = hash ? (size_t)(hash - ref->string.at) : ref->string.len;
    const struct json *root = root_of(ref);
    if (len > 0) {
        const char *file = str_copy(schemas->arena, (struct str){ref->string.at, len});
        const char *folder = path_dir(schemas->arena, ref->source);
        root = load_schema(schemas, path_join(schemas->arena, folder, file));
    }
    if (!hash)
        return root;
    assert_true(strncmp(hash, "#/$defs/", 8) == 0);
    const struct json *found = json_get(json_get(root, "$defs"), hash + 8);
    if (!found)
        fail_msg("%s: no %s", ref->source, ref->string.at);
    return found;
}

static bool valid(struct schemas *schemas, const struct json *schema, const struct json *value);

static bool is_type(struct str type, const struct json *value)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",     [JSON_BOOL] = "boolean",  [JSON_INT] = "integer",
        [JSON_REAL] = "number",   [JSON_STRING] = "string", [JSON_ARRAY] = "array",
        [JSON_OBJECT] = "object",
    };
    return str_equal(type, str_from(names[value->kind])) ||
           (value->kind == JSON_INT && str_equal(type, STR_LIT("number")));
}

static bool equal_scalar(const struct json *a, const struct json *b)
{
    return a->kind == b->kind && a->boolean == b->boolean && a->integer == b->integer &&
           str_equal(a->string, b->string);
}

static bool in_enum(const struct json *list, const struct json *value)
{
    for (size_t i = 0; i < list->count; i++)
        if (equal_scalar(&list->items[i], value))
            return true;
    return false;
}

static bool matches(struct schemas *schemas, const struct json *pattern, const struct json *value)
{
    size_t i = 0;
    while (i < schemas->compiled_count && schemas->compiled[i].pattern != pattern)
        i++;
    if (i == schemas->compiled_count) {
        assert_true(i < PATTERNS_MAX);
        assert_int_equal(
            regcomp(&schemas->compiled[i].regex, pattern->string.at, REG_EXTENDED | REG_NOSUB), 0);
        schemas->compiled[i].pattern = pattern;
        schemas->compiled_count++;
    }
    return regexec(&schemas->compiled[i].regex, value->string.at, 0, NULL, 0) == 0;
}

static size_t count_valid(struct schemas *schemas, const struct json *list,
                          const struct json *value)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += valid(schemas, &list->items[i], value);
    return count;
}

static bool all_items(struct schemas *schemas, const struct json *items, const struct json *value)
{
    for (size_t i = 0; value->kind == JSON_ARRAY && i < value->count; i++)
        if (!valid(schemas, items, &value->items[i]))
            return false;
    return true;
}

static bool has_required(const struct json *required, const struct json *value)
{
    for (size_t i = 0; value->kind == JSON_OBJECT && i < required->count; i++)
        if (!json_get(value, required->items[i].string.at))
            return false;
    return true;
}

static bool members(struct schemas *schemas, const struct json *schema, const struct json *value)
{
    const struct json *properties = json_get(schema, "properties");
    const struct json *others = json_get(schema, "additionalProperties");
    for (size_t i = 0; value->kind == JSON_OBJECT && i < value->count; i++) {
        const struct json *property = properties ? json_get(properties, value->keys[i].at) : NULL;
        if (!property)
            property = others;
        if (property && !valid(schemas, property, &value->items[i]))
            return false;
    }
    return true;
}

static bool keyword(struct schemas *schemas, const struct json *schema, size_t i,
                    const struct json *value)
{
    const char *key = schema->keys[i].at;
    const struct json *arg = &schema->items[i];
    bool number = value->kind == JSON_INT || value->kind == JSON_REAL;
    if (strcmp(key, "type") == 0)
        return is_type(arg->string, value);
    if (strcmp(key, "const") == 0)
        return equal_scalar(arg, value);
    if (strcmp(key, "enum") == 0)
        return in_enum(arg, value);
    if (strcmp(key, "$ref") == 0)
        return valid(schemas, follow(schemas, arg), value);
    if (strcmp(key, "anyOf") == 0)
        return count_valid(schemas, arg, value) > 0;
    if (strcmp(key, "oneOf") == 0)
        return count_valid(schemas, arg, value) == 1;
    if (strcmp(key, "items") == 0)
        return all_items(schemas, arg, value);
    if (strcmp(key, "required") == 0)
        return has_required(arg, value);
    if (strcmp(key, "properties") == 0 || strcmp(key, "additionalProperties") == 0)
        return members(schemas, schema, value);
    if (strcmp(key, "minimum") == 0)
        return !number || value->real >= arg->real;
    if (strcmp(key, "maximum") == 0)
        return !number || value->real <= arg->real;
    if (strcmp(key, "minItems") == 0)
        return value->kind != JSON_ARRAY || (int64_t)value->count >= arg->integer;
    if (strcmp(key, "maxItems") == 0)
        return value->kind != JSON_ARRAY || (int64_t)value->count <= arg->integer;
    if (strcmp(key, "minProperties") == 0)
        return value->kind != JSON_OBJECT || (int64_t)value->count >= arg->integer;
    if (strcmp(key, "maxProperties") == 0)
        return value->kind != JSON_OBJECT || (int64_t)value->count <= arg->integer;
    if (strcmp(key, "minLength") == 0)
        return value->kind != JSON_STRING || (int64_t)value->string.len >= arg->integer;
    if (strcmp(key, "maxLength") == 0)
        return value->kind != JSON_STRING || (int64_t)value->string.len <= arg->integer;
    if (strcmp(key, "pattern") == 0)
        return value->kind != JSON_STRING || matches(schemas, arg, value);
    if (strcmp(key, "$schema") != 0 && strcmp(key, "$defs") != 0 && strcmp(key, "title") != 0 &&
        strcmp(key, "description") != 0)
        fail_msg("%s: the validator does not know \"%s\"", schema->source, key);
    return true;
}

static bool valid(struct schemas *schemas, const struct json *schema, const struct json *value)
{
    if (schema->kind == JSON_BOOL)
        return schema->boolean;
    assert_int_equal(schema->kind, JSON_OBJECT);
    for (size_t i = 0; i < schema->count; i++)
        if (!keyword(schemas, schema, i, value))
            return false;
    return true;
}

/* ---- the parsers, one signature ---- */

typedef bool read_document(struct arena *arena, struct str text, const struct json *json,
                           struct json_writer *w, struct err *err);

static bool read_spec(struct arena *arena, struct str text, const struct json *json,
                      struct json_writer *w, struct err *err)
{
    const struct op *op;
    (void)json;
    if (!op_parse(arena, text, "spec", NULL, &op, err))
        return false;
    op_print_json(w->out, op);
    return true;
}

#define DOCUMENT(name, module)                                                                     \
    static bool read_##name(struct arena *arena, struct str text, const struct json *json,         \
                            struct json_writer *w, struct err *err)                                \
    {                                                                                              \
        const struct module *document;                                                             \
        (void)text;                                                                                \
        if (!name##_parse(arena, json, &document, err))                                            \
            return false;                                                                          \
        name##_print(w, document);                                                                 \
        return true;                                                                               \
    }
DOCUMENT(task, task)
DOCUMENT(plan, plan)
DOCUMENT(manifest, manifest)
DOCUMENT(machine, machine)
DOCUMENT(primitive_entry, primitive_entry)
DOCUMENT(bundle, bundle)
#undef DOCUMENT

#define DOCUMENT(name, type, ...)                                                                  \
    static bool read_##name(struct arena *arena, struct str text, const struct json *json,         \
                            struct json_writer *w, struct err *err)                                \
    {                                                                                              \
        struct type document = {0};                                                                \
        (void)text;                                                                                \
        if (!name##_parse(arena, json, &document, err))                                            \
            return false;                                                                          \
        name##_print(w, &document __VA_ARGS__);                                                    \
        return true;                                                                               \
    }
#define WITH_TIMES , true
DOCUMENT(candidate, candidate)
DOCUMENT(observed, observed)
DOCUMENT(verdict, verdict, WITH_TIMES)
DOCUMENT(tape_line, tape_line)
#define T(name, NAME) DOCUMENT(name##_row, name##_row, WITH_TIMES)
BANK_TABLES(T)
#undef T
#undef DOCUMENT

static const struct {
    const char *document, *schema;
    read_document *read;
} documents[] = {{"spec", "solver/ir/spec.schema.json", read_spec},
                 {"task", "solver/ir/task.schema.json", read_task},
                 {"plan", "solver/ir/plan.schema.json", read_plan},
                 {"manifest", "solver/ir/manifest.schema.json", read_manifest},
                 {"machine", "solver/ir/machine.schema.json", read_machine},
                 {"primitive", "solver/legal/primitive.schema.json", read_primitive_entry},
                 {"candidate", "verify/evaluate/candidate.schema.json", read_candidate},
                 {"candidate_cubin", "verify/evaluate/candidate.schema.json", read_candidate},
                 {"bundle", "verify/evaluate/bundle.schema.json", read_bundle},
                 {"observed", "verify/check/observed.schema.json", read_observed},
                 {"verdict", "verify/check/verdict.schema.json", read_verdict},
                 {"tape", "agent/llm/tape.schema.json", read_tape_line},
#define T(name, NAME) {"row_" #name, "memory/rows.schema.json", read_##name##_row},
                 BANK_TABLES(T)
#undef T
};

/* ---- changed documents ---- */

struct change {
    const struct json *at;
    const struct json *value; /* instead of `at`; NULL: `at` is dropped, or gets a member */
    bool add;                 /* a member to the object `at` */
};

static void write_changed(struct json_writer *w, const struct json *node,
                          const struct change *change)
{
    bool here = node == change->at;
    if (here && change->value) {
        json_put_tree(w, change->value);
    } else if (node->kind == JSON_OBJECT) {
        json_open_object(w);
        for (size_t i = 0; i < node->count; i++) {
            if (&node->items[i] == change->at && !change->value && !change->add)
                continue;
            json_key(w, node->keys[i].at);
            write_changed(w, &node->items[i], change);
        }
        if (here && change->add)
            json_member_int(w, "zz_unknown", 7);
        json_close_object(w);
    } else if (node->kind == JSON_ARRAY) {
        json_open_array(w);
        for (size_t i = 0; i < node->count; i++)
            write_changed(w, &node->items[i], change);
        json_close_array(w);
    } else {
        json_put_tree(w, node);
    }
}

struct trial {
    struct schemas *schemas;
    const struct json *schema;
    read_document *read;
    const struct json *root;
    size_t changes, refused;
};

/* Complaints about the text of a formula or body have more than one line: the caret's. */
static bool is_structural(const char *complaint)
{
    static const char *const marks[] = {"is missing",      "expected ",    "unknown key",
                                        " items; it must", "is not known", "is out of range"};
    for (size_t i = 0; i < COUNT_OF(marks) && !strchr(complaint, '\n'); i++)
        if (strstr(complaint, marks[i]))
            return true;
    return false;
}

static void try_change(struct trial *trial, const struct change *change)
{
    struct arena arena;
    struct buf text, printed;
    struct json_writer w;
    const struct json *json;
    struct err err = {0};
    arena_init(&arena, ARENA_BYTES);
    buf_init(&text, &arena, TEXT_BYTES);
    json_writer_init(&w, &text);
    write_changed(&w, trial->root, change);
    assert_ok(json_parse(&arena, buf_view(&text), "changed", &json, &err));
    bool by_schema = valid(trial->schemas, trial->schema, json);
    buf_init(&printed, &arena, TEXT_BYTES);
    json_writer_init(&w, &printed);
    bool by_parser = trial->read(&arena, buf_view(&text), json, &w, &err);
    if (!by_schema && by_parser)
        fail_msg("the parser accepts what %s refuses: %s", trial->schema->source, text.at);
    if (by_schema && !by_parser && is_structural(err.text))
        fail_msg("%s accepts what the parser refuses (%s): %s", trial->schema->source, err.text,
                 text.at);
    trial->changes++;
    trial->refused += !by_parser;
    arena_release(&arena);
}

enum { WORDS_FROM = 11 }; /* where the words begin */
static const char *const values[] = {
    "null", "true", "7", "-1", "1.5", "\"zzz\"", "\"\"", "[]", "{}", "[7]", "{\"zz\":7}",
#define DTYPE(id, name, bytes, kind) "\"" name "\"",
#define PRIMITIVE(id, name)          "\"" name "\"",
#define VALIDITY(id, name)           "\"" name "\"",
#define TIMING(id, name)             "\"" name "\"",
#define ROLE(id, name)               "\"" name "\"",
#define GATE(id, name)               "\"" name "\"",
#include "base/vocab.def"
};

/* Words are tried where a word is. */
static bool is_word(const struct json *node, const struct json *const *replacements)
{
    for (size_t i = WORDS_FROM; i < COUNT_OF(values) && node->kind == JSON_STRING; i++)
        if (str_equal(node->string, replacements[i]->string))
            return true;
    return false;
}

/* A document inside another is tried as a whole; its inside is tried in its own file. */
static bool is_document(const struct json *node)
{
    static const char *const keys[] = {"candidate", "incumbent", "manifest",
                                       "plan",      "task",      "observed"};
    for (size_t i = 0; i < COUNT_OF(keys) && node->parent; i++)
        if (node->kind == JSON_OBJECT && str_equal(node->key, str_from(keys[i])))
            return true;
    return false;
}

static void try_everywhere(struct trial *trial, const struct json *node,
                           const struct json *const *replacements)
{
    if (node->parent && node->parent->kind == JSON_OBJECT)
        try_change(trial, &(struct change){.at = node});
    if (node->kind == JSON_OBJECT)
        try_change(trial, &(struct change){.at = node, .add = true});
    size_t count = is_word(node, replacements) ? COUNT_OF(values) : WORDS_FROM;
    for (size_t i = 0; i < count; i++)
        try_change(trial, &(struct change){.at = node, .value = replacements[i]});
    for (size_t i = 0; i < node->count && !is_document(node); i++)
        try_everywhere(trial, &node->items[i], replacements);
}

static struct str read_golden(struct arena *arena, const char *name)
{
    char path[160];
    struct str text;
    struct err err = {0};
    snprintf(path, sizeof(path), "tests/golden/contracts/%s.json", name);
    assert_ok(file_read(arena, path, TEXT_BYTES, &text, &err));
    return text;
}

static void test_golden_documents_are_canonical(void **state UNUSED)
{
    for (size_t i = 0; i < COUNT_OF(documents); i++) {
        struct arena arena;
        struct schemas schemas = {.arena = &arena};
        struct err err = {0};
        const struct json *json;
        struct buf out;
        struct json_writer w;
        arena_init(&arena, ARENA_BYTES);
        struct str text = read_golden(&arena, documents[i].document);
        assert_ok(json_parse(&arena, text, documents[i].document, &json, &err));
        buf_init(&out, &arena, TEXT_BYTES);
        json_writer_init(&w, &out);
        assert_ok(documents[i].read(&arena, text, json, &w, &err));
        buf_char(&out, '\n');
        assert_string_equal(out.at, text.at);
        assert_true(valid(&schemas, load_schema(&schemas, documents[i].schema), json));
        release_schemas(&schemas);
        arena_release(&arena);
    }
}

static void test_schemas_agree_with_parsers(void **state UNUSED)
{
    size_t changes = 0, refused = 0;
    for (size_t i = 0; i < COUNT_OF(documents); i++) {
        struct arena arena;
        struct schemas schemas = {.arena = &arena};
        struct err err = {0};
        const struct json *replacements[COUNT_OF(values)];
        arena_init(&arena, ARENA_BYTES);
        for (size_t j = 0; j < COUNT_OF(values); j++)
            assert_ok(json_parse(&arena, str_from(values[j]), "value", &replacements[j], &err));
        struct trial trial = {
            &schemas, load_schema(&schemas, documents[i].schema), documents[i].read, NULL, 0, 0};
        assert_ok(json_parse(&arena, read_golden(&arena, documents[i].document), "golden",
                             &trial.root, &err));
        try_everywhere(&trial, trial.root, replacements);
        changes += trial.changes;
        refused += trial.refused;
        release_schemas(&schemas);
        arena_release(&arena);
    }
    print_message("%zu changed documents, %zu refused\n", changes, refused);
    assert_true(refused > changes / 2);
}

static void test_all_op_specs(void **state UNUSED)
{
    static const char *const folders[] = {"kernels/ops", "tests/cases/ops"};
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        struct arena arena;
        struct schemas schemas = {.arena = &arena};
        struct err err = {0};
        const char *const *names;
        size_t count = 0;
        arena_init(&arena, ARENA_BYTES);
        const struct json *schema = load_schema(&schemas, "solver/ir/spec.schema.json");
        assert_ok(file_list(&arena, folders[i], ".json", 1000, &names, &count, &err));
        for (size_t j = 0; j < count; j++) {
            struct str text;
            const struct json *json;
            const char *path = path_join(&arena, folders[i], names[j]);
            assert_ok(file_read(&arena, path, TEXT_BYTES, &text, &err));
            assert_ok(json_parse(&arena, text, path, &json, &err));
            if (!valid(&schemas, schema, json))
                fail_msg("%s does not fit the schema", path);
        }
        assert_true(count > 0);
        release_schemas(&schemas);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_documents_are_canonical),
        cmocka_unit_test(test_schemas_agree_with_parsers),
        cmocka_unit_test(test_all_op_specs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
