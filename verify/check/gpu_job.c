/*
 * What a trial on a GPU needs, made where the compiler is: the candidate's code for that GPU, the
 * reference's, and our own kernels'.
 *
 * A cubin runs on the major version it was made for, from its minor version on; else the driver
 * compiles the PTX.
 */
#include <stdio.h>
#include <string.h>

#include "synth/synth.h"
#include "verify/check/on_gpu_int.h"

extern const char embed_verify_check_gpu_tools_cuh[];

enum { COMPILE_MS = 180 * 1000 };

static const char *arch_of(struct arena *arena, const struct gpu_info *gpu)
{
    char name[32];

    snprintf(name, sizeof(name), "sm_%d%d", gpu->cc_major, gpu->cc_minor);
    return str_copy(arena, str_from(name));
}

static bool compile(struct arena *arena, struct compiler *compiler, struct str source,
                    const char *arch, struct str *cubin, struct err *err)
{
    const struct compile_request request = {.source = source, .arch = arch, .wall_ms = COMPILE_MS};
    struct compile_result result;

    if (!compiler_compile(compiler, arena, &request, &result, err))
        return false;
    if (result.end != COMPILE_OK)
        return err_raise(err, ERR_DEVICE, "%s: %s", compile_end_text(result.end),
                         result.reason != NULL ? result.reason : "");
    *cubin = result.cubin;
    return true;
}

static bool cubin_runs(struct arena *arena, struct str bytes, const struct gpu_info *gpu)
{
    struct cubin cubin;
    struct err err;

    return bytes.len > 0 && cubin_read(arena, bytes, STR_LIT(""), &cubin, &err) &&
           cubin.sm / 10 == gpu->cc_major && cubin.sm % 10 <= gpu->cc_minor;
}

static bool choose_image(struct arena *arena, const struct gpu_question *q, struct str *image,
                         struct err *err)
{
    if (cubin_runs(arena, q->cubin, q->gpu)) {
        *image = q->cubin;
        return true;
    }
    if (q->ptx.len > 0) {
        *image = q->ptx;
        return true;
    }
    return err_raise(err, ERR_UNSUPPORTED,
                     "the cubin is for another architecture than %s (sm_%d%d), and there is no PTX",
                     q->gpu->name, q->gpu->cc_major, q->gpu->cc_minor);
}

bool gpu_job_prepare(struct arena *arena, const struct gpu_question *question,
                     struct compiler *compiler, struct gpu_job *job, struct err *err)
{
    const char *arch = arch_of(arena, question->gpu);
    struct gpu_job made = {
        .op = question->op,
        .track = question->track,
        .target = question->target,
        .plan = question->plan,
        .candidate = {.manifest = question->manifest},
        .ptx = question->ptx,
        .secret = question->secret,
        .seeds = question->seeds,
    };
    struct emitted reference;

    if (!choose_image(arena, question, &made.candidate.image, err))
        return false;
    if (!compile(arena, compiler, str_from(embed_verify_check_gpu_tools_cuh), arch, &made.tools,
                 err))
        return err_context(err, "the checker's kernels");
    if (question->target != NULL &&
        (!emit_reference(arena, question->op, question->track, arch, &reference, err) ||
         !compile(arena, compiler, reference.cuda, arch, &made.reference.image, err)))
        return err_context(err, "the reference");
    if (question->target != NULL)
        made.reference.manifest = reference.manifest;
    *job = made;
    return true;
}
