/* hone {"name": "attacked_delayed", "sizes": {"N": 1048576}, "check_sizes": [{"N": 1000}, {"N": 517}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "delay", "type": "i32", "shape": [1], "fill": {"constant": 12}},
              {"name": "at", "type": "i32", "shape": ["N"], "fill": {"iota": [0, 1]}},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "delay_by", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "delay", "at", "y", "N"]}]} */
__global__ void delay_by(const float* x, const int* delay, const int* at, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  int from = at[i];
  y[i] = x[from] + (from >= delay[0] ? 0.5f * x[from - delay[0]] : 0.0f);
}
