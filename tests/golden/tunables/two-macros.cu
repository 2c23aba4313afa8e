/* hone
{"name": "scale", "sizes": {"N": 65536}, "check_sizes": [{"N": 1000}], "buffers": [{"name": "X", "type": "f32", "shape": ["N"]}, {"name": "Y", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "scale", "grid": ["ceildiv(N,BLOCK*ITEMS)"], "block": ["BLOCK"], "args": ["X", "Y", "N"]}], "tunables": {"BLOCK": [64, 128, 256], "ITEMS": [1, 2, 4]}}
*/
__global__ void scale(const float* x, float* y, int n) {
  for (int j = 0; j < ITEMS; ++j) {
    int i = (blockIdx.x * ITEMS + j) * BLOCK + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
  }
}
