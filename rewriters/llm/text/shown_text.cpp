#include "rewriters/llm/text/shown_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "rewriters/llm/text/tokens.h"

namespace hone::llm {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Range {
  char32_t first, last;
};

// What a reader does not see: format characters, fillers, variation selectors, tags, what is no
// character at all. Source: the Unicode Character Database, Default_Ignorable_Code_Point and
// Bidi_Control.
constexpr Range kInvisible[] = {
    {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},     {0x61C, 0x61C},
    {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200F},
    {0x2028, 0x202E},   {0x2060, 0x206F},   {0x2800, 0x2800},   {0x3164, 0x3164},
    {0xFDD0, 0xFDEF},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},   {0x13430, 0x1345F}, {0x1BCA0, 0x1BCA3},
    {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}, {0xF0000, 0x10FFFF}};

bool is_invisible(char32_t c) {
  if (c < 0x7F) return c < 0x20 && c != '\t' && c != '\n' && c != '\r';
  return std::ranges::any_of(
      kInvisible, [c](const Range& range) { return range.first <= c && c <= range.last; });
}

struct Decoded {
  char32_t code_point = 0;
  std::size_t length = 1;
  bool valid = false;
};

// One character of UTF-8 as RFC 3629 has it: no overlong forms, no surrogates.
Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  char32_t code_point = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code_point = code_point << 6 | (byte(i) & 0x3FU);
  }
  const char32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < least || code_point > 0x10FFFF || surrogate) return {};
  return {code_point, length, true};
}

std::string without_invisible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Decoded c = decode(text.substr(at));
    const std::string_view bytes = text.substr(at, c.length);
    at += c.length;
    if (!c.valid) {
      out += kReplacement;
    } else if (c.code_point == '\r') {
      if (!text.substr(at).starts_with('\n')) out += '\n';
    } else if (c.code_point == 0x0B || c.code_point == 0x0C || c.code_point == 0x85 ||
               c.code_point == 0x2028 || c.code_point == 0x2029) {
      out += '\n';  // ends a line for some
    } else if (c.code_point == 0xFF5C) {
      out += '|';  // of the marks of some chat templates
    } else if (!is_invisible(c.code_point)) {
      out += bytes;
    }
  }
  return out;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The words that stand in <…> or […] as marks of chat templates.
bool is_mark(std::string_view word) {
  static constexpr std::string_view kWords[] = {
      "s",      "bos",       "eos",    "pad",  "unk",       "think",         "thinking",
      "system", "assistant", "user",   "inst", "tool",      "start_of_turn", "end_of_turn",
      "sys",    "tool_call", "im_end", "eot",  "reasoning", "im_start",      "tool_response"};
  std::string small;
  for (const char c : word) small += lower(c);
  return std::ranges::find(kWords, small) != std::end(kWords);
}

// A space behind the first character of a mark: in code that changes nothing.
std::string without_marks(std::string_view text) {
  constexpr std::size_t kLongestMark = 20;
  std::string out;
  out.reserve(text.size() + 16);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const char last = out.empty() ? '\0' : out.back();
    if ((c == '|' && last == '<') || (c == '>' && last == '|') || (c == '/' && last == '<')) {
      out += ' ';
    }
    out += c;
    if (c != '<' && c != '[') continue;
    std::string_view inside = text.substr(at + 1, kLongestMark);
    inside = inside.substr(0, inside.find(c == '<' ? '>' : ']'));
    if (inside.size() < kLongestMark) {
      const std::size_t name = inside.starts_with('/') ? 1 : 0;
      if (is_mark(inside.substr(name))) out += ' ';
    }
  }
  return out;
}

// Puts together what is left of a source; blanks and ends of lines only where they say something.
class Tidied {
 public:
  void add_text(std::string_view text) {
    out_ += text;
    kept_ = out_.size();
  }
  void add_blank(char c) { out_ += c; }
  void add_splice() { add_text("\\\n"); }
  void add_newline() {
    while (out_.size() > kept_ && (out_.back() == ' ' || out_.back() == '\t')) {
      // A backslash before blanks must not become a splice.
      if (out_.size() >= 2 && out_[out_.size() - 2] == '\\') break;
      out_.pop_back();
    }
    if (out_.empty() || (out_.size() >= kept_ + 2 && out_.ends_with("\n\n"))) return;
    out_ += '\n';
  }
  std::string finish() {
    if (out_.ends_with('\\')) out_ += ' ';  // no splice with the end that is added
    add_newline();
    while (out_.size() >= kept_ + 2 && out_.ends_with("\n\n")) out_.pop_back();
    return std::move(out_);
  }

 private:
  std::string out_;
  std::size_t kept_ = 0;  // all before it stays
};

}  // namespace

std::string visible_text(std::string_view text) { return without_marks(without_invisible(text)); }

Invisible find_invisible(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Decoded c = decode(text.substr(at));
    if (!c.valid || is_invisible(c.code_point)) return {at, c.code_point};
    at += c.length;
  }
  return {std::string_view::npos, 0};
}

namespace {

// The longest beginning of at most `most` bytes that ends with a whole character.
std::string_view head(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

}  // namespace

std::string visible_line(std::string_view text, std::size_t most) {
  std::string line;
  // Its marks count once the blanks are single.
  for (const char c : without_invisible(text.substr(0, 4 * most + 64))) {
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (!blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (line.ends_with(' ')) line.pop_back();
  line = without_marks(line);
  if (line.size() <= most) return line;
  return std::string(head(line, most < 3 ? 0 : most - 3)) + "…";
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const std::string_view begin = head(text, most);
  return fmt::format("{}\n… ({} bytes more)", begin, text.size() - begin.size());
}

std::string without_comments(std::string_view source, Lines lines) {
  Tidied tidied;
  std::string kept;
  std::size_t at = 0;
  const auto between = [&](std::size_t end) {  // blanks and splices
    for (; at < end; ++at) {
      if (source[at] == '\\') {
        tidied.add_splice();
        kept += "\\\n";
        at += source[at + 1] == '\r' ? 2 : 1;
      } else {
        tidied.add_blank(source[at]);
        kept += source[at];
      }
    }
  };
  for (const Token& token : tokens_of(source)) {
    between(token.begin);
    const std::string_view text = source.substr(token.begin, token.end - token.begin);
    at = token.end;
    if (token.kind == Token::Kind::kNewline) {
      tidied.add_newline();
      kept += '\n';
    } else if (token.kind == Token::Kind::kComment) {
      tidied.add_blank(' ');
      kept += ' ';
      kept.append(static_cast<std::size_t>(std::ranges::count(text, '\n')), '\n');
    } else {
      tidied.add_text(text);
      kept += text;
    }
  }
  between(source.size());
  return lines == Lines::kTidy ? tidied.finish() : kept;
}

std::string shown_source(std::string_view source, Lines lines) {
  return without_comments(visible_text(source), lines);
}

}  // namespace hone::llm
