#include "engine/page/pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "engine/page/html.h"

namespace hone::page {

std::string table(std::string_view caption, std::span<const Column> columns,
                  const std::vector<std::vector<Cell>>& rows, std::size_t row_header) {
  std::string out = fmt::format(
      R"(<div class="region" role="region" tabindex="0" aria-label="{0}"><table class="sortable"><caption>{0}</caption><thead><tr>)",
      escape(caption));
  for (const Column& column : columns)
    out += fmt::format(R"(<th scope="col"{}{}>{}</th>)", column.number ? R"( class="number")" : "",
                       column.sortable ? " data-sortable" : "", escape(column.title));
  out += "</tr></thead><tbody>";
  for (const auto& row : rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool names_it = i == row_header;
      out += fmt::format(
          "<{}{}{}{}>{}</{}>", names_it ? "th" : "td", names_it ? R"( scope="row")" : "",
          i >= columns.size() ? ""
          : columns[i].number ? R"( class="number")"
          : columns[i].prose  ? R"( class="prose")"
                              : "",
          row[i].sort.empty() ? "" : fmt::format(R"( data-sort="{}")", escape(row[i].sort)),
          row[i].html, names_it ? "th" : "td");
    }
    out += "</tr>";
  }
  return out + "</tbody></table></div>";
}

Cell number_cell(std::string text, double sort) {
  return {escape(text), fmt::format("{:.9g}", sort)};
}

Facts& Facts::text(std::string_view name, std::string_view value) {
  return html(name, escape(value));
}

Facts& Facts::html(std::string_view name, std::string_view html) {
  if (!html.empty()) html_ += fmt::format("<dt>{}</dt><dd>{}</dd>", escape(name), html);
  return *this;
}

std::string link(std::string_view address, std::string_view text) {
  return fmt::format(R"(<a href="{}">{}</a>)", escape(address), escape(text));
}

std::string origin_label(bool modelled) {
  return modelled ? R"(<span class="modelled">modelled</span>)" : "measured";
}

std::string time_html(const std::string& iso) {
  if (iso.empty()) return "";
  std::string shown = iso.substr(0, 19);  // seconds are enough
  std::ranges::replace(shown, 'T', ' ');
  return fmt::format(R"(<time datetime="{}">{} UTC</time>)", escape(iso), escape(shown));
}

std::string source_html(const std::string& source, std::string_view label) {
  std::string out = fmt::format(
      R"(<pre class="source" tabindex="0" role="region" aria-label="{}"><code>)", escape(label));
  std::istringstream stream(source);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    out += fmt::format("<span class=\"line\">{}</span>\n", escape(line));
  }
  return out + "</code></pre>";
}

std::string diff_html(const std::vector<results::LinePair>& rows, const std::string& left,
                      const std::string& right) {
  int changed = 0;
  std::string body;
  const auto side = [](int number, const std::string& text, const char* of) {
    if (number == 0) return std::string(R"(<td class="no"></td><td class="text none"></td>)");
    return fmt::format(R"(<td class="no">{}</td><td class="text{}">{}</td>)", number, of,
                       escape(text));
  };
  for (const results::LinePair& row : rows) {
    const bool same = row.kind == results::LineKind::kSame;
    if (!same) ++changed;
    body += fmt::format(
        R"(<tr{}>{}<td class="kind">{}</td>{}</tr>)", same ? "" : R"( class="differs")",
        side(row.left_no, row.left, same ? "" : " removed"),
        same ? ""
             : fmt::format(R"(<span aria-hidden="true">{}</span><span class="unseen">{}</span>)",
                           row.kind == results::LineKind::kRemoved ? "-"
                           : row.kind == results::LineKind::kAdded ? "+"
                                                                   : "~",
                           to_string(row.kind)),
        side(row.right_no, row.right, same ? "" : " added"));
  }
  if (changed == 0) return "<p>The sources are the same.</p>";
  return fmt::format(
      R"(<div class="region" role="region" tabindex="0" aria-label="Differences"><table class="diff"><caption>{} of {} lines differ</caption><thead><tr><th scope="col"><span class="unseen">Line</span></th><th scope="col">{}</th><th scope="col"><span class="unseen">Change</span></th><th scope="col"><span class="unseen">Line</span></th><th scope="col">{}</th></tr></thead><tbody>{}</tbody></table></div>)",
      changed, rows.size(), escape(left), escape(right), body);
}

}  // namespace hone::page
