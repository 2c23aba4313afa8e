// Sources of tensor_sm_80.ptx; regenerate.sh compiles them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

// One warp: D = 2 (A B + C), every matrix with its own layout and stride; generic or global access.
template <class T, class Acc, int M, int N, int K, class LA, class LB>
__device__ void wmma_tile(const void* a, const void* b, const Acc* c, Acc* d, int lda, int ldb,
                          int ldc, bool row_c) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Acc> fc;
  using S = typename wmma::fragment<wmma::matrix_a, M, N, K, T, LA>::storage_element_type;
  const auto layout = row_c ? wmma::mem_row_major : wmma::mem_col_major;
  wmma::load_matrix_sync(fa, (const S*)a, lda);
  wmma::load_matrix_sync(fb, (const S*)b, ldb);
  wmma::load_matrix_sync(fc, c, ldc, layout);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] + fc.x[i];
  wmma::store_matrix_sync(d, fc, ldc, layout);
}

#define WMMA(name, T, ACC, M, N, K, LA, LB)                                                     \
  extern "C" __global__ void name(const void* a, const void* b, const ACC* c, ACC* d, int lda, \
                                  int ldb, int ldc, int row_c) {                                \
    wmma_tile<T, ACC, M, N, K, wmma::LA, wmma::LB>(a, b, c, d, lda, ldb, ldc, row_c);            \
  }
#define WMMA_LAYOUTS(name, T, ACC, M, N, K)                \
  WMMA(name##_rr, T, ACC, M, N, K, row_major, row_major) \
  WMMA(name##_rc, T, ACC, M, N, K, row_major, col_major) \
  WMMA(name##_cr, T, ACC, M, N, K, col_major, row_major) \
  WMMA(name##_cc, T, ACC, M, N, K, col_major, col_major)

WMMA_LAYOUTS(wmma_f16_f32_16x16x16, __half, float, 16, 16, 16)
WMMA_LAYOUTS(wmma_f16_f16_16x16x16, __half, __half, 16, 16, 16)
WMMA_LAYOUTS(wmma_f16_f32_32x8x16, __half, float, 32, 8, 16)
WMMA_LAYOUTS(wmma_f16_f16_8x32x16, __half, __half, 8, 32, 16)
WMMA_LAYOUTS(wmma_f16_f32_8x32x16, __half, float, 8, 32, 16)
WMMA_LAYOUTS(wmma_bf16_f32_16x16x16, __nv_bfloat16, float, 16, 16, 16)
WMMA_LAYOUTS(wmma_bf16_f32_32x8x16, __nv_bfloat16, float, 32, 8, 16)
WMMA_LAYOUTS(wmma_bf16_f32_8x32x16, __nv_bfloat16, float, 8, 32, 16)
WMMA_LAYOUTS(wmma_tf32_f32_16x16x8, wmma::precision::tf32, float, 16, 16, 8)
WMMA_LAYOUTS(wmma_f64_f64_8x8x4, double, double, 8, 8, 4)
WMMA_LAYOUTS(wmma_s8_s32_16x16x16, signed char, int, 16, 16, 16)
WMMA_LAYOUTS(wmma_u8_s32_32x8x16, unsigned char, int, 32, 8, 16)
WMMA_LAYOUTS(wmma_s8_s32_8x32x16, signed char, int, 8, 32, 16)
WMMA(wmma_s4_s32_8x8x32_rc, wmma::experimental::precision::s4, int, 8, 8, 32, row_major, col_major)
WMMA(wmma_u4_s32_8x8x32_rc, wmma::experimental::precision::u4, int, 8, 8, 32, row_major, col_major)

extern "C" __global__ void wmma_b1(const unsigned* a, const unsigned* b, int* d) {
  using b1 = wmma::experimental::precision::b1;
  wmma::fragment<wmma::matrix_a, 8, 8, 128, b1, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, b1, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> fc;
  wmma::fill_fragment(fc, 0);
  wmma::load_matrix_sync(fa, a, 128);
  wmma::load_matrix_sync(fb, b, 128);
  wmma::bmma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(d, fc, 8, wmma::mem_row_major);
  wmma::fill_fragment(fc, 0);
  wmma::bmma_sync(fc, fa, fb, fc, wmma::experimental::bmmaBitOpAND);
  wmma::store_matrix_sync(d + 64, fc, 8, wmma::mem_row_major);
}

// C = A B with four warps a block, tiles in padded shared memory. Every size a multiple of 32.
extern "C" __global__ void wmma_matmul(const __half* A, const __half* B, float* C, int N, int K) {
  __shared__ __half As[32][40];
  __shared__ __half Bs[32][40];
  const int warp = threadIdx.x / 32;
  const int row = blockIdx.y * 32;
  const int col = blockIdx.x * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::fill_fragment(acc, 0.f);
  for (int k0 = 0; k0 < K; k0 += 32) {
    for (int i = threadIdx.x; i < 1024; i += 128) {
      As[i / 32][i % 32] = A[(row + i / 32) * K + k0 + i % 32];
      Bs[i / 32][i % 32] = B[(k0 + i / 32) * N + col + i % 32];
    }
    __syncthreads();
    for (int k = 0; k < 32; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
      wmma::load_matrix_sync(fa, &As[warp / 2 * 16][k], 40);
      wmma::load_matrix_sync(fb, &Bs[k][warp % 2 * 16], 40);
      wmma::mma_sync(acc, fa, fb, acc);
    }
    __syncthreads();
  }
  wmma::store_matrix_sync(C + (row + warp / 2 * 16) * N + col + warp % 2 * 16, acc, N,
                          wmma::mem_row_major);
}

__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// C = A B, 64 x 64 tiles by four warps of 32 x 32, k in steps of 32: rows of 64 B in shared memory,
// 16-byte pieces swizzled, ldmatrix, mma.sync. `sync` off: a race.
extern "C" __global__ void mma_matmul(const __half* A, const __half* B, float* C, int N, int K,
                                      int sync, int swizzle) {
  __shared__ __align__(128) uint4 As[64][4];  // [row][piece of 8]
  __shared__ __align__(128) uint4 Bs[32][8];  // [k][piece of 8 columns]
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int row = blockIdx.y * 64;
  const int col = blockIdx.x * 64;
  float acc[2][4][4] = {};
  const int sa = swizzle ? 3 : 0;
  const int sb = swizzle ? 7 : 0;
  for (int k0 = 0; k0 < K; k0 += 32) {
    for (int i = threadIdx.x; i < 256; i += 128) {
      const int r = i / 4, p = i % 4;
      As[r][p ^ (r / 2 & sa)] = *(const uint4*)(A + (row + r) * K + k0 + p * 8);
      const int k = i / 8, q = i % 8;
      Bs[k][q ^ (k & sb)] = *(const uint4*)(B + (k0 + k) * N + col + q * 8);
    }
    if (sync) __syncthreads();
    for (int k = 0; k < 2; ++k) {
      unsigned a[2][4], b[4][2];
      for (int i = 0; i < 2; ++i) {
        const int r = warp / 2 * 32 + i * 16 + lane % 16;
        const int p = k * 2 + lane / 16;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3])
                     : "r"(shared_address(&As[r][p ^ (r / 2 & sa)])));
      }
      for (int j = 0; j < 4; ++j) {
        const int kk = k * 16 + lane % 16;
        const int q = warp % 2 * 4 + j;
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(b[j][0]), "=r"(b[j][1])
                     : "r"(shared_address(&Bs[kk][q ^ (kk & sb)])));
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
          asm volatile(
              "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
              "{%8,%9}, {%0,%1,%2,%3};"
              : "+f"(acc[i][j][0]), "+f"(acc[i][j][1]), "+f"(acc[i][j][2]), "+f"(acc[i][j][3])
              : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[j][0]), "r"(b[j][1]));
    }
    if (sync) __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int e = 0; e < 4; ++e) {
        const int r = row + warp / 2 * 32 + i * 16 + lane / 4 + e / 2 * 8;
        const int c = col + warp % 2 * 32 + j * 8 + lane % 4 * 2 + e % 2;
        C[r * N + c] = acc[i][j][e];
      }
}

