/* check {"cases": [
  {"name": "NextArray", "kernel": "next_array", "args": [{"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "fault", "kind": "out_of_bounds",
   "words": ["out-of-bounds read of 4 B at shared next_array::a+128 (an array of 128 B), inside shared next_array::b+0"],
   "line": "y[threadIdx.x] = a[", "thread": [31, 0, 0]},
  {"name": "NextArrayClean", "kernel": "next_array", "args": [{"out": "y", "bytes": 128}, {"i32": 0}], "verdict": "ok"},
  {"name": "Before2D", "kernel": "before", "block": [8, 4], "args": [{"out": "y", "bytes": 128}, {"i32": 1}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds write of 4 B at shared before::tile-4"],
   "line": "tile[threadIdx.y][", "thread": [0, 0, 0]},
  {"name": "Before2DClean", "kernel": "before", "block": [8, 4], "args": [{"out": "y", "bytes": 128}, {"i32": 0}],
   "verdict": "ok"},
  {"name": "PaddingInALoop", "kernel": "padding", "args": [{"out": "y", "bytes": 128}, {"i32": 4}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds write of 1 B at shared padding::flags+3 (an array of 3 B)"],
   "line": "flags[i] =", "thread": [0, 0, 0]},
  {"name": "PaddingInALoopClean", "kernel": "padding", "args": [{"out": "y", "bytes": 128}, {"i32": 3}], "verdict": "ok"},
  {"name": "Atomic", "kernel": "adds", "block": [64], "args": [{"out": "y", "bytes": 64}, {"i32": 17}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds atomic of 4 B at shared adds::bins+64"],
   "line": "atomicAdd", "thread": [16, 0, 0]},
  {"name": "AtomicClean", "kernel": "adds", "block": [64], "args": [{"out": "y", "bytes": 64}, {"i32": 16}], "verdict": "ok"},
  {"name": "AfterDivergence", "kernel": "diverges", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 0}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds read of 4 B at shared diverges::odd+128"],
   "line": "odd[threadIdx.x / 2 + 1", "thread": [63, 0, 0]},
  {"name": "AfterDivergenceClean", "kernel": "diverges", "block": [64], "args": [{"out": "y", "bytes": 256}, {"i32": 1}],
   "verdict": "ok"},
  {"name": "BeforeDynamic", "kernel": "carved", "block": [32], "shared": 256,
   "args": [{"out": "y", "bytes": 128}, {"i32": -1}], "verdict": "fault", "kind": "out_of_bounds",
   "words": ["out-of-bounds write of 4 B at shared (dynamic)-4 (the launch's array of 256 B)"],
   "line": "first[threadIdx.x + shift] =", "thread": [0, 0, 0]},
  {"name": "CarvedClean", "kernel": "carved", "block": [32], "shared": 256,
   "args": [{"out": "y", "bytes": 128}, {"i32": 0}], "verdict": "ok"},
  {"name": "BuffersSwappedClean", "kernel": "swapped", "args": [{"out": "y", "bytes": 128}, {"i32": 5}], "verdict": "ok"},
  {"name": "ChosenClean", "kernel": "chosen", "args": [{"out": "y", "bytes": 128}, {"i32": 5}], "verdict": "ok"},
  {"name": "StructClean", "kernel": "in_struct", "args": [{"out": "y", "bytes": 128}, {"i32": 4}], "verdict": "ok"},
  {"name": "ThroughAFunction", "kernel": "through", "args": [{"out": "y", "bytes": 128}, {"i32": 32}],
   "verdict": "fault", "kind": "out_of_bounds", "words": ["out-of-bounds read of 4 B at shared"],
   "line": "return mine[i]", "after": "own_array(", "thread": [0, 0, 0]},
  {"name": "ThroughAFunctionClean", "kernel": "through", "args": [{"out": "y", "bytes": 128}, {"i32": 31}], "verdict": "ok"},
  {"name": "PassedClean", "kernel": "passed", "args": [{"out": "y", "bytes": 128}], "verdict": "ok"}
]} */
extern "C" __global__ void next_array(int* y, int shift) {
  __shared__ int a[32];
  __shared__ int b[32];
  a[threadIdx.x] = threadIdx.x;
  b[threadIdx.x ^ 1] = 1;
  __syncwarp();
  y[threadIdx.x] = a[threadIdx.x + shift] + b[threadIdx.x];
}
extern "C" __global__ void before(int* y, int halo) {
  __shared__ int count[4];
  __shared__ int tile[4][8];
  if (threadIdx.x == 0) count[threadIdx.y] = 1;
  __syncthreads();
  tile[threadIdx.y][(int)threadIdx.x - halo] = threadIdx.x;
  __syncthreads();
  y[threadIdx.y * 8 + threadIdx.x] = tile[threadIdx.y][threadIdx.x] + count[threadIdx.y];
}
extern "C" __global__ void padding(int* y, int n) {
  __shared__ char flags[3];
  __shared__ int sums[32];
  sums[threadIdx.x] = 0;
  if (threadIdx.x == 0)
#pragma unroll 1
    for (int i = 0; i < n; ++i) flags[i] = i;
  __syncthreads();
  y[threadIdx.x] = sums[31 - threadIdx.x] + flags[2];
}
extern "C" __global__ void adds(int* y, int n) {
  __shared__ int bins[16];
  __shared__ int other[64];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  other[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[threadIdx.x % n], 1);
  __syncthreads();
  if (threadIdx.x < 16) y[threadIdx.x] = bins[threadIdx.x] + other[threadIdx.x ^ 1];
}
extern "C" __global__ void diverges(int* y, int back) {
  __shared__ int even[32];
  __shared__ int odd[32];
  __shared__ int more[32];
  if (threadIdx.x < 32) more[threadIdx.x] = even[threadIdx.x] = odd[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x & 1)
    y[threadIdx.x] = odd[threadIdx.x / 2 + 1 - back];
  else
    y[threadIdx.x] = even[threadIdx.x / 2] + more[threadIdx.x / 2];
}
extern "C" __global__ void carved(int* y, int shift) {
  __shared__ int fixed[32];
  extern __shared__ int pool[];
  int* first = pool;
  int* second = pool + 32;
  fixed[threadIdx.x] = threadIdx.x;
  __syncwarp();
  first[threadIdx.x + shift] = threadIdx.x;
  second[threadIdx.x] = 7;
  __syncwarp();
  y[threadIdx.x] = first[63 - threadIdx.x] + second[-1 - (int)threadIdx.x] + fixed[threadIdx.x ^ 1];
}
extern "C" __global__ void swapped(int* y, int n) {
  __shared__ int a[32];
  __shared__ int b[32];
  int* from = a;
  int* to = b;
  from[threadIdx.x] = threadIdx.x;
  __syncwarp();
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    to[threadIdx.x] = from[threadIdx.x ^ 1] + 1;
    __syncwarp();
    int* t = from;
    from = to;
    to = t;
  }
  y[threadIdx.x] = from[threadIdx.x];
}
extern "C" __global__ void chosen(int* y, int n) {
  __shared__ int a[32];
  __shared__ int b[64];
  a[threadIdx.x] = b[threadIdx.x] = b[threadIdx.x + 32] = threadIdx.x;
  __syncwarp();
  int* p = n > 3 ? b : a;
  y[threadIdx.x] = p[threadIdx.x + (n > 3 ? 32 : 0)];
}
struct Both {
  int a[32];
  int b[32];
};
extern "C" __global__ void in_struct(int* y, int n) {
  __shared__ Both s;
  s.a[threadIdx.x] = threadIdx.x;
  s.b[threadIdx.x] = n;
  __syncwarp();
  int* all = reinterpret_cast<int*>(&s);
  y[threadIdx.x] = all[threadIdx.x * 2] + all[63 - threadIdx.x];
}
__device__ __noinline__ int own_array(int i, int n) {
  __shared__ int mine[32];
  if (threadIdx.x < 32) mine[threadIdx.x] = n;
  __syncthreads();
  return mine[i];
}
extern "C" __global__ void through(int* y, int i) {
  __shared__ int other[32];
  other[threadIdx.x] = threadIdx.x;
  y[threadIdx.x] = own_array(i, 5) + other[threadIdx.x ^ 1];
}
__device__ __noinline__ int sum_of(const int* p, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += p[i];
  return sum;
}
extern "C" __global__ void passed(int* y) {
  __shared__ int a[32];
  __shared__ int b[16];
  a[threadIdx.x] = threadIdx.x;
  if (threadIdx.x < 16) b[threadIdx.x] = 1;
  __syncwarp();
  y[threadIdx.x] = sum_of(a, 32) + sum_of(b, 16);
}
