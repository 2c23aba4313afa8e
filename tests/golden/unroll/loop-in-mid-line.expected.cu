// launch f grid=(1) block=(64) args=(X, N)
__global__ void f(float* x, int n) {
  if (threadIdx.x == 0)
#pragma unroll 2
    for (int k = 1; k < n; k++) x[0] += x[k];
}
