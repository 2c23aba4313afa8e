#include "candidates/sent_file.h"

#include <algorithm>

namespace hone {
namespace {

constexpr std::string_view kScheme = "sha256:";
constexpr std::size_t kDigits = 64;
constexpr std::size_t kLongestName = 255;  // of a file [B]

bool is_file_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && text != "." && text != ".." &&
         std::ranges::none_of(text,
                              [](unsigned char c) { return c == '/' || c < ' ' || c == 127; });
}

}  // namespace

std::string to_path(const SentFile& file) {
  return std::string(kScheme) + file.sha256 + "/" + file.name;
}

std::optional<SentFile> sent_file(std::string_view path) {
  if (!path.starts_with(kScheme)) return std::nullopt;
  path.remove_prefix(kScheme.size());
  if (path.size() <= kDigits || path[kDigits] != '/') return std::nullopt;
  const std::string_view hash = path.substr(0, kDigits), name = path.substr(kDigits + 1);
  if (!is_sha256(hash) || !is_file_name(name)) return std::nullopt;
  return SentFile{std::string(hash), std::string(name)};
}

bool is_sha256(std::string_view text) {
  return text.size() == kDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace hone
