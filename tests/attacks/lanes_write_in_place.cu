// Turns rows in place: all lanes of a warp have read, it hopes, before one of them writes.
// task: turned_in_place
// verdict: race wrong_result
/* hone {"launches": [{"kernel": "turn", "grid": ["ceildiv(ROWS,4)"], "block": [128], "args": ["y", "ROWS"]}]} */
__global__ void turn(float* y, int rows) {
  int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float mine = y[row * 32 + 31 - lane];
  y[row * 32 + lane] = mine;
}
