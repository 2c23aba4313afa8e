/* hone
{ "name": "cross_entropy",
  "sizes": {"M": 512, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"]},
    {"name": "target", "type": "i32", "shape": ["M"], "fill": {"integers": [0, 31]}},
    {"name": "loss", "type": "f32", "shape": ["M"], "role": "out"} ],
  "launches": [
    {"kernel": "nll", "grid": ["ceildiv(M,32)"], "block": [32],
     "args": ["x", "target", "loss", "M", "N"]} ] }
*/
// lift: yes

__global__ void nll(const float* logits, const int* target, float* loss, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* row = logits + r * cols;
  float top = row[0];
  for (int c = 1; c < cols; ++c) top = row[c] > top ? row[c] : top;
  float sum = 0;
  for (int c = 0; c < cols; ++c) sum += expf(row[c] - top);
  loss[r] = logf(sum) + top - row[target[r]];
}
