// launch norms grid=(ceildiv(ceildiv(W,64),4)) block=(64) args=(m, bias, s, H, W)
// The lanes share the loop and everything that does not depend on the column.
__global__ void norms(const float* m, const float* bias, float* s, int h, int w) {
  int col_first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (col_first + 3 < w) {
    float acc_0 = 0.0f;
    float acc_1 = 0.0f;
    float acc_2 = 0.0f;
    float acc_3 = 0.0f;
    for (int row = 0; row < h; ++row) {
      float shift = bias[row] * 2.0f;
      const float4 m_vec0 = *reinterpret_cast<const float4*>(&m[row * w + col_first]);
      float v_0 = m_vec0.x - shift;
      float v_1 = m_vec0.y - shift;
      float v_2 = m_vec0.z - shift;
      float v_3 = m_vec0.w - shift;
      if (v_0 > 0.0f) acc_0 += v_0 * v_0;
      if (v_1 > 0.0f) acc_1 += v_1 * v_1;
      if (v_2 > 0.0f) acc_2 += v_2 * v_2;
      if (v_3 > 0.0f) acc_3 += v_3 * v_3;
    }
    float4 s_vec1;
    s_vec1.x = acc_0;
    s_vec1.y = acc_1;
    s_vec1.z = acc_2;
    s_vec1.w = acc_3;
    *reinterpret_cast<float4*>(&s[col_first]) = s_vec1;
  }
}
