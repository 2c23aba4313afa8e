// Honest: what comes after the first one counts for nothing.
// task: first_above
// verdict: ok
__global__ void first_above(const float* x, int* first, int n) {
  __shared__ int least;
  if (threadIdx.x == 0) least = n;
  __syncthreads();
  for (int b = 0; b < n; b += 128) {
    int c = b + threadIdx.x;
    bool found = c < n && x[blockIdx.x * (size_t)n + c] > 0.998f;
    if (found) atomicMin(&least, c);
    if (__syncthreads_or(found)) break;
  }
  if (threadIdx.x == 0) first[blockIdx.x] = least;
}
