// The one table of lane functions: portable ones first, then replaced by what this CPU does faster.
#include <string>
#include <unordered_map>

#include "evaluator/device/emulator/ptx/parser.h"

namespace hone::emulator {

using Table = std::unordered_map<std::string, LaneFn>;
namespace lanes_baseline {
void fill(Table& table);
}
namespace lanes_avx2 {
void fill(Table& table);
}
namespace lanes_avx512 {
void fill(Table& table);
}
void fill_conversions(Table& table);  // convert.cpp

namespace {

Table make() {
  Table table;
  fill_conversions(table);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    lanes_avx512::fill(table);
    return table;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    lanes_avx2::fill(table);
    return table;
  }
#endif
  lanes_baseline::fill(table);
  return table;
}

}  // namespace

LaneFn find_lane(const std::string& key) {
  static const Table kTable = make();
  const auto it = kTable.find(key);
  return it == kTable.end() ? nullptr : it->second;
}

}  // namespace hone::emulator
