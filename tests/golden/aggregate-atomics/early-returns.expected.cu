// launch extremes grid=(ceildiv(N,128)) block=(128) args=(x, out, seen, N)
__global__ void extremes(const int* x, int* out, unsigned int* seen, int n) {
  int out_part = (-2147483647 - 1);
  int out_part1 = 2147483647;
  unsigned int seen_part2 = 0;
  {
    const int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (!(i >= n)) {
      const int v = x[i];
      if (!(v % 3 == 0)) {
        out_part = max(out_part, (v));
        out_part1 = min(out_part1, (v));
        seen_part2 |= (1u << (v & 31));
      }
    }
  }
  // One atomic per warp.
  const int tid = threadIdx.x;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const int other = __shfl_down_sync(0xffffffffu, out_part, offset);
    out_part = max(out_part, other);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const int other = __shfl_down_sync(0xffffffffu, out_part1, offset);
    out_part1 = min(out_part1, other);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const unsigned int other = __shfl_down_sync(0xffffffffu, seen_part2, offset);
    seen_part2 |= other;
  }
  if (tid % 32 == 0) {
    atomicMax(out, out_part);
    atomicMin(&out[1], out_part1);
    atomicOr(seen, seen_part2);
  }
}
