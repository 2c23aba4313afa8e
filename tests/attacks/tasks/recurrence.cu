/* hone {"name": "attacked_recurrence", "sizes": {"N": 67584}, "check_sizes": [{"N": 300}, {"N": 517}], "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [0.5, 1]}}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "recurrence", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "y", "N"]}], "tolerance": {"rtol": 0.0001, "atol": 0.0001}} */
// Eight chains of multiply-adds; each of 2,400 rounds has factors of its own.
__global__ void recurrence(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v[8];
  for (int j = 0; j < 8; ++j) v[j] = x[i] + j;
  for (int r = 0; r < 2400; ++r) {
    float f = 0.5f + (r * 37 % 97) * 0.005f, g = (r % 31) * 0.03f;
    for (int j = 0; j < 8; ++j) v[j] = v[j] * f + g;
  }
  float sum = 0;
  for (int j = 0; j < 8; ++j) sum += v[j];
  y[i] = sum * x[i];
}
