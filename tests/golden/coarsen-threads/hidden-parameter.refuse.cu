// the guard's bound n means the counter inside the loop
/* hone
{"name": "f", "sizes": {"N": 8192, "K": 7}, "check_sizes": [{"N": 997, "K": 5}], "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [-1, 1]}}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "f", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "y", "N", "K"]}]}
*/
__global__ void f(const float* x, float* y, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int n = 0; n < k; ++n) s += x[i] * n;
  y[i] = s + n;
}
