// The boards, and one task with its boards, baselines, runs and reference.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "engine/results/roofline.h"
#include "engine/results/text.h"
#include "engine/results/words.h"
#include "engine/web/handlers.h"
#include "engine/web/layout.h"
#include "engine/web/runs_table.h"

namespace hone::web {

using page::url_part;
using results::recipe_names;
using results::time_text;

namespace {

constexpr int kBoardsPerPage = 12, kRowsOfMany = 5, kRowsOfTask = 25, kRunsOfTask = 20;

/// Its name names one thing, whatever devices it was measured on.
using BoardId = std::tuple<std::string, std::string, std::string, bool>;

std::string elsewhere_html(const BoardRow& row) {
  std::string out;
  for (const FinalResult& there : row.elsewhere) {
    const Evaluation& e = there.evaluation;
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ", escape(there.provenance.device_name),
                       e.verdict == Verdict::kOk ? fmt::format("{:.2f}x", e.measurement.speedup)
                                                 : fmt::format(R"(<span class="bad">{}</span>)",
                                                               escape(to_string(e.verdict))));
  }
  return out;
}

/// What names a row: the step that matters most, as a link, and on demand all of them.
std::string candidate_cell(const BoardRow& row) {
  const CandidateRecord& candidate = row.candidate;
  const Recipe& recipe = candidate.recipe;
  // A generator makes a kernel of its own; what else was done is done to that.
  const auto main_step = std::ranges::find_if(
      recipe, [](const Step& step) { return step.rewriter.starts_with("generate-"); });
  const std::string name = recipe.empty()              ? candidate.origin
                           : main_step != recipe.end() ? main_step->rewriter
                                                       : recipe.front().rewriter;
  std::string out = fmt::format(
      R"(<a href="/candidates/{0}?device={2}">{1}</a> <span class="mono soft">{0}</span>)",
      url_part(candidate.id), escape(name), url_part(row.provenance.device_name));
  if (candidate.origin != "rules" && !recipe.empty())
    out += fmt::format(R"( <span class="soft">by {}</span>)", escape(candidate.origin));
  if (row.provenance.sandbox == "off") out += " " + badge("sandbox off", page::Tone::kBad);
  if (const results::Doubt doubt = results::doubt_of(row.evaluation); !doubt.badge.empty())
    out += "<br>" + badge(doubt.brief, page::Tone::kWarn);
  std::string more;
  if (recipe.size() > 1) more += fmt::format("<p>{}</p>", escape(recipe_names(recipe)));
  if (!row.evaluation.note.empty()) more += fmt::format("<p>{}</p>", escape(row.evaluation.note));
  if (more.empty()) return out;
  return out + fmt::format("<details><summary>{}</summary>{}</details>",
                           recipe.size() > 1 ? fmt::format("{} steps", recipe.size()) : "note",
                           more);
}

Cell roof_cell(const Measurement& m) {
  if (m.roof_fraction <= 0) return {};
  const std::string share = fmt::format("{:.1f} %", 100 * m.roof_fraction);
  const std::string shown = m.roof_fraction > 1 ? badge(share, page::Tone::kWarn) : share;
  return {fmt::format(R"({} {}<br><span class="soft">{}</span>)",
                      bar_html(m.roof_fraction, share + " of the roof"), shown, escape(m.bound)),
          fmt::format("{:.9g}", m.roof_fraction)};
}

Cell speedup_cell(const Measurement& m, bool modelled) {
  std::string html = fmt::format("{:.2f}x", m.speedup);
  if (!modelled)  // of a modelled time there is no interval
    html +=
        fmt::format(R"(<br><span class="soft">{:.2f} to {:.2f}</span>)", m.ci95_low, m.ci95_high);
  return {std::move(html), fmt::format("{:.9g}", m.speedup)};
}

std::string board_html(const Board& board) {
  std::vector<Column> columns = {{"Rank", true},
                                 {"Candidate", false, false, true},
                                 {board.modelled ? "Modelled time" : "Time", true},
                                 {board.modelled ? "Speedup" : "Speedup, 95 %", true}};
  std::vector<std::string> kinds;
  for (const BaselineTime& baseline : board.baselines) kinds.push_back("x " + baseline.kind);
  for (const std::string& kind : kinds)
    columns.push_back({.title = kind, .number = true, .wide = true});
  columns.push_back({.title = "Of the roof", .number = true, .wide = true});
  columns.push_back({.title = "Max error", .number = true, .wide = true});
  columns.push_back({.title = "Math", .wide = true});
  columns.push_back({.title = "Found", .wide = true});
  const bool any_elsewhere =
      std::ranges::any_of(board.rows, [](const BoardRow& row) { return !row.elsewhere.empty(); });
  if (any_elsewhere)
    columns.push_back({.title = "Elsewhere", .sortable = false, .prose = true, .wide = true});
  std::vector<std::vector<Cell>> rows;
  double highest = 0;  // share of the roof
  for (const BoardRow& row : board.rows) {
    const Measurement& m = row.evaluation.measurement;
    highest = std::max(highest, m.roof_fraction);
    auto& cells = rows.emplace_back();
    cells.push_back(number_cell(fmt::format("{}", row.rank), row.rank));
    cells.push_back({candidate_cell(row)});
    cells.push_back(number_cell(time_text(m.time_us), m.time_us));
    cells.push_back(speedup_cell(m, board.modelled));
    for (const BaselineTime& b : board.baselines)
      cells.push_back(
          number_cell(fmt::format("{:.2f}x", b.time_us / m.time_us), b.time_us / m.time_us));
    cells.push_back(roof_cell(m));
    cells.push_back(number_cell(row.evaluation.max_rel_error == 0
                                    ? "0"
                                    : fmt::format("{:.1e}", row.evaluation.max_rel_error),
                                row.evaluation.max_rel_error));
    cells.push_back({escape(to_string(row.evaluation.math))});
    cells.push_back({ago_html(row.found_at), row.found_at});
    if (any_elsewhere) cells.push_back({elsewhere_html(row)});
  }
  const std::string caption = fmt::format(
      "{} on {} ({}), reference {}", board.task_name, board.device_name,
      board.modelled ? "modelled, not measured" : "measured", time_text(board.reference_time_us));
  const std::string note = results::roof_note(highest);
  return table(caption, columns, rows, {.row_header = 1, .caption_unseen = true}) +
         (note.empty() ? "" : fmt::format(R"(<p class="soft">{}</p>)", escape(note)));
}

/// "modelled · emulated sm_90 · the reference takes 9.55 ms", under a board's title.
std::string board_facts(const Board& board, bool with_device) {
  return fmt::format(R"(<p class="facts">{}{} <span>the reference takes {}</span></p>)",
                     origin_label(board.modelled),
                     with_device ? fmt::format(" <span>{}</span>", escape(board.device_name)) : "",
                     time_text(board.reference_time_us));
}

constexpr Term kBoardTerms[] = {
    {"Candidate",
     "A program that hone found: the step that made its kernel, and its id. Behind \"N steps\" are "
     "all of its steps."},
    {"modelled, measured",
     "Modelled times are predicted by an emulator's time model and were never measured on a GPU. "
     "Measured ones are medians of runs on a GPU. The two are never on one board."},
    {"Speedup",
     "How many times as fast as the reference, which is the program that was submitted. Below a "
     "measured one is its 95 % confidence interval."},
    {"x torch eager, x cublas, …",
     "How many times as fast as that library's program for the task."},
    {"Of the roof",
     "How near the time is to the shortest one that the device's memory and arithmetic allow. "
     "Below it is what the kernel waits for most, and for how much of its time."},
    {"DRAM, L1, issue, …", results::kBoundWords},
    {"Max error", "The largest relative difference from the reference's outputs in all checks."},
    {"Math",
     "Which arithmetic it needs: exact (the same bits), reassociate (sums in another order), "
     "tf32x3, "
     "tf32 and reduced (fewer bits)."},
    {"Elsewhere", "Its speedup on the service's other devices, or how it failed there."},
    {"not compared, partly compared",
     "Its outputs were compared with the reference's at the smaller check sizes. At the size that "
     "is "
     "timed nothing was compared, or less than planned; its note says why."},
    {"sandbox off",
     "It was evaluated without the sandbox: nothing kept the processes that ran it from the rest "
     "of "
     "the machine."}};

std::string board_legend() { return legend("What the columns mean", kBoardTerms); }

std::string options_html(const std::set<std::string>& values, const std::string& chosen) {
  std::string out = R"(<option value="">all</option>)";
  for (const std::string& value : values)
    out += fmt::format(R"(<option value="{0}"{1}>{0}</option>)", escape(value),
                       value == chosen ? " selected" : "");
  return out;
}

std::string filters_html(const std::vector<BoardName>& all, const BoardFilter& filter) {
  std::set<std::string> archs, devices;
  for (const BoardName& name : all) {
    archs.insert(name.arch);
    devices.insert(name.device_name);
  }
  const auto chosen = [&](bool modelled) { return filter.modelled == modelled ? " selected" : ""; };
  return fmt::format(
      R"(<form class="filters" method="get" action="/" role="search" aria-label="Which boards">
<label>Task <input name="task" value="{}" autocomplete="off"></label>
<label>Architecture <select name="arch">{}</select></label>
<label>Device <select name="device">{}</select></label>
<label>Times <select name="modelled"><option value="">all</option><option value="false"{}>measured</option><option value="true"{}>modelled</option></select></label>
<button type="submit">Show</button></form>)",
      escape(filter.task), options_html(archs, filter.arch), options_html(devices, filter.device),
      chosen(false), chosen(true));
}

