/* Machines: the files of kernels/machines, canonical text, complaints, occupancy. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

#include "solver/ir/machine.h"
#include "tests/unit/unit.h"

enum { ARENA_BYTES = 64 << 20, TEXT_BYTES = 1 << 20, FILES_MAX = 64 };

static const char folder[] = "kernels/machines";

static void assert_near(double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * fabs(want)))
        fail_msg("%.17g, expected %.17g", got, want);
}

static bool parse(struct arena *arena, struct str text, const char *source,
                  const struct machine **out, struct err *err)
{
    const struct json *json;
    return json_parse(arena, text, source, &json, err) && machine_parse(arena, json, out, err);
}

static struct str print(struct arena *arena, const struct machine *machine)
{
    struct buf out;
    struct json_writer w;
    buf_init(&out, arena, TEXT_BYTES);
    json_writer_init(&w, &out);
    machine_print(&w, machine);
    return buf_view(&out);
}

static struct str read_file(struct arena *arena, const char *name)
{
    struct str text;
    struct err err = {0};
    assert_ok(file_read(arena, path_join(arena, folder, name), MACHINE_BYTES_MAX, &text, &err));
    return text;
}

static const struct machine *load(struct arena *arena, const char *name)
{
    const struct machine *machine;
    struct err err = {0};
    assert_ok(parse(arena, read_file(arena, name), name, &machine, &err));
    return machine;
}

static void test_files(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    const char *const *names;
    size_t count;
    arena_init(&arena, ARENA_BYTES);
    assert_ok(file_list(&arena, folder, ".json", FILES_MAX, &names, &count, &err));
    assert_int_equal(count, 9);
    for (size_t i = 0; i < count; i++) {
        const struct machine *machine = load(&arena, names[i]), *again;
        struct str text = print(&arena, machine);
        assert_ok(parse(&arena, text, "printed", &again, &err));
        assert_string_equal(print(&arena, again).at, text.at);
        assert_int_equal(machine->name.len + strlen(".json"), strlen(names[i]));
        assert_memory_equal(machine->name.at, names[i], machine->name.len);
        /* Cores: 128 an SM from 8.6 on, 64 of A100; the clock is that of the f32 rate. */
        double cores = machine->capability == 80 ? 64 : 128;
        double f32 = (double)machine->sm_count * cores * 2 * machine->clock_hz;
        assert_near(machine->rates[MACHINE_RATE_F32] / f32, 1, 0.005);
        for (size_t r = 0; r < MACHINE_NUMBER_COUNT; r++)
            assert_true(machine->sources[r].len > 0 || r >= MACHINE_NUMBER_rates);
    }
    arena_release(&arena);
}

/* Dense tensor rates double with each halving of the type; a sparse figure would not. */
static void test_rates_are_dense(void **state UNUSED)
{
    static const struct {
        const char *file;
        double f16, flops_a_clock; /* of an SM */
    } cases[] = {
        {"h200-sxm.json", 989.4e12, 4096 * 1.83 / 1.98},
        {"h100-sxm.json", 989.4e12, 4096 * 1.83 / 1.98},
        {"a100-sxm-80.json", 312e12, 2048},
        {"a6000.json", 154.8e12, 1024},
        {"l40s.json", 362.05e12, 1024 * 362.05 / 366.4},
        {"rtx-4090.json", 165.2e12, 512},
        {"rtx-3060.json", 25.48e12, 512},
        {"b200.json", 2250e12, 8192 * 1.86 / 1.98},
        {"jetson-thor.json", 258.5e12, 8192},
    };
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct machine *m = load(&arena, cases[i].file);
        double f16 = m->rates[MACHINE_RATE_F16];
        assert_near(f16 / cases[i].f16, 1, 1e-9);
        assert_near(f16 / (double)m->sm_count / m->clock_hz / cases[i].flops_a_clock, 1, 0.012);
        assert_near(m->rates[MACHINE_RATE_TF32] / f16, 0.5, 0.012);
        assert_near(m->rates[MACHINE_RATE_BF16], f16, 0);
        if (m->rates[MACHINE_RATE_E4M3] > 0)
            assert_near(m->rates[MACHINE_RATE_E4M3] / f16, 2, 0.03);
    }
    arena_release(&arena);
}

/* `text` with its first `from` replaced by `to`. */
static struct str edit(struct arena *arena, struct str text, const char *from, const char *to)
{
    struct buf out;
    const char *at = strstr(text.at, from);
    assert_non_null(at);
    buf_init(&out, arena, TEXT_BYTES);
    buf_bytes(&out, text.at, (size_t)(at - text.at));
    buf_text(&out, to);
    buf_text(&out, at + strlen(from));
    return buf_view(&out);
}

