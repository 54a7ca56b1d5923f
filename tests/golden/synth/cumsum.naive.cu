/*
 * cumsum, one thread an element, a kernel a statement.
 */

typedef long long i64;
typedef unsigned long long u64;

/* y[m,n] = sum(j <= n) x[m,j] */
extern "C" __global__ void cumsum_1_y(const float *__restrict__ x, float *__restrict__ y, i64 M, i64 N)
{
    const i64 total = M;
    for (i64 id = (i64)blockIdx.x * blockDim.x + threadIdx.x; id < total; id += (i64)gridDim.x * blockDim.x) {
        const i64 m = id;
        double acc = 0;
        i64 j = 0;
        for (i64 n = 0; n < N; ++n) {
            for (; j < N && j <= n; ++j) {
                acc += x[m * N + j];
            }
            y[m * N + n] = (float)acc;
        }
    }
}

// manifest: {"arch":"sm_90a","deterministic":false,"guard":1,"kernels":[{"args":[{"tensor":"x"},{"tensor":"y"},{"dim":"M","dtype":"i64"},{"dim":"N","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"cumsum_1_y","grid":["min(ceildiv(M, 256), 1048576)",1,1],"programmatic":false,"smem":0}],"manifest":1,"op":"cumsum","prepare":[],"strategy":"naive","workspace":[]}
