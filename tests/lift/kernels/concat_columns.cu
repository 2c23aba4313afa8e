/* hone
{ "name": "concat_columns",
  "sizes": {"M": 512, "N": 512, "K": 64},
  "check_sizes": [{"M": 33, "N": 45, "K": 7},
                  {"M": 4, "N": 16, "K": 16}],
  "buffers": [
    {"name": "a", "type": "f32", "shape": ["M", "N"]},
    {"name": "b", "type": "f32", "shape": ["M", "K"]},
    {"name": "y", "type": "f32", "shape": ["M", "N+K"], "role": "out"} ],
  "launches": [
    {"kernel": "concat", "grid": ["ceildiv(M*(N+K),128)"], "block": [128],
     "args": ["a", "b", "y", "M", "N", "K"]} ] }
*/
// lift: yes

__global__ void concat(const float* a, const float* b, float* y, int M, int N, int K) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= M * (N + K)) return;
  int r = i / (N + K), c = i % (N + K);
  y[i] = c < N ? a[r * N + c] : b[r * K + c - N];
}
