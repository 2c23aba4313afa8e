// Sources of kernels_sm_*.ptx; regenerate.sh compiles them. The line numbers matter to some tests.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

extern "C" __global__ void matmul_naive(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  float acc = 0;
  for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + col];
  C[row * N + col] = acc;
}

extern "C" __global__ void matmul_tiled(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float As[16][16];
  __shared__ float Bs[16][16];
  int row = blockIdx.y * 16 + threadIdx.y;
  int col = blockIdx.x * 16 + threadIdx.x;
  float acc = 0;
  for (int t = 0; t < (K + 15) / 16; ++t) {
    int ka = t * 16 + threadIdx.x, kb = t * 16 + threadIdx.y;
    As[threadIdx.y][threadIdx.x] = row < M && ka < K ? A[row * K + ka] : 0.f;
    Bs[threadIdx.y][threadIdx.x] = kb < K && col < N ? B[kb * N + col] : 0.f;
    __syncthreads();
    for (int k = 0; k < 16; ++k) acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = acc;
}

extern "C" __global__ void reduce_shared(const float* x, float* out, int n) {
  extern __shared__ float s[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0.f;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, s[0]);
}

extern "C" __global__ void reduce_warp(const float* x, float* out, int n) {
  __shared__ float partial[32];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.f;
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}

extern "C" __global__ void sum_atomics(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, x[i]);
}

// Shared-memory mistakes, one each, and their clean twins.
extern "C" __global__ void race_between_warps(float* out) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" __global__ void race_between_warps_clean(float* out) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" __global__ void race_inside_warp(float* out) {
  __shared__ float s[32];
  s[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = s[31 - threadIdx.x];
}
extern "C" __global__ void race_inside_warp_clean(float* out) {
  __shared__ float s[32];
  s[threadIdx.x] = threadIdx.x;
  __syncwarp();
  out[threadIdx.x] = s[31 - threadIdx.x];
}
extern "C" __global__ void race_missing_second_barrier(const float* x, float* out) {
  __shared__ float s[64];
  float acc = 0;
  for (int i = 0; i < 4; ++i) {
    s[threadIdx.x] = x[i * 64 + threadIdx.x];
    __syncthreads();
    acc += s[(threadIdx.x + 33) % 64];
  }
  out[threadIdx.x] = acc;
}
extern "C" __global__ void race_missing_second_barrier_clean(const float* x, float* out) {
  __shared__ float s[64];
  float acc = 0;
  for (int i = 0; i < 4; ++i) {
    s[threadIdx.x] = x[i * 64 + threadIdx.x];
    __syncthreads();
    acc += s[(threadIdx.x + 33) % 64];
    __syncthreads();
  }
  out[threadIdx.x] = acc;
}
extern "C" __global__ void race_same_byte(unsigned char* out) {
  __shared__ unsigned char s[64];
  s[threadIdx.x / 2] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x / 2];
}
extern "C" __global__ void race_same_byte_clean(unsigned char* out) {
  __shared__ unsigned char s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x / 2];
}
extern "C" __global__ void flag_all_write(int* out, int n) {
  __shared__ int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x < n) flag = 1;
  __syncthreads();
  out[threadIdx.x] = flag;
}
extern "C" __global__ void histogram_shared(const int* x, int* out, int n) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[x[i] & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}
extern "C" __global__ void volatile_warp_reduce(const float* x, float* out) {
  __shared__ volatile float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32) {
    s[threadIdx.x] += s[threadIdx.x + 32];
    __syncwarp();
    for (int d = 16; d > 0; d /= 2) {
      float v = s[threadIdx.x + (threadIdx.x < d ? d : 0)];
      __syncwarp();
      if (threadIdx.x < d) s[threadIdx.x] += v;
      __syncwarp();
    }
  }
  if (threadIdx.x == 0) *out = s[0];
}

// Bounds, alignment, initialisation.
extern "C" __global__ void write_past_end(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) out[i] = i;
}
extern "C" __global__ void write_past_end_clean(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i;
}
extern "C" __global__ void read_before_start(const float* x, float* out, int n) {
  int i = threadIdx.x;
  out[i] = x[i - n];
}
extern "C" __global__ void misaligned(const float* x, float4* out, int shift) {
  out[threadIdx.x] = *reinterpret_cast<const float4*>(x + 4 * threadIdx.x + shift);
}
extern "C" __global__ void shared_past_end(float* out, int n) {
  __shared__ float s[32];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x + n];
}
extern "C" __global__ void shared_never_written(float* out, int n) {
  __shared__ float s[64];
  if (threadIdx.x < n) s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x] + 1.f;
}
extern "C" __global__ void uninitialised_selected_away(float* out, int n) {
  __shared__ float s[64];
  if (threadIdx.x < n) s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  float v = s[threadIdx.x];
  out[threadIdx.x] = threadIdx.x < n ? v : 0.f;
}
extern "C" __global__ void accumulates_into_output(float* out) { out[threadIdx.x] += 1.f; }
extern "C" __global__ void uninitialised_branch(const int* scratch, int* out) {
  if (scratch[threadIdx.x] > 3) out[threadIdx.x] = 1; else atomicAdd(out + 5, 2);
}
extern "C" __global__ void uninitialised_address(const int* scratch, int* out) {
  out[scratch[threadIdx.x] & 7] = 1;
}

