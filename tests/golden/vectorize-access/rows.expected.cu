// launch dots grid=(ceildiv(R,64)) block=(64) args=(a, v, d, R, C)
// Reads through a pointer to the row, with locals for the index.
__global__ void dots(const float* a, const float* v, float* d, int r, int c) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= r) return;
  const float* line = a + row * c;
  float dot = 0.0f;
  {
    const int k_strips_end = c / 4 * 4;
    for (int k_strip = 0; k_strip < k_strips_end; k_strip += 4) {
      const float4 a_vec0 = *reinterpret_cast<const float4*>(&line[(k_strip)]);
      const float4 v_vec1 = *reinterpret_cast<const float4*>(&v[(k_strip)]);
      {
        const int k = k_strip;
        int here = k;
        dot += a_vec0.x * v_vec1.x;
      }
      {
        const int k = k_strip + 1;
        int here = k;
        dot += a_vec0.y * v_vec1.y;
      }
      {
        const int k = k_strip + 2;
        int here = k;
        dot += a_vec0.z * v_vec1.z;
      }
      {
        const int k = k_strip + 3;
        int here = k;
        dot += a_vec0.w * v_vec1.w;
      }
    }
    for (int k = k_strips_end; k < c; ++k) {
      int here = k;
      dot += line[here] * v[here];
    }
  }
  d[row] = dot;
}
