// Honest: the same when both blocks have begun.
// task: turned_and_added
// verdict: ok
/* hone {"launches": [{"kernel": "reversed", "grid": ["N/256"], "block": [256], "args": ["x", "z"]}]} */
__global__ void __cluster_dims__(2, 1, 1) reversed(const float* x, float* z) {
  __shared__ float come[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  unsigned to, other = (blockIdx.x & 1) ^ 1, at = (unsigned)__cvta_generic_to_shared(&come[255 - t]);
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(at), "r"(other));
  float own = 2.0f * x[i];
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(to), "f"(own) : "memory");
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  z[i] = come[t] + own;
}
