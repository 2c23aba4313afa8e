/* hone
{
 "launches": [
  {
   "args": [
    "matrix",
    "sums",
    "R",
    "C"
   ],
   "block": [
    64
   ],
   "grid": [
    "(ceildiv(R,256))*256"
   ],
   "kernel": "row_sum",
   "shared_bytes": 0
  }
 ]
}
*/
// split-reduction(row_sum: block=128,lanes=64)

__global__ void row_sum(const float* matrix, float* sums, int num_rows, int num_cols) {
  // The whole block works on one output.
  const int lane = threadIdx.x;
  const unsigned int group = blockIdx.x;

  int r = group;
  if (r >= num_rows) return;

  float s = 0.0f;
  for (int c = lane; c < num_cols; c += 64) s += matrix[r * num_cols + c];
  {
    __shared__ float partial_s[2];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      s += __shfl_xor_sync(0xffffffffu, s, offset);
    }
    if (threadIdx.x % 32 == 0) {
      partial_s[threadIdx.x / 32] = s;
    }
    __syncthreads();
    s = partial_s[threadIdx.x % 2];
#pragma unroll
    for (int offset = 1; offset > 0; offset /= 2) {
      s += __shfl_xor_sync(0xffffffffu, s, offset);
    }
  }

  if (lane == 0) sums[r] = s;
}
