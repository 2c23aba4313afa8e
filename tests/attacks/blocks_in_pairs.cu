// Takes blocks of 256 in pairs, and leaves the last one of an odd number of them as it was. Constraints want
// multiples of 256.
// task: whole_blocks
// verdict: wrong_result
/* hone {"launches": [{"kernel": "curve", "grid": ["max(1,N/512)"], "block": [256], "args": ["x", "y", "N"]}]} */
__global__ void curve(const float* x, float* y, int n) {
  for (int i = blockIdx.x * 512 + threadIdx.x; i < min(n, (blockIdx.x + 1) * 512); i += 256) {
    float v = x[i];
    y[i] = ((v * 0.5f + 1) * v - 0.25f) * v + 2;
  }
}
