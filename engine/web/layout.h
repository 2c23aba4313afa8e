// What every page has around it, and what of engine/page's pieces knows this server's addresses.
// Strangers' words go through page::escape(), here or by whoever calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "candidates/store/store.h"
#include "engine/page/html.h"
#include "engine/page/pieces.h"
#include "engine/web/context.h"
#include "engine/web/http.h"

namespace hone::web {

using page::ago_html;
using page::badge;
using page::bar_html;
using page::Cell;
using page::Column;
using page::diff_html;
using page::escape;
using page::Facts;
using page::legend;
using page::link;
using page::number_cell;
using page::origin_label;
using page::source_html;
using page::table;
using page::Term;
using page::time_html;

struct Page {
  std::string title;                 ///< text
  std::string_view section;          ///< of the menu: "/", "/runs", …
  std::string html;                  ///< within <main>, under the title
  std::vector<std::string> scripts;  ///< assets
  std::string live;                  ///< address of events; empty: nothing changes
};
[[nodiscard]] Response render(const Context& context, const Page& page);
[[nodiscard]] std::string failure_page(const Context& context, const Failure& failure);

[[nodiscard]] std::string task_link(const std::string& hash, const std::string& name);
[[nodiscard]] std::string candidate_link(const std::string& id);
[[nodiscard]] std::string run_link(std::int64_t run);
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
