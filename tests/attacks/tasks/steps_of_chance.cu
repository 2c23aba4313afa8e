/* hone {"name": "attacked_steps_of_chance", "sizes": {"B": 264, "R": 16}, "check_sizes": [{"B": 3, "R": 2}, {"B": 5, "R": 3}],
  "buffers": [{"name": "x", "type": "u32", "shape": ["B", 512], "fill": {"integers": [0, 4294967295]}}, {"name": "y", "type": "f32", "shape": ["B"], "role": "out"}],
  "launches": [{"kernel": "steps", "grid": ["B"], "block": [128], "args": ["x", "y", "R"]}]} */
// Sums of what generators of random numbers give that begin with the numbers of x.
__global__ void steps(const unsigned* x, float* y, int r) {
  __shared__ float part[4];
  float s = 0;
  for (int t = threadIdx.x; t < 512; t += 128) {
    unsigned v = x[blockIdx.x * 512 + t];
    for (int j = 0; j < r; ++j) {
      for (int k = 0; k < 60; ++k) v = v * 1664525u + 1013904223u;
      s += (v >> 8) * 0x1p-24f;
    }
  }
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
