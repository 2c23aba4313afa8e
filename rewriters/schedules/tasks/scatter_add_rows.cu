/* hone
{ "name": "scatter_add_rows",
  "sizes": {"ROWS": 262144, "COLS": 256, "INTO": 16384},
  "check_sizes": [{"ROWS": 128, "COLS": 64, "INTO": 32}, {"ROWS": 90, "COLS": 36, "INTO": 50},
                  {"ROWS": 71, "COLS": 13, "INTO": 19}],
  "buffers": [
    {"name": "x", "type": "f32", "shape": ["ROWS", "COLS"], "fill": {"uniform": [0, 1]}},
    {"name": "index", "type": "i32", "shape": ["ROWS"], "fill": {"integers": [0, 1000000]}},
    {"name": "out", "type": "f32", "shape": ["INTO", "COLS"], "role": "inout", "fill": {"uniform": [0, 1]}} ],
  "launches": [
    {"kernel": "scatter_add", "grid": ["ROWS", "ceildiv(COLS,64)"], "block": [64],
     "args": ["x", "index", "out", "ROWS", "COLS", "INTO"]} ],
  "tolerance": {"rtol": 1e-4, "atol": 1e-5},
  "math": "reassociate",
  "flops": "ROWS*COLS",
  "torch": "out.index_add(0, index % out.size(0), x)" }
*/

__global__ void scatter_add(const float* x, const int* index, float* out, int rows, int cols,
                            int into) {
  int r = blockIdx.x;
  int c = blockIdx.y * blockDim.x + threadIdx.x;
  if (r >= rows || c >= cols) return;
  atomicAdd(&out[(size_t)(index[r] % into) * cols + c], x[(size_t)r * cols + c]);
}