static void test_broken(void **state UNUSED)
{
    static const char *const cases[][3] = {
        {"\"machine\": 1", "\"machine\": 2",
         "m.json: machine: 2 is out of range; it must be from 1 to 1"},
        {"\"sm_90a\"", "\"sm90\"",
         "m.json: arch: expected an architecture such as \"sm_90a\", not \"sm90\""},
        {"\"sm_90a\"", "\"sm_90ab\"",
         "m.json: arch: expected an architecture such as \"sm_90a\", not \"sm_90ab\""},
        {"\"sm_90a\"", "\"sm_99999999999999999999\"",
         "m.json: arch: expected an architecture such as \"sm_90a\", not "
         "\"sm_99999999999999999999\""},
        {"\"value\": 132,", "",
         "m.json: counts.sm_count: \"value\" is missing; it must be an integer"},
        {"\"value\": 132,", "\"value\": 0,",
         "m.json: counts.sm_count.value: 0 is out of range; it must be from 1 to 65536"},
        {"\"sm_count\"", "\"sm_counts\"",
         "m.json: counts.sm_counts: unknown key; did you mean \"sm_count\"?"},
        {"1980000000.0", "\"inf\"", "m.json: measures.clock_hz.value: expected a number"},
        {"1980000000.0", "-1.5",
         "m.json: measures.clock_hz.value: -1.5 is out of range; it must be from 1 to 1e+12"},
        {"\"source\": \"NVIDIA H200 datasheet: 141 GB\"", "\"source\": \"\"",
         "m.json: counts.dram_bytes.source: a source has from 1 to 500 bytes"},
        {"\"threads_per_sm\": { \"value\": 2048", "\"threads_per_sm\": { \"value\": 1536",
         "m.json: counts: threads_per_sm is 1536, but warps_per_sm is 64 of 32 threads"},
        {"\"threads_per_block\": { \"value\": 1024", "\"threads_per_block\": { \"value\": 4096",
         "m.json: counts: threads_per_block is 4096, more than threads_per_sm, 2048"},
        {"\"shared_bytes_per_block_optin\": { \"value\": 232448",
         "\"shared_bytes_per_block_optin\": { \"value\": 300000",
         "m.json: counts: shared_bytes_per_block_optin is 300000, more than shared_bytes_per_sm, "
         "233472"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct err err = {0};
        const struct machine *machine = NULL;
        arena_init(&arena, ARENA_BYTES);
        struct str text = read_file(&arena, "h200-sxm.json");
        text = edit(&arena, text, cases[i][0], cases[i][1]);
        assert_false(parse(&arena, text, "m.json", &machine, &err));
        assert_string_equal(err.text, cases[i][2]);
        assert_null(machine);
        arena_release(&arena);
    }
}

static void test_rate_needed(void **state UNUSED)
{
    struct arena arena;
    struct err err = {0};
    const struct machine *machine;
    arena_init(&arena, ARENA_BYTES);
    struct str text = edit(&arena, read_file(&arena, "h200-sxm.json"), "\"f32\"", "\"fp32\"");
    assert_false(parse(&arena, text, "m.json", &machine, &err));
    assert_string_equal(err.text, "m.json: rates.fp32: unknown key; did you mean \"f32\"?");
    arena_release(&arena);
}

/* Figures of NVIDIA's occupancy calculator. */
static void test_occupancy(void **state UNUSED)
{
    static const struct {
        const char *file;
        int64_t threads, registers, shared, blocks;
    } cases[] = {
        {"h200-sxm.json", 256, 32, 0, 8},           {"h200-sxm.json", 256, 205, 16896, 1},
        {"h200-sxm.json", 256, 128, 16896, 2},      {"h200-sxm.json", 1024, 64, 0, 1},
        {"h200-sxm.json", 1024, 65, 0, 0},          {"h200-sxm.json", 32, 16, 0, 32},
        {"h200-sxm.json", 128, 32, 232448, 1},      {"h200-sxm.json", 128, 32, 232449, 0},
        {"h200-sxm.json", 128, 32, 113 * 1024, 2},  {"h200-sxm.json", 2048, 16, 0, 0},
        {"h200-sxm.json", 128, 256, 0, 0},          {"rtx-3060.json", 256, 32, 0, 6},
        {"rtx-3060.json", 64, 16, 0, 16},           {"rtx-4090.json", 64, 16, 0, 24},
        {"a100-sxm-80.json", 128, 32, 80 << 10, 2},
    };
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t blocks = machine_blocks_per_sm(load(&arena, cases[i].file), cases[i].threads,
                                               cases[i].registers, cases[i].shared);
        if (blocks != cases[i].blocks)
            fail_msg("%s, %lld threads, %lld registers, %lld bytes: %lld blocks", cases[i].file,
                     (long long)cases[i].threads, (long long)cases[i].registers,
                     (long long)cases[i].shared, (long long)blocks);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),     cmocka_unit_test(test_rates_are_dense),
        cmocka_unit_test(test_broken),    cmocka_unit_test(test_rate_needed),
        cmocka_unit_test(test_occupancy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
