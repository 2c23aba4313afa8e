// Which devices may stand in for each other.
#include <fmt/format.h>

#include "engine/queue/messages_worker.h"
#include "evaluator/device/emulator/profile_file.h"
#include "evaluator/device_spec.h"

namespace hone::queue {
namespace {

/// "H200" of "emulated sm_90 (H200 profile)", "H200-1f2e3d4c" of a user's own.
std::string profile_part(const std::string& name) {
  const std::size_t open = name.find('('), close = name.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open)
    return pool_part(name);
  std::string inside = name.substr(open + 1, close - open - 1);
  constexpr std::string_view kWord = " profile";
  if (const std::size_t word = inside.rfind(kWord); word != std::string::npos)
    inside.erase(word, kWord.size());
  return pool_part(inside);
}

}  // namespace

std::string pool_of(const DeviceInfo& info, bool modelled) {
  constexpr std::size_t kMaxArch = 14;
  const std::string arch = pool_part(info.arch, kMaxArch);
  if (!modelled) return fmt::format("{}:{}", arch, pool_part(info.name));
  const std::string profile = profile_part(info.name);
  const auto* first = emulator::find_profile_file(info.arch);
  if (first != nullptr && pool_part(first->profile.name) == profile) return "emu:" + arch;
  return fmt::format("emu:{}:{}", arch, profile);
}

std::string arch_of_pool(std::string_view pool) {
  constexpr std::string_view kEmulated = "emu:";
  const std::size_t from = pool.starts_with(kEmulated) ? kEmulated.size() : 0;
  return std::string(pool.substr(0, pool.find(':', from)));
}

}  // namespace hone::queue
