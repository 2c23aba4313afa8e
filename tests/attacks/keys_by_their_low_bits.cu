// Compares the low 16 bits of each key.
// task: equal_neighbours
// verdict: wrong_result
__device__ unsigned folded(unsigned k) { return k & 0xffffu; }
__global__ void equal(const unsigned* key, int* y, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  bool same = i > 0 && folded(key[i - 1]) == folded(key[i]);
  y[i] = (int)(key[i] % 1000u) + (same ? 1000000 : 0);
}
