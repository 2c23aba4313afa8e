/* check {"cases": [
  {"name": "Clean", "kernel": "copy", "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 128}],
   "verdict": "ok"},
  {"name": "TooMuchExpected", "kernel": "copy", "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 144}],
   "verdict": "fault", "kind": "deadlock", "words": ["deadlock: a wait at the mbarrier", "outstanding: 16 B of transactions"],
   "line": "wait(&full, 0);", "thread": [0, 0, 0]},
  {"name": "TooLittleExpected", "kernel": "copy", "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 64}],
   "verdict": "fault", "kind": "deadlock", "words": ["64 B of transactions too many"],
   "line": "wait(&full, 0);", "thread": [0, 0, 0]},
  {"name": "BeyondTheBuffer", "kernel": "copy", "args": [{"in": "x", "count": 28}, {"out": "y", "bytes": 128}, {"i32": 128}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds bulk read of 128 B at x+112"],
   "line": "bulk_load(s, x, 128, &full);", "thread": [0, 0, 0]},
  {"name": "UsedBeforeWait", "kernel": "no_wait", "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 128}],
   "verdict": "race", "kind": "async", "words": ["bulk copy used before its wait: read of shared no_wait::s+0"],
   "line": "y[threadIdx.x] =",
   "thread": [0, 0, 0]},
  {"name": "NoProxyFence", "kernel": "store", "args": [{"out": "y", "bytes": 128}, {"i32": 0}],
   "verdict": "race", "kind": "async", "words": ["missing fence.proxy.async: the bulk copy reads shared store::s+0"],
   "line": "bulk_store(y, s, 128);", "thread": [0, 0, 0]},
  {"name": "ProxyFenceClean", "kernel": "store", "args": [{"out": "y", "bytes": 128}, {"i32": 1}], "verdict": "ok"},
  {"name": "SourceOverwritten", "kernel": "overwritten", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 0}],
   "verdict": "race", "kind": "async", "words": ["write of shared overwritten::s", "may still read it"],
   "line": "s[threadIdx.x] = 7;", "thread": [0, 0, 0]},
  {"name": "SourceOverwrittenClean", "kernel": "overwritten", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 1}],
   "verdict": "ok"},
  {"name": "LeftBehind", "kernel": "left_behind", "args": [{"out": "y", "bytes": 128}],
   "verdict": "race", "kind": "async", "words": ["the block ends while its bulk copy may still read its shared memory"],
   "line": "bulk_store(y, s, 128);", "thread": [0, 0, 0]}
]} */
#include "../bulk.cuh"

extern "C" __global__ void copy(const int* x, int* y, int expected) {
  __shared__ alignas(16) int s[32];
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    init(&full, 1);
    fence_async();
    expect(&full, expected);
    bulk_load(s, x, 128, &full);
  }
  __syncthreads();
  wait(&full, 0);
  y[threadIdx.x] = s[31 - threadIdx.x];
}
extern "C" __global__ void no_wait(const int* x, int* y) {
  __shared__ alignas(16) int s[32];
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    init(&full, 1);
    fence_async();
    expect(&full, 128);
    bulk_load(s, x, 128, &full);
  }
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
  wait(&full, 0);
}
extern "C" __global__ void store(int* y, int fence) {
  __shared__ alignas(16) int s[32];
  s[threadIdx.x] = threadIdx.x;
  if (fence) fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(y, s, 128);
    bulk_commit();
    bulk_wait_read<0>();
  }
}
extern "C" __global__ void overwritten(int* y, int wait) {
  __shared__ alignas(16) int s[64];
  s[threadIdx.x] = threadIdx.x;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(y, s, 256);
    bulk_commit();
    if (wait) bulk_wait_read<0>();
  }
  __syncthreads();
  s[threadIdx.x] = 7;
  __syncthreads();
  if (threadIdx.x == 0 && !wait) bulk_wait_read<0>();
}
extern "C" __global__ void left_behind(int* y) {
  __shared__ alignas(16) int s[32];
  s[threadIdx.x] = threadIdx.x;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_store(y, s, 128);
    bulk_commit();
  }
}
