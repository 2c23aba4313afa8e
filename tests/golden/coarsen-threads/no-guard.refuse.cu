// 101 blocks: no factor divides them, and no guard holds back the work past the end
/* hone
{"name": "f", "sizes": {"N": 6464}, "check_sizes": [{"N": 64}], "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [-1, 1]}}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "f", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]}]}
*/
__global__ void f(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}
