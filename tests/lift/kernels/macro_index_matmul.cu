/* hone
{ "name": "macro_index_matmul",
  "sizes": {"M": 512, "N": 512, "K": 512},
  "check_sizes": [{"M": 17, "N": 23, "K": 19},
                  {"M": 32, "N": 16, "K": 8}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["M", "K"]},
    {"name": "B", "type": "f32", "shape": ["K", "N"]},
    {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "mm", "grid": ["ceildiv(M,8)", "ceildiv(N,8)"], "block": [8, 8],
     "args": ["M", "N", "K", "A", "B", "C"]} ] }
*/
// lift: yes

#define IDX(i, j, ld) ((i) * (ld) + (j))
#define ROW (blockIdx.x * blockDim.x + threadIdx.x)
#define COL (blockIdx.y * blockDim.y + threadIdx.y)

__global__ void mm(int m, int n, int k, const float* A, const float* B, float* C) {
  if (ROW < m && COL < n) {
    float acc = 0.f;
    for (int p = 0; p < k; ++p) acc = fmaf(A[IDX(ROW, p, k)], B[IDX(p, COL, n)], acc);
    C[IDX(ROW, COL, n)] = acc;
  }
}
