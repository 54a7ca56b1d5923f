/*
 * argmax, track f32, guard N <= 4096
 * region 0: 512 threads, vector 4, m 1/1, n 4096/8; reduction-tree, block-cooperative-summary, vector-access
 */

typedef long long i64;
typedef unsigned long long u64;

/* Does v take the place of the best so far?  NaN wins, the first stays. */
template <class T> static __device__ bool better_max(T v, T best)
{
    return v > best || (v != v && best == best);
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

/* A candidate for the extremum and its position; at = -1 is none. */
template <class T> struct arg {
    T value;
    i64 at;
};

struct argmax_of {
    template <class T> static __device__ arg<T> combine(arg<T> a, arg<T> b)
    {
        if (a.at < 0 || b.at < 0)
            return a.at < 0 ? b : a;
        if (better_max(b.value, a.value))
            return b;
        return better_max(a.value, b.value) || a.at < b.at ? a : b;
    }
};

template <class T> static __device__ T other_lane(T v, int mask)
{
    return __shfl_xor_sync(0xffffffffu, v, mask);
}

template <class T> static __device__ arg<T> other_lane(arg<T> v, int mask)
{
    return {__shfl_xor_sync(0xffffffffu, v.value, mask),
            __shfl_xor_sync(0xffffffffu, v.at, mask)};
}

/* The combination over a warp, in every lane. */
template <class Op, class T> static __device__ T warp_all(T v)
{
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2)
        v = Op::combine(v, other_lane(v, mask));
    return v;
}

/* The combination over a block of WARPS (a power of two) warps, in every thread. */
template <class Op, int WARPS, class T> static __device__ T block_all(T v)
{
    __shared__ T parts[WARPS];
    v = warp_all<Op>(v);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = v;
    __syncthreads();
    v = parts[threadIdx.x % WARPS];
#pragma unroll
    for (int mask = WARPS / 2; mask > 0; mask /= 2)
        v = Op::combine(v, other_lane(v, mask));
    __syncthreads();
    return v;
}

/* A row a block:
 *   y[m] = argmax(n) x[m,n]
 */
extern "C" __global__ void __launch_bounds__(512) argmax_1_y(const float *__restrict__ x, i64 *__restrict__ y, i64 M, i64 N)
{
    const int lane = threadIdx.x;
    const i64 own = lane * 4;
    const i64 rows = M;
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const i64 m = row;
        arg<float> y_acc = {0, -1};
        float x_k[8];
        #pragma unroll
        for (int slot = 0; slot < 8; slot += 4) {
            load_chunk<4>(x_k + slot, x + row * N + own + slot * 512, N - (own + slot * 512));
        }
        #pragma unroll
        for (int slot = 0; slot < 8; ++slot) {
            const i64 pos = own + slot / 4 * 2048 + slot % 4;
            if (pos < N) {
                y_acc = argmax_of::combine<float>(y_acc, {x_k[slot], pos});
            }
        }
        const i64 y_row = (i64)block_all<argmax_of, 16>(y_acc).at;
        if (lane == 0)
            y[row] = y_row;
    }
}

// manifest: {"arch":"sm_90a","deterministic":false,"guard":"N <= 4096","kernels":[{"args":[{"tensor":"x"},{"tensor":"y"},{"dim":"M","dtype":"i64"},{"dim":"N","dtype":"i64"}],"block":[512,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"argmax_1_y","grid":["min(M, 1048576)",1,1],"programmatic":false,"smem":0}],"manifest":1,"op":"argmax","prepare":[],"strategy":"realised","workspace":[]}
