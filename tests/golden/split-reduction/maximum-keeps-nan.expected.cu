// launch largest grid=((ceildiv(M,64))*8) block=(256) args=(x, out, M, N)
__global__ void largest(const float* x, float* out, int rows, int count) {
  // 32 lanes work on one output.
  const int lane = threadIdx.x % 32;
  const unsigned int group = blockIdx.x * 8 + threadIdx.x / 32;

  int a = group;
  if (a < rows) {
    float result = x[a * count];
    for (int j = 1 + lane; j < 1 + 3; j += 32) {
      float v = x[a * count + j];
      result = v > result || v != v ? v : result;
    }
    for (int j = (1 + 3) + lane * 4; j < count; j += 128) {
      const float4 x4 = *reinterpret_cast<const float4*>(&x[a * count + j]);
      {
        float v = x4.x;
        result = v > result || v != v ? v : result;
      }
      {
        float v = x4.y;
        result = v > result || v != v ? v : result;
      }
      {
        float v = x4.z;
        result = v > result || v != v ? v : result;
      }
      {
        float v = x4.w;
        result = v > result || v != v ? v : result;
      }
    }

#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      {
        const float other = __shfl_xor_sync(0xffffffffu, result, offset);
        result = other > result || other != other ? other : result;
      }
    }
    result = __shfl_sync(0xffffffffu, result, 0, 32);

    if (lane == 0) out[a] = result;
  }
}
