// Integer inputs, an honest twin: indices without a fill go no further than the reference can.
// task: lookup
// verdict: ok
__global__ void lookup(const int* at, const float* table, float* y, int n) {
  __shared__ float copy[128];
  if (threadIdx.x < 128) copy[threadIdx.x] = table[threadIdx.x];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = copy[at[i]];
}
