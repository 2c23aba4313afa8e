#include "evaluator/pool/placement.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

namespace hone::pool {
namespace {

constexpr int kMostCores = 1 << 16;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int memory_nodes(const std::string& sysfs) {
  int count = 0;
  std::error_code code;
  for (const auto& entry :
       std::filesystem::directory_iterator(sysfs + "/devices/system/node", code)) {
    const std::string name = entry.path().filename();
    count += name.starts_with("node") && name.size() > 4 &&
             std::all_of(name.begin() + 4, name.end(), [](char c) { return c >= '0' && c <= '9'; });
  }
  return count;
}

/// -1: none.
int number_in(std::string_view text) {
  int number = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size() ? number : -1;
}

}  // namespace

std::vector<int> parse_cores(std::string_view list) {
  std::vector<int> out;
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    const auto range = list.substr(0, comma);
    const auto dash = range.find('-');
    const int first = number_in(range.substr(0, std::min(dash, range.size())));
    const int last = dash == range.npos ? first : number_in(range.substr(dash + 1));
    if (first < 0 || last < first || last >= kMostCores) return {};
    for (int core = first; core <= last; ++core) out.push_back(core);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return out;
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return out;  // more cores than the set holds
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) out.push_back(core);
  return out;
}

std::vector<int> cores_beside(const std::string& pci, const std::string& sysfs,
                              const std::vector<int>& allowed) {
  if (pci.empty() || memory_nodes(sysfs) < 2) return {};
  const std::string device = sysfs + "/bus/pci/devices/" + pci;
  if (number_in(first_line(device + "/numa_node")) < 0) return {};
  std::vector<int> cores = parse_cores(first_line(device + "/local_cpulist"));
  std::erase_if(cores, [&](int core) { return std::ranges::find(allowed, core) == allowed.end(); });
  return cores;
}

Placement placed_beside(const std::vector<int>& gpus, const std::vector<std::string>& addresses,
                        const std::string& sysfs, const std::vector<int>& allowed) {
  Placement placement;
  for (const int gpu : gpus) {
    const auto at = static_cast<std::size_t>(gpu);
    const std::string pci = gpu >= 0 && at < addresses.size() ? addresses[at] : "";
    placement.by_gpu[gpu] = cores_beside(pci, sysfs, allowed);
    if (placement.by_gpu[gpu].empty()) return {};
  }
  return placement;
}

std::vector<int> cores_of_child(int ordinal, const Placement& placement) {
  const auto& by_gpu = placement.by_gpu;
  if (by_gpu.empty()) return {};
  if (ordinal >= 0) {
    const auto found = by_gpu.find(ordinal);
    return found != by_gpu.end() ? found->second : std::vector<int>{};
  }
  static std::atomic<std::size_t> turn = 0;
  return std::next(by_gpu.begin(), static_cast<std::ptrdiff_t>(turn++ % by_gpu.size()))->second;
}

int count_cores(const Placement& placement) {
  std::set<int> all;
  for (const auto& [gpu, cores] : placement.by_gpu) all.insert(cores.begin(), cores.end());
  if (!all.empty()) return static_cast<int>(all.size());
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace hone::pool
