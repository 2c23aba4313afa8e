// Device functions that stand before the kernels.
#include "rewriters/generators/attention/emit.h"
#include "rewriters/generators/printing/instructions.h"

namespace hone::generators::attention {
namespace {

constexpr const char* kSwizzled = R"(
// Where an element of a tile is: bands of 64 columns, in which the pieces of 8 of each row change
// places, so that eight rows of one column lie in different banks.
template <int kRows>
__device__ __forceinline__ int $prefixswizzled(int row, int column) {
  return column / 64 * (kRows * 64) + row * 64 + ((column % 64 / 8) ^ row % 8) * 8 + column % 8;
}
)";

}  // namespace

std::string Emitter::helpers() const {
  std::string text = pack_type(prefix) + address_function(prefix);
  if (uses_async()) text += async_copies(prefix, SharedPlace::kAddress);
  if (query.swizzled) text += filled(kSwizzled, {{"prefix", prefix}});
  return text + power_function(prefix);
}

}  // namespace hone::generators::attention
