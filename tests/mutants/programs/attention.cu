/* hone
{
 "launches": [
  {
   "args": [
    "Q",
    "K",
    "S",
    "SEQ",
    "DIM"
   ],
   "block": [
    16,
    16
   ],
   "grid": [
    "ceildiv(SEQ,16)",
    "ceildiv(SEQ,16)",
    "HEADS"
   ],
   "kernel": "attention_scores",
   "shared_bytes": 0
  },
  {
   "args": [
    "S",
    "P",
    "HEADS*SEQ",
    "SEQ"
   ],
   "block": [
    128
   ],
   "grid": [
    "(ceildiv(HEADS*SEQ,128))*32"
   ],
   "kernel": "attention_softmax",
   "shared_bytes": 0
  },
  {
   "args": [
    "P",
    "V",
    "O",
    "SEQ",
    "DIM"
   ],
   "block": [
    16,
    16
   ],
   "grid": [
    "ceildiv(DIM,16)",
    "ceildiv(SEQ,16)",
    "HEADS"
   ],
   "kernel": "attention_values",
   "shared_bytes": 0
  }
 ]
}
*/
// shared-tile(attention_scores/serial0: k=8)
// split-reduction(attention_softmax: block=128,lanes=32)
// shared-tile(attention_values/serial0: k=8)

// S = Q K^T / sqrt(dim), one thread per score.
__global__ void attention_scores(const float* Q, const float* K, float* S, int seq, int dim) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int head = blockIdx.z;
  {
    const int row_in = row < seq - 1 ? row : seq - 1;
    const int col_in = col < seq - 1 ? col : seq - 1;

    float score = 0.0f;
    {
      __shared__ __align__(16) float Q_tile[8][17];
      __shared__ __align__(16) float K_tile[8][17];
      const int thread_2 = threadIdx.x + threadIdx.y * 16;
      const int d_full = dim / 8 * 8;
      for (int d_base = 0; d_base < d_full; d_base += 8) {
        {
          const int item = thread_2;
          if (item < 128) {
            const int at0 = item % 8;
            const int at1 = item / 8;
            Q_tile[at0][at1] =
                Q[(blockIdx.z * seq +
                   ((int)blockIdx.y * 16 + at1 < seq - 1 ? (int)blockIdx.y * 16 + at1 : seq - 1)) *
                      dim +
                  at0 + d_base];
          }
        }
        {
          const int item = thread_2;
          if (item < 128) {
            const int at0 = item % 8;
            const int at1 = item / 8;
            K_tile[at0][at1] =
                K[(blockIdx.z * seq +
                   ((int)blockIdx.x * 16 + at1 < seq - 1 ? (int)blockIdx.x * 16 + at1 : seq - 1)) *
                      dim +
                  at0 + d_base];
          }
        }
        __syncthreads();
#pragma unroll
        for (int d_step = 0; d_step < 8; ++d_step) {
          score += Q_tile[d_step][threadIdx.y] * K_tile[d_step][threadIdx.x];
        }
        __syncthreads();
      }
#pragma unroll 1
      for (int d = d_full; d < dim; ++d) {
        score += Q[(head * seq + row_in) * dim + d] * K[(head * seq + col_in) * dim + d];
      }
    }
    if (row < seq && col < seq) S[(head * seq + row) * seq + col] = score / sqrtf((float)dim);
  }
}

// P = softmax of every row of S, one thread per row.
__global__ void attention_softmax(const float* S, float* P, int rows, int cols) {
  // 32 lanes work on one output.
  const int lane = threadIdx.x % 32;
  const unsigned int group = blockIdx.x * 4 + threadIdx.x / 32;

  int row = group;
  if (row >= rows) return;
  float m = -1e30f;
  for (int j = lane; j < cols; j += 32) {
    if (S[row * cols + j] > m) m = S[row * cols + j];
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    {
      const float other = __shfl_xor_sync(0xffffffffu, m, offset);
      if (other > m) m = other;
    }
  }
  m = __shfl_sync(0xffffffffu, m, 0, 32);

  float sum = 0.0f;
  __syncwarp(0xffffffffu);
  for (int j = lane; j < cols; j += 32) {
    float e = expf(S[row * cols + j] - m);
    P[row * cols + j] = e;
    sum += e;
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  }
  __syncwarp(0xffffffffu);

  for (int j = lane; j < cols; j += 32) {
    P[row * cols + j] = P[row * cols + j] / sum;
  }
  __syncwarp(0xffffffffu);
}

// O = P V, one thread per output element.
__global__ void attention_values(const float* P, const float* V, float* O, int seq, int dim) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int head = blockIdx.z;
  const int row_in_2 = row < seq - 1 ? row : seq - 1;
  const int d_in = d < dim - 1 ? d : dim - 1;

  float out = 0.0f;
  {
    __shared__ __align__(16) float P_tile[8][17];
    __shared__ __align__(16) float V_tile[8][16];
    const int thread_3 = threadIdx.x + threadIdx.y * 16;
    const int j_full = seq / 8 * 8;
    for (int j_base = 0; j_base < j_full; j_base += 8) {
      {
        const int item_2 = thread_3;
        if (item_2 < 128) {
          const int at0 = item_2 % 8;
          const int at1 = item_2 / 8;
          P_tile[at0][at1] =
              P[(blockIdx.z * seq +
                 ((int)blockIdx.y * 16 + at1 < seq - 1 ? (int)blockIdx.y * 16 + at1 : seq - 1)) *
                    seq +
                at0 + j_base];
        }
      }
      {
        const int item_2 = thread_3;
        if (item_2 < 128) {
          const int at1 = item_2 % 16;
          const int at0 = item_2 / 16;
          V_tile[at0][at1] =
              V[(blockIdx.z * seq + at0 + j_base) * dim +
                ((int)blockIdx.x * 16 + at1 < dim - 1 ? (int)blockIdx.x * 16 + at1 : dim - 1)];
        }
      }
      __syncthreads();
#pragma unroll
      for (int j_step = 0; j_step < 8; ++j_step) {
        out += P_tile[j_step][threadIdx.y] * V_tile[j_step][threadIdx.x];
      }
      __syncthreads();
    }
#pragma unroll 1
    for (int j = j_full; j < seq; ++j) {
      out += P[(head * seq + row_in_2) * seq + j] * V[(head * seq + j) * dim + d_in];
    }
  }
  if (row < seq && d < dim) O[(head * seq + row) * dim + d] = out;
}
