// launch scale grid=(ceildiv(ceildiv(N,128),4)) block=(128) args=(x, y, N, 2.5)
__global__ void scale(const float* x, float* y, int n, float factor) {
  int i_first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i_first + 3 < n) {
    float4 y_vec0;
    const float4 x_vec1 = *reinterpret_cast<const float4*>(&x[i_first]);
    y_vec0.x = factor * x_vec1.x;
    y_vec0.y = factor * x_vec1.y;
    y_vec0.z = factor * x_vec1.z;
    y_vec0.w = factor * x_vec1.w;
    *reinterpret_cast<float4*>(&y[i_first]) = y_vec0;
  }
}
