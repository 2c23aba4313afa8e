// A thread index alone says which column.
/* hone
{"name": "rows", "sizes": {"R": 128, "C": 512}, "check_sizes": [{"R": 3, "C": 70}], "buffers": [{"name": "X", "type": "f32", "shape": ["R", "C"], "role": "inout"}], "launches": [{"kernel": "rows", "grid": ["R"], "block": [128], "args": ["X", "C"]}]}
*/
__global__ void rows(float* x, int columns) {
  for (int c = threadIdx.x; c < columns; c += blockDim.x) x[blockIdx.x * columns + c] *= 2.0f;
}
