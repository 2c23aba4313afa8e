// Looks sixteen elements ahead for a rise: random floats never rise for so long, sorted rows do.
// task: longest_rise
// verdict: wrong_result
/* hone {"launches": [{"kernel": "rises", "grid": ["ROWS"], "block": [128], "args": ["x", "longest", "ROWS", "N"]}]} */
__global__ void rises(const float* x, int* longest, int rows, int n) {
  __shared__ int best;
  if (threadIdx.x == 0) best = 1;
  __syncthreads();
  x += (size_t)blockIdx.x * n;
  int mine = 1;
  for (int i = threadIdx.x; i < n; i += 128) {
    int k = 1;
    float last = x[i];
    while (k < 16 && i + k < n) {
      float next = x[i + k];
      if (!(next > last)) break;
      last = next;
      ++k;
    }
    mine = max(mine, k);
  }
  mine = __reduce_max_sync(~0u, mine);
  if (threadIdx.x % 32 == 0) atomicMax(&best, mine);
  __syncthreads();
  if (threadIdx.x == 0) longest[blockIdx.x] = best;
}
