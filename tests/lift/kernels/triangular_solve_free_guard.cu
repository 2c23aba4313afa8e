/* hone
{ "name": "triangular_solve_free_guard",
  "sizes": {"N": 256},
  "check_sizes": [{"N": 37}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["N", "N"]},
    {"name": "B", "type": "f32", "shape": ["N", "N"]},
    {"name": "C", "type": "f32", "shape": ["N", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "trmm", "grid": ["ceildiv(N,8)", "ceildiv(N,8)"], "block": [8, 8], "args": ["A", "B", "C", "N"]} ] }
*/
// lift: yes

// Upper triangular product; a guard in the loop instead of bounds.
__global__ void trmm(const float* A, const float* B, float* C, int n) {
  int j = blockIdx.x * 8 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i >= n || j >= n) return;
  float s = 0;
  if (i > j) { C[i * n + j] = 0; return; }
  for (int k = 0; k < n; ++k) {
    if (k < i) continue;
    if (k > j) break;
    s += A[i * n + k] * B[k * n + j];
  }
  C[i * n + j] = s;
}
