/*
 * A real GPU through the driver: memory, launches, and whose fault each failure is.  Every case
 * runs in a process of its own, as candidates do, so a fault in one leaves the others alone.
 *
 * Skips, with the probe's reason, where there is no GPU.
 */
#include <string.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/proc.h"

#include "tests/unit/unit.h"
#include "verify/device/device.h"

static const char code[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry good(.param .u64 at, .param .u32 what)\n"
    "{ .reg .u64 %a; .reg .u32 %w; ld.param.u64 %a, [at];\n"
    "  ld.param.u32 %w, [what]; st.global.u32 [%a], %w; ret; }\n"
    ".visible .entry odd(.param .u64 at)\n"
    "{ .reg .u64 %a; ld.param.u64 %a, [at]; st.global.u32 [%a+1], 7; ret; }\n"
    ".visible .entry wild(.param .u64 at)\n"
    "{ .reg .u64 %a; mov.u64 %a, 16; st.global.u32 [%a], 7; ret; }\n"
    ".visible .entry trapped(.param .u64 at)\n{ trap; ret; }\n"
    ".visible .entry forever(.param .u64 at)\n"
    "{ .reg .u64 %a; .reg .u32 %w; .reg .pred %p; ld.param.u64 %a, [at];\n"
    "more: ld.volatile.global.u32 %w, [%a]; setp.ne.u32 %p, %w, 99;\n"
    "  @%p bra more; ret; }\n";

enum { WAIT_MS = 3000 };

/* What a case sends to the test. */
struct outcome {
    bool failed;
    enum gpu_blame blame;
    uint32_t word;
    int64_t wall_ms;
};

struct scene {
    struct arena arena;
    struct gpu *gpu;
    struct gpu_module *module;
    uint64_t memory;
};

static bool open_scene(struct scene *s, struct err *err)
{
    static const uint32_t zeros[64] = {0};

    arena_init(&s->arena, 64 << 20);
    return gpu_open(&s->arena, 0, &s->gpu, err) &&
           gpu_load(&s->arena, s->gpu, str_from(code), &s->module, err) &&
           gpu_alloc(s->gpu, sizeof(zeros), &s->memory, err) &&
           gpu_upload(s->gpu, s->memory, zeros, sizeof(zeros), err);
}

struct step {
    const char *name, *entry;
    uint32_t threads, cluster;
    size_t smem;
    enum gpu_blame blame;
    uint32_t word; /* what lies at the address afterwards, where nothing failed */
};

static const struct step steps[] = {
    {"a store", "good", 32, 1, 0, GPU_BLAME_NONE, 42},
    {"an address that is not mapped", "wild", 1, 1, 0, GPU_BLAME_ADDRESS, 0},
    {"a misaligned store", "odd", 1, 1, 0, GPU_BLAME_CODE, 0},
    {"a trap", "trapped", 1, 1, 0, GPU_BLAME_CODE, 0},
    {"a block of 2048 threads", "good", 2048, 1, 0, GPU_BLAME_LAUNCH, 0},
    {"a megabyte of shared memory", "good", 32, 1, 1 << 20, GPU_BLAME_LAUNCH, 0},
    {"a kernel that never ends", "forever", 1, 1, 0, GPU_BLAME_HUNG, 0},
    {"no such kernel", "nothing", 1, 1, 0, GPU_BLAME_IMAGE, 0},
    {"a store again", "good", 64, 1, 0, GPU_BLAME_NONE, 42},
};

static bool launch(struct scene *s, const struct step *step, struct err *err)
{
    uint8_t params[16] = {0};
    const uint32_t word = 42;
    struct gpu_function *function;

    memcpy(params, &s->memory, sizeof(s->memory));
    memcpy(params + 8, &word, sizeof(word));
    if (!gpu_find(&s->arena, s->gpu, s->module, step->entry, &function, err))
        return false;
    const struct gpu_launch launch = {.function = function,
                                      .grid = {1, 1, 1},
                                      .block = {step->threads, 1, 1},
                                      .cluster = {step->cluster, 1, 1},
                                      .smem = step->smem,
                                      .params = params};
    return gpu_launch(s->gpu, &launch, err) && gpu_wait(s->gpu, WAIT_MS, err);
}

static int play(void *context, int out_fd)
{
    const int64_t start = clock_mono_ns();
    const struct step *step = context;
    struct outcome outcome = {0};
    struct scene scene;
    struct err err;

    if (!open_scene(&scene, &err))
        return 1;
    outcome.failed =
        !launch(&scene, step, &err) ||
        !gpu_download(scene.gpu, &outcome.word, scene.memory, sizeof(outcome.word), &err);
    outcome.blame = gpu_blame(scene.gpu);
    outcome.wall_ms = (clock_mono_ns() - start) / 1000000;
    gpu_close(scene.gpu);
    return proc_write_all(out_fd, &outcome, sizeof(outcome)) ? 0 : 1;
}

static bool has_gpu(struct arena *arena)
{
    struct driver_info driver;

    device_probe_driver(arena, &driver);
    if (driver.gpu_count > 0)
        return true;
    print_message("no GPU: %s\n", driver.why_not != NULL ? driver.why_not : "none listed");
    return false;
}

static void blames(void **state)
{
    const struct proc_limits limits = {.wall_ms = 60000, .output_bytes_max = 4096};
    struct arena arena;
    struct err err;

    (void)state;
    arena_init(&arena, 64 << 20);
    if (!has_gpu(&arena)) {
        arena_release(&arena);
        skip();
    }
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct step step = steps[i];
        struct proc_result result;
        struct outcome outcome;

        assert_ok(proc_fork(&arena, play, &step, &limits, &result, &err));
        if (result.end != PROC_EXITED || result.status != 0 || result.out.len != sizeof(outcome))
            fail_msg("%s: the process ended badly: %.*s", step.name, STR_ARG(result.err));
        memcpy(&outcome, result.out.at, sizeof(outcome));
        if (outcome.failed != (step.blame != GPU_BLAME_NONE) || outcome.blame != step.blame ||
            (!outcome.failed && outcome.word != step.word))
            fail_msg("%s: failed %d, blame %d, word %u", step.name, outcome.failed, outcome.blame,
                     outcome.word);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blames)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
