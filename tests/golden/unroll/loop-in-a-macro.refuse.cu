// The loop's text is in a macro.
/* hone
{"name": "f", "sizes": {"N": 64}, "check_sizes": [{"N": 64}], "buffers": [{"name": "X", "type": "f32", "shape": ["N"], "role": "inout"}], "launches": [{"kernel": "f", "grid": [1], "block": [64], "args": ["X", "N"]}]}
*/
#define REPEAT(n, body) for (int k = 0; k < n; k++) { body; }
__global__ void f(float* x, int n) { REPEAT(n, x[k] += 1.0f) }
