// Puts the text of a CUDA file's own headers into the file, for `hone init`: the child that parses
// sees no file. Runs in hone itself, so it reads `#include` lines and nothing else.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "candidates/result.h"

namespace hone::init {

struct Gathered {
  std::string text;                ///< with `#line` where another file begins or goes on
  std::vector<std::string> notes;  ///< headers that are not there
};

/// Headers are looked for beside the file that names them, then in `folders`, in order. CUDA's own
/// and the standard ones stay as they are; one that is not found is left out. Only regular files of
/// text, of 1 MiB each and 8 MiB in all; deeper than 32, a header is left out. `#pragma once` and
/// include guards work. A byte order mark is skipped, and a file that is no UTF-8 is read as
/// Latin-1. Errors: kInvalidInput, the file itself, a folder
/// that is none, or the limits.
[[nodiscard]] Result<Gathered> gather(const std::filesystem::path& file,
                                      const std::vector<std::filesystem::path>& folders);

}  // namespace hone::init
