/* hone
{ "name": "nearest_code",
  "sizes": {"N": 4096, "K": 256, "D": 32},
  "check_sizes": [{"N": 50, "K": 19, "D": 7}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N", "D"]},
    {"name": "code", "type": "f32", "shape": ["K", "D"]},
    {"name": "at", "type": "i32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "code", "at", "N", "K", "D"]} ] }
*/
// lift: yes

// Vector quantisation: the nearest of K vectors.
__global__ void k(const float* x, const float* code, int* at, int n, int codes, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = 3.4e38f;
  int where = -1;
  for (int c = 0; c < codes; c++) {
    float dist = 0;
    for (int j = 0; j < d; j++) {
      float diff = x[i * d + j] - code[c * d + j];
      dist += diff * diff;
    }
    if (dist < best) { best = dist; where = c; }
  }
  at[i] = where;
}
