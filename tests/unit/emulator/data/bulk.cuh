// Hopper's bulk copies as inline PTX, for the kernels of this folder.
typedef unsigned long long u64;
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};
__device__ inline unsigned offset(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ inline void init(u64* b, unsigned n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(offset(b)), "r"(n) : "memory");
}
__device__ inline void expect(u64* b, unsigned bytes) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1; }" ::"r"(offset(b)), "r"(bytes)
               : "memory");
}
__device__ inline void wait(u64* b, unsigned parity) {
  asm volatile(
      "{ .reg .pred p;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra again; }" ::"r"(offset(b)), "r"(parity) : "memory");
}
__device__ inline void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ inline void bulk_load(void* to, const void* from, unsigned bytes, u64* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(offset(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(offset(b)) : "memory");
}
__device__ inline void bulk_store(void* to, const void* from, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
               "r"(offset(from)), "r"(bytes) : "memory");
}
__device__ inline void bulk_add(float* to, const void* from, unsigned bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(to)), "r"(offset(from)), "r"(bytes) : "memory");
}
__device__ inline void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int n>
__device__ inline void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory");
}
__device__ inline void tile_load(void* to, const TensorMap* map, int x, int y, u64* b) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          offset(to)), "l"(map), "r"(x), "r"(y), "r"(offset(b)) : "memory");
}
__device__ inline void tile_load_3d(void* to, const TensorMap* map, int x, int y, int z, u64* b) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
          offset(to)), "l"(map), "r"(x), "r"(y), "r"(z), "r"(offset(b)) : "memory");
}
__device__ inline void tile_store(const TensorMap* map, int x, int y, const void* from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y),
               "r"(offset(from)) : "memory");
}
