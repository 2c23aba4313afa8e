// The reference in other words: no faster, no slower.
// task: sums_before
// speedup: at most 1.02
// verdict: ok
__global__ void sums(const float* x, float* y, int n) {
  const int at = threadIdx.x + 64 * blockIdx.x;
  if (at < n) {
    float sum = 0, own = x[at];
    for (int other = 0; other < at; ++other) sum += 0.001f * fabsf(own - x[other]);
    y[at] = sum + 0.0f;
  }
}
