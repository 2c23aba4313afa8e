// Bulk and tensor copies. sm_90.
#include "bulk.cuh"

// Loads, adds one, stores; two stages.
extern "C" __global__ void add_one(const float* in, float* out, int n) {
  __shared__ alignas(128) float s[2][256];
  __shared__ u64 full[2];
  const int t = threadIdx.x;
  if (t == 0) {
    init(&full[0], 1);
    init(&full[1], 1);
    fence_async();
  }
  __syncthreads();
  if (t == 0) {
    expect(&full[0], 1024);
    bulk_load(s[0], in, 1024, &full[0]);
  }
  for (int i = 0; i < n; ++i) {
    if (t == 0 && i + 1 < n) {
      bulk_wait_read<0>();
      expect(&full[(i + 1) % 2], 1024);
      bulk_load(s[(i + 1) % 2], in + (i + 1) * 256, 1024, &full[(i + 1) % 2]);
    }
    wait(&full[i % 2], i / 2 % 2);
    s[i % 2][t] += 1;
    fence_async();
    __syncthreads();
    if (t == 0) {
      bulk_store(out + i * 256, s[i % 2], 1024);
      bulk_commit();
    }
  }
  if (t == 0) bulk_wait_read<0>();
}

extern "C" __global__ void add_to(const float* in, float* sum) {
  __shared__ alignas(16) float s[64];
  s[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk_add(sum, s, 256);
    bulk_commit();
    bulk_wait_read<0>();
  }
}

// The raw bytes of a tile, as they lie in shared memory.
extern "C" __global__ void tile(const __grid_constant__ TensorMap map, int* out, int x, int y, int words) {
  extern __shared__ __align__(1024) int s[];
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    init(&full, 1);
    fence_async();
    expect(&full, words * 4);
    tile_load(s, &map, x, y, &full);
  }
  __syncthreads();
  wait(&full, 0);
  for (int i = threadIdx.x; i < words; i += blockDim.x) out[i] = s[i];
}

extern "C" __global__ void tile_3d(const __grid_constant__ TensorMap map, int* out, int x, int y, int z, int words) {
  extern __shared__ __align__(1024) int s[];
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    init(&full, 1);
    fence_async();
    expect(&full, words * 4);
    tile_load_3d(s, &map, x, y, z, &full);
  }
  __syncthreads();
  wait(&full, 0);
  for (int i = threadIdx.x; i < words; i += blockDim.x) out[i] = s[i];
}

extern "C" __global__ void tile_out(const __grid_constant__ TensorMap map, int x, int y, int words) {
  extern __shared__ __align__(1024) int s[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) s[i] = 1000 + i;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    tile_store(&map, x, y, s);
    bulk_commit();
    bulk_wait_read<0>();
  }
}
