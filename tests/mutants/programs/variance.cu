/* hone
{
 "launches": [
  {
   "args": [
    "x",
    "mean",
    "ROWS",
    "COLS"
   ],
   "block": [
    128
   ],
   "grid": [
    "(ceildiv(ROWS,128))*32"
   ],
   "kernel": "row_mean",
   "shared_bytes": 0
  },
  {
   "args": [
    "x",
    "mean",
    "var",
    "ROWS",
    "COLS"
   ],
   "block": [
    128
   ],
   "grid": [
    "ceildiv(ROWS,128)"
   ],
   "kernel": "row_variance",
   "shared_bytes": 0
  }
 ]
}
*/
// split-reduction(row_mean: block=128,lanes=32,vec=1)
// shared-tile(row_variance/serial0: k=16)

__global__ void row_mean(const float* x, float* mean, int rows, int cols) {
  // 32 lanes work on one output.
  const int lane = threadIdx.x % 32;
  const unsigned int group = blockIdx.x * 4 + threadIdx.x / 32;

  int row = group;
  if (row < rows) {
    float sum = 0.0f;
    for (int j = lane; j < cols; j += 32) {
      sum += x[row * cols + j];
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }

    if (lane == 0) mean[row] = sum / cols;
  }
}

__global__ void row_variance(const float* x, const float* mean, float* var, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  {
    const int row_in = row < rows - 1 ? row : rows - 1;

    float sum = 0.0f;
    {
      __shared__ __align__(16) float x_tile[16][129];
      __shared__ __align__(16) float mean_tile[128];
      const int thread = threadIdx.x;
      const int j_full = cols / 16 * 16;
      for (int j_base = 0; j_base < j_full; j_base += 16) {
#pragma unroll
        for (int round = 0; round < 16; ++round) {
          const int item = thread + round * 128;
          const int at0 = item % 16;
          const int at1 = item / 16;
          x_tile[at0][at1] =
              x[((int)blockIdx.x * 128 + at1 < rows - 1 ? (int)blockIdx.x * 128 + at1 : rows - 1) *
                    cols +
                at0 + j_base];
        }
        {
          const int item = thread;
          mean_tile[item] = mean[(
              (int)blockIdx.x * 128 + item < rows - 1 ? (int)blockIdx.x * 128 + item : rows - 1)];
        }
        __syncthreads();
#pragma unroll
        for (int j_step = 0; j_step < 16; ++j_step) {
          float d = x_tile[j_step][threadIdx.x] - mean_tile[threadIdx.x];
          sum += d * d;
        }
        __syncthreads();
      }
#pragma unroll 1
      for (int j = j_full; j < cols; ++j) {
        float d = x[row_in * cols + j] - mean[row_in];
        sum += d * d;
      }
    }
    if (row < rows) var[row] = sum / cols;
  }
}
