/*
 * The best plan at other shapes, and on machines that are not: where it changes.
 *
 * A sweep over a machine's number doubles from the low end to the high end.  Where the best plans
 * of two neighbours differ, the interval is halved until its ends are next to each other (for
 * rates: within a thousandth), and the upper end becomes a point of its own.  If the best plan
 * changes twice between two neighbours, only one of the changes is found.
 */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/panic.h"

#include "agent/plan_view.h"

enum { RATE_RESOLUTION = 1000, TEXT_BYTES_MAX = 4096, POINT_BYTES_MAX = 2000 << 20 };

/* ---- one point ---- */

static bool point_of(const struct plan_task *task, struct str at, struct plan_point *out,
                     struct err *err)
{
    struct plan_point point = {.at = at};
    struct plan_task own = *task;
    struct plan_view view;
    struct arena scratch; /* a point takes tens of megabytes, and there are hundreds */

    arena_init(&scratch, POINT_BYTES_MAX);
    own.arena = &scratch;
    if (!plan_explore(&own, 1, &view, err)) {
        arena_release(&scratch);
        return false;
    }
    point.sol_seconds = view.sol.seconds;
    point.why_none = str_from(str_copy(task->arena, view.why_none));
    if (view.best_count > 0) {
        point.plan = plan_copy(task->arena, view.best[0].plan);
        point.summary = plan_summary(task->arena, point.plan, task->bound);
        point.seconds = view.best[0].cost.seconds;
        point.possible = view.space.plans_possible;
    }
    arena_release(&scratch);
    *out = point;
    return true;
}

static bool differ(const struct plan_point *a, const struct plan_point *b)
{
    return !plans_equal(a->plan, b->plan);
}

static void mark_flips(struct plan_point *points, size_t count)
{
    for (size_t i = 1; i < count; i++)
        points[i].flips = differ(&points[i - 1], &points[i]);
}

/* ---- shapes ---- */

static struct str without_blanks(struct str text)
{
    const char *comment = memchr(text.at, '#', text.len);

    if (comment != NULL)
        text.len = (size_t)(comment - text.at);
    while (text.len > 0 && strchr(" \t\r", text.at[0]) != NULL)
        text.at++, text.len--;
    while (text.len > 0 && strchr(" \t\r", text.at[text.len - 1]) != NULL)
        text.len--;
    return text;
}

/* The next shape of the list; false at its end. */
static bool next_shape(struct str *rest, struct str *out)
{
    while (rest->len > 0) {
        size_t n = 0;

        while (n < rest->len && rest->at[n] != ';' && rest->at[n] != '\n')
            n++;
        *out = without_blanks((struct str){rest->at, n});
        n += n < rest->len;
        *rest = (struct str){rest->at + n, rest->len - n};
        if (out->len > 0)
            return true;
    }
    return false;
}

static bool shape_bind(const struct plan_task *task, struct str text, const struct bound_op **bound,
                       struct err *err)
{
    struct formula_env dims;

    if (op_parse_dims(task->arena, task->op, text, &dims, err) &&
        op_bind(task->arena, task->op, &dims, bound, err))
        return true;
    err->code = ERR_USAGE;
    return err_context(err, "shape %.*s", STR_ARG(text));
}

static bool shape_point(const struct plan_task *task, const struct bound_op *bound,
                        struct plan_point *out, struct err *err)
{
    struct plan_task own = *task;
    struct buf at;

    own.bound = bound;
    buf_init(&at, task->arena, TEXT_BYTES_MAX);
    op_print_dims(&at, bound);
    return point_of(&own, buf_view(&at), out, err);
}

static int line_of(struct str text, const char *at)
{
    int line = 1;

    for (const char *c = text.at; c < at; c++)
        line += *c == '\n';
    return line;
}

bool plan_shapes(const struct plan_task *task, struct str text, const char *path,
                 struct plan_points *out, struct err *err)
{
    struct plan_point *points = arena_array(task->arena, struct plan_point, PLAN_SHAPES_MAX);
    const struct bound_op *first = NULL, *bound;
    struct str shape, rest = text;
    size_t count = 0;

