/*
 * Compiles with a real NVRTC: every kernel of tests/cases/cuda, the same bytes by every way, errors
 * with their places, the cache, and what happens without NVRTC.
 */
#include <string.h>

#include "base/attr.h"
#include "base/cache.h"

#include "tests/unit/unit.h"
#include "verify/device/device_int.h"

static const size_t arena_bytes = (size_t)1 << 30;
enum { SOURCE_BYTES_MAX = 1 << 20, FILES_MAX = 200, WALL_MS = 120 * 1000 };
static const char folder[] = "tests/cases/cuda";

static const struct device_paths paths = {.build_folder = "build/nvrtc"};

struct fixture {
    struct arena arena;
    struct compiler *compiler;
};

static bool have_nvrtc(struct arena *arena)
{
    struct nvrtc_info info;
    device_probe_nvrtc(arena, &paths, &info);
    if (!info.found)
        print_message("skipped: %s\n", info.why_not);
    return info.found && info.include;
}

static void open_with(struct fixture *f, struct compiler_options options)
{
    struct err err;
    arena_init(&f->arena, arena_bytes);
    options.paths = paths;
    if (!have_nvrtc(&f->arena)) {
        arena_release(&f->arena);
        skip();
    }
    assert_ok(compiler_open(&f->arena, &options, &f->compiler, &err));
}

static void close_fixture(struct fixture *f)
{
    compiler_close(f->compiler);
    arena_release(&f->arena);
}

static struct compile_result compile(struct fixture *f, struct str source, const char *arch,
                                     bool debug)
{
    struct compile_result result;
    struct err err;
    struct compile_request request = {
        .source = source, .arch = arch, .debug = debug, .wall_ms = WALL_MS};
    assert_ok(compiler_compile(f->compiler, &f->arena, &request, &result, &err));
    return result;
}

static struct str load(struct arena *arena, const char *name)
{
    struct str source;
    struct err err;
    assert_ok(file_read(arena, path_join(arena, folder, name), SOURCE_BYTES_MAX, &source, &err));
    return source;
}

/* What ptxas says of a kernel in the log must be what the cubin says. */
static void check_cubin(struct arena *arena, const struct compile_result *result, const char *name)
{
    struct cubin cubin;
    struct err err;
    assert_ok(cubin_read(arena, result->cubin, result->log, &cubin, &err));
    assert_int_equal(cubin.sm, 90);
    for (size_t i = 0; i < cubin.kernel_count; i++) {
        const struct cubin_kernel *kernel = &cubin.kernels[i];
        char heading[4400];
        unsigned registers = 0;
        unsigned barriers = 0;
        snprintf(heading, sizeof(heading), "Compiling entry function '%s' for 'sm_90a'\n",
                 kernel->name);
        const char *at = strstr(result->log.at, heading);
        at = at ? strstr(at, "Used ") : NULL;
        if (!at || sscanf(at, "Used %u registers, used %u barriers", &registers, &barriers) != 2)
            fail_msg("%s: nothing about %s in the log", name, kernel->name);
        const char *smem = strstr(at, " bytes smem");
        const char *end = strchr(at, '\n');
        unsigned shared = 0;
        while (smem && end && smem < end && smem[-1] != ' ')
            smem--;
        if (smem && end && smem < end)
            sscanf(smem, "%u bytes smem", &shared);
        if (kernel->registers != registers || kernel->barriers != barriers ||
            kernel->shared_bytes != shared)
            fail_msg("%s: %s has %u registers, %u barriers, %u shared", name, kernel->name,
                     kernel->registers, kernel->barriers, kernel->shared_bytes);
    }
}

