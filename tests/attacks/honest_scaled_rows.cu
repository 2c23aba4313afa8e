// Tolerance, an honest twin: another order of adding in every row.
// task: scaled_rows
// verdict: ok
// H200 [us]: 29.1
__device__ float scale_of(int row) { return row % 2 ? 1e-6f : 1.0f; }
__global__ void product(const float* a, const float* b, float* y, float* sums, int cols, int k) {
  int row = blockIdx.x;
  float scale = scale_of(row);
  for (int c = threadIdx.x; c < cols; c += 64) {
    float s = 0;
    for (int i = 0; i < k; ++i) s = fmaf(a[row * k + i], b[i * cols + c], s);
    y[row * cols + c] = scale * s;
  }
  if (threadIdx.x == 0) {
    float s = 0;
    for (int i = k - 1; i >= 0; --i) s += a[row * k + i];
    sums[row] = scale * s;
  }
}
