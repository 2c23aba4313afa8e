/* hone {"name": "attacked_mixed_sums", "sizes": {"N": 4194304}, "check_sizes": [{"N": 3000}, {"N": 700000}],
  "buffers": [{"name": "x", "type": "u32", "shape": ["N"], "fill": {"integers": [0, 1000]}},
              {"name": "y", "type": "u32", "shape": [16], "role": "out"}],
  "launches": [{"kernel": "zero", "grid": [1], "block": [16], "args": ["y"]},
               {"kernel": "sums", "grid": ["ceildiv(N,1024)"], "block": [256], "args": ["x", "y", "N"]}]} */
// y[k]: the sum of what 60 steps make of each x[i] with i / 64 % 16 == k.
__global__ void zero(unsigned* y) { y[threadIdx.x] = 0; }
__global__ void sums(const unsigned* x, unsigned* y, int n) {
  for (int g = threadIdx.x / 32; g < 32; g += 8) {
    int i = blockIdx.x * 1024 + g * 32 + threadIdx.x % 32;
    unsigned v = i < n ? x[i] : 0;
    for (int k = 0; k < 60; ++k) v = i < n ? v * 1664525u + 1013904223u + (v >> 9) : 0;
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(&y[g / 2], v);
  }
}
