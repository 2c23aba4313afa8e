// Looks back at several plain sums behind their volatile flags: the first brings the line of the next
// into the L1 before that is written, and no fence throws it out.
// task: prefix_of_blocks
// verdict: race wrong_result
/* hone {"buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [0, 1]}},
              {"name": "said", "type": "f32", "shape": ["2*ceildiv(N,32)"], "role": "scratch"},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "clear", "grid": ["ceildiv(N,1024)"], "block": [64], "args": ["said", "2*ceildiv(N,32)"]},
               {"kernel": "prefix", "grid": ["ceildiv(N,32)"], "block": [32], "args": ["x", "said", "y", "N"]}]} */
__global__ void clear(float* said, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) said[i] = 0;
}
__global__ void prefix(const float* x, float* said, float* y, int n) {
  volatile float* flag = said + gridDim.x;
  int i = blockIdx.x * 32 + threadIdx.x;
  float v = i < n ? x[i] : 0, s = 0;
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  if (threadIdx.x == 0) {
    said[blockIdx.x] = v;
    __threadfence();
    flag[blockIdx.x] = 1;
    for (int b = 0; b < blockIdx.x; ++b) {
      while (flag[b] == 0) {}
      s += said[b];
    }
  }
  s = __shfl_sync(~0u, s, 0) + v;
  if (i < n) y[i] = s;
}
