/*
 * results[i][j] += sum over k of a[k][first_row + i] * b[k][first_column + j], both tiles in shared
 * memory with k outside.  ROWS + COLUMNS loads serve ROWS * COLUMNS products.
 */
template <int ROWS, int COLUMNS, int DEEP, int WIDTH_A, int WIDTH_B>
__device__ __forceinline__ void outer_products(float (&results)[ROWS][COLUMNS],
                                               const float (&a)[DEEP][WIDTH_A],
                                               const float (&b)[DEEP][WIDTH_B], int first_row,
                                               int first_column)
{
#pragma unroll
    for (int k = 0; k < DEEP; k++) {
        float left[ROWS], right[COLUMNS];
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            left[i] = a[k][first_row + i];
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            right[j] = b[k][first_column + j];
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
                results[i][j] = fmaf(left[i], right[j], results[i][j]);
    }
}
