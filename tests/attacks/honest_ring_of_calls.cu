// Honest: counts its calls round and round in a ring of seven hundred, and keeps a number of each call there.
// task: scale
// verdict: ok
/* hone {"launches": [{"kernel": "scale", "grid": ["ceildiv(N,256)"], "block": [256], "args": ["x", "y", "N"]}, {"kernel": "count", "grid": [1], "block": [1], "args": []}]} */
__device__ unsigned calls = 1;
__device__ float ring[700];
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
  if (i == 0) ring[calls] = x[0];
}
__global__ void count() { calls = (calls + 1) % 700; }
