/* check {"cases": [
  {"name": "SharedTail", "kernel": "shared_tail", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 50}],
   "verdict": "fault", "kind": "uninitialised",
   "words": ["uninitialised value of shared shared_tail::s+200", "is stored to global memory", "thread (50,0,0)"],
   "line": "y[threadIdx.x] = s[threadIdx.x];", "thread": [50, 0, 0]},
  {"name": "SharedTailClean", "kernel": "shared_tail", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 64}],
   "verdict": "ok"},
  {"name": "Accumulates", "kernel": "accumulates", "args": [{"out": "y", "bytes": 128}],
   "verdict": "fault", "kind": "uninitialised", "words": ["uninitialised value of y+0", "is stored to global memory"],
   "line": "extern \"C\" __global__ void accumulates(float* y) { y[threadIdx.x] += 1.f; }", "thread": [0, 0, 0]},
  {"name": "AccumulatesClean", "kernel": "accumulates", "args": [{"in": "y", "type": "f32", "count": 32}],
   "verdict": "ok"},
  {"name": "Branch", "kernel": "branches", "args": [{"out": "x", "bytes": 128}, {"in": "y", "type": "i32", "count": 32}],
   "verdict": "fault", "kind": "uninitialised", "words": ["uninitialised value of x+0", "decides"],
   "line": "if (x[threadIdx.x] > 3) y[threadIdx.x] = y[31 - threadIdx.x] + 1;", "thread": [0, 0, 0]},
  {"name": "BranchClean", "kernel": "branches",
   "args": [{"in": "x", "type": "i32", "count": 32}, {"in": "y", "type": "i32", "count": 32}], "verdict": "ok"},
  {"name": "Address", "kernel": "gathers", "args": [{"out": "x", "bytes": 128}, {"in": "y", "type": "i32", "count": 32}],
   "verdict": "fault", "kind": "uninitialised", "words": ["uninitialised value of x+0", "is used as an address"],
   "line": "extern \"C\" __global__ void gathers(const int* x, int* y) { y[x[threadIdx.x] & 31] = 1; }", "thread": [0, 0, 0]},
  {"name": "AddressClean", "kernel": "gathers",
   "args": [{"in": "x", "type": "i32", "count": 32}, {"in": "y", "type": "i32", "count": 32}], "verdict": "ok"},
  {"name": "Local", "kernel": "local_array", "args": [{"out": "y", "bytes": 128}, {"i32": 6}],
   "verdict": "fault", "kind": "uninitialised", "words": ["uninitialised value of local memory", "thread (6,0,0)"],
   "line": "y[threadIdx.x] = mine[threadIdx.x & 7];", "thread": [6, 0, 0]},
  {"name": "LocalClean", "kernel": "local_array", "args": [{"out": "y", "bytes": 128}, {"i32": 8}], "verdict": "ok"},
  {"name": "CopyThroughSharedClean", "kernel": "copies", "args": [{"out": "x", "bytes": 128}, {"out": "y", "bytes": 128}],
   "verdict": "ok"}
]} */
extern "C" __global__ void shared_tail(float* y, int n) {
  __shared__ float s[64];
  if (threadIdx.x < n) s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void accumulates(float* y) { y[threadIdx.x] += 1.f; }
extern "C" __global__ void branches(const int* x, int* y) {
  if (x[threadIdx.x] > 3) y[threadIdx.x] = y[31 - threadIdx.x] + 1;
}
extern "C" __global__ void gathers(const int* x, int* y) { y[x[threadIdx.x] & 31] = 1; }
extern "C" __global__ void local_array(int* y, int n) {
  int mine[8];
  for (int i = 0; i < n; ++i) mine[i] = i * threadIdx.x;
  y[threadIdx.x] = mine[threadIdx.x & 7];
}
extern "C" __global__ void copies(const float* x, float* y) {
  __shared__ float s[32];
  s[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  float v = s[threadIdx.x ^ 1];
  y[threadIdx.x] = threadIdx.x < 64 ? 1.f : v;
}
