// Device functions that stand before the kernels.
#include "rewriters/generators/contract/emit.h"

namespace hone::generators::contract {
namespace {

constexpr const char* kPack = R"(
// kCount values that are loaded and stored at once.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) $prefixpack {
  T at[kCount];
};
)";

constexpr const char* kAsync = R"(
// Starts a copy from global to shared memory; zeros where not `inside`.
template <int kBytes>
__device__ __forceinline__ void $prefixcopy(void* to, const void* from, bool inside = true) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = inside ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes)
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
// Where an element of a tile is: bands of 128 bytes, in which the 16-byte pieces (kPiece elements)
// of each row change places, so that eight rows of one column lie in different banks.
template <int kRows, int kColumns, int kPiece>
__device__ __forceinline__ int $prefixswizzled(int row, int column) {
  constexpr int kBand = kColumns < 8 * kPiece ? kColumns : 8 * kPiece, kPieces = kBand / kPiece;
  const int turn = row / (8 / kPieces) % kPieces;
  return column / kBand * (kRows * kBand) + row * kBand +
         ((column % kBand / kPiece) ^ turn) * kPiece + column % kPiece;
}
)";

}  // namespace

std::string Emitter::helpers() const {
  const Holes holes = {{"prefix", prefix}};
  std::string text = filled(kPack, holes);
  if (uses_async()) text += filled(kAsync, holes);
  if (a.swizzled || b.swizzled || s.pipe == Pipe::kWgmmaTf32x3) text += filled(kSwizzled, holes);
  return text;
}

}  // namespace hone::generators::contract
