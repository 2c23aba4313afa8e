// Honest: a row's factors lie in shared memory, a piece after the other.
// task: any_product
// verdict: ok
__global__ void product(const float* x, const float* w, float* y, int rows, int cols, int depth) {
  __shared__ float row[8][128];
  int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  float s = 0;
  for (int first = 0; first < depth; first += 128) {
    int many = min(128, depth - first);
    __syncthreads();
    for (int k = threadIdx.x; k < many; k += 32) row[threadIdx.y][k] = i < rows ? x[i * depth + first + k] : 0;
    __syncthreads();
    if (j < cols)
      for (int k = 0; k < many; ++k) s += row[threadIdx.y][k] * w[(first + k) * cols + j];
  }
  if (i < rows && j < cols) y[i * cols + j] = s;
}
