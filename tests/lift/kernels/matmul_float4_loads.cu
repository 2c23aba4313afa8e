/* hone
{ "name": "matmul_float4_loads",
  "sizes": {"M": 256, "N": 256, "K": 256},
  "check_sizes": [{"M": 20, "N": 12, "K": 16}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["M", "K"]},
    {"name": "B", "type": "f32", "shape": ["N", "K"]},
    {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "gemm", "grid": ["ceildiv(N,8)", "ceildiv(M,8)"], "block": [8, 8], "args": ["A", "B", "C", "M", "N", "K"]} ] }
*/
// lift: yes

__global__ void gemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K) {
  int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y * blockDim.y + threadIdx.y;
  if (m >= M || n >= N) return;
  const float4* a = reinterpret_cast<const float4*>(A + m * K);
  const float4* b = reinterpret_cast<const float4*>(B + n * K);
  float acc = 0;
  for (int k = 0; k < K / 4; ++k) {
    float4 u = a[k], v = __ldg(&b[k]);
    acc += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
  }
  C[m * N + n] = acc;
}
