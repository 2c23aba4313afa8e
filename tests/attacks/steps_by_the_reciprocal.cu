// Multiplies by the reciprocal of what it should divide by: wrong for many multiples of the scale.
// task: steps_in_scale
// verdict: wrong_result
/* hone {"launches": [{"kernel": "steps", "grid": ["ceildiv(N,1024)"], "block": [256], "args": ["x", "scale", "q", "N"]}]} */
__global__ void steps(const float* x, const float* scale, int* q, int n) {
  float a = 1 / scale[0], b = 1 / scale[1];
  for (int k = 0; k < 4; ++k) {
    int i = blockIdx.x * 1024 + k * 256 + threadIdx.x;
    if (i < n) q[i] = (int)floorf(x[i] * a) + 16 * (int)floorf(x[i] * b);
  }
}
