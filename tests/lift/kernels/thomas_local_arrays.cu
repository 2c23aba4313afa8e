/* hone
{ "name": "thomas_local_arrays",
  "sizes": {"M": 4096},
  "check_sizes": [{"M": 5}],
  "buffers": [
    {"name": "sub", "type": "f32", "shape": ["M", 512]},
    {"name": "dia", "type": "f32", "shape": ["M", 512], "fill": {"uniform": [3, 4]}},
    {"name": "sup", "type": "f32", "shape": ["M", 512]},
    {"name": "rhs", "type": "f32", "shape": ["M", 512], "role": "inout"} ],
  "launches": [
    {"kernel": "thomas", "grid": ["ceildiv(M,64)"], "block": [64], "args": ["sub", "dia", "sup", "rhs", "M"]} ] }
*/
// lift: no: lifting the program takes more than 10 million steps

// Systems in rows, local arrays of a constant length.
#define N 512
__global__ void thomas(const float* sub, const float* dia, const float* sup, float* rhs, int systems) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= systems) return;
  const float *a = sub + s * N, *b = dia + s * N, *c = sup + s * N;
  float* d = rhs + s * N;
  float cp[N], dp[N];
  cp[0] = c[0] / b[0];
  dp[0] = d[0] / b[0];
  for (int i = 1; i < N; i++) {
    float m = b[i] - a[i] * cp[i - 1];
    cp[i] = c[i] / m;
    dp[i] = (d[i] - a[i] * dp[i - 1]) / m;
  }
  d[N - 1] = dp[N - 1];
  for (int i = N - 2; i >= 0; i--) d[i] = dp[i] - cp[i] * d[i + 1];
}
