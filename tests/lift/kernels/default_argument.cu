/* hone
{ "name": "default_argument",
  "sizes": {"N": 65536},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]} ] }
*/
// lift: no: the call of 'scaled' with 1 of 2 arguments

__device__ float scaled(float v, float by = 2.0f) { return v * by; }
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = scaled(x[i]);
}
