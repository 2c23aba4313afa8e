// The one table of lane functions: portable ones first, then replaced by what this CPU does faster.
#include <string>
#include <unordered_map>

#include "evaluator/device/emulator/lanes/warp_loops.h"
#include "evaluator/device/emulator/ptx/parser.h"

namespace hone::emulator {

using Table = std::unordered_map<std::string, LaneFn>;
namespace lanes_baseline {
void fill(Table& table);
WarpLoops loops();
}  // namespace lanes_baseline
namespace lanes_avx2 {
void fill(Table& table);
WarpLoops loops();
}  // namespace lanes_avx2
namespace lanes_avx512 {
void fill(Table& table);
WarpLoops loops();
}  // namespace lanes_avx512
void fill_conversions(Table& table);  // convert.cpp

namespace {

enum class Build { kBaseline, kAvx2, kAvx512 };

Build best_build() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Build::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Build::kAvx2;
#endif
  return Build::kBaseline;
}

Table make() {
  Table table;
  fill_conversions(table);
  switch (best_build()) {
    case Build::kAvx512:
      lanes_avx512::fill(table);
      break;
    case Build::kAvx2:
      lanes_avx2::fill(table);
      break;
    case Build::kBaseline:
      lanes_baseline::fill(table);
      break;
  }
  return table;
}

}  // namespace

thread_local constinit std::uint64_t rounding_salt = 0;

LaneFn find_lane(const std::string& key) {
  static const Table kTable = make();
  const auto it = kTable.find(key);
  return it == kTable.end() ? nullptr : it->second;
}

const WarpLoops& warp_loops() {
  static const WarpLoops kLoops = [] {
    switch (best_build()) {
      case Build::kAvx512:
        return lanes_avx512::loops();
      case Build::kAvx2:
        return lanes_avx2::loops();
      default:
        return lanes_baseline::loops();
    }
  }();
  return kLoops;
}

}  // namespace hone::emulator
