// Other factors would put the array into local memory.
/* hone
{"name": "scale", "sizes": {"N": 1000000}, "check_sizes": [{"N": 1024}, {"N": 77}], "buffers": [{"name": "x", "type": "f32", "shape": ["N"]}, {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}], "launches": [{"kernel": "scale", "grid": ["ceildiv(N,1024)"], "block": [256], "args": ["x", "y", "N"]}]}
*/
__global__ void scale(const float* x, float* y, int n) {
  int first = blockIdx.x * 1024 + threadIdx.x;
  float kept[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    kept[i] = first + 256 * i < n ? x[first + 256 * i] : 0.0f;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (first + 256 * i < n) y[first + 256 * i] = 2.0f * kept[i];
  }
}
