/*
 * softmax, one thread an element, a kernel a statement.
 */

typedef long long i64;
typedef unsigned long long u64;

template <class T> static __device__ T nan_max(T a, T b)
{
    return a > b || a != a ? a : b;
}

/* mx[m] = max(n) x[m,n] */
extern "C" __global__ void softmax_1_mx(const float *__restrict__ x, float *__restrict__ mx, i64 M, i64 N)
{
    const i64 total = M;
    for (i64 id = (i64)blockIdx.x * blockDim.x + threadIdx.x; id < total; id += (i64)gridDim.x * blockDim.x) {
        const i64 m = id;
        float acc = -__int_as_float(0x7f800000);
        for (i64 n = 0; n < N; ++n) {
            acc = nan_max<float>(acc, x[m * N + n]);
        }
        mx[m] = acc;
    }
}

/* e[m,n] = exp(x[m,n] - mx[m]) */
extern "C" __global__ void softmax_2_e(const float *__restrict__ x, const float *__restrict__ mx, float *__restrict__ e, i64 M, i64 N)
{
    const i64 total = M * N;
    for (i64 id = (i64)blockIdx.x * blockDim.x + threadIdx.x; id < total; id += (i64)gridDim.x * blockDim.x) {
        i64 rest = id;
        const i64 n = rest % N;
        rest /= N;
        const i64 m = rest;
        e[m * N + n] = expf(x[m * N + n] - mx[m]);
    }
}

/* s[m] = sum(n) e[m,n] */
extern "C" __global__ void softmax_3_s(const float *__restrict__ e, float *__restrict__ s, i64 M, i64 N)
{
    const i64 total = M;
    for (i64 id = (i64)blockIdx.x * blockDim.x + threadIdx.x; id < total; id += (i64)gridDim.x * blockDim.x) {
        const i64 m = id;
        double acc = 0;
        for (i64 n = 0; n < N; ++n) {
            acc += e[m * N + n];
        }
        s[m] = (float)acc;
    }
}

/* y[m,n] = e[m,n] / s[m] */
extern "C" __global__ void softmax_4_y(float *__restrict__ y, const float *__restrict__ e, const float *__restrict__ s, i64 M, i64 N)
{
    const i64 total = M * N;
    for (i64 id = (i64)blockIdx.x * blockDim.x + threadIdx.x; id < total; id += (i64)gridDim.x * blockDim.x) {
        i64 rest = id;
        const i64 n = rest % N;
        rest /= N;
        const i64 m = rest;
        y[m * N + n] = e[m * N + n] / s[m];
    }
}

// manifest: {"arch":"sm_90a","deterministic":false,"guard":1,"kernels":[{"args":[{"tensor":"x"},{"workspace":"t:mx"},{"dim":"M","dtype":"i64"},{"dim":"N","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"softmax_1_mx","grid":["min(ceildiv(M, 256), 1048576)",1,1],"programmatic":false,"smem":0},{"args":[{"tensor":"x"},{"workspace":"t:mx"},{"workspace":"t:e"},{"dim":"M","dtype":"i64"},{"dim":"N","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"softmax_2_e","grid":["min(ceildiv(M * N, 256), 1048576)",1,1],"programmatic":false,"smem":0},{"args":[{"workspace":"t:e"},{"workspace":"t:s"},{"dim":"M","dtype":"i64"},{"dim":"N","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"softmax_3_s","grid":["min(ceildiv(M, 256), 1048576)",1,1],"programmatic":false,"smem":0},{"args":[{"tensor":"y"},{"workspace":"t:e"},{"workspace":"t:s"},{"dim":"M","dtype":"i64"},{"dim":"N","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"softmax_4_y","grid":["min(ceildiv(M * N, 256), 1048576)",1,1],"programmatic":false,"smem":0}],"manifest":1,"op":"softmax","prepare":[],"strategy":"naive","workspace":[{"bytes":"M * 4","init":"none","name":"t:mx"},{"bytes":"M * N * 4","init":"none","name":"t:e"},{"bytes":"M * 4","init":"none","name":"t:s"}]}
