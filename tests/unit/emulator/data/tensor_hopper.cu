// Sources of tensor_hopper_sm_90a.ptx; regenerate.sh compiles them.
#include <cuda_fp16.h>

__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// stmatrix undoes ldmatrix.
extern "C" __global__ void stmatrix_patterns(const uint4* in, uint4* out) {
  __shared__ __align__(16) uint4 tile[32];
  __shared__ __align__(16) uint4 plain[32];
  __shared__ __align__(16) uint4 turned[32];
  __shared__ __align__(16) uint4 pair[32];
  tile[threadIdx.x] = in[threadIdx.x];
  pair[threadIdx.x] = make_uint4(0, 0, 0, 0);
  __syncwarp();
  unsigned v[4], t[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(shared_address(tile + threadIdx.x)));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(t[0]), "=r"(t[1]), "=r"(t[2]), "=r"(t[3])
               : "r"(shared_address(tile + threadIdx.x)));
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(
                   shared_address(plain + threadIdx.x)),
               "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
               : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(
                   shared_address(turned + threadIdx.x)),
               "r"(t[0]), "r"(t[1]), "r"(t[2]), "r"(t[3])
               : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" ::"r"(
                   shared_address(pair + threadIdx.x)),
               "r"(v[2]), "r"(v[3])
               : "memory");
  __syncwarp();
  out[threadIdx.x] = plain[threadIdx.x];
  out[32 + threadIdx.x] = turned[threadIdx.x];
  out[64 + threadIdx.x] = pair[threadIdx.x];
}
