// Which devices may stand in for each other.
#include <fmt/format.h>

#include <algorithm>

#include "engine/queue/messages_worker.h"
#include "evaluator/device/emulator/profile_file.h"

namespace hone::queue {
namespace {

constexpr std::size_t kMaxPart = 60;  // of an id's 80 characters, 16 for the architecture

/// Runs of other characters than an id's become one '-'; no colon, which parts the parts.
std::string part(std::string_view text, std::size_t most) {
  std::string out;
  for (const char c : text) {
    if (out.size() >= most) break;
    if (c != ':' && is_id({&c, 1})) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "unknown" : out;
}

/// "H200" of "emulated sm_90 (H200 profile)", "H200-1f2e3d4c" of a user's own.
std::string profile_part(const std::string& name) {
  const std::size_t open = name.find('('), close = name.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open)
    return part(name, kMaxPart);
  std::string inside = name.substr(open + 1, close - open - 1);
  constexpr std::string_view kWord = " profile";
  if (const std::size_t word = inside.rfind(kWord); word != std::string::npos)
    inside.erase(word, kWord.size());
  return part(inside, kMaxPart);
}

}  // namespace

std::string pool_of(const DeviceInfo& info, bool modelled) {
  constexpr std::size_t kMaxArch = 14;
  const std::string arch = part(info.arch, kMaxArch);
  if (!modelled) return fmt::format("{}:{}", arch, part(info.name, kMaxPart));
  const std::string profile = profile_part(info.name);
  const auto* first = emulator::find_profile_file(info.arch);
  if (first != nullptr && part(first->profile.name, kMaxPart) == profile) return "emu:" + arch;
  return fmt::format("emu:{}:{}", arch, profile);
}

std::string arch_of_pool(std::string_view pool) {
  constexpr std::string_view kEmulated = "emu:";
  const std::size_t from = pool.starts_with(kEmulated) ? kEmulated.size() : 0;
  return std::string(pool.substr(0, pool.find(':', from)));
}

}  // namespace hone::queue
