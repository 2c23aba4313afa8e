/* check {"cases": [
  {"name": "Trap", "kernel": "traps", "args": [{"out": "y", "bytes": 128}, {"i32": 30}],
   "verdict": "fault", "kind": "trap", "words": ["trap", "thread (30,0,0)"], "line": "__trap()",
   "instruction": "trap",
   "thread": [30, 0, 0]},
  {"name": "TrapClean", "kernel": "traps", "args": [{"out": "y", "bytes": 128}, {"i32": 32}], "verdict": "ok"},
  {"name": "Assert", "kernel": "asserts", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 40}],
   "verdict": "fault", "kind": "assert",
   "words": ["assertion `threadIdx.x < n` failed at ", "trap_assert.cu:", "asserts(int *, int)", "thread (40,0,0)"],
   "line": "assert(threadIdx.x",
   "thread": [40, 0, 0]},
  {"name": "AssertClean", "kernel": "asserts", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 64}],
   "verdict": "ok"},
  {"name": "BadPointer", "kernel": "calls", "args": [{"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "fault", "kind": "trap", "words": ["call through a pointer to no function", "thread (2,0,0)"],
   "line": "y[threadIdx.x] = functions[threadIdx.x % 2 + (threadIdx.x == 2 ? 2 : 0) * shift](threadIdx.x);", "thread": [2, 0, 0]},
  {"name": "BadPointerClean", "kernel": "calls", "args": [{"out": "y", "bytes": 128}, {"i32": 0}], "verdict": "ok"},
  {"name": "Recursion", "kernel": "recurses", "args": [{"out": "y", "bytes": 128}, {"i32": 1000000}],
   "verdict": "fault", "kind": "stack_overflow", "words": ["call stack overflow"],
   "after": "int deep(", "line": "__device__ __noinline__ int deep(int x) { return x <= 0 ? 0 : deep(x - 1) * 3 + deep(x - 2) + x; }", "thread": [0, 0, 0]},
  {"name": "RecursionClean", "kernel": "recurses", "args": [{"out": "y", "bytes": 128}, {"i32": 10}],
   "verdict": "ok"}
]} */
#include <cassert>

extern "C" __global__ void traps(int* y, int n) {
  if (threadIdx.x == n) __trap();
  y[threadIdx.x] = 1;
}
extern "C" __global__ void asserts(int* y, int n) {
  assert(threadIdx.x < n);
  y[threadIdx.x] = 1;
}
using Function = int (*)(int);
__device__ __noinline__ int one(int x) { return x + 1; }
__device__ __noinline__ int two(int x) { return x * 2; }
__device__ Function functions[3] = {one, two, nullptr};
extern "C" __global__ void calls(int* y, int shift) {
  y[threadIdx.x] = functions[threadIdx.x % 2 + (threadIdx.x == 2 ? 2 : 0) * shift](threadIdx.x);
}
__device__ __noinline__ int deep(int x) { return x <= 0 ? 0 : deep(x - 1) * 3 + deep(x - 2) + x; }
extern "C" __global__ void recurses(int* y, int n) { y[threadIdx.x] = threadIdx.x ? 0 : deep(n); }
