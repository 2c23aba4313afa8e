/* check {"cases": [
  {"name": "ReductionClean", "kernel": "reduce", "grid": [8], "block": [64],
   "args": [{"in": "x", "type": "f32", "count": 512, "value": 1}, {"out": "y", "bytes": 8}], "verdict": "ok"},
  {"name": "OwnerHasLeft", "kernel": "left", "grid": [2], "args": [{"out": "y", "bytes": 256}, {"i32": 0}],
   "verdict": "fault", "kind": "other", "words": ["in block 1 of the cluster, which has already ended"], "line": "y[blockIdx.x * 32",
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
   "thread": [0, 0, 0]},
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
