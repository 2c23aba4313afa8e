// Integer inputs, an honest twin: two copies of the counters, each of 32 bits.
// task: byte_histogram
// verdict: ok
__global__ void histogram(const unsigned char* x, unsigned int* bins, int n) {
  __shared__ unsigned int counts[2][256];
  counts[0][threadIdx.x] = counts[1][threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 256) atomicAdd(&counts[i & 1][x[i]], 1u);
  __syncthreads();
  bins[threadIdx.x] = counts[0][threadIdx.x] + counts[1][threadIdx.x];
}
