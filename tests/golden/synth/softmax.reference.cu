extern "C" __global__ void reference_1(const float *in0, double *value2, double *bound2, i64 n0, i64 n1)
{
    const i64 block = blockIdx.x, blocks = gridDim.x;
    __shared__ extreme_acc parts[256];
    static_assert(sizeof(parts) <= 48 << 10, "more than a kernel may declare");
    const i64 outputs = n0;
    const i64 terms = n1;
    const int lanes = (int)lanes_for(outputs, terms);
    const int lane = threadIdx.x % lanes, groups = 256 / lanes;
    const i64 run = (terms + lanes - 1) / lanes;
    for (i64 first = block * groups; first < outputs; first += blocks * groups) {
        const i64 id = first + threadIdx.x / lanes;
        extreme_acc acc = extreme_start(-INF, 0);
        if (id < outputs) {
            const i64 i0 = id / (1LL) % n0;
            for (i64 term = lane * run; term < terms && term < (lane + 1) * run; ++term) {
                const i64 i1 = term / (1LL) % n1;
                const i64 s0 = i0;
                const i64 s1 = i1;
                const num t2 = true && s0 >= 0 && s0 < n0 && s1 >= 0 && s1 < n1 ? num{(double)in0[(s0) * n1 + s1], 0} : num{0, INF};
                extreme_add(true, acc, (double)t2.v, t2.b, 0);
            }
        }
        parts[threadIdx.x] = acc;
        __syncthreads();
        for (int step = 1; step < lanes; step *= 2) {
            if (lane % (2 * step) == 0 && lane + step < lanes) {
                const extreme_acc p = parts[threadIdx.x], q = parts[threadIdx.x + step];
                parts[threadIdx.x] = join(true, p, q);
            }
            __syncthreads();
        }
        acc = parts[threadIdx.x - lane];
        __syncthreads();
        if (id < outputs && lane == 0) {
            const i64 i0 = id / (1LL) % n0;
            const num r3 = {acc.v, extreme_end(acc)};
            value2[i0] = r3.v;
            bound2[i0] = r3.b;
        }
    }
}

/* e[m,n] = exp(x[m,n] - mx[m]) */
extern "C" __global__ void reference_2(const float *in0, double *value2, double *bound2, double *value3, double *bound3, i64 n0, i64 n1)
{
    const i64 block = blockIdx.x, blocks = gridDim.x;
    const i64 outputs = n0 * n1;
    for (i64 id = block * 256 + threadIdx.x; id < outputs; id += blocks * 256) {
        const i64 i1 = id / (1LL) % n1;
        const i64 i0 = id / (1LL * n1) % n0;
        const i64 s0 = i0;
        const i64 s1 = i1;
        const num t2 = true && s0 >= 0 && s0 < n0 && s1 >= 0 && s1 < n1 ? num{(double)in0[(s0) * n1 + s1], 0} : num{0, INF};
        const i64 s3 = i0;
        const num t4 = true && s3 >= 0 && s3 < n0 ? num{value2[s3], bound2[s3]} : num{0, INF};
        const num t5 = sub(f32(), t2, t4);
        const num t6 = r_exp(f32(), t5, -INF);
        const num t7 = scaled_exponent(f32(), t6, t2, t4);
        value3[(i0) * n1 + i1] = t7.v;
        bound3[(i0) * n1 + i1] = t7.b;
    }
}

