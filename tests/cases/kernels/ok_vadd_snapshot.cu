// ok_vadd_snapshot  op=vadd_inplace
// copies its input first, so in place is safe
extern "C" __global__ void save(const float* x, float* w, long long n){ long long i = blockIdx.x*256LL + threadIdx.x; if (i < n) w[i] = x[i]; }
extern "C" __global__ void add(const float* w, float* y, long long n){ long long i = blockIdx.x*256LL + threadIdx.x; if (i < n) y[i] = i + 1 < n ? w[i] + w[i+1] : w[i]; }
