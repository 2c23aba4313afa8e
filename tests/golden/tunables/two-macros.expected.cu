// launch scale grid=(ceildiv(N,BLOCK*ITEMS)) block=(BLOCK) args=(X, Y, N)
// define BLOCK=256
// define ITEMS=4
__global__ void scale(const float* x, float* y, int n) {
  for (int j = 0; j < ITEMS; ++j) {
    int i = (blockIdx.x * ITEMS + j) * BLOCK + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
  }
}
