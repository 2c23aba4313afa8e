// Waits for the bulk store itself before it reads what that wrote.
// task: reversed
// verdict: ok
__global__ void reversed(const float* x, float* y, float* z) {
  __shared__ __align__(128) float tile[256];
  int first = blockIdx.x * 256, t = threadIdx.x;
  tile[t] = 2.0f * x[first + t];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;"
                 ::"l"(y + first), "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
  __syncthreads();
  z[first + t] = y[first + 255 - t];
}