/// "M = 33, N = 65"
std::string sizes_in_words(const Bindings& sizes) {
  std::string out;
  for (const auto& [name, value] : sizes)
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", name, value);
  return out;
}

std::string page_address(const Request& request, std::int64_t offset) {
  std::string address = "/?";
  for (const char* name : {"task", "arch", "device", "modelled", "origin", "math", "rows"})
    if (const std::string& value = request.param(name); !value.empty())
      address += fmt::format("{}={}&", name, url_part(value));
  return address + fmt::format("offset={}", offset);
}

}  // namespace

Answer boards_page(Context& context, const Request& request, const Parts&) {
  const auto filter = board_filter(request, kRowsOfMany);
  if (!filter) return std::unexpected(filter.error());
  const auto offset = number_param(request, "offset", 0, 0, 1'000'000);
  if (!offset) return std::unexpected(offset.error());
  std::vector<BoardName> names;
  const auto read = context.stores.with([&](const Store& store) -> Result<std::string> {
    const auto all = store.board_names({});
    if (!all) return std::unexpected(all.error());
    auto wanted = store.board_names(*filter);
    if (!wanted) return std::unexpected(wanted.error());
    // One board may have several devices and, in theory, architectures.
    std::set<BoardId> seen;
    for (BoardName& name : *wanted)
      if (seen.emplace(name.arch, name.task_hash, name.device_name, name.modelled).second)
        names.push_back(std::move(name));
    std::string html =
        "<p>The fastest programs that passed all checks, a board for each task and device.</p>" +
        board_legend() + filters_html(*all, *filter);
    std::string arch;
    const auto first = std::min(static_cast<std::size_t>(*offset), names.size());
    const auto last = std::min(first + kBoardsPerPage, names.size());
    for (std::size_t i = first; i < last; ++i) {
      const BoardName& name = names[i];
      BoardFilter one = *filter;
      one.task = name.task_hash;
      one.device = name.device_name;
      one.arch.clear();
      one.modelled = name.modelled;
      const auto boards = store.boards(one);
      if (!boards) return std::unexpected(boards.error());
      for (const Board& board : *boards) {
        if (board.task_hash != name.task_hash || board.device_name != name.device_name) continue;
        if (name.arch != arch) html += fmt::format("<h2>{}</h2>", escape(name.arch));
        arch = name.arch;
        html += fmt::format("<section><h3>{}</h3>{}{}</section>",
                            task_link(board.task_hash, board.task_name), board_facts(board, true),
                            board_html(board));
      }
    }
    if (names.empty())
      html +=
          "<p>There are no verified results here yet. <code>hone optimize TASK</code> finds "
          "some.</p>";
    return html;
  });
  if (!read) return context.broken(read.error());
  std::string html = *read;
  if (names.size() > kBoardsPerPage) {
    html += fmt::format(R"(<nav class="pages" aria-label="Pages"><p>{} to {} of {} boards)",
                        std::min<std::int64_t>(*offset + 1, std::ssize(names)),
                        std::min<std::int64_t>(*offset + kBoardsPerPage, std::ssize(names)),
                        names.size());
    if (*offset > 0)
      html += " " + link(page_address(request, std::max<std::int64_t>(*offset - kBoardsPerPage, 0)),
                         "previous");
    if (*offset + kBoardsPerPage < std::ssize(names))
      html += " " + link(page_address(request, *offset + kBoardsPerPage), "next");
    html += "</p></nav>";
  }
  return render(context, {.title = "Boards", .section = "/", .html = html, .scripts = {"sort.js"}});
}

