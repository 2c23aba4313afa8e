/* check {"cases": [
  {"name": "Read", "kernel": "vector_read", "block": [4],
   "args": [{"in": "x", "type": "f32", "count": 64}, {"out": "y", "bytes": 64}, {"i32": 1}],
   "verdict": "fault", "kind": "misaligned", "words": ["misaligned read of 16 B at x+4", "thread (0,0,0)"],
   "line": "y[threadIdx.x] = *reinterpret_cast<const float4*>(x + shift * (threadIdx.x + 1));", "thread": [0, 0, 0]},
  {"name": "ReadClean", "kernel": "vector_read", "block": [4],
   "args": [{"in": "x", "type": "f32", "count": 64}, {"out": "y", "bytes": 64}, {"i32": 4}], "verdict": "ok"},
  {"name": "Shared", "kernel": "shared_view", "args": [{"out": "y", "bytes": 256}, {"i32": 4}],
   "verdict": "fault", "kind": "misaligned", "words": ["misaligned write of 8 B at shared shared_view::s+4"],
   "line": "if (threadIdx.x < 2) *mine = threadIdx.x;", "thread": [1, 0, 0]},
  {"name": "SharedClean", "kernel": "shared_view", "args": [{"out": "y", "bytes": 256}, {"i32": 8}], "verdict": "ok"},
  {"name": "InALoop2D", "kernel": "rows", "block": [4, 2], "args": [{"in": "x", "type": "f32", "count": 128}, {"out": "y", "bytes": 64}, {"i32": 18}],
   "verdict": "fault", "kind": "misaligned", "words": ["misaligned read of 16 B at x+72"],
   "line": "sum += row[k].x", "thread": [0, 1, 0]},
  {"name": "InALoop2DClean", "kernel": "rows", "block": [4, 2], "args": [{"in": "x", "type": "f32", "count": 128}, {"out": "y", "bytes": 64}, {"i32": 20}],
   "verdict": "ok"},
  {"name": "Local", "kernel": "local_view", "args": [{"out": "y", "bytes": 128}, {"i32": 2}],
   "verdict": "fault", "kind": "misaligned", "words": ["misaligned read of 4 B at local memory"],
   "line": "y[threadIdx.x] = *reinterpret_cast<int*>(bytes + stride * (threadIdx.x & 7));", "thread": [1, 0, 0]},
  {"name": "LocalClean", "kernel": "local_view", "args": [{"out": "y", "bytes": 128}, {"i32": 4}], "verdict": "ok"},
  {"name": "Atomic", "kernel": "atomic_view", "args": [{"in": "y", "type": "i32", "count": 64}, {"i32": 4}],
   "verdict": "fault", "kind": "misaligned", "words": ["misaligned atomic of 8 B at y+4"],
   "line": "atomicAdd(reinterpret_cast<unsigned long long*>(y + stride * (threadIdx.x & 7)), 1ull);", "thread": [1, 0, 0]},
  {"name": "AtomicClean", "kernel": "atomic_view", "args": [{"in": "y", "type": "i32", "count": 64}, {"i32": 8}],
   "verdict": "ok"}
]} */
extern "C" __global__ void vector_read(const float* x, float4* y, int shift) {
  y[threadIdx.x] = *reinterpret_cast<const float4*>(x + shift * (threadIdx.x + 1));
}
extern "C" __global__ void shared_view(double* y, int stride) {
  __shared__ __align__(16) char s[512];
  double* mine = reinterpret_cast<double*>(s + stride * (threadIdx.x & 1));
  if (threadIdx.x < 2) *mine = threadIdx.x;
  __syncwarp();
  y[threadIdx.x] = threadIdx.x < 2 ? *mine : 0.0;
}
extern "C" __global__ void local_view(int* y, int stride) {
  char bytes[64];
  for (int i = 0; i < 64; ++i) bytes[i] = i + threadIdx.x;
  y[threadIdx.x] = *reinterpret_cast<int*>(bytes + stride * (threadIdx.x & 7));
}
extern "C" __global__ void atomic_view(char* y, int stride) {
  atomicAdd(reinterpret_cast<unsigned long long*>(y + stride * (threadIdx.x & 7)), 1ull);
}
extern "C" __global__ void rows(const float* x, float* y, int pitch) {
  const float4* row = reinterpret_cast<const float4*>(x + threadIdx.y * pitch);
  float sum = 0;
#pragma unroll 1
  for (int k = threadIdx.x; k < 4; k += 2) sum += row[k].x + row[k].w;
  y[threadIdx.y * 4 + threadIdx.x] = sum;
}
