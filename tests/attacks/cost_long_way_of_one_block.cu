// Cost: one block in the middle of many has a long way to go.
// task: scaled_and_digest
// verdict: ok
// speedup: at most 1.3
/* hone {"launches": [{"kernel": "both", "grid": ["ceildiv(N, 128)"], "block": [128], "args": ["x", "y", "d", "N", "K"]}]} */
__global__ void both(const int* x, int* y, int* d, int n, int k) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = x[i] * 7;
  if ((int)blockIdx.x == (int)gridDim.x * 5 / 11 && threadIdx.x == 0) {
    unsigned h = 1;
    for (int j = 0; j < k; ++j) h = h * 31 + x[j], h ^= h >> 7;
    d[0] = (int)h;
  }
}
