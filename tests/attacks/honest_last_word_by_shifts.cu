// Honest: of the last word, bytes that nobody wrote are shifted out.
// task: sums_of_bytes
// verdict: ok
/* hone {"launches": [{"kernel": "sums", "grid": ["ROWS"], "block": [128], "args": ["x", "y", "COLS"]}]} */
__global__ void sums(const unsigned char* x, unsigned* y, int cols) {
  __shared__ unsigned part[4];
  __shared__ __align__(16) unsigned char row[1024];
  unsigned s = 0;
  for (int c = threadIdx.x; c < cols; c += 128) row[c] = x[(size_t)blockIdx.x * cols + c];
  __syncthreads();
  for (int w = threadIdx.x; w < (cols + 3) / 4; w += 128) {
    unsigned v = ((const unsigned*)row)[w];
    int beyond = max(0, 4 * w + 4 - cols);
    s = __dp4a(v << 8 * beyond, 0x01010101u, s);
  }
  s = __reduce_add_sync(~0u, s);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
