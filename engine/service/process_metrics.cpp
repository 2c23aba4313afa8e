#include "engine/service/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "engine/results/build_info.h"

namespace hone {
namespace process_numbers {
namespace {

/// Fields of /proc/self/stat from the third on: the second is a name that may hold anything.
std::vector<std::string> stat_fields() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream rest(line.substr(line.rfind(')') + 1));  // npos + 1 is 0
  return {std::istream_iterator<std::string>(rest), {}};
}

/// Field `number` of proc(5), which counts from 1.
std::optional<double> stat_number(const std::vector<std::string>& fields, std::size_t number) {
  if (number < 3 || number - 3 >= fields.size()) return std::nullopt;
  try {
    return std::stod(fields[number - 3]);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// When the machine was started, Unix time [s].
std::optional<double> boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;) {
    double seconds = 0;
    if (word == "btime" && file >> seconds) return seconds;
  }
  return std::nullopt;
}

}  // namespace
}  // namespace process_numbers

void declare_process_metrics(Metrics& metrics) {
  metrics.declare_gauge("hone_build_info", "Always 1; its labels say what was built");
  metrics.declare_counter("process_cpu_seconds_total",
                          "User and system time that the process has used, in seconds");
  metrics.declare_gauge("process_resident_memory_bytes", "Resident memory, in bytes");
  metrics.declare_gauge("process_virtual_memory_bytes", "Virtual memory, in bytes");
  metrics.declare_gauge("process_open_fds", "Open file descriptors");
  metrics.declare_gauge("process_max_fds", "The most file descriptors that it may open");
  metrics.declare_gauge("process_threads", "Threads of the process");
  metrics.declare_gauge("process_start_time_seconds",
                        "When the process was started, in seconds since 1970");
  const BuildInfo& build = build_info();
  metrics.set("hone_build_info", {{"commit", build.commit}, {"version", build.version}}, 1);
}

void show_process(Metrics& metrics) {
  using namespace process_numbers;
  const auto fields = stat_fields();
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto user = stat_number(fields, 14), system = stat_number(fields, 15);
  if (user && system) metrics.set("process_cpu_seconds_total", {}, (*user + *system) / ticks);
  if (const auto threads = stat_number(fields, 20)) metrics.set("process_threads", {}, *threads);
  const auto started = stat_number(fields, 22), boot = boot_time();
  if (started && boot) metrics.set("process_start_time_seconds", {}, *boot + *started / ticks);
  if (const auto bytes = stat_number(fields, 23))
    metrics.set("process_virtual_memory_bytes", {}, *bytes);
  if (const auto pages = stat_number(fields, 24))
    metrics.set("process_resident_memory_bytes", {},
                *pages * static_cast<double>(sysconf(_SC_PAGESIZE)));
  std::error_code failed;
  std::int64_t open = 0;
  for (auto entry = std::filesystem::directory_iterator("/proc/self/fd", failed);
       !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed))
    ++open;
  // Without the one by which the folder was read.
  if (!failed && open > 0) metrics.set("process_open_fds", {}, static_cast<double>(open - 1));
  rlimit most{};
  if (getrlimit(RLIMIT_NOFILE, &most) == 0)
    metrics.set("process_max_fds", {}, static_cast<double>(most.rlim_cur));
}

}  // namespace hone
