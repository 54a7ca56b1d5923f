/*
 * relu, track f32, guard 1
 * region 0: 256 threads, vector 4, i 1024/4; vector-access
 */

typedef long long i64;
typedef unsigned long long u64;

template <class T> static __device__ T nan_max(T a, T b)
{
    return a > b || a != a ? a : b;
}

inline __device__ double widen(double a) { return a; }
inline __device__ float widen(float a) { return a; }
inline __device__ i64 widen(i64 a) { return a; }
inline __device__ i64 widen(int a) { return a; }
inline __device__ i64 widen(short a) { return a; }
inline __device__ i64 widen(signed char a) { return a; }
inline __device__ i64 widen(unsigned char a) { return a; }

/* V neighbours in one access where the address allows, else one by one; left elements
 * remain in the row, the rest reads as zero and is not written. */
template <int V, class T> struct alignas(sizeof(T) * V) chunk_of {
    T at[V];
};
template <int V, class T, class R>
static __device__ void load_chunk(R *to, const T *from, i64 left)
{
    if (left >= V && (u64)from % sizeof(chunk_of<V, T>) == 0) {
        const chunk_of<V, T> chunk = *(const chunk_of<V, T> *)from;
#pragma unroll
        for (int v = 0; v < V; ++v)
            to[v] = widen(chunk.at[v]);
    } else {
#pragma unroll
        for (int v = 0; v < V; ++v)
            to[v] = v < left ? (R)widen(from[v]) : R(0);
    }
}
template <int V, class T> static __device__ void store_chunk(T *to, const T *from, i64 left)
{
    if (left >= V && (u64)to % sizeof(chunk_of<V, T>) == 0) {
        chunk_of<V, T> chunk;
#pragma unroll
        for (int v = 0; v < V; ++v)
            chunk.at[v] = from[v];
        *(chunk_of<V, T> *)to = chunk;
    } else {
#pragma unroll
        for (int v = 0; v < V; ++v)
            if (v < left)
                to[v] = from[v];
    }
}

/* Fused maps:
 *   y[i] = max(x[i], 0.0)
 */
extern "C" __global__ void __launch_bounds__(256) relu_1_y(const float *__restrict__ x, float *__restrict__ y, i64 N)
{
    const int lane = threadIdx.x;
    for (i64 base = (i64)blockIdx.x * 1024 + lane * 4; base < N; base += (i64)gridDim.x * 1024) {
        float y_k[4] = {};
        float x_k[4];
        load_chunk<4>(x_k, x + base, N - (base));
        #pragma unroll
        for (int slot = 0; slot < 4; ++slot) {
            const i64 pos = base + slot;
            if (pos < N) {
                y_k[slot] = nan_max<float>(x_k[slot], 0.0f);
            }
        }
        {
            float narrow[4];
            #pragma unroll
            for (int part = 0; part < 4; ++part)
                narrow[part] = y_k[part];
            store_chunk<4>(y + base, narrow, N - (base));
        }
    }
}

// manifest: {"arch":"sm_90a","deterministic":false,"guard":1,"kernels":[{"args":[{"tensor":"x"},{"tensor":"y"},{"dim":"N","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"relu_1_y","grid":["min(ceildiv(N, 1024), 1048576)",1,1],"programmatic":false,"smem":0}],"manifest":1,"op":"relu","prepare":[],"strategy":"realised","workspace":[]}
