// Sources of bench_sm_90.ptx; regenerate.sh compiles them. One kernel per way of spending time.

// Arithmetic: 16 independent chains.
extern "C" __global__ void fma_chains(float* out, float a, float b, int n) {
  float x[16];
#pragma unroll
  for (int k = 0; k < 16; ++k) x[k] = threadIdx.x * 0.001f + k;
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int k = 0; k < 16; ++k) x[k] = fmaf(x[k], a, b);
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) sum += x[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Integers and addresses: 32- and 64-bit multiplies, shifts, logic, selects.
extern "C" __global__ void integer_mix(unsigned* out, unsigned seed, int n) {
  unsigned a = seed + threadIdx.x, b = seed ^ 0x9E3779B9u;
  unsigned long long offset = threadIdx.x;
  for (int i = 0; i < n; ++i) {
    a ^= a << 13;
    a ^= a >> 17;
    a ^= a << 5;
    b = b * 1664525u + 1013904223u;
    const unsigned c = (a & 0xFFFF) * 48 + (b >> 7);
    offset = offset * 6364136223846793005ull + c;
    b = c > a ? b + (unsigned)(offset >> 33) : b - a;
    offset += (unsigned long long)i * 128 + (b & 31);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a ^ b ^ (unsigned)offset;
}

extern "C" __global__ void vector_add(const float* x, const float* y, float* z, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    z[i] = x[i] + y[i];
}

extern "C" __global__ void matmul_naive(const float* A, const float* B, float* C, int n) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || col >= n) return;
  float acc = 0;
  for (int k = 0; k < n; ++k) acc += A[row * n + k] * B[k * n + col];
  C[row * n + col] = acc;
}

extern "C" __global__ void matmul_tiled(const float* A, const float* B, float* C, int n) {
  __shared__ float As[16][16];
  __shared__ float Bs[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int col = blockIdx.x * 16 + threadIdx.x;
  float acc = 0;
  for (int t = 0; t < n; t += 16) {
    As[threadIdx.y][threadIdx.x] = A[row * n + t + threadIdx.x];
    Bs[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * n + col];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
    __syncthreads();
  }
  C[row * n + col] = acc;
}

// What the generators write: a 64x64 tile, 4x4 results a thread, float4 loads from shared memory.
extern "C" __global__ void matmul_registers(const float* A, const float* B, float* C, int n) {
  __shared__ __align__(16) float As[16][64];
  __shared__ __align__(16) float Bs[16][64];
  const int tid = threadIdx.x;
  const int ty = tid / 16, tx = tid % 16;
  const int row = blockIdx.y * 64, col = blockIdx.x * 64;
  float acc[4][4] = {};
  for (int t = 0; t < n; t += 16) {
    const int ar = tid / 4, ak = tid % 4 * 4;
    const float4 a = *(const float4*)&A[(row + ar) * n + t + ak];
    As[ak + 0][ar] = a.x;
    As[ak + 1][ar] = a.y;
    As[ak + 2][ar] = a.z;
    As[ak + 3][ar] = a.w;
    *(float4*)&Bs[ty][tx * 4] = *(const float4*)&B[(t + ty) * n + col + tx * 4];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      const float4 x = *(const float4*)&As[k][ty * 4];
      const float4 y = *(const float4*)&Bs[k][tx * 4];
      const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] += xs[i] * ys[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    *(float4*)&C[(row + ty * 4 + i) * n + col + tx * 4] =
        make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}

// One row a block: shuffles inside warps, shared memory and barriers across them.
extern "C" __global__ void row_softmax(const float* x, float* y, int columns) {
  __shared__ float partial[32];
  const float* in = x + blockIdx.x * columns;
  float* out = y + blockIdx.x * columns;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  float top = -1e30f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) top = fmaxf(top, in[i]);
  for (int d = 16; d > 0; d /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
  if (lane == 0) partial[warp] = top;
  __syncthreads();
  top = lane < warps ? partial[lane] : -1e30f;
  for (int d = 16; d > 0; d /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += __expf(in[i] - top);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  sum = lane < warps ? partial[lane] : 0.f;
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = __expf(in[i] - top) / sum;
}

// Tree reduction in shared memory: a barrier every few instructions, half the threads idle.
extern "C" __global__ void reduce_shared(const float* x, float* out, int n) {
  __shared__ float s[256];
  float v = 0;
  for (int i = threadIdx.x; i < n; i += 256) v += x[blockIdx.x * n + i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

// Every lane has its own trip count, and branches inside.
extern "C" __global__ void collatz(unsigned* steps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long v = i + 1;
  unsigned count = 0;
  while (v != 1) {
    if (v & 1)
      v = 3 * v + 1;
    else
      v /= 2;
    ++count;
  }
  steps[i] = count;
}

extern "C" __global__ void histogram(const unsigned* x, unsigned* bins, int n) {
  __shared__ unsigned s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&s[x[i] & 255], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

// Reads along rows, writes along columns through a padded tile.
extern "C" __global__ void transpose(const float* x, float* y, int n) {
  __shared__ float tile[32][33];
  const int bx = blockIdx.x * 32, by = blockIdx.y * 32;
  for (int r = threadIdx.y; r < 32; r += 8)
    tile[r][threadIdx.x] = x[(by + r) * n + bx + threadIdx.x];
  __syncthreads();
  for (int r = threadIdx.y; r < 32; r += 8)
    y[(bx + r) * n + by + threadIdx.x] = tile[threadIdx.x][r];
}

// Addresses that no shape repeats.
extern "C" __global__ void gather(const unsigned* index, const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = x[index[i] & 0xFFFF];
}

// As histogram, without the block's own bins.
extern "C" __global__ void histogram_global(const unsigned* x, unsigned* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[x[i] & 1023], 1u);
}

// Elements narrower than a register.
extern "C" __global__ void scale_halves(const unsigned short* x, unsigned short* y, int n) {
  __shared__ unsigned short s[256];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    s[threadIdx.x] = x[i];
    __syncwarp();
    y[i] = 3 * s[threadIdx.x ^ 1] + 1;
    __syncwarp();
  }
}

extern "C" __global__ void invert_bytes(const signed char* x, unsigned char* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = 255 - x[i] / 2;
}
