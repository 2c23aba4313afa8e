// A real file system of a few megabytes (tmpfs) that can be filled, in a mount namespace of this
// process alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "tests/e2e/process.h"

namespace hone::test {

class SmallDisk {
 public:
  /// Null where this machine does not allow it; `why_not` says why. Before there are threads: those
  /// that exist already do not see the disk.
  [[nodiscard]] static std::unique_ptr<SmallDisk> make(std::int64_t bytes, std::string& why_not);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Until nothing more can be written. Throws where it cannot.
  void fill() const;
  /// What fill() wrote goes.
  void free() const;

 private:
  SmallDisk() = default;
  hone::testing::TemporaryFolder folder_;
  std::filesystem::path path_;
};

}  // namespace hone::test
