// What every page has around it, and the pieces that pages are made of. Strangers' words go through
// page::escape(), here or by whoever calls; parameters named `html` are markup already.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "candidates/store/store.h"
#include "engine/page/html.h"
#include "engine/web/context.h"
#include "engine/web/http.h"

namespace hone::web {

using page::escape;

struct Page {
  std::string title;                 ///< text
  std::string_view section;          ///< of the menu: "/", "/runs", …
  std::string html;                  ///< within <main>, under the title
  std::vector<std::string> scripts;  ///< assets
  std::string live;                  ///< address of events; empty: nothing changes
};
[[nodiscard]] Response render(const Context& context, const Page& page);
[[nodiscard]] std::string failure_page(const Context& context, const Failure& failure);

struct Column {
  std::string_view title;
  bool number = false;
  bool sortable = true;
  bool prose = false;  ///< may be long: breaks into lines
};
struct Cell {
  std::string html;
  std::string sort;  ///< what to sort by; empty: what is seen
};
/// In a region of its own that scrolls where it is too wide. `row_header`: which cell names a row.
[[nodiscard]] std::string table(std::string_view caption, std::span<const Column> columns,
                                const std::vector<std::vector<Cell>>& rows,
                                std::size_t row_header = 0);
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

[[nodiscard]] std::string link(std::string_view address, std::string_view text);
[[nodiscard]] std::string task_link(const std::string& hash, const std::string& name);
[[nodiscard]] std::string candidate_link(const std::string& id);
[[nodiscard]] std::string run_link(std::int64_t run);
/// "modelled" or "measured", the first so that nobody overlooks it.
[[nodiscard]] std::string origin_label(bool modelled);
/// <time> of ISO 8601.
[[nodiscard]] std::string time_html(const std::string& iso);
/// Source with line numbers.
[[nodiscard]] std::string source_html(const std::string& source, std::string_view label);

/// A whole number of the query, within its bounds; `fallback` where it is not given.
[[nodiscard]] std::expected<std::int64_t, Failure> number_param(const Request& request,
                                                                std::string_view name,
                                                                std::int64_t fallback,
                                                                std::int64_t least,
                                                                std::int64_t most);
/// Of the query: task, device, arch, modelled, origin, math, rows.
[[nodiscard]] std::expected<BoardFilter, Failure> board_filter(const Request& request,
                                                               int rows_per_board);
/// A segment of a path that is a run's id.
[[nodiscard]] std::expected<std::int64_t, Failure> run_id(const std::string& part);
/// Letters and digits of hashes and ids only: nothing else can name anything.
[[nodiscard]] bool is_hex_id(std::string_view text);

}  // namespace hone::web
