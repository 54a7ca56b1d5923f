// w2_transpose_square_only  op=transpose
// bounds of the output swapped: right for square matrices
#define TILE_DIM 32
#define BLOCK_ROWS 8
extern "C" __global__ void transpose_tiled(const float* __restrict__ in, float* __restrict__ out, int M, int N) {
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < N && y + j < M) tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * N + x];
    __syncthreads();
    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < N && y + j < M) out[(size_t)(y + j) * M + x] = tile[threadIdx.x][threadIdx.y + j];
}
