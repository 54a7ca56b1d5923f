/*
 * The table of tensor-core instructions.
 */
#include "solver/ir/mma.h"

enum { WARP = 32, GROUP = 128, ANY = INT32_MAX };

static const struct mma_shape shapes[] = {
    {COMPUTE_F16, 16, 8, 8, 8, 8, WARP, 75, ANY},
    {COMPUTE_F16, 16, 8, 8, 8, 16, WARP, 80, ANY},
    {COMPUTE_BF16, 16, 8, 8, 8, 8, WARP, 80, ANY},
    {COMPUTE_BF16, 16, 8, 8, 8, 16, WARP, 80, ANY},
    {COMPUTE_TF32, 16, 8, 8, 8, 4, WARP, 80, ANY},
    {COMPUTE_TF32, 16, 8, 8, 8, 8, WARP, 80, ANY},
    {COMPUTE_F64, 8, 8, 8, 8, 4, WARP, 80, ANY},
    {COMPUTE_F64, 16, 8, 8, 8, 4, WARP, 90, ANY},
    {COMPUTE_F64, 16, 8, 8, 8, 8, WARP, 90, ANY},
    {COMPUTE_F64, 16, 8, 8, 8, 16, WARP, 90, ANY},
    {COMPUTE_F16, 64, 8, 256, 8, 16, GROUP, 90, 90},
    {COMPUTE_BF16, 64, 8, 256, 8, 16, GROUP, 90, 90},
    {COMPUTE_TF32, 64, 8, 256, 8, 8, GROUP, 90, 90},
};

const struct mma_shape *mma_shape(size_t index)
{
    return index < COUNT_OF(shapes) ? &shapes[index] : NULL;
}

int64_t mma_products(enum compute compute)
{
    return compute == COMPUTE_F32 ? 6 : 1;
}

int64_t mma_fragment_bytes(enum compute compute)
{
    static const int64_t bytes[] = {[COMPUTE_F64] = 8,
                                    [COMPUTE_F32] = 6,
                                    [COMPUTE_TF32] = 4,
                                    [COMPUTE_F16] = 2,
                                    [COMPUTE_BF16] = 2};
    return bytes[compute];
}

const struct mma_shape *mma_find(enum compute compute, const int64_t mma[3])
{
    const bool parts = mma_products(compute) > 1;
    const enum compute type = parts ? COMPUTE_BF16 : compute;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const struct mma_shape *shape = &shapes[i];
        if (shape->compute == type && shape->m == mma[0] && shape->k == mma[2] &&
            mma[1] >= shape->n_least && mma[1] <= shape->n_most && mma[1] % shape->n_step == 0 &&
            !(parts && shape->threads > WARP))
            return shape;
    }
    return NULL;
}

int64_t mma_lanes_down(const struct mma_shape *shape)
{
    return shape->threads / MMA_LANES_ACROSS;
}

double mma_rate(const struct machine *machine, enum compute compute)
{
    static const enum machine_rate rates[] = {[COMPUTE_F64] = MACHINE_RATE_F64_TENSOR,
                                              [COMPUTE_F32] = MACHINE_RATE_BF16,
                                              [COMPUTE_TF32] = MACHINE_RATE_TF32,
                                              [COMPUTE_F16] = MACHINE_RATE_F16,
                                              [COMPUTE_BF16] = MACHINE_RATE_BF16};
    return machine->rates[rates[compute]] / (double)mma_products(compute);
}
