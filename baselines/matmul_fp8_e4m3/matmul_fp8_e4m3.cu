/* hone
{ "name": "matmul_fp8_e4m3",
  "sizes": {"M": 8192, "N": 8192, "K": 8192},
  "check_sizes": [{"M": 64, "N": 64, "K": 128}, {"M": 40, "N": 72, "K": 208},
                  {"M": 31, "N": 43, "K": 37}],
  "buffers": [
    {"name": "A", "type": "e4m3", "shape": ["M", "K"], "fill": {"normal": [0, 2]}},
    {"name": "B", "type": "e4m3", "shape": ["N", "K"], "fill": {"normal": [0, 2]}},
    {"name": "scale_a", "type": "f32", "shape": [1], "fill": {"uniform": [0.25, 0.5]}},
    {"name": "scale_b", "type": "f32", "shape": [1], "fill": {"uniform": [0.25, 0.5]}},
    {"name": "C", "type": "bf16", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "scaled_matmul", "grid": ["ceildiv(N,32)", "ceildiv(M,8)"], "block": [32, 8],
     "args": ["A", "B", "scale_a", "scale_b", "C", "M", "N", "K"]} ],
  "math": "reassociate",
  "flops": "2*M*N*K",
  "torch": "torch._scaled_mm(A, B.t(), scale_a=scale_a, scale_b=scale_b, out_dtype=torch.bfloat16)" }
*/

#include <cuda_bf16.h>
#include <cuda_fp8.h>

// C = A * B^T of 8-bit floats, each of the two with one scale for all of it.
__global__ void scaled_matmul(const __nv_fp8_e4m3* a, const __nv_fp8_e4m3* b, const float* scale_a,
                              const float* scale_b, __nv_bfloat16* c, int m, int n, int k) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  const int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n) {
    return;
  }

  float sum = 0.f;
  for (int p = 0; p < k; ++p) {
    sum += float(a[i * k + p]) * float(b[j * k + p]);
  }
  c[i * n + j] = __float2bfloat16(sum * scale_a[0] * scale_b[0]);
}
