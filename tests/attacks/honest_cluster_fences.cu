// Relaxed barriers where nothing is handed on, or behind a fence.
// task: reversed
// verdict: ok
/* hone {"launches": [{"kernel": "reversed", "grid": ["N/128"], "block": [128], "args": ["x", "y", "z"]}]} */
__global__ void __cluster_dims__(2, 1, 1) reversed(const float* x, float* y, float* z) {
  __shared__ float twice[128], come[128];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  unsigned from, to, other = (blockIdx.x & 1) ^ 1, at = (unsigned)__cvta_generic_to_shared(&twice[127 - t]),
           into = (unsigned)__cvta_generic_to_shared(&come[t]);
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(from) : "r"(at), "r"(other));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(into), "r"(other));
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  y[i] = twice[t] = 2.0f * x[i];
  asm volatile("fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  float v;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(from) : "memory");
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(to), "f"(v) : "memory");
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(into), "r"(other));
  float back = come[t];
  z[i] = v + (back - 2.0f * x[blockIdx.x * 128 + 127 - t]);
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
