/*
 * plan --preset hwwfc: reads problems, runs the collapse on each, prints.
 *
 * A problem's memory goes when it is printed: a document may hold hundreds.
 */
#include "agent/plan_preset.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#include "agent/plan_view.h"

enum { SPEC_BYTES_MAX = 1 << 16, SPECS_MAX = 256, BACKTRACKS_DEFAULT = 10, CASE_NAME_BYTES = 40 };
static const size_t case_bytes_max = (size_t)4 << 30;
static const double threshold_default = 1.5;
static const char default_spec[] = "toy_gpu";

/* What --preset says beyond the name. */
struct asked {
    bool threshold, weight, backtracks;
    struct hwwfc_options options;
};
struct presenter {
    struct session *session;
    const struct preset_args *args;
    struct asked asked;
    const struct json *document;
    struct buf *out;
    struct json_writer *w; /* NULL: text */
    size_t planned, failed;
};

/* ---- options ---- */

static bool wrong_preset(const char *text, struct err *err)
{
    return err_raise(err, ERR_USAGE,
                     "--preset wants "
                     "hwwfc[,threshold=NUMBER or auto][,weight=NUMBER][,backtracks=INTEGER], "
                     "not \"%s\"",
                     text);
}

/* A number from 0 on, all of the text. */
static bool read_number(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= 0;
}

static bool read_setting(const char *word, struct asked *asked)
{
    const char *equals = strchr(word, '=');
    const size_t length = equals == NULL ? 0 : (size_t)(equals - word);
    const struct str key = {word, length};
    struct hwwfc_options *o = &asked->options;
    double number;
    if (length == 0)
        return false;
    if (str_equal(key, STR_LIT("threshold"))) {
        asked->threshold = true;
        o->automatic = strcmp(equals + 1, "auto") == 0;
        return o->automatic || read_number(equals + 1, &o->threshold);
    }
    if (!read_number(equals + 1, &number))
        return false;
    if (str_equal(key, STR_LIT("weight"))) {
        asked->weight = true;
        o->weight = number;
        return true;
    }
    asked->backtracks = true;
    o->backtracks_max = number <= INT32_MAX ? (int64_t)number : -1;
    return str_equal(key, STR_LIT("backtracks")) && (double)o->backtracks_max == number;
}

static bool read_preset(struct arena *arena, const char *text, struct asked *out, struct err *err)
{
    char *words = str_copy(arena, str_from(text)), *rest = NULL;
    const char *word = strtok_r(words, ",", &rest);
    if (word == NULL || strcmp(word, "hwwfc") != 0)
        return wrong_preset(text, err);
    while ((word = strtok_r(NULL, ",", &rest)) != NULL)
        if (!read_setting(word, out))
            return wrong_preset(text, err);
    return true;
}

/* What was asked for, else what the recorded run was asked for, else the original's defaults. */
static bool options_for(const struct presenter *p, const struct json *at, struct hwwfc_options *out,
                        struct err *err)
{
    const struct json *recorded = at == NULL ? NULL : json_get(at, "result");
    *out = (struct hwwfc_options){
        .threshold = threshold_default, .weight = -1, .backtracks_max = BACKTRACKS_DEFAULT};
    if (recorded != NULL && !hwwfc_options_parse(recorded, out, err))
        return false;
    if (p->asked.threshold) {
        out->automatic = p->asked.options.automatic;
        out->threshold = p->asked.options.threshold;
    }
    out->weight = p->asked.weight ? p->asked.options.weight : out->weight;
    out->backtracks_max =
        p->asked.backtracks ? p->asked.options.backtracks_max : out->backtracks_max;
    return true;
}

/* ---- machines ---- */

static bool known_specs(struct arena *arena, const char *folder, const char *name, struct err *err)
{
    const char *const *files;
    struct buf known;
    size_t count;
    if (!file_list(arena, folder, ".json", SPECS_MAX, &files, &count, err))
        return false;
    buf_init(&known, arena, ERR_TEXT_BYTES / 2);
    for (size_t i = 0; i < count; i++)
        buf_printf(&known, "%s%.*s", i == 0 ? "" : ", ", (int)(strlen(files[i]) - strlen(".json")),
                   files[i]);
    return err_raise(err, ERR_USAGE, "HW-WFC has no machine \"%s\"; known are %s", name, known.at);
}

