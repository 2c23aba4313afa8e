// Honest: sixteen bytes at a time; of the last ones a permutation takes those that somebody wrote.
// task: sums_of_bytes
// verdict: ok
/* hone {"launches": [{"kernel": "sums", "grid": ["ROWS"], "block": [128], "args": ["x", "y", "COLS"]}]} */
__global__ void sums(const unsigned char* x, unsigned* y, int cols) {
  __shared__ unsigned part[4];
  __shared__ __align__(16) unsigned char row[1024];
  unsigned s = 0;
  for (int c = threadIdx.x; c < cols; c += 128) row[c] = x[(size_t)blockIdx.x * cols + c];
  __syncthreads();
  for (int w = threadIdx.x; w < (cols + 15) / 16; w += 128) {
    uint4 v = ((const uint4*)row)[w];
    const unsigned word[4] = {v.x, v.y, v.z, v.w};
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      int left = cols - 16 * w - 4 * k;
      unsigned which = left >= 4 ? 0x3210u : left == 3 ? 0x4210u : left == 2 ? 0x4410u : left == 1 ? 0x4440u : 0x4444u;
      s = __dp4a(__byte_perm(word[k], 0, which), 0x01010101u, s);
    }
  }
  s = __reduce_add_sync(~0u, s);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
