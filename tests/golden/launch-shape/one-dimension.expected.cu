// launch add grid=(ceildiv(N,512)) block=(512) args=(A, B, C, N)
__global__ void add(float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
