/* hone
{ "name": "concat_two_stores",
  "sizes": {"M": 512, "N": 512, "K": 64},
  "check_sizes": [{"M": 33, "N": 45, "K": 7},
                  {"M": 4, "N": 16, "K": 16}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["M", "N"]},
    {"name": "b", "type": "f32", "shape": ["M", "K"]},
    {"name": "y", "type": "f32", "shape": ["M", "N+K"], "role": "out"} ],
  "launches": [
    {"kernel": "concat", "grid": ["ceildiv(N+K,32)", "M"], "block": [32],
     "args": ["a", "b", "y", "M", "N", "K"]} ] }
*/
// lift: yes

__global__ void concat(const float* a, const float* b, float* y, int M, int N, int K) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
  if (c < N)
    y[r * (N + K) + c] = a[r * N + c];
  else if (c < N + K)
    y[r * (N + K) + c] = b[r * K + (c - N)];
}
