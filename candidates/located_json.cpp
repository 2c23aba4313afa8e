#include "candidates/located_json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>

#include "candidates/characters.h"
#include "candidates/json_cursor.h"

namespace hone {
namespace {

constexpr std::size_t kMaxText = 8 << 20;  // [B]
constexpr int kMaxDepth = 64;

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  std::expected<LocatedJson, JsonSyntaxError> parse() {
    if (text_.size() > kMaxText) {
      error(0, "$", fmt::format("more than {} bytes of JSON", kMaxText));
    } else {
      skip_space();
      if (value(result_.value, "$")) {
        skip_space();
        if (at_ < text_.size())
          error(at_, "$", "expected nothing after the closing brace" + found());
      }
    }
    if (failed_) return std::unexpected(std::move(error_));
    return std::move(result_);
  }

 private:
  bool error(std::size_t at, const std::string& path, std::string message) {
    if (!failed_) error_ = {at, path, std::move(message)};
    failed_ = true;
    return false;
  }

  // ", found 'x'"
  std::string found() const {
    if (at_ >= text_.size()) return ", found the end of the text";
    std::size_t length = 1;
    if (is_word(text_[at_])) {
      while (at_ + length < text_.size() && is_word(text_[at_ + length])) ++length;
    } else {
      while (at_ + length < text_.size() &&
             (static_cast<unsigned char>(text_[at_ + length]) & 0xC0) == 0x80) {
        ++length;
      }
    }
    return fmt::format(", found '{}'", printable(text_.substr(at_, length)));
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool value(nlohmann::json& out, const std::string& path) {
    LocatedJson::Place& place = result_.places[path];
    place.value = at_;
    if (place.key == 0) place.key = at_;
    const char c = peek();
    if (c == '{') return object(out, path);
    if (c == '[') return array(out, path);
    if (c == '"') {
      std::string text;
      if (!string(text, path)) return false;
      out = std::move(text);
      return true;
    }
    if (c == '-' || is_digit(c)) return number(out, path);
    return word(out, path);
  }

  bool word(nlohmann::json& out, const std::string& path) {
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word == "true" || word == "false") {
      out = word == "true";
    } else if (word == "null") {
      out = nullptr;
    } else if (word == "True" || word == "False" || word == "None") {
      return error(at_, path, fmt::format("'{}' is not JSON; write true, false or null", word));
    } else if (word == "NaN" || word == "Infinity" || word == "nan" || word == "inf") {
      return error(at_, path,
                   fmt::format("'{}' is not a number in JSON; write a finite one", word));
    } else if (peek() == '\'') {
      return error(at_, path, "strings take double quotes");
    } else if (peek() == '/') {
      return error(at_, path, "JSON takes no comments");
    } else {
      return error(at_, path, "expected a value" + found());
    }
    at_ = end;
    return true;
  }

  // Checks the shape of RFC 8259 (no leading zero, digits after the point), which from_chars does
  // not.
  bool number(nlohmann::json& out, const std::string& path) {
    const std::size_t begin = at_;
    bool whole = true;
    const auto digits = [this] {
      const std::size_t first = at_;
      while (is_digit(peek())) ++at_;
      return at_ - first;
    };
    if (peek() == '-') ++at_;
    const std::size_t first = at_;
    const std::size_t integer_digits = digits();
    bool good = integer_digits == 1 || (integer_digits > 1 && text_[first] != '0');
    if (good && peek() == '.') {
      whole = false;
      ++at_;
      good = digits() > 0;
    }
    if (good && (peek() == 'e' || peek() == 'E')) {
      whole = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      good = digits() > 0;
    }
    if (!good || is_word(peek()) || peek() == '.') {
      while (is_word(peek()) || peek() == '.') ++at_;
      return error(
          begin, path,
          fmt::format("'{}' is not a number in JSON", printable(text_.substr(begin, at_ - begin))));
    }
    const char* from = text_.data() + begin;
    const char* to = text_.data() + at_;
    if (whole) {
      std::int64_t integer = 0;
      if (std::from_chars(from, to, integer).ec == std::errc()) {
        out = integer;
        return true;
      }
      std::uint64_t wide = 0;  // of the upper half, which has no sign
      if (*from != '-' && std::from_chars(from, to, wide).ec == std::errc()) {
        out = wide;
        return true;
      }
      return error(begin, path,
                   fmt::format("{} does not fit a 64-bit integer",
                               printable(text_.substr(begin, at_ - begin))));
    }
    double real = 0;
    if (std::from_chars(from, to, real).ec != std::errc() || !std::isfinite(real)) {
      return error(begin, path,
                   fmt::format("{} is outside the range of a double",
                               printable(text_.substr(begin, at_ - begin))));
    }
    out = real;
    return true;
  }

