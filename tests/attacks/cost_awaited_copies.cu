// Cost: each step of a walk by an asynchronous copy, and the wait for it.
// task: walks
// verdict: ok
// speedup: at most 1.3
__global__ void walk(const int* next, int* y, int n, int m, int steps) {
  __shared__ int here[64];
  int i = blockIdx.x * 64 + threadIdx.x, at = i * 31 % n;
  unsigned sum = 0, to = (unsigned)__cvta_generic_to_shared(here + threadIdx.x);
  for (int k = 0; k < steps; ++k) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\ncp.async.commit_group;\ncp.async.wait_group 0;" ::"r"(to), "l"(next + at) : "memory");
    at = here[threadIdx.x];
    sum += at;
  }
  y[i] = (int)sum;
}
