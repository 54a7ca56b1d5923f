/*
 * Copies rows x columns elements of a matrix into shared memory, zeros where the matrix ends.  PAD
 * elements beside each row keep a column's elements in different banks.  A barrier stands before
 * (the tile may be in use) and behind (all of it is there).
 */
template <int ROWS, int COLUMNS, int PAD>
__device__ __forceinline__ void stage_tile(float (&tile)[ROWS][COLUMNS + PAD], const float *matrix,
                                           long long row, long long column, long long rows,
                                           long long columns)
{
    __syncthreads();
    for (int i = threadIdx.x; i < ROWS * COLUMNS; i += blockDim.x) {
        long long r = row + i / COLUMNS, c = column + i % COLUMNS;
        tile[i / COLUMNS][i % COLUMNS] = r < rows && c < columns ? matrix[r * columns + c] : 0.0f;
    }
    __syncthreads();
}
