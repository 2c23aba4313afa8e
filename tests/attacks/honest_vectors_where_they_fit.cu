// Honest: four columns at once where rows allow it.
// task: gain
// verdict: ok
/* hone {"buffers": [{"name": "x", "type": "f32", "shape": ["ROWS", "COLS"]}, {"name": "w", "type": "f32", "shape": ["COLS"]}, {"name": "g", "type": "f32", "shape": ["ROWS"]},
              {"name": "y", "type": "f32", "shape": ["ROWS", "COLS"], "role": "out"}],
  "launches": [{"kernel": "gain", "grid": ["ceildiv(ROWS,4)"], "block": [256], "args": ["x", "w", "g", "y", "ROWS", "COLS"]}]} */
__global__ void gain(const float* x, const float* w, const float* g, float* y, int rows, int cols) {
  int r = blockIdx.x * 4 + threadIdx.x / 64, lane = threadIdx.x % 64;
  if (r >= rows) return;
  float b = g[r];
  const float* in = x + (size_t)r * cols; float* out = y + (size_t)r * cols;
  if (cols % 4 == 0) {
    for (int c = lane; c < cols / 4; c += 64) {
      float4 v = ((const float4*)in)[c], f = ((const float4*)w)[c];
      ((float4*)out)[c] = {v.x * f.x + b, v.y * f.y + b, v.z * f.z + b, v.w * f.w + b};
    }
  } else for (int c = lane; c < cols; c += 64) out[c] = in[c] * w[c] + b;
}
