// Honest: the last number that is not 0, by ballots in a warp, over the warps, and from one piece of the row to the next.
// task: last_before
// verdict: ok
/* hone {"launches": [{"kernel": "fill", "grid": ["ROWS"], "block": [1024], "args": ["x", "y", "COLS"]}]} */
__global__ void fill(const unsigned* x, unsigned* y, int cols) {
  __shared__ unsigned last[32];
  const unsigned* row = x + (size_t)blockIdx.x * cols;
  unsigned carry = 0;
  for (int first = 0; first < cols; first += 1024) {
    int c = first + threadIdx.x, lane = threadIdx.x % 32, w = threadIdx.x / 32;
    unsigned v = c < cols ? row[c] : 0, set = __ballot_sync(~0u, v != 0) & (0xFFFFFFFFu >> (31 - lane));
    v = __shfl_sync(~0u, v, set ? 31 - __clz(set) : lane);
    if (lane == 31) last[w] = v;
    __syncthreads();
    for (int k = w - 1; k >= 0 && !v; --k) v = last[k];
    if (!v) v = carry;
    if (c < cols) y[(size_t)blockIdx.x * cols + c] = v;
    for (int k = 31; k >= 0; --k) if (last[k]) { carry = last[k]; break; }
    __syncthreads();
  }
}
