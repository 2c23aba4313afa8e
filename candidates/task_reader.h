// Reads a task from disk. Both forms of the format: a .cu file whose first comment is
// `/* hone { ... } */`, or a .json file whose "source" names the .cu file (relative to it).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "candidates/result.h"
#include "candidates/task.h"

namespace hone {

/// Whether a task may name files that buffers are filled from.
enum class FillFiles {
  kOfThisMachine,  ///< relative to the task, or absolute; whoever names them may read them
  kNone,           ///< a submitted task: workers have its text alone, and nothing is looked up here
};

/// Every error is ErrorCode::kInvalidInput (or kIo) with "file:line:column: $.json.path: what is
/// wrong; what would be right". Unknown keys are errors that suggest the nearest known one.
[[nodiscard]] Result<Task> read_task(const std::filesystem::path& path,
                                     FillFiles files = FillFiles::kOfThisMachine);

/// The same from memory; `path` is used in messages and to resolve relative names.
[[nodiscard]] Result<Task> parse_task(std::string_view text, const std::filesystem::path& path,
                                      FillFiles files = FillFiles::kOfThisMachine);

/// UTF-8 without NUL bytes: what every source is.
[[nodiscard]] bool is_text(std::string_view text);

/// Splits a .cu file into the JSON of its first `/* hone {...} */` comment and the whole text.
/// Empty when there is none. `json_offset` is the byte offset of the JSON in `text`.
struct TaskComment {
  std::string_view json;
  std::size_t json_offset = 0;
  std::size_t comment_begin = 0, comment_end = 0;
};
[[nodiscard]] std::optional<TaskComment> find_task_comment(std::string_view text);
/// Source without its task comment and the blank lines before what follows; ends in a newline.
[[nodiscard]] std::string without_task_comment(std::string_view source);

}  // namespace hone
