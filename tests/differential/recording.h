// outputs.bin: what a GPU wrote, case by case. The format is in README.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "candidates/result.h"

namespace hone::differential {

struct Record {
  std::uint64_t fingerprint = 0;
  std::vector<std::uint8_t> outputs;
};
struct Recording {
  std::string device;  ///< "NVIDIA H200, driver 13.0"
  std::map<std::string, Record> records;
};

[[nodiscard]] Result<Recording> read_recording(const std::string& path);
[[nodiscard]] Result<void> write_recording(const std::string& path, const Recording& recording);

}  // namespace hone::differential
