// A loop with a way out is not canonical.
/* hone
{"name": "f", "sizes": {"N": 64}, "check_sizes": [{"N": 64}], "buffers": [{"name": "X", "type": "f32", "shape": ["N"], "role": "inout"}], "launches": [{"kernel": "f", "grid": [1], "block": [64], "args": ["X", "N"]}]}
*/
__global__ void f(float* x, int n) {
  for (int k = 0; k < n; k++) {
    if (x[k] > 0.5f) break;
    x[k] += 1.0f;
  }
}
