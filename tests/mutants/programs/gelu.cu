/* hone
{
 "launches": [
  {
   "args": [
    "x",
    "y",
    "N"
   ],
   "block": [
    128
   ],
   "grid": [
    "ceildiv(ceildiv(N,128),4)"
   ],
   "kernel": "gelu_forward",
   "shared_bytes": 0
  }
 ]
}
*/
// coarsen-threads(gelu_forward: run=2,x=4)

// The tanh form of GELU, as in GPT-2.
__global__ void gelu_forward(const float* x, float* y, int n) {
  float v[4];
  float cube[4];
#pragma unroll
  for (int jx = 0; jx < 4; ++jx) {
    int idx = ((blockIdx.x * 2 + jx / 2) * (blockDim.x * 2) + threadIdx.x * 2 + jx % 2);
    const int idx_in = idx < n - 1 ? idx : n - 1;
    v[jx] = x[idx_in];
    cube[jx] = 0.044715f * v[jx] * v[jx] * v[jx];
  }
#pragma unroll
  for (int jx = 0; jx < 4; ++jx) {
    int idx = ((blockIdx.x * 2 + jx / 2) * (blockDim.x * 2) + threadIdx.x * 2 + jx % 2);
    if (idx < n) y[idx] = 0.5f * v[jx] * (1.0f + tanhf(0.7978845608f * (v[jx] + cube[jx])));
  }
}
