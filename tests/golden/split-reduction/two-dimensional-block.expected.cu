// launch gram grid=((ceildiv(R,16))*8, ceildiv(R,16)) block=(128) args=(x, g, R, C)
__global__ void gram(const float* x, float* g, int rows, int cols) {
  // 4 lanes work on one output.
  const int lane = threadIdx.x % 4;
  const unsigned int group = blockIdx.x * 32 + threadIdx.x / 4;
  const unsigned int mask = 0xfu << (threadIdx.x & 28);

  int i = (blockIdx.y * 16 + (group % 256 / 16 % 16));
  int j = ((group / 256) * 16 + (group % 16));
  if (i < rows && j < rows) {
    float acc = 0.0f;
    for (int k = lane * 4; k < cols; k += 16) {
      const float4 x4 = *reinterpret_cast<const float4*>(&x[i * cols + k]);
      const float4 x4_1 = *reinterpret_cast<const float4*>(&x[j * cols + k]);
      acc = fmaf(x4.x, x4_1.x, acc);
      acc = fmaf(x4.y, x4_1.y, acc);
      acc = fmaf(x4.z, x4_1.z, acc);
      acc = fmaf(x4.w, x4_1.w, acc);
    }

#pragma unroll
    for (int offset = 2; offset > 0; offset /= 2) {
      acc += __shfl_xor_sync(mask, acc, offset);
    }

    if (lane == 0) g[i * rows + j] = acc;
  }
}
