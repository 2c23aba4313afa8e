/* check {"cases": [
  {"name": "OverwrittenClean", "kernel": "overwritten", "args": [{"out": "y", "bytes": 512}], "verdict": "ok"},
  {"name": "OverwrittenInPlaceClean", "kernel": "overwritten", "args": [{"in": "y", "type": "f32", "count": 128}], "verdict": "ok"},
  {"name": "LeftOpenClean", "kernel": "left_open", "args": [{"out": "y", "bytes": 256}], "verdict": "ok"},
  {"name": "ReadAfterwards", "kernel": "read_afterwards", "args": [{"out": "y", "bytes": 256}, {"out": "z", "bytes": 128}, {"i32": 1}],
   "verdict": "fault", "kind": "uninitialised", "words": ["uninitialised value of y+4", "is stored to global memory"],
   "line": "z[threadIdx.x] =", "thread": [0, 0, 0]},
  {"name": "ReadAfterwardsInPlace", "kernel": "read_afterwards",
   "args": [{"in": "y", "type": "f32", "count": 64}, {"out": "z", "bytes": 128}, {"i32": 1}],
   "verdict": "fault", "kind": "uninitialised", "words": ["uninitialised value of y+4", "is stored to global memory"],
   "line": "z[threadIdx.x] =", "thread": [0, 0, 0]},
  {"name": "OtherElementReadClean", "kernel": "read_afterwards", "args": [{"out": "y", "bytes": 256}, {"out": "z", "bytes": 128}, {"i32": 0}],
   "verdict": "ok"},
  {"name": "Scalar", "kernel": "scalar", "args": [{"out": "y", "bytes": 128}],
   "verdict": "fault", "kind": "uninitialised",
   "words": ["uninitialised value of a register that nothing has written", "is stored to global memory"],
   "line": "asm volatile(", "thread": [0, 0, 0]},
  {"name": "WrittenOnOtherWays", "kernel": "written_elsewhere", "args": [{"out": "y", "bytes": 256}, {"i32": 16}],
   "verdict": "fault", "kind": "uninitialised",
   "words": ["uninitialised value of a register that nothing has written", "is stored to global memory"],
   "line": "asm volatile(", "thread": [16, 0, 0]},
  {"name": "WrittenOnOtherWaysClean", "kernel": "written_elsewhere", "args": [{"out": "y", "bytes": 256}, {"i32": 32}],
   "verdict": "ok"},
  {"name": "SharedOpen", "kernel": "in_shared", "args": [{"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "fault", "kind": "uninitialised", "words": ["uninitialised value of shared in_shared::s+4", "is stored to global memory"],
   "line": "y[threadIdx.x] =", "thread": [0, 0, 0]},
  {"name": "SharedGivenClean", "kernel": "in_shared", "args": [{"out": "y", "bytes": 128}, {"i32": 0}], "verdict": "ok"},
  {"name": "LocalOpen", "kernel": "in_local", "args": [{"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "fault", "kind": "uninitialised", "words": ["uninitialised value of local memory", "is stored to global memory"],
   "line": "y[threadIdx.x] =", "thread": [0, 0, 0]},
  {"name": "LocalGivenClean", "kernel": "in_local", "args": [{"out": "y", "bytes": 128}, {"i32": 0}], "verdict": "ok"}
]} */
// Of each vector the compiler knows the first element and stores the others after it.
struct alignas(16) Four {
  float at[4];
};
extern "C" __global__ void overwritten(float* y) {
  const int first = threadIdx.x * 4;
  Four pack;
#pragma unroll
  for (int v = 0; v < 4; ++v) pack.at[v] = 0.5f * (float)((first + v) % 2);
  *reinterpret_cast<Four*>(y + first) = pack;
}
#define STORE_HALF_OPEN(space, address) \
  asm volatile("{ .reg .f32 open; st." space ".v2.f32 [%0], {%1, open}; }" ::"l"(address), "f"(1.f) : "memory")
extern "C" __global__ void left_open(float* y) { STORE_HALF_OPEN("global", y + 2 * threadIdx.x); }
extern "C" __global__ void read_afterwards(volatile float* y, float* z, int which) {
  STORE_HALF_OPEN("global", y + 2 * threadIdx.x);
  z[threadIdx.x] = y[2 * threadIdx.x + which];
}
extern "C" __global__ void scalar(float* y) {
  asm volatile("{ .reg .f32 open; st.global.f32 [%0], open; }" ::"l"(y + threadIdx.x) : "memory");
}
extern "C" __global__ void written_elsewhere(float* y, int n) {
  const int inside = threadIdx.x < n;
  asm volatile("{ .reg .f32 some; .reg .pred p; setp.ne.s32 p, %2, 0; @p mov.f32 some, %1; st.global.v2.f32 [%0], {%1, some}; }" ::"l"(y + 2 * threadIdx.x), "f"(1.f), "r"(inside) : "memory");
}
extern "C" __global__ void in_shared(float* y, int which) {
  __shared__ float2 s[32];
  const unsigned long long mine = __cvta_generic_to_shared(&s[threadIdx.x]);
  STORE_HALF_OPEN("shared", mine);
  y[threadIdx.x] = (&s[threadIdx.x].x)[which];
}
extern "C" __global__ void in_local(float* y, int which) {
  volatile float2 mine[2];
  mine[which].y = 0;
  const unsigned long long at = __cvta_generic_to_local((void*)&mine[0]);
  STORE_HALF_OPEN("local", at);
  y[threadIdx.x] = (&mine[0].x)[which];
}
