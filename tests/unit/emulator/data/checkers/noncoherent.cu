/* check {"cases": [
  {"name": "OwnStore", "kernel": "own_store", "block": [64], "args": [{"out": "y", "bytes": 256}, {"in": "x", "type": "i32", "count": 64}],
   "verdict": "race", "kind": "race", "words": ["non-coherent load", "of y+", "written"], "line": "__ldg(y + threadIdx.x)", "thread": [0, 0, 0]},
  {"name": "StoreOfAnother", "kernel": "store_of_another", "block": [64], "args": [{"out": "y", "bytes": 256}, {"in": "x", "type": "i32", "count": 64}],
   "verdict": "race", "kind": "race", "words": ["non-coherent load", "of y+252"], "line": "__ldg(y + 63 - threadIdx.x)", "thread": [0, 0, 0]},
  {"name": "AnAtomic", "kernel": "an_atomic", "block": [64], "args": [{"in": "y", "type": "i32", "count": 64}, {"in": "x", "type": "i32", "count": 64}],
   "verdict": "race", "kind": "race", "words": ["non-coherent load", "of y+0"], "line": "__ldg(y);", "thread": [0, 0, 0]},
  {"name": "OneOfAVector", "kernel": "one_of_a_vector", "block": [16], "args": [{"in": "y", "type": "i32", "count": 64}, {"in": "x", "type": "i32", "count": 64}],
   "verdict": "race", "kind": "race", "words": ["non-coherent load", "of y+80"], "line": "__ldg((const int4*)y + threadIdx.x)", "thread": [5, 0, 0]},
  {"name": "OtherBuffer", "kernel": "other_buffer", "block": [64], "args": [{"out": "y", "bytes": 256}, {"in": "x", "type": "i32", "count": 64}], "verdict": "ok"},
  {"name": "OtherBytes", "kernel": "other_bytes", "block": [32], "args": [{"in": "y", "type": "i32", "count": 64}, {"in": "x", "type": "i32", "count": 64}], "verdict": "ok"},
  {"name": "StoredAfterwards", "kernel": "stored_afterwards", "block": [64], "args": [{"in": "y", "type": "i32", "count": 64}, {"in": "x", "type": "i32", "count": 64}], "verdict": "ok"},
  {"name": "PlainLoad", "kernel": "plain_load", "block": [64], "args": [{"out": "y", "bytes": 256}, {"in": "x", "type": "i32", "count": 64}], "verdict": "ok"}
]} */
extern "C" __global__ void own_store(int* y, const int* x) {
  y[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  int v = __ldg(y + threadIdx.x);
  __syncthreads();
  y[threadIdx.x] = v + 1;
}
extern "C" __global__ void store_of_another(int* y, const int* x) {
  y[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  int v = __ldg(y + 63 - threadIdx.x);
  __syncthreads();
  y[threadIdx.x] = v;
}
extern "C" __global__ void an_atomic(int* y, const int* x) {
  atomicAdd(y, x[threadIdx.x]);
  __syncthreads();
  int v = __ldg(y);
  if (threadIdx.x > 0) y[threadIdx.x] = v;
}
extern "C" __global__ void one_of_a_vector(int* y, const int* x) {
  if (threadIdx.x == 0) y[21] = x[0];
  __syncthreads();
  int4 v = __ldg((const int4*)y + threadIdx.x);
  __syncthreads();
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
extern "C" __global__ void other_buffer(int* y, const int* x) {
  y[threadIdx.x] = __ldg(x + threadIdx.x);
  __syncthreads();
  int v = __ldg(x + 63 - threadIdx.x);
  y[threadIdx.x] += v;
}
extern "C" __global__ void other_bytes(int* y, const int* x) {
  y[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  int v = __ldg(y + 32 + threadIdx.x);
  y[threadIdx.x] += v;
}
extern "C" __global__ void stored_afterwards(int* y, const int* x) {
  int v = __ldg(y + threadIdx.x);
  y[threadIdx.x] = v + x[threadIdx.x];
}
extern "C" __global__ void plain_load(int* y, const int* x) {
  y[threadIdx.x] = __ldg(x + threadIdx.x);
  __syncthreads();
  int v = y[63 - threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = v;
}
