/* check {"cases": [
  {"name": "InsideAWarp", "kernel": "half_warp", "args": [{"out": "y", "bytes": 128}, {"i32": 16}],
   "verdict": "fault", "kind": "barrier", "words": ["divergent barrier"], "line": "__syncthreads"},
  {"name": "InsideAWarpClean", "kernel": "half_warp", "args": [{"out": "y", "bytes": 128}, {"i32": 32}],
   "verdict": "ok"},
  {"name": "DivergentLoop", "kernel": "loop", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 1}],
   "verdict": "fault", "kind": "barrier", "words": ["divergent barrier"], "line": "__syncthreads"},
  {"name": "DivergentLoopClean", "kernel": "loop", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 0}],
   "verdict": "ok"},
  {"name": "LeftEarlyClean", "kernel": "left_early", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 40}],
   "verdict": "ok"},
  {"name": "TooFewArrive", "kernel": "named", "block": [96], "args": [{"out": "y", "bytes": 384}, {"i32": 128}],
   "verdict": "fault", "kind": "barrier", "words": ["barrier 1"], "instruction": "bar"},
  {"name": "TooFewArriveClean", "kernel": "named", "block": [96], "args": [{"out": "y", "bytes": 384}, {"i32": 96}],
   "verdict": "ok"},
  {"name": "NoSuchBarrier", "kernel": "numbered", "args": [{"out": "y", "bytes": 128}, {"i32": 16}],
   "verdict": "fault", "kind": "barrier", "words": ["barrier 16 does not exist"]},
  {"name": "NoSuchBarrierClean", "kernel": "numbered", "args": [{"out": "y", "bytes": 128}, {"i32": 15}],
   "verdict": "ok"}
]} */
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
