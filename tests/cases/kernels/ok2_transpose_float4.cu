// ok2_transpose_float4  op=transpose
// 64 x 64 tile read and written as float4, guard on both
extern "C" __global__ void transpose_v4(const float* __restrict__ in, float* __restrict__ out, int M, int N) {
    __shared__ float t[64][65];
    const int bx = blockIdx.x * 64, by = blockIdx.y * 64;
#pragma unroll
    for (int r = threadIdx.y; r < 64; r += 16) {
        int row = by + r, col = bx + threadIdx.x * 4;
        if (row < M && col < N) {
            float4 v = *(const float4*)&in[(size_t)row * N + col];
            t[r][threadIdx.x * 4 + 0] = v.x;
            t[r][threadIdx.x * 4 + 1] = v.y;
            t[r][threadIdx.x * 4 + 2] = v.z;
            t[r][threadIdx.x * 4 + 3] = v.w;
        }
    }
    __syncthreads();
#pragma unroll
    for (int r = threadIdx.y; r < 64; r += 16) {
        int row = bx + r, col = by + threadIdx.x * 4;
        if (row < N && col < M) {
            float4 v = make_float4(t[threadIdx.x * 4][r], t[threadIdx.x * 4 + 1][r], t[threadIdx.x * 4 + 2][r],
                                   t[threadIdx.x * 4 + 3][r]);
            *(float4*)&out[(size_t)row * M + col] = v;
        }
    }
}
