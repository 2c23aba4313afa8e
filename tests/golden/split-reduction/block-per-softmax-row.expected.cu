// launch softmax grid=((ceildiv(R,64))*64) block=(128) args=(x, y, R, C)
__global__ void softmax(const float* x, float* y, int rows, int cols) {
  // The whole block works on one output.
  const int lane = threadIdx.x;
  const unsigned int group = blockIdx.x;

  const int row = group;
  if (row >= rows) return;
  const float* in = x + row * cols;
  float* out = y + row * cols;
  float m = in[0];
  for (int c = 1 + lane; c < cols; c += 128) m = fmaxf(m, in[c]);
  {
    __shared__ float partial_m[4];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      {
        const float other = __shfl_xor_sync(0xffffffffu, m, offset);
        m = fmaxf(m, other);
      }
    }
    if (threadIdx.x % 32 == 0) {
      partial_m[threadIdx.x / 32] = m;
    }
    __syncthreads();
    m = partial_m[threadIdx.x % 4];
#pragma unroll
    for (int offset = 2; offset > 0; offset /= 2) {
      {
        const float other = __shfl_xor_sync(0xffffffffu, m, offset);
        m = fmaxf(m, other);
      }
    }
  }

  float sum = 0.0f;
  __syncthreads();
  for (int c = lane; c < cols; c += 128) {
    float e = expf(in[c] - m);
    out[c] = e;
    sum += e;
  }
  {
    __shared__ float partial_sum[4];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x % 32 == 0) {
      partial_sum[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    sum = partial_sum[threadIdx.x % 4];
#pragma unroll
    for (int offset = 2; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
  }
  __syncthreads();

  for (int c = lane; c < cols; c += 128) out[c] /= sum;
}
