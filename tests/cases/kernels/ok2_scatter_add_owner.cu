// ok2_scatter_add_owner  op=scatter_add
// each output row gathers what is its own: no atomics
extern "C" __global__ void gather_rows(const long long* __restrict__ idx, const float* __restrict__ x,
                                       float* __restrict__ y, int E, int N) {
    for (int e = threadIdx.x; e < E; e += blockDim.x) {
        float acc = 0.0f;
        for (int n = 0; n < N; ++n)
            if (idx[n] == blockIdx.x) acc += x[(size_t)n * E + e];
        y[(size_t)blockIdx.x * E + e] = acc;
    }
}
