// the load in front of the guard would run past the end of x: 101 blocks, odd
/* hone
{"name": "f", "sizes": {"N": 6464}, "check_sizes": [{"N": 64}], "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [-1, 1]}}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "f", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]}]}
*/
__global__ void f(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
  if (i < n) y[i] = v;
}
