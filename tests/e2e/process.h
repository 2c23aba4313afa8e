// Runs the built `hone` binary as a user would.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hone::testing {

struct ProcessResult {
  int status = -1;  ///< exit status; 128 + signal when killed
  std::string out;
  std::string err;

  /// stdout as JSON; discarded (is_discarded()) when it is not.
  [[nodiscard]] nlohmann::json json() const;
};

[[nodiscard]] ProcessResult run_process(const std::vector<std::string>& command);
[[nodiscard]] ProcessResult hone(std::vector<std::string> arguments);

/// A folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const;

 private:
  std::filesystem::path path_;
};

}  // namespace hone::testing
