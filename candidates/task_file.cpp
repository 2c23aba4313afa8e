#include "candidates/task_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "candidates/task_reader.h"

namespace hone {
namespace {

constexpr std::size_t kMaxFile = 16 << 20;  // [B]

// Length of the valid UTF-8 sequence at `at`, or 0. Source: RFC 3629, section 4.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const int first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const int low = first == 0xE0 ? 0xA0 : 0x80, high = first == 0xED ? 0x9F : 0xBF;
    return byte(1) >= low && byte(1) <= high && tail(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const int low = first == 0xF0 ? 0x90 : 0x80, high = first == 0xF4 ? 0x8F : 0xBF;
    return byte(1) >= low && byte(1) <= high && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool is_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0 || text[at] == '\0') return false;
    at += length;
  }
  return true;
}

Result<std::string> read_text_file(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  const std::string name = path.string();
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (status.type() == fs::file_type::not_found) {
    return invalid(fmt::format("{}: there is no such file", name));
  }
  if (code) return fail(ErrorCode::kIo, fmt::format("{}: {}", name, code.message()));
  if (fs::is_directory(status)) {
    return invalid(fmt::format("{}: is a folder; name a .cu or .json file", name));
  }
  if (!fs::is_regular_file(status)) return invalid(fmt::format("{}: is not a regular file", name));
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  if (stream) {
    text.resize(kMaxFile + 1);
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
  }
  if (!stream.is_open() || stream.bad()) {
    return fail(ErrorCode::kIo, fmt::format("{}: cannot be read: {}", name,
                                            errno != 0 ? std::strerror(errno) : "input error"));
  }
  if (text.size() > kMaxFile) {
    return invalid(fmt::format("{}: is larger than {} MiB", name, kMaxFile >> 20));
  }
  return text;
}

std::string place_in(std::string_view text, std::size_t offset, const std::string& file) {
  std::size_t line = 1, column = 1;
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++column;
    }
  }
  return fmt::format("{}:{}:{}", file, line, column);
}

Result<void> check_text(std::string_view text, const std::string& file) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return invalid(
        fmt::format("{}:1:1: the file is empty; a task is CUDA source with a "
                    "/* hone {{…}} */ comment",
                    file));
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0 || text[at] == '\0') {
      return invalid(fmt::format("{}: {} here; expected UTF-8 text", place_in(text, at, file),
                                 length == 0 ? "not UTF-8" : "a NUL byte (a binary file?)"));
    }
    at += length;
  }
  return {};
}

Result<TaskFile> TaskFile::parse(std::string_view text, const std::filesystem::path& path) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  TaskFile task;
  task.text_ = text;
  task.file_ = path.string();
  if (auto good = check_text(text, task.file_); !good) return std::unexpected(good.error());
  std::string_view json = text;
  if (path.extension() == ".json") {
    if (json.starts_with(kByteOrderMark)) task.json_offset_ = kByteOrderMark.size();
    json.remove_prefix(task.json_offset_);
  } else {
    const auto comment = find_task_comment(text);
    if (!comment) {
      return invalid(fmt::format("{}:1:1: no /* hone {{…}} */ comment; `hone init {}` writes one",
                                 task.file_, task.file_));
    }
    if (!text.substr(0, comment->comment_end).ends_with("*/")) {
      return invalid(fmt::format("{}: this task comment is not closed by */",
                                 place_in(text, comment->comment_begin, task.file_)));
    }
    json = comment->json;
    task.json_offset_ = comment->json_offset;
    task.in_comment_ = true;
  }
  auto located = parse_located_json(json);
  if (!located) {
    const JsonSyntaxError& error = located.error();
    return invalid(fmt::format("{}: {}: {}",
                               place_in(text, task.json_offset_ + error.offset, task.file_),
                               error.path, error.message));
  }
  task.located_ = std::move(*located);
  return task;
}

std::unexpected<Error> TaskFile::error(const JsonError& error) const {
  const LocatedJson::Place place = located_.find(error.path);
  const std::size_t offset = json_offset_ + (error.at_key ? place.key : place.value);
  return invalid(
      fmt::format("{}: {}: {}", place_in(text_, offset, file_), error.path, error.message));
}

}  // namespace hone
