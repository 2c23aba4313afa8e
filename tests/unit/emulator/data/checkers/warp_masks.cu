/* check {"cases": [
  {"name": "Shuffle", "kernel": "shuffles", "args": [{"out": "y", "bytes": 128}, {"u32": 4294967295}],
   "verdict": "fault", "kind": "warp_mask", "words": ["names lanes that never reach it"], "instruction": "shfl",
   "line": "if (threadIdx.x < 16) y[threadIdx.x] = __shfl_xor_sync(mask, threadIdx.x * 3, 1);", "thread": [0, 0, 0]},
  {"name": "ShuffleClean", "kernel": "shuffles", "args": [{"out": "y", "bytes": 128}, {"u32": 65535}], "verdict": "ok"},
  {"name": "SourceNotThere", "kernel": "reads_inactive", "args": [{"out": "y", "bytes": 128}, {"i32": 16}],
   "verdict": "fault", "kind": "uninitialised", "words": ["an inactive lane's register"],
   "line": "if (threadIdx.x < 16) y[threadIdx.x] = __shfl_xor_sync(0xFFFF, threadIdx.x * 3, distance);", "thread": [0, 0, 0]},
  {"name": "SourceNotThereClean", "kernel": "reads_inactive", "args": [{"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "ok"},
  {"name": "Vote", "kernel": "votes", "args": [{"out": "y", "bytes": 128}, {"u32": 4294967295}],
   "verdict": "fault", "kind": "warp_mask", "words": ["names lanes that never reach it"], "instruction": "vote",
   "line": "if (threadIdx.x < 16) y[threadIdx.x] = __ballot_sync(mask, threadIdx.x & 1);", "thread": [0, 0, 0]},
  {"name": "VoteClean", "kernel": "votes", "args": [{"out": "y", "bytes": 128}, {"u32": 65535}], "verdict": "ok"},
  {"name": "Match", "kernel": "matches", "args": [{"out": "y", "bytes": 128}, {"u32": 4294967295}],
   "verdict": "fault", "kind": "warp_mask", "words": ["names lanes that never reach it"], "instruction": "match",
   "line": "if (threadIdx.x < 16) y[threadIdx.x] = __match_any_sync(mask, threadIdx.x & 3);", "thread": [0, 0, 0]},
  {"name": "MatchClean", "kernel": "matches", "args": [{"out": "y", "bytes": 128}, {"u32": 65535}], "verdict": "ok"},
  {"name": "Reduce", "kernel": "reduces", "args": [{"out": "y", "bytes": 128}, {"u32": 4294967295}],
   "verdict": "fault", "kind": "warp_mask", "words": ["names lanes that never reach it"], "instruction": "redux",
   "line": "if (threadIdx.x < 16) y[threadIdx.x] = __reduce_add_sync(mask, threadIdx.x & 3);", "thread": [0, 0, 0]},
  {"name": "ReduceClean", "kernel": "reduces", "args": [{"out": "y", "bytes": 128}, {"u32": 65535}], "verdict": "ok"},
  {"name": "SyncWarp", "kernel": "syncs", "args": [{"out": "y", "bytes": 128}, {"u32": 4294967295}],
   "verdict": "fault", "kind": "warp_mask", "words": ["__syncwarp names lanes that never reach it"],
   "line": "__syncwarp(mask);", "thread": [0, 0, 0]},
  {"name": "SyncWarpClean", "kernel": "syncs", "args": [{"out": "y", "bytes": 128}, {"u32": 65535}], "verdict": "ok"},
  {"name": "NotInItsOwnMask", "kernel": "own_mask", "args": [{"out": "y", "bytes": 128}, {"u32": 4294901760}],
   "verdict": "fault", "kind": "warp_mask", "words": ["0xffff0000 does not name lane 0"], "instruction": "shfl",
   "line": "y[threadIdx.x] = __shfl_sync(mask, threadIdx.x * 3, 31);", "thread": [0, 0, 0]},
  {"name": "NotInItsOwnMaskClean", "kernel": "own_mask", "args": [{"out": "y", "bytes": 128}, {"u32": 4294967295}],
   "verdict": "ok"},
  {"name": "SyncWithoutItself", "kernel": "own_sync", "args": [{"out": "y", "bytes": 128}, {"u32": 4294967294}],
   "verdict": "fault", "kind": "warp_mask", "words": ["__syncwarp", "does not name lane 0"],
   "line": "__syncwarp(mask);", "thread": [0, 0, 0]},
  {"name": "SyncWithoutItselfClean", "kernel": "own_sync", "args": [{"out": "y", "bytes": 128}, {"u32": 4294967295}],
   "verdict": "ok"},
  {"name": "TilesReadAcross", "kernel": "tiles", "args": [{"out": "y", "bytes": 128}, {"i32": 16}],
   "verdict": "fault", "kind": "uninitialised", "words": ["an inactive lane's register"],
   "line": "y[threadIdx.x] = __shfl_xor_sync(mine, threadIdx.x, distance) + votes;", "thread": [0, 0, 0]},
  {"name": "TilesClean", "kernel": "tiles", "args": [{"out": "y", "bytes": 128}, {"i32": 1}], "verdict": "ok"}
]} */
extern "C" __global__ void shuffles(int* y, unsigned mask) {
  y[threadIdx.x] = 0;
  if (threadIdx.x < 16) y[threadIdx.x] = __shfl_xor_sync(mask, threadIdx.x * 3, 1);
  y[threadIdx.x] += 1;
}
extern "C" __global__ void reads_inactive(int* y, int distance) {
  y[threadIdx.x] = 0;
  if (threadIdx.x < 16) y[threadIdx.x] = __shfl_xor_sync(0xFFFF, threadIdx.x * 3, distance);
  y[threadIdx.x] += 1;
}
extern "C" __global__ void votes(int* y, unsigned mask) {
  y[threadIdx.x] = 0;
  if (threadIdx.x < 16) y[threadIdx.x] = __ballot_sync(mask, threadIdx.x & 1);
  y[threadIdx.x] += 1;
}
extern "C" __global__ void matches(int* y, unsigned mask) {
  y[threadIdx.x] = 0;
  if (threadIdx.x < 16) y[threadIdx.x] = __match_any_sync(mask, threadIdx.x & 3);
  y[threadIdx.x] += 1;
}
extern "C" __global__ void reduces(int* y, unsigned mask) {
  y[threadIdx.x] = 0;
  if (threadIdx.x < 16) y[threadIdx.x] = __reduce_add_sync(mask, threadIdx.x & 3);
  y[threadIdx.x] += 1;
}
extern "C" __global__ void syncs(int* y, unsigned mask) {
  y[threadIdx.x] = 0;
  if (threadIdx.x < 16) {
    __syncwarp(mask);
    y[threadIdx.x] = 1;
  }
  y[threadIdx.x] += 1;
}
extern "C" __global__ void own_mask(int* y, unsigned mask) {
  y[threadIdx.x] = __shfl_sync(mask, threadIdx.x * 3, 31);
}
extern "C" __global__ void own_sync(int* y, unsigned mask) {
  y[threadIdx.x] = 1;
  __syncwarp(mask);
}
extern "C" __global__ void tiles(int* y, int distance) {
  unsigned mine = threadIdx.x < 16 ? 0xFFFFu : 0xFFFF0000u;
  unsigned votes = __ballot_sync(mine, threadIdx.x & 1);
  y[threadIdx.x] = __shfl_xor_sync(mine, threadIdx.x, distance) + votes;
}
