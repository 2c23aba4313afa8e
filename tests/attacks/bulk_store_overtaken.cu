// Uses the source of a bulk store again when its group is committed, before it has been read.
// task: reversed
// verdict: race async wrong_result fault
__global__ void reversed(const float* x, float* y, float* z) {
  __shared__ __align__(128) float tile[256];
  int first = blockIdx.x * 256, t = threadIdx.x;
  float own = 2.0f * x[first + t], other = 2.0f * x[first + 255 - t];
  unsigned at = (unsigned)__cvta_generic_to_shared(tile);
  tile[t] = own;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(y + first), "r"(at) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }
  __syncthreads();
  tile[t] = other;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(z + first), "r"(at) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}
