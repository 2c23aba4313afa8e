// the order of the atomics can be seen in what they return
/* hone
{"name": "f", "sizes": {"N": 6400}, "check_sizes": [{"N": 640}], "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [-1, 1]}}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}, {"name": "count", "type": "i32", "shape": [1], "role": "inout", "fill": {"constant": 0}}], "launches": [{"kernel": "f", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "count", "N"]}]}
*/
__global__ void f(const float* x, float* y, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0.f) y[atomicAdd(count, 1)] = x[i];
}
