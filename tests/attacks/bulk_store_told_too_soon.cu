// Says that a part is there when its bulk store has but read it: the last block may find an older one.
// task: last_block_sum
// verdict: wrong_result uninitialised race fault
__device__ float4 parts[16];
__device__ unsigned count;
__global__ void sum(const float* x, float* y, int n) {
  __shared__ __align__(16) float4 own;
  __shared__ float warps[8];
  __shared__ bool last;
  float s = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) s += x[i];
  for (int k = 16; k > 0; k /= 2) s += __shfl_down_sync(~0u, s, k);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    s = 0;
    for (int k = 0; k < 8; ++k) s += warps[k];
    own = make_float4(s, 0, 0, 0);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;"
                 ::"l"(parts + blockIdx.x), "r"((unsigned)__cvta_generic_to_shared(&own)) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
    __threadfence();
    last = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x > 0) return;
  __threadfence();
  s = 0;
  for (int k = 0; k < gridDim.x; ++k) s += ((volatile float4*)parts)[k].x;
  y[0] = s;
}
