// Keeps the compiler busy for ever, and is not seen by others.
// task: scale
// verdict: timeout crash compile_error
#ifndef __clang__
template <int A, int B, int C>
struct T {
  static constexpr unsigned v = T<A - 1, B, C>::v + T<A, B - 1, C>::v + T<A, B, C - 1>::v;
};
template <int B, int C>
struct T<0, B, C> {
  static constexpr unsigned v = 1;
};
template <int A, int C>
struct T<A, 0, C> {
  static constexpr unsigned v = 1;
};
template <int A, int B>
struct T<A, B, 0> {
  static constexpr unsigned v = 1;
};
__device__ unsigned bomb = T<60, 60, 60>::v;
#endif
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
