/* hone
{ "name": "dynamic_table",
  "sizes": {"N": 1024},
  "check_sizes": [{"N": 33}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N", "N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,32)"], "block": [32], "args": ["x", "y", "N"]} ] }
*/
// lift: no: lifting the program takes more than 10 million steps

// Edit distance style: a row of a table in a local array.
#define W 256
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float row[W];
  for (int j = 0; j < W; j++) row[j] = j;
  for (int r = 0; r < W; r++) {
    float diag = row[0];
    row[0] = r + 1;
    for (int j = 1; j < W; j++) {
      float up = row[j];
      float best = fminf(fminf(up, row[j - 1]) + 1.0f, diag + x[i * n + (r * 7 + j) % n]);
      diag = up;
      row[j] = best;
    }
  }
  y[i] = row[W - 1];
}
