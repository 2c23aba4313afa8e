// The lower lanes leave numbers for the upper ones, which come to their side of the branch later, it hopes.
// task: turned_in_place
// verdict: race wrong_result fault
/* hone {"launches": [{"kernel": "turn", "grid": ["ROWS"], "block": [32], "args": ["y", "kept"]}]} */
__global__ void turn(float* y, float* kept) {
  int lane = threadIdx.x;
  y += blockIdx.x * 32;
  volatile float* left = kept + blockIdx.x * 32;
  float other = y[31 - lane];
  __syncwarp();
  if (lane < 16) {
    left[lane] = y[lane];
    y[lane] = other;
  } else {
    y[lane] = left[31 - lane];
  }
}