// Divergence.
extern "C" __global__ void divergent_barrier(int* out) {
  if (threadIdx.x < 40) {
    out[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] += 1;
  } else {
    out[threadIdx.x] = 3;
  }
  out[threadIdx.x] += 4;
}
extern "C" __global__ void early_exit_barrier(int* out, int n) {
  if (threadIdx.x >= n) return;
  out[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] += 1;
}
extern "C" __global__ void shuffle_missing_lanes(int* out) {
  int v = threadIdx.x;
  if (threadIdx.x < 16) v = __shfl_xor_sync(0xffffffffu, v, 1);
  out[threadIdx.x] = v;
}
extern "C" __global__ void shuffle_half_mask(int* out) {
  int v = threadIdx.x;
  if (threadIdx.x < 16) v = __shfl_xor_sync(0x0000ffffu, v, 1);
  out[threadIdx.x] = v;
}
extern "C" __global__ void spin_lock(int* lock, int* counter) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  int v = *(volatile int*)counter;
  *(volatile int*)counter = v + 1;
  __threadfence();
  atomicExch(lock, 0);
}
extern "C" __global__ void endless(int* out) {
  while (*(volatile int*)out == 0) {
  }
}
extern "C" __global__ void collatz(int* out) {
  int n = threadIdx.x + 1, steps = 0;
  while (n != 1) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    ++steps;
    if (steps > 1000) break;
  }
  out[threadIdx.x] = steps;
}
extern "C" __global__ void switches(const int* x, int* out, int n) {
  int i = threadIdx.x, v = x[i];
  switch (x[i + n]) {
    case 0: v = v * 3; break;
    case 1: v = v / 7; break;
    case 2: v = v ^ 0x55; out[i + 2 * n] = v; break;
    case 3: v = v << 3;
    case 4: v = v + 100; break;
    case 5: v = __popc(v); break;
    case 6: return;
    default: v = -1;
  }
  out[i] = v;
}
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void recursion(int* out) { out[threadIdx.x] = fib(threadIdx.x % 10); }
struct Big {
  int a[5];
  double d;
};
__device__ __noinline__ Big twist(Big b, int k) {
  for (int i = 0; i < 5; ++i) b.a[i] = b.a[(i + k) % 5] * 2;
  b.d *= k;
  return b;
}
extern "C" __global__ void struct_call(Big b, double* out) {
  Big r = twist(b, threadIdx.x % 5);
  out[threadIdx.x] = r.a[0] + 10.0 * r.a[4] + r.d;
}
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ int (*const table[2])(int) = {twice, square};
extern "C" __global__ void indirect(int* out) { out[threadIdx.x] = table[threadIdx.x & 1](threadIdx.x); }

__constant__ float weights[4] = {1.f, 10.f, 100.f, 1000.f};
__device__ int counter = 7;
__device__ int* counter_pointer = &counter;
extern "C" __global__ void module_variables(float* out) {
  out[threadIdx.x] = weights[threadIdx.x & 3];
  if (threadIdx.x == 0) atomicAdd(counter_pointer, 5);
  __syncthreads();
  out[threadIdx.x] += *(volatile int*)&counter;
}
extern "C" __global__ void local_array(const int* x, int* out) {
  int a[16];
  for (int i = 0; i < 16; ++i) a[i] = x[i] * threadIdx.x;
  int s = 0;
  for (int i = 0; i < 16; ++i) s += a[x[i] & 15] * (i + 1);
  out[threadIdx.x] = s;
}
extern "C" __global__ void halves(const __half* a, const __half* b, __half* c, const __nv_bfloat16* p, __nv_bfloat16* q) {
  int i = threadIdx.x;
  c[i] = __hfma(a[i], b[i], __hadd(a[i], b[i]));
  q[i] = __hmul(p[i], __float2bfloat16(1.5f));
  __half2 h = __hmul2(*(const __half2*)(a + 2 * (i / 2)), __float2half2_rn(2.f));
  c[i + 32] = i % 2 ? __high2half(h) : __low2half(h);
}
extern "C" __global__ void math(const float* x, float* out, int n) {
  int i = threadIdx.x;
  float v = x[i];
  out[i] = sinf(v);
  out[i + n] = expf(v);
  out[i + 2 * n] = logf(fabsf(v) + 0.1f);
  out[i + 3 * n] = v / 3.7f;
  out[i + 4 * n] = sqrtf(fabsf(v));
  out[i + 5 * n] = tanhf(v);
  out[i + 6 * n] = __expf(v);
  out[i + 7 * n] = erff(v);
  out[i + 8 * n] = powf(fabsf(v), 1.7f);
  out[i + 9 * n] = rsqrtf(fabsf(v) + 1.f);
  out[i + 10 * n] = (float)exp((double)v);
  out[i + 11 * n] = fmodf(v, 0.7f);
}
extern "C" __global__ void transpose_naive(const float* in, float* out, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x < n && y < n) out[x * n + y] = in[y * n + x];
}
extern "C" __global__ void copy_rows(const float* in, float* out, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x < n && y < n) out[y * n + x] = in[y * n + x];
}
extern "C" __global__ void bank_conflicts(float* out, int stride) {
  extern __shared__ float s[];
  for (int i = threadIdx.x; i < 32 * 33; i += 32) s[i] = i;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x * stride];
}
extern "C" __global__ void __launch_bounds__(64) bounded(int* out) { out[threadIdx.x] = 1; }
#include <cooperative_groups.h>
extern "C" __global__ void groups(int* out) {
  auto block = cooperative_groups::this_thread_block();
  auto tile = cooperative_groups::tiled_partition<8>(block);
  int v = threadIdx.x;
  for (int d = 4; d > 0; d /= 2) v += tile.shfl_down(v, d);
  block.sync();
  out[threadIdx.x] = tile.shfl(v, 0);
}
