/* check {"cases": [
  {"name": "BeforeWait", "kernel": "before_wait", "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 128}],
   "verdict": "race", "kind": "async", "words": ["cp.async used before its wait: read of shared before_wait::s+0", "its group has not been waited for",
   "that thread (0,0,0) started at line"], "line": "y[t] = s[t]",
   "thread": [0, 0, 0]},
  {"name": "BeforeWaitClean", "kernel": "before_wait_clean", "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 128}],
   "verdict": "ok"},
  {"name": "MissingCommit", "kernel": "missing_commit", "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 128}],
   "verdict": "race", "kind": "async", "words": ["cp.async used before its wait", "it is in no committed group"], "line": "y[t] = s[t]",
   "thread": [0, 0, 0]},
  {"name": "WrongGroup", "kernel": "wrong_group", "block": [64],
   "args": [{"in": "x", "count": 512}, {"out": "y", "bytes": 256}, {"i32": 8}],
   "verdict": "race", "kind": "async", "words": ["cp.async used before its wait: read of shared wrong_group::s+"], "line": "sum +=",
   "thread": [0, 0, 0]},
  {"name": "WrongGroupClean", "kernel": "wrong_group_clean", "block": [64],
   "args": [{"in": "x", "count": 512}, {"out": "y", "bytes": 256}, {"i32": 8}], "verdict": "ok"},
  {"name": "NoBarrierAfterWait", "kernel": "no_barrier", "block": [64],
   "args": [{"in": "x", "count": 64}, {"out": "y", "bytes": 256}], "verdict": "race", "kind": "race",
   "words": ["race:", "shared no_barrier::s", "without a barrier"],
   "line": "__pipeline_memcpy_async(&s[t], &x[t], 4);", "thread": [32, 0, 0]},
  {"name": "NoBarrierAfterWaitClean", "kernel": "no_barrier_clean", "block": [64],
   "args": [{"in": "x", "count": 64}, {"out": "y", "bytes": 256}], "verdict": "ok"},
  {"name": "StageReused", "kernel": "stage_reused", "block": [64],
   "args": [{"in": "x", "count": 256}, {"out": "y", "bytes": 256}], "verdict": "race", "kind": "race",
   "words": ["race:", "shared stage_reused::s", "without a barrier"],
   "line": "sum += s[63 - t];", "thread": [32, 0, 0]},
  {"name": "SourceChanges", "kernel": "source_changes",
   "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 128}], "verdict": "race", "kind": "race",
   "words": ["x+0", "was written while a cp.async that reads it was in flight"], "line": "__pipeline_memcpy_async",
   "thread": [0, 0, 0]},
  {"name": "WriteInFlight", "kernel": "write_in_flight",
   "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 128}], "verdict": "race", "kind": "async",
   "words": ["cp.async used before its wait: write of shared"], "line": "s[t] = 0",
   "thread": [0, 0, 0]},
  {"name": "BeyondTheBuffer", "kernel": "before_wait_clean", "args": [{"in": "x", "count": 31}, {"out": "y", "bytes": 128}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds cp.async read of 4 B at x+124", "thread (31,0,0)"],
   "line": "__pipeline_memcpy_async",
   "thread": [31, 0, 0]},
  {"name": "Misaligned", "kernel": "sixteen", "block": [8],
   "args": [{"in": "x", "count": 64}, {"out": "y", "bytes": 128}, {"i32": 1}], "verdict": "fault", "kind": "misaligned",
   "words": ["misaligned cp.async read of 16 B at x+4"], "line": "__pipeline_memcpy_async",
   "thread": [0, 0, 0]},
  {"name": "MisalignedClean", "kernel": "sixteen", "block": [8],
   "args": [{"in": "x", "count": 64}, {"out": "y", "bytes": 128}, {"i32": 4}], "verdict": "ok"},
  {"name": "Uninitialised", "kernel": "uninitialised",
   "args": [{"out": "x", "bytes": 128}, {"out": "y", "bytes": 128}], "verdict": "fault", "kind": "uninitialised",
   "words": ["uninitialised value of shared uninitialised::s+0", "is stored to global memory"], "line": "y[t] =",
   "thread": [0, 0, 0]}
]} */
#include <cuda_pipeline.h>

extern "C" __global__ void before_wait(const int* x, int* y) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], &x[t], 4);
  __pipeline_commit();
  y[t] = s[t];
  __pipeline_wait_prior(0);
}
extern "C" __global__ void before_wait_clean(const int* x, int* y) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], &x[t], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[t] = s[t];
}
extern "C" __global__ void missing_commit(const int* x, int* y) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], &x[t], 4);
  __pipeline_wait_prior(0);
  y[t] = s[t];
}
extern "C" __global__ void wrong_group(const int* x, int* y, int n) {
  __shared__ int s[2][64];
  const int t = threadIdx.x;
  int sum = 0;
  __pipeline_memcpy_async(&s[0][t], &x[t], 4);
  __pipeline_commit();
  for (int i = 0; i < n; ++i) {
    if (i + 1 < n) __pipeline_memcpy_async(&s[(i + 1) % 2][t], &x[(i + 1) * 64 + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    sum += s[i % 2][63 - t];
    __syncthreads();
  }
  y[t] = sum;
}
extern "C" __global__ void wrong_group_clean(const int* x, int* y, int n) {
  __shared__ int s[2][64];
  const int t = threadIdx.x;
  int sum = 0;
  __pipeline_memcpy_async(&s[0][t], &x[t], 4);
  __pipeline_commit();
  for (int i = 0; i < n; ++i) {
    if (i + 1 < n) __pipeline_memcpy_async(&s[(i + 1) % 2][t], &x[(i + 1) * 64 + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += s[i % 2][63 - t];
    __syncthreads();
  }
  y[t] = sum;
}
extern "C" __global__ void no_barrier(const int* x, int* y) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], &x[t], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[t] = s[63 - t];
}
extern "C" __global__ void no_barrier_clean(const int* x, int* y) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], &x[t], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  y[t] = s[63 - t];
}
extern "C" __global__ void stage_reused(const int* x, int* y) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {
    __pipeline_memcpy_async(&s[t], &x[i * 64 + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    sum += s[63 - t];
  }
  y[t] = sum;
}
extern "C" __global__ void source_changes(int* x, int* y) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], &x[t], 4);
  __pipeline_commit();
  x[t] = 7;
  __pipeline_wait_prior(0);
  y[t] = s[t];
}
extern "C" __global__ void write_in_flight(const int* x, int* y) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], &x[t], 4);
  __pipeline_commit();
  s[t] = 0;
  __pipeline_wait_prior(0);
  y[t] = s[t];
}
extern "C" __global__ void sixteen(const int* x, int* y, int shift) {
  __shared__ __align__(16) int s[32];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[4 * t], &x[4 * t + shift], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[t] = s[4 * t];
}
extern "C" __global__ void uninitialised(const int* x, int* y) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], &x[t], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[t] = s[t];
}
