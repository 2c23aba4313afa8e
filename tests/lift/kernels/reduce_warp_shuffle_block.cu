/* hone
{ "name": "reduce_warp_shuffle_block",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1000},
                  {"N": 256}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": [2], "role": "out"} ],
  "launches": [
    {"kernel": "reduce", "grid": ["2"], "block": [128],
     "args": ["x", "y", "N"]} ] }
*/
// lift: yes

__inline__ __device__ float warp_sum(float v) {
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}

__inline__ __device__ float block_sum(float v) {
  static __shared__ float shared[32];
  int lane = threadIdx.x % 32;
  int warp = threadIdx.x / 32;
  v = warp_sum(v);
  if (lane == 0) shared[warp] = v;
  __syncthreads();
  v = (threadIdx.x < blockDim.x / 32) ? shared[lane] : 0;
  if (warp == 0) v = warp_sum(v);
  return v;
}

__global__ void reduce(const float* in, float* out, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
