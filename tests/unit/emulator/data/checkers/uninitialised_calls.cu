/* check {"cases": [
  {"name": "ThroughAnArgument", "kernel": "argument", "args": [{"out": "y", "bytes": 128}, {"i32": 20}],
   "verdict": "fault", "kind": "uninitialised",
   "words": ["uninitialised value of shared argument::s+80", "is stored to global memory"],
   "line": "y[threadIdx.x] =", "thread": [20, 0, 0]},
  {"name": "ThroughAnArgumentClean", "kernel": "argument", "args": [{"out": "y", "bytes": 128}, {"i32": 32}], "verdict": "ok"},
  {"name": "StructInALoop", "kernel": "structs", "block": [4, 8], "args": [{"out": "x", "bytes": 512}, {"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "fault", "kind": "uninitialised", "words": ["uninitialised value of x+", "is stored to global memory"],
   "line": "y[t] =", "thread": [0, 0, 0]},
  {"name": "StructInALoopClean", "kernel": "structs", "block": [4, 8],
   "args": [{"in": "x", "type": "f32", "count": 128}, {"out": "y", "bytes": 128}, {"i32": 1}], "verdict": "ok"},
  {"name": "FieldNotUsedClean", "kernel": "structs", "block": [4, 8],
   "args": [{"out": "x", "bytes": 512}, {"out": "y", "bytes": 128}, {"i32": 0}], "verdict": "ok"},
  {"name": "NeverSet", "kernel": "never_set", "args": [{"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "fault", "kind": "uninitialised", "words": ["argument 1 of twice(float, int), which its caller never sets"],
   "line": "y[threadIdx.x] =", "thread": [0, 0, 0]},
  {"name": "NeverSetNorUsedClean", "kernel": "never_set", "args": [{"out": "y", "bytes": 128}, {"i32": 0}], "verdict": "ok"},
  {"name": "ArgumentIgnoredClean", "kernel": "ignored", "args": [{"out": "y", "bytes": 128}, {"i32": 20}], "verdict": "ok"},
  {"name": "DecidesInside", "kernel": "decides", "args": [{"out": "y", "bytes": 128}, {"i32": 9}],
   "verdict": "fault", "kind": "uninitialised", "words": ["uninitialised value of shared decides::s+36", "decides a"],
   "line": "if (v > 3)", "after": "chooses(", "thread": [9, 0, 0]},
  {"name": "DecidesInsideClean", "kernel": "decides", "args": [{"out": "y", "bytes": 128}, {"i32": 32}], "verdict": "ok"},
  {"name": "ThroughAPointer", "kernel": "pointer", "args": [{"out": "y", "bytes": 128}, {"i32": 16}],
   "verdict": "fault", "kind": "uninitialised", "words": ["uninitialised value of shared pointer::s+64", "is stored to global memory"],
   "line": "y[threadIdx.x] =", "thread": [16, 0, 0]},
  {"name": "ThroughAPointerClean", "kernel": "pointer", "args": [{"out": "y", "bytes": 128}, {"i32": 32}], "verdict": "ok"}
]} */
__device__ __noinline__ float twice(float x, int c) { return c ? x * 2 : 1.f; }

extern "C" __global__ void argument(float* y, int n) {
  __shared__ float s[32];
  if (threadIdx.x < n) s[threadIdx.x] = threadIdx.x;
  __syncwarp();
  y[threadIdx.x] = twice(s[threadIdx.x], 1);
}
struct Pair {
  float a, b;
};
__device__ __noinline__ Pair exchange(Pair p) { return {p.b, p.a}; }
extern "C" __global__ void structs(const float* x, float* y, int use) {
  const int t = threadIdx.y * blockDim.x + threadIdx.x;
  Pair p{1.f, 2.f};
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {
    p = exchange(p);
    p.b = x[4 * t + i];
  }
  y[t] = use ? exchange(p).a : 0.f;
}
extern "C" __global__ void never_set(float* y, int n) {
  float x;
  y[threadIdx.x] = twice(x, n);
}
extern "C" __global__ void ignored(float* y, int n) {
  __shared__ float s[32];
  if (threadIdx.x < n) s[threadIdx.x] = threadIdx.x;
  __syncwarp();
  y[threadIdx.x] = twice(s[threadIdx.x], threadIdx.x < n);
}
__device__ __noinline__ void chooses(float v, float* y) {
  if (v > 3) *y = 7;
}
extern "C" __global__ void decides(float* y, int n) {
  __shared__ float s[32];
  if (threadIdx.x < n) s[threadIdx.x] = threadIdx.x;
  __syncwarp();
  y[threadIdx.x] = 1;
  chooses(s[threadIdx.x], y + threadIdx.x);
}
using Function = float (*)(float, int);
__device__ __noinline__ float thrice(float x, int c) { return c ? x * 3 : 2.f; }
__device__ Function functions[2] = {twice, thrice};
extern "C" __global__ void pointer(float* y, int n) {
  __shared__ float s[32];
  if (threadIdx.x < n) s[threadIdx.x] = threadIdx.x;
  __syncwarp();
  y[threadIdx.x] = functions[threadIdx.x & 1](s[threadIdx.x], 1);
}
