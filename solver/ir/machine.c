/*
 * Machine documents, from and to JSON, and the occupancy that follows from them.
 *
 * Method: each group of numbers is an X-macro in the header; one table per group gives key, range
 * and place, so reader and printer are a loop each.
 *
 * Invariant: what is accepted can hold a block of 32 threads with one register each, and printing
 * writes every member, so parse(print(m)) = m.
 */
#include "solver/ir/machine.h"

#include <stddef.h>

#include "base/num.h"
#include "base/panic.h"

#include "solver/ir/doc_int.h"

enum { SOURCE_BYTES_MAX = 500, WARP = 32, SHARED_UNIT = 128, CAPABILITY_MAX = 999 };
#define RATE_MAX 1e21

static const struct {
    const char *key;
    size_t offset;
    int64_t least, most;
} counts[] = {
#define X(field, least, most) {#field, offsetof(struct machine, field), least, most},
    MACHINE_COUNTS(X)
#undef X
};
static const struct {
    const char *key;
    size_t offset;
    double least, most;
} measures[] = {
#define X(field, least, most) {#field, offsetof(struct machine, field), least, most},
    MACHINE_MEASURES(X)
#undef X
};
static const char *const rate_names[] = {
#define X(id, name) name,
    MACHINE_RATES(X)
#undef X
};

const char *machine_rate_name(enum machine_rate rate)
{
    ASSERT((size_t)rate < COUNT_OF(rate_names));
    return rate_names[rate];
}

static int64_t *count_at(struct machine *machine, size_t i)
{
    return (int64_t *)(void *)((char *)machine + counts[i].offset);
}

static double *measure_at(struct machine *machine, size_t i)
{
    return (double *)(void *)((char *)machine + measures[i].offset);
}

/* ---- reading ---- */

static bool read_source(const struct json *number, struct str *source, struct err *err)
{
    static const char *const known[] = {"value", "source", NULL};
    if (!json_only(number, known, err) || !json_need_str(number, "source", source, err))
        return false;
    if (source->len == 0 || source->len > SOURCE_BYTES_MAX)
        return json_fail(json_get(number, "source"), err, "a source has from 1 to %d bytes",
                         SOURCE_BYTES_MAX);
    return true;
}

static bool read_real(const struct json *number, double least, double most, double *out,
                      struct err *err)
{
    const struct json *value = json_get(number, "value");
    if (value == NULL)
        return json_fail(number, err, "\"value\" is missing; it must be a number");
    if (value->kind != JSON_INT && value->kind != JSON_REAL)
        return json_fail(value, err, "expected a number");
    if (!(value->real >= least && value->real <= most))
        return json_fail(value, err, "%g is out of range; it must be from %g to %g", value->real,
                         least, most);
    *out = value->real;
    return true;
}

/* Only the names of a group may be its members. */
static bool read_group(const struct json *json, const char *key, const char *const *names,
                       const struct json **group, struct err *err)
{
    return json_need(json, key, JSON_OBJECT, group, err) && json_only(*group, names, err);
}

static bool read_counts(const struct json *json, struct machine *machine, struct err *err)
{
    const char *names[COUNT_OF(counts) + 1] = {NULL};
    const struct json *group, *number;
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        names[i] = counts[i].key;
    if (!read_group(json, "counts", names, &group, err))
        return false;
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        if (!json_need(group, counts[i].key, JSON_OBJECT, &number, err) ||
            !read_source(number, &machine->sources[i], err) ||
            !json_need_int(number, "value", counts[i].least, counts[i].most, count_at(machine, i),
                           err))
            return false;
    return true;
}

