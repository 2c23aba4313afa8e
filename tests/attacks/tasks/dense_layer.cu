/* hone {"name": "attacked_dense_layer", "sizes": {"M": 256, "N": 256, "K": 256}, "check_sizes": [{"M": 33, "N": 20, "K": 40}, {"M": 17, "N": 48, "K": 65}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", "K"]}, {"name": "w", "type": "f32", "shape": ["N", "K"]},
              {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"}],
  "launches": [{"kernel": "dense", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 16], "args": ["x", "w", "y", "M", "N", "K"]}],
  "math": "reassociate"} */
__global__ void dense(const float* x, const float* w, float* y, int m, int n, int k) {
  int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
  if (i >= m || j >= n) return;
  float s = 0;
  for (int c = 0; c < k; ++c) s += x[i * k + c] * w[j * k + c];
  y[i * n + j] = s;
}
