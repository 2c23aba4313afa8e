/* hone
{
 "launches": [
  {
   "args": [
    "x",
    "gamma",
    "beta",
    "y",
    "TOKENS",
    "HIDDEN",
    1e-05
   ],
   "block": [
    128
   ],
   "grid": [
    "(ceildiv(TOKENS,64))*64"
   ],
   "kernel": "layernorm",
   "shared_bytes": 0
  }
 ]
}
*/
// split-reduction(layernorm: block=128,lanes=128,vec=1)

__global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y,
                          int tokens, int hidden, float eps) {
  // The whole block works on one output.
  const int lane = threadIdx.x;
  const unsigned int group = blockIdx.x;

  int t = group;
  if (t < tokens) {
    const float* row = x + t * hidden;
    float* out = y + t * hidden;

    float mean = 0.0f;
    for (int i = lane; i < hidden; i += 128) {
      mean += row[i];
    }
    {
      __shared__ float partial_mean[4];
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) {
        mean += __shfl_xor_sync(0xffffffffu, mean, offset);
      }
      if (threadIdx.x % 32 == 0) {
        partial_mean[threadIdx.x / 32] = mean;
      }
      __syncthreads();
      mean = partial_mean[threadIdx.x % 4];
#pragma unroll
      for (int offset = 2; offset > 0; offset /= 2) {
        mean += __shfl_xor_sync(0xffffffffu, mean, offset);
      }
    }

    mean = mean / hidden;

    float var = 0.0f;
    for (int i = lane; i < hidden; i += 128) {
      float d = row[i] - mean;
      var += d * d;
    }
    {
      __shared__ float partial_var[4];
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) {
        var += __shfl_xor_sync(0xffffffffu, var, offset);
      }
      if (threadIdx.x % 32 == 0) {
        partial_var[threadIdx.x / 32] = var;
      }
      __syncthreads();
      var = partial_var[threadIdx.x % 4];
#pragma unroll
      for (int offset = 2; offset > 0; offset /= 2) {
        var += __shfl_xor_sync(0xffffffffu, var, offset);
      }
    }

    var = var / hidden;

    float scale = 1.0f / sqrtf(var + eps);
    for (int i = lane; i < hidden; i += 128) {
      out[i] = (row[i] - mean) * scale * gamma[i] + beta[i];
    }
  }
}
