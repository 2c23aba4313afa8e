// A strict JSON parser that remembers where everything stood, for messages. nlohmann::json gives no
// places after parsing and keeps the last of duplicate keys without a word. Private to candidates/.
#pragma once

#include <expected>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hone {

struct LocatedJson {
  struct Place {
    std::size_t key = 0;    // byte offset; of the value where there is no key
    std::size_t value = 0;  // byte offset
  };
  nlohmann::json value;
  std::unordered_map<std::string, Place> places;  ///< by path: "$.launches[0].args[2]"

  /// Of the path, or of its nearest parent that is in the text.
  [[nodiscard]] Place find(std::string path) const;
};

struct JsonSyntaxError {
  std::size_t offset = 0;
  std::string path;  ///< of what was being read
  std::string message;
};

/// RFC 8259, with limits: 1 MiB of text, 64 levels of nesting. Duplicate keys are errors.
[[nodiscard]] std::expected<LocatedJson, JsonSyntaxError> parse_located_json(std::string_view text);

}  // namespace hone
