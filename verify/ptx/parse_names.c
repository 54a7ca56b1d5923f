/*
 * Names and scopes of the parser.
 *
 * One map from text to the innermost binding; bindings are a stack, so closing a scope pops them
 * and restores what they shadowed.  A range declaration (.reg .b32 %r<40>) is one binding; "%r17"
 * is found by its stem and gets a register number when first used.  "%r17" may also be declared by
 * that name: of the range and the single register the one declared further inside is meant.  Labels
 * are kept apart: a reference may come before its label, and is tied to it when the scope closes.
 *
 * Invariant: names.value is 1 + the innermost live binding of that text, or 0.
 */
#include "verify/ptx/parse_int.h"

struct binding *parse_lookup(struct parser *p, struct str name)
{
    const size_t *at = map_get(&p->names, name);
    return at && *at ? &p->bindings.at[*at - 1] : NULL;
}

struct binding *parse_bind(struct parser *p, struct str name, enum binding_kind kind,
                           uint32_t index)
{
    bool is_new;
    size_t *at = map_put(&p->names, name, &is_new);
    struct binding binding = {
        .kind = kind, .name = name, .index = index, .shadowed = (uint32_t)*at};
    VEC_PUSH(p->arena, &p->bindings, struct binding) = binding;
    *at = p->bindings.count;
    return &p->bindings.at[p->bindings.count - 1];
}

bool parse_open_scope(struct parser *p)
{
    if (p->depth == AST_NESTING_MAX)
        return lex_fail(&p->lex, p->err, "braces nested too deep");
    p->depth++;
    p->scope_start[p->depth] = p->bindings.count;
    p->scope_id[p->depth] = ++p->scopes;
    return true;
}

/* References that this scope's labels answer are patched; others move to the scope outside. */
static bool close_labels(struct parser *p)
{
    uint32_t scope = p->scope_id[p->depth];
    uint32_t outer = p->scope_id[p->depth - 1];
    bool last = p->depth == 1;
    struct map labels;
    map_init(&labels, p->arena);
    size_t kept = p->label_defs.count;
    while (kept > 0 && p->label_defs.at[kept - 1].scope == scope) {
        const struct label_def *def = &p->label_defs.at[--kept];
        bool is_new;
        *map_put(&labels, def->name, &is_new) = def->label;
        if (!is_new)
            return lex_fail(&p->lex, p->err, "label '%.*s' defined twice", STR_ARG(def->name));
    }
    p->label_defs.count = kept;

    size_t out = p->label_refs.count;
    while (out > 0 && p->label_refs.at[out - 1].scope == scope)
        out--;
    for (size_t i = out; i < p->label_refs.count; i++) {
        struct label_ref ref = p->label_refs.at[i];
        const size_t *label = map_get(&labels, ref.name);
        if (label) {
            p->operands.at[ref.operand].index = (uint32_t)*label;
        } else if (last) {
            return err_raise(p->err, ERR_SYNTAX, "PTX line %d: label '%.*s' is not defined",
                             ref.line, STR_ARG(ref.name));
        } else {
            ref.scope = outer;
            p->label_refs.at[out++] = ref;
        }
    }
    p->label_refs.count = out;
    return true;
}

bool parse_close_scope(struct parser *p)
{
    if (p->depth == 0)
        return lex_fail(&p->lex, p->err, "closing brace without an opening one");
    if (!close_labels(p))
        return false;
    while (p->bindings.count > p->scope_start[p->depth]) {
        const struct binding *binding = &p->bindings.at[--p->bindings.count];
        bool is_new;
        *map_put(&p->names, binding->name, &is_new) = binding->shadowed;
    }
    p->depth--;
    return true;
}

enum mod parse_mod(const struct parser *p, struct str text)
{
    const size_t *at = map_get(&p->mods, text);
    return at ? (enum mod) * at : MOD_none;
}

/* The digits at the end of a name as a number; false when there are none or too many. */
static bool split_number(struct str name, struct str *stem, uint64_t *number)
{
    size_t digits = 0;
    while (digits < name.len && name.at[name.len - 1 - digits] >= '0' &&
           name.at[name.len - 1 - digits] <= '9')
        digits++;
    if (digits == 0 || digits > 9 || (digits > 1 && name.at[name.len - digits] == '0'))
        return false;
    *stem = (struct str){name.at, name.len - digits};
    *number = 0;
    for (size_t i = name.len - digits; i < name.len; i++)
        *number = *number * 10 + (uint64_t)(name.at[i] - '0');
    return true;
}

static int register_bits(enum mod type)
{
    int bits = ast_mod(type)->bits;
    return type == MOD_pred ? 1 : bits < 8 ? 8 : bits;
}

static bool add_register(struct parser *p, enum mod type, uint32_t *out)
{
    if (p->regs.count >= AST_REGS_MAX)
        return lex_fail(&p->lex, p->err, "too many registers");
    *out = (uint32_t)p->regs.count;
    VEC_PUSH(p->arena, &p->regs, struct ast_reg) =
        (struct ast_reg){.type = type, .bits = register_bits(type)};
    return true;
}

static bool range_register(struct parser *p, struct binding *range, uint64_t number, uint32_t *out)
{
    if (number >= AST_REGS_MAX)
        return lex_fail(&p->lex, p->err, "register number too large");
    if (number >= range->room) {
        uint32_t room = range->room ? range->room : 16;
        while (room <= number)
            room *= 2;
        uint32_t *regs = arena_array(p->arena, uint32_t, room);
        if (range->room)
            memcpy(regs, range->regs, range->room * sizeof(*regs));
        range->regs = regs;
        range->room = room;
    }
    if (range->regs[number] == 0) {
        uint32_t reg;
        if (!add_register(p, range->type, &reg))
            return false;
        range->regs[number] = reg + 1;
    }
    *out = range->regs[number] - 1;
    return true;
}

/* The binding of this text that the innermost one hides, NULL = none. */
static struct binding *hidden_by(struct parser *p, const struct binding *binding)
{
    return binding->shadowed ? &p->bindings.at[binding->shadowed - 1] : NULL;
}

/* The innermost range that declares number `number` of the stem: an inner %r<4> hides %r0 to %r3.
 */
static struct binding *lookup_range(struct parser *p, struct str stem, uint64_t number)
{
    struct binding *binding = parse_lookup(p, stem);
    while (binding && (binding->kind != BIND_RANGE || number >= binding->count))
        binding = hidden_by(p, binding);
    return binding;
}

/* What `name` itself is bound to: the text of a range, "%r" of %r<4>, names nothing. */
struct binding *parse_lookup_name(struct parser *p, struct str name)
{
    struct binding *binding = parse_lookup(p, name);
    while (binding && binding->kind == BIND_RANGE)
        binding = hidden_by(p, binding);
    return binding;
}

bool parse_register(struct parser *p, struct str name, uint32_t *out)
{
    struct str stem;
    uint64_t number;
    struct binding *binding = parse_lookup_name(p, name);
    struct binding *range =
        split_number(name, &stem, &number) ? lookup_range(p, stem, number) : NULL;
    /* Bindings are a stack: of two that are live, the later one is declared further inside. */
    if (range && (!binding || range > binding))
        return range_register(p, range, number, out);
    if (!binding || binding->kind != BIND_REG) {
        *out = NO_REG;
        return true;
    }
    if (binding->index == NO_REG) {
        uint32_t reg;
        if (!add_register(p, binding->type, &reg))
            return false;
        binding->index = reg;
    }
    *out = binding->index;
    return true;
}