    while (next_shape(&rest, &shape)) {
        if (count == PLAN_SHAPES_MAX)
            return err_raise(err, ERR_LIMIT, "more than %d shapes", PLAN_SHAPES_MAX);
        if (!shape_bind(task, shape, &bound, err))
            return path == NULL ? false
                                : err_context(err, "%s, line %d", path, line_of(text, shape.at));
        if (!shape_point(task, bound, &points[count++], err))
            return false;
        if (first == NULL)
            first = bound;
    }
    if (count == 0)
        return err_raise(err, ERR_USAGE, "%s%sno shape is given; write M=4096,N=128; M=1,N=128",
                         path == NULL ? "" : path, path == NULL ? "" : ": ");
    mark_flips(points, count);
    *out = (struct plan_points){points, count, first};
    return true;
}

/* ---- machines ---- */

/* How a number is written: K of 1024, K of 1000, 0.5 or 50%. */
enum varied_unit { UNIT_COUNT, UNIT_RATE, UNIT_SHARE };
/* id, name, least, unit. */
#define VARIED(X)                                                                                  \
    X(SMEM, "smem", 1024, UNIT_COUNT)                                                              \
    X(SM_COUNT, "sm_count", 1, UNIT_COUNT)                                                         \
    X(SM_SHARE, "sm-share", 1, UNIT_SHARE)                                                         \
    X(DRAM, "dram", 1000000, UNIT_RATE)                                                            \
    X(REGISTERS, "registers", 8192, UNIT_COUNT)
enum varied {
#define X(id, name, least, unit) VARIED_##id,
    VARIED(X)
#undef X
        VARIED_COUNT
};
static const struct {
    const char *name;
    int64_t least;
    enum varied_unit unit;
} varied_all[] = {
#define X(id, name, least, unit) {name, least, unit},
    VARIED(X)
#undef X
};
enum { VARIED_MAX_BITS = 50 };

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static const struct machine *with_registers(struct arena *arena, const struct machine *machine,
                                            int64_t count)
{
    struct machine *out = arena_new(arena, struct machine);

    *out = *machine;
    out->registers_per_sm = count;
    out->registers_per_thread = smaller(machine->registers_per_thread, count);
    out->registers_unit = smaller(machine->registers_unit, count);
    return out;
}

static const struct machine *with_dram(struct arena *arena, const struct machine *machine,
                                       int64_t bytes_per_s)
{
    struct machine *out = arena_new(arena, struct machine);

    *out = *machine;
    out->dram_bytes_per_s = (double)bytes_per_s;
    return out;
}

static bool machine_with(struct arena *arena, const struct machine *machine, enum varied what,
                         int64_t value, const struct machine **out, struct err *err)
{
    switch (what) {
    case VARIED_SMEM:
        *out = machine_with_smem(arena, machine, value);
        return true;
    case VARIED_SM_COUNT:
        *out = machine_with_sms(arena, machine, value);
        return true;
    case VARIED_SM_SHARE:
        return machine_with_share(arena, machine, value, out, err);
    case VARIED_DRAM:
        *out = with_dram(arena, machine, value);
        return true;
    case VARIED_REGISTERS:
        *out = with_registers(arena, machine, value);
        return true;
    case VARIED_COUNT:
        break;
    }
    panic("varied %d", (int)what);
}

/* ---- NAME=LOW..HIGH ---- */

struct sweep {
    const struct plan_task *task;
    enum varied what;
    int64_t low, high;
    struct plan_point *points;
    size_t count;
};

static bool bad_range(const char *text, struct err *err)
{
    return err_raise(err, ERR_USAGE,
                     "--vary wants NAME=LOW..HIGH such as smem=8K..256K, not \"%s\"; NAME is smem "
                     "(bytes a block), sm_count, sm-share (10%%..100%%), dram (bytes/s, 2T..8T) or "
                     "registers (an "
                     "SM)",
                     text);
}

/* An integer and K, M, G or T: powers of 1024, of 1000 for rates; or a share.  *text moves behind
 * it. */
