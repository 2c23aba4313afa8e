/* check {"cases": [
  {"name": "ReductionClean", "kernel": "reduce", "grid": [8], "block": [64],
   "args": [{"in": "x", "type": "f32", "count": 512, "value": 1}, {"out": "y", "bytes": 8}], "verdict": "ok"},
  {"name": "OwnerHasLeft", "kernel": "left", "grid": [2], "args": [{"out": "y", "bytes": 256}, {"i32": 0}],
   "verdict": "fault", "kind": "barrier", "words": ["in block 1 of the cluster, which has already ended"], "line": "y[blockIdx.x * 32",
   "thread": [0, 0, 0]},
  {"name": "OwnerStaysClean", "kernel": "left", "grid": [2], "args": [{"out": "y", "bytes": 256}, {"i32": 1}],
   "verdict": "ok"},
  {"name": "NoSuchBlock", "kernel": "far", "grid": [2], "args": [{"out": "y", "bytes": 256}, {"i32": 2}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["mapa to block 2 of a cluster of 2"],
   "line": "int* other = cluster.map_shared_rank(s, rank);", "thread": [0, 0, 0], "in_block": [1, 0, 0]},
  {"name": "BeyondSharedMemory", "kernel": "beyond", "grid": [2], "args": [{"out": "y", "bytes": 256}, {"i32": 1}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds read of 4 B at", "in block"], "line": "y[blockIdx.x * 32",
   "thread": [31, 0, 0], "in_block": [1, 0, 0]},
  {"name": "WithinClean", "kernel": "beyond", "grid": [2], "args": [{"out": "y", "bytes": 256}, {"i32": 0}],
   "verdict": "ok"},
  {"name": "NeverWritten", "kernel": "unwritten", "grid": [2], "args": [{"out": "y", "bytes": 256}],
   "verdict": "fault", "kind": "uninitialised", "words": ["uninitialised value of", "of the cluster"], "line": "y[blockIdx.x * 32",
   "thread": [0, 0, 0], "in_block": [1, 0, 0]},
  {"name": "ReadTooEarly", "kernel": "exchange", "grid": [4], "args": [{"out": "y", "bytes": 512}, {"i32": 1}],
   "verdict": "race", "kind": "race", "words": ["race: write of shared exchange::s+0 without a cluster barrier after a read by block (0,0,0) of the cluster"],
   "line": "s[threadIdx.x] = blockIdx.x", "thread": [0, 0, 0], "in_block": [1, 0, 0], "other_line": "other[31 - threadIdx.x]"},
  {"name": "ReadInTimeClean", "kernel": "exchange", "grid": [4], "args": [{"out": "y", "bytes": 512}, {"i32": 0}],
   "verdict": "ok"},
  {"name": "OverwrittenInALoop", "kernel": "rounds", "grid": [2], "block": [8, 4], "args": [{"out": "y", "bytes": 256}, {"i32": 1}],
   "verdict": "race", "kind": "race", "words": ["race: read of shared rounds::mine+124 in block 1 of the cluster without a cluster barrier after a write by thread (7,3,0) of block (1,0,0)"],
   "line": "sum += other[31 - t]", "thread": [0, 0, 0], "in_block": [0, 0, 0], "other_line": "mine[t] = k"},
  {"name": "OverwrittenInALoopClean", "kernel": "rounds", "grid": [2], "block": [8, 4], "args": [{"out": "y", "bytes": 256}, {"i32": 0}],
   "verdict": "ok"},
  {"name": "TwoWriteOneBlock", "kernel": "push", "grid": [4], "args": [{"out": "y", "bytes": 128}, {"i32": 0}],
   "verdict": "race", "kind": "race", "words": ["race: write of shared push::s+", "in block 0 of the cluster without a cluster barrier after a write by block (3,0,0)"],
   "line": "first[(threadIdx.x + shift) % 32] =", "thread": [0, 0, 0], "in_block": [1, 0, 0]},
  {"name": "EachItsOwnClean", "kernel": "push_apart", "grid": [4], "args": [{"out": "y", "bytes": 512}, {"i32": 0}], "verdict": "ok"},
  {"name": "SameValueClean", "kernel": "push_same", "grid": [4], "args": [{"out": "y", "bytes": 4}], "verdict": "ok"},
  {"name": "FlagClean", "kernel": "flagged", "grid": [2], "args": [{"out": "y", "bytes": 128}], "verdict": "ok"},
  {"name": "RanksClean", "kernel": "ranks", "grid": [8, 2], "args": [{"out": "y", "bytes": 64}], "verdict": "ok"}
]} */
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(4, 1, 1) reduce(const float* x, float* y) {
  __shared__ float sum;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) sum = 0;
  cluster.sync();
  float* first = cluster.map_shared_rank(&sum, 0);
  atomicAdd(first, x[blockIdx.x * 64 + threadIdx.x]);
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) {
    y[blockIdx.x / 4] = sum;
    if (sum != 256) __trap();
  }
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) left(int* y, int stay) {
  __shared__ int s[32];
  auto cluster = cg::this_cluster();
  s[threadIdx.x] = threadIdx.x;
  cluster.sync();
  if (cluster.block_rank() == 0) {
    int v = 0;
    for (int i = 0; i < 100; ++i) v += *(volatile int*)&s[(threadIdx.x + i) % 32];
    int* other = cluster.map_shared_rank(s, 1);
    y[blockIdx.x * 32 + threadIdx.x] = other[threadIdx.x] + (v & 1);
  }
  if (stay) cluster.sync();
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) far(int* y, int rank) {
  __shared__ int s[32];
  auto cluster = cg::this_cluster();
  s[threadIdx.x] = threadIdx.x;
  cluster.sync();
  int* other = cluster.map_shared_rank(s, rank);
  y[blockIdx.x * 32 + threadIdx.x] = other[threadIdx.x];
  cluster.sync();
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) beyond(int* y, int by) {
  __shared__ int s[32];
  auto cluster = cg::this_cluster();
  s[threadIdx.x] = threadIdx.x;
  cluster.sync();
  int* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  y[blockIdx.x * 32 + threadIdx.x] = other[threadIdx.x + by];
  cluster.sync();
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) unwritten(int* y) {
  __shared__ int s[32];
  auto cluster = cg::this_cluster();
  if (y == nullptr) s[threadIdx.x] = 1;
  cluster.sync();
  int* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  y[blockIdx.x * 32 + threadIdx.x] = other[threadIdx.x];
  cluster.sync();
}
extern "C" __global__ void __cluster_dims__(4, 2, 1) ranks(int* y) {
  auto cluster = cg::this_cluster();
  const dim3 at = cluster.block_index();
  const bool right = at.x == blockIdx.x % 4 && at.y == blockIdx.y && cluster.num_blocks() == 8 &&
                     cluster.block_rank() == at.y * 4 + at.x && cluster.dim_blocks().x == 4;
  if (!right) __trap();
  if (threadIdx.x == 0) y[blockIdx.y * 8 + blockIdx.x] = 1;
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) exchange(int* y, int early) {
  __shared__ int s[32];
  auto cluster = cg::this_cluster();
  int* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  int v = 0;
  if (early && cluster.block_rank() == 0) v = other[31 - threadIdx.x];
  s[threadIdx.x] = blockIdx.x;
  cluster.sync();
  if (!early) v = other[31 - threadIdx.x];
  y[blockIdx.x * 32 + threadIdx.x] = v;
  cluster.sync();
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) rounds(int* y, int one_barrier) {
  __shared__ int mine[32];
  auto cluster = cg::this_cluster();
  const int t = threadIdx.y * 8 + threadIdx.x;
  int* other = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1);
  int sum = 0;
  for (int k = 0; k < 4; ++k) {
    mine[t] = k * 10 + t;
    cluster.sync();
    sum += other[31 - t];
    if (!one_barrier) cluster.sync();
  }
  cluster.sync();
  y[blockIdx.x * 32 + t] = sum;
}
extern "C" __global__ void __cluster_dims__(4, 1, 1) push(int* y, int shift) {
  __shared__ int s[32];
  auto cluster = cg::this_cluster();
  s[threadIdx.x] = -1;
  cluster.sync();
  int* first = cluster.map_shared_rank(s, 0);
  if (cluster.block_rank() != 0) first[(threadIdx.x + shift) % 32] = cluster.block_rank();
  cluster.sync();
  if (cluster.block_rank() == 0) y[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void __cluster_dims__(4, 1, 1) push_apart(int* y, int shift) {
  __shared__ int s[128];
  auto cluster = cg::this_cluster();
  for (int k = 0; k < 4; ++k) s[k * 32 + threadIdx.x] = -1;
  cluster.sync();
  int* first = cluster.map_shared_rank(s, 0);
  first[cluster.block_rank() * 32 + threadIdx.x + shift] = cluster.block_rank();
  cluster.sync();
  if (cluster.block_rank() == 0)
    for (int k = 0; k < 4; ++k) y[k * 32 + threadIdx.x] = s[k * 32 + threadIdx.x];
}
extern "C" __global__ void __cluster_dims__(4, 1, 1) push_same(int* y) {
  __shared__ int any;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) any = 0;
  cluster.sync();
  if (threadIdx.x % 4 == 1) *cluster.map_shared_rank(&any, 0) = 1;
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) *y = any;
}
// A flag in the other block's memory, with fences, in place of a cluster barrier.
extern "C" __global__ void __cluster_dims__(2, 1, 1) flagged(int* y) {
  __shared__ int s[32];
  __shared__ int ready;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) ready = 0;
  cluster.sync();
  if (cluster.block_rank() == 0) {
    cluster.map_shared_rank(s, 1)[threadIdx.x] = threadIdx.x;
    __threadfence();
    __syncwarp();
    if (threadIdx.x == 0) atomicExch(cluster.map_shared_rank(&ready, 1), 1);
  } else {
    while (*(volatile int*)&ready == 0) {
    }
    __threadfence();
    y[threadIdx.x] = s[31 - threadIdx.x];
  }
  cluster.sync();
}
