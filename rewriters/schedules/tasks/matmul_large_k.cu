/* hone
{ "name": "matmul_large_k",
  "sizes": {"M": 256, "N": 256, "K": 131072},
  "check_sizes": [{"M": 64, "N": 64, "K": 64}, {"M": 64, "N": 48, "K": 40}, {"M": 37, "N": 53, "K": 29}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["M", "K"], "fill": {"uniform": [-1, 1]}},
    {"name": "B", "type": "f32", "shape": ["K", "N"], "fill": {"uniform": [-1, 1]}},
    {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "matmul", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 16], "args": ["A", "B", "C", "M", "N", "K"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-2},
  "math": "tf32x3",
  "flops": "2*M*N*K",
  "torch": "torch.matmul(A, B)" }
*/

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < M && col < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) {
      sum += A[row * K + k] * B[k * N + col];
    }
    C[row * N + col] = sum;
  }
}
