/* hone
{ "name": "batched_product_with_a_tail_of_batches",
  "sizes": {"B": 20, "M": 64, "N": 64, "K": 64},
  "check_sizes": [{"B": 20, "M": 16, "N": 16, "K": 12}, {"B": 5, "M": 9, "N": 17, "K": 8}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["B", "M", "K"]},
    {"name": "b", "type": "f32", "shape": ["B", "K", "N"]},
    {"name": "c", "type": "f32", "shape": ["B", "M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "bmm", "grid": ["ceildiv(N,8)", "ceildiv(M,8)", "ceildiv(B,8)"], "block": [8, 8, 8],
     "args": ["a", "b", "c", "B", "M", "N", "K"]} ],
  "math": "reassociate" }
*/
// lift: yes

// Eight batches a block, and a number of batches that is no multiple of eight.
__global__ void bmm(const float* a, const float* b, float* c, int B, int M, int N, int K) {
  int n = blockIdx.x * 8 + threadIdx.x, m = blockIdx.y * 8 + threadIdx.y, i = blockIdx.z * 8 + threadIdx.z;
  if (i >= B || m >= M || n >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; k++) sum += a[(i * M + m) * K + k] * b[(i * K + k) * N + n];
  c[(i * M + m) * N + n] = sum;
}
