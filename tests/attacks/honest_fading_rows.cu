// Two columns a thread; what is small is as right as what is large.
// task: fading_rows
// verdict: ok
/* hone {"launches": [{"kernel": "fade", "grid": ["ceildiv(COLS,512)", "ROWS"], "block": [256], "args": ["x", "y", "COLS"]}]} */
__global__ void fade(const float* x, float* y, int cols) {
  float scale = exp2f(-(float)blockIdx.y / 48);
  for (int c = blockIdx.x * 512 + threadIdx.x; c < min(cols, (int)blockIdx.x * 512 + 512); c += 256) {
    float v = x[(size_t)blockIdx.y * cols + c], s = 0;
    for (int k = 1; k < 24; ++k) s = s * 0.5f + sinf(v * k);
    y[(size_t)blockIdx.y * cols + c] = scale * s;
  }
}
