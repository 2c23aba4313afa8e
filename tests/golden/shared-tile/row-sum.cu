/* hone
{"name": "r", "sizes": {"R": 1000, "C": 512}, "check_sizes": [{"R": 149, "C": 61}], "buffers": [{"name": "m", "type": "f32", "shape": ["R", "C"], "fill": {"uniform": [-1, 1]}}, {"name": "s", "type": "f32", "shape": ["R"], "role": "out"}], "launches": [{"kernel": "rows", "grid": ["ceildiv(R,128)"], "block": [128], "args": ["m", "s", "R", "C"]}]}
*/
// Nothing is read twice, but neighbours in a warp are a row apart: staging coalesces.
__global__ void rows(const float* m, float* s, int R, int C) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < R) {
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += m[r * C + c];
    s[r] = sum;
  }
}
