/* hone
{
 "launches": [
  {
   "args": [
    "input",
    "output",
    "ROWS",
    "COLS"
   ],
   "block": [
    64
   ],
   "grid": [
    "(ceildiv(ROWS,256))*256"
   ],
   "kernel": "softmax_rows",
   "shared_bytes": 0
  }
 ]
}
*/
// split-reduction(softmax_rows: block=128,lanes=64)

__global__ void softmax_rows(const float* input, float* output, int rows, int cols) {
  // The whole block works on one output.
  const int lane = threadIdx.x;
  const unsigned int group = blockIdx.x;

  int row = group;
  if (row >= rows) return;

  // Subtract the largest value so that exp cannot overflow.
  float largest = input[row * cols];
  for (int c = 1 + lane; c < cols; c += 64) {
    largest = fmaxf(largest, input[row * cols + c]);
  }
  {
    __shared__ float partial_largest[2];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      {
        const float other = __shfl_xor_sync(0xffffffffu, largest, offset);
        largest = fmaxf(largest, other);
      }
    }
    if (threadIdx.x % 32 == 0) {
      partial_largest[threadIdx.x / 32] = largest;
    }
    __syncthreads();
    largest = partial_largest[threadIdx.x % 2];
#pragma unroll
    for (int offset = 1; offset > 0; offset /= 2) {
      {
        const float other = __shfl_xor_sync(0xffffffffu, largest, offset);
        largest = fmaxf(largest, other);
      }
    }
  }

  float sum = 0.0f;
  for (int c = lane; c < cols; c += 64) {
    sum += expf(input[row * cols + c] - largest);
  }
  {
    __shared__ float partial_sum[2];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x % 32 == 0) {
      partial_sum[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    sum = partial_sum[threadIdx.x % 2];
#pragma unroll
    for (int offset = 1; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
  }

  for (int c = lane; c < cols; c += 64) {
    output[row * cols + c] = expf(input[row * cols + c] - largest) / sum;
  }
}
