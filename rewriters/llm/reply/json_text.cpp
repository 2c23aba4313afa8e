#include "rewriters/llm/reply/json_text.h"

#include <fmt/format.h>

#include "candidates/json_cursor.h"
#include "rewriters/llm/reply/reply.h"
#include "rewriters/llm/text/shown_text.h"

namespace hone::llm {
namespace {

constexpr int kMaxDepth = 32;

bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
      continue;
    }
    in_string = c == '"';
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMaxDepth) return true;
  }
  return false;
}

// Without a comma before a closing bracket, which many languages allow.
std::string without_last_commas(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::size_t comma = std::string::npos;  // with nothing but blanks behind it so far
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!in_string && (c == ']' || c == '}') && comma != std::string::npos) out[comma] = ' ';
    if (in_string || (c != ' ' && c != '\t' && c != '\n' && c != '\r')) comma = std::string::npos;
    if (!in_string && c == ',') comma = out.size();
    out += c;
    if (in_string && c == '\\' && i + 1 < text.size()) {
      out += text[++i];
    } else if (c == '"') {
      in_string = !in_string;
    }
  }
  return out;
}

}  // namespace

Result<nlohmann::json> parse_json_text(std::string_view text) {
  // A comment with a quote in it hides brackets from too_deep(), but not from the callback.
  if (too_deep(text))
    return refused(fmt::format("the JSON is nested more than {} deep", kMaxDepth));
  bool deep = false;
  const auto callback = [&deep](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    deep |= depth > kMaxDepth;
    return !deep;
  };
  try {
    nlohmann::json json = nlohmann::json::parse(without_last_commas(text), callback,
                                                /*allow_exceptions=*/true,
                                                /*ignore_comments=*/true);
    if (deep) return refused(fmt::format("the JSON is nested more than {} deep", kMaxDepth));
    return json;
  } catch (const nlohmann::json::exception& error) {
    const std::string_view what = error.what();
    const std::size_t at = what.find("] ");  // after the exception's name
    return refused(fmt::format("the JSON cannot be read: {}",
                               printable(at == what.npos ? what : what.substr(at + 2))));
  }
}

std::string printable_why(std::string_view text) {
  std::string line = visible_line(text, 4 * kMaxWhyCharacters);
  std::size_t characters = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if ((static_cast<unsigned char>(line[i]) & 0xC0) == 0x80) continue;
    if (++characters > kMaxWhyCharacters) {
      line.resize(i);
      break;
    }
  }
  return line;
}

}  // namespace hone::llm
