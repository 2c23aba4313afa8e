#include "evaluator/device_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "evaluator/device/emulator/emulator.h"

namespace hone {
namespace {

// NVIDIA's table; a new one is added here.
constexpr std::array<std::string_view, 21> kGpuArchs = {
    "sm_50", "sm_52",  "sm_53",  "sm_60",  "sm_61",  "sm_62",  "sm_70",
    "sm_72", "sm_75",  "sm_80",  "sm_86",  "sm_87",  "sm_88",  "sm_89",
    "sm_90", "sm_100", "sm_101", "sm_103", "sm_110", "sm_120", "sm_121"};

/// "sm_90" of "sm_90a".
std::string_view without_suffix(std::string_view arch) {
  if (!arch.empty() && (arch.back() == 'a' || arch.back() == 'f')) arch.remove_suffix(1);
  return arch;
}

/// The pool of an emulated device: its first profile needs no name.
std::string emulated_pool(const emulator::Profile& profile) {
  const emulator::Profile* first = emulator::find_profile(profile.arch);
  if (first != nullptr && first->name == profile.name) return "emu:" + profile.arch;
  return "emu:" + profile.arch + ":" + pool_part(profile.name);
}

constexpr std::string_view kLists =
    "several GPUs are cuda:0,2 (numbers with commas between them, each once) or cuda:all";
constexpr std::size_t kLongestList = 1024;

/// "0,2" of "cuda:0,2". Empty: it is no list of numbers.
std::vector<int> numbers_in(std::string_view text) {
  std::vector<int> out;
  while (true) {
    const auto comma = std::min(text.find(','), text.size());
    int number = -1;
    const auto [end, code] = std::from_chars(text.data(), text.data() + comma, number);
    if (code != std::errc() || end != text.data() + comma || number < 0) return {};
    out.push_back(number);
    if (comma == text.size()) return out;
    text.remove_prefix(comma + 1);
  }
}

/// Of a text that begins with "cuda:". Errors: what is wrong with it.
Result<DeviceSpec> gpus_of_list(std::string_view text) {
  DeviceSpec spec;
  spec.kind = DeviceSpec::Kind::kCuda;
  const auto list = text.substr(5);
  if (list == "all") {
    spec.all_gpus = true;
    return spec;
  }
  std::vector<int> numbers = numbers_in(list);
  if (numbers.empty() || numbers.size() > kLongestList)
    return invalid(fmt::format("'{}' is no device: {}", text, kLists));
  auto sorted = numbers;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return invalid(fmt::format("'{}' names cuda:{} twice: {}", text, *twice, kLists));
  spec.ordinal = numbers.front();
  spec.others.assign(numbers.begin() + 1, numbers.end());
  return spec;
}

}  // namespace

Result<DeviceSpec> DeviceSpec::parse(std::string_view text) {
  DeviceSpec spec;
  if (text == "cuda") text = "cuda:0";
  if (text == "emu") text = "emu:sm_90";
  if (text.starts_with("cuda:")) return gpus_of_list(text);
  if (text.starts_with("emu:") && (text.find(',') != text.npos || text == "emu:all"))
    return invalid(
        fmt::format("'{}' is no device: a search works on one emulated device, emu:sm_90 say; {}",
                    text, kLists));
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

Result<DeviceSpec> DeviceSpec::parse_one(std::string_view text) {
  auto spec = parse(text);
  if (spec && (spec->all_gpus || !spec->others.empty()))
    return invalid(
        fmt::format("'{}' is several GPUs, and this takes one: cuda:{}", text, spec->ordinal));
  return spec;
}

std::string DeviceSpec::text() const {
  if (kind == Kind::kEmulator) return "emu:" + (profile.empty() ? arch : profile);
  return all_gpus ? "cuda:all" : fmt::format("cuda:{}", fmt::join(ordinals(), ","));
}

std::vector<int> DeviceSpec::ordinals() const {
  std::vector<int> out = {ordinal};
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

bool is_gpu_arch(std::string_view text) {
  return std::ranges::find(kGpuArchs, text) != kGpuArchs.end();
}

std::string pool_part(std::string_view text, std::size_t most) {
  std::string out;
  for (const char c : text) {
    if (out.size() >= most) break;
    const bool kept = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '.' || c == '_' || c == '-';
    if (kept) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "unknown" : out;
}

Result<std::string> parse_arch(std::string_view text) {
  if (is_gpu_arch(without_suffix(text))) return std::string(without_suffix(text));
  if (text.starts_with("emu:")) {
    std::string name(text.substr(4));
    if (const auto colon = name.find(':'); colon != name.npos) name[colon] = '/';
    if (const auto* profile = emulator::find_profile(name)) return emulated_pool(*profile);
  }
  std::string gpus, emulated;
  for (const std::string_view arch : kGpuArchs)
    if (arch.size() > 5 || arch >= "sm_80") gpus += fmt::format("{}, ", arch);
  for (const auto& name : emulator::profile_names())
    if (const auto* profile = emulator::find_profile(name))
      emulated += fmt::format("{}{}", emulated.empty() ? "" : ", ", emulated_pool(*profile));
  std::string shown(text.substr(0, 80));
  std::ranges::replace_if(shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return invalid(
      fmt::format("'{}' is no architecture; of GPUs there are sm_50 to sm_75, {}of "
                  "emulated devices {}",
                  shown, gpus, emulated));
}

}  // namespace hone
