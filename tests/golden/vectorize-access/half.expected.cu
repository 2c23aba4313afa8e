// launch axpy grid=(ceildiv(ceildiv(N,128),8)) block=(128) args=(x, y, N)
#include <cuda_fp16.h>

__global__ void axpy(const __half* x, __half* y, int n) {
  int i_first = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  if (i_first + 7 < n) {
    __align__(16) __half y_vec0[8];
    *reinterpret_cast<uint4*>(y_vec0) = *reinterpret_cast<const uint4*>(&y[i_first]);
    __align__(16) __half x_vec1[8];
    *reinterpret_cast<uint4*>(x_vec1) = *reinterpret_cast<const uint4*>(&x[i_first]);
    y_vec0[0] = __hadd(y_vec0[0], x_vec1[0]);
    y_vec0[1] = __hadd(y_vec0[1], x_vec1[1]);
    y_vec0[2] = __hadd(y_vec0[2], x_vec1[2]);
    y_vec0[3] = __hadd(y_vec0[3], x_vec1[3]);
    y_vec0[4] = __hadd(y_vec0[4], x_vec1[4]);
    y_vec0[5] = __hadd(y_vec0[5], x_vec1[5]);
    y_vec0[6] = __hadd(y_vec0[6], x_vec1[6]);
    y_vec0[7] = __hadd(y_vec0[7], x_vec1[7]);
    *reinterpret_cast<uint4*>(&y[i_first]) = *reinterpret_cast<const uint4*>(y_vec0);
  }
}
