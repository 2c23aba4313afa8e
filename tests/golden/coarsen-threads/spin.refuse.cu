// volatile memory: threads may be waiting for each other
/* hone
{"name": "f", "sizes": {"N": 6400}, "check_sizes": [{"N": 640}], "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [-1, 1]}}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "f", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]}]}
*/
__global__ void f(const volatile float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
