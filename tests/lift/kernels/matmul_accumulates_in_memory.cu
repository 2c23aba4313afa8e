/* hone
{ "name": "matmul_accumulates_in_memory",
  "sizes": {"M": 512, "N": 512, "K": 512},
  "check_sizes": [{"M": 17, "N": 23, "K": 19},
                  {"M": 32, "N": 16, "K": 8}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["M", "K"]},
    {"name": "B", "type": "f32", "shape": ["K", "N"]},
    {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "mm", "grid": ["ceildiv(N,16)", "ceildiv(M,4)"], "block": [16, 4],
     "args": ["A", "B", "C", "M", "N", "K"]} ] }
*/
// lift: yes

__global__ void mm(float *A, float *B, float *C, int M, int N, int K) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= M || j >= N) return;
  C[i * N + j] = 0.0f;
  for (int k = 0; k < K; k++)
    C[i * N + j] += A[i * K + k] * B[k * N + j];
}
