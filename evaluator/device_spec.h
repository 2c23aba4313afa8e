// "cuda:0", "cuda:0,2", "cuda:all", "emu:sm_90" or "emu:sm_90/H100".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/result.h"

namespace hone {

struct DeviceSpec {
  enum class Kind { kCuda, kEmulator };
  Kind kind = Kind::kEmulator;
  int ordinal = 0;            ///< kCuda; of several GPUs the first
  std::vector<int> others;    ///< kCuda: further GPUs, on which the same search works
  bool some_will_do = false;  ///< of a list that was "cuda:all": one that does not open is left out
  bool all_gpus = false;      ///< kCuda: "cuda:all", which with_gpus_named() makes a list of
  std::string arch;           ///< "sm_90"; for kCuda filled in when the device is opened
  std::string profile;        ///< kEmulator: "sm_90", "sm_90/H100"

  /// Errors: kInvalidInput, with what there is; of a list, with what is wrong with it.
  [[nodiscard]] static Result<DeviceSpec> parse(std::string_view text);
  /// The same for what works on one device; a list is an error.
  [[nodiscard]] static Result<DeviceSpec> parse_one(std::string_view text);
  [[nodiscard]] std::string text() const;           ///< "cuda:0", "cuda:0,2", "emu:sm_90/H100"
  [[nodiscard]] std::vector<int> ordinals() const;  ///< kCuda: of all GPUs
  [[nodiscard]] bool modelled() const { return kind == Kind::kEmulator; }
};

/// Whether a GPU has this architecture: "sm_90". Those of NVIDIA's table of compute capabilities,
/// from 5.0 on; without the `a` or `f` of a compiler's target.
[[nodiscard]] bool is_gpu_arch(std::string_view text);

/// What a search may be for: a GPU's architecture, "sm_90", or the pool of an emulated device,
/// "emu:sm_90", "emu:sm_90:H100". Everything that takes the name of an architecture asks here.
/// Returns the one spelling that workers use: `sm_90a` is "sm_90", "emu:sm_90/H200" is
/// "emu:sm_90" where that is the architecture's first profile. Errors: kInvalidInput, with all
/// names that there are.
[[nodiscard]] Result<std::string> parse_arch(std::string_view text);

/// A part of a pool's name: at most 60 characters; runs of other characters than letters, digits
/// and . _ - become one '-'.
[[nodiscard]] std::string pool_part(std::string_view text, std::size_t most = 60);

}  // namespace hone