Answer task_page(Context& context, const Request& request, const Parts& parts) {
  if (!is_hex_id(parts[0])) return not_found("There is no such task.");
  auto filter = board_filter(request, kRowsOfTask);
  if (!filter) return std::unexpected(filter.error());
  struct Data {
    Task task;
    std::string hash;
    std::vector<Board> boards;
    std::vector<RunRecord> runs;
  };
  const auto data = context.stores.with([&](const Store& store) -> Result<Data> {
    auto task = store.find_task(parts[0]);
    if (!task) return std::unexpected(task.error());
    Data data{std::move(*task), parts[0], {}, {}};
    if (data.hash.size() < 32) data.hash = data.task.hash();
    filter->task = data.hash;
    auto boards = store.boards(*filter);
    if (!boards) return std::unexpected(boards.error());
    data.boards = std::move(*boards);
    auto runs = store.runs({.task = data.hash, .limit = kRunsOfTask});
    if (!runs) return std::unexpected(runs.error());
    data.runs = std::move(*runs);
    return data;
  });
  if (!data && data.error().code == ErrorCode::kInvalidInput)
    return not_found("There is no such task, or more than one begins so.");
  if (!data) return context.broken(data.error());
  const Task& task = data->task;

  std::string checked, buffers;
  const std::string sizes = sizes_in_words(task.sizes);
  for (const Bindings& check : task.check_sizes)
    checked += (checked.empty() ? "" : "; ") + sizes_in_words(check);
  for (const Buffer& buffer : task.reference.buffers) {
    std::string shape;
    for (const Expr& extent : buffer.shape)
      shape += fmt::format("{}{}", shape.empty() ? "" : " x ", extent.text());
    buffers += fmt::format("{}{} {} [{}] {}", buffers.empty() ? "" : "; ", to_string(buffer.type),
                           buffer.name, shape, to_string(buffer.role));
  }
  Facts facts;
  facts.html("Id", fmt::format(R"(<span class="mono">{}</span>)", escape(data->hash)))
      .text("Timed at", sizes)
      .text("Checked at", checked)
      .text("Buffers", buffers)
      .text("Arithmetic allowed",
            fmt::format("{}: {}", to_string(task.math), results::in_words(task.math)))
      .text("Tolerance",
            fmt::format("{:g} relative, {:g} absolute", task.tolerance.rtol, task.tolerance.atol));
  std::string html =
      "<p>A task is a reference program, the sizes at which it is timed, and how far a faster "
      "program's "
      "outputs may differ.</p>" +
      facts.take();
  if (!data->boards.empty()) html += board_legend();
  for (const Board& board : data->boards) {
    html += fmt::format("<section><h2>{}</h2>{}{}", escape(board.device_name),
                        board_facts(board, false), board_html(board));
    if (std::ssize(board.rows) == filter->limit && filter->limit < 1000)
      html += fmt::format(
          "<p>{}</p>",
          link(fmt::format("/tasks/{}?rows=1000", url_part(data->hash)), "more of them"));
    if (!board.baselines.empty()) {
      const Column columns[] = {{"Baseline"},
                                {"Time", true},
                                {"95 % interval", true, false},
                                {"Precision"},
                                {"Versions", false, true, true}};
      std::vector<std::vector<Cell>> rows;
      for (const BaselineTime& b : board.baselines)
        rows.push_back({{escape(b.kind)},
                        number_cell(time_text(b.time_us), b.time_us),
                        {fmt::format("{} to {}", time_text(b.ci95_low), time_text(b.ci95_high))},
                        {escape(b.precision)},
                        {escape(b.versions)}});
      html += table("What others take on " + board.device_name, columns, rows, {.cards = true});
    }
    html += "</section>";
  }
  if (data->boards.empty()) html += "<p>Nothing has passed the final stage yet.</p>";
  if (!data->runs.empty())
    html += "<section><h2>The latest runs</h2>" +
            runs_table(data->runs, "The latest runs", {.caption_unseen = true}, RunsOf::kOneTask) +
            "</section>";
  html += "<section><h2>Reference</h2>" +
          source_html(context.formatted(task.reference.source), "Source of the reference") +
          "</section>";
  return render(context,
                {.title = task.name, .section = "/", .html = html, .scripts = {"sort.js"}});
}

}  // namespace hone::web
