/* hone
{ "name": "batched_strided_product",
  "sizes": {"BATCH": 8, "M": 64, "N": 64, "K": 64},
  "check_sizes": [{"BATCH": 3, "M": 17, "N": 13, "K": 9},
                  {"BATCH": 2, "M": 8, "N": 16, "K": 8}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["BATCH", "K", "M"]},
    {"name": "B", "type": "f32", "shape": ["K", "BATCH", "N"]},
    {"name": "C", "type": "f32", "shape": ["BATCH", "M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "bmm", "grid": ["ceildiv(N,8)", "ceildiv(M,8)", "BATCH"], "block": [8, 8, 1],
     "args": ["A", "B", "C", "M", "N", "K", "K*M", "N", "M*N", "BATCH*N"]} ] }
*/
// lift: yes

// A is transposed, B has the batch in the middle.
__global__ void bmm(const float* A, const float* B, float* C, int M, int N, int K, long long strideA,
                    long long strideB, long long strideC, int ldb) {
  const int m = blockIdx.y * blockDim.y + threadIdx.y;
  const int n = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= M || n >= N) return;
  A += blockIdx.z * strideA;
  B += blockIdx.z * strideB;
  C += blockIdx.z * strideC;
  float acc = 0.0f;
  for (int k = 0; k < K; ++k) acc += A[k * M + m] * B[k * ldb + n];
  C[m * N + n] = acc;
}