static void compiles_every_case(void **state UNUSED)
{
    struct fixture f;
    const char *const *names;
    size_t count;
    struct err err;
    size_t kernels = 0;
    open_with(&f, (struct compiler_options){0});
    assert_ok(file_list(&f.arena, folder, ".cu", FILES_MAX, &names, &count, &err));
    assert_true(count >= 24);
    for (size_t i = 0; i < count; i++) {
        struct compile_result result = compile(&f, load(&f.arena, names[i]), "sm_90a", false);
        if (result.end != COMPILE_OK)
            fail_msg("%s: %s: %s", names[i], compile_end_text(result.end), result.reason);
        assert_true(result.ptx.len > 0 && result.cubin.len > 0);
        assert_null(strstr(result.ptx.at, "/proc/self"));
        assert_null(strstr(result.log.at, "/proc/self"));
        check_cubin(&f.arena, &result, names[i]);
        kernels++;
    }
    print_message("%zu files compiled\n", kernels);
    close_fixture(&f);
}

static void assert_same(const char *name, const struct compile_result *a,
                        const struct compile_result *b)
{
    if (!str_equal(a->ptx, b->ptx))
        fail_msg("%s: PTX differs", name);
    if (!str_equal(a->cubin, b->cubin))
        fail_msg("%s: cubin differs", name);
    if (!str_equal(a->log, b->log))
        fail_msg("%s: log differs", name);
}

/*
 * Precompiled headers and the server change the time and nothing else; but where libcu++ is
 * included NVRTC orders its constants in another way with precompiled headers, so there only the
 * same way is compared.
 */
static void gives_the_same_bytes_every_way(void **state UNUSED)
{
    static const struct {
        const char *name;
        bool libcudacxx;
    } cases[] = {
        {"k02_matmul_tiled.cu", false},
        {"k05_wmma_fp16.cu", false},
        {"k24_cuda_pipeline.cu", true},
    };
    struct fixture served;
    struct fixture fresh;
    open_with(&served, (struct compiler_options){0});
    open_with(&fresh, (struct compiler_options){.no_server = true});
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct str source = load(&served.arena, cases[i].name);
        struct compile_result first = compile(&served, source, "sm_90a", false);
        struct compile_result second = compile(&served, source, "sm_90a", false);
        assert_int_equal(first.end, COMPILE_OK);
        assert_same(cases[i].name, &first, &second);
        if (cases[i].libcudacxx)
            continue;
        struct compile_result alone = compile(&fresh, source, "sm_90a", false);
        assert_same(cases[i].name, &first, &alone);
    }
    close_fixture(&fresh);
    close_fixture(&served);
}

static const struct {
    const char *name, *source;
    enum compile_end end;
    int line, column;
    const char *words;
} places[] = {
    {"undefined name", "extern \"C\" __global__ void k(float *x)\n{\n    x[0] = y;\n}\n",
     COMPILE_FAILED, 3, 12, "identifier \"y\" is undefined"},
    {"tab before it", "extern \"C\" __global__ void k(float *x) {\n\tx[0] = y; }\n", COMPILE_FAILED,
     2, 0, "identifier \"y\" is undefined"},
    {"in an instantiated header",
     "#include <cub/block/block_reduce.cuh>\nstruct Q {};\n"
     "extern \"C\" __global__ void k(Q *x)\n{\n    typedef cub::BlockReduce<Q, 32> R;\n"
     "    __shared__ typename R::TempStorage t;\n    x[0] = R(t).Sum(x[0]);\n}\n",
     COMPILE_FAILED, 0, 0, "no instance of function template"},
    {"ptxas", "extern \"C\" __global__ void k(float *x) { asm(\"foo.bar 1;\"); }\n", COMPILE_FAILED,
     0, 0, "Unknown modifier"},
    {"unresolved",
     "__device__ float f(float);\nextern \"C\" __global__ void k(float *x) { x[0] = f(x[1]); }\n",
     COMPILE_FAILED, 0, 0, "Unresolved extern"},
    {"screen", "extern \"C\" __global__ void k(float *x) { }\n#include \"/etc/passwd\"\n",
     COMPILE_REJECTED, 2, 10, "/etc/passwd"},
    {"missing header", "#include <cub/block/no_such_header.cuh>\n", COMPILE_FAILED, 1, 0,
     "no_such_header"},
};

