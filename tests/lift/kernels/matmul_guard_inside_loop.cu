/* hone
{ "name": "matmul_guard_inside_loop",
  "sizes": {"M": 512, "N": 512, "K": 512},
  "check_sizes": [{"M": 17, "N": 23, "K": 19}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["M", "K"]},
    {"name": "B", "type": "f32", "shape": ["K", "N"]},
    {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "inout", "fill": {"constant": 0}} ],
  "launches": [
    {"kernel": "mm", "grid": ["ceildiv(N,16)", "ceildiv(M,4)"], "block": [16, 4],
     "args": ["A", "B", "C", "M", "N", "K"]} ] }
*/
// lift: yes

// The guard stands in the loop: threads outside must not touch C.
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  for (int k = 0; k < K; k++)
    if (i < M && j < N) C[i * N + j] += A[i * K + k] * B[k * N + j];
}
