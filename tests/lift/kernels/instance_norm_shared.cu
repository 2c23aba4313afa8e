/* hone
{ "name": "instance_norm_shared",
  "sizes": {"B": 8, "C": 32, "L": 256},
  "check_sizes": [{"B": 2, "C": 5, "L": 77}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["B", "C", "L"]},
    {"name": "y", "type": "f32", "shape": ["B", "C", "L"], "role": "out"} ],
  "launches": [
    {"kernel": "inorm", "grid": ["B*C"], "block": [32],
     "args": ["x", "y", "L"]} ] }
*/
// lift: yes

__global__ void inorm(const float* x, float* y, int n) {
  __shared__ float sums[32], squares[32];
  __shared__ float mean, scale;
  const int t = threadIdx.x;
  x += blockIdx.x * n;
  y += blockIdx.x * n;
  float s = 0, q = 0;
  for (int i = t; i < n; i += 32) {
    s += x[i];
    q += x[i] * x[i];
  }
  sums[t] = s;
  squares[t] = q;
  __syncthreads();
  if (t == 0) {
    float total = 0, total_squares = 0;
    for (int i = 0; i < 32; ++i) {
      total += sums[i];
      total_squares += squares[i];
    }
    mean = total / n;
    scale = rsqrtf(total_squares / n - mean * mean + 1e-5f);
  }
  __syncthreads();
  for (int i = t; i < n; i += 32) y[i] = (x[i] - mean) * scale;
}
