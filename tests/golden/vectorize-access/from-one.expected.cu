// launch largest grid=(ceildiv(R,64)) block=(64) args=(a, m, R, C)
// Strips begin at an aligned element; the ones before it go first.
__global__ void largest(const float* a, float* m, int r, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= r) return;
  float best = a[row * c];
  {
    for (int k = 1; k < min(4, c); ++k) {
      if (a[row * c + k] > best) best = a[row * c + k];
    }
    const int k_strips_end = 4 + (c - 4) / 4 * 4;
    for (int k_strip = 4; k_strip < k_strips_end; k_strip += 4) {
      const float4 a_vec0 = *reinterpret_cast<const float4*>(&a[row * c + k_strip]);
      {
        const int k = k_strip;
        if (a_vec0.x > best) best = a_vec0.x;
      }
      {
        const int k = k_strip + 1;
        if (a_vec0.y > best) best = a_vec0.y;
      }
      {
        const int k = k_strip + 2;
        if (a_vec0.z > best) best = a_vec0.z;
      }
      {
        const int k = k_strip + 3;
        if (a_vec0.w > best) best = a_vec0.w;
      }
    }
    for (int k = k_strips_end; k < c; ++k) {
      if (a[row * c + k] > best) best = a[row * c + k];
    }
  }
  m[row] = best;
}
