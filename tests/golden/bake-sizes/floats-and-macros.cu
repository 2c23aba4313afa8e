/* hone
{"name": "f", "sizes": {"N": 4096}, "check_sizes": [{"N": 100}], "buffers": [{"name": "X", "type": "f32", "shape": ["N"], "role": "inout"}], "launches": [{"kernel": "f", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["X", "N", 1e-05]}, {"kernel": "f", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["X", "N", 1e-05]}]}
*/
#define INSIDE(i) ((i) < count)
__global__ void f(float* x, const unsigned int count, float eps) {
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (INSIDE(i)) x[i] = rsqrtf(x[i] * x[i] + eps) * (gridDim.x * blockDim.x);
}
