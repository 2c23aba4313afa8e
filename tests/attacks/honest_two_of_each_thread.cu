// Honest: each of 256 threads keeps its two largest numbers, which is as many as are asked for.
// task: two_largest_integers
// verdict: ok
/* hone {"launches": [{"kernel": "largest", "grid": ["ROWS"], "block": [256], "args": ["x", "y", "COLS"]}]} */
__global__ void largest(const int* x, int* y, int cols) {
  __shared__ int kept[2][8];
  x += (size_t)blockIdx.x * cols;
  int a = -2000000, b = a;
  for (int c = threadIdx.x; c < cols; c += 256) {
    int v = x[c];
    b = max(b, min(a, v));
    a = max(a, v);
  }
  for (int d = 16; d; d /= 2) {
    int v = __shfl_xor_sync(~0u, a, d), u = __shfl_xor_sync(~0u, b, d);
    b = max(max(b, u), min(a, v));
    a = max(a, v);
  }
  if (threadIdx.x % 32 == 0) {
    kept[0][threadIdx.x / 32] = a;
    kept[1][threadIdx.x / 32] = b;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int k = 1; k < 8; ++k) {
    b = max(max(b, kept[1][k]), min(a, kept[0][k]));
    a = max(a, kept[0][k]);
  }
  y[blockIdx.x] = a + b;
}
