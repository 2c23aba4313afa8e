#include "engine/queue/messages.h"

#include <fmt/format.h>

#include <algorithm>

#include "candidates/sent_file.h"
#include "candidates/task_reader.h"
#include "engine/queue/messages_detail.h"
#include "evaluator/protocol/channel.h"

namespace hone::queue {

bool is_id(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == ':' || c == '-';
  });
}

namespace detail {

std::unexpected<Error> refuse(std::string_view type, std::string_view why) {
  return invalid(protocol::clean_text(fmt::format("{} message: {}", type, why), kMaxText));
}

std::unexpected<Error> refuse(std::string_view type, const JsonError& error) {
  std::string_view path = error.path;
  path.remove_prefix(std::min<std::size_t>(path.size(), path.starts_with("$.") ? 2 : 1));
  return path.empty() ? refuse(type, error.message)
                      : refuse(type, fmt::format("{}: {}", path, error.message));
}

Result<Json> open(std::string_view type, std::string_view bytes) {
  if (bytes.size() > kMaxMessage) {
    return refuse(type,
                  fmt::format("has {} bytes; at most {} are accepted", bytes.size(), kMaxMessage));
  }
  auto json = protocol::decode(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (!json) return refuse(type, "is not a CBOR value, or has too many parts");
  const auto version = protocol::get_int(*json, "v");
  const auto named = protocol::get_string(*json, "type", 80);
  if (!version || !named) return refuse(type, "says no version and type");
  if (*version != kQueueVersion) {
    return refuse(type, fmt::format("is of version {}; this hone reads version {} (use the same "
                                    "hone everywhere)",
                                    *version, kQueueVersion));
  }
  if (*named != type) {
    return refuse(type, fmt::format("is of type '{}' (version {}); a '{}' was expected (version "
                                    "{})",
                                    printable(*named), *version, type, kQueueVersion));
  }
  return json;
}

std::string seal(std::string_view type, Json json) {
  json["v"] = kQueueVersion;
  json["type"] = type;
  const auto bytes = protocol::encode(json);
  return {bytes.begin(), bytes.end()};
}

void expect_fields(const JsonCursor& root, std::span<const std::string_view> fields) {
  std::vector<std::string_view> known{"v", "type"};
  known.insert(known.end(), fields.begin(), fields.end());
  root.expect_keys(known);
}

std::string read_id(const JsonCursor& cursor) {
  std::string id = cursor.string();
  if (cursor.ok() && !is_id(id)) {
    cursor.fail(fmt::format("'{}' is no id: 1 to 80 letters, digits and . _ : -", printable(id)));
    id.clear();
  }
  return id;
}

std::string read_text(const JsonCursor& cursor, std::size_t most) {
  return protocol::clean_text(cursor.string_up_to(most), most);
}

std::string read_source(const JsonCursor& cursor) {
  std::string source = cursor.string_up_to(kMaxSources);
  if (cursor.ok() && !is_text(source)) cursor.fail("must be UTF-8 text without NUL bytes");
  return source;
}

std::int64_t read_count(const JsonCursor& cursor) {
  return cursor.integer_in(0, std::int64_t{1} << 53);
}

double read_duration(const JsonCursor& cursor) { return cursor.number_in(0, kMaxDuration); }

void check_defines(const JsonCursor& cursor, const std::map<std::string, std::string>& defines) {
  if (defines.size() > kMaxDefines) {
    cursor.fail(
        fmt::format("has {} entries; at most {} are accepted", defines.size(), kMaxDefines));
    return;
  }
  for (const auto& [name, value] : defines) {
    const JsonCursor at = cursor.at(name);
    if (!is_c_identifier(name)) at.fail_at_key("is no name for a macro");
    if (value.size() > kMaxDefine || !is_text(value)) at.fail("is too long or no text");
  }
}

void check_fill(const JsonCursor& cursor, const Fill& fill) {
  if (fill.kind == Fill::Kind::kFile) {
    if (!sent_file(fill.path) || !is_text(fill.path))
      cursor.fail("an input from a file has the SHA-256 of what was sent, and no path");
  } else if (!fill.path.empty()) {
    cursor.fail("only an input from a file has a path");
  } else if (fill.kind == Fill::Kind::kNormal ? fill.b < 0
                                              : is_range(fill.kind) && fill.a > fill.b) {
    cursor.fail(fmt::format("a range of {} to {} is none", fill.a, fill.b));
  }
}

bool is_range(Fill::Kind kind) {
  return kind != Fill::Kind::kNormal && kind != Fill::Kind::kConstant &&
         kind != Fill::Kind::kIota && kind != Fill::Kind::kFile;
}

}  // namespace detail
}  // namespace hone::queue