/* s[m] = sum(n) e[m,n] */
extern "C" __global__ void reference_3(double *value3, double *bound3, double *value4, double *bound4, i64 n0, i64 n1)
{
    const i64 block = blockIdx.x, blocks = gridDim.x;
    __shared__ sum_acc parts[256];
    static_assert(sizeof(parts) <= 48 << 10, "more than a kernel may declare");
    const i64 outputs = n0;
    const i64 terms = n1;
    const int lanes = (int)lanes_for(outputs, terms);
    const int lane = threadIdx.x % lanes, groups = 256 / lanes;
    const i64 run = (terms + lanes - 1) / lanes;
    for (i64 first = block * groups; first < outputs; first += blocks * groups) {
        const i64 id = first + threadIdx.x / lanes;
        static_assert(sizeof(parts[0]) >= sizeof(sum_look), "looks lie in parts");
        sum_look *const looks = (sum_look *)parts;
        sum_look before = {0, 0, 0, 0, 0, 0, 0, 0};
        if (lanes > 1) {
            sum_look look = before;
            if (id < outputs) {
                const i64 i0 = id / (1LL) % n0;
                for (i64 term = lane * run; term < terms && term < (lane + 1) * run; ++term) {
                    const i64 i1 = term / (1LL) % n1;
                    const i64 s0 = i0;
                    const i64 s1 = i1;
                    const num t2 = true && s0 >= 0 && s0 < n0 && s1 >= 0 && s1 < n1 ? num{value3[(s0) * n1 + s1], bound3[(s0) * n1 + s1]} : num{0, INF};
                    look_add(look, t2.v);
                }
            }
            looks[threadIdx.x] = look;
            __syncthreads();
            for (int other = threadIdx.x - lane; other < threadIdx.x; ++other)
                before = join(before, looks[other]);
            __syncthreads();
        }
        sum_acc acc = sum_start(f32(), before);
        if (id < outputs) {
            const i64 i0 = id / (1LL) % n0;
            for (i64 term = lane * run; term < terms && term < (lane + 1) * run; ++term) {
                const i64 i1 = term / (1LL) % n1;
                const i64 s3 = i0;
                const i64 s4 = i1;
                const num t5 = true && s3 >= 0 && s3 < n0 && s4 >= 0 && s4 < n1 ? num{value3[(s3) * n1 + s4], bound3[(s3) * n1 + s4]} : num{0, INF};
                sum_add(f32(), acc, t5);
            }
        }
        parts[threadIdx.x] = acc;
        __syncthreads();
        for (int step = 1; step < lanes; step *= 2) {
            if (lane % (2 * step) == 0 && lane + step < lanes) {
                const sum_acc p = parts[threadIdx.x], q = parts[threadIdx.x + step];
                parts[threadIdx.x] = join(p, q);
            }
            __syncthreads();
        }
        acc = parts[threadIdx.x - lane];
        __syncthreads();
        if (id < outputs && lane == 0) {
            const i64 i0 = id / (1LL) % n0;
            const num r6 = sum_end(f32(), {false, false, false, false, false, 0x1p-11}, acc, (double)(1LL * n1));
            value4[i0] = r6.v;
            bound4[i0] = r6.b;
        }
    }
}

/* y[m,n] = e[m,n] / s[m] */
extern "C" __global__ void reference_4(double *value1, double *bound1, double *value3, double *bound3, double *value4, double *bound4, i64 n0, i64 n1)
{
    const i64 block = blockIdx.x, blocks = gridDim.x;
    const i64 outputs = n0 * n1;
    for (i64 id = block * 256 + threadIdx.x; id < outputs; id += blocks * 256) {
        const i64 i1 = id / (1LL) % n1;
        const i64 i0 = id / (1LL * n1) % n0;
        const i64 s0 = i0;
        const i64 s1 = i1;
        const num t2 = true && s0 >= 0 && s0 < n0 && s1 >= 0 && s1 < n1 ? num{value3[(s0) * n1 + s1], bound3[(s0) * n1 + s1]} : num{0, INF};
        const i64 s3 = i0;
        const num t4 = true && s3 >= 0 && s3 < n0 ? num{value4[s3], bound4[s3]} : num{0, INF};
        const num t5 = divide(f32(), t2, t4);
        value1[(i0) * n1 + i1] = t5.v;
        bound1[(i0) * n1 + i1] = final_bound(t5, true);
    }
}

// manifest: {"arch":"sm_90a","deterministic":false,"guard":1,"kernels":[{"args":[{"tensor":"x"},{"workspace":"value:mx"},{"workspace":"bound:mx"},{"dim":"M","dtype":"i64"},{"dim":"N","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"reference_1","grid":["min(ceildiv(M, 8), 4096)",1,1],"programmatic":false,"smem":0},{"args":[{"tensor":"x"},{"workspace":"value:mx"},{"workspace":"bound:mx"},{"workspace":"value:e"},{"workspace":"bound:e"},{"dim":"M","dtype":"i64"},{"dim":"N","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"reference_2","grid":["min(ceildiv(M * N, 8), 4096)",1,1],"programmatic":false,"smem":0},{"args":[{"workspace":"value:e"},{"workspace":"bound:e"},{"workspace":"value:s"},{"workspace":"bound:s"},{"dim":"M","dtype":"i64"},{"dim":"N","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"reference_3","grid":["min(ceildiv(M, 8), 4096)",1,1],"programmatic":false,"smem":0},{"args":[{"workspace":"value:y"},{"workspace":"bound:y"},{"workspace":"value:e"},{"workspace":"bound:e"},{"workspace":"value:s"},{"workspace":"bound:s"},{"dim":"M","dtype":"i64"},{"dim":"N","dtype":"i64"}],"block":[256,1,1],"cluster":[1,1,1],"cooperative":false,"entry":"reference_4","grid":["min(ceildiv(M * N, 8), 4096)",1,1],"programmatic":false,"smem":0}],"manifest":1,"op":"softmax","prepare":[],"strategy":"reference","workspace":[{"bytes":"M * 8","init":"none","name":"value:mx"},{"bytes":"M * 8","init":"none","name":"bound:mx"},{"bytes":"M * N * 8","init":"none","name":"value:e"},{"bytes":"M * N * 8","init":"none","name":"bound:e"},{"bytes":"M * 8","init":"none","name":"value:s"},{"bytes":"M * 8","init":"none","name":"bound:s"},{"bytes":"M * N * 8","init":"none","name":"value:y"},{"bytes":"M * N * 8","init":"none","name":"bound:y"}]}