  bool hex4(std::uint32_t& code, const std::string& path) {
    code = 0;
    const std::size_t begin = at_;
    if (text_.size() - at_ >= 4) {
      const auto [end, ec] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, code, 16);
      at_ += 4;
      if (ec == std::errc() && end == text_.data() + at_) return true;
    }
    return error(begin, path, "\\u takes four hexadecimal digits");
  }

  bool escape(std::string& out, const std::string& path) {
    const std::size_t begin = at_++;  // at the backslash
    const char c = peek();
    ++at_;
    constexpr std::string_view kPlain = "\"\\/bfnrt";
    constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
    if (const std::size_t i = kPlain.find(c); c != '\0' && i != std::string_view::npos) {
      out += kMeaning[i];
      return true;
    }
    if (c != 'u') return error(begin, path, "unknown escape in a string; a backslash is \\\\");
    std::uint32_t code = 0;
    if (!hex4(code, path)) return false;
    if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
      at_ += 2;
      std::uint32_t low = 0;
      if (!hex4(low, path)) return false;
      if (low < 0xDC00 || low > 0xDFFF) return error(begin, path, "half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xD800 && code <= 0xDFFF) {
      return error(begin, path, "half of a surrogate pair");
    }
    append_utf8(out, code);
    return true;
  }

  bool string(std::string& out, const std::string& path) {
    const std::size_t begin = at_++;
    for (;;) {
      if (at_ >= text_.size()) return error(begin, path, "this string is not closed");
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c == '\n' || c == '\r') {
        return error(begin, path, "this string is not closed on its line");
      }
      if (static_cast<unsigned char>(c) < 0x20) {
        return error(at_, path, "control character in a string; write it as an escape");
      }
      if (c == '\\') {
        if (!escape(out, path)) return false;
      } else {
        out += c;
        ++at_;
      }
    }
  }

  bool enter(const std::string& path) {
    if (++depth_ <= kMaxDepth) return true;
    return error(at_, path, fmt::format("nested more than {} deep", kMaxDepth));
  }

  // After an element: true to go on with the next one, false at the end or after an error.
  bool next(char close, const std::string& path) {
    skip_space();
    if (peek() == close && at_ < text_.size()) {
      ++at_;
      return false;
    }
    if (peek() != ',') {
      return error(at_, path, fmt::format("expected ',' or '{}'{}", close, found()));
    }
    const std::size_t comma = at_++;
    skip_space();
    if (peek() == close)
      return error(comma, path, fmt::format("trailing comma before '{}'", close));
    return true;
  }

  bool object(nlohmann::json& out, const std::string& path) {
    out = nlohmann::json::object();
    if (!enter(path)) return false;
    ++at_;
    skip_space();
    bool more = peek() != '}';
    if (!more) ++at_;
    while (more) {
      const std::size_t key_at = at_;
      std::string key;
      if (peek() != '"') return error(at_, path, "expected a key in double quotes" + found());
      if (!string(key, path)) return false;
      const std::string inner = child_path(path, key);
      if (out.contains(key)) {
        return error(key_at, inner, fmt::format("the key '{}' is given twice", printable(key)));
      }
      skip_space();
      if (peek() != ':') return error(at_, inner, "expected ':' after the key" + found());
      ++at_;
      skip_space();
      result_.places[inner].key = key_at;
      nlohmann::json item;
      if (!value(item, inner)) return false;
      out[key] = std::move(item);
      more = next('}', path);
    }
    --depth_;
    return !failed_;
  }

  bool array(nlohmann::json& out, const std::string& path) {
    out = nlohmann::json::array();
    if (!enter(path)) return false;
    ++at_;
    skip_space();
    bool more = peek() != ']';
    if (!more) ++at_;
    while (more) {
      nlohmann::json item;
      if (!value(item, child_path(path, out.size()))) return false;
      out.push_back(std::move(item));
      more = next(']', path);
    }
    --depth_;
    return !failed_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
  JsonSyntaxError error_;
  LocatedJson result_;
};

}  // namespace

LocatedJson::Place LocatedJson::find(std::string path) const {
  for (;;) {
    const auto found = places.find(path);
    if (found != places.end()) return found->second;
    const std::size_t cut = path.find_last_of(".[");
    if (cut == std::string::npos) return {};
    path.resize(cut);
  }
}

std::expected<LocatedJson, JsonSyntaxError> parse_located_json(std::string_view text) {
  return JsonParser(text).parse();
}

}  // namespace hone
