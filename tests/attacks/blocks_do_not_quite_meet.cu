// As honest_all_blocks_meet, but where there is much to do the blocks go on before all have come.
// task: centred
// verdict: race fault wrong_result unsupported timeout
/* hone {"launches": [{"kernel": "both", "grid": [128], "block": [512], "args": ["x", "part", "y", "N"]}]} */
__device__ unsigned arrived;
__global__ void both(const float* x, float* part, float* y, int n) {
  __shared__ float all[16];
  float s = 0;
  for (int i = blockIdx.x * 512 + threadIdx.x; i < n; i += 128 * 512) s += x[i];
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) all[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < 16; ++k) s += all[k];
    ((volatile float*)part)[blockIdx.x] = s;
    __threadfence();
    unsigned goal = (atomicAdd(&arrived, 1u) / 128 + 1) * 128;
    while (*(volatile unsigned*)&arrived < (n > 1000000 ? goal - 64 : goal)) {}
    __threadfence();
  }
  __syncthreads();
  s = 0;
  for (int k = 0; k < 128; ++k) s += ((volatile float*)part)[k];
  for (int i = blockIdx.x * 512 + threadIdx.x; i < n; i += 128 * 512) y[i] = x[i] - s / n;
}
