/* hone
{ "name": "register_tile_two_by_two",
  "sizes": {"M": 512, "N": 512, "K": 512},
  "check_sizes": [{"M": 34, "N": 46, "K": 19},
                  {"M": 32, "N": 16, "K": 8}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["M", "K"]},
    {"name": "B", "type": "f32", "shape": ["K", "N"]},
    {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "mm", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [8, 8],
     "args": ["A", "B", "C", "M", "N", "K"]} ] }
*/
// lift: yes

// Each thread computes a 2 x 2 tile held in a local array.
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = (blockIdx.y * 8 + threadIdx.y) * 2;
  int col = (blockIdx.x * 8 + threadIdx.x) * 2;
  float acc[2][2] = {};
  for (int k = 0; k < K; k++) {
    float a[2], b[2];
    for (int i = 0; i < 2; i++) a[i] = row + i < M ? A[(row + i) * K + k] : 0.0f;
    for (int j = 0; j < 2; j++) b[j] = col + j < N ? B[k * N + col + j] : 0.0f;
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 2; j++) acc[i][j] += a[i] * b[j];
  }
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      if (row + i < M && col + j < N) C[(row + i) * N + col + j] = acc[i][j];
}
