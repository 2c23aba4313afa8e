// A thread an element, which looks for its up to four patches: no atomics.
// task: folded_patches
// verdict: ok
/* hone {"launches": [{"kernel": "fold", "grid": ["C+1", "R+1"], "block": [8, 8], "args": ["p", "y", "R", "C"]}]} */
__global__ void fold(const float* p, float* y, int R, int C) {
  int by = blockIdx.y, bx = blockIdx.x;
  float s = 0;
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 2; ++k) {
      int r = by - 1 + i, c = bx - 1 + k;
      if (r < 0 || r >= R || c < 0 || c >= C) continue;
      float v = p[((size_t)r * C + c) * 256 + (threadIdx.y + (i == 0 ? 8 : 0)) * 16 + threadIdx.x + (k == 0 ? 8 : 0)];
      for (int q = 0; q < 12; ++q) v = v * (1 - 0.01f * v);
      s += v;
    }
  y[(size_t)(by * 8 + threadIdx.y) * ((C + 1) * 8) + bx * 8 + threadIdx.x] = s;
}
