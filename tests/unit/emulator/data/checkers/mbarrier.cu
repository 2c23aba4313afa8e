/* check {"cases": [
  {"name": "NotInitialised", "kernel": "not_initialised", "args": [{"out": "y", "bytes": 128}], "verdict": "fault", "kind": "mbarrier",
   "words": ["use of an mbarrier at shared not_initialised::b+0", "that was not initialised"],
   "after": "void arrive(", "line": "asm volatile(\"{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }\" ::\"r\"(offset(b)) : \"memory\");", "thread": [0, 0, 0]},
  {"name": "InitNotSeen", "kernel": "init_not_seen", "block": [64], "args": [{"out": "y", "bytes": 256}], "verdict": "race", "kind": "race",
   "words": ["race: use of the mbarrier at shared", "without a barrier after its init by thread (0,0,0)"],
   "after": "void arrive(", "line": "asm volatile(\"{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }\" ::\"r\"(offset(b)) : \"memory\");", "thread": [32, 0, 0]},
  {"name": "InitSeenClean", "kernel": "init_seen", "block": [64], "args": [{"out": "y", "bytes": 256}], "verdict": "ok"},
  {"name": "NobodyArrives", "kernel": "too_few", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 65}],
   "verdict": "fault", "kind": "deadlock", "words": ["deadlock: a wait at the mbarrier", "outstanding: 1 of 65 arrivals"],
   "after": "void wait(", "line": "\"@!p bra again; }\" ::\"r\"(offset(b)), \"r\"(parity) : \"memory\");", "thread": [0, 0, 0]},
  {"name": "AllArriveClean", "kernel": "too_few", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 64}],
   "verdict": "ok"},
  {"name": "OneWarpArrives", "kernel": "too_few", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 32}],
   "verdict": "race", "kind": "race", "words": ["race:", "shared too_few::s"],
   "line": "s[t] = t;", "thread": [32, 0, 0]},
  {"name": "WrongPhase", "kernel": "wrong_phase", "block": [64],
   "args": [{"out": "y", "bytes": 256}, {"i32": 1}], "verdict": "race", "kind": "race",
   "words": ["race:", "shared wrong_phase::s"],
   "line": "s[t] = t;", "thread": [32, 0, 0]},
  {"name": "RightPhaseClean", "kernel": "wrong_phase", "block": [64],
   "args": [{"out": "y", "bytes": 256}, {"i32": 0}], "verdict": "ok"},
  {"name": "WrittenOver", "kernel": "written_over", "args": [{"out": "y", "bytes": 128}, {"i32": 0}], "verdict": "fault", "kind": "mbarrier",
   "words": ["plain write of the mbarrier at shared"], "line": "s[0] =",
   "thread": [0, 0, 0]},
  {"name": "WrittenOverClean", "kernel": "written_over", "args": [{"out": "y", "bytes": 128}, {"i32": 1}], "verdict": "ok"},
  {"name": "CopyNotAwaited", "kernel": "copy_not_awaited", "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 0}],
   "verdict": "race", "kind": "async", "words": ["cp.async used before its wait: read of shared"], "line": "y[t] =",
   "thread": [0, 0, 0]},
  {"name": "CopyAwaitedClean", "kernel": "copy_not_awaited",
   "args": [{"in": "x", "count": 32}, {"out": "y", "bytes": 128}, {"i32": 1}], "verdict": "ok"}
]} */
typedef unsigned long long u64;
__device__ unsigned offset(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(u64* b, unsigned n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(offset(b)), "r"(n) : "memory");
}
__device__ void inval(u64* b) { asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(offset(b)) : "memory"); }
__device__ void arrive(u64* b) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(offset(b)) : "memory");
}
__device__ void wait(u64* b, unsigned parity) {
  asm volatile(
      "{ .reg .pred p;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra again; }" ::"r"(offset(b)), "r"(parity) : "memory");
}

extern "C" __global__ void not_initialised(int* y) {
  __shared__ u64 b;
  arrive(&b);
  wait(&b, 0);
  y[threadIdx.x] = 1;
}
extern "C" __global__ void init_not_seen(int* y) {
  __shared__ u64 b;
  if (threadIdx.x == 0) init(&b, 64);
  arrive(&b);
  wait(&b, 0);
  y[threadIdx.x] = 1;
}
extern "C" __global__ void init_seen(int* y) {
  __shared__ u64 b;
  if (threadIdx.x == 0) init(&b, 64);
  __syncthreads();
  arrive(&b);
  wait(&b, 0);
  y[threadIdx.x] = 1;
}
extern "C" __global__ void too_few(int* y, int count) {
  __shared__ u64 b;
  __shared__ int s[64];
  const int t = threadIdx.x;
  if (t == 0) init(&b, count);
  __syncthreads();
  s[t] = t;
  if (count == 64 || t < count) arrive(&b);
  wait(&b, 0);
  y[t] = s[63 - t];
}
extern "C" __global__ void wrong_phase(int* y, int phase) {
  __shared__ u64 b;
  __shared__ int s[64];
  const int t = threadIdx.x;
  if (t == 0) init(&b, 64);
  __syncthreads();
  s[t] = t;
  arrive(&b);
  wait(&b, phase);
  y[t] = s[63 - t];
}
extern "C" __global__ void written_over(int* y, int invalidate) {
  __shared__ __align__(8) int s[32];
  u64* b = (u64*)s;
  const int t = threadIdx.x;
  if (t == 0) init(b, 32);
  __syncthreads();
  arrive(b);
  wait(b, 0);
  __syncthreads();
  if (t == 0) {
    if (invalidate) inval(b);
    s[0] = 5;
  }
  __syncthreads();
  y[t] = s[0];
}
extern "C" __global__ void copy_not_awaited(const int* x, int* y, int wait_for_it) {
  __shared__ u64 b;
  __shared__ int s[32];
  const int t = threadIdx.x;
  if (t == 0) init(&b, 32);
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(offset(&s[t])), "l"(x + t) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(offset(&b)) : "memory");
  if (wait_for_it) wait(&b, 0);
  y[t] = s[31 - t];
}
