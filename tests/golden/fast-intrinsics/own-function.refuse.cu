// Functions of the file itself, whatever they are called.
/* hone
{"name": "own", "sizes": {"N": 4096}, "check_sizes": [{"N": 256}, {"N": 250}, {"N": 253}],
 "buffers": [
   {"name": "x", "type": "f32", "shape": ["N"]},
   {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
 "launches": [
   {"kernel": "own", "grid": ["ceildiv(N,128)"], "block": [128], "args": ["x", "y", "N"]}]}
*/
__device__ float logf_like(float v) { return v * 0.5f; }
__device__ float sigmoid(float v) { return v * v; }
__global__ void own(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = sigmoid(logf_like(x[i])) * 0.25f;
}
