/* hone
{ "name": "tiled_matmul_exact",
  "sizes": {"M": 512, "N": 512, "K": 512},
  "check_sizes": [{"M": 32, "N": 48, "K": 16},
                  {"M": 16, "N": 16, "K": 64}],
  "buffers": [
    {"name": "A", "type": "f32", "shape": ["M", "K"]},
    {"name": "B", "type": "f32", "shape": ["K", "N"]},
    {"name": "C", "type": "f32", "shape": ["M", "N"], "role": "out"} ],
  "launches": [
    {"kernel": "tiled<8>", "grid": ["N/8", "M/8"], "block": [8, 8],
     "args": ["C", "A", "B", "N", "K"]} ] }
*/
// lift: yes

// After the samples: steps through memory by tiles, no guards.
template <int BLOCK>
__global__ void tiled(float* C, float* A, float* B, int wB, int wA) {
  int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
  int aBegin = wA * BLOCK * by;
  int aEnd = aBegin + wA - 1;
  int aStep = BLOCK;
  int bBegin = BLOCK * bx;
  int bStep = BLOCK * wB;
  float Csub = 0;
  for (int a = aBegin, b = bBegin; a <= aEnd; a += aStep, b += bStep) {
    __shared__ float As[BLOCK][BLOCK];
    __shared__ float Bs[BLOCK][BLOCK];
    As[ty][tx] = A[a + wA * ty + tx];
    Bs[ty][tx] = B[b + wB * ty + tx];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BLOCK; ++k) Csub += As[ty][k] * Bs[k][tx];
    __syncthreads();
  }
  int c = wB * BLOCK * by + BLOCK * bx;
  C[c + wB * ty + tx] = Csub;
}
