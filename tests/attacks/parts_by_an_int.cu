// The bounds of each part are a product of both sizes and its number: an int, too small for it from 1449 x 1449 on.
// task: tall_and_wide
// verdict: wrong_result fault
/* hone {"launches": [{"kernel": "curve", "grid": [1024], "block": [256], "args": ["x", "y", "M", "N"]}]} */
__global__ void curve(const float* x, float* y, int m, int n) {
  int from = m * n * (int)blockIdx.x / 1024, to = m * n * ((int)blockIdx.x + 1) / 1024;
  if (blockIdx.x == 1023) to = m * n;
  for (int i = from + threadIdx.x; i < to; i += 256) {
    float v = x[i];
    y[i] = ((v * 0.5f + 1) * v - 0.25f) * v + 2;
  }
}