static bool read_measures(const struct json *json, struct machine *machine, struct err *err)
{
    const char *names[COUNT_OF(measures) + 1] = {NULL};
    const struct json *group, *number;
    for (size_t i = 0; i < COUNT_OF(measures); i++)
        names[i] = measures[i].key;
    if (!read_group(json, "measures", names, &group, err))
        return false;
    for (size_t i = 0; i < COUNT_OF(measures); i++)
        if (!json_need(group, measures[i].key, JSON_OBJECT, &number, err) ||
            !read_source(number, &machine->sources[COUNT_OF(counts) + i], err) ||
            !read_real(number, measures[i].least, measures[i].most, measure_at(machine, i), err))
            return false;
    return true;
}

static bool read_rates(const struct json *json, struct machine *machine, struct err *err)
{
    const char *names[COUNT_OF(rate_names) + 1] = {NULL};
    const struct json *group;
    for (size_t i = 0; i < COUNT_OF(rate_names); i++)
        names[i] = rate_names[i];
    if (!read_group(json, "rates", names, &group, err))
        return false;
    for (size_t i = 0; i < COUNT_OF(rate_names); i++) {
        const struct json *number = json_get(group, rate_names[i]);
        if (number == NULL)
            continue;
        if (!json_need(group, rate_names[i], JSON_OBJECT, &number, err) ||
            !read_source(number, &machine->sources[MACHINE_NUMBER_rates + i], err) ||
            !read_real(number, 1, RATE_MAX, &machine->rates[i], err))
            return false;
    }
    return true;
}

/* "sm_90a": ten times the major plus the minor version, and perhaps a letter. */
static bool read_arch(const struct json *json, struct machine *machine, struct err *err)
{
    if (!doc_need_name(json, "arch", &machine->arch, err))
        return false;
    struct str arch = machine->arch;
    size_t at = sizeof("sm_") - 1;
    int64_t capability = 0;
    bool good = str_has_prefix(arch, STR_LIT("sm_"));
    for (; good && at < arch.len && arch.at[at] >= '0' && arch.at[at] <= '9'; at++)
        if ((capability = capability * 10 + (arch.at[at] - '0')) > CAPABILITY_MAX)
            break;
    bool letter = at < arch.len && (arch.at[at] == 'a' || arch.at[at] == 'f');
    if (!good || capability < 10 || at + letter != arch.len)
        return json_fail(json_get(json, "arch"), err,
                         "expected an architecture such as \"sm_90a\", not \"%.*s\"",
                         doc_shown(arch), arch.at);
    machine->capability = capability;
    return true;
}

/* ---- what must hold together ---- */

static bool check_order(const struct json *json, int64_t less, const char *less_key, int64_t more,
                        const char *more_key, struct err *err)
{
    if (less <= more)
        return true;
    return json_fail(json_get(json, "counts"), err, "%s is %lld, more than %s, %lld", less_key,
                     (long long)less, more_key, (long long)more);
}

static bool check_machine(const struct json *json, const struct machine *m, struct err *err)
{
#define ORDER(less, more) check_order(json, m->less, #less, m->more, #more, err)
    if (!ORDER(threads_per_block, threads_per_sm) ||
        !ORDER(registers_per_thread, registers_per_sm) ||
        !ORDER(registers_unit, registers_per_sm) ||
        !ORDER(shared_bytes_per_block, shared_bytes_per_block_optin) ||
        !ORDER(shared_bytes_per_block_optin, shared_bytes_per_sm) ||
        !ORDER(shared_bytes_reserved_per_block, shared_bytes_per_sm) ||
        !ORDER(blocks_per_sm, threads_per_sm) || !ORDER(l2_bytes, dram_bytes))
        return false;
#undef ORDER
    if (m->threads_per_sm != m->warps_per_sm * WARP)
        return json_fail(json_get(json, "counts"), err,
                         "threads_per_sm is %lld, but warps_per_sm is %lld of %d threads",
                         (long long)m->threads_per_sm, (long long)m->warps_per_sm, WARP);
    if (m->rates[MACHINE_RATE_F32] <= 0)
        return json_fail(json_get(json, "rates"), err, "\"f32\" is missing");
    return true;
}

