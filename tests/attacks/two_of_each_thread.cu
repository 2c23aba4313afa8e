// Each of 128 threads keeps its two largest numbers, of which the fourth largest is taken.
// task: four_largest
// verdict: wrong_result
/* hone {"launches": [{"kernel": "largest", "grid": ["ROWS"], "block": [128], "args": ["x", "y", "COLS"]}]} */
__global__ void largest(const float* x, float* y, int cols) {
  __shared__ float kept[256];
  x += (size_t)blockIdx.x * cols;
  float a = -3e38f, b = -3e38f;
  for (int c = threadIdx.x; c < cols; c += 128) {
    float v = x[c];
    b = fmaxf(b, fminf(a, v));
    a = fmaxf(a, v);
  }
  kept[threadIdx.x] = a;
  kept[threadIdx.x + 128] = b;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  float top[4] = {-3e38f, -3e38f, -3e38f, -3e38f};
  for (int c = threadIdx.x; c < 256; c += 32) {
    float v = kept[c];
    for (int k = 0; k < 4; ++k) {
      float low = fminf(top[k], v);
      top[k] = fmaxf(top[k], v);
      v = low;
    }
  }
  for (int d = 16; d; d /= 2) {
    float other[4];
    for (int k = 0; k < 4; ++k) other[k] = __shfl_xor_sync(~0u, top[k], d);
    for (int j = 0; j < 4; ++j) {
      float v = other[j];
      for (int k = 0; k < 4; ++k) {
        float low = fminf(top[k], v);
        top[k] = fmaxf(top[k], v);
        v = low;
      }
    }
  }
  if (threadIdx.x == 0) y[blockIdx.x] = top[3];
}
