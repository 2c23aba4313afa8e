// Vector loads where they divide the row.
// task: products_of_rows
// verdict: ok
__global__ void dot(const float* a, const float* b, float* y, int cols) {
  __shared__ float part[8];
  const float *u = a + (size_t)blockIdx.x * cols, *v = b + (size_t)blockIdx.x * cols;
  float s = 0;
  if (cols % 4 == 0) {
    for (int c = threadIdx.x; c < cols / 4; c += 256) {
      float4 p = ((const float4*)u)[c], q = ((const float4*)v)[c];
      s += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
    }
  } else {
    for (int c = threadIdx.x; c < cols; c += 256) s += u[c] * v[c];
  }
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < 8; ++k) s += part[k];
    y[blockIdx.x] = s;
  }
}