bool machine_parse(struct arena *arena, const struct json *json, const struct machine **out,
                   struct err *err)
{
    static const char *const known[] = {"machine", "name",     "title", "arch",
                                        "counts",  "measures", "rates", NULL};
    int64_t version;
    struct machine *machine = arena_new(arena, struct machine);
    if (!json_need_int(json, "machine", 1, 1, &version, err) || !json_only(json, known, err) ||
        !doc_need_name(json, "name", &machine->name, err) ||
        !doc_need_name(json, "title", &machine->title, err) || !read_arch(json, machine, err) ||
        !read_counts(json, machine, err) || !read_measures(json, machine, err) ||
        !read_rates(json, machine, err) || !check_machine(json, machine, err))
        return false;
    *out = machine;
    return true;
}

/* ---- printing ---- */

static void open_number(struct json_writer *w, const char *key, struct str source)
{
    json_key(w, key);
    json_open_object(w);
    json_member_str(w, "source", source);
}

static void print_counts(struct json_writer *w, const struct machine *machine)
{
    json_key(w, "counts");
    json_open_object(w);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        open_number(w, counts[i].key, machine->sources[i]);
        json_member_int(w, "value",
                        *(const int64_t *)(const void *)((const char *)machine + counts[i].offset));
        json_close_object(w);
    }
    json_close_object(w);
}

static void print_measures(struct json_writer *w, const struct machine *machine)
{
    json_key(w, "measures");
    json_open_object(w);
    for (size_t i = 0; i < COUNT_OF(measures); i++) {
        const void *at = (const char *)machine + measures[i].offset;
        open_number(w, measures[i].key, machine->sources[COUNT_OF(counts) + i]);
        json_member_real(w, "value", *(const double *)at);
        json_close_object(w);
    }
    json_close_object(w);
}

static void print_rates(struct json_writer *w, const struct machine *machine)
{
    json_key(w, "rates");
    json_open_object(w);
    for (size_t i = 0; i < COUNT_OF(rate_names); i++) {
        if (machine->rates[i] <= 0)
            continue;
        open_number(w, rate_names[i], machine->sources[MACHINE_NUMBER_rates + i]);
        json_member_real(w, "value", machine->rates[i]);
        json_close_object(w);
    }
    json_close_object(w);
}

void machine_print(struct json_writer *w, const struct machine *machine)
{
    json_open_object(w);
    json_member_int(w, "machine", 1);
    json_member_str(w, "name", machine->name);
    json_member_str(w, "title", machine->title);
    json_member_str(w, "arch", machine->arch);
    print_counts(w, machine);
    print_measures(w, machine);
    print_rates(w, machine);
    json_close_object(w);
}

/* ---- occupancy ---- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t machine_blocks_per_sm(const struct machine *machine, int64_t threads, int64_t registers,
                              int64_t shared_bytes)
{
    int64_t warps = num_ceil_div(threads, WARP);
    int64_t unit = machine->registers_unit;
    int64_t of_warp = num_ceil_div((registers > 0 ? registers : 1) * WARP, unit) * unit;
    int64_t shared =
        num_ceil_div(shared_bytes + machine->shared_bytes_reserved_per_block, SHARED_UNIT) *
        SHARED_UNIT;
    if (threads < 1 || threads > machine->threads_per_block ||
        registers > machine->registers_per_thread ||
        shared_bytes > machine->shared_bytes_per_block_optin)
        return 0;
    int64_t blocks = smaller(machine->blocks_per_sm, machine->warps_per_sm / warps);
    blocks = smaller(blocks, machine->registers_per_sm / of_warp / warps);
    return shared > 0 ? smaller(blocks, machine->shared_bytes_per_sm / shared) : blocks;
}

/* ---- L2 ---- */

double machine_l2_holds(const struct machine *machine)
{
    static const double share = 0.5; /* TUNING: guessed */
    return share * (double)machine->l2_bytes;
}
