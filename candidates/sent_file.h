// Where a file's bytes are in a service: on the Redis server, under their SHA-256. `hone submit`
// sends what a task reads of its files and puts "sha256:HASH/NAME" in place of each path, where
// NAME is what the file was called; a worker puts the path of its own copy there. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hone {

struct SentFile {
  std::string sha256;  ///< 64 of 0-9 and a-f
  std::string name;    ///< without folders
};

/// A Fill's path.
[[nodiscard]] std::string to_path(const SentFile& file);
/// Empty: the path is that of a file of some machine.
[[nodiscard]] std::optional<SentFile> sent_file(std::string_view path);
[[nodiscard]] bool is_sha256(std::string_view text);

}  // namespace hone
