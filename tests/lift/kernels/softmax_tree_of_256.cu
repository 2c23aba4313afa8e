/* hone
{ "name": "softmax_tree_of_256",
  "sizes": {"M": 1024, "N": 512},
  "check_sizes": [{"M": 3, "N": 64},
                  {"M": 2, "N": 333}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["M", "N"], "fill": {"normal": [0, 1]}},
    {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [{"kernel": "softmax", "grid": ["M"], "block": [256], "args": ["x", "y", "N"]} ] }
*/
// lift: yes

// The sum over 256 threads has the maximum over 256 threads in each of its terms.
__global__ void softmax(const float* x, float* y, int n) {
  __shared__ float part[256];
  const float* row = x + (size_t)blockIdx.x * n;
  float* out = y + (size_t)blockIdx.x * n;
  int t = threadIdx.x;
  float most = -INFINITY;
  for (int i = t; i < n; i += 256) most = fmaxf(most, row[i]);
  part[t] = most;
  __syncthreads();
  for (int half = 128; half > 0; half >>= 1) {
    if (t < half) part[t] = fmaxf(part[t], part[t + half]);
    __syncthreads();
  }
  most = part[0];
  __syncthreads();
  float sum = 0.f;
  for (int i = t; i < n; i += 256) sum += expf(row[i] - most);
  part[t] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half >>= 1) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  for (int i = t; i < n; i += 256) out[i] = expf(row[i] - most) / part[0];
}
