// What this program is: for `hone version`, and for `hone_build_info` among the metrics.
#pragma once

#include <string>

namespace hone {

struct BuildInfo {
  std::string version;             ///< "0.1.0"
  std::string commit = "unknown";  ///< "1a2b3c4d5e6f", with "-dirty" where files were changed
  std::string compiler;            ///< "GCC 12.2.0"
  std::string build_type;          ///< "Release"
};

[[nodiscard]] const BuildInfo& build_info();
/// Called by main() before there are threads. Only the program itself is made anew for each commit,
/// so that tests that use its libraries are not.
void set_build_commit(const std::string& commit);

}  // namespace hone