// ldmatrix of an index pattern at a given byte offset: x4, x4.trans, x2, x1, then movmatrix.
extern "C" __global__ void matrix_patterns(unsigned* out, int offset, int rows) {
  __shared__ __align__(16) unsigned short tile[32 * 8 + 8];
  for (int i = threadIdx.x; i < rows * 8; i += 32) tile[i] = (unsigned short)i;
  __syncwarp();
  const unsigned at = shared_address(tile) + threadIdx.x * 16 + offset;
  unsigned v[4], t[4], x2[2], x1, g1, m;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(t[0]), "=r"(t[1]), "=r"(t[2]), "=r"(t[3]) : "r"(at));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(x2[0]), "=r"(x2[1]) : "r"(threadIdx.x < 16 ? at : 0xFFFFFF00u));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(x1) : "r"(threadIdx.x < 8 ? at : 0xFFFFFF00u));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];"
               : "=r"(g1) : "l"((const char*)tile + threadIdx.x * 16 + offset));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(m) : "r"(v[1]));
  unsigned* o = out + threadIdx.x;
  for (int i = 0; i < 4; ++i) o[i * 32] = v[i];
  for (int i = 0; i < 4; ++i) o[(4 + i) * 32] = t[i];
  o[8 * 32] = x2[0];
  o[9 * 32] = x2[1];
  o[10 * 32] = x1;
  o[11 * 32] = g1;
  o[12 * 32] = m;
}
