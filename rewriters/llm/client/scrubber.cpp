#include "rewriters/llm/client/scrubber.h"

namespace hone::llm {
namespace {

/// Bytes of the UTF-8 character at the front; 0: not one, or a control character (C1 included).
std::size_t plain_character(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto more = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  if (first >= 0xC2 && first < 0xE0 && more(1)) return first == 0xC2 && byte(1) < 0xA0 ? 0 : 2;
  if (first >= 0xE0 && first < 0xF0 && more(1) && more(2)) {
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    return first == 0xED && byte(1) >= 0xA0 ? 0 : 3;
  }
  if (first >= 0xF0 && first < 0xF5 && more(1) && more(2) && more(3)) {
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    return first == 0xF4 && byte(1) >= 0x90 ? 0 : 4;
  }
  return 0;
}

/// A character that a reader does not see, or that turns a line around.
bool is_invisible(std::string_view character) {
  const auto between = [&](std::string_view first, std::string_view last) {
    return first <= character && character <= last;  // UTF-8 sorts by code point
  };
  return between("\u200B", "\u200F") || between("\u2028", "\u202E") ||
         between("\u2060", "\u206F") || character == "\u061C" || character == "\uFEFF";
}

}  // namespace

// Knuth, Morris and Pratt's search: one pass, whatever the pieces.
Scrubber::Scrubber(const Key& key) : key_(key.reveal()), border_(key_.size(), 0) {
  for (std::size_t i = 1, length = 0; i < key_.size(); ++i) {
    while (length > 0 && key_[i] != key_[length]) length = border_[length - 1];
    if (key_[i] == key_[length]) ++length;
    border_[i] = length;
  }
}

std::string Scrubber::add(std::string_view piece) {
  if (key_.empty()) return std::string(piece);
  std::string out;
  out.reserve(piece.size() + matched_);
  for (const char c : piece) {
    while (matched_ > 0 && c != key_[matched_]) {
      const std::size_t shorter = border_[matched_ - 1];
      out += key_.substr(0, matched_ - shorter);
      matched_ = shorter;
    }
    if (c != key_[matched_]) {
      out += c;
    } else if (++matched_ == key_.size()) {
      out += kScrubbed;
      matched_ = 0;
    }
  }
  return out;
}

std::string Scrubber::finish() {
  std::string out(key_.substr(0, matched_));
  matched_ = 0;
  return out;
}

std::string scrubbed(const Key& key, std::string_view text) {
  Scrubber scrubber(key);
  std::string out = scrubber.add(text);
  return out + scrubber.finish();
}

std::string one_line(const Key& key, std::string_view text, std::size_t most) {
  const std::string clean = scrubbed(key, text);
  std::string_view rest = clean;
  std::string out;
  while (!rest.empty()) {
    const std::size_t size = plain_character(rest);
    const bool shown = size != 0 && !is_invisible(rest.substr(0, size));
    const std::string_view next = shown ? rest.substr(0, size) : "?";
    if (out.size() + next.size() > most) return out + "...";
    out += next;
    rest.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

}  // namespace hone::llm
