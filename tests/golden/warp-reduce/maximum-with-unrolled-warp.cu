/* hone
{ "name": "maximum_with_unrolled_warp",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1048576}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "out", "type": "f32", "shape": ["ceildiv(N,256)"], "role": "out"}],
  "launches": [
    {"kernel": "reduce", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "out", "N"]}],
  "math": "exact" }
*/
__global__ void reduce(const float* x, float* out, int n) {
  __shared__ float sm[256];
  int tid = threadIdx.x;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  sm[tid] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int s = 128; s > 32; s /= 2) {
    if (tid < s) sm[tid] = fmaxf(sm[tid], sm[tid + s]);
    __syncthreads();
  }
  if (tid < 32) {
    sm[tid] = fmaxf(sm[tid], sm[tid + 32]);
    __syncwarp();
    sm[tid] = fmaxf(sm[tid], sm[tid + 16]);
    __syncwarp();
    sm[tid] = fmaxf(sm[tid], sm[tid + 8]);
    __syncwarp();
    sm[tid] = fmaxf(sm[tid], sm[tid + 4]);
    __syncwarp();
    sm[tid] = fmaxf(sm[tid], sm[tid + 2]);
    __syncwarp();
    sm[tid] = fmaxf(sm[tid], sm[tid + 1]);
  }
  if (tid == 0) out[blockIdx.x] = sm[0];
}
