/* hone
{ "name": "doubling",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1048576}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "out", "type": "f32", "shape": ["ceildiv(N,256)"], "role": "out"}],
  "launches": [
    {"kernel": "reduce", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "out", "N"]}] }
*/
__global__ void reduce(const float* x, float* out, int n) {
  __shared__ float sm[256];
  int tid = threadIdx.x;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  sm[tid] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int s = 1; s < blockDim.x; s *= 2) {
    if (tid % (2 * s) == 0) {
      sm[tid] += sm[tid + s];
    }
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = sm[0];
}
