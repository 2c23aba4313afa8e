// Cases written out as PTX bodies: loads of the parameters and a thread index come first.
#pragma once

#include <string>
#include <vector>

#include "tests/differential/families/ops.h"

namespace hone::differential {

struct Raw {
  std::string name;
  std::vector<Buffer> buffers;  ///< addresses in %p0, %p1, ...
  std::string body;             ///< %i: the thread in the grid, %ti, %lane, %cta; see raw.cpp
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{64, 1, 1};
  std::uint32_t shared_bytes = 0;
  std::string module;  ///< before the entry: variables, functions
  std::string target = "sm_80", version = "8.0";
  std::vector<std::uint64_t> words;  ///< further .b64 parameters w0, w1, ...
  std::string directives{};          ///< of the entry: ".reqnctapercluster 4, 1, 1"
};

void add_raw(std::vector<Case>& cases, const Raw& raw);

[[nodiscard]] inline Buffer in(std::uint64_t bytes, Fill fill, std::uint32_t seed = 1) {
  return {bytes, fill, seed, 0, false};
}
[[nodiscard]] inline Buffer out(std::uint64_t bytes) { return {bytes, Fill::kZero, 0, 0, true}; }
[[nodiscard]] inline Buffer inout(std::uint64_t bytes, Fill fill, std::uint32_t seed = 1) {
  return {bytes, fill, seed, 0, true};
}

}  // namespace hone::differential
