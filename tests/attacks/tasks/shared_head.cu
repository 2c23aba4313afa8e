/* hone {"name": "attacked_shared_head", "sizes": {"N": 67108864, "M": 2097152}, "check_sizes": [{"N": 2000, "M": 300}, {"N": 4096, "M": 77}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "w", "type": "f32", "shape": ["M"]},
              {"name": "y", "type": "f32", "shape": ["M"], "role": "out"}],
  "launches": [{"kernel": "shared_head", "grid": ["ceildiv(M, 32)"], "block": [32], "args": ["x", "w", "y", "N", "M"]}],
  "tolerance": {"rtol": 1e-3, "atol": 1e-3}} */
// Every block reads the same head of x: all blocks together touch no more of it than one of them does.
__global__ void shared_head(const float* x, const float* w, float* y, int n, int m) {
  int i = blockIdx.x * 32 + threadIdx.x;
  int most = n < 65536 ? n : 65536;
  float s = 0;
  for (int j = threadIdx.x; j < most; j += 32) s += x[j];
  for (int step = 16; step > 0; step /= 2) s += __shfl_xor_sync(0xffffffffu, s, step);
  if (i < m) y[i] = s * (w[i] + 1.0f);
}
