// The logarithm of the number before a power of two is rounded up.
// task: octaves
// verdict: wrong_result
/* hone {"launches": [{"kernel": "octaves", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "y", "N"]}]} */
__global__ void octaves(const float* x, int* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = (int)floorf(log2f(x[i]));
}
