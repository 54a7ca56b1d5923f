// w2_bmm_unguarded_k  op=batched_matmul
// float4 along K, a guard on N only
extern "C" __global__ void bmm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M,
                               int N, int K) {
    __shared__ __align__(16) float As[32][36];
    __shared__ __align__(16) float Bs[32][36];
    A += (size_t)blockIdx.z * M * K;
    B += (size_t)blockIdx.z * K * N;
    C += (size_t)blockIdx.z * M * N;
    int m = blockIdx.y * 32 + threadIdx.y, n = blockIdx.x * 32 + threadIdx.x * 4;
    const float4 zero = make_float4(0.f, 0.f, 0.f, 0.f);
    float4 acc = zero;
    for (int k0 = 0; k0 < K; k0 += 32) {
        int ka = k0 + threadIdx.x * 4, kb = k0 + threadIdx.y;
        *(float4*)&As[threadIdx.y][threadIdx.x * 4] = m < M && ka < K ? *(const float4*)&A[(size_t)m * K + ka] : zero;
        *(float4*)&Bs[threadIdx.y][threadIdx.x * 4] = kb < K && n < N ? *(const float4*)&B[(size_t)kb * N + n] : zero;
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 32; ++k) {
            float a = As[threadIdx.y][k];
            float4 b = *(const float4*)&Bs[k][threadIdx.x * 4];
            acc.x += a * b.x;
            acc.y += a * b.y;
            acc.z += a * b.z;
            acc.w += a * b.w;
        }
        __syncthreads();
    }
    if (m < M && n < N) *(float4*)&C[(size_t)m * N + n] = acc;
}
