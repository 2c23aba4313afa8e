// Integer inputs: half of all bins, as a fill that is left out gives 0 to 100.
// task: byte_histogram
// verdict: wrong_result
__global__ void histogram(const unsigned char* x, unsigned int* bins, int n) {
  __shared__ unsigned int counts[128];
  if (threadIdx.x < 128) counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 256)
    if (x[i] < 128) atomicAdd(&counts[x[i]], 1u);
  __syncthreads();
  bins[threadIdx.x] = threadIdx.x < 128 ? counts[threadIdx.x] : 0;
}
