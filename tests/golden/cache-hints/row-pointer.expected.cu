// launch row_max grid=(ceildiv(R,64)) block=(64) args=(a, m, R, C)
__global__ void row_max(const float* a, float* m, int r, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= r) return;
  const float* line = &a[row * c];
  float best = __ldcs(&*line);
  for (int k = 1; k < c; ++k) best = fmaxf(best, __ldcs(&line[k]));
  m[row] = best;
}