/* A machine of the document, else of kernels/machines/hwwfc. */
static bool find_spec(struct presenter *p, struct str name, const struct hwwfc_spec **out,
                      struct err *err)
{
    struct arena *arena = p->session->arena;
    const struct json *own =
        p->document == NULL ? NULL : hwwfc_section(arena, p->document, "specs", name);
    struct str text;
    struct buf file;
    struct err why;
    if (own != NULL)
        return hwwfc_spec_parse(arena, own, out, err);
    if (p->session->env.ops_folder == NULL)
        return err_raise(err, ERR_IO, "kernels/machines is not where this program was built");
    char *folder = path_join(arena, path_dir(arena, p->session->env.ops_folder), "machines/hwwfc");
    buf_init(&file, arena, PLAN_REPORT_BYTES_MAX);
    buf_printf(&file, "%s/%.*s.json", folder, STR_ARG(name));
    if (memchr(name.at, '/', name.len) != NULL ||
        !file_read(arena, file.at, SPEC_BYTES_MAX, &text, &why))
        return known_specs(arena, folder, str_copy(arena, name), err);
    return json_parse(arena, text, file.at, &own, err) && hwwfc_spec_parse(arena, own, out, err);
}

static struct str spec_asked(const struct presenter *p)
{
    return str_from(p->args->machine == NULL ? default_spec : p->args->machine);
}

/* ---- one problem ---- */

static bool collapse(struct arena *arena, struct preset_plan *plan, struct err *err)
{
    const size_t n = plan->problem.layer_count;
    const struct hwwfc_spec *spec = plan->problem.spec;
    if (!hwwfc_scores(arena, &plan->problem, &plan->scores, err) ||
        !hwwfc_collapse(arena, &plan->problem, &plan->scores, &plan->options, &plan->run, err))
        return err_context(err, "%.*s on %.*s", STR_ARG(plan->name), STR_ARG(plan->machine));
    plan->weight = plan->options.weight < 0 ? hwwfc_weight(spec->sram_bytes) : plan->options.weight;
    hwwfc_edges(arena, &plan->problem, &plan->edges);
    if (!plan->run.success)
        return true;
    size_t *states = arena_array(arena, size_t, n);
    for (size_t i = 0; i < n; i++)
        states[i] = (size_t)plan->run.states[i];
    plan->states = states;
    plan->unary_sum = hwwfc_unary_sum(&plan->problem, &plan->scores, states);
    plan->objective =
        hwwfc_objective(&plan->problem, &plan->scores, &plan->edges, plan->weight, states);
    return true;
}

static bool present(struct presenter *p, struct arena *arena, struct preset_plan *plan,
                    struct err *err)
{
    if (!collapse(arena, plan, err))
        return false;
    p->planned++;
    p->failed += !plan->run.success;
    if (p->w != NULL)
        preset_json(arena, p->w, plan);
    else
        preset_text(arena, p->out, plan, p->args->explain);
    return true;
}

static bool plan_case(struct presenter *p, struct str name, struct str machine,
                      const struct hwwfc_spec *spec, const struct json *at, struct err *err)
{
    struct preset_plan plan = {.name = name, .machine = machine};
    struct arena arena;
    arena_init(&arena, case_bytes_max);
    bool fine = options_for(p, at, &plan.options, err) &&
                hwwfc_case_parse(&arena, p->document, at, spec, &plan.problem, err) &&
                present(p, &arena, &plan, err);
    arena_release(&arena);
    return fine;
}

/* ---- documents ---- */

/* On its own spec, unless a machine is asked for. */
static bool plan_own(struct presenter *p, struct str name, const struct json *at, struct err *err)
{
    const struct json *own = json_get(at, "spec");
    const struct hwwfc_spec *spec;
    struct str machine = spec_asked(p);
    if (p->args->machine != NULL || own == NULL)
        return find_spec(p, machine, &spec, err) && plan_case(p, name, machine, spec, at, err);
    return hwwfc_spec_parse(p->session->arena, own, &spec, err) &&
           plan_case(p, name, STR_LIT("its own spec"), spec, at, err);
}

static bool plan_fuzz(struct presenter *p, const struct json *cases, struct err *err)
{
    if (cases->kind != JSON_ARRAY)
        return json_fail(cases, err, "expected an array");
    for (size_t i = 0; i < cases->count; i++) {
        char name[CASE_NAME_BYTES];
        snprintf(name, sizeof(name), "fuzz[%zu]", i);
        if (!plan_own(p, str_from(name), &cases->items[i], err))
            return false;
    }
    return true;
}

