/* hone
{ "name": "two_elements_per_thread_halves",
  "sizes": {"N": 4096},
  "check_sizes": [{"N": 34}, {"N": 64}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,2*32)"], "block": [32], "args": ["x", "y", "N"]} ] }
*/
// lift: yes

// Each thread does i and i + half.
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, half = n / 2;
  if (i < half) {
    y[i] = x[i] * 2.f;
    y[i + half] = x[i + half] * 3.f;
  }
}
