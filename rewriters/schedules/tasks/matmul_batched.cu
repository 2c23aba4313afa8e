/* hone
{ "name": "matmul_batched",
  "sizes": {"BATCH": 128, "M": 512, "N": 2048, "K": 1024},
  "check_sizes": [{"BATCH": 2, "M": 64, "N": 64, "K": 64}, {"BATCH": 3, "M": 32, "N": 48, "K": 40}, {"BATCH": 2, "M": 37, "N": 53, "K": 29}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["BATCH", "M", "K"], "fill": {"uniform": [-1, 1]}},
    {"name": "B", "type": "f32", "shape": ["BATCH", "K", "N"], "fill": {"uniform": [-1, 1]}},
    {"name": "C", "type": "f32", "shape": ["BATCH", "M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "bmm", "grid": ["ceildiv(N,16)", "ceildiv(M,16)", "BATCH"], "block": [16, 16], "args": ["A", "B", "C", "M", "N", "K"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-3},
  "math": "tf32x3",
  "flops": "2*BATCH*M*N*K",
  "torch": "torch.bmm(A, B)" }
*/

__global__ void bmm(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int b = blockIdx.z;
  if (row >= M || col >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; k++) sum += A[(b * M + row) * K + k] * B[(b * K + k) * N + col];
  C[(b * M + row) * N + col] = sum;
}
