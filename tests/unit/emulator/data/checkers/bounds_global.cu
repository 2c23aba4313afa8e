/* check {"cases": [
  {"name": "WriteAtTheEnd", "kernel": "write_to_n", "grid": [4], "args": [{"out": "y", "bytes": 400}, {"i32": 100}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds write of 4 B at y+400 (buffer of 400 B)",
   "block (3,0,0)", "thread (4,0,0)"], "line": "if (i <= n)", "instruction": "st.global",
   "thread": [4, 0, 0], "in_block": [3, 0, 0]},
  {"name": "WriteAtTheEndClean", "kernel": "write_below_n", "grid": [4],
   "args": [{"out": "y", "bytes": 400}, {"i32": 100}], "verdict": "ok"},
  {"name": "ReadBefore", "kernel": "stencil", "grid": [2],
   "args": [{"in": "x", "type": "f32", "count": 64}, {"out": "y", "bytes": 256}, {"i32": 64}, {"i32": 0}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds read of 4 B at x-4", "thread (0,0,0)"],
   "line": "x[i - 1]",
   "thread": [0, 0, 0]},
  {"name": "ReadBeforeClean", "kernel": "stencil", "grid": [2],
   "args": [{"in": "x", "type": "f32", "count": 64}, {"out": "y", "bytes": 256}, {"i32": 64}, {"i32": 1}],
   "verdict": "ok"},
  {"name": "Atomic", "kernel": "histogram", "args": [{"in": "x", "type": "i32", "count": 32},
   {"in": "bins", "type": "i32", "count": 31, "value": 0}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds atomic of 4 B at bins+124"],
   "line": "extern \"C\" __global__ void histogram(const int* x, int* bins) { atomicAdd(bins + x[threadIdx.x], 1); }", "thread": [31, 0, 0]},
  {"name": "AtomicClean", "kernel": "histogram", "args": [{"in": "x", "type": "i32", "count": 32},
   {"in": "bins", "type": "i32", "count": 32, "value": 0}], "verdict": "ok"},
  {"name": "Null", "kernel": "scale", "args": [{"u64": 0}, {"out": "y", "bytes": 128}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds read of 4 B at", "null pointer"],
   "line": "extern \"C\" __global__ void scale(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }", "thread": [0, 0, 0]},
  {"name": "NullClean", "kernel": "scale", "args": [{"in": "x", "type": "f32", "count": 32}, {"out": "y", "bytes": 128}],
   "verdict": "ok"},
  {"name": "Vector", "kernel": "copy4", "block": [8],
   "args": [{"in": "x", "type": "f32", "count": 30}, {"out": "y", "bytes": 128}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["read of 16 B at x+112 (buffer of 120 B)", "thread (7,0,0)"],
   "line": "extern \"C\" __global__ void copy4(const float4* x, float4* y) { y[threadIdx.x] = x[threadIdx.x]; }", "thread": [7, 0, 0]},
  {"name": "VectorClean", "kernel": "copy4", "block": [8],
   "args": [{"in": "x", "type": "f32", "count": 32}, {"out": "y", "bytes": 128}], "verdict": "ok"},
  {"name": "ModuleVariable", "kernel": "from_table", "args": [{"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds read of 4 B at table+128", "thread (31,0,0)"],
   "line": "extern \"C\" __global__ void from_table(int* y, int shift) { y[threadIdx.x] = table[threadIdx.x + shift]; }", "thread": [31, 0, 0]},
  {"name": "ModuleVariableClean", "kernel": "from_table", "args": [{"out": "y", "bytes": 128}, {"i32": 0}],
   "verdict": "ok"},
  {"name": "RowsAndColumnsSwapped2D", "kernel": "tile_2d", "grid": [2, 1], "block": [8, 4],
   "args": [{"in": "x", "type": "i32", "count": 64}, {"out": "y", "bytes": 256}, {"i32": 16}, {"i32": 4}, {"i32": 1}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds read of 4 B at x+256 (buffer of 256 B)"],
   "line": "y[row * columns + column] =", "in_block": [0, 0, 0], "thread": [4, 0, 0]},
  {"name": "RowsAndColumns2DClean", "kernel": "tile_2d", "grid": [2, 1], "block": [8, 4],
   "args": [{"in": "x", "type": "i32", "count": 64}, {"out": "y", "bytes": 256}, {"i32": 16}, {"i32": 4}, {"i32": 0}],
   "verdict": "ok"},
  {"name": "InAFunctionInALoop", "kernel": "row_sum", "args": [{"in": "x", "type": "i32", "count": 64}, {"out": "y", "bytes": 128}, {"i32": 3}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds read of 4 B at x+256 (buffer of 256 B)"],
   "line": "sum += p[i]", "after": "int sum_of(", "thread": [31, 0, 0]},
  {"name": "InAFunctionInALoopClean", "kernel": "row_sum", "args": [{"in": "x", "type": "i32", "count": 64}, {"out": "y", "bytes": 128}, {"i32": 2}],
   "verdict": "ok"},
  {"name": "Constant", "kernel": "from_constant", "args": [{"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds read of 4 B at", "thread (31,0,0)"],
   "line": "extern \"C\" __global__ void from_constant(int* y, int shift) { y[threadIdx.x] = last[threadIdx.x + shift]; }", "thread": [31, 0, 0]},
  {"name": "ConstantClean", "kernel": "from_constant", "args": [{"out": "y", "bytes": 128}, {"i32": 0}],
   "verdict": "ok"}
]} */
extern "C" __global__ void write_to_n(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = i;
}
extern "C" __global__ void write_below_n(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = i;
}
extern "C" __global__ void stencil(const float* x, float* y, int n, int first) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= first && i < n) y[i] = x[i - 1] + x[i];
}
extern "C" __global__ void histogram(const int* x, int* bins) { atomicAdd(bins + x[threadIdx.x], 1); }
extern "C" __global__ void scale(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
extern "C" __global__ void copy4(const float4* x, float4* y) { y[threadIdx.x] = x[threadIdx.x]; }
__device__ int table[32] = {1, 2, 3};
extern "C" __global__ void from_table(int* y, int shift) { y[threadIdx.x] = table[threadIdx.x + shift]; }
__constant__ int last[32] = {1, 2, 3};
extern "C" __global__ void from_constant(int* y, int shift) { y[threadIdx.x] = last[threadIdx.x + shift]; }
extern "C" __global__ void tile_2d(const int* x, int* y, int columns, int rows, int swap) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= columns || row >= rows) return;
  y[row * columns + column] = swap ? x[column * columns + row] : x[row * columns + column];
}
__device__ __noinline__ int sum_of(const int* p, int n) {
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) sum += p[i];
  return sum;
}
extern "C" __global__ void row_sum(const int* x, int* y, int n) {
  y[threadIdx.x] = sum_of(x + 2 * threadIdx.x, n);
}
