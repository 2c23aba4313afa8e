// launch clamp grid=(8) block=(128) args=(x, y, N)
// A fixed grid walks over all elements.
__global__ void clamp(const float* x, float* y, int n) {
  int stride = blockDim.x * gridDim.x;
  for (int i_strip = (blockIdx.x * blockDim.x + threadIdx.x) * 4; i_strip < n;
       i_strip += (stride) * 4) {
    if (i_strip + 3 < n) {
      const float4 x_vec0 = *reinterpret_cast<const float4*>(&x[i_strip]);
      float4 y_vec1 = *reinterpret_cast<const float4*>(&y[i_strip]);
      {
        const int i = i_strip;
        float v = x_vec0.x;
        if (v > y_vec1.x) v = y_vec1.x;
        y_vec1.x = fmaxf(v, 0.0f);
      }
      {
        const int i = i_strip + 1;
        float v = x_vec0.y;
        if (v > y_vec1.y) v = y_vec1.y;
        y_vec1.y = fmaxf(v, 0.0f);
      }
      {
        const int i = i_strip + 2;
        float v = x_vec0.z;
        if (v > y_vec1.z) v = y_vec1.z;
        y_vec1.z = fmaxf(v, 0.0f);
      }
      {
        const int i = i_strip + 3;
        float v = x_vec0.w;
        if (v > y_vec1.w) v = y_vec1.w;
        y_vec1.w = fmaxf(v, 0.0f);
      }
      *reinterpret_cast<float4*>(&y[i_strip]) = y_vec1;
    } else {
      for (int i = i_strip; i < n; ++i) {
        float v = x[i];
        if (v > y[i]) v = y[i];
        y[i] = fmaxf(v, 0.0f);
      }
    }
  }
}
