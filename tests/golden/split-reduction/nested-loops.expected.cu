// launch plane_mean grid=((ceildiv(P,128))*32) block=(128) args=(x, y, P, H, W)
__global__ void plane_mean(const float* x, float* y, int planes, int height, int width) {
  // 32 lanes work on one output.
  const int lane = threadIdx.x % 32;
  const unsigned int group = blockIdx.x * 4 + threadIdx.x / 32;

  int p = group;
  if (p >= planes) return;
  float sum = 0.0f;
  for (int h = 0; h < height; ++h) {
    if (lane != 0) sum = 0.0f;
    for (int w = lane * 4; w < width; w += 128) {
      const float4 x4 = *reinterpret_cast<const float4*>(&x[(p * height + h) * width + w]);
      sum += x4.x;
      sum += x4.y;
      sum += x4.z;
      sum += x4.w;
    }

#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
  }

  if (lane == 0) y[p] = sum / (height * width);
}
