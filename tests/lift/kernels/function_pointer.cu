/* hone
{ "name": "function_pointer",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["x", "y", "N"]} ] }
*/
// lift: no: an expression that hone does not follow

__device__ float twice(float v) { return 2 * v; }
__device__ float square(float v) { return v * v; }

__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float (*f)(float) = i % 2 == 0 ? twice : square;
  if (i < n) y[i] = f(x[i]);
}
