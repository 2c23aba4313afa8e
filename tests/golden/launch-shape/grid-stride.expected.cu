// launch saxpy grid=(ceildiv((528)*(256),128)) block=(128) args=(N, 2, X, Y)
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int stride = blockDim.x * gridDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    y[i] = a * x[i] + y[i];
  }
}
