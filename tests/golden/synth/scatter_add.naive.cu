/*
 * scatter_add, one thread an element, a kernel a statement.
 */

typedef long long i64;
typedef unsigned long long u64;

/* y[idx[n],e] += (n,e) x[n,e] */
extern "C" __global__ void scatter_add_1_scatter(double *acc, const i64 *__restrict__ idx, const float *__restrict__ x, i64 V, i64 E, i64 N)
{
    const i64 total = N * E;
    for (i64 id = (i64)blockIdx.x * blockDim.x + threadIdx.x; id < total; id += (i64)gridDim.x * blockDim.x) {
        i64 rest = id;
        const i64 e = rest % E;
        rest /= E;
        const i64 n = rest;
        if (idx[n] >= 0 && idx[n] < V) {
            atomicAdd(&acc[idx[n] * E + e], (double)x[n * E + e]);
        }
    }
}

/* rounds the sums into their tensor */
extern "C" __global__ void scatter_add_2_y(double *acc, float *__restrict__ y, i64 V, i64 E)
{
    const i64 total = (V * E);
    for (i64 id = (i64)blockIdx.x * blockDim.x + threadIdx.x; id < total; id += (i64)gridDim.x * blockDim.x) {
        y[id] = (float)acc[id];
    }
}

// manifest: {"arch":"sm_90a","deterministic":false,"guard":1,"kernels":[{"args":[{"workspace":"acc:y"},{"tensor":"idx"},{"tensor":"x"},{"dim":"V","dtype":"i64"},{"dim":"E","dtype":"i64"},{"dim":"N","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"scatter_add_1_scatter","grid":["min(ceildiv(N * E, 256), 1048576)",1,1],"programmatic":false,"smem":0},{"args":[{"workspace":"acc:y"},{"tensor":"y"},{"dim":"V","dtype":"i64"},{"dim":"E","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"scatter_add_2_y","grid":["min(ceildiv(V * E, 256), 1048576)",1,1],"programmatic":false,"smem":0}],"manifest":1,"op":"scatter_add","prepare":[],"strategy":"naive","workspace":[{"bytes":"V * E * 8","init":"zero","name":"acc:y"}]}
