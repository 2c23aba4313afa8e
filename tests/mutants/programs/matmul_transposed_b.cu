/* hone
{
 "launches": [
  {
   "args": [
    "input",
    "weight",
    "output",
    "M",
    "N",
    "K"
   ],
   "block": [
    32,
    8
   ],
   "grid": [
    "ceildiv(N,32)",
    "ceildiv(M,8)"
   ],
   "kernel": "linear",
   "shared_bytes": 0
  }
 ]
}
*/
// shared-tile(linear/serial0: k=32)

// output = input * weight^T: both operands are walked along their rows.
__global__ void linear(const float* input, const float* weight, float* output, int m, int n,
                       int k) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  const int i = blockIdx.y * blockDim.y + threadIdx.y;
  const int i_in = i < m - 1 ? i : m - 1;
  const int j_in = j < n - 1 ? j : n - 1;

  float acc = 0.f;
  {
    __shared__ __align__(16) float input_tile[32][9];
    __shared__ __align__(16) float weight_tile[32][33];
    const int thread = threadIdx.x + threadIdx.y * 32;
    const int p_full = k / 32 * 32;
    for (int p_base = 0; p_base < p_full; p_base += 32) {
      {
        const int item = thread;
        const int at0 = item % 32;
        const int at1 = item / 32;
        input_tile[at0][at1] =
            input[((int)blockIdx.y * 8 + at1 < m - 1 ? (int)blockIdx.y * 8 + at1 : m - 1) * k +
                  at0 + p_base];
      }
#pragma unroll
      for (int round = 0; round < 4; ++round) {
        const int item = thread + round * 256;
        const int at0 = item % 32;
        const int at1 = item / 32;
        weight_tile[at0][at1] =
            weight[((int)blockIdx.x * 32 + at1 < n - 1 ? (int)blockIdx.x * 32 + at1 : n - 1) * k +
                   at0 + p_base];
      }
      __syncthreads();
#pragma unroll
      for (int p_step = 0; p_step < 32; ++p_step) {
        acc += input_tile[p_step][threadIdx.y] * weight_tile[p_step][threadIdx.x];
      }
      __syncthreads();
    }
#pragma unroll 1
    for (int p = p_full; p < k; ++p) {
      acc += input[i_in * k + p] * weight[j_in * k + p];
    }
  }
  if (i < m && j < n) output[i * n + j] = acc;
}
