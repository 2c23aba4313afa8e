/* check {"cases": [
  {"name": "InsideAWarp", "kernel": "half_warp", "args": [{"out": "y", "bytes": 128}, {"i32": 16}],
   "verdict": "fault", "kind": "barrier", "words": ["divergent barrier"], "line": "__syncthreads",
   "thread": [0, 0, 0]},
  {"name": "InsideAWarpClean", "kernel": "half_warp", "args": [{"out": "y", "bytes": 128}, {"i32": 32}],
   "verdict": "ok"},
  {"name": "DivergentLoop", "kernel": "loop", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 1}],
   "verdict": "fault", "kind": "barrier", "words": ["divergent barrier"], "line": "__syncthreads",
   "thread": [1, 0, 0]},
  {"name": "DivergentLoopClean", "kernel": "loop", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 0}],
   "verdict": "ok"},
  {"name": "LeftEarlyClean", "kernel": "left_early", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 40}],
   "verdict": "ok"},
  {"name": "TooFewArrive", "kernel": "named", "block": [96], "args": [{"out": "y", "bytes": 384}, {"i32": 128}],
   "verdict": "fault", "kind": "barrier", "words": ["barrier 1"], "instruction": "bar",
   "line": "asm volatile(\"bar.sync 1, %0;\" ::\"r\"(count) : \"memory\");", "thread": [0, 0, 0]},
  {"name": "TooFewArriveClean", "kernel": "named", "block": [96], "args": [{"out": "y", "bytes": 384}, {"i32": 96}],
   "verdict": "ok"},
  {"name": "NoSuchBarrier", "kernel": "numbered", "args": [{"out": "y", "bytes": 128}, {"i32": 16}],
   "verdict": "fault", "kind": "barrier", "words": ["barrier 16 does not exist"],
   "line": "asm volatile(\"bar.sync %0;\" ::\"r\"(id) : \"memory\");", "thread": [0, 0, 0]},
  {"name": "NoSuchBarrierClean", "kernel": "numbered", "args": [{"out": "y", "bytes": 128}, {"i32": 15}],
   "verdict": "ok"},
  {"name": "NoWholeWarps", "kernel": "named", "block": [96], "args": [{"out": "y", "bytes": 384}, {"i32": 48}],
   "verdict": "fault", "kind": "barrier", "words": ["barrier 1: 48 threads are no whole number of warps"],
   "instruction": "bar.sync 1", "line": "bar.sync 1", "thread": [0, 0, 0]},
  {"name": "PartOfTheLastWarpClean", "kernel": "named", "block": [10, 4], "args": [{"out": "y", "bytes": 160}, {"i32": 64}],
   "verdict": "ok"},
  {"name": "MoreThanTheBlock2D", "kernel": "named", "block": [10, 4], "args": [{"out": "y", "bytes": 160}, {"i32": 96}],
   "verdict": "fault", "kind": "barrier", "words": ["barrier 1 expects 96 threads, the block has 40"],
   "line": "bar.sync 1", "thread": [0, 0, 0]},
  {"name": "OthersHaveEnded", "kernel": "ended", "block": [96], "args": [{"out": "y", "bytes": 384}, {"i32": 64}],
   "verdict": "fault", "kind": "barrier", "words": ["barrier 1 expects 96 threads, 64 came and others have ended"],
   "line": "bar.sync 1", "thread": [0, 0, 0]},
  {"name": "OthersHaveEndedClean", "kernel": "ended", "block": [96], "args": [{"out": "y", "bytes": 384}, {"i32": 96}],
   "verdict": "ok"},
  {"name": "CountsDiffer", "kernel": "counts_differ", "block": [96], "args": [{"out": "y", "bytes": 384}, {"i32": 32}],
   "verdict": "fault", "kind": "barrier", "words": ["barrier 1 expects 64 threads here, but 96 where others wait for it"],
   "line": "bar.sync %0, %1", "after": "void sync(", "call_line": "sync(1, 64)", "thread": [64, 0, 0]},
  {"name": "CountsDifferClean", "kernel": "counts_differ", "block": [96], "args": [{"out": "y", "bytes": 384}, {"i32": 0}],
   "verdict": "ok"},
  {"name": "LanesDisagree", "kernel": "by_lane", "args": [{"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "fault", "kind": "barrier", "words": ["name different barriers"], "line": "bar.sync %0, 32", "after": "void sync_32(",
   "thread": [1, 0, 0]},
  {"name": "LanesDisagreeClean", "kernel": "by_lane", "args": [{"out": "y", "bytes": 128}, {"i32": 0}], "verdict": "ok"},
  {"name": "ThirdWarpComesToo", "kernel": "pairs", "block": [96], "args": [{"out": "y", "bytes": 384}],
   "verdict": "fault", "kind": "barrier", "words": ["barrier 1 expects 64 threads, 32 came and others have ended"],
   "line": "bar.sync %0, %1", "after": "void sync(", "call_line": "sync(1, 64)", "thread": [64, 0, 0]},
  {"name": "TwoPairsClean", "kernel": "pairs", "block": [128], "args": [{"out": "y", "bytes": 512}], "verdict": "ok"},
  {"name": "ProducersArriveClean", "kernel": "arrive", "block": [64], "args": [{"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "ok"},
  {"name": "ProducersDoNot", "kernel": "arrive", "block": [64], "args": [{"out": "y", "bytes": 128}, {"i32": 0}],
   "verdict": "fault", "kind": "barrier", "words": ["barrier 2 expects 64 threads, 32 came and others have ended"],
   "line": "bar.sync %0, %1", "after": "void sync(", "call_line": "sync(2, 64)", "thread": [0, 0, 0]},
  {"name": "AfterDivergence", "kernel": "in_a_function", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 5}],
   "verdict": "fault", "kind": "barrier", "words": ["divergent barrier"], "line": "__syncthreads", "thread": [5, 0, 0]},
  {"name": "AfterDivergenceClean", "kernel": "in_a_function", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 32}],
   "verdict": "ok"}
]} */
__device__ __forceinline__ void sync(int id, int count) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory");
}
__device__ __forceinline__ void sync_32(int id) {
  asm volatile("bar.sync %0, 32;" ::"r"(id) : "memory");
}
extern "C" __global__ void half_warp(int* y, int n) {
  if (threadIdx.x < n) {
    y[threadIdx.x] = 1;
    __syncthreads();
  }
  __syncwarp();
  y[threadIdx.x] = 2;
}
extern "C" __global__ void loop(int* y, int uneven) {
  int sum = 0;
  for (int i = 0; i < 2 + (threadIdx.x & uneven); ++i) {
    __syncthreads();
    sum += i;
  }
  y[threadIdx.x] = sum;
  __syncthreads();
}
extern "C" __global__ void left_early(int* y, int n) {
  if (threadIdx.x >= n) return;
  __syncthreads();
  y[threadIdx.x] = 1;
}
extern "C" __global__ void named(int* y, int count) {
  asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory");
  y[threadIdx.x] = 1;
}
extern "C" __global__ void numbered(int* y, int id) {
  asm volatile("bar.sync %0;" ::"r"(id) : "memory");
  y[threadIdx.x] = 1;
}
extern "C" __global__ void ended(int* y, int n) {
  y[threadIdx.x] = 0;
  if (threadIdx.x >= n) return;
  asm volatile("bar.sync 1, 96;" ::: "memory");
  y[threadIdx.x] = 1;
}
extern "C" __global__ void counts_differ(int* y, int differ) {
  if (differ && threadIdx.x >= 64) {
    sync(1, 64);
  } else {
    sync(1, 96);
  }
  y[threadIdx.x] = 1;
}
extern "C" __global__ void by_lane(int* y, int step) {
  sync_32(1 + threadIdx.x * step % 4);
  y[threadIdx.x] = 1;
}
extern "C" __global__ void pairs(int* y) {
  sync(1, 64);
  y[threadIdx.x] = 1;
}
extern "C" __global__ void arrive(int* y, int arrives) {
  __shared__ int s[32];
  if (threadIdx.x < 32) {
    sync(2, 64);
    y[threadIdx.x] = arrives ? s[threadIdx.x ^ 1] : 0;
  } else {
    s[threadIdx.x - 32] = threadIdx.x;
    if (arrives) asm volatile("bar.arrive 2, 64;" ::: "memory");
  }
}
__device__ __noinline__ void step(int* y, int i) {
  y[i] = 1;
  __syncthreads();
  y[i] += 1;
}
extern "C" __global__ void in_a_function(int* y, int n) {
  if (threadIdx.x < n)
    step(y, threadIdx.x);
  else
    __syncthreads();
}
