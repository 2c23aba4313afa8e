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
  {"name": "HaloOfATile2D", "kernel": "halo", "block": [8, 4], "args": [{"in": "x", "type": "f32", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 0}],
   "verdict": "fault", "kind": "uninitialised", "words": ["uninitialised value of shared halo::tile+", "is stored to global memory"],
   "line": "y[threadIdx.y * 8 + threadIdx.x] = sum", "thread": [0, 0, 0]},
  {"name": "HaloOfATile2DClean", "kernel": "halo", "block": [8, 4], "args": [{"in": "x", "type": "f32", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "ok"},
  {"name": "AtomicSum", "kernel": "adds_up", "block": [64], "args": [{"in": "x", "type": "i32", "count": 64}, {"out": "y", "bytes": 4}],
   "verdict": "fault", "kind": "uninitialised", "words": ["uninitialised value of y+0", "is used by an atomic"],
   "line": "atomicAdd(y", "thread": [0, 0, 0]},
  {"name": "AtomicSumClean", "kernel": "adds_up", "block": [64], "args": [{"in": "x", "type": "i32", "count": 64}, {"in": "y", "type": "i32", "count": 1, "value": 0}],
   "verdict": "ok"},
  {"name": "PaddingOfATileClean", "kernel": "padded", "block": [8, 4], "args": [{"in": "x", "type": "f32", "count": 32}, {"out": "y", "bytes": 128}],
   "verdict": "ok"},
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
extern "C" __global__ void halo(const float* x, float* y, int fill) {
  __shared__ float tile[6][10];
  for (int i = threadIdx.y * 8 + threadIdx.x; fill && i < 60; i += 32) (&tile[0][0])[i] = 0;
  __syncthreads();
  tile[threadIdx.y + 1][threadIdx.x + 1] = x[threadIdx.y * 8 + threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int dy = 0; dy < 3; ++dy)
    for (int dx = 0; dx < 3; ++dx) sum += tile[threadIdx.y + dy][threadIdx.x + dx];
  y[threadIdx.y * 8 + threadIdx.x] = sum;
}
extern "C" __global__ void adds_up(const int* x, int* y) { atomicAdd(y, x[threadIdx.x]); }
// The column that pads the rows is never written, and read only as part of what nobody looks at.
extern "C" __global__ void padded(const float* x, float* y) {
  __shared__ float tile[4][9];
  tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 8 + threadIdx.x];
  __syncthreads();
  const float next = tile[threadIdx.y][threadIdx.x + 1];
  y[threadIdx.y * 8 + threadIdx.x] = threadIdx.x < 7 ? next : 0;
}
