// The pieces that pages and reports are made of, styled by page/style.css. Strangers' words go
// through escape(), here or by whoever calls; parameters named `html` are markup already.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/results/side_by_side.h"

namespace hone::page {

struct Column {
  std::string_view title;
  bool number = false;
  bool sortable = true;
  bool prose = false;  ///< may be long: breaks into lines
  bool wide = false;   ///< left out where the screen is narrow, also of cards
};
struct Cell {
  std::string html;
  std::string sort;  ///< what to sort by; empty: what is seen
};
struct TableStyle {
  std::size_t row_header = 0;   ///< which cell names a row
  bool caption_unseen = false;  ///< a heading says the same: the caption is for screen readers
  /// Where the screen is narrow each row is a block of its own, in which every cell stands behind
  /// its column's title; else columns that are `wide` are left out there.
  bool cards = false;
};
/// In a region of its own that scrolls where it is too wide.
[[nodiscard]] std::string table(std::string_view caption, std::span<const Column> columns,
                                const std::vector<std::vector<Cell>>& rows, TableStyle style = {});
[[nodiscard]] Cell number_cell(std::string text, double sort);

/// <dl> of text and markup; entries without markup are left out.
class Facts {
 public:
  Facts& text(std::string_view name, std::string_view value);
  Facts& html(std::string_view name, std::string_view html);
  [[nodiscard]] std::string take() { return html_.empty() ? "" : "<dl>" + html_ + "</dl>"; }

 private:
  std::string html_;
};

struct Term {
  std::string_view word, meaning;
};
/// What the words of a page mean, folded until somebody asks.
[[nodiscard]] std::string legend(std::string_view summary, std::span<const Term> terms);

[[nodiscard]] std::string link(std::string_view address, std::string_view text);
enum class Tone { kPlain, kGood, kBad, kWarn, kBusy };
/// A state in a word or two, with a frame and a colour that say how good it is.
[[nodiscard]] std::string badge(std::string_view text, Tone tone = Tone::kPlain);
/// A badge "modelled" or "measured", the first so that nobody overlooks it.
[[nodiscard]] std::string origin_label(bool modelled);
/// <time> of ISO 8601.
[[nodiscard]] std::string time_html(const std::string& iso);
/// <time> of ISO 8601 as "5 min ago", with the time itself on demand. `now_s`: the Unix time by the
/// clock that `iso` is of; none: this machine's.
[[nodiscard]] std::string ago_html(const std::string& iso,
                                   std::optional<std::int64_t> now_s = std::nullopt);
/// A bar of this share of its width, 0 to 1; `label` says the same to a screen reader.
[[nodiscard]] std::string bar_html(double share, std::string_view label);
/// How a run ended, its status in the database as words: "budget" is "budget used".
[[nodiscard]] std::string run_status_html(std::string_view status);
/// Source with line numbers.
[[nodiscard]] std::string source_html(const std::string& source, std::string_view label);
/// Two sources beside each other; `left` and `right` name them. Folded where nearly all lines
/// differ: then `why`, a sentence, says what made them so; empty: nothing is known.
[[nodiscard]] std::string diff_html(const std::vector<results::LinePair>& rows,
                                    const std::string& left, const std::string& right,
                                    std::string_view why = "");

}  // namespace hone::page
