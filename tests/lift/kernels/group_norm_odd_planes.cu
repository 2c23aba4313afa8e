/* hone
{ "name": "group_norm_odd_planes",
  "sizes": {"N": 16, "C": 128, "S": 49, "G": 8},
  "check_sizes": [{"N": 2, "C": 6, "S": 33, "G": 3},
                  {"N": 1, "C": 16, "S": 49, "G": 2}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["N", "C", "S"]},
    {"name": "scale", "type": "f32", "shape": ["C"]},
    {"name": "y", "type": "f32", "shape": ["N", "C", "S"], "role": "out"} ],
  "launches": [
    {"kernel": "norm", "grid": ["N*G"], "block": [256],
     "args": ["x", "scale", "y", "C", "S", "G"]} ] }
*/
// lift: yes

// A thread's channel is a quotient by a size that is no power of two, also where a group has fewer
// elements than the block has threads.
__global__ void norm(const float* x, const float* scale, float* y, int channels, int plane,
                     int groups) {
  __shared__ float part[256];
  int group = blockIdx.x % groups, each = channels / groups, count = each * plane;
  const float* in = x + (size_t)blockIdx.x * count;
  float* out = y + (size_t)blockIdx.x * count;
  float sum = 0.f;
  for (int i = threadIdx.x; i < count; i += blockDim.x) sum += in[i] * in[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  float inverse = rsqrtf(part[0] / count + 1e-5f);
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    out[i] = in[i] * inverse * scale[group * each + i / plane];
}
