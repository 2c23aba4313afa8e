// Four elements a thread, and blocks in the other direction.
// task: long_polynomial
// verdict: ok
/* hone {"launches": [{"kernel": "polynomial", "grid": ["ceildiv(N,1024)"], "block": [256], "args": ["x", "y", "N"]}]} */
__global__ void polynomial(const float* x, float* y, int n) {
  int first = (gridDim.x - 1 - blockIdx.x) * 1024 + threadIdx.x;
  for (int q = 0; q < 4; ++q) {
    int i = first + q * 256;
    if (i >= n) return;
    float v = x[i], s = 1;
    for (int k = 0; k < 48; ++k) s = s * v * 0.5f + (float)k * 0.01f;
    y[i] = s;
  }
}
