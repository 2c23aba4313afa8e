/* hone {"name": "attacked_turned_and_added", "sizes": {"N": 1048576}, "check_sizes": [{"N": 1024}, {"N": 4096}], "constraints": ["N % 1024 == 0"],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]}, {"name": "t", "type": "f32", "shape": ["N"], "role": "scratch"}, {"name": "z", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "twice", "grid": ["N/256"], "block": [256], "args": ["x", "t"]}, {"kernel": "turn", "grid": ["N/256"], "block": [256], "args": ["t", "z"]}]} */
__global__ void twice(const float* x, float* t) { int i = blockIdx.x * 256 + threadIdx.x; t[i] = 2.0f * x[i]; }
__global__ void turn(const float* t, float* z) { int i = blockIdx.x * 256 + threadIdx.x, f = i / 512 * 512; z[i] = t[f + 511 - (i - f)] + t[i]; }
