/* check {"cases": [
  {"name": "InPlaceStencil", "kernel": "in_place", "grid": [4], "block": [64],
   "args": [{"in": "x", "count": 257}], "verdict": "race", "kind": "race",
   "words": ["race between blocks: write of x+256", "not ordered after a read by block (0,0,0), thread (63,0,0)"],
   "line": "x[i] = sum;", "in_block": [1, 0, 0], "thread": [0, 0, 0], "other_line": "x[i] + x[i + 1]"},
  {"name": "InPlaceStencilClean", "kernel": "in_two", "grid": [4], "block": [64],
   "args": [{"in": "x", "count": 257}, {"out": "y", "bytes": 1024}], "verdict": "ok"},
  {"name": "Histogram2D", "kernel": "count_plainly", "grid": [2, 2], "block": [8, 4],
   "args": [{"in": "x", "count": 128}, {"in": "bins", "count": 4, "value": 0}], "verdict": "race", "kind": "race",
   "words": ["race between blocks: read of bins+0", "not ordered after a write by block (0,0,0), thread (0,0,0)"],
   "line": "bins[x[i] & 3] += 1", "in_block": [1, 0, 0], "thread": [0, 0, 0], "other_line": "bins[x[i] & 3] += 1"},
  {"name": "Histogram2DClean", "kernel": "count_atomically", "grid": [2, 2], "block": [8, 4],
   "args": [{"in": "x", "count": 128}, {"in": "bins", "count": 4, "value": 0}], "verdict": "ok"},
  {"name": "LastBlockWithoutFence", "kernel": "last_block", "grid": [4], "block": [64],
   "args": [{"in": "x", "count": 256}, {"out": "parts", "bytes": 16}, {"in": "done", "count": 1, "value": 0}, {"out": "y", "bytes": 4}, {"i32": 0}],
   "verdict": "race", "kind": "race",
   "words": ["race between blocks: read of parts+0", "not ordered after a write by block (0,0,0), thread (0,0,0)"],
   "line": "sum += parts[k]", "in_block": [3, 0, 0], "thread": [0, 0, 0], "other_line": "parts[blockIdx.x] ="},
  {"name": "LastBlockClean", "kernel": "last_block", "grid": [4], "block": [64],
   "args": [{"in": "x", "count": 256}, {"out": "parts", "bytes": 16}, {"in": "done", "count": 1, "value": 0}, {"out": "y", "bytes": 4}, {"i32": 1}],
   "verdict": "ok"},
  {"name": "ReadByManyThenWritten", "kernel": "broadcast", "grid": [4], "block": [32],
   "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 512}, {"i32": 1}], "verdict": "race", "kind": "race",
   "words": ["race between blocks: write of x+4", "not ordered after a read by block (2,0,0), thread (1,0,0)"],
   "line": "x[threadIdx.x] = 0", "in_block": [3, 0, 0], "thread": [1, 0, 0], "other_line": "= x[threadIdx.x]"},
  {"name": "ReadByManyClean", "kernel": "broadcast", "grid": [4], "block": [32],
   "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 512}, {"i32": 0}], "verdict": "ok"},
  {"name": "InAFunctionInALoop", "kernel": "passes", "grid": [3], "block": [32],
   "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 3}], "verdict": "race", "kind": "race",
   "words": ["race between blocks: write of y+0", "not ordered after a write by block (0,0,0), thread (0,0,0)"],
   "line": "y[i] = v;", "after": "void put(", "in_block": [1, 0, 0], "thread": [0, 0, 0]},
  {"name": "InAFunctionInALoopClean", "kernel": "passes", "grid": [1], "block": [32],
   "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 3}], "verdict": "ok"},
  {"name": "FlagClean", "kernel": "hands_over", "grid": [2], "block": [32],
   "args": [{"in": "x", "count": 32}, {"out": "parts", "bytes": 128}, {"in": "flag", "count": 1, "value": 0}, {"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "ok"},
  {"name": "FlagWithoutFence", "kernel": "hands_over", "grid": [2], "block": [32],
   "args": [{"in": "x", "count": 32}, {"out": "parts", "bytes": 128}, {"in": "flag", "count": 1, "value": 0}, {"out": "y", "bytes": 128}, {"i32": 0}],
   "verdict": "race", "kind": "race", "words": ["race between blocks: read of parts+0"],
   "line": "y[threadIdx.x] = parts", "in_block": [1, 0, 0], "thread": [0, 0, 0], "other_line": "parts[threadIdx.x] ="},
  {"name": "SameValueClean", "kernel": "found", "grid": [4], "block": [32],
   "args": [{"in": "x", "count": 128}, {"in": "y", "count": 1, "value": 0}], "verdict": "ok"}
]} */
extern "C" __global__ void in_place(int* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int sum = x[i] + x[i + 1];
  __syncthreads();
  x[i] = sum;
}
extern "C" __global__ void in_two(const int* x, int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int sum = x[i] + x[i + 1];
  __syncthreads();
  y[i] = sum;
}
__device__ int index_2d() {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  return (blockIdx.y * blockDim.y + threadIdx.y) * gridDim.x * blockDim.x + column;
}
extern "C" __global__ void count_plainly(const int* x, int* bins) {
  const int i = index_2d();
  if (threadIdx.x == 0 && threadIdx.y == 0) bins[x[i] & 3] += 1;
}
extern "C" __global__ void count_atomically(const int* x, int* bins) {
  atomicAdd(&bins[x[index_2d()] & 3], 1);
}
extern "C" __global__ void last_block(const int* x, int* parts, int* done, int* y, int fence) {
  __shared__ int total;
  __shared__ bool last;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, x[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = total;
    if (fence) __threadfence();
    last = atomicAdd(done, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int sum = 0;
    for (int k = 0; k < gridDim.x; ++k) sum += parts[k];
    *y = sum;
  }
}
extern "C" __global__ void broadcast(int* x, int* y, int clear) {
  y[blockIdx.x * 32 + threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (clear && blockIdx.x == gridDim.x - 1) x[threadIdx.x] = 0;
}
__device__ __noinline__ void put(int* y, int i, int v) {
  y[i] = v;
}
extern "C" __global__ void passes(const int* x, int* y, int n) {
  for (int k = 0; k < n; ++k) put(y, threadIdx.x, x[threadIdx.x] + k * gridDim.x + blockIdx.x);
}
extern "C" __global__ void hands_over(const int* x, int* parts, int* flag, int* y, int fence) {
  if (blockIdx.x == 0) {
    parts[threadIdx.x] = x[threadIdx.x] + 1;
    if (fence) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(flag, 1);
  } else {
    if (threadIdx.x == 0)
      while (*(volatile int*)flag == 0) {
      }
    __syncthreads();
    if (fence) __threadfence();
    y[threadIdx.x] = parts[31 - threadIdx.x] + parts[threadIdx.x];
  }
}
extern "C" __global__ void found(const int* x, int* y) {
  if (x[blockIdx.x * 32 + threadIdx.x] % 32 == 7) *y = 1;
}