static void says_where_the_error_is(void **state UNUSED)
{
    struct fixture f;
    open_with(&f, (struct compiler_options){0});
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct compile_result r = compile(&f, str_from(places[i].source), "sm_90a", false);
        if (r.end != places[i].end || r.diagnostic_count == 0)
            fail_msg("%s: %s, %s", places[i].name, compile_end_text(r.end), r.reason);
        const struct compile_diagnostic *d = &r.diagnostics[0];
        if (!strstr(r.reason, places[i].words) || (places[i].line && d->line != places[i].line) ||
            (places[i].column && d->column != places[i].column))
            fail_msg("%s: %d:%d %s", places[i].name, d->line, d->column, r.reason);
        assert_int_equal(r.ptx.len, 0);
    }
    close_fixture(&f);
}

/* What models take for granted must be there, and leave nothing in the PTX. */
static const char *const preludes[] = {
    "x[0] = INFINITY + NAN + FLT_MAX + (float)INT_MAX + (float)M_PI + CUDART_PI_F + __FLT_MAX__;",
    "int64_t a = 1; uint8_t b = 2; uintptr_t c = 3; uint e = 5; size_t d = a; x[d] = b + c + e;",
    "x[0] = std::max(x[1], 2.f) + std::min(1, 2) + std::sqrt(x[1]) + std::abs(-1.5f);",
    "x[0] = -std::numeric_limits<float>::infinity() + std::numeric_limits<int>::max();",
    "std::swap(x[0], x[1]); x[2] = std::max({1.f, 2.f, x[3]}); x[3] = std::clamp(x[1], 0.f, 1.f);",
    "using namespace std; x[0] = max(x[1], x[2]) + min(1, 2) + abs(x[3]) + pow(x[4], 2.f);",
    "static_assert(std::is_same<float, std::remove_cv_t<const float>>::value, \"\"); x[0] = 1;",
};

static void prelude_has_what_models_use(void **state UNUSED)
{
    struct fixture f;
    open_with(&f, (struct compiler_options){0});
    for (size_t i = 0; i < COUNT_OF(preludes); i++) {
        char source[600];
        snprintf(source, sizeof(source),
                 "#include <cmath>\n#include <cstdint>\n#include <float.h>\n"
                 "extern \"C\" __global__ void k(float *x) { %s }\n",
                 preludes[i]);
        struct compile_result result = compile(&f, str_from(source), "sm_90a", false);
        if (result.end != COMPILE_OK)
            fail_msg("%s: %s", preludes[i], result.reason);
        if (strstr(result.ptx.at, ".global .align"))
            fail_msg("%s: leaves a variable in the PTX", preludes[i]);
    }
    close_fixture(&f);
}

static const struct {
    const char *name, *header;
} headers[] = {
    {"fp8", "cuda_fp8.h"},
    {"driver types", "cuda.h"},
    {"math constants", "math_constants.h"},
    {"bf16", "cuda_bf16.h"},
    {"pipeline", "cuda_pipeline.h"},
    {"runtime", "cuda_runtime.h"},
    {"complex", "cuComplex.h"},
    {"std", "cuda/std/type_traits"},
    {"ptx", "cuda/ptx"},
};

static void headers_go_with_the_prelude(void **state UNUSED)
{
    struct fixture f;
    open_with(&f, (struct compiler_options){.no_server = true});
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        char source[300];
        snprintf(source, sizeof(source),
                 "#include <%s>\n#include <stdint.h>\n"
                 "extern \"C\" __global__ void k(float *x) { x[0] = INFINITY; }\n",
                 headers[i].header);
        struct compile_result result = compile(&f, str_from(source), "compute_90", false);
        if (result.end != COMPILE_OK)
            fail_msg("%s: %s", headers[i].header, result.reason);
        for (size_t d = 0; d < result.diagnostic_count; d++)
            fail_msg("%s: %s", headers[i].header, result.diagnostics[d].text);
    }
    close_fixture(&f);
}

