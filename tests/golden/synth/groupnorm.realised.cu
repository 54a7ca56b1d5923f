/*
 * groupnorm, track f32, guard 1
 * region 0: 1024 threads, vector 8, b 1/1, g 1/1, d 1/1, h 1/1, w 8192/8; reduction-tree, block-cooperative-summary, vector-access, streaming-accumulation, rematerialisation
 * region 1: 256 threads, vector 4, b 1/1, c 1/1, h 1/1, w 1024/4; vector-access
 */

typedef long long i64;
typedef unsigned long long u64;

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

struct sum_of {
    template <class T> static __device__ T combine(T a, T b) { return a + b; }
};
struct product_of {
    template <class T> static __device__ T combine(T a, T b) { return a * b; }
};
struct any_of {
    template <class T> static __device__ T combine(T a, T b) { return a | b; }
};
struct all_of {
    template <class T> static __device__ T combine(T a, T b) { return a & b; }
};

template <class T> static __device__ T other_lane(T v, int mask)
{
    return __shfl_xor_sync(0xffffffffu, v, mask);
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
 *   s[b,g:G] = sum(d:D,h,w) x[b,g * D + d,h,w]
 *   mean[b,g] = s[b,g] / (D * H * W)
 *   q[b,g] = sum(d:D,h,w) (x[b,g * D + d,h,w] - mean[b,g]) * (x[b,g * D + d,h,w] - mean[b,g])
 *   r[b,g] = rsqrt(q[b,g] / (D * H * W) + 1e-05)
 */
extern "C" __global__ void __launch_bounds__(1024) groupnorm_1_r(const float *__restrict__ x, float *__restrict__ mean, float *__restrict__ r, i64 B, i64 G, i64 D, i64 H, i64 W, i64 C)
{
    const i64 length = ((D * H) * W);
    const int lane = threadIdx.x;
    const i64 rows = (B * G);
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const i64 g = row % G;
        const i64 b = row / G;
        double s_acc = 0;
        for (i64 base = lane * 8; base < length; base += 8192) {
            #pragma unroll
            for (int slot = 0; slot < 8; ++slot) {
                const i64 pos = base + slot;
                if (pos < length) {
                    const i64 w = pos % W;
                    const i64 h = pos / W % H;
                    const i64 d = pos / W / H;
                    s_acc += x[((b * C + g * D + d) * H + h) * W + w];
                }
            }
        }
        const float s_row = (float)block_all<sum_of, 32>(s_acc);
        const float mean_row = s_row / (float)(D * H * W);
        if (lane == 0)
            mean[row] = mean_row;
        double q_acc = 0;
        for (i64 base = lane * 8; base < length; base += 8192) {
            #pragma unroll
            for (int slot = 0; slot < 8; ++slot) {
                const i64 pos = base + slot;
                if (pos < length) {
                    const i64 w = pos % W;
                    const i64 h = pos / W % H;
                    const i64 d = pos / W / H;
                    q_acc += (x[((b * C + g * D + d) * H + h) * W + w] - mean_row) * (x[((b * C + g * D + d) * H + h) * W + w] - mean_row);
                }
            }
        }
        const float q_row = (float)block_all<sum_of, 32>(q_acc);
        const float r_row = rsqrtf(q_row / (float)(D * H * W) + 1e-05f);
        if (lane == 0)
            r[row] = r_row;
    }
}

/* Fused maps:
 *   y[b,c,h,w] = (x[b,c,h,w] - mean[b,c / D]) * r[b,c / D] * gamma[c] + beta[c]
 */
extern "C" __global__ void __launch_bounds__(256) groupnorm_2_y(const float *__restrict__ x, const float *__restrict__ gamma_, const float *__restrict__ beta, float *__restrict__ y, const float *__restrict__ mean, const float *__restrict__ r, i64 B, i64 G, i64 D, i64 H, i64 W, i64 C)
{
    const i64 length = (((B * C) * H) * W);
    const int lane = threadIdx.x;
    for (i64 base = (i64)blockIdx.x * 1024 + lane * 4; base < length; base += (i64)gridDim.x * 1024) {
        float y_k[4] = {};
        float x_k[4];
        load_chunk<4>(x_k, x + base, length - (base));
        #pragma unroll
        for (int slot = 0; slot < 4; ++slot) {
            const i64 pos = base + slot;
            if (pos < length) {
                const i64 w = pos % W;
                const i64 h = pos / W % H;
                const i64 c = pos / W / H % C;
                const i64 b = pos / W / H / C;
                y_k[slot] = (x_k[slot] - mean[b * G + c / D]) * r[b * G + c / D] * gamma_[c] + beta[c];
            }
        }
        {
            float narrow[4];
            #pragma unroll
            for (int part = 0; part < 4; ++part)
                narrow[part] = y_k[part];
            store_chunk<4>(y + base, narrow, length - (base));
        }
    }
}

// manifest: {"arch":"sm_90a","deterministic":false,"guard":1,"kernels":[{"args":[{"tensor":"x"},{"workspace":"t:mean"},{"workspace":"t:r"},{"dim":"B","dtype":"i64"},{"dim":"G","dtype":"i64"},{"dim":"D","dtype":"i64"},{"dim":"H","dtype":"i64"},{"dim":"W","dtype":"i64"},{"dim":"C","dtype":"i64"}],"block":[1024,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"groupnorm_1_r","grid":["min(B * G, 1048576)",1,1],"programmatic":false,"smem":0},{"args":[{"tensor":"x"},{"tensor":"gamma"},{"tensor":"beta"},{"tensor":"y"},{"workspace":"t:mean"},{"workspace":"t:r"},{"dim":"B","dtype":"i64"},{"dim":"G","dtype":"i64"},{"dim":"D","dtype":"i64"},{"dim":"H","dtype":"i64"},{"dim":"W","dtype":"i64"},{"dim":"C","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"groupnorm_2_y","grid":["min(ceildiv(B * C * H * W, 1024), 1048576)",1,1],"programmatic":false,"smem":0}],"manifest":1,"op":"groupnorm","prepare":[],"strategy":"realised","workspace":[{"bytes":"B * G * 4","init":"none","name":"t:mean"},{"bytes":"B * G * 4","init":"none","name":"t:r"}]}
