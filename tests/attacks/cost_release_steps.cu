// Cost: every one of 512 stores of a thread is a release, which waits till the one before has arrived.
// task: steps_of_stores
// verdict: ok
// speedup: at most 0.5
__global__ void steps(const int* x, int* y, int n, int k) {
  int i = blockIdx.x * 128 + threadIdx.x, v = x[i];
  for (int q = 0; q < k; ++q) { v = v * 5 ^ q; asm volatile("st.release.gpu.global.s32 [%0], %1;" :: "l"(y + (size_t)q * n + i), "r"(v) : "memory"); }
}
