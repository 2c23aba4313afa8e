// A task file's text with its places: turns JSON paths into "file:line:column". Private to
// candidates/.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "candidates/json_cursor.h"
#include "candidates/located_json.h"
#include "candidates/result.h"

namespace hone {

/// The whole file. kInvalidInput: not there, no regular file, too large; kIo: unreadable.
[[nodiscard]] Result<std::string> read_text_file(const std::filesystem::path& path);

/// kInvalidInput "file:line:column: …" unless this is non-empty UTF-8 text without NUL bytes.
[[nodiscard]] Result<void> check_text(std::string_view text, const std::string& file);

/// "file:line:column"; lines and columns count from 1, columns in characters.
[[nodiscard]] std::string place_in(std::string_view text, std::size_t offset,
                                   const std::string& file);

class TaskFile {
 public:
  /// Finds and parses the JSON: the whole text of a .json file, else the first /* hone {…} */.
  [[nodiscard]] static Result<TaskFile> parse(std::string_view text,
                                              const std::filesystem::path& path);

  [[nodiscard]] const nlohmann::json& json() const { return located_.value; }
  [[nodiscard]] bool in_comment() const { return in_comment_; }
  [[nodiscard]] std::unexpected<Error> error(const JsonError& error) const;

 private:
  std::string_view text_;
  std::string file_;
  std::size_t json_offset_ = 0;
  bool in_comment_ = false;
  LocatedJson located_;
};

}  // namespace hone
