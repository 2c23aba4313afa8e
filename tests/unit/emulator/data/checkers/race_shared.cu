/* check {"cases": [
  {"name": "BetweenWarps", "kernel": "reverse", "block": [64], "args": [{"out": "y", "bytes": 256}],
   "verdict": "race", "kind": "race", "words": ["race:", "shared reverse::s+", "without a barrier"],
   "line": "s[threadIdx.x] = threadIdx.x;", "thread": [32, 0, 0]},
  {"name": "BetweenWarpsClean", "kernel": "reverse_clean", "block": [64], "args": [{"out": "y", "bytes": 256}],
   "verdict": "ok"},
  {"name": "InsideAWarp", "kernel": "neighbour", "args": [{"out": "y", "bytes": 128}],
   "verdict": "race", "kind": "race", "words": ["race: read of shared neighbour::s", "after a write by thread"],
   "line": "s[threadIdx.x ^ 1]",
   "thread": [0, 0, 0]},
  {"name": "InsideAWarpClean", "kernel": "neighbour_clean", "args": [{"out": "y", "bytes": 128}], "verdict": "ok"},
  {"name": "SecondBarrier", "kernel": "pipeline", "block": [64],
   "args": [{"in": "x", "type": "f32", "count": 256}, {"out": "y", "bytes": 256}],
   "verdict": "race", "kind": "race", "words": ["race:", "of shared pipeline::s+"],
   "line": "sum += s[63 - threadIdx.x];", "thread": [32, 0, 0]},
  {"name": "SecondBarrierClean", "kernel": "pipeline_clean", "block": [64],
   "args": [{"in": "x", "type": "f32", "count": 256}, {"out": "y", "bytes": 256}], "verdict": "ok"},
  {"name": "TwoWriters", "kernel": "two_writers", "block": [64], "args": [{"out": "y", "bytes": 4}],
   "verdict": "race", "kind": "race", "words": ["race: write of shared", "after a write by thread"],
   "line": "last = threadIdx.x;", "thread": [1, 0, 0]},
  {"name": "SameValueClean", "kernel": "same_value", "block": [64], "args": [{"out": "y", "bytes": 4}],
   "verdict": "ok"},
  {"name": "Counter", "kernel": "counter", "block": [64], "args": [{"out": "y", "bytes": 4}],
   "verdict": "race", "kind": "race", "words": ["race:", "shared counter::n"],
   "line": "n = n + 1;", "thread": [0, 0, 0]},
  {"name": "CounterClean", "kernel": "counter_clean", "block": [64], "args": [{"out": "y", "bytes": 4}], "verdict": "ok"},
  {"name": "AtomicAgainstPlain", "kernel": "atomic_and_plain", "block": [64], "args": [{"out": "y", "bytes": 256}],
   "verdict": "race", "kind": "race", "words": ["race:", "atomic"],
   "line": "y[threadIdx.x] = n;", "thread": [0, 0, 0]},
  {"name": "AtomicAgainstPlainClean", "kernel": "atomic_and_plain_clean", "block": [64],
   "args": [{"out": "y", "bytes": 256}], "verdict": "ok"}
]} */
extern "C" __global__ void reverse(float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" __global__ void reverse_clean(float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" __global__ void neighbour(float* y) {
  __shared__ float s[32];
  s[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void neighbour_clean(float* y) {
  __shared__ float s[32];
  s[threadIdx.x] = threadIdx.x;
  __syncwarp();
  y[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void pipeline(const float* x, float* y) {
  __shared__ float s[64];
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    s[threadIdx.x] = x[k * 64 + threadIdx.x];
    __syncthreads();
    sum += s[63 - threadIdx.x];
  }
  y[threadIdx.x] = sum;
}
extern "C" __global__ void pipeline_clean(const float* x, float* y) {
  __shared__ float s[64];
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    s[threadIdx.x] = x[k * 64 + threadIdx.x];
    __syncthreads();
    sum += s[63 - threadIdx.x];
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}
extern "C" __global__ void two_writers(int* y) {
  __shared__ int last;
  last = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) *y = last;
}
extern "C" __global__ void same_value(int* y) {
  __shared__ int any;
  if (threadIdx.x == 0) any = 0;
  __syncthreads();
  if (threadIdx.x % 3 == 0) any = 1;
  __syncthreads();
  if (threadIdx.x == 0) *y = any;
}
extern "C" __global__ void counter(int* y) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  n = n + 1;
  __syncthreads();
  if (threadIdx.x == 0) *y = n;
}
extern "C" __global__ void counter_clean(int* y) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  atomicAdd(&n, 1);
  __syncthreads();
  if (threadIdx.x == 0) *y = n;
}
extern "C" __global__ void atomic_and_plain(int* y) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  atomicAdd(&n, 1);
  y[threadIdx.x] = n;
}
extern "C" __global__ void atomic_and_plain_clean(int* y) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  atomicAdd(&n, 1);
  __syncthreads();
  y[threadIdx.x] = n;
}
