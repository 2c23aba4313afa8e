// Candidates as text for somebody's project. Pure: a board row and its task in, source text out,
// the same for the same input; nothing of this machine gets in.
//
// All but `json` check what they are given and run a candidate only at the sizes that it was
// made for; all but `cu` of one candidate run the reference at other sizes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/store/store.h"
#include "candidates/task.h"

namespace hone {

enum class ExportFormat {
  kCu,     ///< one file with the kernels and a launcher
  kHpp,    ///< a header with a typed launch function
  kTorch,  ///< a Python module with a custom operator, by PyTorch alone
  kCupy,   ///< a Python module, by CuPy
  kJson,   ///< all that is known, for other programs
};
struct ExportFormatName {
  std::string_view name;    ///< "torch"
  std::string_view suffix;  ///< of a file: ".py"
  ExportFormat format;
};
[[nodiscard]] std::span<const ExportFormatName> export_formats();
[[nodiscard]] std::optional<ExportFormat> parse_export_format(std::string_view text);

/// `rows`: candidates of `task`. Several are dispatched on the device's compute capability, by the
/// architectures on which they were found. Errors (kInvalidInput): none, of several tasks, two of
/// one architecture, an expression that does not evaluate at the timed sizes, names that no source
/// can have.
[[nodiscard]] Result<std::string> export_candidates(ExportFormat format,
                                                    const std::vector<BoardRow>& rows,
                                                    const Task& task);

/// The same with all that is C++ as `formatted` (clang-format's work) makes it. Of the same errors.
[[nodiscard]] Result<std::string> export_formatted(
    ExportFormat format, std::vector<BoardRow> rows, Task task,
    const std::function<std::string(const std::string&)>& formatted);

}  // namespace hone
