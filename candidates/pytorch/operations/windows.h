// Windows over images, for convolutions and pooling: dimensions and their names in a kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "candidates/pytorch/operation.h"

namespace hone::pytorch {

/// One spatial dimension of a window: place = out * stride - padding + tap * dilation.
struct Window {
  std::int64_t taps = 1, stride = 1, padding = 0, dilation = 1;
  std::int64_t padding_after = 0;  ///< of convolutions with "same"; else equal to padding
};

/// "d", "h", "w": as many as there are dimensions, the last ones of these.
std::vector<std::string> spatial_names(int dimensions);

/// The extent after the windows: (extent + padding - dilation * (taps - 1) - 1) / stride + 1.
Dim window_extent(Sizes& sizes, const Dim& extent, const Window& window);

/// Opens a loop over the taps (named `tap`), declares where the tap lies as `place`, and skips what
/// lies outside. Windows of one tap need no loop. How many blocks were opened.
int loop_over_taps(Kernel& kernel, const std::string& out, const std::string& tap,
                   const std::string& place, const std::string& extent, const Window& window);

}  // namespace hone::pytorch
