// Device functions that stand before the kernels.
#include "rewriters/generators/attention/emit.h"

namespace hone::generators::attention {
namespace {

constexpr const char* kPack = R"(
// kCount values that are loaded and stored at once.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) $prefixpack {
  T at[kCount];
};
)";

constexpr const char* kAddress = R"(
// Where something is in shared memory, in 32 bits.
__device__ __forceinline__ unsigned $prefixaddress(const void* of) {
  return static_cast<unsigned>(__cvta_generic_to_shared(of));
}
)";

constexpr const char* kAsync = R"(
// Starts a copy from global to shared memory; zeros where not `inside`.
template <int kBytes>
__device__ __forceinline__ void $prefixcopy(unsigned at, const void* from, bool inside = true) {
  const int bytes = inside ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(at), "l"(from),
                 "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(kBytes),
                 "r"(bytes)
                 : "memory");
  }
}
// Closes a group of copies, and waits until at most kLeft groups are on their way.
__device__ __forceinline__ void $prefixcommit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kLeft>
__device__ __forceinline__ void $prefixwait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}
)";

constexpr const char* kSwizzled = R"(
// Where an element of a tile is: bands of 64 columns, in which the pieces of 8 of each row change
// places, so that eight rows of one column lie in different banks.
template <int kRows>
__device__ __forceinline__ int $prefixswizzled(int row, int column) {
  return column / 64 * (kRows * 64) + row * 64 + ((column % 64 / 8) ^ row % 8) * 8 + column % 8;
}
)";

constexpr const char* kPower = R"(
// 2^x to two units in the last place; 0 where that is below the normal numbers.
__device__ __forceinline__ float $prefixpower(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
)";

}  // namespace

std::string Emitter::helpers() const {
  const std::string text = std::string(kPack) + kAddress + (uses_async() ? kAsync : "") +
                           (query.swizzled ? kSwizzled : "") + kPower;
  return filled(text, {{"prefix", prefix}});
}

}  // namespace hone::generators::attention