static bool read_amount(const char **text, enum varied_unit kind, int64_t *out)
{
    static const char suffixes[] = "KMGT";
    const int64_t unit = kind == UNIT_RATE ? 1000 : 1024;
    char *end;

    if (kind == UNIT_SHARE)
        return machine_share_read(text, out);
    long long value = strtoll(*text, &end, 10);
    const char *suffix = *end != '\0' ? strchr(suffixes, *end) : NULL;
    int64_t amount = value;

    if (end == *text || **text < '0' || **text > '9')
        return false;
    for (int i = 0; suffix != NULL && i <= suffix - suffixes; i++)
        if (!num_mul(amount, unit, &amount))
            return false;
    *text = end + (suffix != NULL);
    *out = amount;
    return true;
}

static bool read_vary(const char *text, struct sweep *out, struct err *err)
{
    const char *at = strchr(text, '=');
    size_t what = 0;

    if (at == NULL)
        return bad_range(text, err);
    while (what < VARIED_COUNT && (strlen(varied_all[what].name) != (size_t)(at - text) ||
                                   strncmp(varied_all[what].name, text, (size_t)(at - text)) != 0))
        what++;
    at++;
    if (what == VARIED_COUNT || !read_amount(&at, varied_all[what].unit, &out->low) ||
        strncmp(at, "..", 2) != 0)
        return bad_range(text, err);
    at += 2;
    if (!read_amount(&at, varied_all[what].unit, &out->high) || *at != '\0' || out->low > out->high)
        return bad_range(text, err);
    if (out->low < varied_all[what].least || out->high > INT64_C(1) << VARIED_MAX_BITS)
        return err_raise(err, ERR_USAGE, "--vary %s goes from %lld to %lld", varied_all[what].name,
                         (long long)varied_all[what].least, 1LL << VARIED_MAX_BITS);
    out->what = (enum varied)what;
    return true;
}

/* ---- the sweep ---- */

static bool machine_point(const struct sweep *s, int64_t value, struct plan_point *out,
                          struct err *err)
{
    struct plan_task own = *s->task;
    struct buf at;

    if (!machine_with(own.arena, s->task->machine, s->what, value, &own.machine, err))
        return err_context(err, "--vary %s", varied_all[s->what].name);
    buf_init(&at, own.arena, TEXT_BYTES_MAX);
    buf_printf(&at, "%s=", varied_all[s->what].name);
    if (varied_all[s->what].unit == UNIT_SHARE)
        machine_share_print(&at, value);
    else
        buf_printf(&at, "%lld", (long long)value);
    if (!point_of(&own, buf_view(&at), out, err))
        return false;
    out->value = value;
    return true;
}

/* Between two points that differ, the first value (of one change) that is no longer as `low`. */
static bool narrow(const struct sweep *s, struct plan_point low, struct plan_point *high,
                   struct err *err)
{
    for (;;) {
        const int64_t gap = high->value - low.value;
        const int64_t least =
            varied_all[s->what].unit == UNIT_RATE ? high->value / RATE_RESOLUTION : 1;
        struct plan_point middle;

        if (gap <= least || gap <= 1)
            return true;
        if (!machine_point(s, low.value + gap / 2, &middle, err))
            return false;
        if (differ(&low, &middle))
            *high = middle;
        else
            low = middle;
    }
}

/* The changes on the way from the last point to this one, then this one. */
static bool add_point(struct sweep *s, int64_t value, struct err *err)
{
    struct plan_point point, flip;

    if (!machine_point(s, value, &point, err))
        return false;
    do {
        if (s->count == PLAN_POINTS_MAX)
            return err_raise(err, ERR_LIMIT, "--vary: more than %d points", PLAN_POINTS_MAX);
        flip = point;
        if (s->count > 0 && differ(&s->points[s->count - 1], &point) &&
            !narrow(s, s->points[s->count - 1], &flip, err))
            return false;
        s->points[s->count++] = flip;
    } while (flip.value < point.value);
    return true;
}

bool plan_vary(const struct plan_task *task, const char *text, struct plan_points *out,
               struct err *err)
{
    struct sweep s = {.task = task};

    if (!read_vary(text, &s, err))
        return false;
    s.points = arena_array(task->arena, struct plan_point, PLAN_POINTS_MAX);
    for (int64_t value = s.low; value < s.high; value *= 2)
        if (!add_point(&s, value, err))
            return false;
    if (!add_point(&s, s.high, err))
        return false;
    mark_flips(s.points, s.count);
    *out = (struct plan_points){.items = s.points, .count = s.count};
    return true;
}
