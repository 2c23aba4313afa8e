#include "engine/page/pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <sstream>
#include <utility>

#include "engine/page/html.h"

namespace hone::page {

std::string table(std::string_view caption, std::span<const Column> columns,
                  const std::vector<std::vector<Cell>>& rows, TableStyle style) {
  const auto class_of = [](const Column& column) {
    std::string names = column.number ? "number" : column.prose ? "prose" : "";
    if (column.wide) names += names.empty() ? "wide" : " wide";
    return names.empty() ? "" : fmt::format(R"( class="{}")", names);
  };
  std::string out = fmt::format(
      R"(<div class="region" role="region" tabindex="0" aria-label="{0}"><table class="sortable{2}"><caption><span{1}>{0}</span></caption><thead><tr>)",
      escape(caption), style.caption_unseen ? R"( class="unseen")" : "",
      style.cards ? " cards" : "");
  for (const Column& column : columns)
    out += fmt::format(R"(<th scope="col"{}{}>{}</th>)", class_of(column),
                       column.sortable ? " data-sortable" : "", escape(column.title));
  out += "</tr></thead><tbody>";
  for (const auto& row : rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool names_it = i == style.row_header;
      out += fmt::format(
          "<{}{}{}{}{}>{}</{}>", names_it ? "th" : "td", names_it ? R"( scope="row")" : "",
          i < columns.size() ? class_of(columns[i]) : "",
          row[i].sort.empty() ? "" : fmt::format(R"( data-sort="{}")", escape(row[i].sort)),
          style.cards && i < columns.size()
              ? fmt::format(R"( data-title="{}")", escape(columns[i].title))
              : "",
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

std::string legend(std::string_view summary, std::span<const Term> terms) {
  Facts facts;
  for (const Term& term : terms) facts.text(term.word, term.meaning);
  return fmt::format(R"(<details class="legend"><summary>{}</summary>{}</details>)",
                     escape(summary), facts.take());
}

std::string link(std::string_view address, std::string_view text) {
  return fmt::format(R"(<a href="{}">{}</a>)", escape(address), escape(text));
}

std::string badge(std::string_view text, Tone tone) {
  constexpr std::array<std::string_view, 5> kClass = {"", " good", " bad", " warn", " busy"};
  return fmt::format(R"(<span class="badge{}">{}</span>)", kClass[static_cast<std::size_t>(tone)],
                     escape(text));
}

std::string origin_label(bool modelled) {
  return modelled ? R"(<span class="badge modelled">modelled</span>)" : badge("measured");
}

std::string time_html(const std::string& iso) {
  if (iso.empty()) return "";
  std::string shown = iso.substr(0, 19);  // seconds are enough
  std::ranges::replace(shown, 'T', ' ');
  return fmt::format(R"(<time datetime="{}">{} UTC</time>)", escape(iso), escape(shown));
}

std::string ago_html(const std::string& iso, std::optional<std::int64_t> now_s) {
  std::tm parts{};
  if (strptime(iso.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return time_html(iso);
  const std::int64_t s = now_s.value_or(std::time(nullptr)) - timegm(&parts);
  const auto [count, unit] = s < 60          ? std::pair(std::max<std::int64_t>(s, 0), "s")
                             : s < 3600      ? std::pair(s / 60, "min")
                             : s < 48 * 3600 ? std::pair(s / 3600, "h")
                                             : std::pair(s / (24 * 3600), "days");
  std::string exact = iso.substr(0, 19);
  std::ranges::replace(exact, 'T', ' ');
  return fmt::format(R"(<time datetime="{}" title="{} UTC">{} {} ago</time>)", escape(iso),
                     escape(exact), count, unit);
}

std::string bar_html(double share, std::string_view label) {
  return fmt::format(R"(<progress max="1" value="{:.3f}" aria-label="{}"></progress>)",
                     std::clamp(share, 0.0, 1.0), escape(label));
}

std::string run_status_html(std::string_view status) {
  struct Words {
    std::string_view status, said;
  };
  // The names of engine/search/stop_reason.h.
  constexpr std::array<Words, 4> kEnds = {{{"budget", "budget used"},
                                           {"roof", "at the roof"},
                                           {"exhausted", "nothing left to try"},
                                           {"patience", "no better one for long"}}};
  if (status == "running") return badge("running", Tone::kBusy);
  if (status == "done") return badge("ended", Tone::kGood);
  const auto end = std::ranges::find(kEnds, status, &Words::status);
  if (end == kEnds.end()) return badge(status, Tone::kWarn);
  return fmt::format(R"({}<br><span class="soft">{}</span>)", badge("ended", Tone::kGood),
                     end->said);
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

namespace {

/// Of a diff of which fewer lines are the same nobody reads which line became which.
constexpr double kLeastSame = 0.2;
/// One that fits a screen is shown all the same.
constexpr std::size_t kShortDiff = 24;

}  // namespace

std::string diff_html(const std::vector<results::LinePair>& rows, const std::string& left,
                      const std::string& right, std::string_view why) {
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
  const std::string table = fmt::format(
      R"(<div class="region" role="region" tabindex="0" aria-label="Differences"><table class="diff"><caption><span>{} of {} lines differ</span></caption><thead><tr><th scope="col"><span class="unseen">Line</span></th><th scope="col">{}</th><th scope="col"><span class="unseen">Change</span></th><th scope="col"><span class="unseen">Line</span></th><th scope="col">{}</th></tr></thead><tbody>{}</tbody></table></div>)",
      changed, rows.size(), escape(left), escape(right), body);
  const double same = 1 - static_cast<double>(changed) / static_cast<double>(rows.size());
  if (rows.size() <= kShortDiff || same >= kLeastSame) return table;
  return fmt::format(
      "<p>Nearly all lines differ ({} of {}), so the comparison is folded.{}{}</p>"
      "<details><summary>Show both beside each other</summary>{}</details>",
      changed, rows.size(), why.empty() ? "" : " ", escape(why), table);
}

}  // namespace hone::page
