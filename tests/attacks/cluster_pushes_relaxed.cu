// The other way round: each block stores into the other's shared memory, and arrives .relaxed.
// task: reversed
// verdict: race
/* hone {"launches": [{"kernel": "reversed", "grid": ["N/128"], "block": [128], "args": ["x", "y", "z"]}]} */
__global__ void __cluster_dims__(2, 1, 1) reversed(const float* x, float* y, float* z) {
  __shared__ float come[128];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  unsigned there, at = (unsigned)__cvta_generic_to_shared(&come[127 - t]);
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"((blockIdx.x & 1) ^ 1));
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  float v = 2.0f * x[i];
  y[i] = v;
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(v) : "memory");
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  z[i] = come[t];
}
