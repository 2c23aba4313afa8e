#include "evaluator/device_spec.h"

#include <fmt/format.h>

#include <charconv>

#include "evaluator/device/emulator/emulator.h"

namespace hone {

Result<DeviceSpec> DeviceSpec::parse(std::string_view text) {
  DeviceSpec spec;
  if (text == "cuda") text = "cuda:0";
  if (text == "emu") text = "emu:sm_90";
  if (text.starts_with("cuda:")) {
    const auto digits = text.substr(5);
    const auto [end, ec] =
        std::from_chars(digits.data(), digits.data() + digits.size(), spec.ordinal);
    if (ec == std::errc() && end == digits.data() + digits.size() && spec.ordinal >= 0) {
      spec.kind = Kind::kCuda;
      return spec;
    }
  }
  std::string names;
  for (const auto& name : emulator::profile_names()) names += ", emu:" + name;
  if (text.starts_with("emu:")) {
    spec.kind = Kind::kEmulator;
    spec.profile = std::string(text.substr(4));
    if (const auto* profile = emulator::find_profile(spec.profile); profile != nullptr) {
      spec.arch = profile->arch;
      // One spelling for one device: boards are kept by it.
      spec.profile = spec.profile.find('/') == std::string::npos
                         ? profile->arch
                         : profile->arch + "/" + profile->name;
      return spec;
    }
  }
  return invalid(
      fmt::format("'{}' is no device; known are cuda:0 (the first GPU), cuda:1, …{}", text, names));
}

std::string DeviceSpec::text() const {
  return kind == Kind::kCuda ? fmt::format("cuda:{}", ordinal)
                             : "emu:" + (profile.empty() ? arch : profile);
}

}  // namespace hone
