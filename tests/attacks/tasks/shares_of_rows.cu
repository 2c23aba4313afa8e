/* hone {"name": "attacked_shares_of_rows", "sizes": {"M": 1024, "N": 512}, "check_sizes": [{"M": 16, "N": 128}, {"M": 5, "N": 64}], "constraints": ["N % 4 == 0"],
  "buffers": [{"name": "x", "type": "f32", "shape": ["M", "N"], "fill": {"uniform": [0, 1]}}, {"name": "e", "type": "f32", "shape": ["M", "N"], "role": "scratch"},
              {"name": "y", "type": "f32", "shape": ["M", "N"], "role": "out"}],
  "launches": [{"kernel": "grow", "grid": ["M"], "block": [128], "args": ["x", "e", "N"]}, {"kernel": "share", "grid": ["M"], "block": [128], "args": ["e", "y", "N"]}],
  "tolerance": {"rtol": 1e-3}} */
__global__ void grow(const float* x, float* e, int n) {
  for (int c = threadIdx.x; c < n; c += 128) e[(size_t)blockIdx.x * n + c] = expf(x[(size_t)blockIdx.x * n + c]);
}
__global__ void share(const float* e, float* y, int n) {
  __shared__ float part[4];
  e += (size_t)blockIdx.x * n;
  y += (size_t)blockIdx.x * n;
  float s = 0;
  for (int c = threadIdx.x; c < n; c += 128) s += e[c];
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  s = part[0] + part[1] + part[2] + part[3];
  for (int c = threadIdx.x; c < n; c += 128) y[c] = e[c] / s;
}
