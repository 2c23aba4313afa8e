// launch f grid=(ceildiv(N,128)) block=(128) args=(X, N, 1e-05)
// launch f grid=(ceildiv(N,128)) block=(128) args=(X, N, 1e-05)
#define INSIDE(i) ((i) < count)
__global__ void f(float* x, const unsigned int count_arg, float eps_arg) {
  constexpr unsigned int count = 4096;
  constexpr float eps = static_cast<float>(1.0000000000000001e-05);
  unsigned int i = blockIdx.x * 128u + threadIdx.x;
  if (INSIDE(i)) x[i] = rsqrtf(x[i] * x[i] + eps) * (32u * 128u);
}
