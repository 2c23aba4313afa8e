/* hone {"name": "attacked_flags", "sizes": {"N": 65536}, "check_sizes": [{"N": 1000}, {"N": 77}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "flag", "type": "bool", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "flags", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "flag", "N"]}]} */
__global__ void flags(const float* x, bool* flag, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) flag[i] = x[i] > 0.25f;
}
