/* hone
{ "name": "matmul_bf16_8192",
  "sizes": {"M": 8192, "N": 8192, "K": 8192},
  "check_sizes": [{"M": 64, "N": 64, "K": 64}, {"M": 64, "N": 48, "K": 40}, {"M": 37, "N": 53, "K": 29}],
  "buffers": [
    {"name": "A", "type": "bf16", "shape": ["M", "K"], "fill": {"uniform": [-1, 1]}},
    {"name": "B", "type": "bf16", "shape": ["K", "N"], "fill": {"uniform": [-1, 1]}},
    {"name": "C", "type": "bf16", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "matmul", "grid": ["ceildiv(N,16)", "ceildiv(M,16)"], "block": [16, 16], "args": ["A", "B", "C", "M", "N", "K"]} ],
  "tolerance": {"rtol": 1e-2, "atol": 5e-2},
  "math": "reassociate",
  "flops": "2*M*N*K",
  "torch": "torch.matmul(A, B)" }
*/

#include <cuda_bf16.h>

__global__ void matmul(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int M, int N,
                       int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < M && col < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) {
      sum += __bfloat162float(A[row * K + k]) * __bfloat162float(B[k * N + col]);
    }
    C[row * N + col] = __float2bfloat16(sum);
  }
}
