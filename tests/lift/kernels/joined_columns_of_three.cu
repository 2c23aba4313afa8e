/* hone
{ "name": "joined_columns_of_three",
  "sizes": {"N": 512, "A": 256, "B": 96, "C": 160},
  "check_sizes": [{"N": 5, "A": 7, "B": 3, "C": 6},
                  {"N": 4, "A": 16, "B": 8, "C": 32}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["N", "A"]},
    {"name": "b", "type": "f32", "shape": ["B", "N"]},
    {"name": "c", "type": "f32", "shape": ["N", "C"]},
    {"name": "c_rows", "type": "f32", "shape": ["N", "C"], "role": "scratch"},
    {"name": "a_positive", "type": "f32", "shape": ["N", "A"], "role": "scratch"},
    {"name": "b_turned", "type": "f32", "shape": ["N", "B"], "role": "scratch"},
    {"name": "y", "type": "f32", "shape": ["N", "A+B+C"], "role": "out"} ],
  "launches": [
    {"kernel": "positive", "grid": ["ceildiv(N*A,128)"], "block": [128],
     "args": ["a", "a_positive", "N*A"]},
    {"kernel": "turn", "grid": ["ceildiv(N*B,128)"], "block": [128],
     "args": ["b", "b_turned", "N", "B"]},
    {"kernel": "from_the_end", "grid": ["ceildiv(N,64)"], "block": [64],
     "args": ["c", "c_rows", "N", "C"]},
    {"kernel": "join", "grid": ["ceildiv(N*(A+B+C),256)"], "block": [256],
     "args": ["a_positive", "b_turned", "c_rows", "y", "N", "A", "B", "C"]} ] }
*/
// lift: yes

// What each part of a joined tensor is made of is known by the columns that it has.
__global__ void positive(const float* a, float* out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = a[i] > 0.f ? a[i] : 0.f;
}
__global__ void turn(const float* b, float* out, int rows, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * cols) out[i] = b[i % cols * rows + i / cols];
}
__global__ void from_the_end(const float* c, float* out, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0.f;
  for (int k = cols - 1; k >= 0; --k) {
    sum += c[r * cols + k];
    out[r * cols + k] = sum;
  }
}
__global__ void join(const float* a, const float* b, const float* c, float* y, int rows, int na,
                     int nb, int nc) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int cols = na + nb + nc;
  if (i >= rows * cols) return;
  int r = i / cols, k = i % cols;
  if (k < na) {
    y[i] = a[r * na + k];
  } else if (k < na + nb) {
    y[i] = b[r * nb + k - na];
  } else {
    y[i] = c[r * nc + k - na - nb];
  }
}
