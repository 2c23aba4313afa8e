/* check {"cases": [
  {"name": "NextArray", "kernel": "next_array", "args": [{"out": "y", "bytes": 128}, {"i32": 16}],
   "verdict": "fault", "kind": "out_of_bounds",
   "words": ["out-of-bounds read of 4 B at local memory offset 64 (of 64 B)"],
   "line": "y[threadIdx.x] = a[", "thread": [0, 0, 0]},
  {"name": "NextArrayClean", "kernel": "next_array", "args": [{"out": "y", "bytes": 128}, {"i32": 15}], "verdict": "ok"},
  {"name": "BeforeInALoop2D", "kernel": "before", "block": [8, 4], "args": [{"out": "y", "bytes": 128}, {"i32": 9}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds write of 4 B at local memory offset -4"],
   "line": "b[last - i] =", "thread": [0, 0, 0]},
  {"name": "BeforeInALoop2DClean", "kernel": "before", "block": [8, 4], "args": [{"out": "y", "bytes": 128}, {"i32": 8}],
   "verdict": "ok"},
  {"name": "PastTheLastAfterDivergence", "kernel": "past", "args": [{"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds read of 4 B at local memory offset 20 (of 20 B)"],
   "line": "y[threadIdx.x] = a[threadIdx.x % 5 + shift]", "thread": [9, 0, 0]},
  {"name": "PastTheLastAfterDivergenceClean", "kernel": "past", "args": [{"out": "y", "bytes": 128}, {"i32": 0}],
   "verdict": "ok"},
  {"name": "InAFunction", "kernel": "calls", "args": [{"out": "y", "bytes": 128}, {"i32": 8}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds read of 4 B at local memory offset 32 (of 32 B)"],
   "line": "return mine[k]", "after": "int inner(", "thread": [0, 0, 0]},
  {"name": "InAFunctionClean", "kernel": "calls", "args": [{"out": "y", "bytes": 128}, {"i32": 7}], "verdict": "ok"},
  {"name": "MiddleOfAnArrayClean", "kernel": "middle", "args": [{"out": "y", "bytes": 128}, {"i32": 4}, {"i32": 0}],
   "verdict": "ok"},
  {"name": "ChosenArrayClean", "kernel": "middle", "args": [{"out": "y", "bytes": 128}, {"i32": 4}, {"i32": 1}],
   "verdict": "ok"},
  {"name": "PassedOnClean", "kernel": "passes", "args": [{"out": "y", "bytes": 128}, {"i32": 4}], "verdict": "ok"}
]} */
extern "C" __global__ void next_array(int* y, int k) {
  int a[16];
  int b[16];
  for (int i = 0; i < 16; ++i) {
    a[i] = threadIdx.x + i;
    b[i] = i * k;
  }
  y[threadIdx.x] = a[k] + b[threadIdx.x & 15];
}
extern "C" __global__ void before(int* y, int n) {
  int a[8];
  int b[8];
  const int t = threadIdx.y * 8 + threadIdx.x;
  for (int i = 0; i < 8; ++i) a[i] = b[i] = t + i;
  const int last = 7;
#pragma unroll 1
  for (int i = 0; i < n; ++i) b[last - i] = i;
  y[t] = a[t & 7] + b[t & 7];
}
extern "C" __global__ void past(int* y, int shift) {
  int a[5];
  for (int i = 0; i < 5; ++i) a[i] = threadIdx.x * i;
  if (threadIdx.x > 7)
    y[threadIdx.x] = a[threadIdx.x % 5 + shift];
  else
    y[threadIdx.x] = a[threadIdx.x % 4];
}
__device__ __noinline__ int inner(int t, int k) {
  int mine[8];
  for (int i = 0; i < 8; ++i) mine[i] = t * 100 + i;
  return mine[k];
}
// The function's array is its own: the caller's keeps its values.
extern "C" __global__ void calls(int* y, int k) {
  int mine[8];
  for (int i = 0; i < 8; ++i) mine[i] = threadIdx.x + i;
  const int other = inner(threadIdx.x, k);
  if (mine[k & 7] != threadIdx.x + (k & 7)) __trap();
  y[threadIdx.x] = mine[k & 7] + other;
}
extern "C" __global__ void middle(int* y, int n, int second) {
  int a[16];
  int b[16];
  for (int i = 0; i < 16; ++i) {
    a[i] = threadIdx.x + i;
    b[i] = i * n;
  }
  int* p = &a[4];
  int* q = second ? &b[8] : &a[8];
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    sum += p[i - 4] + q[-i];
    ++q;
  }
  y[threadIdx.x] = sum + b[n];
}
__device__ __noinline__ int sum(const int* p, int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) total += p[i];
  return total;
}
extern "C" __global__ void passes(int* y, int n) {
  int a[16];
  int b[16];
  for (int i = 0; i < 16; ++i) {
    a[i] = threadIdx.x + i;
    b[i] = i * n;
  }
  y[threadIdx.x] = sum(&a[4], n) + sum(a, n) + sum(&b[8], n) + sum(b + 1, n);
}
