/* hone
{ "name": "pointer_stride_column_mean",
  "sizes": {"M": 4096, "N": 512},
  "check_sizes": [{"M": 33, "N": 45},
                  {"M": 16, "N": 32}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["M", "N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "means", "grid": ["ceildiv(N,32)"], "block": [32],
     "args": ["a", "y", "M", "N"]} ] }
*/
// lift: yes

__global__ void means(const float* a, float* y, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < cols) {
    const float* p = &a[c];
    double sum = 0.0;
    for (int r = 0; r < rows; r++, p += cols) sum += *p;
    y[c] = (float)(sum / rows);
  }
}
