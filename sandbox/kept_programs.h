// The programs that this process is and that it starts, kept open. An upgrade deletes or replaces
// their files while daemons run: these go on with the version that they were started from. Not kept
// are the libraries that a package brings: a child finds them by their paths, in the new package.
// Thread-safe, but for keep_programs().
#pragma once

#include <string>
#include <vector>

namespace hone::sandbox {

/// Opens this executable, and those of these names beside it, until the process ends. To be called
/// once, before there are other threads. What is not there is left out.
void keep_programs(const std::vector<std::string>& names_beside);
/// A descriptor to execute a program by, which had this path when it was kept; -1: it was not. Once
/// its file has been replaced it is a copy in memory that no child can write to; where the system
/// makes none, the file as it was opened. A file that was overwritten in place is the new one.
[[nodiscard]] int kept_program(const std::string& path);

/// This executable's path, read once, before anything can replace its file; where that came too
/// late, the path by which the process was started.
[[nodiscard]] const std::string& executable();
/// Its folder: hone-sandbox and hone-runner lie there.
[[nodiscard]] std::string executable_folder();
/// Where a package keeps its libraries. A program that is executed from memory has no folder of its
/// own to look for them.
[[nodiscard]] std::string library_folder();

}  // namespace hone::sandbox
