// Reads what a bulk store is to write when it has but read its source (.read).
// task: reversed
// verdict: wrong_result uninitialised race fault
__global__ void reversed(const float* x, float* y, float* z) {
  __shared__ __align__(128) float tile[256];
  int first = blockIdx.x * 256, t = threadIdx.x;
  tile[t] = 2.0f * x[first + t];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;"
                 ::"l"(y + first), "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
  }
  __syncthreads();
  z[first + t] = y[first + 255 - t];
}
