/* hone
{
 "launches": [
  {
   "args": [
    "A",
    "x",
    "y",
    "M",
    "N"
   ],
   "block": [
    64
   ],
   "grid": [
    "(ceildiv(M,128))*128"
   ],
   "kernel": "matvec",
   "shared_bytes": 0
  }
 ]
}
*/
// split-reduction(matvec: block=128,lanes=64,vec=1)

// One thread per row.
__global__ void matvec(const float* A, const float* x, float* y, int M, int N) {
  // The whole block works on one output.
  const int lane = threadIdx.x;
  const unsigned int group = blockIdx.x;

  int row = group;
  if (row < M) {
    float dot = 0.0f;
    for (int col = lane; col < N; col += 64) {
      dot += A[row * N + col] * x[col];
    }
    {
      __shared__ float partial_dot[2];
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) {
        dot += __shfl_xor_sync(0xffffffffu, dot, offset);
      }
      if (threadIdx.x % 32 == 0) {
        partial_dot[threadIdx.x / 32] = dot;
      }
      __syncthreads();
      dot = partial_dot[threadIdx.x % 2];
#pragma unroll
      for (int offset = 1; offset > 0; offset /= 2) {
        dot += __shfl_xor_sync(0xffffffffu, dot, offset);
      }
    }

    if (lane == 0) y[row] = dot;
  }
}
