// Two blocks of a cluster share a row; the barrier between them is .relaxed, so nothing orders what they wrote.
// task: reversed
// verdict: race
/* hone {"launches": [{"kernel": "reversed", "grid": ["N/128"], "block": [128], "args": ["x", "y", "z"]}]} */
__global__ void __cluster_dims__(2, 1, 1) reversed(const float* x, float* y, float* z) {
  __shared__ float twice[128];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  unsigned there, at = (unsigned)__cvta_generic_to_shared(&twice[127 - t]);
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"((blockIdx.x & 1) ^ 1));
  y[i] = twice[t] = 2.0f * x[i];
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  float v;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there) : "memory");
  z[i] = v;
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
