/* hone
{ "name": "function_pointer_table",
  "sizes": {"N": 65536},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]} ] }
*/
// lift: no: the call 'table[i & 1](x[i])' of an operator, an object or a pointer

__device__ float a0(float v) { return v; }
__device__ float a1(float v) { return v * v; }
__device__ float (*const table[2])(float) = {a0, a1};
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = table[i & 1](x[i]);
}
