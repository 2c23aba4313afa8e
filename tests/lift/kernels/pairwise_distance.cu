/* hone
{ "name": "pairwise_distance",
  "sizes": {"M": 128, "N": 128, "D": 64},
  "check_sizes": [{"M": 13, "N": 17, "D": 5}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["M", "D"]},
    {"name": "b", "type": "f32", "shape": ["N", "D"]},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(M*N,64)"], "block": [64],
     "args": ["a", "b", "y", "M", "N", "D"]} ] }
*/
// lift: yes

__device__ __forceinline__ float square(float v) { return v * v; }

__global__ void k(const float* a, const float* b, float* y, int M, int N, int D) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= M * N) return;
  int m = at / N, n = at - m * N;
  float sum = 0;
  for (int d = 0; d < D; ++d) sum += square(a[m * D + d] - b[n * D + d]);
  y[at] = sqrtf(fmaxf(sum, 0.0f));
}
