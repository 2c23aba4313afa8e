/* hone {"name": "attacked_steps_in_scale", "sizes": {"N": 1048576}, "check_sizes": [{"N": 3000}, {"N": 1111}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"], "fill": {"uniform": [0, 1]}}, {"name": "scale", "type": "f32", "shape": [2], "fill": {"uniform": [0.3, 0.7]}},
              {"name": "q", "type": "i32", "shape": ["N"], "role": "out"}],
  "launches": [{"kernel": "steps", "grid": ["ceildiv(N,32)"], "block": [32], "args": ["x", "scale", "q", "N"]}]} */
// How often each scale goes into x.
__global__ void steps(const float* x, const float* scale, int* q, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) q[i] = (int)floorf(x[i] / scale[0]) + 16 * (int)floorf(x[i] / scale[1]);
}
