/* check {"cases": [
  {"name": "OnlyTheWriterKeepsItClean", "kernel": "total", "block": [96], "args": [{"in": "x", "count": 96}, {"out": "y", "bytes": 384}],
   "verdict": "ok"},
  {"name": "OthersKeepIt", "kernel": "total_early", "block": [96], "args": [{"in": "x", "count": 96}, {"out": "y", "bytes": 384}],
   "verdict": "race", "kind": "race", "words": ["race: read of shared total_early::s", "after a write by thread (0,0,0)"],
   "line": "? s[0] : 0", "thread": [64, 0, 0], "other_line": "s[threadIdx.x] = sum", "instruction": "ld.shared"},
  {"name": "InTheWarp", "kernel": "in_warp", "args": [{"out": "y", "bytes": 128}, {"i32": 3}, {"i32": 7}],
   "verdict": "race", "kind": "race", "words": ["race: read of shared in_warp::s", "after a write by thread (0,0,0)"],
   "line": "= s[0]", "thread": [3, 0, 0], "other_line": "s[threadIdx.x] ="},
  {"name": "InTheWarpClean", "kernel": "in_warp", "args": [{"out": "y", "bytes": 128}, {"i32": 0}, {"i32": 7}], "verdict": "ok"},
  {"name": "ValueOfTheRoundBeforeClean", "kernel": "rounds", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 4}],
   "verdict": "ok"},
  {"name": "BetweenBlocksClean", "kernel": "between_blocks", "grid": [3], "block": [32],
   "args": [{"in": "state", "count": 96, "value": 1}, {"out": "y", "bytes": 384}, {"i32": 0}, {"i32": 7}], "verdict": "ok"},
  {"name": "BetweenBlocks", "kernel": "between_blocks", "grid": [3], "block": [32],
   "args": [{"in": "state", "count": 96, "value": 1}, {"out": "y", "bytes": 384}, {"i32": 1}, {"i32": 7}],
   "verdict": "race", "kind": "race", "words": ["race between blocks: read of state+0", "after a write by block (0,0,0)"],
   "line": "= state[0]", "in_block": [1, 0, 0], "thread": [0, 0, 0], "other_line": "] = given"}
]} */
extern "C" __global__ void total(const int* x, int* y) {
  __shared__ int s[96];
  int sum = x[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
  s[threadIdx.x] = sum;
  y[threadIdx.x] = threadIdx.x == 0 ? s[0] : 0;
}
extern "C" __global__ void total_early(const int* x, int* y) {
  __shared__ int s[96];
  int sum = x[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
  s[threadIdx.x] = sum;
  y[threadIdx.x] = threadIdx.x % 64 == 0 ? s[0] : 0;
}
extern "C" __global__ void in_warp(int* y, int reader, int given) {
  __shared__ int s[32];
  s[threadIdx.x] = given + threadIdx.x;
  const int value = s[0];
  y[threadIdx.x] = threadIdx.x == reader ? value : -1;
}
extern "C" __global__ void rounds(int* y, int n) {
  __shared__ int s[64];
  int own = threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    s[threadIdx.x] = own + k;
    const int value = s[0];
    own = threadIdx.x == 0 ? value : own + 1;
  }
  y[threadIdx.x] = own;
}
extern "C" __global__ void between_blocks(int* state, int* y, int reader, int given) {
  state[blockIdx.x * 32 + threadIdx.x] = given;
  const int value = state[0];
  y[blockIdx.x * 32 + threadIdx.x] = blockIdx.x == reader ? value : -1;
}
