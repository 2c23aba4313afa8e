/* check {"cases": [
  {"name": "EmptyLoop", "kernel": "last_positive", "args": [{"in": "x", "type": "f32", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 4}],
   "verdict": "fault", "kind": "uninitialised",
   "words": ["uninitialised value of a register that nothing has written", "is stored to global memory"],
   "line": "y[threadIdx.x] = last", "thread": [4, 0, 0]},
  {"name": "EmptyLoopClean", "kernel": "last_positive", "args": [{"in": "x", "type": "f32", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 32}],
   "verdict": "ok"},
  {"name": "Accumulator2D", "kernel": "row_sums", "grid": [1, 2], "block": [8, 4],
   "args": [{"in": "x", "type": "f32", "count": 64}, {"out": "y", "bytes": 32}, {"i32": 8}],
   "verdict": "fault", "kind": "uninitialised",
   "words": ["a register that nothing has written", "is stored to global memory"],
   "line": "y[row] = sum", "thread": [0, 0, 0]},
  {"name": "Accumulator2DClean", "kernel": "row_sums_clean", "grid": [1, 2], "block": [8, 4],
   "args": [{"in": "x", "type": "f32", "count": 64}, {"out": "y", "bytes": 32}, {"i32": 8}], "verdict": "ok"},
  {"name": "Address", "kernel": "position", "args": [{"in": "x", "type": "f32", "count": 128}, {"out": "y", "bytes": 512}, {"i32": 64}, {"f32": 500}],
   "verdict": "fault", "kind": "uninitialised", "words": ["a register that nothing has written", "is used as an address"],
   "line": "y[at] = 1", "thread": [0, 0, 0]},
  {"name": "AddressClean", "kernel": "position", "args": [{"in": "x", "type": "f32", "count": 128}, {"out": "y", "bytes": 512}, {"i32": 128}, {"f32": 90}],
   "verdict": "ok"},
  {"name": "Branch", "kernel": "switches", "args": [{"in": "x", "type": "f32", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 3}],
   "verdict": "fault", "kind": "uninitialised", "words": ["a register that nothing has written", "decides a"],
   "line": "if (v > 2)", "thread": [0, 0, 0]},
  {"name": "BranchClean", "kernel": "switches", "args": [{"in": "x", "type": "f32", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 2}],
   "verdict": "ok"},
  {"name": "InAFunction", "kernel": "in_function", "args": [{"in": "x", "type": "f32", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 0}],
   "verdict": "fault", "kind": "uninitialised", "words": ["a register that nothing has written", "is stored to global memory"],
   "line": "y[threadIdx.x] =", "thread": [0, 0, 0]},
  {"name": "InAFunctionClean", "kernel": "in_function", "args": [{"in": "x", "type": "f32", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 8}],
   "verdict": "ok"},
  {"name": "PrefetchClean", "kernel": "prefetch", "args": [{"in": "x", "type": "f32", "count": 256}, {"out": "y", "bytes": 1024}, {"i32": 8}],
   "verdict": "ok"},
  {"name": "PrefetchOfNothingClean", "kernel": "prefetch", "args": [{"in": "x", "type": "f32", "count": 256}, {"out": "y", "bytes": 1024}, {"i32": 0}],
   "verdict": "ok"},
  {"name": "SelectedAwayClean", "kernel": "guarded_use", "args": [{"in": "x", "type": "f32", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 20}],
   "verdict": "ok"},
  {"name": "IdleLanesInAReductionClean", "kernel": "idle_lanes", "args": [{"in": "x", "type": "f32", "count": 32}, {"out": "y", "bytes": 4}, {"i32": 20}],
   "verdict": "ok"}
]} */
extern "C" __global__ void last_positive(const float* x, float* y, int n) {
  float last;
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += 32)
    if (x[i] >= 0) last = x[i] * 2;
  y[threadIdx.x] = last;
}
extern "C" __global__ void row_sums(const float* x, float* y, int width) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  float sum;
  for (int k = threadIdx.x; k < width; k += blockDim.x) sum += x[row * width + k];
  for (int d = 4; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
  if (threadIdx.x == 0) y[row] = sum;
}
extern "C" __global__ void row_sums_clean(const float* x, float* y, int width) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = threadIdx.x; k < width; k += blockDim.x) sum += x[row * width + k];
  for (int d = 4; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
  if (threadIdx.x == 0) y[row] = sum;
}
extern "C" __global__ void position(const float* x, float* y, int n, float limit) {
  int at;
  for (int i = threadIdx.x; i < n; i += 32)
    if (x[i] > limit) at = i;
  y[at] = 1;
}
extern "C" __global__ void switches(const float* x, float* y, int n) {
  float v;
  switch (n) {
    case 0:
      v = x[threadIdx.x];
      break;
    case 1:
      v = x[threadIdx.x] * 2;
      break;
    case 2:
      v = x[threadIdx.x] + 1;
      break;
  }
  y[threadIdx.x] = 0;
  __syncthreads();
  if (v > 2) y[31 - threadIdx.x] = 3;
}
__device__ __noinline__ float largest(const float* x, int n) {
  float best;
  for (int i = 0; i < n; ++i)
    if (i == 0 || x[i] > best) best = x[i];
  return best;
}
extern "C" __global__ void in_function(const float* x, float* y, int n) {
  y[threadIdx.x] = largest(x, n) + 1;
}
extern "C" __global__ void prefetch(const float* x, float* y, int n) {
  float next;
  if (n > 0) next = x[threadIdx.x];
  for (int i = 0; i < n; ++i) {
    const float now = next;
    if (i + 1 < n) next = x[(i + 1) * 32 + threadIdx.x];
    y[i * 32 + threadIdx.x] = now * 2;
  }
}
extern "C" __global__ void guarded_use(const float* x, float* y, int n) {
  float v;
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += 32) v = x[i] * 3;
  const float twice = v + v;  // of all lanes, used by some
  y[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x < n) y[threadIdx.x] = twice;
}
// Lanes without data hold nothing, and what comes from them is left out by the shuffle's own
// predicate.
extern "C" __global__ void idle_lanes(const float* x, float* y, int n) {
  float v;
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += 32) v = x[i];
  for (int d = 1; d < 32; d *= 2)
    asm volatile(
        "{ .reg .f32 t; .reg .pred p;\n"
        "shfl.sync.down.b32 t|p, %0, %1, %2, 0xffffffff;\n"
        "@p add.f32 t, t, %0;\n"
        "@p mov.f32 %0, t; }"
        : "+f"(v)
        : "r"(d), "r"(n - 1));
  if (threadIdx.x == 0) *y = v;
}
