/* hone {"name": "attacked_reversed", "sizes": {"N": 65536}, "check_sizes": [{"N": 1024}, {"N": 256}], "constraints": ["N % 256 == 0"],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"},
              {"name": "z", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "reversed", "grid": ["N/256"], "block": [256], "args": ["x", "y", "z"]}]} */
__global__ void reversed(const float* x, float* y, float* z) {
  int first = blockIdx.x * 256, t = threadIdx.x;
  y[first + t] = 2.0f * x[first + t];
  __syncthreads();
  z[first + t] = y[first + 255 - t];
}
