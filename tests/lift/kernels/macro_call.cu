/* hone
{ "name": "macro_call",
  "sizes": {"N": 65536},
  "check_sizes": [{"N": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N"]},
    {"name": "y", "type": "f32", "shape": ["N"], "role": "out"} ],
  "launches": [
    {"kernel": "k", "grid": ["ceildiv(N,64)"], "block": [64], "args": ["x", "y", "N"]} ] }
*/
// lift: yes

#define GELU(v) (0.5f * (v) * (1.0f + erff((v) * 0.70710678f)))
#define STORE(i) y[i] = GELU(helper(x[i]))
__device__ float helper(float v);
__device__ float helper(float v) { return v * 1.5f; }
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) STORE(i);
}
