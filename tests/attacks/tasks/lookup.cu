/* hone {"name": "attacked_lookup", "sizes": {"N": 65536}, "check_sizes": [{"N": 1000}, {"N": 770}],
  "buffers": [{"name": "at", "type": "i32", "shape": ["N"]},
              {"name": "table", "type": "f32", "shape": [128]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "lookup", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["at", "table", "y", "N"]}]} */
__global__ void lookup(const int* at, const float* table, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = table[at[i]];
}
