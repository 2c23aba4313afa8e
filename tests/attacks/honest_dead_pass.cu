// Honest: leaves out a launch whose result nothing reads, and with it an input of four times the size.
// task: dead_pass
// verdict: ok
// H200 [us]: 55.3
/* hone {"launches": [{"kernel": "twice", "grid": ["ceildiv(N, 256)"], "block": [256], "args": ["x", "y", "N"]}]} */
__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
