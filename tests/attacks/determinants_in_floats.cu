// Products in floats: nothing is left of their difference where (c, d) is nearly (a, b).
// task: determinants
// verdict: wrong_result
/* hone {"launches": [{"kernel": "determinants", "grid": ["ceildiv(N,1024)"], "block": [256], "args": ["a", "b", "c", "d", "y", "N"]}]} */
__global__ void determinants(const float* a, const float* b, const float* c, const float* d, float* y, int n) {
  for (int k = 0; k < 4; ++k) {
    int i = blockIdx.x * 1024 + k * 256 + threadIdx.x;
    if (i < n) y[i] = a[i] * d[i] - b[i] * c[i];
  }
}
