/* hone {"name": "attacked_solved_rows", "sizes": {"N": 512, "R": 64}, "check_sizes": [{"N": 96, "R": 5}, {"N": 65, "R": 3}],
  "buffers": [{"name": "L", "type": "f32", "shape": ["N", "N"], "fill": "lower_triangular"},
              {"name": "b", "type": "f32", "shape": ["R", "N"]},
              {"name": "x", "type": "f32", "shape": ["R", "N"], "role": "out"}],
  "launches": [{"kernel": "solve", "grid": ["R"], "block": [128], "args": ["L", "b", "x", "N"]}],
  "tolerance": {"rtol": 1e-3, "atol": 1e-3}} */
// L x = b for each row of b, from the first unknown to the last.
__global__ void solve(const float* L, const float* b, float* x, int n) {
  __shared__ float known[1024];
  __shared__ float sum[4];
  for (int i = 0; i < n; ++i) {
    float s = 0;
    for (int k = threadIdx.x; k < i; k += 128) s += L[(size_t)i * n + k] * known[k];
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
    if (threadIdx.x % 32 == 0) sum[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) known[i] = (b[(size_t)blockIdx.x * n + i] - (sum[0] + sum[1] + sum[2] + sum[3])) / L[(size_t)i * n + i];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += 128) x[(size_t)blockIdx.x * n + i] = known[i];
}
