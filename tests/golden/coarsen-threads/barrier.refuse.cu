// the threads of a block work together
/* hone
{"name": "f", "sizes": {"N": 6400}, "check_sizes": [{"N": 640}], "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [-1, 1]}}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "f", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]}]}
*/
__global__ void f(const float* x, float* y, int n) {
  __shared__ float t[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  t[threadIdx.x] = i < n ? x[i] : 0.f;
  __syncthreads();
  if (i < n) y[i] = t[63 - threadIdx.x];
}
