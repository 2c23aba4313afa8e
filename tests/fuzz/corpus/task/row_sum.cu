/* hone
{ "name": "row_sum",
  "sizes": {"R": 32768, "C": 4096},
  "check_sizes": [{"R": 256, "C": 64}, {"R": 96, "C": 100}, {"R": 149, "C": 61}],
  "buffers": [
    {"name": "matrix", "type": "f32", "shape": ["R", "C"], "fill": {"uniform": [0, 1]}},
    {"name": "sums", "type": "f32", "shape": ["R"], "role": "out"} ],
  "launches": [
    {"kernel": "row_sum", "grid": ["ceildiv(R,256)"], "block": [256],
     "args": ["matrix", "sums", "R", "C"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-4},
  "math": "reassociate",
  "flops": "R*C",
  "torch": "matrix.sum(dim=1)" }
*/

__global__ void row_sum(const float* matrix, float* sums, int num_rows, int num_cols) {
  int r = blockDim.x * blockIdx.x + threadIdx.x;
  if (r >= num_rows) return;

  float s = 0.0f;
  for (int c = 0; c < num_cols; ++c)
    s += matrix[r * num_cols + c];
  sums[r] = s;
}
