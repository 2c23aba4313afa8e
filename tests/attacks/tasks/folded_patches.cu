/* hone {"name": "attacked_folded_patches", "sizes": {"R": 768, "C": 768}, "check_sizes": [{"R": 3, "C": 5}, {"R": 6, "C": 2}],
  "buffers": [{"name": "p", "type": "f32", "shape": ["R", "C", 256]},
              {"name": "y", "type": "f32", "shape": ["(R+1)*8", "(C+1)*8"], "role": "out"}],
  "launches": [{"kernel": "zero", "grid": ["ceildiv((R+1)*8*(C+1)*8,256)"], "block": [256], "args": ["y", "(R+1)*8*(C+1)*8"]},
               {"kernel": "fold", "grid": ["C", "R"], "block": [16, 16], "args": ["p", "y", "C"]}]} */
// Patches of 16 x 16, each half over its neighbours.
__global__ void zero(float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 0;
}
__global__ void fold(const float* p, float* y, int C) {
  int c = blockIdx.x, r = blockIdx.y;
  float v = p[((size_t)r * C + c) * 256 + threadIdx.y * 16 + threadIdx.x];
  for (int k = 0; k < 12; ++k) v = v * (1 - 0.01f * v);
  atomicAdd(&y[(size_t)(r * 8 + threadIdx.y) * ((C + 1) * 8) + c * 8 + threadIdx.x], v);
}
