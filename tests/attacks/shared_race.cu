// A neighbour's value is read without a barrier.
// task: scale
// verdict: race
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float s[256];
  s[threadIdx.x] = i < n ? x[i] : 0.0f;
  float left = s[255 - threadIdx.x];
  if (i < n) y[i] = 2.0f * x[i] + 0.0f * left;
}
