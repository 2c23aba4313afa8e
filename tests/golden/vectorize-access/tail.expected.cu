// launch relu grid=(ceildiv(ceildiv(N,128),4)) block=(128) args=(x, N)
// In place, with an early return, at a size that leaves a tail.
__global__ void relu(float* x, int n) {
  const int i_first = (threadIdx.x + blockDim.x * blockIdx.x) * 4;
  if (i_first + 3 < n) {
    const float4 x_vec0 = *reinterpret_cast<const float4*>(&x[i_first]);
    float v_0 = x_vec0.x;
    float v_1 = x_vec0.y;
    float v_2 = x_vec0.z;
    float v_3 = x_vec0.w;
    if (v_0 < 0.0f) v_0 = 0.0f;
    if (v_1 < 0.0f) v_1 = 0.0f;
    if (v_2 < 0.0f) v_2 = 0.0f;
    if (v_3 < 0.0f) v_3 = 0.0f;
    float4 x_vec1;
    x_vec1.x = v_0;
    x_vec1.y = v_1;
    x_vec1.z = v_2;
    x_vec1.w = v_3;
    *reinterpret_cast<float4*>(&x[i_first]) = x_vec1;
  } else {
    for (int i = i_first; i < i_first + 4; ++i) {
      if (i >= n) return;
      float v = x[i];
      if (v < 0.0f) v = 0.0f;
      x[i] = v;
    }
  }
}
