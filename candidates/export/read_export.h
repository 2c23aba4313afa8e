// The way back: candidates out of a file that `hone export` wrote as `cu` or `hpp`, also after
// somebody has edited their text. The file is a stranger's: what it says is read as a variant is,
// and nothing in it is believed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/result.h"
#include "candidates/task.h"
#include "candidates/variant.h"

namespace hone {

/// Whether `hone export` wrote the text, as far as a glance shows: a line or a launcher of its own.
[[nodiscard]] bool is_export(std::string_view text);

/// One for each candidate, in the file's order; never empty. Errors: kInvalidInput
/// "file:line:column: what is wrong; what would be right".
[[nodiscard]] Result<std::vector<Variant>> read_export(std::string_view text,
                                                       const std::filesystem::path& path,
                                                       const Task& task);

/// A source as read_export() gives it where nobody has edited it: without its task comment,
/// includes first, `extern "C"` made `extern "C++"`.
[[nodiscard]] std::string as_exported(std::string_view source);

}  // namespace hone
