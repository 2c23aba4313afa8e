/* hone
{ "name": "prefixes_then_scaled",
  "sizes": {"N": 512, "M": 2048},
  "check_sizes": [{"N": 5, "M": 40},
                  {"N": 3, "M": 9}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N", "M"]},
    {"name": "m", "type": "i32", "shape": ["N", "M"], "fill": {"integers": [-9, 9]}},
    {"name": "behind", "type": "f32", "shape": ["N", "M"], "role": "scratch"},
    {"name": "counts", "type": "i32", "shape": ["N", "M"], "role": "scratch"},
    {"name": "largest", "type": "f32", "shape": ["N", "M"], "role": "scratch"},
    {"name": "product", "type": "f32", "shape": ["N", "M"], "role": "scratch"},
    {"name": "a", "type": "f32", "shape": ["N", "M"], "role": "out"},
    {"name": "b", "type": "i32", "shape": ["N", "M"], "role": "out"},
    {"name": "c", "type": "f32", "shape": ["N", "M"], "role": "out"},
    {"name": "d", "type": "f32", "shape": ["N", "M"], "role": "out"} ],
  "launches": [
    {"kernel": "folds", "grid": ["ceildiv(N*M,64)"], "block": [64],
     "args": ["x", "m", "behind", "counts", "largest", "product", "N", "M"]},
    {"kernel": "scaled", "grid": ["ceildiv(N*M,256)"], "block": [256], "args": ["behind", "a", "N*M"]},
    {"kernel": "doubled", "grid": ["ceildiv(N*M,256)"], "block": [256], "args": ["counts", "b", "N*M"]},
    {"kernel": "scaled", "grid": ["ceildiv(N*M,256)"], "block": [256], "args": ["largest", "c", "N*M"]},
    {"kernel": "scaled", "grid": ["ceildiv(N*M,256)"], "block": [256], "args": ["product", "d", "N*M"]} ] }
*/
// lift: yes

// Folds of what is before an element, or behind it but for the row's last, each with the element.
__global__ void folds(const float* x, const int* m, float* behind, int* counts, float* largest,
                      float* product, int rows, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * cols) return;
  int r = i / cols, c = i % cols, count = 0;
  float sum = 0.f, most = -INFINITY, all = 1.f;
  for (int k = 0; k < cols - 1; ++k) {
    if (k > c) sum += x[r * cols + k];
    if (k < c) count += m[r * cols + k];
    if (k < c) most = fmaxf(most, x[r * cols + k]);
    if (k < c) all *= x[r * cols + k];
  }
  behind[i] = x[i] + sum;
  counts[i] = count + m[i];
  largest[i] = fmaxf(x[i], most);
  product[i] = all * x[i];
}
__global__ void scaled(const float* s, float* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = s[i] * 0.5f;
}
__global__ void doubled(const int* s, int* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = s[i] * 2;
}
