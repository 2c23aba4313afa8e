#include "engine/results/diff_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace hone::results {
namespace {

constexpr std::string_view kRed = "\033[31m", kGreen = "\033[32m", kCyan = "\033[36m";
constexpr std::string_view kPlain = "\033[0m";

/// `text` in pieces of at most `width` characters, at least one piece. UTF-8 stays whole.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> pieces(1);
  std::size_t used = 0;
  const auto add = [&](std::string_view character) {
    if (used == width) pieces.emplace_back(), used = 0;
    pieces.back() += character;
    ++used;
  };
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    std::size_t end = i + 1;
    if (byte == '\t') {
      add(" "), add(" ");
    } else if (byte < 0x20 || byte == 0x7F) {
      add("?");
    } else {
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
      add(text.substr(i, end - i));
    }
    i = end;
  }
  return pieces;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

char mark_of(LineKind kind) {
  switch (kind) {
    case LineKind::kSame:
      return ' ';
    case LineKind::kChanged:
      return '|';
    case LineKind::kRemoved:
      return '<';
    case LineKind::kAdded:
      return '>';
  }
  return ' ';
}

class Printer {
 public:
  Printer(const std::vector<LinePair>& rows, const DiffTextOptions& options)
      : colour_(options.colour) {
    int most = 1;
    for (const LinePair& row : rows) most = std::max({most, row.left_no, row.right_no});
    digits_ = fmt::format("{}", most).size();
    // Two numbers with a space each, and " | " between the sides.
    const auto width = static_cast<std::size_t>(std::max(options.width, kNarrowest));
    side_ = (width - 2 * digits_ - 2 - 3) / 2;
  }

  void names(const std::string& left, const std::string& right) {
    line({}, "", left, ' ', {}, "", right);
  }
  void gap() { out_ += fmt::format("{}...{}\n", paint(kCyan), paint(kPlain)); }
  void row(const LinePair& pair) {
    const auto number = [](int no) { return no == 0 ? std::string() : fmt::format("{}", no); };
    const bool same = pair.kind == LineKind::kSame;
    line(same ? std::string_view() : kRed, number(pair.left_no), pair.left, mark_of(pair.kind),
         same ? std::string_view() : kGreen, number(pair.right_no), pair.right);
  }
  std::string take() { return std::move(out_); }

 private:
  [[nodiscard]] std::string_view paint(std::string_view colour) const {
    return colour_ ? colour : std::string_view();
  }
  void line(std::string_view left_colour, const std::string& left_no, const std::string& left,
            char mark, std::string_view right_colour, const std::string& right_no,
            const std::string& right) {
    const auto lefts = wrapped(left, side_), rights = wrapped(right, side_);
    for (std::size_t i = 0; i < std::max(lefts.size(), rights.size()); ++i) {
      const std::string& l = i < lefts.size() ? lefts[i] : kNothing;
      const std::string& r = i < rights.size() ? rights[i] : kNothing;
      std::string text = fmt::format("{:>{}} ", i == 0 ? left_no : kNothing, digits_);
      text += coloured(left_colour, l) + std::string(side_ - columns_of(l), ' ');
      text += fmt::format(" {} {:>{}} ", mark, i == 0 ? right_no : kNothing, digits_);
      text += coloured(right_colour, r);
      text.resize(text.find_last_not_of(' ') + 1);
      out_ += text + "\n";
    }
  }
  [[nodiscard]] std::string coloured(std::string_view colour, const std::string& text) const {
    if (colour.empty() || text.empty()) return text;
    return fmt::format("{}{}{}", paint(colour), text, paint(kPlain));
  }

  inline static const std::string kNothing;
  const bool colour_;
  std::size_t digits_ = 1, side_ = 1;
  std::string out_;
};

}  // namespace

std::string side_by_side_text(const std::vector<LinePair>& rows, const std::string& left_name,
                              const std::string& right_name, const DiffTextOptions& options) {
  const auto context = static_cast<std::size_t>(std::max(options.context, 0));
  std::vector<bool> shown(rows.size(), false);
  bool differ = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].kind == LineKind::kSame) continue;
    differ = true;
    const std::size_t first = i > context ? i - context : 0;
    const std::size_t last = std::min(rows.size() - 1, i + context);
    for (std::size_t k = first; k <= last; ++k) shown[k] = true;
  }
  if (!differ) return "";
  Printer printer(rows, options);
  printer.names(left_name, right_name);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!shown[i]) continue;
    if (i > 0 && !shown[i - 1]) printer.gap();
    printer.row(rows[i]);
  }
  return printer.take();
}

}  // namespace hone::results
