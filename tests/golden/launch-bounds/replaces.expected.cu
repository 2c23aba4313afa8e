// launch add grid=(ceildiv(N,256)) block=(256) args=(A, B, C, N)
extern "C" __global__ void __launch_bounds__(256, 2)
    add(float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
