// Honest: compares the bits of floats as integers, once those of negative ones are turned round.
// task: which_is_larger
// verdict: ok
__device__ int rank(float v) {
  int bits = __float_as_int(v + 0.0f);
  return bits < 0 ? (int)(0x80000000u - (unsigned)bits) : bits;
}
__global__ void which(const float* a, const float* b, int* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  int u = rank(a[i]), v = rank(b[i]);
  y[i] = (u > v) - (u < v);
}
