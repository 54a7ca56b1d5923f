// w2_softmax_tree_warp_sync  op=layernorm
// the last steps of the tree run without barriers
extern "C" __global__ void ln_two_pass(const float* x, const float* gamma, const float* beta, float* y, int N) {
    extern __shared__ float smem[];
    float* red = smem;
    float* row = smem + 256;
    int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = tid; i < N; i += blockDim.x) {
        row[i] = x[(size_t)blockIdx.x * N + i];
        sum += row[i];
    }
    red[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) red[tid] += red[tid + s];
        __syncthreads();
    }
    float mean = red[0] / N;
    __syncthreads();
    float sq = 0.0f;
    for (int i = tid; i < N; i += blockDim.x) {
        float d = row[i] - mean;
        sq += d * d;
    }
    red[tid] = sq;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) red[tid] += red[tid + s];
        if (s > 32) __syncthreads();
    }
    __syncthreads();
    float inv_std = 1.0f / sqrtf(red[0] / N + 1e-5f);
    for (int i = tid; i < N; i += blockDim.x)
        y[(size_t)blockIdx.x * N + i] = gamma[i] * ((row[i] - mean) * inv_std) + beta[i];
}
