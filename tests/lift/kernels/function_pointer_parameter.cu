/* hone
{ "name": "function_pointer_parameter",
  "sizes": {"N": 65536},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]} ] }
*/
// lift: no: an expression that hone does not follow: 'relu'

typedef float (*Unary)(float);
__device__ float relu(float v) { return v > 0 ? v : 0; }
__device__ float apply(Unary f, float v) { return f(v); }
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = apply(relu, x[i]);
}
