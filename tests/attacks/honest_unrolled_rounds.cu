// Cost, an honest one: all rounds unrolled, 300 KiB of code, and still faster than factors computed in a loop.
// task: recurrence
// verdict: ok
// H200 [us]: 111.3
template <int kFrom, int kTo>
__device__ __forceinline__ void rounds(float (&v)[8]) {
  if constexpr (kTo - kFrom > 16) {
    rounds<kFrom, (kFrom + kTo) / 2>(v);
    rounds<(kFrom + kTo) / 2, kTo>(v);
  } else {
#pragma unroll
    for (int r = kFrom; r < kTo; ++r) {
      float f = 0.5f + (r * 37 % 97) * 0.005f, g = (r % 31) * 0.03f;
#pragma unroll
      for (int j = 0; j < 8; ++j) v[j] = v[j] * f + g;
    }
  }
}
__global__ void recurrence(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v[8];
  for (int j = 0; j < 8; ++j) v[j] = x[i] + j;
  rounds<0, 2400>(v);
  float sum = 0;
  for (int j = 0; j < 8; ++j) sum += v[j];
  y[i] = sum * x[i];
}