static void knows_variants(void **state UNUSED)
{
    static const char source[] =
        "extern \"C\" __global__ void k(int *x) { int a = x[0]; x[1] = a; }\n";
    struct fixture f;
    open_with(&f, (struct compiler_options){0});
    struct compile_result ptx_only = compile(&f, str_from(source), "compute_80", false);
    assert_int_equal(ptx_only.end, COMPILE_OK);
    assert_non_null(strstr(ptx_only.ptx.at, ".target sm_80"));
    assert_int_equal(ptx_only.cubin.len, 0);
    struct compile_result debug = compile(&f, str_from(source), "sm_80", true);
    assert_int_equal(debug.end, COMPILE_OK);
    assert_non_null(strstr(debug.ptx.at, ".target sm_80, debug"));
    assert_non_null(strstr(compile(&f, str_from(source), "sm_100a", false).ptx.at, "sm_100a"));

    struct err err = {0};
    struct compile_result none;
    struct compile_request request = {.source = str_from(source), .arch = "sm_90; rm"};
    assert_false(compiler_compile(f.compiler, &f.arena, &request, &none, &err));
    assert_int_equal(err.code, ERR_USAGE);
    request.arch = "sm_77";
    assert_false(compiler_compile(f.compiler, &f.arena, &request, &none, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    close_fixture(&f);
}

static void caches_by_content(void **state UNUSED)
{
    static const char good[] = "extern \"C\" __global__ void k(int *x) { x[0] = 1; int unused; }\n";
    static const char bad[] = "extern \"C\" __global__ void k(int *x) { x[0] = y; }\n";
    struct fixture f;
    struct cache cache = {0};
    open_with(&f, (struct compiler_options){.cache = &cache});
    cache.folder = unit_folder(&f.arena, "compile-cache");
    struct compile_result first = compile(&f, str_from(good), "sm_90a", false);
    struct compile_result second = compile(&f, str_from(good), "sm_90a", false);
    assert_false(first.cached);
    assert_true(second.cached);
    assert_same("good", &first, &second);
    assert_int_equal(first.diagnostic_count, 1);
    assert_int_equal(second.diagnostic_count, 1);
    assert_true(second.wall_ns == first.wall_ns);
    assert_false(compile(&f, str_from(good), "sm_90", false).cached);
    assert_false(compile(&f, str_from(good), "sm_90a", true).cached);
    assert_false(compile(&f, str_from(bad), "sm_90a", false).cached);
    struct compile_result failed = compile(&f, str_from(bad), "sm_90a", false);
    assert_true(failed.cached);
    assert_int_equal(failed.end, COMPILE_FAILED);
    assert_int_equal(failed.diagnostics[0].line, 1);
    close_fixture(&f);
}

static void says_what_is_missing(void **state UNUSED)
{
    struct arena arena;
    struct compiler *compiler;
    struct nvrtc_info info;
    struct err err = {0};
    struct compiler_options nowhere = {
        .paths = {.cuda_home = "/nowhere/cuda", .build_folder = "/nowhere/wheels"}};
    arena_init(&arena, arena_bytes);
    assert_false(compiler_open(&arena, &nowhere, &compiler, &err));
    assert_int_equal(err.code, ERR_DEVICE);
    assert_non_null(strstr(err.text, "make deps"));
    assert_non_null(strstr(err.text, "/nowhere/cuda"));
    device_probe_nvrtc(&arena, &nowhere.paths, &info);
    assert_false(info.found);
    assert_non_null(strstr(info.why_not, "/nowhere/wheels"));
    arena_release(&arena);
}

/* A toolkit without its library, and a library that is none. */
static void refuses_a_false_library(void **state UNUSED)
{
    struct arena arena;
    struct nvrtc_info info;
    struct err err;
    arena_init(&arena, arena_bytes);
    const char *home = unit_folder(&arena, "false-nvrtc");
    const char *lib = path_join(&arena, home, "lib64");
    assert_ok(file_make_dirs(lib, &err));
    assert_ok(file_write(path_join(&arena, lib, "libnvrtc.so.13"), str_from("text"), &err));
    device_probe_nvrtc(&arena, &(struct device_paths){.cuda_home = home}, &info);
    assert_false(info.found);
    assert_non_null(strstr(info.why_not, "libnvrtc.so.13"));
    arena_release(&arena);
}

static void probes_the_machine(void **state UNUSED)
{
    struct arena arena;
    struct driver_info driver;
    struct nvrtc_info nvrtc;
    arena_init(&arena, arena_bytes);
    device_probe_driver(&arena, &driver);
    assert_true(driver.gpu_count > 0 || driver.why_not != NULL);
    device_probe_nvrtc(&arena, &paths, &nvrtc);
    if (nvrtc.found) {
        assert_true(nvrtc.major >= 12 && nvrtc.arch_count > 5);
        assert_int_equal(nvrtc.archs[nvrtc.arch_count - 1] / 10 >= 9, true);
    }
    arena_release(&arena);
}

/* The two ways to confine files, each with a real compile inside. */
struct confined {
    struct sandbox_info have;
};

static int compile_confined(void *context, int out_fd)
{
    const struct confined *confined = context;
    struct arena arena;
    struct nvrtc nvrtc;
    struct compile_tool tool;
    struct err err;
    struct compile_job job = {
        .source = str_from("#include <cuda_fp16.h>\n#if __has_include(\"/etc/passwd\")\n"
                           "#error visible\n#endif\n"
                           "extern \"C\" __global__ void k(half *x) { x[0] = x[1]; }\n"),
        .arch = "sm_90a",
        .headers = "",
    };
    arena_init(&arena, arena_bytes);
    if (!nvrtc_load(&arena, &paths, &nvrtc, &err) ||
        !compile_tool_prepare(&tool, &arena, &nvrtc, &confined->have, &err))
        return 1;
    return compile_child_run(&tool, &job, out_fd);
}

static void compiles_in_each_sandbox(void **state UNUSED)
{
    struct arena arena;
    struct sandbox_info have;
    struct proc_result child;
    struct compile_frame frame;
    struct err err;
    struct proc_limits limits = {.wall_ms = WALL_MS, .output_bytes_max = 4 << 20};
    arena_init(&arena, arena_bytes);
    device_probe_sandbox(&have);
    if (!have_nvrtc(&arena)) {
        arena_release(&arena);
        skip();
    }
    for (int way = 0; way < 2; way++) {
        struct confined confined = {have};
        if (way == 0)
            confined.have.user_namespaces = false;
        else
            confined.have.landlock_abi = 0;
        if (!sandbox_confines_files(&confined.have)) {
            print_message("not on this machine: way %d\n", way);
            continue;
        }
        assert_ok(proc_fork(&arena, compile_confined, &confined, &limits, &child, &err));
        assert_int_equal(child.end, PROC_EXITED);
        assert_true(child.out.len > sizeof(frame));
        memcpy(&frame, child.out.at, sizeof(frame));
        if (frame.rc != NVRTC_OK)
            fail_msg("way %d: %d: %s", way, frame.rc, child.out.at + sizeof(frame));
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_missing),
        cmocka_unit_test(refuses_a_false_library),
        cmocka_unit_test(probes_the_machine),
        cmocka_unit_test(compiles_in_each_sandbox),
        cmocka_unit_test(says_where_the_error_is),
        cmocka_unit_test(prelude_has_what_models_use),
        cmocka_unit_test(headers_go_with_the_prelude),
        cmocka_unit_test(knows_variants),
        cmocka_unit_test(caches_by_content),
        cmocka_unit_test(gives_the_same_bytes_every_way),
        cmocka_unit_test(compiles_every_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
