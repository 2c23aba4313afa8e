// "cuda:0", "emu:sm_90" or "emu:sm_90/H100".
#pragma once

#include <string>
#include <string_view>

#include "candidates/result.h"

namespace hone {

struct DeviceSpec {
  enum class Kind { kCuda, kEmulator };
  Kind kind = Kind::kEmulator;
  int ordinal = 0;      ///< kCuda
  std::string arch;     ///< "sm_90"; for kCuda filled in when the device is opened
  std::string profile;  ///< kEmulator: "sm_90", "sm_90/H100"

  [[nodiscard]] static Result<DeviceSpec> parse(std::string_view text);
  [[nodiscard]] std::string text() const;  ///< "cuda:0", "emu:sm_90/H100"
  [[nodiscard]] bool modelled() const { return kind == Kind::kEmulator; }
};

}  // namespace hone
