/* hone
{ "name": "smooth_l1_two_stage",
  "sizes": {"N": 1048576},
  "check_sizes": [{"N": 1000},
                  {"N": 256}],
  "buffers": [
    {"name": "p", "type": "f32", "shape": ["N"]},
    {"name": "t", "type": "f32", "shape": ["N"]},
    {"name": "part", "type": "f32", "shape": ["(N+63)/64"], "role": "scratch"},
    {"name": "loss", "type": "f32", "shape": [1], "role": "out"} ],
  "launches": [
    {"kernel": "partial", "grid": ["ceildiv(N,64)"], "block": [64],
     "args": ["p", "t", "part", "N"]},
    {"kernel": "finish", "grid": [1], "block": [1],
     "args": ["part", "loss", "ceildiv(N,64)", "N"]} ] }
*/
// lift: yes

__global__ void partial(const float* p, const float* t, float* part, int n) {
  __shared__ float s[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  float v = 0;
  if (i < n) {
    float d = fabsf(p[i] - t[i]);
    v = d < 1.f ? 0.5f * d * d : d - 0.5f;
  }
  s[threadIdx.x] = v;
  __syncthreads();
  for (int k = 32; k; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) part[blockIdx.x] = s[0];
}

__global__ void finish(const float* part, float* loss, int parts, int n) {
  float sum = 0;
  for (int i = 0; i < parts; ++i) sum += part[i];
  *loss = sum / n;
}