static bool plan_workloads(struct presenter *p, const struct json *workloads, struct str machine,
                           struct err *err)
{
    const struct hwwfc_spec *spec;
    if (workloads->kind != JSON_OBJECT)
        return json_fail(workloads, err, "expected an object of workloads");
    if (!find_spec(p, machine, &spec, err))
        return false;
    for (size_t i = 0; i < workloads->count; i++)
        if (!plan_case(p, workloads->keys[i], machine, spec, &workloads->items[i], err))
            return false;
    return true;
}

static bool plan_document(struct presenter *p, struct err *err)
{
    const struct json *workloads = json_get(p->document, "workloads");
    const struct json *specs = json_get(p->document, "specs");
    const struct json *cases = json_get(p->document, "fuzz");
    if (json_get(p->document, "layers") != NULL)
        return plan_own(p, str_from(path_base(p->args->file)), p->document, err);
    if (workloads == NULL && cases == NULL)
        return json_fail(p->document, err,
                         "it is no op spec (\"spec\": 1) and has none of HW-WFC's layers, "
                         "workloads, fuzz; give it one of them");
    const bool each = p->args->machine == NULL && specs != NULL && specs->kind == JSON_OBJECT;
    for (size_t i = 0; workloads != NULL && i < (each ? specs->count : 1); i++)
        if (!plan_workloads(p, workloads, each ? specs->keys[i] : spec_asked(p), err))
            return false;
    return cases == NULL || plan_fuzz(p, cases, err);
}

/* ---- op specs ---- */

static bool plan_op(struct presenter *p, struct err *err)
{
    struct arena *arena = p->session->arena;
    struct preset_plan plan = {.machine = spec_asked(p)};
    const struct hwwfc_tiles *tiles = hwwfc_tiles_named(STR_LIT("default"));
    const struct hwwfc_spec *spec;
    const struct bound_op *bound;
    const struct op *op;
    if (!session_spec(p->session, p->args->file, &op, err) ||
        !session_shape(p->session, op, p->args->shape, &bound, err) ||
        (bound == NULL && !op_bind_shape(arena, op, &op->targets[0], &bound, err)) ||
        !find_spec(p, plan.machine, &spec, err) || !options_for(p, NULL, &plan.options, err))
        return false;
    plan.name = op->name;
    if (!hwwfc_of_op(arena, bound, spec, tiles, &plan.problem, err))
        return err_context(err, "%s", p->args->file);
    return present(p, arena, &plan, err);
}

static bool plan_file(struct presenter *p, struct err *err)
{
    const struct json *spec;
    struct arena *arena = p->session->arena;
    struct str text;
    if (!file_read(arena, p->args->file, HWWFC_FILE_BYTES_MAX, &text, err) ||
        !json_parse(arena, text, p->args->file, &p->document, err))
        return false;
    spec = json_get(p->document, "spec");
    if (spec != NULL && spec->kind == JSON_INT) {
        p->document = NULL;
        return plan_op(p, err);
    }
    if (p->document->kind != JSON_OBJECT)
        return json_fail(p->document, err, "expected an object");
    if (p->args->shape != NULL)
        return err_raise(err, ERR_USAGE, "--shape goes with an op spec; %s is HW-WFC's own format",
                         p->args->file);
    return plan_document(p, err);
}

/* ---- the whole ---- */

bool plan_preset(struct session *session, const struct preset_args *args, struct str *out,
                 int *status, struct err *err)
{
    struct presenter p = {.session = session, .args = args};
    struct json_writer w;
    struct buf text;
    if (!read_preset(session->arena, args->preset, &p.asked, err))
        return false;
    buf_init(&text, session->arena, PLAN_REPORT_BYTES_MAX);
    json_writer_init(&w, &text);
    p.out = &text;
    if (args->json) {
        p.w = &w;
        json_open_object(&w);
        json_member_text(&w, "preset", "hwwfc");
        json_key(&w, "plans");
        json_open_array(&w);
    }
    if (!plan_file(&p, err))
        return false;
    if (args->json) {
        json_close_array(&w);
        json_close_object(&w);
        buf_char(&text, '\n');
    } else if (p.planned != 1) {
        buf_printf(&text, "%zu problems, %zu without a plan\n", p.planned, p.failed);
    }
    *status = p.failed == 0 ? EXIT_DONE : EXIT_FAILED;
    return buf_finish(&text, "the report", out, err);
}
