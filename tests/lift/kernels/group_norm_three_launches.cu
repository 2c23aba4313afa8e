/* hone
{ "name": "group_norm_three_launches",
  "sizes": {"B": 8, "C": 32, "L": 256},
  "check_sizes": [{"B": 2, "C": 6, "L": 35}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["B", "C", "L"]},
    {"name": "mean", "type": "f32", "shape": ["B", 2], "role": "scratch"},
    {"name": "rstd", "type": "f32", "shape": ["B", 2], "role": "scratch"},
    {"name": "y", "type": "f32", "shape": ["B", "C", "L"], "role": "out"} ],
  "launches": [
    {"kernel": "means", "grid": ["B*2"], "block": [1],
     "args": ["x", "mean", "C/2*L"]},
    {"kernel": "rstds", "grid": ["B*2"], "block": [1],
     "args": ["x", "mean", "rstd", "C/2*L"]},
    {"kernel": "apply", "grid": ["ceildiv(B*C*L,128)"], "block": [128],
     "args": ["x", "mean", "rstd", "y", "B*C*L", "C/2*L"]} ] }
*/
// lift: yes

__global__ void means(const float* x, float* mean, int count) {
  int g = blockIdx.x;
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += x[g * count + i];
  mean[g] = sum / count;
}

__global__ void rstds(const float* x, const float* mean, float* rstd, int count) {
  int g = blockIdx.x;
  float sum = 0;
  for (int i = 0; i < count; ++i) {
    float d = x[g * count + i] - mean[g];
    sum += d * d;
  }
  rstd[g] = rsqrtf(sum / count + 1e-5f);
}

__global__ void apply(const float* x, const float* mean, const float* rstd, float* y, int n,
                      int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (x[i] - mean[i / count]) * rstd[i / count];
}
