// launch matvec grid=((ceildiv(R,128))*16) block=(256) args=(A, v, y, R, C)
__global__ void matvec(const float* A, const float* v, float* y, int rows, int cols) {
  // 32 lanes work on one output.
  const int lane = threadIdx.x % 32;
  const unsigned int group = blockIdx.x * 8 + threadIdx.x / 32;

  int row = group;
  if (row < rows) {
    float dot = 0.0f;
    for (int col = lane * 4; col < cols; col += 128) {
      const float4 A4 = *reinterpret_cast<const float4*>(&A[row * cols + col]);
      const float4 v4_1 = *reinterpret_cast<const float4*>(&v[col]);

      dot += A4.x * v4_1.x;

      dot += A4.y * v4_1.y;

      dot += A4.z * v4_1.z;

      dot += A4.w * v4_1.w;
    }

#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      dot += __shfl_xor_sync(0xffffffffu, dot, offset);
    }

    if (lane == 0) y[row] = dot;
  }
}
