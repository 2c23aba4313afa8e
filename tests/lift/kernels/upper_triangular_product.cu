/* hone
{ "name": "upper_triangular_product",
  "sizes": {"N": 512},
  "check_sizes": [{"N": 45},
                  {"N": 32}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["N", "N"]},
    {"name": "B", "type": "f32", "shape": ["N", "N"]},
    {"name": "C", "type": "f32", "shape": ["N", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "product", "grid": ["ceildiv(N,16)", "ceildiv(N,16)"], "block": [16, 16],
     "args": ["A", "B", "C", "N"]} ] }
*/
// lift: yes

// Both factors are zero below the diagonal.
__global__ void product(const float* A, const float* B, float* C, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || col >= n) return;
  float sum = 0.f;
  for (int k = row; k <= col; ++k) sum += A[row * n + k] * B[k * n + col];
  C[row * n + col] = sum;
}
