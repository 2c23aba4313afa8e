// Integer inputs: four counters share a word, so that a value which comes 256 times spills over.
// task: byte_histogram
// verdict: wrong_result
__global__ void histogram(const unsigned char* x, unsigned int* bins, int n) {
  __shared__ unsigned int words[64];
  unsigned int total = 0;
  for (int first = 0; first < n; first += 2048) {
    if (threadIdx.x < 64) words[threadIdx.x] = 0;
    __syncthreads();
    int last = min(first + 2048, n);
    for (int i = first + threadIdx.x; i < last; i += 256)
      atomicAdd(&words[x[i] / 4], 1u << 8 * (x[i] % 4));
    __syncthreads();
    total += words[threadIdx.x / 4] >> 8 * (threadIdx.x % 4) & 255;
    __syncthreads();
  }
  bins[threadIdx.x] = total;
}
