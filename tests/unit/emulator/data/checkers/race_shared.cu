/* check {"cases": [
  {"name": "BetweenWarps", "kernel": "reverse", "block": [64], "args": [{"out": "y", "bytes": 256}],
   "verdict": "race", "kind": "race", "words": ["race:", "shared reverse::s+", "without a barrier"],
   "line": "s[threadIdx.x] = threadIdx.x;", "thread": [32, 0, 0]},
  {"name": "BetweenWarpsClean", "kernel": "reverse_clean", "block": [64], "args": [{"out": "y", "bytes": 256}],
   "verdict": "ok"},
  {"name": "InsideAWarp", "kernel": "neighbour", "args": [{"out": "y", "bytes": 128}],
   "verdict": "race", "kind": "race", "words": ["race: read of shared neighbour::s", "after a write by thread"],
   "line": "s[threadIdx.x ^ 1]",
   "thread": [0, 0, 0]},
  {"name": "InsideAWarpClean", "kernel": "neighbour_clean", "args": [{"out": "y", "bytes": 128}], "verdict": "ok"},
  {"name": "SecondBarrier", "kernel": "pipeline", "block": [64],
   "args": [{"in": "x", "type": "f32", "count": 256}, {"out": "y", "bytes": 256}],
   "verdict": "race", "kind": "race", "words": ["race:", "of shared pipeline::s+"],
   "line": "sum += s[63 - threadIdx.x];", "thread": [32, 0, 0]},
  {"name": "SecondBarrierClean", "kernel": "pipeline_clean", "block": [64],
   "args": [{"in": "x", "type": "f32", "count": 256}, {"out": "y", "bytes": 256}], "verdict": "ok"},
  {"name": "TwoWriters", "kernel": "two_writers", "block": [64], "args": [{"out": "y", "bytes": 4}],
   "verdict": "race", "kind": "race", "words": ["race: write of shared", "after a write by thread"],
   "line": "last = threadIdx.x;", "thread": [1, 0, 0]},
  {"name": "SameValueClean", "kernel": "same_value", "block": [64], "args": [{"out": "y", "bytes": 4}],
   "verdict": "ok"},
  {"name": "Counter", "kernel": "counter", "block": [64], "args": [{"out": "y", "bytes": 4}],
   "verdict": "race", "kind": "race", "words": ["race:", "shared counter::n"],
   "line": "n = n + 1;", "thread": [0, 0, 0]},
  {"name": "CounterClean", "kernel": "counter_clean", "block": [64], "args": [{"out": "y", "bytes": 4}], "verdict": "ok"},
  {"name": "AtomicAgainstPlain", "kernel": "atomic_and_plain", "block": [64], "args": [{"out": "y", "bytes": 256}],
   "verdict": "race", "kind": "race", "words": ["race:", "atomic"],
   "line": "y[threadIdx.x] = n;", "thread": [0, 0, 0]},
  {"name": "Tile2D", "kernel": "transpose", "block": [8, 8], "args": [{"in": "x", "count": 64}, {"out": "y", "bytes": 256}, {"i32": 0}],
   "verdict": "race", "kind": "race", "words": ["race: write of shared transpose::tile+", "without a barrier after a read by thread"],
   "line": "tile[threadIdx.y][threadIdx.x] =", "thread": [1, 0, 0], "other_line": "= tile[threadIdx.x][threadIdx.y]"},
  {"name": "Tile2DClean", "kernel": "transpose", "block": [8, 8], "args": [{"in": "x", "count": 64}, {"out": "y", "bytes": 256}, {"i32": 1}],
   "verdict": "ok"},
  {"name": "ReductionLastSteps", "kernel": "tree", "block": [64], "args": [{"in": "x", "count": 64}, {"out": "y", "bytes": 4}, {"i32": 0}],
   "verdict": "race", "kind": "race", "words": ["race:", "shared tree::s+"],
   "line": "s[threadIdx.x] += s[threadIdx.x + d]", "thread": [0, 0, 0]},
  {"name": "ReductionWithSyncwarpClean", "kernel": "tree", "block": [64], "args": [{"in": "x", "count": 64}, {"out": "y", "bytes": 4}, {"i32": 1}],
   "verdict": "ok"},
  {"name": "DoubleBufferClean", "kernel": "double_buffer", "block": [64], "args": [{"in": "x", "count": 512}, {"out": "y", "bytes": 256}, {"i32": 8}],
   "verdict": "ok"},
  {"name": "SingleBuffer", "kernel": "single_buffer", "block": [64], "args": [{"in": "x", "count": 512}, {"out": "y", "bytes": 256}, {"i32": 8}],
   "verdict": "race", "kind": "race", "words": ["race:", "of shared single_buffer::s+"],
   "line": "sum += s[63 - threadIdx.x]", "thread": [32, 0, 0], "other_line": "s[threadIdx.x] = x["},
  {"name": "ReleaseAcquireClean", "kernel": "released", "block": [64], "args": [{"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "ok"},
  {"name": "FlagWithoutRelease", "kernel": "released", "block": [64], "args": [{"out": "y", "bytes": 128}, {"i32": 0}],
   "verdict": "race", "kind": "race", "words": ["race: read of shared released::s+"],
   "line": "y[threadIdx.x - 32] = s[", "thread": [32, 0, 0], "other_line": "s[threadIdx.x] = threadIdx.x"},
  {"name": "FenceAndVolatileClean", "kernel": "fenced", "block": [64], "args": [{"out": "y", "bytes": 128}], "verdict": "ok"},
  {"name": "ShuffleOrdersClean", "kernel": "by_shuffle", "args": [{"out": "y", "bytes": 128}], "verdict": "ok"},
  {"name": "InAFunction", "kernel": "through_function", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 1}],
   "verdict": "race", "kind": "race", "words": ["race: write of shared through_function::s+128"],
   "line": "p[i] = v;", "after": "void put(", "thread": [32, 0, 0]},
  {"name": "InAFunctionClean", "kernel": "through_function", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 0}],
   "verdict": "ok"},
  {"name": "AtomicAgainstPlainClean", "kernel": "atomic_and_plain_clean", "block": [64],
   "args": [{"out": "y", "bytes": 256}], "verdict": "ok"}
]} */
extern "C" __global__ void reverse(float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" __global__ void reverse_clean(float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" __global__ void neighbour(float* y) {
  __shared__ float s[32];
  s[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void neighbour_clean(float* y) {
  __shared__ float s[32];
  s[threadIdx.x] = threadIdx.x;
  __syncwarp();
  y[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void pipeline(const float* x, float* y) {
  __shared__ float s[64];
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    s[threadIdx.x] = x[k * 64 + threadIdx.x];
    __syncthreads();
    sum += s[63 - threadIdx.x];
  }
  y[threadIdx.x] = sum;
}
extern "C" __global__ void pipeline_clean(const float* x, float* y) {
  __shared__ float s[64];
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    s[threadIdx.x] = x[k * 64 + threadIdx.x];
    __syncthreads();
    sum += s[63 - threadIdx.x];
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}
extern "C" __global__ void two_writers(int* y) {
  __shared__ int last;
  last = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) *y = last;
}
extern "C" __global__ void same_value(int* y) {
  __shared__ int any;
  if (threadIdx.x == 0) any = 0;
  __syncthreads();
  if (threadIdx.x % 3 == 0) any = 1;
  __syncthreads();
  if (threadIdx.x == 0) *y = any;
}
extern "C" __global__ void counter(int* y) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  n = n + 1;
  __syncthreads();
  if (threadIdx.x == 0) *y = n;
}
extern "C" __global__ void counter_clean(int* y) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  atomicAdd(&n, 1);
  __syncthreads();
  if (threadIdx.x == 0) *y = n;
}
extern "C" __global__ void atomic_and_plain(int* y) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  atomicAdd(&n, 1);
  y[threadIdx.x] = n;
}
extern "C" __global__ void atomic_and_plain_clean(int* y) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  atomicAdd(&n, 1);
  __syncthreads();
  y[threadIdx.x] = n;
}
extern "C" __global__ void transpose(const int* x, int* y, int barrier) {
  __shared__ int tile[8][9];
  for (int k = 0; k < 2; ++k) {
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 8 + threadIdx.x] + k;
    __syncthreads();
    y[threadIdx.y * 8 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
    if (barrier) __syncthreads();
  }
}
extern "C" __global__ void tree(const int* x, int* y, int sync) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32) {
    s[threadIdx.x] += s[threadIdx.x + 32];
#pragma unroll 1
    for (int d = 16; d > 0; d /= 2) {
      if (sync) __syncwarp();
      if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    }
  }
  if (threadIdx.x == 0) *y = s[0];
}
extern "C" __global__ void double_buffer(const int* x, int* y, int n) {
  __shared__ int s[2][64];
  int sum = 0;
  for (int k = 0; k < n; ++k) {
    s[k & 1][threadIdx.x] = x[k * 64 + threadIdx.x];
    __syncthreads();
    sum += s[k & 1][63 - threadIdx.x];
  }
  y[threadIdx.x] = sum;
}
extern "C" __global__ void single_buffer(const int* x, int* y, int n) {
  __shared__ int s[64];
  int sum = 0;
  for (int k = 0; k < n; ++k) {
    s[threadIdx.x] = x[k * 64 + threadIdx.x];
    __syncthreads();
    sum += s[63 - threadIdx.x];
  }
  y[threadIdx.x] = sum;
}
extern "C" __global__ void released(int* y, int release) {
  __shared__ int s[32];
  __shared__ int flag;
  const unsigned at = (unsigned)__cvta_generic_to_shared(&flag);
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    s[threadIdx.x] = threadIdx.x;
    __syncwarp();
    if (threadIdx.x == 0) {
      if (release)
        asm volatile("st.release.cta.shared.u32 [%0], 1;" ::"r"(at) : "memory");
      else
        asm volatile("st.relaxed.cta.shared.u32 [%0], 1;" ::"r"(at) : "memory");
    }
  } else {
    int seen = 0;
    while (seen == 0) asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(at) : "memory");
    y[threadIdx.x - 32] = s[63 - threadIdx.x];
  }
}
extern "C" __global__ void fenced(int* y) {
  __shared__ int s[32];
  __shared__ int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    s[threadIdx.x] = threadIdx.x;
    __threadfence_block();
    __syncwarp();
    if (threadIdx.x == 0) *(volatile int*)&flag = 1;
  } else {
    while (*(volatile int*)&flag == 0) {
    }
    __threadfence_block();
    y[threadIdx.x - 32] = s[63 - threadIdx.x];
  }
}
extern "C" __global__ void by_shuffle(int* y) {
  __shared__ int s[32];
  s[threadIdx.x] = threadIdx.x;
  const int sum = __shfl_xor_sync(0xffffffff, threadIdx.x, 1);
  y[threadIdx.x] = s[threadIdx.x ^ 1] + sum;
}
__device__ __noinline__ void put(int* p, int i, int v) {
  p[i] = v;
}
extern "C" __global__ void through_function(int* y, int overlap) {
  __shared__ int s[96];
  for (int k = 0; k < 2; ++k) put(s, threadIdx.x + 32 * k * overlap, threadIdx.x + k);
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}
