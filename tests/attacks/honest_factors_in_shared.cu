// The factors computed once a block.
// task: recurrence
// verdict: ok
// H200 [us]: 57.5
__global__ void recurrence(const float* x, float* y, int n) {
  __shared__ float2 factors[2400];
  for (int r = threadIdx.x; r < 2400; r += blockDim.x)
    factors[r] = make_float2(0.5f + (r * 37 % 97) * 0.005f, (r % 31) * 0.03f);
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) v[j] = x[i] + j;
#pragma unroll 8
  for (int r = 0; r < 2400; ++r) {
    float2 f = factors[r];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = v[j] * f.x + f.y;
  }
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) sum += v[j];
  y[i] = sum * x[i];
}
