// The block size follows the sizes, and the task wants every size.
/* hone
{"name": "rows", "sizes": {"R": 128, "C": 512}, "check_sizes": [{"R": 3, "C": 64}], "buffers": [{"name": "X", "type": "f32", "shape": ["R", "C"], "role": "inout"}], "launches": [{"kernel": "rows", "grid": ["R"], "block": ["C"], "args": ["X"]}], "specialize": false}
*/
__global__ void rows(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2.0f; }
