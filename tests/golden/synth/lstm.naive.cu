/*
 * lstm, one thread an element, a kernel a statement.
 */

typedef long long i64;
typedef unsigned long long u64;

/* xg[t,b,g] = sum(i) x[t,b,i] * w[g,i] */
extern "C" __global__ void lstm_1_xg(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ xg, i64 T, i64 B, i64 I, i64 G)
{
    const i64 total = T * B * G;
    for (i64 id = (i64)blockIdx.x * blockDim.x + threadIdx.x; id < total; id += (i64)gridDim.x * blockDim.x) {
        i64 rest = id;
        const i64 g = rest % G;
        rest /= G;
        const i64 b = rest % B;
        rest /= B;
        const i64 t = rest;
        double acc = 0;
        for (i64 i = 0; i < I; ++i) {
            acc += x[(t * B + b) * I + i] * w[g * I + i];
        }
        xg[(t * B + b) * G + g] = (float)acc;
    }
}

/* seq t: one block, a barrier behind each statement */
extern "C" __global__ void lstm_2_seq(const float *__restrict__ h0, const float *__restrict__ c0, const float *__restrict__ u, const float *__restrict__ bias, float *__restrict__ h, const float *__restrict__ xg, float *__restrict__ hg, float *__restrict__ a, float *__restrict__ fc, float *__restrict__ c, i64 T, i64 B, i64 H, i64 G)
{
    for (i64 t = 0; t < T; ++t) {
        /* hg[t,b,g] = sum(j) pad(h[t - 1,b,j], h0[b,j]) * u[g,j] */
        {
            const i64 total = B * G;
            for (i64 id = threadIdx.x; id < total; id += blockDim.x) {
                i64 rest = id;
                const i64 g = rest % G;
                rest /= G;
                const i64 b = rest;
                double acc = 0;
                for (i64 j = 0; j < H; ++j) {
                    acc += (t - 1 >= 0 && t - 1 < T ? h[((t - 1) * B + b) * H + j] : h0[b * H + j]) * u[g * H + j];
                }
                hg[(t * B + b) * G + g] = (float)acc;
            }
        }
        __syncthreads();
        /* a[t,b,g] = xg[t,b,g] + hg[t,b,g] + bias[g] */
        {
            const i64 total = B * G;
            for (i64 id = threadIdx.x; id < total; id += blockDim.x) {
                i64 rest = id;
                const i64 g = rest % G;
                rest /= G;
                const i64 b = rest;
                a[(t * B + b) * G + g] = xg[(t * B + b) * G + g] + hg[(t * B + b) * G + g] + bias[g];
            }
        }
        __syncthreads();
        /* fc[t,b,k] = pad(c[t - 1,b,k], c0[b,k]) / (1.0 + exp(-a[t,b,H + k])) */
        {
            const i64 total = B * H;
            for (i64 id = threadIdx.x; id < total; id += blockDim.x) {
                i64 rest = id;
                const i64 k = rest % H;
                rest /= H;
                const i64 b = rest;
                fc[(t * B + b) * H + k] = (t - 1 >= 0 && t - 1 < T ? c[((t - 1) * B + b) * H + k] : c0[b * H + k]) / (1.0f + expf(-a[(t * B + b) * G + H + k]));
            }
        }
        __syncthreads();
        /* c[t,b,k:H] = fc[t,b,k] + tanh(a[t,b,2 * H + k]) / (1.0 + exp(-a[t,b,k])) */
        {
            const i64 total = B * H;
            for (i64 id = threadIdx.x; id < total; id += blockDim.x) {
                i64 rest = id;
                const i64 k = rest % H;
                rest /= H;
                const i64 b = rest;
                c[(t * B + b) * H + k] = fc[(t * B + b) * H + k] + tanhf(a[(t * B + b) * G + 2 * H + k]) / (1.0f + expf(-a[(t * B + b) * G + k]));
            }
        }
        __syncthreads();
        /* h[t,b,k] = tanh(c[t,b,k]) / (1.0 + exp(-a[t,b,3 * H + k])) */
        {
            const i64 total = B * H;
            for (i64 id = threadIdx.x; id < total; id += blockDim.x) {
                i64 rest = id;
                const i64 k = rest % H;
                rest /= H;
                const i64 b = rest;
                h[(t * B + b) * H + k] = tanhf(c[(t * B + b) * H + k]) / (1.0f + expf(-a[(t * B + b) * G + 3 * H + k]));
            }
        }
        __syncthreads();
    }
}

/* cn[b,k] = c[T - 1,b,k] */
extern "C" __global__ void lstm_3_cn(float *__restrict__ cn, const float *__restrict__ c, i64 T, i64 B, i64 H)
{
    const i64 total = B * H;
    for (i64 id = (i64)blockIdx.x * blockDim.x + threadIdx.x; id < total; id += (i64)gridDim.x * blockDim.x) {
        i64 rest = id;
        const i64 k = rest % H;
        rest /= H;
        const i64 b = rest;
        cn[b * H + k] = c[((T - 1) * B + b) * H + k];
    }
}

// manifest: {"arch":"sm_90a","deterministic":false,"guard":1,"kernels":[{"args":[{"tensor":"x"},{"tensor":"w"},{"workspace":"t:xg"},{"dim":"T","dtype":"i64"},{"dim":"B","dtype":"i64"},{"dim":"I","dtype":"i64"},{"dim":"G","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"lstm_1_xg","grid":["min(ceildiv(T * B * G, 256), 1048576)",1,1],"programmatic":false,"smem":0},{"args":[{"tensor":"h0"},{"tensor":"c0"},{"tensor":"u"},{"tensor":"bias"},{"tensor":"h"},{"workspace":"t:xg"},{"workspace":"t:hg"},{"workspace":"t:a"},{"workspace":"t:fc"},{"workspace":"t:c"},{"dim":"T","dtype":"i64"},{"dim":"B","dtype":"i64"},{"dim":"H","dtype":"i64"},{"dim":"G","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"lstm_2_seq","grid":[1,1,1],"programmatic":false,"smem":0},{"args":[{"tensor":"cn"},{"workspace":"t:c"},{"dim":"T","dtype":"i64"},{"dim":"B","dtype":"i64"},{"dim":"H","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"lstm_3_cn","grid":["min(ceildiv(B * H, 256), 1048576)",1,1],"programmatic":false,"smem":0}],"manifest":1,"op":"lstm","prepare":[],"strategy":"naive","workspace":[{"bytes":"T * B * G * 4","init":"none","name":"t:xg"},{"bytes":"T * B * G * 4","init":"none","name":"t:hg"},{"bytes":"T * B * G * 4","init":"none","name":"t:a"},{"bytes":"T * B * H * 4","init":"none","name":"t:fc"},{"bytes":"T * B * H * 4","init":"none","name":"t:c"}]}
