/* check {"cases": [
  {"name": "Static", "kernel": "past_the_last", "args": [{"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds read of 4 B at shared", "thread (31,0,0)"],
   "line": "y[threadIdx.x] = s[threadIdx.x + shift];", "thread": [31, 0, 0]},
  {"name": "StaticClean", "kernel": "past_the_last", "args": [{"out": "y", "bytes": 128}, {"i32": 0}], "verdict": "ok"},
  {"name": "Dynamic", "kernel": "dynamic", "shared": 124, "args": [{"out": "y", "bytes": 128}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds write of 4 B at shared", "thread (31,0,0)"],
   "line": "s[threadIdx.x] = threadIdx.x;", "thread": [31, 0, 0]},
  {"name": "DynamicClean", "kernel": "dynamic", "shared": 128, "args": [{"out": "y", "bytes": 128}], "verdict": "ok"},
  {"name": "NoDynamic", "kernel": "dynamic", "args": [{"out": "y", "bytes": 128}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds write of 4 B at shared", "thread (0,0,0)"],
   "line": "s[threadIdx.x] = threadIdx.x;", "thread": [0, 0, 0]},
  {"name": "Atomic", "kernel": "counts", "args": [{"out": "y", "bytes": 32}, {"i32": 8}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds atomic of 4 B at shared"],
   "line": "atomicAdd(&bins[threadIdx.x & mask], 1);", "thread": [8, 0, 0]},
  {"name": "AtomicClean", "kernel": "counts", "args": [{"out": "y", "bytes": 32}, {"i32": 7}], "verdict": "ok"},
  {"name": "Local", "kernel": "stack", "args": [{"out": "y", "bytes": 128}, {"i32": 4096}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds read of 4 B at local memory"],
   "line": "y[threadIdx.x] = mine[(threadIdx.x & 7) * stride];", "thread": [1, 0, 0]},
  {"name": "LocalClean", "kernel": "stack", "args": [{"out": "y", "bytes": 128}, {"i32": 1}], "verdict": "ok"}
]} */
extern "C" __global__ void past_the_last(float* y, int shift) {
  __shared__ float s[32];
  s[threadIdx.x] = threadIdx.x;
  __syncwarp();
  y[threadIdx.x] = s[threadIdx.x + shift];
}
extern "C" __global__ void dynamic(float* y) {
  extern __shared__ float s[];
  s[threadIdx.x] = threadIdx.x;
  __syncwarp();
  y[threadIdx.x] = s[31 - threadIdx.x];
}
extern "C" __global__ void counts(int* y, int mask) {
  __shared__ int bins[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  __syncwarp();
  atomicAdd(&bins[threadIdx.x & mask], 1);
  __syncwarp();
  if (threadIdx.x < 8) y[threadIdx.x] = bins[threadIdx.x];
}
extern "C" __global__ void stack(int* y, int stride) {
  int mine[16];
  for (int i = 0; i < 16; ++i) mine[i] = i + threadIdx.x;
  y[threadIdx.x] = mine[(threadIdx.x & 7) * stride];
}
