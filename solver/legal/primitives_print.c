/*
 * Documents of primitives as canonical JSON: what primitive_entry_parse reads back as the same
 * entry.
 */
#include "base/panic.h"
#include "base/vocab.h"

#include "solver/legal/primitives.h"

enum { FORMULA_TEXT_BYTES = 8192 };

static void put_formula(struct json_writer *w, const char *key, const struct formula *formula)
{
    struct buf text;
    buf_init(&text, w->out->arena, FORMULA_TEXT_BYTES);
    formula_print(&text, formula);
    ASSERT(!text.overflow);
    json_member_str(w, key, buf_view(&text));
}

static void put_texts(struct json_writer *w, const char *key, const struct str *texts, size_t count)
{
    json_key(w, key);
    json_open_array(w);
    for (size_t i = 0; i < count; i++)
        json_put_str(w, texts[i]);
    json_close_array(w);
}

static void print_needs(struct json_writer *w, const struct primitive_entry *entry)
{
    json_key(w, "needs");
    json_open_object(w);
    json_key(w, "structures");
    json_open_array(w);
    for (size_t i = 0; i < STRUCTURE_COUNT; i++)
        if (entry->structures[i])
            json_put_text(w, structure_name((enum structure)i));
    json_close_array(w);
    json_member_int(w, "capability", entry->capability);
    json_member_int(w, "alignment", entry->alignment);
    put_formula(w, "condition", entry->condition);
    json_close_object(w);
}

static void print_gives(struct json_writer *w, const struct primitive_entry *entry)
{
    json_key(w, "gives");
    json_open_array(w);
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (!entry->gives[i])
            continue;
        json_open_object(w);
        json_member_text(w, "of", stmt_kind_word((enum stmt_kind)i));
        json_member_text(w, "form", form_word(entry->forms[i]));
        json_close_object(w);
    }
    json_close_array(w);
}

static void print_takes(struct json_writer *w, const struct primitive_entry *entry)
{
    json_key(w, "takes");
    json_open_array(w);
    for (size_t i = 0; i < entry->take_count; i++) {
        const struct primitive_take *take = &entry->takes[i];
        json_open_object(w);
        json_member_text(w, "form", form_word(take->form));
        json_key(w, "readings");
        json_open_array(w);
        for (size_t r = 0; r < READING_COUNT; r++)
            if (take->readings[r])
                json_put_text(w, reading_word((enum reading)r));
        json_close_array(w);
        if (take->condition.len > 0)
            json_member_str(w, "if", take->condition);
        json_close_object(w);
    }
    json_close_array(w);
}

static void print_refusals(struct json_writer *w, const struct primitive_entry *entry)
{
    json_key(w, "refuses");
    json_open_array(w);
    for (size_t i = 0; i < entry->refusal_count; i++) {
        json_open_object(w);
        json_member_text(w, "form", form_word(entry->refusals[i].form));
        json_member_str(w, "because", entry->refusals[i].because);
        json_close_object(w);
    }
    json_close_array(w);
}

static void print_resources(struct json_writer *w, const struct primitive_entry *entry)
{
    json_key(w, "resources");
    json_open_object(w);
    put_formula(w, "barriers", entry->barriers);
    put_formula(w, "registers", entry->registers);
    put_formula(w, "shared_bytes", entry->shared_bytes);
    json_close_object(w);
    json_key(w, "parameters");
    json_open_array(w);
    for (size_t i = 0; i < entry->parameter_count; i++) {
        json_open_object(w);
        json_member_str(w, "name", entry->parameters[i].name);
        json_member_int(w, "least", entry->parameters[i].least);
        json_member_int(w, "most", entry->parameters[i].most);
        json_close_object(w);
    }
    json_close_array(w);
}

static void put_least(struct json_writer *w, double least)
{
    if (least == (double)(int64_t)least)
        json_member_int(w, "least", (int64_t)least);
    else
        json_member_real(w, "least", least);
}

static void print_signs(struct json_writer *w, const struct primitive_entry *entry)
{
    json_key(w, "observed");
    json_open_array(w);
    for (size_t i = 0; i < entry->sign_count; i++) {
        json_open_object(w);
        put_texts(w, "names", entry->signs[i].names, entry->signs[i].name_count);
        if (entry->signs[i].per_count > 0)
            put_texts(w, "per", entry->signs[i].per, entry->signs[i].per_count);
        put_least(w, entry->signs[i].least);
        json_close_object(w);
    }
    json_close_array(w);
}

void primitive_entry_print(struct json_writer *w, const struct primitive_entry *entry)
{
    json_open_object(w);
    json_member_int(w, "primitive", 1);
    json_member_str(w, "name", entry->name);
    json_member_str(w, "title", entry->title);
    print_needs(w, entry);
    print_gives(w, entry);
    print_takes(w, entry);
    print_refusals(w, entry);
    print_resources(w, entry);
    print_signs(w, entry);
    put_texts(w, "sources", entry->sources, entry->source_count);
    json_member_str(w, "fragment", entry->fragment);
    json_close_object(w);
}
