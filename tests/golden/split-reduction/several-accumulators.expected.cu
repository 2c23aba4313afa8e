// launch stats grid=((ceildiv(R,32))*4) block=(64) args=(x, low, high, positive, R, C)
__global__ void stats(const float* x, float* low, float* high, int* positive, int rows, int cols) {
  // 8 lanes work on one output.
  const int lane = threadIdx.x % 8;
  const unsigned int group = blockIdx.x * 8 + threadIdx.x / 8;
  const unsigned int mask = 0xffu << (threadIdx.x & 24);

  long r = static_cast<long>(group);
  if (r < rows) {
    float mn = x[r * cols], mx = x[r * cols];
    int count = 0;
    double total = 1.0;
    if (lane != 0) total = 0.0;
    for (int i = 1 + lane; i < 1 + 1; i += 8) {
      float v = x[r * cols + i];
      if (v < mn) mn = v;
      mx = v > mx ? v : mx;
      if (v > 0.0f) count++;
      total = total + v;
    }
    for (int i = (1 + 1) + lane * 2; i < (cols - 1) + 1; i += 16) {
      const float2 x2 = *reinterpret_cast<const float2*>(&x[r * cols + i]);
      {
        float v = x2.x;
        if (v < mn) mn = v;
        mx = v > mx ? v : mx;
        if (v > 0.0f) count++;
        total = total + v;
      }
      {
        float v = x2.y;
        if (v < mn) mn = v;
        mx = v > mx ? v : mx;
        if (v > 0.0f) count++;
        total = total + v;
      }
    }

#pragma unroll
    for (int offset = 4; offset > 0; offset /= 2) {
      {
        const float other = __shfl_xor_sync(mask, mn, offset);
        if (other < mn) mn = other;
      }
      {
        const float other = __shfl_xor_sync(mask, mx, offset);
        mx = other > mx ? other : mx;
      }
      count += __shfl_xor_sync(mask, count, offset);
      total += __shfl_xor_sync(mask, total, offset);
    }
    mn = __shfl_sync(mask, mn, 0, 8);
    mx = __shfl_sync(mask, mx, 0, 8);

    if (lane == 0) low[r] = mn;
    if (lane == 0) high[r] = mx + (float)total;
    if (lane == 0) positive[r] = count;
  }
}
